"""A store that is away for longer than a whole turn costs nobody a move."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from scripts._chaos.store import Store
from tests.clients import Map, seat_four
from tests.conftest import MakeHub

TURN_MS = 2_000
AWAY_SECONDS = 5.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "store") as store:
        yield store


def check_turn(roll: Map, moved: Map, end: Map) -> None:
    """Check that a turn had all of its time, the outage aside."""
    assert (moved["turn"], moved["reason"], end["turn"]) == (roll["turn"], "outage", roll["turn"])
    given_back_ms = moved["deadline"] - roll["deadline"]
    assert given_back_ms >= AWAY_SECONDS * 1000
    assert end["ts"] - roll["ts"] >= TURN_MS + AWAY_SECONDS * 1000


async def test_nobody_is_placed_for_before_the_time_that_was_left(
    make_hub: MakeHub, store: Store
) -> None:
    """Nobody acts: the hub places only when the turn, less the outage, is over."""
    hubs = [await make_hub(url=store.url, turn_ms=TURN_MS) for _ in range(2)]
    async with seat_four(*hubs) as party:
        roll = party.roll
        await store.kill()
        await asyncio.sleep(AWAY_SECONDS)
        await store.start()
        for socket in party.sockets:
            moved = await socket.after(roll["seq"], "deadline_moved")
            placed = await socket.after(roll["seq"], "placed")
            assert placed["is_auto"]
            check_turn(roll, moved, placed)


async def test_an_agent_still_has_its_turn_after_an_outage(make_hub: MakeHub, store: Store) -> None:
    hubs = [await make_hub(url=store.url, turn_ms=TURN_MS // 2) for _ in range(2)]
    async with seat_four(*hubs) as party:
        roll = party.roll
        store.pause()
        await asyncio.sleep(AWAY_SECONDS / 2)
        store.resume()
        await party.current.after(roll["seq"], "deadline_moved")
        reply = await party.current.place(roll)
        assert (reply["type"], reply["turn"]) == ("ack", roll["turn"])
