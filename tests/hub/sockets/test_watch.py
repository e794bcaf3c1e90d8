"""What spectators see (PROTOCOL.md, /watch)."""

import asyncio

import pytest

from hub.app import Hub
from hub.store.tables import Loaded
from tests.clients import (
    Format,
    dial,
    fetch,
    play,
    play_match,
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
