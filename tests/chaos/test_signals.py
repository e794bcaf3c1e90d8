"""Hub processes stop as they are told, and nothing that was under way is lost."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from hub.store.embedded import EmbeddedValkey
from scripts._chaos.hubs import HubProcess
from scripts._chaos.run import conclude
from scripts._chaos.verdict import judge
from tests.chaos.conftest import OpenArena, finished_matches
from tests.store.parts import until

AT_ONCE_SECONDS = 2.0  # half of what a drain takes that has to wait for a socket

HANDSHAKE = (
    b"GET /watch HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)

StartHub = Callable[..., "asyncio.Future[HubProcess]"]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartHub]:
    """Start a hub on the bundled Valkey; options are those of the command line."""
    hubs: list[HubProcess] = []

    async def start(*options: str) -> HubProcess:
        common = ("--port", "0", "--data-dir", str(tmp_path), "--log-format", "json")
        hubs.append(HubProcess(0, (*common, *options), tmp_path / "log"))
        await hubs[-1].start()
        return hubs[-1]

    yield lambda *options: asyncio.ensure_future(start(*options))
    for hub in hubs:
        await hub.kill()


@contextmanager
def deaf_socket(hub: HubProcess) -> Iterator[None]:
    """Open a spectator's socket that answers nothing, and so holds up a drain."""
    with socket.create_connection(("127.0.0.1", hub.port)) as connection:
        connection.sendall(HANDSHAKE)
        assert connection.recv(12) == b"HTTP/1.1 101"
        yield


async def refuses(hub: HubProcess) -> None:
    """Wait until a hub takes no more sockets: it drains."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", hub.port)
        except ConnectionError:
            return
        writer.close()


def is_running(group: int) -> bool:
    """Tell whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def store_is_free(data_dir: Path) -> bool:
    """Tell whether a Valkey can be started here: none runs, and no lock is left."""
    with EmbeddedValkey(data_dir) as url:
        return url.startswith("unix:")


@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_hub_that_is_told_to_stop_ends_cleanly(
    start: StartHub, tmp_path: Path, number: int, workers: int
) -> None:
    hub = await start("--workers", str(workers), "--house-bots", "4")
    hub.signal_all(number) if number == SIGINT else hub.signal(number)
    assert await hub.ended() == 0
    await until(lambda: not is_running(hub.pid))
    assert store_is_free(tmp_path)


async def test_a_drain_waits_for_sockets_but_not_for_ever(start: StartHub) -> None:
    hub = await start("--workers", "2")
    with deaf_socket(hub):
        assert await hub.terminate() == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_second_signal_ends_a_drain_at_once(start: StartHub, workers: int) -> None:
    hub = await start("--workers", str(workers))
    with deaf_socket(hub):
        hub.signal(SIGTERM)
        await refuses(hub)
        hub.signal(SIGTERM)
        async with asyncio.timeout(AT_ONCE_SECONDS):
            await hub.ended()
    await until(lambda: not is_running(hub.pid))


async def test_a_worker_goes_with_its_parent(start: StartHub) -> None:
    hub = await start("--workers", "2")
    hub.signal(SIGKILL)
    await hub.ended()
    await until(lambda: not is_running(hub.pid))


async def test_moves_under_way_when_a_hub_is_told_to_stop_count_once(arena: OpenArena) -> None:
    async with arena(turn_seconds=10.0) as two:
        await finished_matches(two, 1)
        for place in two.places:
            async with place.busy:
                assert await place.hub.terminate() == 0
                await place.start()
        verdict = judge(await conclude(two))
    assert (verdict.troubles, verdict.hp_difference, verdict.autos_explained) == ([], 0, {})
