"""Run a plan: open the arena, let everybody in, break things, settle, and judge."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec

from protocol.messages import MatchId

from . import evidence
from .arena import STARTING_HP, Arena, open_arena
from .faults import kinds
from .plan import Plan
from .verdict import Logs, Outcome, Verdict, judge

TICK_S = 0.2
PAGE = 500

Note = Callable[[Arena, float], None]


class Result(msgspec.Struct, frozen=True):
    """A verdict, and how long the run had taken."""

    verdict: Verdict
    seconds: float


async def run(plan: Plan, stop: asyncio.Event, note: Note) -> Result:
    """Run a plan, or as much of it as there is until `stop`; `note` hears how far it is."""
    started = time.monotonic()
    async with open_arena(plan) as arena:
        arena.open_to_all()
        breaking = asyncio.create_task(_break(arena))
        try:
            await _last(arena, stop, note, started)
        finally:
            breaking.cancel()
        await arena.faults.finish()
        seconds = time.monotonic() - started
        outcome = await conclude(arena)
    verdict = await asyncio.to_thread(judge, outcome)
    evidence.keep(plan, outcome, verdict, arena.witness.records, seconds)
    return Result(verdict, seconds)


async def _break(arena: Arena) -> None:
    """Begin one fault after the other, at random moments."""
    plan = arena.plan
    if not plan.kinds:
        return
    chance = random.Random(arena.chance.random())
    for kind in kinds(chance, plan.kinds):
        await asyncio.sleep(chance.expovariate(1 / plan.pause_seconds))
        await arena.faults.room()
        if plan.faults is not None and len(arena.faults.done) >= plan.faults:
            return
        arena.faults.start(kind)


async def _last(arena: Arena, stop: asyncio.Event, note: Note, started: float) -> None:
    """Wait until the plan is fulfilled."""
    while not stop.is_set():
        share = _share_done(arena, time.monotonic() - started)
        note(arena, share)
        if share >= 1:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(TICK_S):
                await stop.wait()


def _share_done(arena: Arena, seconds: float) -> float:
    plan = arena.plan
    over = sum(fault.ended is not None for fault in arena.faults.done)
    goals = (
        (seconds / 60, plan.minutes),
        (over, plan.faults),
        (len(arena.live.finished), plan.matches),
    )
    return max((done / goal for done, goal in goals if goal), default=0.0)


async def conclude(arena: Arena) -> Outcome:
    """Let the matches under way end, stop everything and put together what everybody knows."""
    if await arena.settle():
        for bot in arena.bots:
            bot.view.check_all_finished()
    await arena.close()
    await _stop_hubs(arena)
    await _report_leftovers(arena)
    logs = await _read_logs(arena)
    expected_hp = STARTING_HP * len(arena.witness.attendance.agents)
    return Outcome(
        logs=logs,
        moves=[move for bot in arena.bots for move in bot.moves],
        silent=frozenset(bot.agent_id for bot in arena.bots if bot.silent),
        faults=arena.faults.done,
        absences=arena.witness.attendance.absences,
        prints=arena.witness.prints,
        troubles=arena.witness.troubles.found,
        store_started=arena.faults.store_started,
        events=arena.witness.events,
        hp_difference=await arena.lobby.total_hp() - expected_hp,
    )


async def _stop_hubs(arena: Arena) -> None:
    report = arena.witness.troubles.report
    for place in arena.places:
        name = f"hub {place.number}"
        for code in place.hub.crashes:
            report("hub crashed", name, detail=f"code {code}")
        async with place.busy:
            code = await place.hub.terminate()
        if code:
            report("unclean exit", name, detail=f"code {code} after SIGTERM")


async def _report_leftovers(arena: Arena) -> None:
    """Report the matches that have not ended and the agents that are not free."""
    report = arena.witness.troubles.report
    names = [bot.agent_id for bot in arena.bots]
    for name, seat in zip(names, await arena.lobby.seats(names), strict=True):
        if seat is not None:
            report("agent stuck", name, match_id=seat)
    for _ in range(await arena.lobby.count_waiting()):
        report("agent stuck", "in the queue")
    for match_id in (*await arena.lobby.live(), *await arena.lobby.forming()):
        report("match not finished", "", match_id=match_id)


async def _read_logs(arena: Arena) -> Logs:
    return {match_id: await arena.tables.log(match_id, 1) async for match_id in _all_matches(arena)}


async def _all_matches(arena: Arena) -> AsyncIterator[MatchId]:
    before: int | None = None
    while True:
        page = await arena.history.page(before=before, limit=PAGE)
        for match_id in page.match_ids:
            yield match_id
        before = page.next
        if before is None:
            return
