"""Write to sockets past `send()`: finished frames, one write a socket and loop turn, bounded.

A public message goes to many sockets, so its WebSocket frame is built once and the bytes are
handed to each transport. All that this bypasses or overrides in the websockets package is in this
file, and it is safe for these reasons:

- frames from a server are not masked and, with compression off, don't depend on the socket;
- no message is ever sent in fragments, so a frame can't fall between two fragments;
- nothing is written unless the connection is open: `ready` ends as soon as the library has written
  or received a close frame (`send_data`) or the connection is gone (`connection_lost`);
- flow control is the transport's own: it calls `pause_writing` when more than the outbox's limit
  waits, and `resume_writing` when that has drained;
- pings are sent by the library's protocol object and pongs seen where it hands on its events;
- after the handshake the library reads no header again, so they are dropped: 3 KB a socket.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import Event, State

from protocol.codec import Format, encode, to_json
from protocol.messages import Bye, CloseCode, Message

OPCODES: dict[Format, Opcode] = {"msgpack": Opcode.BINARY, "json": Opcode.TEXT}

UNANSWERED_PINGS = 2  # that end a connection
UNAVAILABLE_RETRY_MS = (200, 1_000)  # when to ask the store again, spread out
CLOSE_SECONDS = 10.0  # for a client to read what waits for it and answer a close


class HubConnection(ServerConnection):
    """A connection whose outbox writes to the transport, and which is pinged from outside.

    `round_trip_ms` is what the last answered ping took.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.outbox: Outbox | None = None
        self.round_trip_ms: int | None = None
        self._pinged_at: float | None = None
        self._unanswered = 0

    def send_data(self) -> None:
        """Write what the library has to say; if that begins a close, nothing may follow it."""
        super().send_data()
        if self.outbox is not None and self.protocol.state is not State.OPEN:
            self.outbox.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear from the transport that it is closed."""
        if self.outbox is not None:
            self.outbox.detach()
            self.outbox = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Hear from the transport that more waits than its high-water mark."""
        super().pause_writing()
        if self.outbox is not None:
            self.outbox.overflow()

    def resume_writing(self) -> None:
        """Hear from the transport that less waits than its low-water mark."""
        super().resume_writing()
        if self.outbox is not None:
            self.outbox.drain()

    def process_event(self, event: Event) -> None:
        """Take note of pongs."""
        super().process_event(event)
        if isinstance(event, Frame) and event.opcode is Opcode.PONG and self._pinged_at is not None:
            self.round_trip_ms = round((self.loop.time() - self._pinged_at) * 1000)
            self._pinged_at = None
            self._unanswered = 0

    def forget_handshake(self) -> None:
        """Let go of the handshake's headers."""
        if self.request is not None:
            self.request.headers.clear()
        self.response = None

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

    @classmethod
    def of(cls, message: Message) -> "Batch":
        """Make a batch of one message."""
        return cls([encode(message, "msgpack")])

    @classmethod
    def joined(cls, batches: Sequence["Batch"]) -> "Batch":
        """Make one batch of several, in order."""
        if len(batches) == 1:
            return batches[0]  # its frames may be there already
        return cls([packed for batch in batches for packed in batch._packed])

    def frames(self, format: Format) -> bytes:
        """Return the messages as WebSocket frames, joined."""
        if format not in self._frames:
            payloads = self._packed if format == "msgpack" else map(to_json, self._packed)
            self._frames[format] = b"".join(frame(payload, format) for payload in payloads)
        return self._frames[format]


def frame(payload: bytes, format: Format) -> bytes:
    """Wrap one encoded message in a WebSocket frame."""
    return Frame(OPCODES[format], payload).serialize(mask=False)


def _do_nothing() -> None:
    pass


class Outbox:
    """One socket's bounded way out.

    When more than `limit_bytes` wait for the socket it is no longer `ready`, and `on_overflow` is
    called; when they have drained, `on_drained`, which may call `resume`. What is sent while it
    is not ready is dropped.
    """

    __slots__ = (
        "_closing",
        "_connection",
        "_on_drained",
        "_on_overflow",
        "_pending",
        "behind",
        "format",
        "ready",
        "skipped",
        "transport",
    )

    def __init__(
        self,
        connection: HubConnection,
        format: Format,
        limit_bytes: int,
        on_overflow: Callable[[], None],
        on_drained: Callable[[], None] = _do_nothing,
    ) -> None:
        self.format = format
        self.ready = True
        self.behind = False
        self.skipped = 0  # messages of a crowd's that it was spared while behind
        self.transport = connection.transport
        self._connection = connection
        self._on_overflow = on_overflow
        self._on_drained = on_drained
        self._pending: list[bytes] = []
        self._closing: asyncio.Task[None] | None = None
        connection.outbox = self
        connection.transport.set_write_buffer_limits(limit_bytes, limit_bytes // 4)

    def send(self, message: Message) -> None:
        """Send one message of this socket's own."""
        self.write(frame(encode(message, self.format), self.format))

    def deliver(self, batch: Batch) -> None:
        """Send messages that several sockets get."""
        self.write(batch.frames(self.format))

    def write(self, frames: bytes) -> None:
        """Send finished frames; those of one turn of the loop leave as one write."""
        if not self._pending:
            self._connection.loop.call_soon(self.flush)
        self._pending.append(frames)

    def flush(self) -> None:
        """Hand to the transport what is pending."""
        pending, self._pending = self._pending, []
        if pending and self.ready:
            self.transport.write(b"".join(pending))

    def close(self, code: int, reason: str, *, reconnect: bool = True, retry_ms: int = 0) -> None:
        """Say bye, the last message, and close the socket; only the first call counts.

        A client that does not take its part in that within CLOSE_SECONDS is given up.
        """
        if self._closing is None:
            self.flush()
            if self.ready or self.behind:
                bye = Bye(code=code, reason=reason, reconnect=reconnect, retry_ms=retry_ms)
                self.transport.write(frame(encode(bye, self.format), self.format))
            self.end()
            self._closing = asyncio.create_task(self._close(code, reason))

    def close_unavailable(self) -> None:
        """Say bye and close the socket because the store does not answer."""
        retry_ms = random.randint(*UNAVAILABLE_RETRY_MS)
        self.close(CloseCode.TRY_AGAIN_LATER, "the shared store does not answer", retry_ms=retry_ms)

    async def closed(self) -> None:
        """Wait until a close that was begun here is done."""
        if self._closing is not None:
            await self._closing

    async def _close(self, code: int, reason: str) -> None:
        # The library's own time limit does not hold while its write waits for the socket to drain.
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._connection.close(code, reason)
        except TimeoutError:
            self._connection.transport.abort()

    def end(self) -> None:
        """Send nothing from now on: the connection is closing or closed."""
        self.ready = self.behind = False

    def detach(self) -> None:
        """Let go of the connection and its owner.

        They refer to the outbox, and closed connections have to be free without the garbage
        collector's help: it is kept away from what is alive (see server.py).
        """
        self.end()
        self._on_overflow = self._on_drained = _do_nothing

    def overflow(self) -> None:
        """Note that more waits than may."""
        if self.ready:
            self.ready = False
            self.behind = True
            self._on_overflow()

    def drain(self) -> None:
        """Note that what waited has drained."""
        if self.behind:
            self._on_drained()

    def resume(self) -> None:
        """Send again; what was dropped must not be missed by then."""
        if self.behind:
            self.behind = False
            self.ready = True
