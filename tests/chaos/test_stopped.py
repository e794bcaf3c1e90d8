"""A hub process that is stopped between its claim of a deadline and its placement."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

from protocol.client import Client, watch
from protocol.codec import decode_event
from protocol.messages import MatchId, MatchStarted, Placed
from scripts._chaos.arena import Arena, open_arena
from scripts._chaos.hubs import Place
from tests.chaos.conftest import small_plan
from tests.clients import HANG_SECONDS

TURN_SECONDS = 1.0


class Trap:
    """Stops a hub as it gets the table whose deadline it has claimed; it has yet to place.

    The hub serves no socket. So what its commands' replies tell of the match is that it has claimed
    the deadline, then the table, then what its commit came to (commit.lua).
    """

    def __init__(self, place: Place, match_id: MatchId) -> None:
        self.sprung = asyncio.Event()
        self.refused = asyncio.Event()
        self._place = place
        self._match_id = match_id.encode()
        self._claim = re.compile(rb":\d+\r\n\$\d+\r\n" + self._match_id)  # its score, its name
        self._has_claimed = False
        place.link.watch = lambda line: self
        place.link.cut()  # for the hub to open the lines that are watched
        place.link.mend()

    def sent(self, data: bytes) -> None:
        pass

    def received(self, data: bytes) -> None:
        if self.sprung.is_set():
            if b"conflict" in data:
                self.refused.set()
        elif self._has_claimed and self._match_id in data:
            self._place.hub.pause()
            self.sprung.set()
        elif self._claim.search(data):
            self._has_claimed = True

    def closed(self) -> None:
        pass


@asynccontextmanager
async def silent_match(arena: Arena, place: Place) -> AsyncIterator[MatchId]:
    """Seat four agents that do nothing, all on one hub."""
    async with AsyncExitStack() as exits:
        clients = [
            await exits.enter_async_context(Client(place.url, token)) for token in arena.tokens
        ]
        for client in clients:
            await client.join()
        async for message in clients[0]:
            if isinstance(message, MatchStarted):
                yield message.match_id
                return


async def next_placement(place: Place, match_id: MatchId, after: int) -> None:
    """Wait for a placement after an event of a match."""
    async with aclosing(watch(place.url, match_id, after=after)) as messages:
        async for message in messages:
            if isinstance(message, Placed):
                return


async def test_a_placement_that_comes_after_its_lease_is_refused(tmp_path: Path) -> None:
    plan = small_plan(tmp_path, bots=4, turn_seconds=TURN_SECONDS)
    async with (
        asyncio.timeout(2 * HANG_SECONDS),
        open_arena(plan) as arena,
        silent_match(arena, arena.places[1]) as match_id,
    ):
        holder, other = arena.places
        trap = Trap(holder, match_id)
        await trap.sprung.wait()
        before = len(await arena.tables.log(match_id, 1))
        await next_placement(other, match_id, before)
        holder.hub.resume()
        await trap.refused.wait()
        log = await arena.tables.log(match_id, 1)
    events = [decode_event(packed, "msgpack") for packed in log]
    turns = [event.turn for event in events if isinstance(event, Placed)]
    assert turns == list(range(1, len(turns) + 1))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
