"""Show a load while it runs, and what came of it, in the terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from .expect import Expectation, figure
from .load import Load
from .outcome import PERCENTS, Latency, Outcome, latencies
from .tally import KINDS, Kind
from .timeline import Timeline

ROWS = 8  # seconds that are shown while it runs


class LiveView:
    """The last seconds of a run, and how far it has come."""

    def __init__(self, load: Load) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        )
        self._task = self._progress.add_task("ramp", total=round(load.ramp_s + load.duration_s))
        self._ramp_s = load.ramp_s

    def render(self, timeline: Timeline) -> Group:
        """Draw what is known."""
        moments = timeline.moments
        phase = "ramp" if len(moments) < self._ramp_s else "load"
        self._progress.update(self._task, completed=len(moments), description=phase)
        table = Table()
        for heading in ("s", "open", "moves/s", "deliveries/s", *(f"{kind} p99" for kind in KINDS)):
            table.add_column(heading, justify="right")
        table.add_column("faults")
        for moment in moments[-ROWS:]:
            tally = moment.tally
            found = latencies(tally)
            table.add_row(
                *(f"{moment.number}", f"{moment.open:,}", f"{tally.moves:,}"),
                f"{tally.deliveries:,}",
                *(f"{found[kind].p99:.1f} ms" if kind in found else "" for kind in KINDS),
                _faults({**tally.errors, **tally.closes, **tally.failures}),
            )
        return Group(self._progress, table)


def results(outcome: Outcome) -> Sequence[Table]:
    """Draw up the outcome as tables."""
    return (_counts(outcome), _latencies(outcome.latency_ms))


def verdicts(outcome: Outcome, expectations: Sequence[Expectation]) -> tuple[Table, bool]:
    """Draw up whether each expectation holds, and say whether all do."""
    table = Table("expected", "measured", "")
    all_hold = True
    for each in expectations:
        value = figure(outcome, each.name)
        holds = each.holds(value)
        all_hold = all_hold and holds
        table.add_row(
            str(each), "nothing" if value is None else f"{value:g}", "ok" if holds else "NOT OK"
        )
    return table, all_hold


def counts(outcome: Outcome) -> Mapping[str, str]:
    """Render all that is not a latency."""
    strain = outcome.generator
    return {
        "clients": f"{outcome.bots:,} bots, {outcome.spectators:,} spectators",
        "measured": f"{outcome.seconds} s after the ramp",
        "moves": f"{outcome.moves_per_s:,.1f} /s",
        "deliveries": f"{outcome.deliveries_per_s:,.1f} /s, {outcome.bytes_per_s / 1e6:.2f} MB/s",
        "matches finished": f"{outcome.matches:,}",
        "connections": f"{outcome.connects:,}",
        "gaps": f"{outcome.gaps:,}",
        "duplicates": f"{outcome.duplicates:,}",
        "events spared to slow readers": f"{outcome.skipped:,}",
        "replayed placements": f"{outcome.replayed:,}",
        "errors by code": _faults(outcome.errors) or "none",
        "disconnects by code": _faults(outcome.closes) or "none",
        "failed connections": _faults(outcome.failures) or "none",
        "generator": f"{strain.cpu:.0%} of a core, {strain.lag_ms:.1f} ms late",
    }


def _counts(outcome: Outcome) -> Table:
    table = Table("", "", show_header=False)
    for name, text in counts(outcome).items():
        table.add_row(name, text)
    return table


def _latencies(found: Mapping[Kind, Latency]) -> Table:
    table = Table("latency in ms", *PERCENTS, "samples")
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, title in KINDS.items():
        if kind in found:
            values = (f"{getattr(found[kind], name):,.1f}" for name in PERCENTS)
            table.add_row(title, *values, f"{found[kind].count:,}")
    return table


def _faults(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{code}: {count:,}" for code, count in sorted(counts.items()))
