"""What spectators see, and what becomes of sockets that do not read (PROTOCOL.md, /watch)."""

import asyncio
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from hub.app import Hub
from hub.store.keys import Keys
from hub.store.lobby import Closed
from hub.store.tables import Loaded
from tests.clients import (
    Format,
    Map,
    Party,
    Socket,
    dial,
    fetch,
    play,
    play_match,
    play_out,
    seat_four,
)
from tests.conftest import MakeHub

# ---- The lobby


async def test_the_lobby_opens_with_what_there_is(hub: Hub, format: Format) -> None:
    async with play(hub, "eve") as eve, seat_four(hub) as party:
        await eve.ask(type="join")
        rows = (await fetch(hub, "/api/matches")).json["matches"]
        async with dial(hub, "/watch", format=format) as lobby:
            assert await lobby.receive() == {"type": "lobby", "live": rows, "waiting": 1}
            assert rows[0]["match_id"] == party.match_id


async def test_the_lobby_tells_of_matches_that_start_and_finish(
    make_hub: MakeHub, format: Format
) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with dial(other_hub, "/watch", format=format) as lobby:
        assert await lobby.receive() == {"type": "lobby", "live": [], "waiting": 0}
        async with seat_four(hub) as party:
            listed = await lobby.receive()
            assert (listed["type"], listed["match"]["status"]) == ("match_listed", "playing")
            assert listed["match"]["match_id"] == party.match_id
            await party.play_out()
        closed = await lobby.receive()
        rows = (await fetch(hub, "/api/matches")).json["matches"]
        assert closed == {"type": "match_closed", "match": rows[0]}
        assert closed["match"]["status"] == "finished"


async def test_a_match_that_starts_while_the_lobby_opens_is_not_lost(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read, is_listed, read = asyncio.Event(), asyncio.Event(), hub.hall.overview

    async def read_slowly() -> object:
        overview = await read()
        is_read.set()
        await is_listed.wait()
        return overview

    monkeypatch.setattr(hub.hall, "overview", read_slowly)
    async with dial(hub, "/watch") as lobby:
        await is_read.wait()
        async with seat_four(hub) as party:
            is_listed.set()
            assert (await lobby.receive())["type"] == "lobby"
            assert (await lobby.receive())["match"]["match_id"] == party.match_id


# ---- A match


async def test_a_match_opens_with_a_snapshot_and_goes_on(hub: Hub, format: Format) -> None:
    async with seat_four(hub) as party:
        await party.turn()
        async with dial(hub, f"/watch/{party.match_id}", format=format) as spectator:
            snapshot = await spectator.receive()
            asked = await party.sockets[0].ask(type="sync", id="s")
            assert {**snapshot, "id": "s"} == asked
            log = await party.play_out()
            bye, close_code = await spectator.end()
            assert spectator.events == log[snapshot["seq"] :]
            assert bye == {
                "type": "bye",
                "code": 1000,
                "reason": "the match has ended",
                "reconnect": False,
                "retry_ms": 0,
            }
            assert close_code == 1000


async def test_spectators_on_any_hub_see_the_same(make_hub: MakeHub) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub) as party:
        path = f"/watch/{party.match_id}?after=0"
        async with dial(hub, path) as here, dial(other_hub, path) as there:
            log = await party.play_out()
            await asyncio.gather(here.rest(), there.rest())
            assert here.events == there.events == log


async def test_watching_after_the_end_shows_it(hub: Hub, format: Format) -> None:
    log = await play_match(hub)
    async with dial(hub, f"/watch/{log[0]['match_id']}", format=format) as spectator:
        _, close_code = await spectator.end()
        assert [message["type"] for message in spectator.heard] == ["snapshot", "bye"]
        assert spectator.heard[0]["state"]["status"] == "finished"
        assert close_code == 1000


async def test_a_finished_match_can_be_watched_from_every_seq(hub: Hub) -> None:
    log = await play_match(hub)
    for after in range(len(log) + 1):
        async with dial(hub, f"/watch/{log[0]['match_id']}?after={after}") as spectator:
            bye, close_code = await spectator.end()
            assert spectator.heard == [*log[after:], bye]
            assert close_code == 1000


async def test_a_match_that_is_deleted_as_it_is_opened_ends_the_stream(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    match_id = (await play_match(await make_hub()))[0]["match_id"]
    hub = await make_hub()
    load = hub.tables.load

    async def load_and_delete(match_id: str, key: str = "") -> Loaded | None:
        loaded = await load(match_id, key)
        await hub.tables.delete(match_id)
        return loaded

    monkeypatch.setattr(hub.tables, "load", load_and_delete)
    async with dial(hub, f"/watch/{match_id}?after=0") as spectator:
        bye, close_code = await spectator.end()
        assert (spectator.heard, close_code) == ([bye], 1000)


async def test_watching_beyond_the_newest_gets_a_snapshot(hub: Hub) -> None:
    async with seat_four(hub) as party:
        async with dial(hub, f"/watch/{party.match_id}?after=4") as spectator:
            assert (await spectator.receive())["type"] == "snapshot"
        async with dial(hub, f"/watch/{party.match_id}?after=3") as spectator:
            await party.turn()
            assert (await spectator.receive())["seq"] == 4


async def test_spectators_learn_who_is_there(hub: Hub) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await spectator.receive()
        await party.sockets[3].connection.close()
        expected = {"match_id": party.match_id, "seat": 3, "connected": False}
        assert await spectator.until("presence") == {"type": "presence", **expected}


@pytest.mark.parametrize("data", [b"\x80", "{}", b"", ""])
@pytest.mark.parametrize("is_lobby", [True, False])
async def test_a_spectator_that_speaks_is_closed(
    hub: Hub, data: bytes | str, is_lobby: bool
) -> None:
    async with seat_four(hub) as party:
        path = "/watch" if is_lobby else f"/watch/{party.match_id}"
        async with dial(hub, path) as spectator:
            await spectator.receive()
            await spectator.connection.send(data)
            bye, close_code = await spectator.end()
            assert bye == {
                "type": "bye",
                "code": 1003,
                "reason": "spectators send nothing",
                "reconnect": False,
                "retry_ms": 0,
            }
            assert close_code == 1003
        assert (await party.turn())["type"] == "ack"


async def test_a_spectator_may_ping(hub: Hub) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await (await spectator.connection.ping())
        await party.turn()
        assert (await spectator.until("roll"))["turn"] == 2


# ---- Sockets that do not read

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
    monkeypatch.setattr("hub.outbox.CLOSE_SECONDS", 0.05)
    hub = await make_hub(agent_outbox_bytes=LIMIT, turn_ms=60, away_ms=20)
    async with seat_four(hub) as party:
        agent, witness = party.sockets[0], party.sockets[1]
        async with reluctant(hub, "/play", agent.agent_id):
            await agent.connection.close()
            playing = [asyncio.create_task(play_out(each)) for each in party.sockets[1:]]
            gone: Map = {"type": "presence", "match_id": party.match_id, "seat": 0}
            await asyncio.gather(*playing)
            assert {**gone, "connected": False} in witness.heard
