"""Say what a load has shown: rates, latencies, faults, and whether it can be believed."""

from collections.abc import Sequence

import msgspec

from .histogram import Histogram
from .load import Load
from .tally import KINDS, Kind, Tally
from .timeline import Moment, Timeline

CPU_LIMIT = 0.85  # of a core: beyond it a process can't keep time
LAG_LIMIT_MS = 20.0  # of a loop, in the second of a median process; waits of this size show
BUSY_SHARE = 0.1  # of the seconds that may be beyond a limit
PERCENTS = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9, "max": 100.0}


class Latency(msgspec.Struct, frozen=True):
    """Percentiles of one kind of latency, in ms, of `count` samples."""

    count: int
    p50: float
    p90: float
    p99: float
    p999: float
    max: float

    @classmethod
    def of(cls, histogram: Histogram) -> "Latency":
        """Read the percentiles of a histogram in us."""
        found = {name: histogram.percentile(at) / 1000 for name, at in PERCENTS.items()}
        return cls(histogram.total, **found)


class Generator(msgspec.Struct, frozen=True):
    """How hard the generator had to work: its busiest process, over the seconds after the ramp.

    `limits` says how it was the limit itself; empty if it was not.
    """

    cpu: float
    lag_ms: float
    limits: str


class Outcome(msgspec.Struct, frozen=True):
    """What a load has shown. Rates are per second after the ramp; faults are counted throughout."""

    urls: tuple[str, ...]
    bots: int
    spectators: int
    seconds: int
    moves_per_s: float
    deliveries_per_s: float
    bytes_per_s: float
    matches: int
    connects: int
    gaps: int
    duplicates: int
    skipped: int
    replayed: int
    errors: dict[str, int]
    closes: dict[str, int]
    failures: dict[str, int]
    latency_ms: dict[Kind, Latency]
    generator: Generator


def conclude(load: Load, timeline: Timeline) -> Outcome:
    """Draw up the outcome of a run."""
    steady = timeline.steady
    busy, whole = timeline.total(steady), timeline.total(timeline.moments)
    seconds = max(len(steady), 1)
    return Outcome(
        urls=load.urls,
        bots=load.bots,
        spectators=load.spectators,
        seconds=len(steady),
        moves_per_s=busy.moves / seconds,
        deliveries_per_s=busy.deliveries / seconds,
        bytes_per_s=busy.bytes / seconds,
        matches=whole.matches,
        connects=whole.connects,
        gaps=whole.gaps,
        duplicates=whole.duplicates,
        skipped=whole.skipped,
        replayed=whole.replayed,
        errors=whole.errors,
        closes=whole.closes,
        failures=whole.failures,
        latency_ms=latencies(busy),
        generator=_judge(steady),
    )


def latencies(tally: Tally) -> dict[Kind, Latency]:
    """Read the percentiles of each kind that has samples."""
    return {
        kind: Latency.of(tally.latencies[kind])
        for kind in KINDS
        if kind in tally.latencies and tally.latencies[kind].total
    }


def _judge(steady: Sequence[Moment]) -> Generator:
    """Say whether the generator kept up."""
    cpu = _exceeded([moment.cpu for moment in steady])
    lag_ms = _exceeded([moment.lag_us / 1000 for moment in steady])
    limits = []
    if cpu > CPU_LIMIT:
        limits.append(f"a process of it used {cpu:.0%} of a core (more than {CPU_LIMIT:.0%})")
    if lag_ms > LAG_LIMIT_MS:
        limits.append(f"its loop was up to {lag_ms:.0f} ms late (more than {LAG_LIMIT_MS:.0f} ms)")
    return Generator(cpu, lag_ms, " and ".join(limits))


def _exceeded(values: Sequence[float]) -> float:
    """Return what all but the BUSY_SHARE greatest values keep below; 0 of nothing."""
    ordered = sorted(values)
    return ordered[int((len(ordered) - 1) * (1 - BUSY_SHARE))] if ordered else 0.0
