"""Watch a match through small buffers: some sockets never read, others read slowly and check.

Prints "open" when all are open, and at the next line on stdin what the slow ones have seen.
"""

import select
import sys
import time
from contextlib import suppress

import msgspec

from .process import Program
from .wire import Wire

BYTES_PER_SECOND = 12_000  # that a slow one reads: an outbox drains before it is given up
TURNS = 10  # in which the slow ones read, one share of them after the other
CYCLE_SECONDS = 0.25  # in which each of them reads once


class Glance(msgspec.Struct):
    """What a reader has to know of a message."""

    type: str
    seq: int = 0
    skipped: int = 0


class Seen(msgspec.Struct):
    """What slow readers have seen: in all, or one of them."""

    spared: int = 0  # events, by their snapshots
    resumed: int = 0  # readers that went on with the event after such a snapshot
    lost: int = 0  # times that something else came than the next event
    closed: int = 0  # readers that the hub has closed


_glance = msgspec.msgpack.Decoder(Glance).decode


class Stream:
    """One reader's events, which have to follow each other or a snapshot."""

    def __init__(self) -> None:
        self.seen = Seen()
        self._seq = 0
        self._was_spared = False

    def follow(self, payload: bytes) -> None:
        """Take the next message."""
        glance = _glance(payload)
        if glance.type == "snapshot":
            self.seen.spared += glance.skipped
            self._was_spared = glance.skipped > 0
        elif glance.seq:
            is_next = glance.seq == self._seq + 1
            self.seen.lost += not is_next
            self.seen.resumed |= is_next and self._was_spared
        self._seq = glance.seq or self._seq


class Reader:
    """A socket that is read a little at a time."""

    def __init__(self, port: int, path: str) -> None:
        self.stream = Stream()
        self._wire = Wire(port, path, narrow=True)
        self._wire.socket.setblocking(False)
        self._follow(self._wire.buffered())

    def read(self, size: int) -> None:
        """Read so many bytes, if they are there."""
        if self.stream.seen.closed:
            return
        try:
            with suppress(BlockingIOError):
                self._follow(self._wire.take(size))
        except (EOFError, OSError):
            self.stream.seen.closed = 1

    def _follow(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            self.stream.follow(payload)


class SlowReaders(Program):
    """The process of this module."""

    @classmethod
    def start(cls, core: int, port: int, path: str, *, never: int, slow: int = 0) -> "SlowReaders":
        """Open the sockets."""
        numbers = map(str, (never, slow))
        readers = cls.python("slow_readers", str(port), path, *numbers, core=core)
        readers.read()
        return readers

    def seen(self) -> Seen:
        """Read no more; what the slow ones have seen."""
        return msgspec.json.decode(self.ask(""), type=Seen)


def total(readers: list[Reader]) -> Seen:
    """Add up what readers have seen."""
    all_seen = [reader.stream.seen for reader in readers]
    return Seen(*(sum(getattr(each, name) for each in all_seen) for name in Seen.__struct_fields__))


def _main(port: int, path: str, never: int, slow: int) -> None:
    silent = [Wire(port, path, narrow=True) for _ in range(never)]
    readers = [Reader(port, path) for _ in range(slow)]
    print("open", flush=True)
    size, turn, due = int(BYTES_PER_SECOND * CYCLE_SECONDS), 0, time.monotonic()
    while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
        for reader in readers[turn % TURNS :: TURNS]:
            reader.read(size)
        turn, due = turn + 1, due + CYCLE_SECONDS / TURNS
    print(msgspec.json.encode(total(readers)).decode(), flush=True)
    for wire in silent:
        wire.close()


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
