"""Listen on one port: WebSockets for agents and spectators, plain HTTP for everything else."""

import asyncio
import gc
import random
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from weakref import WeakSet

import msgspec
import structlog
from websockets.asyncio.server import Server as WebSocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from hub.http.api import Pages, Problem, no_match, read_number, read_query, unavailable
from hub.loops import spread
from hub.metrics import Metrics
from hub.rules.match import seat_of
from hub.settings import Settings
from hub.sockets.connection import (
    UNANSWERED_PINGS,
    DirectConnection,
    HubConnection,
    PlainConnection,
    why_not_direct,
)
from hub.sockets.player import Player
from hub.sockets.spectator import Spectator
from hub.store.link import StoreUnavailable
from hub.store.tables import Tables
from hub.tokens import Identity, TokenError
from protocol.codec import FORMATS, Format
from protocol.messages import (
    JSON_SUBPROTOCOL,
    MESSAGE_LIMIT_BYTES,
    MSGPACK_SUBPROTOCOL,
    TOKEN_SUBPROTOCOL_PREFIX,
    AgentId,
    CloseCode,
    MatchId,
    Message,
)

BACKLOG = 4096  # connections that wait to be taken: all of a big hub's may come back at once
DRAIN_RETRY_MS = (100, 3_000)  # when a drained client comes back, spread out
FULL_RETRY_MS = (5_000, 15_000)  # when a client that found no room may try again

FREEZE_STEP = 100  # sockets, and a quarter more, by which a hub grows between two freezes
_log = structlog.get_logger()

MakePlayer = Callable[[HubConnection, Identity, Format], Player]
MakeSpectator = Callable[[HubConnection, Format], Spectator]


class PlayRoute(msgspec.Struct, frozen=True):
    """A request of an agent, and from which event on it wants a match."""

    identity: Identity
    resume: tuple[MatchId, int] | None


class WatchRoute(msgspec.Struct, frozen=True):
    """A request of a spectator: a match, or the lobby (None)."""

    match_id: MatchId | None
    after: int | None


