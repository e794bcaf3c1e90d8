"""Write to sockets: frames built once for all, one write a socket and loop turn, bounded.

A public message goes to many sockets, so its WebSocket frame is built once and the bytes are
handed to each transport, past `send()`. That is safe under these conditions, all of them kept
here and nowhere else:

- frames from a server are not masked and, with compression off, don't depend on the socket;
- no message is ever sent in fragments, so a frame can't fall between two fragments;
- nothing is written unless the connection's state is OPEN: after a close frame nothing may follow,
  and before the handshake's response nothing may precede it;
- the transport's own buffer is watched, since `send()`'s flow control is passed by.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import Event, State

from protocol.codec import Format, encode, to_json
from protocol.messages import Bye, Message

UNANSWERED_PINGS = 2  # that end a connection

OPCODES: dict[Format, Opcode] = {"msgpack": Opcode.BINARY, "json": Opcode.TEXT}


class HubConnection(ServerConnection):
    """A connection that tells its outbox when the transport's buffer has drained, and is pinged.

    The pings are sent from one place for all connections (see `check_pulse`), not from a task
    for each. `round_trip_ms` is what the last answered one took.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.on_drained: Callable[[], None] = lambda: None
        self.round_trip_ms: int | None = None
        self._pinged_at: float | None = None
        self._unanswered = 0

    def resume_writing(self) -> None:
        """Hear from the transport that its buffer is below the low-water mark."""
        super().resume_writing()
        self.on_drained()

    def process_event(self, event: Event) -> None:
        """Take note of pongs."""
        super().process_event(event)
        if isinstance(event, Frame) and event.opcode is Opcode.PONG and self._pinged_at is not None:
            self.round_trip_ms = round((self.loop.time() - self._pinged_at) * 1000)
            self._pinged_at = None
            self._unanswered = 0

    def check_pulse(self) -> None:
        """Ping, or give the connection up if it has not answered UNANSWERED_PINGS of them.

        One is not enough: after a pause of this process, the answer to it may lie in the socket
        still unread.
        """
        if self.protocol.state is not State.OPEN:
            return
        if self._pinged_at is not None:
            self._unanswered += 1
            if self._unanswered >= UNANSWERED_PINGS:
                self.transport.abort()
                return
        self._pinged_at = self.loop.time()
        self.protocol.send_ping(b"")
        self.send_data()


class Batch:
    """Messages that leave together, framed once for all sockets of a format."""

    def __init__(self, packed: Sequence[bytes]) -> None:
        self._packed = packed
        self._frames: dict[Format, bytes] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def frames(self, format: Format) -> bytes:
        """Return the messages as WebSocket frames, joined."""
        if format not in self._frames:
            payloads = self._packed if format == "msgpack" else map(to_json, self._packed)
            self._frames[format] = b"".join(frame(payload, format) for payload in payloads)
        return self._frames[format]


def frame(payload: bytes, format: Format) -> bytes:
    """Wrap one encoded message in a WebSocket frame."""
    return Frame(OPCODES[format], payload).serialize(mask=False)


class Outbox:
    """One socket's bounded way out.

    What is written in one turn of the loop leaves as one write. When more than `limit_bytes` wait
    for the socket, `on_overflow` is called; when they have drained, `on_drained`.
    """

    def __init__(
        self,
        connection: HubConnection,
        format: Format,
        limit_bytes: int,
        on_overflow: Callable[[], None],
        on_drained: Callable[[], None] = lambda: None,
    ) -> None:
        self.format = format
        self.overflowing = False
        connection.on_drained = self._drained
        self._connection = connection
        self._limit_bytes = limit_bytes
        self._on_overflow = on_overflow
        self._on_drained = on_drained
        self._pending: list[bytes] = []
        self._closing: asyncio.Task[None] | None = None

    def send(self, message: Message) -> None:
        """Send one message of this socket's own."""
        self.write(frame(encode(message, self.format), self.format))

    def deliver(self, batch: Batch) -> None:
        """Send messages that many sockets get."""
        self.write(batch.frames(self.format))

    def write(self, frames: bytes) -> None:
        """Send finished frames."""
        if not self._pending:
            asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append(frames)

    def flush(self) -> None:
        """Hand to the transport what is pending."""
        pending, self._pending = self._pending, []
        connection = self._connection
        if not pending or connection.protocol.state is not State.OPEN:
            return
        transport = connection.transport
        if transport.is_closing():
            return
        transport.write(b"".join(pending))
        if not self.overflowing and transport.get_write_buffer_size() > self._limit_bytes:
            self.overflowing = True
            self._on_overflow()

    def close(self, code: int, reason: str, *, reconnect: bool = True, retry_ms: int = 0) -> None:
        """Say bye and close the socket; only the first call counts."""
        if self._closing is None:
            self.send(Bye(code=code, reason=reason, reconnect=reconnect, retry_ms=retry_ms))
            self.flush()
            self._closing = asyncio.create_task(self._connection.close(code, reason))

    async def closed(self) -> None:
        """Wait until a close that was begun here is done."""
        if self._closing is not None:
            await self._closing

    def _drained(self) -> None:
        if self.overflowing:
            self.overflowing = False
            self._on_drained()
