"""Agents that play against real hubs by the client library."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from hub.app import Hub
from protocol.client import Client, play_match
from protocol.client.table import TableMessage, WatchMessage
from protocol.messages import Event, MatchFinished, MatchSummary, Placed, Roll, TableState
from tests.clients import HANG_SECONDS, token, url

OTHERS = ("bob", "cyd", "dee")


def address(hub: Hub) -> str:
    return url(hub, "")


async def first_face(table: TableState) -> int:
    return table.legal_actions[0].params.face


async def play_some(hub: Hub, agent_id: str, matches: int = 1) -> MatchSummary:
    """Play matches by first faces; the last one's summary."""
    async with Client(address(hub), token(agent_id)) as client:
        for _ in range(matches):
            summary = await play_match(client, first_face)
    return summary


@asynccontextmanager
async def opponents(hub: Hub, matches: int = 1) -> AsyncIterator[list[asyncio.Task[MatchSummary]]]:
    """Let three more agents play; the tasks return the last match's summary."""
    tasks = [asyncio.create_task(play_some(hub, agent_id, matches)) for agent_id in OTHERS]
    yield tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def seated(hub: Hub, *ways: str) -> AsyncIterator[Client]:
    """Seat `ann` with three others; her client, over some way to the hub, has yet to be read."""
    async with AsyncExitStack() as exits:
        ann = await exits.enter_async_context(Client(ways or address(hub), token("ann")))
        await exits.enter_async_context(opponents(hub))
        await ann.join()
        yield ann


async def read_until(
    client: Client, is_last: Callable[[TableMessage], bool], *, place: bool = False
) -> list[TableMessage]:
    """Read up to a message, which is read too; on the way, place first faces if `place`."""
    read = []
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            read.append(await anext(client))
            if is_last(read[-1]):
                return read
            if place and client.my_turn:
                await client.place(client.table.roll[0])


async def read_until_asked(client: Client) -> list[TableMessage]:
    """Read up to a roll of the client's own."""
    return await read_until(client, lambda _: client.my_turn)


async def play_out(client: Client, *, place_first: bool = False) -> list[TableMessage]:
    """Play to the end by first faces; `place_first` if the turn is the client's already."""
    if place_first:
        await client.place(client.table.roll[0])
    return await read_until(client, is_end, place=True)


def numbers(messages: Iterable[WatchMessage]) -> list[int]:
    """List the events' numbers."""
    return [each.seq for each in messages if isinstance(each, Event)]


def is_placed(message: TableMessage) -> bool:
    return isinstance(message, Placed)


def is_roll(message: TableMessage) -> bool:
    return isinstance(message, Roll)


def is_end(message: TableMessage) -> bool:
    return isinstance(message, MatchFinished)


async def waiting(hub: Hub, count: int) -> None:
    """Wait until so many agents are in the queue."""
    async with asyncio.timeout(HANG_SECONDS):
        while await hub.lobby.count_waiting() != count:
            pass
