"""Two ways from an outbox to a WebSocket: past the websockets package's `send()`, and by it.

A public message goes to many sockets, so its frame is built once and the same bytes are written to
each transport (`DirectConnection`). All that this bypasses or overrides in the package is in this
file. It is safe for these reasons:

- frames from a server are not masked and, with compression off, don't depend on the socket;
- no message is ever sent in fragments, so a frame can't fall between two fragments;
- nothing is written unless the connection is open: the outbox ends as soon as the package has
  written or received a close frame (`send_data`) or the connection is gone (`connection_lost`);
- bytes go to the socket itself while the transport holds none back (`DirectSocket`), so they can't
  overtake any; the transport gets what the socket does not take. Who else writes is the package,
  by `send_data`. The descriptor is open until after `connection_lost`, when the outbox has ended;
- flow control is the transport's own: it calls `pause_writing` when more than the outbox's limit
  waits, and `resume_writing` when that has drained;
- pings are sent by the package's protocol object, and pongs taken where it hands on its events;
- an agent's messages are taken there, too, or as they are read: data that is one whole frame of a
  whole message, read while the package waits for a frame to begin (`_is_between_frames`), is all
  that it would have made of it. What it has to put together from pieces stays with it;
- after the handshake the package reads no header again, so they are dropped: 3 KB a socket.

Where the package is not what this was made for, `why_not_direct` says so, and everything goes
through its public methods instead (`PlainConnection`): slower, and the same to see.
"""

import asyncio
import os
from collections import deque
from collections.abc import Generator, Iterator
from importlib.metadata import version
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import (  # type: ignore[attr-defined]
    DATA_OPCODES,
    Frame,
    Opcode,
    apply_mask,
)
from websockets.protocol import Event, State
from websockets.streams import StreamReader
from websockets.typing import BytesLike

TESTED_VERSIONS = ("17.4",)  # of websockets, by what they start with
NEEDED = (
    *("data_received", "send_data", "connection_lost", "pause_writing", "resume_writing"),
    "process_event",
)

_WHOLE = (Opcode.TEXT, Opcode.BINARY)  # frames that begin a message, and end it if they are final

UNANSWERED_PINGS = 2  # that end a connection


class Way(Protocol):
    """What hears how its connection fares: an outbox."""

    def end(self) -> None:
        """Hear that nothing may be written any more."""

    def detach(self) -> None:
        """Hear that the connection is gone."""

    def overflow(self) -> None:
        """Hear that more waits than may."""

    def drain(self) -> None:
        """Hear that what waited has drained."""


class OnMessage(Protocol):
    """What hears messages: their bytes, and whether they are text."""

    def __call__(self, data: bytes, /, *, is_text: bool) -> None:
        """Hear a message."""


class Writer(Protocol):
    """Where finished frames go."""

    def write(self, data: bytes, /) -> None:
        """Write one or more frames."""


class HubConnection(ServerConnection):
    """A connection that an outbox can be attached to.

    `route` is what its request asked for, and `chosen` the subprotocol to name in the response,
    None if the client named none. `round_trip_ms` is what the last answered ping took.
    """

    route: Any
    chosen: str | None
    round_trip_ms: int | None

    def attach(self, way: Way, limit_bytes: int) -> Writer:
        """Let `way` write from now on, and tell it when more than `limit_bytes` wait."""
        raise NotImplementedError

    async def flush(self) -> None:
        """Wait until what was written is before anything that the package writes."""

    def listen(self, on_message: "OnMessage") -> None:
        """Hand each message on as it is read, if this kind of connection can; else it is for recv.

        From a message in fragments on, all are for recv. What recv gets comes after what was
        handed on.
        """

    def forget_handshake(self) -> None:
        """Let go of the handshake's headers."""

    def check_pulse(self) -> None:
        """Ping, or give the connection up if it has not answered for long."""


