"""Four agents that play as far as a test lets them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from hub.tokens import issue
from protocol.client import Client
from protocol.messages import MatchFinished, MatchId
from tests.clients import SECRET

NAMES = ("Ada", "Bo", "Cy", "Dee")


class Drivers:
    """Agents at one table; each turn waits until the test allows it."""

    def __init__(self, clients: Sequence[Client], talk: Sequence[str]) -> None:
        self.match_id = MatchId("")
        self.placed = 0
        self._clients = clients
        self._talk = talk
        self._allowed = asyncio.Semaphore(0)
        self._seated = asyncio.Event()
        self._moved = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def sit_down(self) -> MatchId:
        """Join with all agents and wait for their match."""
        self._tasks = [asyncio.create_task(self._drive(client)) for client in self._clients]
        await self._seated.wait()
        return self.match_id

    async def play(self, turns: int) -> None:
        """Let so many more placements be made, and wait until they are."""
        goal = self.placed + turns
        for _ in range(turns):
            self._allowed.release()
        async with self._moved:
            await self._moved.wait_for(lambda: self.placed >= goal)

    async def finish(self) -> None:
        """Play the match to its end."""
        for _ in range(8 * 4 * 4):  # no match has more turns: each places a die at least
            self._allowed.release()
        await asyncio.gather(*self._tasks)

    async def leave(self) -> None:
        """Stop all agents."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drive(self, client: Client) -> None:
        await client.join()
        async for message in client:
            self.match_id = message.match_id
            self._seated.set()
            if client.my_turn:
                await self._allowed.acquire()
                await self._place(client)
            if isinstance(message, MatchFinished):
                return

    async def _place(self, client: Client) -> None:
        talk = self._talk[self.placed % len(self._talk)] if self._talk else ""
        await client.place(client.table.roll[0], message=talk)
        async with self._moved:
            self.placed += 1
            self._moved.notify_all()


@asynccontextmanager
async def seat(
    url: str, names: Sequence[str] = NAMES, talk: Sequence[str] = ()
) -> AsyncIterator[Drivers]:
    """Seat agents of these names at one table of the hub at `url` (ws://host:port)."""
    async with AsyncExitStack() as exits:
        tokens = [issue(SECRET, f"agent-{number}", name, 1) for number, name in enumerate(names)]
        clients = [await exits.enter_async_context(Client(url, token)) for token in tokens]
        drivers = Drivers(clients, talk)
        exits.push_async_callback(drivers.leave)
        await drivers.sit_down()
        yield drivers
