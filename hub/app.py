"""Put a hub together, run it, and take it apart again."""

import asyncio
import gc
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from multiprocessing.connection import Connection

import structlog
import uvloop

from hub.announcer import Announcer
from hub.archivist import Archivist
from hub.clock import Clock
from hub.connection import HubConnection
from hub.hall import Hall
from hub.house.staff import employ
from hub.matchmaker import Matchmaker
from hub.metrics import Metrics, MetricsServer
from hub.pages import Pages
from hub.player import Player
from hub.referee import Referee
from hub.relay import Relay
from hub.server import Server
from hub.settings import Settings
from hub.spectator import Spectator
from hub.store.embedded import EmbeddedValkey, EmbeddedValkeyError
from hub.store.feed import Feed
from hub.store.history import History
from hub.store.keys import Keys
from hub.store.link import Link, StoreUnavailable
from hub.store.lobby import Lobby
from hub.store.tables import Tables
from hub.tokens import Identity, SecretError, issue, load_secret, read
from hub.workers import run_crew
from protocol.codec import Format
from protocol.messages import Error, ErrorCode

# New objects between two garbage collections. The hub makes little cyclic garbage, and at Python's
# 700 it spent 8 % of its time looking for it.
GC_THRESHOLD = 50_000

REVIVE_SECONDS = 1.0  # between attempts to start the bundled Valkey again
HOUSE_TOKEN_HOURS = 10 * 366 * 24.0  # house bots get one for as long as the hub runs
STORE_RETRY_MS = 1_000  # what clients are told when the store stops answering

# What keeps a hub from starting and a person can put right; as text each says what to do.
START_ERRORS = (EmbeddedValkeyError, SecretError, StoreUnavailable, OSError)

_log = structlog.get_logger()


