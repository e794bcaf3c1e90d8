"""Put a hub together: which part gets which."""

import asyncio
import secrets
from functools import partial

import structlog

from hub.http.api import Pages
from hub.lobby.matchmaker import Matchmaker
from hub.lobby.presence import Hall
from hub.lobby.retention import Archivist
from hub.metrics import Metrics
from hub.settings import Settings
from hub.sockets.connection import HubConnection
from hub.sockets.front_door import Server
from hub.sockets.player import Player
from hub.sockets.spectator import Spectator
from hub.store.feed import Feed
from hub.store.history import History
from hub.store.keys import Keys
from hub.store.link import Link
from hub.store.lobby import Lobby
from hub.store.tables import Tables
from hub.tables.deadlines import Clock
from hub.tables.referee import Referee
from hub.tables.subscriptions import Relay
from hub.tokens import Identity, read
from protocol.codec import Format
from protocol.messages import Error, ErrorCode

STORE_RETRY_MS = 1_000  # what clients are told when the store stops answering

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
        return f"ws://{join_address(reachable, port)}"

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
        """Say bye to every socket, finish what is under way and leave the store.

        Cancelled, it drops every socket instead.
        """
        try:
            await self.server.drain()
            await self._close()
        except asyncio.CancelledError:
            self.server.abort()
            raise
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


def join_address(host: str, port: int) -> str:
    """Write an address as URLs do."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