class Server:
    """One hub's listening port and its open sockets.

    `make_player` and `make_spectator` serve a connection; `read_token` checks a token and raises
    TokenError.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        tables: Tables,
        pages: Pages,
        read_token: Callable[[str], Identity],
        make_player: MakePlayer,
        make_spectator: MakeSpectator,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._tables = tables
        self._pages = pages
        self._read_token = read_token
        self._make_player = make_player
        self._make_spectator = make_spectator
        self._metrics = metrics
        self._sockets: set[Player | Spectator] = set()
        self._freeze_at = FREEZE_STEP
        self._server: WebSocketServer | None = None
        self.connections: WeakSet[HubConnection] = WeakSet()
        self._direct = settings.direct_writes
        self.draining = False

    async def start(self) -> tuple[str, int]:
        """Listen; the address and port. Raises OSError if that can't be."""
        if self._direct and (reason := why_not_direct()):
            self._direct = False
            _log.warning("direct_writes_off", reason=reason)
        ping_seconds = self._settings.ping_seconds
        self._server = await serve(
            self._handle,
            self._settings.host,
            self._settings.port,
            reuse_port=self._settings.workers > 1,
            backlog=BACKLOG,
            create_connection=self._connect,  # type: ignore[arg-type]  # any callable will do
            process_request=self._route,
            process_response=_name_subprotocol,
            compression=None,
            server_header=None,
            max_size=MESSAGE_LIMIT_BYTES,
            ping_interval=None if self._direct else ping_seconds,  # else `run` does it for all
            ping_timeout=ping_seconds * UNANSWERED_PINGS,
        )
        host, port, *_ = self._server.sockets[0].getsockname()
        return host, port

    async def drain(self) -> None:
        """Take no more sockets, say bye to each open one and wait until all have closed."""
        self.draining = True
        assert self._server is not None
        self._server.close(close_connections=False)
        goodbyes = [each.drain(random.randint(*DRAIN_RETRY_MS)) for each in self._sockets]
        try:
            async with asyncio.timeout(self._settings.drain_seconds):
                await asyncio.gather(*goodbyes)
                await self._server.wait_closed()
        except TimeoutError:
            self.abort()
            await self._server.wait_closed()

    def abort(self) -> None:
        """Drop every socket, without a word."""
        assert self._server is not None
        for connection in self.connections:
            connection.transport.abort()
        for handler in self._server.handler_tasks:  # some may be waiting for the store
            handler.cancel()

    async def run(self) -> None:
        """Ping all sockets now and then, until cancelled; one that does not answer is given up."""
        assert self._server is not None
        while True:
            async for few in spread(self._server.connections, self._settings.ping_seconds):
                for connection in few:
                    assert isinstance(connection, HubConnection)
                    connection.check_pulse()

    def tell(self, message: Message) -> None:
        """Send a message to every socket."""
        for each in self._sockets:
            each.send(message)

    # ---- Before the upgrade

    def _connect(self, *args: Any, **options: Any) -> HubConnection:
        """Make a connection that `drain` knows of, whether or not it ever asks for anything."""
        make = DirectConnection if self._direct else PlainConnection
        connection = make(*args, **options)
        self.connections.add(connection)
        return connection

    async def _route(self, connection: ServerConnection, request: Request) -> Response | None:
        assert isinstance(connection, HubConnection)
        try:
            url = _split(request.path)
            if not _wants_websocket(request):
                return await self._pages.serve(request, url)
            connection.chosen = _choose_subprotocol(request.headers)
            connection.route = await self._choose_route(request, url)
        except Problem as problem:
            return problem.response()
        except StoreUnavailable as error:
            return unavailable(error).response()
        return None

    async def _choose_route(self, request: Request, url: SplitResult) -> PlayRoute | WatchRoute:
        query = read_query(url)
        if self.draining:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "draining",
                "this hub is about to stop: connect to another",
            )
        match url.path.rstrip("/").split("/"):
            case ["", "play"]:
                return await self._route_player(request.headers, query)
            case ["", "watch"]:
                return WatchRoute(None, None)
            case ["", "watch", match_id]:
                match_id = unquote(match_id)
                await self._require_match(match_id)
                return WatchRoute(MatchId(match_id), _after(query))
        raise Problem(
            HTTPStatus.NOT_FOUND, "not_found", "WebSockets are at /play, /watch and /watch/MATCH_ID"
        )

    async def _route_player(self, headers: Headers, query: dict[str, str]) -> PlayRoute:
        identity = self._authenticate(headers, query)
        after = _after(query)
        match_id = query.get("match_id")
        if after is None:
            return PlayRoute(identity, None)
        if match_id is None:
            raise _bad_request("after needs match_id: which match do you resume?")
        await self._require_seat(match_id, identity.agent_id)
        return PlayRoute(identity, (MatchId(match_id), after))

    def _authenticate(self, headers: Headers, query: dict[str, str]) -> Identity:
        if query.keys() & {"token", "access_token", "bearer"}:
            raise _unauthorized("a token in the URL ends up in logs: send it in a header")
        token = _find_token(headers)
        if token is None:
            raise _unauthorized(
                "send your token as 'Authorization: Bearer T' or as the subprotocol 'bearer.T'"
            )
        try:
            return self._read_token(token)
        except TokenError as error:
            raise _unauthorized(error.reason) from error

    async def _require_match(self, match_id: str) -> None:
        if not await self._tables.exists(match_id):
            raise no_match(match_id)

    async def _require_seat(self, match_id: str, agent_id: AgentId) -> None:
        loaded = await self._tables.load(match_id)
        if loaded is None:
            raise no_match(match_id)
        if seat_of(loaded.copy.match, agent_id) is None:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "not_seated",
                f"you have no seat in match {match_id!r}: watch it at /watch/MATCH_ID",
            )

    # ---- After the upgrade

    async def _handle(self, connection: ServerConnection) -> None:
        assert isinstance(connection, HubConnection)
        connection.forget_handshake()
        format = FORMATS[connection.chosen or MSGPACK_SUBPROTOCOL]
        match connection.route:
            case PlayRoute(identity=identity, resume=resume):
                player = self._make_player(connection, identity, format)
                await self._serve("agent", player, player.run(resume))
            case WatchRoute(match_id=None):
                spectator = self._make_spectator(connection, format)
                await self._serve("spectator", spectator, spectator.watch_lobby())
            case WatchRoute(match_id=str() as match_id, after=after):
                spectator = self._make_spectator(connection, format)
                await self._serve("spectator", spectator, spectator.watch_match(match_id, after))

    async def _serve(
        self, role: str, each: Player | Spectator, work: Coroutine[None, None, None]
    ) -> None:
        if len(self._sockets) >= self._settings.max_sockets:
            work.close()
            retry_ms = random.randint(*FULL_RETRY_MS)
            each.outbox.close(CloseCode.TRY_AGAIN_LATER, "the hub is full", retry_ms=retry_ms)
            await each.outbox.closed()
            return
        self._sockets.add(each)
        self._spare_collector()
        self._metrics.sockets[role] += 1
        try:
            await work
        finally:
            self._metrics.sockets[role] -= 1
            self._sockets.discard(each)

    def _spare_collector(self) -> None:
        """Keep the garbage collector away from what open sockets hold.

        A full collection walks through all of it, for longer with each socket. Closed sockets
        don't need it: see Outbox.detach.
        """
        if len(self._sockets) >= self._freeze_at:
            gc.freeze()
        elif len(self._sockets) > self._freeze_at // 2:
            return
        self._freeze_at = len(self._sockets) * 5 // 4 + FREEZE_STEP