class Hub:
    """One hub on the store at `redis_url`."""

    def __init__(self, settings: Settings, redis_url: str, secret: bytes) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.id = f"hub-{secrets.token_hex(4)}"
        self.link = Link(redis_url, self._note_store)
        self.metrics.store_round_trips = lambda: self.link.round_trips
        keys = Keys(settings.prefix, settings.slots)
        self.tables = Tables(self.link, keys)
        self.lobby = Lobby(self.link, keys, settings.starting_hp)
        history = History(self.link, keys)
        self._feed = Feed(self.link, keys.probe(self.id))
        self.relay = Relay(
            self.id,
            tables=self.tables,
            lobby=self.lobby,
            feed=self._feed,
            keys=keys,
            metrics=self.metrics,
        )
        self.referee = Referee(self.tables, self.relay.copy)
        self.matchmaker = Matchmaker(self.lobby, self.tables, settings)
        self._archivist = Archivist(history, self.tables, settings)
        self.clock = Clock(self.tables, self.lobby, self.referee, self.matchmaker, self.metrics)
        self.hall = Hall(
            self.id,
            lobby=self.lobby,
            tables=self.tables,
            relay=self.relay,
            feed=self._feed,
            keys=keys,
        )
        self.server = Server(
            settings,
            tables=self.tables,
            pages=Pages(
                tables=self.tables,
                lobby=self.lobby,
                history=history,
                hall=self.hall,
                is_ready=self._trouble,
            ),
            read_token=partial(read, secret=secret),
            make_player=self._player,
            make_spectator=self._spectator,
            metrics=self.metrics,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.address = ("", 0)
        self.store_lost = asyncio.Event()

    @property
    def url(self) -> str:
        """Where a client on this machine finds the hub."""
        host, port = self.address
        reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"ws://{_join(reachable, port)}"

    async def start(self) -> None:
        """Connect to the store and listen. Raises StoreUnavailable, or OSError for the port."""
        try:
            await self.link.call("PING")
            await self._feed.start()
            self._tasks.append(asyncio.create_task(self._feed.run()))
            await self.hall.open()
            self.address = await self.server.start()
        except BaseException:
            await self._close()
            raise
        for part in (
            *(self.server, self.relay, self.hall, self.matchmaker, self.clock),
            self._archivist,
        ):
            self._tasks.append(asyncio.create_task(part.run()))
        _log.info("hub_listening", hub=self.id, host=self.address[0], port=self.address[1])

    async def failed(self) -> None:
        """Wait until a part of the hub ends, which none should, and raise what ended it."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task

    async def stop(self) -> None:
        """Say bye to every socket, finish what is under way and leave the store."""
        await self.server.drain()
        await self._close()
        _log.info("hub_stopped", hub=self.id)

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.link.close()

    def _player(self, connection: HubConnection, identity: Identity, format: Format) -> Player:
        return Player(
            connection,
            identity,
            format,
            settings=self.settings,
            lobby=self.lobby,
            hall=self.hall,
            relay=self.relay,
            referee=self.referee,
            matchmaker=self.matchmaker,
            metrics=self.metrics,
        )

    def _spectator(self, connection: HubConnection, format: Format) -> Spectator:
        return Spectator(
            connection,
            format,
            settings=self.settings,
            hall=self.hall,
            relay=self.relay,
        )

    def _note_store(self, up: bool) -> None:
        self.metrics.store_up = up
        if not up:
            self.store_lost.set()
            self.server.tell(
                Error(
                    code=ErrorCode.UNAVAILABLE,
                    message="the shared store does not answer; what you send may have to wait",
                    retry_ms=STORE_RETRY_MS,
                )
            )

    def _trouble(self) -> str:
        if self.server.draining:
            return "this hub is about to stop"
        if not self.link.up:
            return "the shared store does not answer"
        if not self._feed.live:
            return "the subscription to the shared store is broken"
        return ""


def main(settings: Settings, configure_logs: Callable[[], None]) -> int:
    """Run a hub until SIGTERM or Ctrl-C; its exit code.

    `configure_logs` is called in each worker process, too; it must be picklable.
    Raises one of START_ERRORS if it can't start.
    """
    if settings.workers > 1:
        return run_crew(settings, partial(_work, configure_logs), _announce)
    _run_loop(_run(settings, _announce))
    return 0


def grant(settings: Settings, agent_id: str, hp: int, reason: str) -> tuple[int, int]:
    """Add HP to an agent, or take some but never below 0; the HP before and after."""
    return asyncio.run(_grant(settings, agent_id, hp))


def _work(configure_logs: Callable[[], None], settings: Settings, listens: Connection) -> None:
    """Run one worker process; the parent hears on `listens` when it is open."""
    configure_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, too, and passes it on
    try:
        _run_loop(_run(settings, lambda _host, _port: listens.send(True)))
    except START_ERRORS as error:
        sys.exit(f"Error: {error}")


def _run_loop(work: Coroutine[None, None, None]) -> None:
    gc.freeze()  # what the imports have made stays
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


async def _run(settings: Settings, announce: Callable[[str, int], None]) -> None:
    secret = load_secret(settings)
    async with AsyncExitStack() as exits:
        url, embedded = await _open_store(settings, exits)
        hub = Hub(settings, url, secret)
        if settings.metrics_port is not None:
            server = MetricsServer(hub.metrics, settings.host, settings.metrics_port)
            exits.callback(server.close)
        await hub.start()
        exits.push_async_callback(hub.stop)
        announce(*hub.address)
        if embedded is not None:
            await exits.enter_async_context(_running(_keep_alive(embedded, hub)))
        if settings.house_bots:
            hub.hall.spectators.add(Announcer(settings.platform_fee_bps))
            employed = employ(hub.url, settings.house_bots, partial(_make_token, secret))
            await exits.enter_async_context(_running(employed))
        await _until_told_to_stop(hub)


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


async def _until_told_to_stop(hub: Hub) -> None:
    """Wait for the first signal; a second one during the drain cuts it short."""
    told = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None

    def tell() -> None:
        if told.is_set():
            task.cancel()
        told.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, tell)
    if hub.settings.workers == 1:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, tell)
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
    print(f"Claw Vegas is open at http://{_join(host, port)}", flush=True)


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
