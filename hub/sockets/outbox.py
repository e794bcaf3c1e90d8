"""Frame messages once for all sockets, and give each socket a bounded way out."""

import asyncio
import random
from collections.abc import Callable, Sequence

from hub.sockets.connection import WHOLE_BINARY, WHOLE_TEXT, HubConnection
from protocol.codec import Format, encode, to_json
from protocol.messages import Bye, CloseCode, Message

_FIRST_BYTES: dict[Format, int] = {"msgpack": WHOLE_BINARY, "json": WHOLE_TEXT}
_SHORT, _MEDIUM = 125, 0xFFFF  # the longest payloads whose length takes one byte and three

UNAVAILABLE_RETRY_MS = (200, 1_000)  # when to ask the store again, spread out
CLOSE_SECONDS = 10.0  # for a client to read what waits for it and answer a close


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
    """Wrap one encoded message in an unmasked WebSocket frame (RFC 6455, 5.2)."""
    first, size = _FIRST_BYTES[format], len(payload)
    if size <= _SHORT:
        return bytes((first, size)) + payload
    if size <= _MEDIUM:
        return bytes((first, 126)) + size.to_bytes(2) + payload
    return bytes((first, 127)) + size.to_bytes(8) + payload


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
        self._connection = connection
        self._on_overflow = on_overflow
        self._on_drained = on_drained
        self._pending: list[bytes] = []
        self._closing: asyncio.Task[None] | None = None
        self.transport = connection.attach(self, limit_bytes)

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

    @property
    def is_closing(self) -> bool:
        """Tell whether a close has begun here."""
        return self._closing is not None

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
                await self._connection.flush()
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
