"""Write what a load has shown as one self-contained page, with charts."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from .chart import Axis, Line, draw, even_axis
from .histogram import Histogram
from .outcome import PERCENTS, Outcome, latencies
from .tally import KINDS
from .timeline import Moment, Timeline
from .view import counts

# The distribution's axis: each step of 1 leaves out nine tenths of what is left.
NINES = ((0.0, "0 %"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %"))
NINES_PARTS = 10

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #6b6b70; --line: #dcdce0; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececf0; --soft: #9a9aa2; --line: #3a3a40; --paper: #18181b }
}
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif;
       color: var(--ink); background: var(--paper) }
h2 { margin: 2rem 0 0.3rem; font-size: 1.1rem }
table { border-collapse: collapse }
td, th { padding: 0.2rem 1rem 0.2rem 0; text-align: left; font-variant-numeric: tabular-nums }
tr + tr td { border-top: 1px solid var(--line) }
svg { width: 100% } svg text { font-size: 12px; fill: var(--soft) }
.grid { stroke: var(--line) } .line { fill: none; stroke-width: 1.8 }
.c0 { stroke: #c2303c; color: #c2303c }
.c1 { stroke: #2f6fb0; color: #2f6fb0 }
.c2 { stroke: #2e8b57; color: #2e8b57 }
.legend { margin: 0 } .legend span { margin-right: 1rem }
.warning { padding: 0.6rem 1rem; border: 1px solid #c98a00; border-radius: 6px }
.meaning { color: var(--soft) }
"""


def render(outcome: Outcome, timeline: Timeline, meaning: str) -> str:
    """Render an outcome; `meaning` says what the latencies are."""
    moments = timeline.moments
    sections = (
        ("Counts", _table(counts(outcome).items())),
        ("Latency in ms", _latency_table(outcome) + f'<p class="meaning">{escape(meaning)}</p>'),
        ("Latency over time: 99th percentile of each second, in ms", _p99s(moments)),
        ("Distribution of latency, in ms", _distribution(timeline)),
        ("Moves a second", _over_time(moments, {"moves": [each.tally.moves for each in moments]})),
        (
            "Deliveries a second",
            _over_time(moments, {"deliveries": [each.tally.deliveries for each in moments]}),
        ),
        (
            "How late the generator's loops were at most, in ms",
            _over_time(moments, {"lag": [each.lag_us / 1000 for each in moments]}),
        ),
    )
    body = "".join(f"<h2>{escape(title)}</h2>{content}" for title, content in sections)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Load test</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style><body>'
        f"<h1>Load test</h1><p>{escape(', '.join(outcome.urls))},"
        f" {time.strftime('%Y-%m-%d %H:%M')}</p>{_warning(outcome)}{body}</body></html>\n"
    )


def _warning(outcome: Outcome) -> str:
    limits = outcome.generator.limits
    if not limits:
        return ""
    return f'<p class="warning">The generator was the limit, not the hub: {escape(limits)}.</p>'


def _table(rows: Iterable[Sequence[str]]) -> str:
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{each}</tr>' for each in cells)}</table>"


def _latency_table(outcome: Outcome) -> str:
    rows = [("", *PERCENTS, "samples")]
    for kind, latency in outcome.latency_ms.items():
        values = (f"{getattr(latency, name):,.1f}" for name in PERCENTS)
        rows.append((KINDS[kind], *values, f"{latency.count:,}"))
    return _table(rows)


def _p99s(moments: Sequence[Moment]) -> str:
    lines: dict[str, list[float | None]] = {title: [] for title in KINDS.values()}
    for moment in moments:
        found = latencies(moment.tally)
        for kind, title in KINDS.items():
            lines[title].append(found[kind].p99 if kind in found else None)
    return _over_time(moments, lines)


def _over_time(moments: Sequence[Moment], lines: Mapping[str, Sequence[float | None]]) -> str:
    """Draw values of each second; None where there is none."""
    if not moments:
        return "<p>Nothing was measured.</p>"
    numbers = [float(moment.number + 1) for moment in moments]
    drawn = [
        Line(
            name,
            [(at, value) for at, value in zip(numbers, values, strict=True) if value is not None],
            style,
        )
        for style, (name, values) in enumerate(lines.items())
    ]
    most = max((value for line in drawn for _, value in line.points), default=0)
    return draw(drawn, even_axis("seconds since the ramp began", numbers[-1]), even_axis("", most))


def _distribution(timeline: Timeline) -> str:
    """Draw the latency that each share of the samples does not exceed."""
    found = timeline.total(timeline.steady).latencies
    lines = [
        Line(title, _quantiles(found[kind]), style)
        for style, (kind, title) in enumerate(KINDS.items())
        if kind in found and found[kind].total
    ]
    if not lines:
        return "<p>Nothing was measured.</p>"
    most = max(value for line in lines for _, value in line.points)
    return draw(lines, Axis("share of the samples", NINES), even_axis("", most))


def _quantiles(histogram: Histogram) -> list[tuple[float, float]]:
    """Read a histogram up to where single samples decide."""
    last = min(math.log10(max(histogram.total, 1)), NINES[-1][0])
    steps = [step / NINES_PARTS for step in range(int(last * NINES_PARTS) + 1)]
    return [(nines, histogram.percentile(100 - 100 / 10**nines) / 1000) for nines in steps]
