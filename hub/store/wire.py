"""Carry bytes to Redis and replies back, on one connection.

The redis client makes the connection: address, TLS, authentication, database. Then its transport
is ours. Its own way for each command goes through several coroutines, a stream reader's wake-up
and a timer, which is more than half of what a move would cost. What this takes from the client's
connection is its writer, which holds the transport; the connection itself is not used again.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hiredis import Reader, pack_command
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

__all__ = ["Argument", "Command", "StoreUrlError", "Wire", "Wires", "pack_command"]

Argument = str | bytes | int
Command = tuple[Argument, ...]


class StoreUrlError(Exception):
    """A URL that the redis client can't use."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The store's URL can't be used: {reason}. See --redis in --help.")


class Wire(asyncio.Protocol):
    """An open connection. Replies come in the order of the commands; an error reply is one, too.

    `on_reply` gets each reply; `on_lost` is called once, with the reason, when the connection is
    lost, but not when it is closed here.
    """

    def __init__(
        self, connection: Any, on_reply: Callable[[Any], None], on_lost: Callable[[str], None]
    ) -> None:
        # Kept, as a writer closes its transport when it goes.
        self._writer = connection._writer
        connection._writer = None
        self._transport: asyncio.Transport = self._writer.transport
        self._reader = Reader(replyError=ResponseError)
        self._on_reply = on_reply
        self._on_lost: Callable[[str], None] | None = on_lost
        self._transport.set_protocol(self)

    def send(self, packed: list[bytes]) -> None:
        """Send commands, packed, as one write."""
        self._transport.write(packed[0] if len(packed) == 1 else b"".join(packed))

    def close(self, reason: str = "") -> None:
        """Close the connection; with a reason, as if it had been lost."""
        self._transport.abort()  # a store that does not read would keep it from closing
        self._end(reason)

    def data_received(self, data: bytes) -> None:
        """Hand on the replies that are complete."""
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._on_reply(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear from the transport that it is closed."""
        self._end(str(exc) if exc else "the store closed the connection")

    def _end(self, reason: str) -> None:
        on_lost, self._on_lost = self._on_lost, None
        if reason and on_lost is not None:
            on_lost(reason)


class Wires:
    """Makes the connections to one Redis. Raises StoreUrlError."""

    def __init__(self, url: str, connect_seconds: float) -> None:
        self._connect_seconds = connect_seconds
        try:
            self._pool: Any = ConnectionPool.from_url(
                url, retry=Retry(NoBackoff(), 0), socket_timeout=None, protocol=2
            )
        except ValueError as error:
            raise StoreUrlError(str(error)) from error

    async def open(self, on_reply: Callable[[Any], None], on_lost: Callable[[str], None]) -> Wire:
        """Connect. Raises RedisError, OSError or TimeoutError."""
        connection = self._pool.make_connection()
        try:
            async with asyncio.timeout(self._connect_seconds):
                await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        return Wire(connection, on_reply, on_lost)
