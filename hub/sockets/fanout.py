"""Serve the spectators of a table, however many, without holding up anyone else.

A table's events go to its spectators in passes: one write a spectator, of everything that has
happened by the time the pass begins. All crowds of a hub share one pacer, which makes a limited
number of writes in a turn of the loop and lets the crowds take turns. So a big table falls behind
by a pass at most, and what it has to say meanwhile leaves with the next one as one write.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

import structlog

from hub.metrics import Metrics
from hub.sockets.outbox import Batch, Outbox
from protocol.codec import Format

WRITES_PER_TURN = 64  # of about 3 us each, the kernel's send() included

_log = structlog.get_logger()


class Pacer:
    """Spreads the writes of all crowds over turns of the loop."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._busy: deque[Crowd] = deque()

    def schedule(self, crowd: "Crowd") -> None:
        """Serve a crowd that has something to get."""
        if crowd not in self._busy:
            self._busy.append(crowd)
            if len(self._busy) == 1:
                asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        left = WRITES_PER_TURN
        while left > 0 and self._busy:
            crowd = self._busy.popleft()
            left -= crowd.serve(left)
            if crowd.is_busy:
                self._busy.append(crowd)
        if self._busy:
            asyncio.get_running_loop().call_soon(self._turn)


class _Frames(dict[Format, bytes]):
    """A batch's frames by format, each made when the first socket needs it."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __missing__(self, format: Format) -> bytes:
        self[format] = self._batch.frames(format)
        return self[format]


class _Pass:
    """One way round: frames, or something else to do, for each of some outboxes."""

    __slots__ = ("act", "at", "count", "frames", "outboxes")

    def __init__(
        self,
        outboxes: Iterable[Outbox],
        batch: Batch | None,
        act: Callable[[Outbox], None] | None = None,
    ) -> None:
        self.outboxes = list(outboxes)
        self.at = 0
        self.count = 0 if batch is None else len(batch)
        self.frames = None if batch is None else _Frames(batch)
        self.act = act


class Crowd:
    """The spectators of one table. What is done here reaches each of them in this order."""

    def __init__(self, pacer: Pacer) -> None:
        self._pacer = pacer
        self.outboxes: dict[Outbox, None] = {}
        self._pending: list[Batch] = []
        self._passes: deque[_Pass] = deque()

    def __len__(self) -> int:
        return len(self.outboxes)

    @property
    def is_busy(self) -> bool:
        """Tell whether there is something left to serve."""
        return bool(self._passes or self._pending)

    def publish(self, batch: Batch) -> None:
        """Send messages to all."""
        if self.outboxes:
            self._pending.append(batch)
            self._pacer.schedule(self)

    def admit(self, outbox: Outbox) -> None:
        """Send what is published from now on to one more."""
        self._seal()
        self.outboxes[outbox] = None

    def dismiss(self, outbox: Outbox) -> None:
        """Send nothing more to one of them."""
        self.outboxes.pop(outbox, None)

    def tell(self, outbox: Outbox, act: Callable[[Outbox], None]) -> None:
        """Do something for one of them, after what has been published and before what will be."""
        self._seal()
        self._passes.append(_Pass([outbox], None, act))
        self._pacer.schedule(self)

    def end(self, act: Callable[[Outbox], None]) -> None:
        """Do something for each after all that was published, and forget them."""
        self._seal()
        self._passes.append(_Pass(self.outboxes, None, act))
        self.outboxes = {}
        self._pacer.schedule(self)

    def serve(self, most: int) -> int:
        """Make at most so many writes; how many were made."""
        made = 0
        while made < most and self.is_busy:
            if not self._passes:
                self._seal()
            current = self._passes[0]
            upto = min(current.at + most - made, len(current.outboxes))
            _write(current, upto)
            made += upto - current.at
            current.at = upto
            if upto == len(current.outboxes):
                self._pacer.metrics.deliveries += current.count * upto
                self._passes.popleft()
        return made

    def _seal(self) -> None:
        """Fix what is pending and who gets it."""
        if self._pending:
            self._passes.append(_Pass(self.outboxes, Batch.joined(self._pending)))
            self._pending = []


def _write(current: _Pass, upto: int) -> None:
    outboxes = current.outboxes
    if current.act is not None:
        for outbox in outboxes[current.at : upto]:
            current.act(outbox)
        return
    assert current.frames is not None
    frames = current.frames
    for outbox in outboxes[current.at : upto]:
        if outbox.ready:
            try:
                outbox.transport.write(frames[outbox.format])
            except (OSError, RuntimeError) as error:  # the transport closed without a word
                outbox.end()
                _log.info("write_failed", reason=str(error))
        elif outbox.behind:
            outbox.skipped += current.count
