"""Serve one spectator's connection: a match, or the lobby."""

from websockets.exceptions import ConnectionClosed

from hub.hall import Hall
from hub.metrics import Metrics
from hub.outbox import Batch, HubConnection, Outbox
from hub.relay import Relay, Table
from hub.settings import Settings
from protocol.codec import Format
from protocol.messages import CloseCode, MatchId, Message


class Spectator:
    """One socket that watches; it sends nothing."""

    first = False  # players are served before

    def __init__(
        self,
        connection: HubConnection,
        format: Format,
        *,
        settings: Settings,
        hall: Hall,
        relay: Relay,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._hall = hall
        self._relay = relay
        self._metrics = metrics
        self.outbox = Outbox(
            connection, format, settings.spectator_outbox_bytes, self._spare, self._refresh
        )
        self._table: Table | None = None
        self._skipped = 0

    def send(self, message: Message) -> None:
        """Send a message of this socket's own, unless it is behind."""
        if not self.outbox.overflowing:
            self.outbox.send(message)

    def deliver(self, batch: Batch) -> None:
        """Send public messages, or count them if this socket is behind."""
        if self.outbox.overflowing:
            self._skipped += len(batch)
            self._metrics.skipped.inc(len(batch))
        else:
            self.outbox.deliver(batch)

    def ended(self, match_id: MatchId) -> None:
        """End the stream: the match has finished."""
        self.outbox.close(CloseCode.ENDED, "the match has ended", reconnect=False)

    async def watch_match(self, match_id: MatchId, after: int | None) -> None:
        """Stream a match until it or the connection ends."""
        table = await self._relay.open(match_id)
        if table is None:
            self.outbox.close(CloseCode.ENDED, "there is no such match", reconnect=False)
            return await self._listen()
        self._table = table
        try:
            await self._relay.follow(table, self, after)
            await self._listen()
        finally:
            self._relay.unfollow(table, self)

    async def watch_lobby(self) -> None:
        """Stream the lobby until the connection ends."""
        self._hall.spectators.add(self)
        try:
            self._hall.show(self)
            await self._listen()
        finally:
            self._hall.spectators.discard(self)

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
            await self.outbox.closed()

    def _spare(self) -> None:
        """Start to spare this socket what it can't take in."""

    def _refresh(self) -> None:
        """Show the whole of what it watches to a socket that can take in more again."""
        if self._table is None:
            self._hall.show(self)
        elif self._skipped:
            self.outbox.send(self._table.snapshot(skipped=self._skipped))
        self._skipped = 0
