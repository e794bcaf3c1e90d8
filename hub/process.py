"""Run a hub as a process: its store, its signals, its house bots; or several on one port."""

import asyncio
import gc
import multiprocessing
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from multiprocessing.connection import Connection

import structlog
import uvloop

from hub.app import Hub, join_address
from hub.house.staff import employ
from hub.lobby.console import Announcer
from hub.metrics import MetricsServer
from hub.settings import Settings
from hub.store.embedded import EmbeddedValkey, EmbeddedValkeyError
from hub.store.keys import Keys
from hub.store.link import Link, StoreUnavailable
from hub.store.lobby import Lobby
from hub.store.wire import StoreUrlError
from hub.tokens import SecretError, issue, load_secret
from hub.workers import run_crew

# New objects between two garbage collections. The hub makes little cyclic garbage, and at Python's
# 700 it spent 8 % of its time looking for it.
GC_THRESHOLD = 50_000

REVIVE_SECONDS = 1.0  # between attempts to start the bundled Valkey again
HOUSE_TOKEN_HOURS = 10 * 366 * 24.0  # house bots get one for as long as the hub runs

# What keeps a hub from starting and a person can put right; as text each says what to do.
START_ERRORS = (EmbeddedValkeyError, SecretError, StoreUnavailable, StoreUrlError, OSError)

_log = structlog.get_logger()


def main(settings: Settings, configure_logs: Callable[[], None]) -> int:
    """Run a hub until SIGTERM or Ctrl-C; its exit code.

    `configure_logs` is called in each worker process, too; it must be picklable.
    Raises one of START_ERRORS if it can't start.
    """
    if settings.workers > 1:
        return run_crew(settings, partial(_work, configure_logs), _announce)
    return _run_loop(_run(settings, _announce))


def grant(settings: Settings, agent_id: str, hp: int, reason: str) -> tuple[int, int]:
    """Add HP to an agent, or take some but never below 0; the HP before and after."""
    return asyncio.run(_grant(settings, agent_id, hp))


def _work(configure_logs: Callable[[], None], settings: Settings, listens: Connection) -> None:
    """Run one worker process; the parent hears on `listens` when it is open."""
    configure_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, too, and passes it on
    try:
        sys.exit(_run_loop(_run(settings, lambda _host, _port: listens.send(True))))
    except START_ERRORS as error:
        sys.exit(f"Error: {error}")


def _run_loop(work: Coroutine[None, None, None]) -> int:
    gc.freeze()  # what the imports have made stays
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(work)
        except asyncio.CancelledError:  # told to stop a second time
            return 1
    return 0


async def _run(settings: Settings, announce: Callable[[str, int], None]) -> None:
    secret = load_secret(settings)
    told = _listen_for_signals(settings)
    async with AsyncExitStack() as exits:
        url, embedded = await _open_store(settings, exits)
        hub = Hub(settings, url, secret)
        if settings.metrics_port is not None:
            server = MetricsServer(hub.metrics, settings.host, settings.metrics_port)
            exits.callback(server.close)
            _log.info("metrics_listening", host=settings.host, port=server.port)
        await hub.start()
        exits.push_async_callback(hub.stop)
        announce(*hub.address)
        if embedded is not None:
            await exits.enter_async_context(_running(_keep_alive(embedded, hub)))
        if settings.house_bots:
            hub.hall.spectators.add(Announcer(settings.platform_fee_bps))
            employed = employ(hub.url, settings.house_bots, partial(_make_token, secret))
            await exits.enter_async_context(_running(employed))
        await _until_told_to_stop(hub, told)


async def _open_store(
    settings: Settings, exits: AsyncExitStack
) -> tuple[str, EmbeddedValkey | None]:
    if settings.redis_url is not None:
        return settings.redis_url, None
    embedded = EmbeddedValkey(settings.data_dir)
    url = await embedded.start()
    exits.push_async_callback(embedded.stop)
    return url, embedded


async def _keep_alive(embedded: EmbeddedValkey, hub: Hub) -> None:
    """Start the bundled Valkey again whenever it is lost, until cancelled."""
    while True:
        await hub.store_lost.wait()
        hub.store_lost.clear()
        try:
            await embedded.revive()
        except EmbeddedValkeyError as error:
            _log.error("store_not_revived", reason=str(error))
            await asyncio.sleep(REVIVE_SECONDS)
            hub.store_lost.set()


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run something beside a block, and cancel it at the block's end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _listen_for_signals(settings: Settings) -> asyncio.Event:
    """Set an event at the first signal, from now on; a second one cancels this task."""
    told = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()

    def tell() -> None:
        if told.is_set():
            task.cancel()
        told.set()

    loop.add_signal_handler(signal.SIGTERM, tell)
    if settings.workers == 1:
        loop.add_signal_handler(signal.SIGINT, tell)
    parent = multiprocessing.parent_process()
    if parent is not None:
        _follow(parent.sentinel, told)
    return told


def _follow(parent: int, told: asyncio.Event) -> None:
    """Set an event when the parent of this worker has ended, however that came about."""
    loop = asyncio.get_running_loop()

    def follow() -> None:
        loop.remove_reader(parent)
        told.set()

    loop.add_reader(parent, follow)


async def _until_told_to_stop(hub: Hub, told: asyncio.Event) -> None:
    waits = [asyncio.create_task(told.wait()), asyncio.create_task(hub.failed())]
    done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in pending:
        wait.cancel()
    for wait in done:
        wait.result()


async def _grant(settings: Settings, agent_id: str, hp: int) -> tuple[int, int]:
    async with AsyncExitStack() as exits:
        url, _ = await _open_store(settings, exits)
        link = Link(url)
        exits.push_async_callback(link.close)
        keys = Keys(settings.prefix, settings.slots)
        return await Lobby(link, keys, settings.starting_hp).grant(agent_id, hp)


def _make_token(secret: bytes, agent_id: str, name: str) -> str:
    return issue(secret, agent_id, name, HOUSE_TOKEN_HOURS)


def _announce(host: str, port: int) -> None:
    print(f"Claw Vegas is open at http://{join_address(host, port)}", flush=True)
