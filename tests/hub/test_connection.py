"""Both ways to a socket are the same to see: past the websockets package's send(), and by it."""

import asyncio
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from hub import connection
from hub.connection import DirectConnection, PlainConnection, why_not_direct
from hub.server import Server
from tests.clients import dial, play, play_match, seat_four
from tests.conftest import MakeHub

both_ways = pytest.mark.parametrize("direct", [True, False], ids=["direct", "plain"])


@both_ways
@pytest.mark.parametrize("format", ["msgpack", "json"])
async def test_a_whole_match_reaches_all_four_agents(
    make_hub: MakeHub, direct: bool, format: Any
) -> None:
    hub = await make_hub(direct_writes=direct)
    events = await play_match(hub, format=format)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "match_finished"


@both_ways
async def test_a_spectator_hears_the_rest_and_a_goodbye(make_hub: MakeHub, direct: bool) -> None:
    hub = await make_hub(direct_writes=direct)
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}?after=0") as spectator:
        events = await party.play_out()
        bye, code = await spectator.end()
    assert spectator.events == events
    assert (bye["type"], bye["code"], code) == ("bye", 1000, 1000)


@both_ways
async def test_the_last_word_before_a_close_is_goodbye(make_hub: MakeHub, direct: bool) -> None:
    hub = await make_hub(direct_writes=direct)
    async with play(hub, "ann") as socket:
        await hub.server.drain()
        bye, code = await socket.end()
    assert (bye["type"], bye["code"], code) == ("bye", 1001, 1001)


@both_ways
async def test_a_spectator_that_is_behind_is_spared_events_and_shown_the_table(
    make_hub: MakeHub, direct: bool
) -> None:
    hub = await make_hub(direct_writes=direct, spectator_outbox_bytes=20_000)
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await spectator.until("snapshot")
        (outbox,) = (await table_of(hub, party.match_id)).crowd.outboxes
        outbox.overflow()
        first = await party.turn()
        second = await party.turn()
        outbox.drain()
        shown = await spectator.until("snapshot")
        assert shown["seq"] >= second["seq"]
        assert shown["skipped"] >= second["seq"] - first["seq"] + 1


async def table_of(hub: Any, match_id: str) -> Any:
    return await hub.relay.open(match_id)


@both_ways
async def test_a_closed_connection_lets_go_of_its_outbox(make_hub: MakeHub, direct: bool) -> None:
    hub = await make_hub(direct_writes=direct)
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await spectator.until("snapshot")
        crowd = (await table_of(hub, party.match_id)).crowd
        (outbox,) = crowd.outboxes
        await spectator.connection.close()
        await party.turn()
        while len(crowd):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
        assert (outbox.ready, outbox.behind) == (False, False)


async def test_the_plain_way_is_taken_when_the_package_is_another(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "version", lambda _: "18.0")
    assert why_not_direct() == "websockets 18.0 has not been tested for it"
    one = await make_hub()
    async with dial(one, "/watch") as socket:
        await socket.until("lobby")
        assert kinds(one.server) == {PlainConnection}


async def test_the_direct_way_is_taken_with_this_package(make_hub: MakeHub) -> None:
    assert why_not_direct() == ""
    one = await make_hub()
    async with dial(one, "/watch") as socket:
        await socket.until("lobby")
        assert kinds(one.server) == {DirectConnection}


def test_a_package_without_what_is_overridden_is_not_written_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "NEEDED", ("send_data", "no_such_method"))
    assert why_not_direct().endswith("has no no_such_method")


def kinds(server: Server) -> set[type]:
    return {type(each) for each in server.connections}


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536])
def test_frames_are_taken_apart(length: int) -> None:
    text = "x" * length
    frames = b"".join(
        Frame(opcode, text.encode()).serialize(mask=False)
        for opcode in (Opcode.BINARY, Opcode.TEXT, Opcode.BINARY)
    )
    assert list(connection.messages(frames)) == [text.encode(), text, text.encode()]
