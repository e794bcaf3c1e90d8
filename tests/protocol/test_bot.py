"""Bots written as a function, against real hubs."""

import asyncio
import signal
import sys
from collections.abc import Callable
from threading import Event as Flag
from typing import Any

import pytest

from hub.app import Hub
from protocol.client import Choice, Client, Refused, Tally, play_match, run_bot, watch
from protocol.messages import (
    AgentId,
    LegalAction,
    Placed,
    TableState,
    TableTalk,
)
from tests.clients import HANG_SECONDS, Format, token
from tests.conftest import MakeHub
from tests.protocol.tables import (
    address,
    first_face,
    opponents,
    read_until_asked,
    seated,
    waiting,
)

Legal = tuple[LegalAction, ...]


def most_dice(table: TableState, legal_actions: Legal) -> int:
    return max(legal_actions, key=lambda action: action.dice).params.face


async def run(hub: Hub, choose: Callable[[TableState, Legal], Choice], **options: Any) -> Tally:
    """Run a bot for a match in a thread, as it has a loop of its own."""
    options = {"matches": 1, **options}
    return await asyncio.to_thread(run_bot, address(hub), token("ann"), choose, **options)


async def test_a_bot_plays_a_match(hub: Hub, format: Format) -> None:
    async with opponents(hub) as others:
        tally = await run(hub, most_dice, format=format)
        summary = await others[0]
    assert tally == Tally().add(summary, AgentId("ann"))
    assert [player.auto_placements for player in summary.players] == [0, 0, 0, 0]


async def test_a_bot_plays_one_match_after_the_other(hub: Hub) -> None:
    async with opponents(hub, matches=2):
        tally = await run(hub, most_dice, matches=2)
    assert tally.matches == 2


async def test_a_bot_may_talk(hub: Hub) -> None:
    def brag(table: TableState, legal_actions: Legal) -> tuple[int, str]:
        return legal_actions[0].params.face, "Watch this."

    async with opponents(hub) as others:
        await run(hub, brag)
        match_id = (await others[0]).match_id
    log = [event async for event in watch(address(hub), match_id, after=0)]
    talk = [event.message for event in log if isinstance(event, TableTalk)]
    assert set(talk) == {"Watch this."}


async def test_what_choose_raises_ends_the_bot(hub: Hub) -> None:
    def fail(table: TableState, legal_actions: Legal) -> int:
        raise ZeroDivisionError("so little time")

    async with opponents(hub):
        with pytest.raises(ZeroDivisionError, match="so little time"):
            await run(hub, fail)


async def test_a_face_that_was_not_rolled_ends_the_bot(hub: Hub) -> None:
    async with opponents(hub):
        with pytest.raises(Refused, match="illegal_face"):
            await run(hub, lambda _table, _legal_actions: 7)


async def test_a_join_that_is_refused_ends_the_bot(hub: Hub) -> None:
    with pytest.raises(Refused, match="insufficient_hp"):
        await run(hub, most_dice, fee_min=2000, fee_max=2000)


async def test_a_bot_that_thinks_for_too_long_goes_on(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=200)
    missed = Flag()

    def dawdle(table: TableState, legal_actions: Legal) -> int:
        missed.wait(HANG_SECONDS)
        return legal_actions[0].params.face

    async with opponents(hub) as others, Client(address(hub), token("bob")) as witness:
        running = asyncio.create_task(run(hub, dawdle))
        async for message in witness:
            if isinstance(message, Placed) and message.is_auto:
                break
        missed.set()
        await running
        summary = await others[0]
    assert {each.agent_id for each in summary.players if each.auto_placements} == {"ann"}


async def test_a_match_under_way_is_played_on(hub: Hub) -> None:
    async with seated(hub) as ann:
        asked = (await read_until_asked(ann))[-1]
        async with Client(address(hub), token("ann")) as again:
            summary = await play_match(again, first_face)
    assert summary.match_id == asked.match_id


async def test_ctrl_c_ends_a_bot_in_the_queue(hub: Hub) -> None:
    program = (
        "from protocol.client import run_bot;"
        f"print(run_bot({address(hub)!r}, {token('ann')!r}, lambda table, legal: 1))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=asyncio.subprocess.PIPE
    )
    await waiting(hub, 1)
    process.send_signal(signal.SIGINT)
    printed, _ = await process.communicate()
    assert (printed.decode(), process.returncode) == (f"{Tally()}\n", 0)
    await waiting(hub, 0)
