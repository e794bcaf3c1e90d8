"""Hold an outcome against expectations like "p99_ms<50,gaps=0"."""

import operator
import re
from collections.abc import Callable, Mapping

import msgspec

from .outcome import PERCENTS, Outcome
from .tally import KINDS

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_EXPECTATION = re.compile(r"\s*([a-z0-9_]+)\s*(<=|>=|<|>|=)\s*(\d+(?:\.\d+)?)\s*")

NUMBERS = (
    "moves_per_s",
    "deliveries_per_s",
    "matches",
    "connects",
    "gaps",
    "duplicates",
    "skipped",
)
SUMS = ("errors", "closes", "failures")
LATENCIES = tuple(f"{name}_ms" for name in PERCENTS) + tuple(
    f"{kind}_{name}_ms" for kind in KINDS for name in PERCENTS
)
NAMES = (*LATENCIES, *NUMBERS, *SUMS)


class BadExpectation(ValueError):
    """An expectation can't be read; the message says what is wrong."""


class Expectation(msgspec.Struct, frozen=True):
    """A figure's name, how it is compared, and with what."""

    name: str
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{self.bound:g}"

    def holds(self, value: float | None) -> bool:
        """Compare; what was not measured meets no expectation."""
        return value is not None and _COMPARISONS[self.sign](value, self.bound)


def parse(text: str) -> tuple[Expectation, ...]:
    """Read expectations, separated by commas. Raises BadExpectation."""
    return tuple(_parse_one(part) for part in text.split(","))


def figure(outcome: Outcome, name: str) -> float | None:
    """Look up a figure; None if nothing of it was measured.

    A percentile without a kind, like p99_ms, is that of the slowest kind.
    """
    if name in SUMS:
        return float(sum(getattr(outcome, name).values()))
    if name in NUMBERS:
        return float(getattr(outcome, name))
    *kind, percentile, _ms = name.split("_")
    chosen = [
        getattr(latency, percentile)
        for each, latency in outcome.latency_ms.items()
        if not kind or each == kind[0]
    ]
    return max(chosen, default=None)


def _parse_one(text: str) -> Expectation:
    match = _EXPECTATION.fullmatch(text)
    if match is None:
        raise BadExpectation(f"{text.strip()!r} is not like p99_ms<50 or gaps=0")
    name, sign, bound = match.groups()
    if name not in NAMES:
        raise BadExpectation(f"{name!r} is none of {', '.join(NAMES)}")
    return Expectation(name, sign, float(bound))
