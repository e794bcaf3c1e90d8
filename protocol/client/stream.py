"""Read a hub's messages over however many sockets it takes.

A stream reconnects by itself, to the next hub if there are several, and resumes where it was, so
that events come in order and each once. Source: PROTOCOL.md, Transport; Errors and closing.
"""

import asyncio
import itertools
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from urllib.parse import quote

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.client import process_exception
from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedOK,
    InvalidHandshake,
    InvalidStatus,
)
from websockets.frames import Close, CloseCode
from websockets.http11 import Response
from websockets.typing import Subprotocol

from protocol.codec import FORMATS, Format, decode_server, encode, find_position
from protocol.messages import AnyCommand, AnyLobbyMessage, Bye, ServerMessage, Snapshot, Welcome

from .errors import AuthenticationFailed, Closed, HandshakeFailed, MatchNotFound
from .resume import Cursor, Gap
from .table import TableMessage, WatchMessage

BACKOFF_S = 0.5  # the longest wait after one failure; doubles with each more in a row,
BACKOFF_DOUBLINGS = 4  # this often: up to 8 s, a tenth of a turn
KEEPALIVE_S = 10.0  # between pings, and for a pong: a dead hub is noticed well within a turn
CLOSE_S = 2.0  # for the hub to answer a close

_SUBPROTOCOLS = {format: Subprotocol(name) for name, format in FORMATS.items()}

# The client is at fault, and would be again.
_FINAL_CODES = {
    CloseCode.UNSUPPORTED_DATA,
    CloseCode.POLICY_VIOLATION,
    CloseCode.MESSAGE_TOO_BIG,
}

_log = logging.getLogger(__name__)


async def watch(
    url: str | Sequence[str],
    match_id: str,
    *,
    after: int | None = None,
    token: str | None = None,
    format: Format = "msgpack",
) -> AsyncGenerator[WatchMessage, None]:
    """Yield a match's events after event `after`, or a snapshot and what follows, to its end.

    A snapshot on the way stands for events that this spectator was too slow for (`skipped`);
    a `crowd`, when it changes, tells how many watch.
    Who stops before the end closes the generator: contextlib.aclosing.
    Raises MatchNotFound, AuthenticationFailed if the hub wants a token, or Closed.
    """
    cursor = Cursor(match_id, after)
    path = f"/watch/{quote(match_id, safe='')}"
    stream = Stream(url, path, cursor, token=token, format=format)
    async with aclosing(stream.messages()) as messages:
        while not cursor.finished:
            message = await anext(messages)
            if isinstance(message, WatchMessage):
                yield message


async def watch_lobby(
    url: str | Sequence[str], *, token: str | None = None, format: Format = "msgpack"
) -> AsyncGenerator[AnyLobbyMessage, None]:
    """Yield the live matches, then those that start and finish; anew with each new connection.

    Raises AuthenticationFailed if the hub wants a token, or Closed.
    """
    stream = Stream(url, "/watch", Cursor(), token=token, format=format)
    async with aclosing(stream.messages()) as messages:
        while True:
            message = await anext(messages)
            if isinstance(message, AnyLobbyMessage):
                yield message


class Stream:
    """One endpoint of one or more equal hubs; `urls` are like ws://host:port, without the path.

    `cursor` is moved on by what is read.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        path: str,
        cursor: Cursor,
        *,
        token: str | None,
        format: Format,
    ) -> None:
        urls = [urls] if isinstance(urls, str) else urls
        self._urls = itertools.cycle(url.rstrip("/") + path for url in urls)
        self._cursor = cursor
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._format: Format = format
        self._socket: ClientConnection | None = None
        self._bye: Bye | None = None
        self._failures = 0

    async def messages(self) -> AsyncGenerator[ServerMessage, None]:
        """Yield what is news; a `welcome` opens each connection.

        Raises HandshakeFailed or Closed when another connection would meet the same end.
        """
        while True:
            try:
                async with self._dial() as socket:
                    while True:
                        message = self._read(await socket.recv(decode=False))
                        if isinstance(message, Welcome):
                            self._socket = socket
                        if message is not None:
                            yield message
            except (OSError, InvalidHandshake, ConnectionClosed, Gap) as error:
                wait_s = self._recover(error)
            finally:
                self._socket = None
            await asyncio.sleep(wait_s)

    async def send(self, command: AnyCommand) -> bool:
        """Send on the connection of the latest `welcome`; tell whether there was one."""
        if self._socket is None:
            return False
        with suppress(ConnectionClosed):
            await self._socket.send(encode(command, self._format), text=self._format == "json")
        return True

    @asynccontextmanager
    async def _dial(self) -> AsyncIterator[ClientConnection]:
        socket = await connect(
            next(self._urls) + self._cursor.query,
            subprotocols=[_SUBPROTOCOLS[self._format]],
            additional_headers=self._headers,
            compression=None,
            ping_interval=KEEPALIVE_S,
            ping_timeout=KEEPALIVE_S,
            close_timeout=CLOSE_S,
        )
        try:
            async with socket:
                yield socket
        finally:
            socket.transport.abort()  # a close that was cancelled has left it open

    def _read(self, data: bytes) -> ServerMessage | None:
        """Decode a message; None if it is old or not for the reader. Raises Gap."""
        self._failures = 0
        message = decode_server(data, self._format)
        match message:
            case None:
                if position := find_position(data, self._format):
                    self._cursor.step(*position)
            case Bye():
                self._bye = message
                return None
            case Snapshot(id=str()):
                pass  # the answer to `sync`, no part of the stream
            case _ if isinstance(message, TableMessage) and not self._cursor.accept(message):
                return None
        return message

    def _recover(self, error: Exception) -> float:
        """Return how long to wait before the next connection, in s, or raise what is final."""
        bye, self._bye = self._bye, None
        final = _final(error, bye)
        if isinstance(final, MatchNotFound) and self._cursor.query:
            self._cursor.forget()
        elif final is not None:
            raise final from None
        limit_s = BACKOFF_S * 2 ** min(self._failures, BACKOFF_DOUBLINGS)
        self._failures += 1
        # All of the wait is random, so that a dead hub's clients come to the next one spread out.
        wait_s = random.uniform(0, limit_s) if bye is None else bye.retry_ms / 1000
        level = logging.INFO if isinstance(error, ConnectionClosedOK) else logging.WARNING
        _log.log(level, "%s; connecting again in %.1f s", error, wait_s)
        return wait_s


class _Problem(msgspec.Struct):
    code: str
    message: str


class _HttpError(msgspec.Struct):
    error: _Problem


def _final(error: Exception, bye: Bye | None) -> Exception | None:
    """Return what to raise for an error that another connection would meet again."""
    if isinstance(error, Gap):
        return None
    if isinstance(error, ConnectionClosed):
        close = error.rcvd or Close(CloseCode.ABNORMAL_CLOSURE, "")
        goes_on = close.code not in _FINAL_CODES if bye is None else bye.reconnect
        return None if goes_on else Closed(close.code, close.reason)
    lasting = process_exception(error)
    return _explain(error.response) if lasting and isinstance(error, InvalidStatus) else lasting


def _explain(response: Response) -> HandshakeFailed:
    try:
        problem = msgspec.json.decode(response.body, type=_HttpError).error
    except msgspec.DecodeError:
        problem = _Problem("", response.reason_phrase)
    kinds: dict[str, type[HandshakeFailed]] = {
        "unauthorized": AuthenticationFailed,
        "match_not_found": MatchNotFound,
    }
    kind = kinds.get(problem.code, HandshakeFailed)
    return kind(response.status_code, problem.message)
