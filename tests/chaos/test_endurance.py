"""A hub process that has seen a lot, or nothing for a while."""

import asyncio
import itertools
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect

from hub.settings import Settings
from tests.chaos.own_process import OwnProcess, own_process
from tests.clients import bearer

VISITS = 10_000
WARM_UP = 2_000
AT_ONCE = 50

# What the visits after the warm-up may leave. An object left by each would be four times as many;
# some sockets are still being closed when their hub is weighed.
MOST_OBJECTS = 2_000
MOST_BYTES = 2 * 1024**2

PING_SECONDS = 0.1
STOPPED_SECONDS = 1.0  # ten pings: with the default, more than three minutes


@pytest.fixture
def hub(redis_url: str) -> Iterator[OwnProcess]:
    settings = Settings(
        port=0, prefix=f"chaos-{secrets.token_hex(4)}:", ping_seconds=PING_SECONDS, slots=4
    )
    with own_process(settings, redis_url) as hub:
        yield hub


def request(path: str, headers: dict[str, str]) -> bytes:
    fields = {
        "Host": "hub",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        **headers,
    }
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


PLAY = [request("/play", bearer(f"agent-{number}")) for number in range(100)]
WATCH = request("/watch", {})
CLOSE = bytes([0x88, 0x80, 0, 0, 0, 0])  # a close frame without a code, masked by zeroes


async def visit(hub: OwnProcess, opening: bytes, *, polite: bool) -> None:
    """Open a socket, take what comes first, and leave with or without a word."""
    reader, writer = await asyncio.open_connection(*hub.address)
    writer.write(opening)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    assert await reader.read(1)
    if polite:
        writer.write(CLOSE)
        await reader.read()
    writer.transport.abort()


async def visit_often(hub: OwnProcess, visits: int) -> None:
    """Make so many visits, AT_ONCE at a time: agents and spectators, polite ones and others."""
    kinds = zip(
        itertools.cycle([*PLAY, *[WATCH] * len(PLAY)]),
        itertools.cycle([True, False, False]),
        strict=False,
    )
    left = iter(itertools.islice(kinds, visits))

    async def visit_in_turn() -> None:
        for opening, polite in left:
            await visit(hub, opening, polite=polite)

    await asyncio.gather(*(visit_in_turn() for _ in range(AT_ONCE)))


async def test_sockets_that_came_and_went_leave_no_memory_behind(hub: OwnProcess) -> None:
    await visit_often(hub, WARM_UP)
    before = await asyncio.to_thread(hub.weigh)
    await visit_often(hub, VISITS - WARM_UP)
    after = await asyncio.to_thread(hub.weigh)
    assert after.objects < before.objects + MOST_OBJECTS
    assert after.resident_bytes < before.resident_bytes + MOST_BYTES


async def test_sockets_outlive_a_stop_of_the_whole_hub(hub: OwnProcess) -> None:
    host, port = hub.address
    async with AsyncExitStack() as exits:
        sockets = [
            await exits.enter_async_context(
                connect(f"ws://{host}:{port}{path}", additional_headers=headers, ping_interval=None)
            )
            for path, headers in (("/play", bearer("ann")), ("/watch", {}))
        ]
        for _ in range(3):
            hub.pause()
            await asyncio.sleep(STOPPED_SECONDS)
            hub.resume()
            for socket in sockets:
                await (await socket.ping())
