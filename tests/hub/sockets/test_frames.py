"""Frames that hold no command, and frames that end their connection and nothing else."""

from typing import Any

import msgpack
import pytest

from hub.app import Hub
from tests.clients import Format, Socket, assert_untouched, placement, play, seat_four

FRAMES: dict[Format, dict[str, bytes | str]] = {
    "msgpack": {
        "empty": b"",
        "nil": b"\xc0",
        "number": b"\x01",
        "string": b"\xa4type",
        "list": msgpack.packb([1, 2, 3]),
        "empty_map": b"\x80",
        "reserved_byte": b"\xc1",
        "keys_that_are_numbers": msgpack.packb({1: 2}),
        "extension": msgpack.packb({"type": msgpack.ExtType(5, b"x")}),
        "timestamp": msgpack.packb({"type": msgpack.Timestamp(1)}),
        "list_of_2_to_the_32": b"\xdd\xff\xff\xff\xff",
        "map_of_2_to_the_32": b"\xdf\xff\xff\xff\xff",
        "string_of_2_to_the_32": b"\xdb\xff\xff\xff\xff",
        "binary_of_2_to_the_32": b"\xc6\xff\xff\xff\xff",
        "such_a_list_in_a_field": b"\x82\xa4type\xa5leave\xa1x\xdd\xff\xff\xff\xff",
        "nested_lists": b"\x91" * 4000,
        "nested_maps": b"\x81\xa1a" * 1300,
        "nesting_in_a_field": b"\x82\xa4type\xa5leave\xa1x" + b"\x91" * 4000,
        "truncated": msgpack.packb({"type": "leave"})[:-1],
        "trailing_bytes": msgpack.packb({"type": "leave"}) + b"\xc0",
        "two_messages": msgpack.packb({"type": "leave"}) * 2,
        "invalid_utf_8": b"\x82\xa4type\xa4sync\xa8match_id\xa2\xff\xfe",
        "surrogate": b"\x82\xa4type\xa4sync\xa8match_id\xa3\xed\xa0\x80",
        "nan": b"\x82\xa4type\xa4join\xa7fee_min\xcb\x7f\xf8" + bytes(6),
        "infinity": b"\x82\xa4type\xa4join\xa7fee_min\xcb\x7f\xf0" + bytes(6),
        "json": b'{"type": "leave"}',
    },
    "json": {
        "empty": "",
        "null": "null",
        "number": "1",
        "string": '"leave"',
        "list": '[{"type": "leave"}]',
        "empty_map": "{}",
        "blank": " ",
        "truncated": '{"type": "leave"',
        "trailing_text": '{"type": "leave"} x',
        "two_messages": '{"type": "leave"}{"type": "leave"}',
        "single_quotes": "{'type': 'leave'}",
        "nan": '{"type": "join", "fee_min": NaN}',
        "infinity": '{"type": "join", "fee_min": Infinity}',
        "nan_in_an_unknown_field": '{"type": "leave", "x": NaN}',
        "overflowing_number": '{"type": "join", "fee_min": 1e999}',
        "digits": '{"type": "join", "fee_min": ' + "9" * 4000 + "}",
        "nested_lists": "[" * 4000,
        "nested_maps": '{"a":' * 800,
        "nesting_in_a_field": '{"type": "leave", "x": ' + "[" * 4000,
        "surrogate": '{"type": "sync", "match_id": "\\ud800"}',
        "byte_order_mark": '\ufeff{"type": "leave"}',
        "nul": "\x00",
    },
}


def frames() -> list[Any]:
    return [
        pytest.param(format, data, id=f"{format}-{name}")
        for format, named in FRAMES.items()
        for name, data in named.items()
    ]


@pytest.mark.parametrize(("format", "data"), frames())
async def test_a_frame_without_a_command_gets_one_error(
    hub: Hub, format: Format, data: bytes | str
) -> None:
    async with seat_four(hub, format=format) as party:
        assert await errors(party.current, data) == ["bad_message"]
        await assert_untouched(party)


async def errors(socket: Socket, *frames: bytes | str) -> list[str]:
    """Send frames as they are; the codes of the errors that come before the next reply."""
    before = len(socket.heard)
    for data in frames:
        await socket.connection.send(data)
    assert (await socket.ask(type="sync"))["type"] == "snapshot"
    return [message["code"] for message in socket.heard[before:] if message["type"] == "error"]


async def test_a_command_in_fragments_is_one_command(hub: Hub) -> None:
    async with seat_four(hub, format="msgpack") as party:
        data = msgpack.packb({**placement(party.roll), "id": "in pieces"})
        await party.current.connection.send([data[:1], data[1:9], b"", data[9:]])
        assert (await party.current.until("ack"))["id"] == "in pieces"


async def test_the_largest_message_is_read(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        filler = 4096 - len(msgpack.packb({"type": "leave", "x": "x" * 300})) + 300
        data = msgpack.packb({"type": "leave", "x": "x" * filler})
        text = '{"type": "leave"}'
        frame = text + " " * (4096 - len(text)) if format == "json" else data
        assert len(frame) == 4096
        await party.current.connection.send(frame)
        assert await party.current.until("left", "error") == {"type": "left"}


# ---- Frames that end the connection, and nothing else

CLOSING: dict[str, tuple[Format, Any, int]] = {
    "text_on_msgpack": ("msgpack", '{"type": "leave"}', 1003),
    "binary_on_json": ("json", msgpack.packb({"type": "leave"}), 1003),
    "json_bytes_on_json": ("json", b'{"type": "leave"}', 1003),
    "over_4_kib_of_msgpack": ("msgpack", b"\x91" * 4097, 1009),
    "over_4_kib_of_json": ("json", "[" * 4097, 1009),
    "over_4_kib_in_fragments": ("msgpack", [b"\x91" * 4000, b"\x91" * 97], 1009),
}


@pytest.mark.parametrize(("format", "data", "code"), CLOSING.values(), ids=CLOSING)
async def test_a_frame_that_is_not_taken_closes_the_connection_only(
    hub: Hub, format: Format, data: Any, code: int
) -> None:
    async with seat_four(hub, format=format) as party:
        agent_id = party.current.agent_id
        await party.current.connection.send(data)
        _, close_code = await party.current.end()
        assert close_code == code
        async with play(hub, agent_id, format=format) as again:
            await again.until("snapshot")
            assert (await again.place(party.roll))["type"] == "ack"
        for socket in party.others:
            await socket.until("placed")


@pytest.mark.parametrize(
    ("format", "data"), [("msgpack", "text"), ("json", b"binary")], ids=["msgpack", "json"]
)
async def test_a_frame_of_the_other_kind_gets_a_bye(
    hub: Hub, format: Format, data: bytes | str
) -> None:
    async with play(hub, "ann", format=format) as ann:
        await ann.connection.send(data)
        bye, close_code = await ann.end()
        reason = f"this socket takes {format} only"
        expected = {"code": 1003, "reason": reason, "reconnect": True, "retry_ms": 0}
        assert (bye, close_code) == ({"type": "bye", **expected}, 1003)


async def test_text_that_is_not_utf_8_closes_with_1007(hub: Hub) -> None:
    """RFC 6455, 8.1."""
    async with play(hub, "ann", format="json") as ann:
        await ann.connection.send(b'{"type": "\xff"}', text=True)
        assert (await ann.end())[1] == 1007