def _split(path: str) -> SplitResult:
    try:
        return urlsplit(path)
    except ValueError as error:
        raise _bad_request(f"that is no URL: {error}") from error


def _wants_websocket(request: Request) -> bool:
    upgrades = ",".join(request.headers.get_all("Upgrade")).lower().split(",")
    return request.method == "GET" and "websocket" in map(str.strip, upgrades)


def _choose_subprotocol(headers: Headers) -> str | None:
    """Take the first one that the client names and we speak; naming none is fine, too."""
    named = [each for each in _subprotocols(headers) if not _is_token(each)]
    if not named:
        return None
    for each in named:
        if each in FORMATS:
            return each
    raise _bad_request(f"no such subprotocol: name {MSGPACK_SUBPROTOCOL} or {JSON_SUBPROTOCOL}")


def _name_subprotocol(connection: ServerConnection, _request: Request, response: Response) -> None:
    # Not by serve(select_subprotocol=...): that keeps each closed connection in a reference cycle.
    chosen = getattr(connection, "chosen", None)
    if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS and chosen is not None:
        response.headers["Sec-WebSocket-Protocol"] = chosen


def _subprotocols(headers: Headers) -> list[str]:
    named = ",".join(headers.get_all("Sec-WebSocket-Protocol")).split(",")
    return [each.strip() for each in named if each.strip()]


def _is_token(subprotocol: str) -> bool:
    return subprotocol.startswith(TOKEN_SUBPROTOCOL_PREFIX)


def _find_token(headers: Headers) -> str | None:
    credentials = headers.get_all("Authorization")
    if len(credentials) > 1:
        raise _unauthorized("send one Authorization header")
    scheme, _, token = "".join(credentials).partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    tokens = [each for each in _subprotocols(headers) if _is_token(each)]
    return tokens[0].removeprefix(TOKEN_SUBPROTOCOL_PREFIX) if tokens else None


def _after(query: dict[str, str]) -> int | None:
    if "after" not in query:
        return None
    after = read_number(query["after"])
    if after is None:
        raise _bad_request("after is the number of the last event that you have")
    return after


def _bad_request(message: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", message)


def _unauthorized(message: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", message)
