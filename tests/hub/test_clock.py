import asyncio
import secrets
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hub.clock import LONGEST_SLEEP_SECONDS
from hub.rules.match import Match
from hub.store.keys import Keys
from hub.store.lobby import Closed, JoinRequest, Member, Party, read_notice
from protocol.messages import (
    AgentId,
    DeadlineMoved,
    MatchFinished,
    MatchId,
    Placed,
)
from tests.store.conftest import MakeParts
from tests.store.parts import (
    AGENTS,
    PATIENCE_SECONDS,
    Ear,
    Parts,
    create,
    placements,
    turn_of,
    until,
)
from tests.store.valkey import OwnValkey

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
NEWCOMERS_HP = 1000


def count(parts: Parts, name: str, **labels: str) -> float:
    return parts.metrics.registry.get_sample_value(f"vegas_{name}_total", labels) or 0.0


async def tick_until_over(match_id: MatchId, *hubs: Parts) -> None:
    """Let hubs look at the clock at once, again and again, until a match is over and booked."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await hubs[0].tables.unbooked(hubs[0].tables.slot(match_id)) or await has_deadline(
            hubs[0], match_id
        ):
            await asyncio.gather(*(hub.clock.tick() for hub in hubs))


async def has_deadline(parts: Parts, match_id: MatchId) -> bool:
    return (await parts.match(match_id)).deadline is not None


async def unbooked(parts: Parts) -> list[MatchId]:
    return [each for slot in parts.tables.slots for each in await parts.tables.unbooked(slot)]


async def finished(parts: Parts, match_id: str) -> MatchFinished:
    last = (await parts.events(match_id))[-1]
    assert isinstance(last, MatchFinished)
    return last


# ---- Deadlines


async def test_hubs_that_look_at_once_place_once_for_each_late_agent(make_parts: MakeParts) -> None:
    hubs = [make_parts(turn_ms=1) for _ in range(3)]
    match_id = await hubs[0].seat()
    await tick_until_over(match_id, *hubs)
    events = await hubs[0].events(match_id)
    placed = placements(events)
    assert [each.turn for each in placed] == list(range(1, len(placed) + 1))
    assert all(each.is_auto for each in placed)
    assert sum(count(hub, "auto_placements") for hub in hubs) == len(placed)


async def test_no_placement_is_made_before_the_deadline(parts: Parts) -> None:
    match = await create(parts.tables)
    for _ in range(3):
        await parts.clock.tick()
    assert await parts.match(match.match_id) == match


async def test_a_look_tells_when_the_next_deadline_is_due(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=200)
    assert await parts.clock.tick() == LONGEST_SLEEP_SECONDS
    await parts.seat()
    assert 0 < await parts.clock.tick() <= 0.2


async def test_a_deadline_that_a_hub_has_claimed_is_left_to_it(make_parts: MakeParts) -> None:
    claimer, other = make_parts(), make_parts()
    match = await create(claimer.tables, turn_ms=1)
    while not (await claimer.tables.claim(claimer.tables.slot(match.match_id))).match_ids:
        pass
    await other.clock.tick()
    assert await other.match(match.match_id) == match


async def test_a_deadline_whose_claimer_died_is_acted_on_after_the_lease(
    make_parts: MakeParts,
) -> None:
    dead, alive = make_parts(lease_ms=20), make_parts()
    match = await create(dead.tables, turn_ms=1)
    while not (await dead.tables.claim(dead.tables.slot(match.match_id))).match_ids:
        pass
    while await alive.match(match.match_id) == match:
        await alive.clock.tick()
    (placed,) = placements(await alive.events(match.match_id))
    assert placed.is_auto


async def test_an_agent_that_acts_in_time_is_not_placed_for(make_parts: MakeParts) -> None:
    parts = make_parts()
    match = await create(parts.tables)
    slot = parts.tables.slot(match.match_id)
    await parts.link.call("ZADD", parts.keys.due(slot), 1, match.match_id)  # a claim long ago
    await asyncio.gather(parts.clock.tick(), parts.referee.place(*turn_of(match)))
    (placed,) = placements(await parts.events(match.match_id))
    assert not placed.is_auto


async def test_a_clock_that_runs_places_and_books_by_itself(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=1)
    ear = Ear(parts.keys.lobby_feed)
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    match = await parts.match(await parts.seat())
    while match.turn <= 2:
        await parts.clock.tick()
        match = await parts.match(match.match_id)
    parts.run(parts.clock.run())
    await parts.play_out(match.match_id)
    notices = [read_notice(message) for message in await ear.hear(2)]
    assert isinstance(notices[1], Closed)


# ---- Outages


async def outage(parts: Parts, match: Match, *, silent_ms: int, deadline_in_ms: int) -> int:
    """Pretend that all hubs were silent for so long, with a deadline so long after their last look.

    Returns the deadline.
    """
    slot = parts.tables.slot(match.match_id)
    pulse = match.started_at - silent_ms
    deadline = pulse + deadline_in_ms
    key = parts.keys.match(match.match_id)
    await parts.link.call("SET", parts.keys.pulse(slot), pulse)
    await parts.link.call("HSET", key, "ts", pulse - 1, "deadline", deadline)
    await parts.link.call("ZADD", parts.keys.due(slot), deadline, match.match_id)
    return deadline


async def test_time_that_all_hubs_were_away_is_given_back_before_anyone_is_placed_for(
    make_parts: MakeParts,
) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables, turn_ms=1)
    deadline = await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await parts.clock.tick()
    moved = (await parts.events(match.match_id))[3:]
    assert [type(event) for event in moved] == [DeadlineMoved]
    assert isinstance(moved[0], DeadlineMoved)
    assert MINUTE_MS <= moved[0].deadline - deadline <= MINUTE_MS + PATIENCE_SECONDS * 1000
    assert (await parts.match(match.match_id)).deadline == moved[0].deadline


async def test_time_is_given_back_once_by_however_many_hubs(make_parts: MakeParts) -> None:
    hubs = [make_parts(outage_ms=1_000) for _ in range(3)]
    match = await create(hubs[0].tables, turn_ms=1)
    await outage(hubs[0], match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    for _ in range(3):
        await asyncio.gather(*(hub.clock.tick() for hub in hubs))
    events = (await hubs[0].events(match.match_id))[3:]
    assert [type(event) for event in events] == [DeadlineMoved]


async def test_a_deadline_that_had_passed_before_an_outage_is_not_moved(
    make_parts: MakeParts,
) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables, turn_ms=1)
    await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=-1)
    await parts.clock.tick()
    assert isinstance((await parts.events(match.match_id))[3], Placed)


async def test_a_short_silence_is_not_made_up_for(make_parts: MakeParts) -> None:
    parts = make_parts(outage_ms=HOUR_MS)
    match = await create(parts.tables, turn_ms=1)
    await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await parts.clock.tick()
    assert isinstance((await parts.events(match.match_id))[3], Placed)


async def test_a_turn_that_began_after_an_outage_is_not_prolonged(make_parts: MakeParts) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables)
    slot = parts.tables.slot(match.match_id)
    await parts.link.call("SET", parts.keys.pulse(slot), match.started_at - MINUTE_MS)
    await parts.clock.tick()
    assert await parts.match(match.match_id) == match


async def test_a_moved_deadline_that_nobody_was_told_of_is_told_after_the_lease(
    make_parts: MakeParts,
) -> None:
    dead, alive = make_parts(outage_ms=1_000, lease_ms=20), make_parts()
    match = await create(dead.tables, turn_ms=1)
    await outage(dead, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await dead.tables.claim(dead.tables.slot(match.match_id))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await alive.match(match.match_id) == match:
            await alive.clock.tick()
    events = (await alive.events(match.match_id))[3:]
    assert [type(event) for event in events] == [DeadlineMoved]


# ---- Results


async def test_the_winner_gets_the_pot(parts: Parts) -> None:
    match_id = await parts.seat()
    await parts.play_out(match_id)
    await parts.clock.tick()
    winner = (await parts.match(match_id)).winner_seat
    moves = (await finished(parts, match_id)).summary.hp_movement
    assert [each.movement for each in moves] == [30 if s == winner else -10 for s in range(4)]
    by_agent = {each.agent_id: each.balance for each in moves}
    assert await parts.balances() == [by_agent[agent_id] for agent_id in AGENTS]
    assert sorted(by_agent.values()) == [990, 990, 990, 1030]


async def test_the_platform_s_fee_is_taken_from_the_pot(make_parts: MakeParts) -> None:
    parts = make_parts(fee_bps=2_500)
    match_id = await parts.seat(fee=11)
    await parts.play_out(match_id)
    await parts.clock.tick()
    assert sorted(await parts.balances()) == [989, 989, 989, 989 + 33]
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_stakes_go_back_if_nobody_acted(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=1, fee_bps=2_500)
    match_id = await parts.seat()
    await tick_until_over(match_id, parts)
    assert (await finished(parts, match_id)).finish_reason == "no_actions"
    assert await parts.balances() == [NEWCOMERS_HP] * 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP
    assert count(parts, "matches_finished", reason="no_actions") == 1


async def test_a_result_is_booked_once_however_many_hubs_try(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(4)]
    match_id = await hubs[0].seat()
    await hubs[0].play_out(match_id)
    await asyncio.gather(
        *(hub.clock.tick() for hub in hubs), *(hub.clock.book(match_id) for hub in hubs)
    )
    assert sorted(await hubs[0].balances()) == [990, 990, 990, 1030]
    assert sum(count(hub, "matches_finished", reason="completed") for hub in hubs) == 1
    assert await unbooked(hubs[0]) == []


async def test_a_result_that_a_dead_hub_left_is_booked_by_another(make_parts: MakeParts) -> None:
    dead, alive = make_parts(), make_parts()
    match_id = await dead.seat()
    await dead.play_out(match_id)
    assert await unbooked(alive) == [match_id]
    await alive.clock.tick()
    assert sorted(await alive.balances()) == [990, 990, 990, 1030]
    assert await unbooked(alive) == []
    assert await alive.lobby.live() == []
    assert await alive.lobby.seats(AGENTS) == [None] * 4


async def test_booking_again_does_no_harm(make_parts: MakeParts) -> None:
    """A hub died after booking and before it said so; meanwhile the agents play again."""
    dead, alive = make_parts(), make_parts()
    first = await dead.seat(continuous=True)
    await dead.play_out(first)
    await dead.clock.tick()
    await dead.matchmaker.sweep()
    seats, balances = await dead.lobby.seats(AGENTS), await dead.balances()
    await dead.link.call("SADD", dead.keys.outbox(dead.tables.slot(first)), first)
    await alive.clock.tick()
    assert await alive.lobby.seats(AGENTS) == seats
    assert None not in seats
    assert await alive.balances() == balances
    assert await unbooked(alive) == []


@pytest.mark.parametrize("turns", [0, 3])
async def test_a_match_under_way_can_not_be_booked(parts: Parts, turns: int) -> None:
    match_id = await parts.seat()
    for _ in range(turns):
        await parts.referee.place(*turn_of(await parts.match(match_id)))
    await parts.clock.book(match_id)
    await parts.clock.book("none")
    assert await parts.balances() == [990] * 4
    assert await parts.lobby.live() == [match_id]


async def test_agents_that_want_to_are_seated_again(parts: Parts) -> None:
    first = await parts.seat(continuous=True)
    await parts.play_out(first)
    await parts.clock.tick()
    await parts.matchmaker.sweep()
    (second,) = await parts.lobby.live()
    assert second != first
    assert await parts.lobby.seats(AGENTS) == [second] * 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_a_result_is_booked_after_the_store_was_away(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url)
    await parts.play_out(await parts.seat())
    valkey.kill()
    parts.run(parts.clock.run())
    await until(lambda: not parts.link.up)
    valkey.start()
    await until(lambda: parts.link.up)
    while await parts.lobby.live():
        pass
    assert sorted(await parts.balances()) == [990, 990, 990, 1030]


# ---- HP

NAMES = [AgentId(f"agent{number}") for number in range(6)]
agents = st.sampled_from(NAMES)


class Casino(RuleBasedStateMachine):
    """Agents, operators and two hubs that die at any point do what they may in any order."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        keys = Keys(f"casino{secrets.token_hex(6)}:", 2)
        self.hubs = [Parts(self.url, keys, fee_bps=777, lease_ms=1) for _ in range(2)]
        self.lobby = self.hubs[0].lobby
        self.known: set[AgentId] = set()
        self.granted = 0
        self.played: list[MatchId] = []
        self.everyone_joins_again_and_again()

    def run(self, work: Any) -> Any:
        return self.loop.run(work)

    @rule(agent_id=agents)
    def vanish(self, agent_id: AgentId) -> None:
        self.run(self.lobby.vouch(agent_id, "hub", connected=False))

    @rule(agent_id=agents, low=st.integers(0, 900), more=st.integers(0, 900), again=st.booleans())
    def join(self, agent_id: AgentId, low: int, more: int, again: bool) -> None:
        self.known.add(agent_id)
        self.run(self.lobby.enter(agent_id, agent_id, "hub"))
        self.run(self.lobby.join(agent_id, JoinRequest(agent_id, "", low, low + more, again)))

    @rule()
    def everyone_joins_again_and_again(self) -> None:
        for agent_id in NAMES:
            self.join(agent_id, 0, 200, True)

    @rule(agent_id=agents)
    def leave(self, agent_id: AgentId) -> None:
        self.run(self.lobby.leave(agent_id))

    @rule(agent_id=agents, hp=st.integers(-300, 1500))
    def grant(self, agent_id: AgentId, hp: int) -> None:
        before, after = self.run(self.lobby.grant(agent_id, hp))
        self.known.add(agent_id)
        self.granted += after - before
        assert after == max(0, before + hp)

    @rule()
    def sweep(self) -> None:
        async def both() -> None:
            await asyncio.gather(*(hub.matchmaker.sweep() for hub in self.hubs))

        self.run(both())

    @rule(fee=st.integers(0, 600))
    def form_and_die(self, fee: int) -> None:
        waiting = self.run(self.lobby.waiting())[:4]
        if len(waiting) == 4:
            members = tuple(Member(each.agent_id, each.agent_id, "") for each in waiting)
            match_id = MatchId(secrets.token_hex(8))
            tickets = [each.ticket for each in waiting]
            self.run(self.lobby.form(match_id, Party(fee, members), tickets))

    @rule(hub=st.integers(0, 1))
    def play_a_match(self, hub: int) -> None:
        self.sweep()
        live = self.run(self.lobby.live())
        if live:
            self.run(self.hubs[hub].play_out(live[0]))
            self.played.append(live[0])

    @rule(hub=st.integers(0, 1))
    def book(self, hub: int) -> None:
        self.run(self.hubs[hub].clock.tick())

    @rule()
    def book_again(self) -> None:
        for match_id in self.played:
            self.run(self.hubs[1].clock.book(match_id))

    @invariant()
    def no_hp_appears_or_disappears(self) -> None:
        total = self.run(self.lobby.total_hp())
        assert total == NEWCOMERS_HP * len(self.known) + self.granted

    def teardown(self) -> None:
        """Let everything come to its end: nothing is staked any more."""
        for agent_id in NAMES:
            self.leave(agent_id)
        self.sweep()
        while self.run(self.lobby.live()):
            self.play_a_match(0)
            self.book(0)
        fees = self.run(self.hubs[0].platform_fees())
        balances = self.run(self.hubs[0].balances(sorted(self.known)))
        assert sum(balances) + fees == NEWCOMERS_HP * len(self.known) + self.granted
        assert all(hp >= 0 for hp in balances)
        for hub in self.hubs:
            self.run(hub.close())
        self.loop.close()


def test_hp_is_neither_made_nor_lost_whatever_happens(redis_url: str) -> None:
    run_state_machine_as_test(
        type("CasinoHere", (Casino,), {"url": redis_url}),
        settings=settings(max_examples=20, stateful_step_count=25, deadline=None),
    )