class DirectSocket:
    """Writes to a transport's socket, and to the transport when that has to hold bytes back.

    It saves an eighth of what a delivery costs, the kernel's part included.
    """

    __slots__ = ("_descriptor", "_transport", "is_clear")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._descriptor: int = transport.get_extra_info("socket").fileno()
        self.look()

    def look(self) -> None:
        """Find out whether the transport holds bytes back."""
        self.is_clear = not self._transport.get_write_buffer_size()

    def write(self, data: bytes, /) -> None:
        """Write one or more frames."""
        if self.is_clear:
            try:
                taken = os.write(self._descriptor, data)
            except OSError:  # it is full, or broken: that is for the transport to find out
                taken = 0
            if taken == len(data):
                return
            data = data[taken:]
        self._transport.write(data)
        self.look()


class DirectConnection(HubConnection):
    """A connection whose outbox writes to the transport, and which is pinged from outside."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.round_trip_ms = None
        self._way: Way | None = None
        self._socket: DirectSocket | None = None
        self._on_message: OnMessage | None = None
        self._pinged_at: float | None = None
        self._unanswered = 0

    def attach(self, way: Way, limit_bytes: int) -> Writer:
        """Give the socket out, with the limit as the transport's high-water mark."""
        self._way = way
        self.transport.set_write_buffer_limits(limit_bytes, limit_bytes // 4)
        self._socket = DirectSocket(self.transport)
        return self._socket

    def data_received(self, data: bytes) -> None:
        """Take a whole message at once; leave all else to the package."""
        if not self._take_whole(data):
            super().data_received(data)

    def _take_whole(self, data: bytes) -> bool:
        if self._on_message is None or self.protocol.state is not State.OPEN:
            return False
        message = whole_message(data, self.protocol.max_message_size or 0)
        if message is None or not _is_between_frames(self.protocol.parser):
            return False
        is_text = data[0] == WHOLE_TEXT
        if is_text and not _is_utf_8(message):
            return False
        self._on_message(message, is_text=is_text)
        return True

    def send_data(self) -> None:
        """Write what the package has to say; if that begins a close, nothing may follow it."""
        super().send_data()
        if self._socket is not None:
            self._socket.look()
        if self._way is not None and self.protocol.state is not State.OPEN:
            self._way.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear from the transport that it is closed."""
        if self._way is not None:
            self._way.detach()
            self._way = self._socket = None
        self._on_message = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Hear from the transport that more waits than its high-water mark."""
        super().pause_writing()
        if self._way is not None:
            self._way.overflow()

    def resume_writing(self) -> None:
        """Hear from the transport that less waits than its low-water mark."""
        super().resume_writing()
        if self._way is not None:
            self._way.drain()

    def listen(self, on_message: OnMessage) -> None:
        """Hand each message on as it is read."""
        self._on_message = on_message

    def process_event(self, event: Event) -> None:
        """Hand messages on past the package's queue, and take note of pongs."""
        if self._on_message is None or not isinstance(event, Frame):
            super().process_event(event)
        elif event.opcode in _WHOLE and event.fin and _is_sound(event):
            self._on_message(bytes(event.data), is_text=event.opcode is Opcode.TEXT)
            return
        else:
            if event.opcode in DATA_OPCODES:
                self._on_message = None
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


def _is_sound(frame: Frame) -> bool:
    """Tell whether a message is not one for which the package closes the connection."""
    return frame.opcode is not Opcode.TEXT or _is_utf_8(frame.data)


def _is_utf_8(data: BytesLike) -> bool:
    try:
        bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return True


WHOLE_TEXT, WHOLE_BINARY = 0x81, 0x82  # the first bytes of unfragmented messages (RFC 6455, 5.2)
_MASKED = 0x80  # in the second byte, with the length
_MASK_BYTES = 4


def whole_message(data: bytes, limit: int) -> bytes | None:
    """Unmask a message of up to `limit` bytes if `data` is the whole of its only frame."""
    if len(data) < _MASKED_HEADER_BYTES or data[0] not in {WHOLE_TEXT, WHOLE_BINARY}:
        return None
    length, at = data[1] - _MASKED, 2
    if length > _EXTENDED:
        return None  # longer than any limit, or written as if it were
    if length == _EXTENDED:
        length, at = int.from_bytes(data[2:4]), 4
    start = at + _MASK_BYTES
    if length != len(data) - start or length > limit:
        return None
    return apply_mask(data[start:], data[at:start])


def _is_between_frames(parser: Generator[None]) -> bool:
    """Tell whether the package's parser of incoming data waits for the next frame to begin."""
    inner: Any = parser
    while (deeper := inner.gi_yieldfrom) is not None:
        inner = deeper
    return bool(inner.gi_code is StreamReader.at_eof.__code__)


class PlainConnection(HubConnection):
    """A connection that is written to by the package's `send()`, and pinged by the package."""

    _writer: "_Sender | None" = None

    @property
    def round_trip_ms(self) -> int | None:  # type: ignore[override]
        """What the last answered ping took."""
        return round(self.latency * 1000) or None

    def attach(self, way: Way, limit_bytes: int) -> Writer:
        """Start a task that sends what is written."""
        self._writer = _Sender(self, way, limit_bytes)
        return self._writer

    async def flush(self) -> None:
        """Wait until all that was written is sent."""
        if self._writer is not None:
            await self._writer.flush()


class _Sender:
    """Takes finished frames apart and sends their messages, one after the other."""

    def __init__(self, connection: PlainConnection, way: Way, limit_bytes: int) -> None:
        self._connection = connection
        self._way = way
        self._limit_bytes = limit_bytes
        self._waiting: deque[tuple[bytes | str, int]] = deque()  # messages and their sizes
        self._waiting_bytes = 0
        self._behind = False
        self._more = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._task = asyncio.create_task(self._run())

    def write(self, data: bytes, /) -> None:
        """Queue the messages of one or more frames."""
        for message in messages(data):
            self._waiting.append((message, len(message)))
            self._waiting_bytes += len(message)
        self._empty.clear()
        self._more.set()
        if self._waiting_bytes > self._limit_bytes and not self._behind:
            self._behind = True
            self._way.overflow()

    async def flush(self) -> None:
        """Wait until everything is sent, or can't be."""
        empty = asyncio.create_task(self._empty.wait())
        await asyncio.wait([empty, self._task], return_when=asyncio.FIRST_COMPLETED)
        empty.cancel()

    async def _run(self) -> None:
        closed = asyncio.create_task(self._connection.wait_closed())
        closed.add_done_callback(lambda _: self._more.set())
        try:
            while not closed.done():
                await self._more.wait()
                self._more.clear()
                await self._send_all()
        except ConnectionClosed:
            pass
        finally:
            closed.cancel()
            self._way.detach()

    async def _send_all(self) -> None:
        while self._waiting:
            message, size = self._waiting.popleft()
            await self._connection.send(message)
            self._waiting_bytes -= size
        self._empty.set()
        if self._behind:
            self._behind = False
            self._way.drain()


def messages(frames: bytes) -> Iterator[bytes | str]:
    """Take unmasked, unfragmented frames apart (RFC 6455, 5.2)."""
    at = 0
    while at < len(frames):
        opcode, length, at = frames[at] & 0x0F, frames[at + 1], at + 2
        if length >= _EXTENDED:
            digits = 2 if length == _EXTENDED else 8
            length, at = int.from_bytes(frames[at : at + digits]), at + digits
        payload, at = frames[at : at + length], at + length
        yield payload.decode() if opcode == Opcode.TEXT else payload


_MASKED_HEADER_BYTES = 6  # of a short frame
_EXTENDED = 126  # this length or the next means that the real one follows, in 2 or 8 bytes


def why_not_direct() -> str:
    """Say what keeps this websockets package from being written past; "" if nothing does."""
    found = version("websockets")
    if not found.startswith(TESTED_VERSIONS):
        return f"websockets {found} has not been tested for it"
    missing = [name for name in NEEDED if not hasattr(ServerConnection, name)]
    return f"websockets {found} has no {', '.join(missing)}" if missing else ""
