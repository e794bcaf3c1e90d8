"""Both ways to a socket are the same to see: past the websockets package's send(), and by it."""

import asyncio
from typing import Any

import pytest
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

from hub.sockets import connection
from hub.sockets.connection import DirectConnection, PlainConnection, whole_message, why_not_direct
from hub.sockets.front_door import Server
from tests.clients import dial, pack, play, play_match, seat_four
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
async def test_a_drained_agent_with_much_to_say_is_told_goodbye(
    make_hub: MakeHub, direct: bool
) -> None:
    hub = await make_hub(direct_writes=direct)
    async with play(hub, "ann") as socket:
        for number in range(60):
            await socket.send(type="leave", id=f"{number}")
        assert (await socket.receive())["id"] == "0"
        await hub.server.drain()
        bye, code = await socket.end()
    assert (bye["type"], bye["code"], code) == ("bye", 1001, 1001)
    answered = [message["id"] for message in socket.heard if message["type"] == "left"]
    assert answered == [f"{number}" for number in range(len(answered))]


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


@both_ways
@pytest.mark.parametrize("format", ["msgpack", "json"])
async def test_commands_are_taken_in_order_however_their_bytes_are_cut(
    make_hub: MakeHub, direct: bool, format: Any
) -> None:
    hub = await make_hub(direct_writes=direct, messages_per_second=1_000_000)
    async with play(hub, "ann", format=format) as ann:
        (server_side,) = hub.server.connections
        stream = frames_of_four_commands(format)
        for cut in range(len(stream)):
            before = len(ann.heard)
            server_side.data_received(stream[:cut])
            server_side.data_received(stream[cut:])
            ids = [(await ann.receive())["id"] for _ in range(4)]
            assert (ids, len(ann.heard) - before) == (["short", "long", "pieces", "last"], 4)


def frames_of_four_commands(format: Any) -> bytes:
    """Make client frames: a command of each length of header, one in two pieces, and a ping."""
    opcode = Opcode.TEXT if format == "json" else Opcode.BINARY

    def leave(id: str, **more: str) -> bytes:
        packed = pack({"type": "leave", "id": id, **more}, format)
        return packed.encode() if isinstance(packed, str) else packed

    pieces = leave("pieces")
    frames = [
        Frame(opcode, leave("short")),
        Frame(opcode, leave("long", filler="x" * 150)),
        Frame(Opcode.PING, b"?"),
        Frame(opcode, pieces[:5], fin=False),
        Frame(Opcode.CONT, pieces[5:]),
        Frame(opcode, leave("last")),
    ]
    return b"".join(each.serialize(mask=True) for each in frames)


@pytest.mark.parametrize("format", ["msgpack", "json"])
async def test_the_package_reads_no_frame_of_a_match_that_comes_whole(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch, format: Any
) -> None:
    read: list[Frame] = []

    def count(protocol: ServerProtocol, frame: Frame) -> None:
        read.append(frame)
        recv_frame(protocol, frame)

    recv_frame = ServerProtocol.recv_frame
    monkeypatch.setattr(ServerProtocol, "recv_frame", count)
    hub = await make_hub()
    async with seat_four(hub, format=format) as party:
        read.clear()  # those of joining
        await party.play_out()
    assert {each.opcode for each in read} <= {Opcode.CLOSE}


@pytest.mark.parametrize("length", [0, 125, 126, 127, 128, 4095, 4096])
def test_a_whole_message_is_unmasked(length: int) -> None:
    payload = bytes(number % 251 for number in range(length))
    frame = Frame(Opcode.BINARY, payload).serialize(mask=True)
    assert whole_message(frame, 4096) == payload
    assert whole_message(frame, length - 1) is None
    assert whole_message(frame[:-1], 4096) is None
    assert whole_message(frame + b"\x00", 4096) is None


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x82",
        Frame(Opcode.BINARY, b"unmasked").serialize(mask=False),
        Frame(Opcode.BINARY, b"fragment", fin=False).serialize(mask=True),
        b"\xc2\x80" + bytes(4),  # a reserved bit
        Frame(Opcode.CONT, b"continued").serialize(mask=True),
        Frame(Opcode.PING, b"ping").serialize(mask=True),
        b"\x82\xff" + bytes(4) + bytes(127),  # the 127 stands for a length of eight bytes
    ],
)
def test_what_is_no_whole_message_is_left_to_the_package(frame: bytes) -> None:
    assert whole_message(frame, 4096) is None


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
