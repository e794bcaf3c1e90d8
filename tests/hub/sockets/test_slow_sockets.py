"""What becomes of sockets that do not read (DESIGN.md, Sockets)."""

import asyncio
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from hub.app import Hub
from hub.store.keys import Keys
from hub.store.lobby import Closed
from tests.clients import (
    Map,
    Party,
    Socket,
    dial,
    play,
    play_match,
    play_out,
    seat_four,
)
from tests.conftest import MakeHub

LIMIT = 20_000  # bytes: a snapshot with twenty lines of talk, and a little
BUFFER = 4_096  # bytes that the kernel is asked to hold for each direction; it takes twice as many
TURNS = 60  # of 1,200 bytes each: twice what limit and buffers hold


@asynccontextmanager
async def reluctant(hub: Hub, path: str, agent_id: str = "") -> AsyncIterator[Socket]:
    """Open a socket that reads nothing until `resume`, through buffers as small as can be."""
    assert hub.server._server is not None
    for listening in hub.server._server.sockets:
        listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, BUFFER)
    narrow = sockets.socket()
    narrow.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, BUFFER)
    narrow.connect(hub.address)
    opened = play(hub, agent_id, sock=narrow) if agent_id else dial(hub, path, sock=narrow)
    async with opened as socket:
        await socket.receive()
        socket.connection.transport.pause_reading()
        try:
            yield socket
        finally:
            resume(socket)


def resume(socket: Socket) -> None:
    socket.connection.transport.resume_reading()


async def take_turns(party: Party, count: int = TURNS) -> None:
    for _ in range(count):
        await party.turn(message="\N{GAME DIE}" * 140)


async def test_a_slow_spectator_is_spared_events_and_goes_on(make_hub: MakeHub) -> None:
    hub = await make_hub(spectator_outbox_bytes=LIMIT)
    async with seat_four(hub) as party:
        async with reluctant(hub, f"/watch/{party.match_id}") as spectator:
            await take_turns(party)
            resume(spectator)
            snapshot = await spectator.until("snapshot")
            log = await party.play_out()
            bye, close_code = await spectator.end()
        seen = [event["seq"] for event in spectator.events]
        spared_from = next(seq for seq, other in enumerate(seen, seen[0]) if seq != other)
        assert snapshot["skipped"] >= snapshot["seq"] - spared_from + 1 > 0
        assert seen == [*range(4, spared_from), *range(snapshot["seq"] + 1, len(log) + 1)]
        assert (bye["type"], close_code) == ("bye", 1000)


async def test_a_slow_spectator_slows_nobody(make_hub: MakeHub) -> None:
    hub = await make_hub(spectator_outbox_bytes=LIMIT)
    async with seat_four(hub) as party:
        path = f"/watch/{party.match_id}"
        async with reluctant(hub, path), dial(hub, path) as quick:
            snapshot = await quick.until("snapshot")
            log = await party.play_out()
            await quick.rest()
            assert quick.events == log[snapshot["seq"] :]


async def test_a_slow_spectator_is_shown_the_end(make_hub: MakeHub) -> None:
    hub = await make_hub(spectator_outbox_bytes=LIMIT)
    async with seat_four(hub) as party:
        async with reluctant(hub, f"/watch/{party.match_id}") as spectator:
            await take_turns(party)
            log = await party.play_out()
            resume(spectator)
            bye, close_code = await spectator.end()
        snapshot = spectator.heard[-2]
        assert (snapshot["type"], snapshot["seq"]) == ("snapshot", len(log))
        assert snapshot["state"]["status"] == "finished"
        assert (bye["type"], bye["code"], close_code) == ("bye", 1000, 1000)


async def test_a_slow_lobby_spectator_is_shown_the_lobby_anew(
    make_hub: MakeHub, keys: Keys
) -> None:
    hub = await make_hub(spectator_outbox_bytes=LIMIT)
    match_id = (await play_match(hub))[0]["match_id"]
    (row,) = await hub.lobby.rows([match_id])
    notice = msgspec.msgpack.encode(Closed(row))
    async with reluctant(hub, "/watch") as lobby, dial(hub, "/watch") as quick:
        await quick.until("lobby")
        for _ in range(300):
            await hub.link.call("PUBLISH", keys.lobby_feed, notice)
            await quick.until("match_closed")
        resume(lobby)
        assert await lobby.until("lobby") == {"type": "lobby", "live": [], "waiting": 0}
        heard = [message["type"] for message in lobby.heard].count("match_closed")
        assert 0 < heard < 300
        async with seat_four(hub) as party:
            assert (await lobby.until("match_listed"))["match"]["match_id"] == party.match_id


async def test_a_slow_agent_is_closed_and_resumes(make_hub: MakeHub) -> None:
    hub = await make_hub(agent_outbox_bytes=LIMIT)
    async with seat_four(hub) as party:
        agent_id = party.sockets[0].agent_id
        async with reluctant(hub, "/play", agent_id) as slow:
            await take_turns(party)
            resume(slow)
            bye, close_code = await slow.end()
        assert {**bye, "retry_ms": 0} == {
            "type": "bye",
            "code": 1013,
            "reason": "your socket could not keep up",
            "reconnect": True,
            "retry_ms": 0,
        }
        assert close_code == 1013
        last = slow.events[-1]["seq"]
        log = await party.play_out()
        query = f"?match_id={party.match_id}&after={last}"
        async with play(hub, agent_id, query=query) as again:
            await again.rest()
            assert slow.events + again.events == log[3:]


async def test_an_agent_that_never_reads_is_given_up(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub.sockets.outbox.CLOSE_SECONDS", 0.05)
    hub = await make_hub(agent_outbox_bytes=LIMIT, turn_ms=60, away_ms=20)
    async with seat_four(hub) as party:
        agent, witness = party.sockets[0], party.sockets[1]
        async with reluctant(hub, "/play", agent.agent_id):
            await agent.connection.close()
            playing = [asyncio.create_task(play_out(each)) for each in party.sockets[1:]]
            gone: Map = {"type": "presence", "match_id": party.match_id, "seat": 0}
            await asyncio.gather(*playing)
            assert {**gone, "connected": False} in witness.heard
