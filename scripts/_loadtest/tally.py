"""Count what clients see, second by second; the counts of seconds and processes add up."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from .histogram import Histogram

Kind = Literal["roll", "ack", "spectator"]

KINDS: Mapping[Kind, str] = {
    "roll": "roll to receipt",
    "ack": "action to ack",
    "spectator": "commit to spectator",
}


class Tally(msgspec.Struct):
    """Counts of one second, or of many; latencies in us."""

    moves: int = 0
    matches: int = 0
    deliveries: int = 0
    bytes: int = 0
    connects: int = 0
    gaps: int = 0
    duplicates: int = 0
    skipped: int = 0
    replayed: int = 0
    errors: dict[str, int] = {}
    closes: dict[str, int] = {}
    failures: dict[str, int] = {}
    latencies: dict[Kind, Histogram] = {}

    def error(self, code: str) -> None:
        """Count an error reply."""
        self.errors[code] = self.errors.get(code, 0) + 1

    def close(self, code: int) -> None:
        """Count a connection that was not closed by us."""
        self.closes[str(code)] = self.closes.get(str(code), 0) + 1

    def fail(self, reason: str) -> None:
        """Count a connection that could not be made."""
        self.failures[reason] = self.failures.get(reason, 0) + 1

    def latency(self, kind: Kind) -> Histogram:
        """Return the histogram of one kind."""
        if kind not in self.latencies:
            self.latencies[kind] = Histogram()
        return self.latencies[kind]

    def add(self, other: "Tally") -> None:
        """Count all that another one has counted."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("errors", "closes", "failures"):
            mine: dict[str, int] = getattr(self, name)
            for key, count in getattr(other, name).items():
                mine[key] = mine.get(key, 0) + count
        for kind, histogram in other.latencies.items():
            self.latency(kind).add(histogram)


_NUMBERS = (
    "moves",
    "matches",
    "deliveries",
    "bytes",
    "connects",
    "gaps",
    "duplicates",
    "skipped",
    "replayed",
)


class Strain(msgspec.Struct):
    """How hard one process of the generator had to work in one second.

    `cpu` is its share of a core; `lag_us` how late its loop came to what was due, at worst.
    """

    cpu: float
    lag_us: int


class Second(msgspec.Struct):
    """What one process says of one second, counted from the start of the ramp."""

    number: int
    open: int
    tally: Tally
    strain: Strain
