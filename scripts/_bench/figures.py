"""Hold what was measured: samples of a figure, ratios of figures taken side by side."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One thing that was measured several times; `note` says what it is beside its name."""

    name: str
    unit: str
    samples: tuple[float, ...]
    note: str = ""

    @property
    def median(self) -> float:
        """The middle one of the samples."""
        return statistics.median(self.samples)


class Ratio(msgspec.Struct, frozen=True):
    """A figure over another, sample by sample; `limit` is what it is to be at most (or at least).

    Ratios are taken between samples of one repetition: what else the machine does moves both.
    """

    name: str
    samples: tuple[float, ...]
    limit: float | None = None
    at_least: bool = False

    @property
    def median(self) -> float:
        """The middle one of the samples."""
        return statistics.median(self.samples)

    @property
    def holds(self) -> bool | None:
        """Tell whether the limit is kept; None if there is none."""
        if self.limit is None:
            return None
        return self.median >= self.limit if self.at_least else self.median <= self.limit


class Curve(msgspec.Struct, frozen=True):
    """A cost against a number of something; `design` is how it is meant to grow."""

    of: str
    unit: str
    design: Literal["flat", "linear"]
    points: tuple[tuple[float, Figure], ...]


class Series:
    """Samples by name, in the order in which names first came."""

    def __init__(self, unit: str, notes: dict[str, str] | None = None) -> None:
        self._unit = unit
        self._notes = notes or {}
        self._samples: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        """Add a sample."""
        self._samples.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> list[float]:
        return self._samples[name]

    def __contains__(self, name: str) -> bool:
        return name in self._samples

    def figures(self) -> Iterator[Figure]:
        """Yield a figure for each name."""
        for name, samples in self._samples.items():
            yield Figure(name, self._unit, tuple(samples), self._notes.get(name, ""))

    def ratio(
        self, name: str, over: str, limit: float | None = None, *, at_least: bool = False
    ) -> Ratio:
        """Divide a name's samples by another's."""
        pairs = zip(self._samples[name], self._samples[over], strict=True)
        samples = tuple(upper / lower for upper, lower in pairs)
        return Ratio(f"{name} / {over}", samples, limit, at_least)

    def against(self, name: str, limit: float) -> Ratio:
        """Hold a name's samples themselves against a limit."""
        return Ratio(f"{name}, {self._unit}", tuple(self._samples[name]), limit)


class Report(msgspec.Struct, frozen=True):
    """What one bench has found."""

    title: str
    figures: tuple[Figure, ...]
    ratios: tuple[Ratio, ...] = ()
    notes: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()


def p99(values: Sequence[float]) -> float:
    """Find the 99th percentile; 0 of nothing."""
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else sum(values)
