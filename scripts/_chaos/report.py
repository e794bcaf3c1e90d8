"""Show a verdict to a person."""

from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console, Group, RenderableType
from rich.table import Table

from .plan import Plan
from .turns import NOTHING
from .verdict import Verdict

SHOWN_TROUBLES = 20


def report(plan: Plan, verdict: Verdict, seconds: float, console: Console) -> None:
    """Print the tables of a run."""
    console.print(Group(_faults(verdict), _numbers(verdict, seconds), _times(verdict)))
    for trouble in verdict.troubles[:SHOWN_TROUBLES]:
        console.print(trouble, style="red")
    left = len(verdict.troubles) - SHOWN_TROUBLES
    if left > 0:
        console.print(f"... and {left} more", style="red")
    state = "[green]Nothing is wrong." if verdict.is_good else "[red]Something is wrong."
    console.print(f"{state}[/] Seed {plan.seed}. Evidence: {plan.folder}")


def _faults(verdict: Verdict) -> RenderableType:
    table = _table("fault", "times", "longest turn of who it hit", "auto-placements it explains")
    for kind in sorted({*verdict.faults, *verdict.longest_turn} - {NOTHING}):
        table.add_row(
            kind,
            str(verdict.faults.get(kind, 0)),
            _seconds(verdict.longest_turn.get(kind, 0)),
            str(verdict.autos_explained.get(kind, 0)),
        )
    table.add_row(NOTHING, "", _seconds(verdict.longest_turn.get(NOTHING, 0)), "")
    return table


def _numbers(verdict: Verdict, seconds: float) -> RenderableType:
    table = _table("", "count")
    for name, number in _rows(verdict, seconds):
        table.add_row(name, f"{number:,}")
    return table


def _rows(verdict: Verdict, seconds: float) -> Iterable[tuple[str, int]]:
    count = verdict.count
    known = {what for what, _ in _WRONG}
    yield "seconds", round(seconds)
    yield "matches finished", verdict.matches
    yield "turns", verdict.turns
    yield "events delivered", verdict.events
    yield "acknowledged moves", verdict.acknowledged
    yield "of them on a second sending", verdict.replayed
    yield "auto-placements of silent bots", verdict.autos_silent
    yield "auto-placements explained by faults", sum(verdict.autos_explained.values())
    for what, name in _WRONG:
        yield name, count(what)
    yield "HP difference", verdict.hp_difference
    for what in sorted({trouble.what for trouble in verdict.troubles} - known):
        yield what, count(what)


_WRONG = (
    ("unexplained auto-placement", "auto-placements unexplained"),
    ("gap", "gaps"),
    ("duplicate", "duplicates"),
    ("differing event", "events that differ from the log"),
    ("acknowledged move missing", "acknowledged moves missing from the log"),
    ("counted twice", "moves counted twice"),
    ("refused move counted", "refused moves in the log"),
    ("log fails", "logs that fail the audit"),
    ("end not seen", "ends of matches not seen by who was there"),
    ("match not finished", "matches not finished"),
    ("agent stuck", "agents stuck in a seat or the queue"),
    ("hub crashed", "hubs that ended by themselves"),
    ("unclean exit", "unclean exits"),
)


def _times(verdict: Verdict) -> RenderableType:
    table = _table("time", "samples", "median", "worst")
    table.add_row("SIGKILL of a hub to its bots being in another", *_spread(verdict.failover))
    table.add_row("start of the store to the first move", *_spread(verdict.first_moves))
    return table


def _spread(times_ms: Sequence[int]) -> tuple[str, str, str]:
    if not times_ms:
        return "0", "", ""
    return str(len(times_ms)), _seconds(median(times_ms)), _seconds(max(times_ms))


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2f} s"


def _table(first: str, *others: str) -> Table:
    table = Table(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
