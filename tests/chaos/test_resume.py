"""Clients that come back, at awkward moments and to hubs that know less than they do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import unquote, urlsplit

import pytest

from hub.app import Hub
from hub.sockets.fanout import Pacer
from hub.sockets.outbox import Batch
from hub.tables.replica import Table
from hub.tables.subscriptions import TableFeed
from protocol.codec import decode_server
from scripts._chaos.proxy import Line, Proxy
from tests.clients import Map, Party, Socket, dial, events, play, seat_four
from tests.conftest import MakeHub
from tests.store.conftest import MakeParts, make_parts
from tests.store.parts import Viewer, copy_of, create, place

__all__ = ["make_parts"]


class TypedViewer(Viewer):
    """A viewer that keeps the types of all messages, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[str] = []

    def deliver(self, batch: Batch) -> None:
        for packed in batch._packed:
            message = decode_server(packed, "msgpack")
            self.types.append(type(message).__name__)
        super().deliver(batch)


class Spy:
    """Looks at what a line to the store carries."""

    def __init__(self, way: "Way", line: Line) -> None:
        self._way = way
        self._line = line

    def sent(self, data: bytes) -> None:
        if b"SUBSCRIBE" in data:
            self._way.subscriber = self._line
        self._way.on_sent()

    def received(self, data: bytes) -> None:
        pass

    def closed(self) -> None:
        pass


class Way:
    """A way to the store on which replies can be held up, and the subscriber made deaf."""

    def __init__(self, server_url: str) -> None:
        self.proxy = Proxy(unquote(urlsplit(server_url).path), partial(Spy, self))
        self.on_sent: Callable[[], None] = lambda: None
        self.subscriber: Line | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.proxy.port}/0"

    def deafen(self) -> None:
        assert self.subscriber is not None
        self.subscriber.swallow()


@pytest.fixture
async def way(redis_url: str) -> AsyncIterator[Way]:
    way = Way(redis_url)
    async with way.proxy:
        yield way


async def test_a_client_that_knows_more_than_its_hub_gets_what_follows(
    make_parts: MakeParts, way: Way
) -> None:
    """The hub's feed is dead, and it has yet to find out."""
    here, there = make_parts(url=way.url), make_parts()
    match = await create(there.tables)
    await here.listen()
    table = await here.relay.open(match.match_id)
    assert table is not None
    way.deafen()
    for _ in range(3):
        match = await place(there.tables, match)
    socket = TypedViewer()
    await here.relay.follow(table, socket, match.seq - 1)
    assert (socket.types, socket.seqs) == (["Roll"], [match.seq])


async def test_a_repair_that_is_asked_for_during_another_reads_anew(
    make_parts: MakeParts, way: Way
) -> None:
    here, there = make_parts(url=way.url), make_parts()
    match = await create(there.tables)
    table = Table(copy_of(match), [True] * 4, Pacer(here.metrics))
    channel = TableFeed(table, here.tables, here.lobby)
    asked = asyncio.Event()

    def hold_replies() -> None:
        way.proxy.hold()
        asked.set()

    await here.link.call("PING")
    way.on_sent = hold_replies
    channel.repair()
    await asked.wait()
    match = await place(there.tables, match)
    channel.repair()
    way.on_sent = lambda: None
    way.proxy.mend()
    await channel.repaired()
    assert table.seq == match.seq


# ---- Sockets


async def test_two_resumes_in_the_same_second_get_each_event_once(hub: Hub) -> None:
    async with seat_four(hub) as party:
        for _ in range(5):
            await party.turn()
        query = f"?match_id={party.match_id}&after=2"
        async with play(hub, "ann", query=query) as first, play(hub, "ann", query=query) as second:
            log = await party.play_out()
            for socket in (first, second):
                await socket.after(len(log) - 1)
                assert socket.events == log[2:]


@pytest.mark.parametrize("after", [None, 0, 7])
async def test_those_who_come_during_a_storm_of_events_miss_none(
    make_hub: MakeHub, after: int | None
) -> None:
    hubs = [await make_hub(), await make_hub()]
    async with seat_four(*hubs) as party, AsyncExitStack() as exits:
        path = f"/watch/{party.match_id}" + ("" if after is None else f"?after={after}")
        playing = asyncio.create_task(party.play_out())
        sockets: list[Socket] = []
        while not playing.done():
            for hub in hubs:
                sockets.append(await exits.enter_async_context(dial(hub, path)))
                await sockets[-1].receive()
        log = await playing
        for socket in sockets:
            opening = socket.heard[0]
            first = opening["seq"] if opening["type"] == "snapshot" else after
            assert events(await socket.rest()) == log[first:]
    assert len(sockets) > len(hubs)


async def test_a_match_ends_on_a_socket_before_the_next_one_begins(make_hub: MakeHub) -> None:
    """The hub misses the end of a match, and then hears that the agent is seated again."""
    here, there = await make_hub(), await make_hub()
    async with seat_four(here, there, continuous=True) as party:
        _, subscription = here.relay._open[party.match_id]
        here._feed.unsubscribe(subscription)
        late, witness = (
            next(socket for socket in party.sockets if socket.agent_id == agent_id)
            for agent_id in ("ann", "bob")
        )
        await play_by(witness, party)
        await late.until("match_started")
        assert late.events[:-1] == party_events(witness, party.match_id)


async def play_by(witness: Socket, party: Party) -> None:
    """Play a match to its end by what one socket hears of it."""
    event = witness.last("roll")
    while event["type"] == "roll":
        ack = await party.sockets[event["seat"]].place(event)
        event = await witness.after(ack["seq"], "roll", "match_finished")


def party_events(socket: Socket, match_id: str) -> list[Map]:
    return [event for event in socket.events if event["match_id"] == match_id]


async def test_a_match_that_is_resumed_ends_before_the_next_one_is_shown(
    make_hub: MakeHub,
) -> None:
    """The hub misses the end of a match; an agent that sits in the next one resumes it there."""
    here, there = await make_hub(), await make_hub()
    async with seat_four(there, continuous=True) as party:
        await here.relay.open(party.match_id)
        _, subscription = here.relay._open[party.match_id]
        here._feed.unsubscribe(subscription)
        log = await party.play_out()
        await party.sockets[0].until("match_started")
        query = f"?match_id={party.match_id}&after=3"
        async with play(here, party.sockets[0].agent_id, query=query) as socket:
            heard = await socket.rest()
        assert (events(heard), heard[-1]["code"]) == (log[3:], 1000)
