"""Serve one spectator's connection: a match, or the lobby."""

import asyncio

from websockets.exceptions import ConnectionClosed

from hub.lobby.presence import Hall
from hub.settings import Settings
from hub.sockets.connection import HubConnection
from hub.sockets.outbox import Outbox
from hub.store.link import StoreUnavailable
from hub.tables.replica import Table
from hub.tables.subscriptions import Relay
from protocol.codec import Format
from protocol.messages import CloseCode, MatchId, Message

BEHIND_SECONDS = 30.0  # a socket that has not read what waits for it by then is given up


class Spectator:
    """One socket that watches; it sends nothing."""

    __slots__ = ("_connection", "_hall", "_patience", "_relay", "_table", "outbox")

    def __init__(
        self,
        connection: HubConnection,
        format: Format,
        *,
        settings: Settings,
        hall: Hall,
        relay: Relay,
    ) -> None:
        self._connection = connection
        self._hall = hall
        self._relay = relay
        self.outbox = Outbox(
            connection,
            format,
            settings.spectator_outbox_bytes,
            self._start_patience,
            self._refresh,
        )
        self._patience: asyncio.TimerHandle | None = None
        self._table: Table | None = None

    def send(self, message: Message) -> None:
        """Send a message of this socket's own."""
        self.outbox.send(message)

    async def watch_match(self, match_id: MatchId, after: int | None) -> None:
        """Stream a match until it or the connection ends."""
        try:
            self._table = await self._relay.open(match_id)
            if self._table is None:
                self.outbox.close(CloseCode.ENDED, "there is no such match", reconnect=False)
            else:
                await self._relay.watch(self._table, self.outbox, after)
        except StoreUnavailable:
            self.outbox.close_unavailable()
        try:
            await self._listen()
        finally:
            if self._table is not None:
                self._table.crowd.dismiss(self.outbox)

    async def watch_lobby(self) -> None:
        """Stream the lobby until the connection ends."""
        self._hall.arrive(self)
        try:
            await self._listen()
        finally:
            self._hall.depart(self)

    async def drain(self, retry_ms: int) -> None:
        """Say bye: the hub is stopping."""
        self.outbox.close(CloseCode.GOING_AWAY, "the hub is stopping", retry_ms=retry_ms)

    async def _listen(self) -> None:
        """Wait until the connection closes; close it if it sends anything."""
        try:
            await self._connection.recv()
            self.outbox.close(
                CloseCode.UNSUPPORTED_DATA, "spectators send nothing", reconnect=False
            )
        except ConnectionClosed:
            pass
        finally:
            if self._patience is not None:
                self._patience.cancel()
            await self.outbox.closed()

    def _start_patience(self) -> None:
        """Give a socket that is behind some time to read, and no more."""
        self._patience = self._connection.loop.call_later(BEHIND_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._connection.transport.abort()  # a close frame could not get through either

    def _refresh(self) -> None:
        """Show the whole of what it watches to a socket that can take in more again."""
        if self._patience is not None:
            self._patience.cancel()
        if self._table is not None:
            self._table.catch_up(self.outbox)
        else:
            self.outbox.resume()
            self._hall.show(self)
