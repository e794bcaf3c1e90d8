"""Whatever an agent's socket sends, each message gets one reply and the match goes on."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.app import Hub
from tests.clients import (
    HANG_SECONDS,
    UPGRADE,
    Format,
    Map,
    Party,
    Socket,
    bearer,
    fetch,
    placement,
    seat_four,
)

# The hub lives through all examples: that is the point.
thorough = settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

REPLIES = {"queued", "left", "ack", "snapshot", "error"}

FIELDS = ["type", "id", "match_id", "turn", "action", "params", "client_seed", "fee_min"]
FIELDS += ["fee_max", "continuous", "face", "message", "nonce"]
WORDS = ["join", "leave", "action", "sync", "place", "roll", "welcome", "", "|", "\x00", "x" * 65]

numbers = st.integers(-(2**63), 2**64 - 1) | st.integers(-1, 8) | st.floats()
scalars = st.none() | st.booleans() | numbers | st.text(max_size=70) | st.sampled_from(WORDS)
names = st.sampled_from(FIELDS) | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)
changes = st.dictionaries(names, values, max_size=3)
packable = values | st.binary(max_size=20)


@pytest.fixture
async def party(hub: Hub, format: Format) -> AsyncIterator[Party]:
    async with seat_four(hub, format=format) as party:
        yield party


async def replies(socket: Socket, data: bytes | str) -> list[Map]:
    """Send a frame; the replies that come before that to the command after it."""
    before = len(socket.heard)
    await socket.connection.send(data)
    await socket.ask(type="sync")
    heard = socket.heard[before:-1]
    return [each for each in heard if each["type"] in REPLIES]


def write(message: Any, format: Format) -> bytes | str:
    return json.dumps(message) if format == "json" else bytes(msgpack.packb(message))


@given(data=st.binary(max_size=4096))
@thorough
async def test_random_bytes_get_one_reply(party: Party, format: Format, data: bytes) -> None:
    frame = data.decode("latin-1")[:2048] if format == "json" else data
    reply, *more = await replies(party.current, frame)
    assert (reply["code"], more) == ("bad_message", [])


@given(data=st.data())
@thorough
async def test_any_value_gets_one_reply(party: Party, format: Format, data: st.DataObject) -> None:
    message = data.draw(values if format == "json" else packable)
    assert len(await replies(party.current, write(message, format))) == 1


@given(
    changes=changes, inner=changes, commands=st.sampled_from(["join", "leave", "action", "sync"])
)
@thorough
async def test_any_change_to_a_command_gets_one_reply(
    party: Party, format: Format, changes: Map, inner: Map, commands: str
) -> None:
    action = placement(party.roll)
    action["params"] |= inner
    frame = write({**action, "type": commands, **changes}, format)
    if len(frame) <= 4096:
        assert len(await replies(party.current, frame)) == 1


@given(data=st.data())
@thorough
async def test_any_damage_to_a_command_gets_one_reply(
    party: Party, format: Format, data: st.DataObject
) -> None:
    frame = write({**placement(party.roll), "id": "i"}, format)
    at = data.draw(st.integers(0, len(frame)))
    upto = data.draw(st.integers(at, len(frame)))
    if isinstance(frame, str):
        damaged: bytes | str = frame[:at] + data.draw(st.text(max_size=4)) + frame[upto:]
    else:
        damaged = frame[:at] + data.draw(st.binary(max_size=4)) + frame[upto:]
    assert len(await replies(party.current, damaged)) == 1


@given(data=st.binary(max_size=300))
@thorough
async def test_bytes_that_are_no_frames_end_only_their_connection(hub: Hub, data: bytes) -> None:
    headers = [*UPGRADE, *bearer("ann").items()]
    lines = ["GET /play HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    await exchange(hub, "\r\n".join([*lines, "", ""]).encode() + data)
    assert (await fetch(hub, "/healthz")).status == 200


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"GET ", b"GET / HTTP/1.1\r\n"]))
@thorough
async def test_bytes_that_are_no_request_end_only_their_connection(
    hub: Hub, data: bytes, start: bytes
) -> None:
    await exchange(hub, start + data)
    assert (await fetch(hub, "/healthz")).status == 200


async def exchange(hub: Hub, data: bytes) -> bytes:
    """Send bytes and no more; what comes until the hub closes the connection."""
    reader, writer = await asyncio.open_connection(*hub.address)
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(HANG_SECONDS):
        answer = await reader.read()
    writer.close()
    return answer
