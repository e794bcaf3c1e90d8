"""Draw curves as one SVG, without any library: a panel each, numbers on a logarithmic axis."""

import math
from collections.abc import Sequence
from html import escape

from .figures import Curve
from .table import number

WIDTH, HEIGHT, COLUMNS = 360, 240, 3
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 44, 44
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#444} .t{font-weight:600;fill:#111}"
    " .axis{stroke:#999} .grid{stroke:#e5e5e5} .line{stroke:#b3202c;fill:none;stroke-width:2}"
    " .bar{stroke:#b3202c} .dot{fill:#b3202c} .bg{fill:#fff}"
)


def draw(curves: Sequence[Curve]) -> str:
    """Draw each curve in a panel of its own; medians as a line, least to greatest as bars."""
    rows = math.ceil(len(curves) / COLUMNS)
    width, height = WIDTH * min(COLUMNS, len(curves)), HEIGHT * rows
    panels = "".join(
        f'<g transform="translate({at % COLUMNS * WIDTH},{at // COLUMNS * HEIGHT})">'
        f"{_panel(curve)}</g>"
        for at, curve in enumerate(curves)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}"><style>{STYLE}</style>'
        f'<rect class="bg" width="{width}" height="{height}"/>{panels}</svg>\n'
    )


def _panel(curve: Curve) -> str:
    numbers = [at for at, _ in curve.points]
    top = max(max(figure.samples) for _, figure in curve.points) * 1.1
    xs = [_x(at, numbers) for at in numbers]

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        _text(LEFT - 40, 18, f"{curve.unit}", "t"),
        _text(LEFT - 40, 33, f"by {curve.of} (meant to be {curve.design})"),
    ]
    for step in range(5):
        value = top * step / 4
        parts.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"))
        parts.append(_text(LEFT - 6, y(value) + 4, number(value), anchor="end"))
    parts.append(_line(LEFT, y(0), WIDTH - RIGHT, y(0), "axis"))
    for x, (at, figure) in zip(xs, curve.points, strict=True):
        parts.append(_text(x, HEIGHT - BOTTOM + 18, f"{at:,.0f}", anchor="middle"))
        parts.append(_line(x, y(min(figure.samples)), x, y(max(figure.samples)), "bar"))
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y(figure.median):.1f}" r="3"/>')
    line = " ".join(
        f"{x:.1f},{y(figure.median):.1f}" for x, (_, figure) in zip(xs, curve.points, strict=True)
    )
    parts.append(f'<polyline class="line" points="{line}"/>')
    return "".join(parts)


def _x(at: float, numbers: Sequence[float]) -> float:
    """Place a number on the axis: by its logarithm, if the numbers span more than a decade."""
    is_wide = numbers[-1] > 10 * max(numbers[0], 1)
    scale = [
        math.log10(max(each, 1)) if is_wide else each for each in (numbers[0], at, numbers[-1])
    ]
    share = (scale[1] - scale[0]) / (scale[2] - scale[0] or 1)
    return LEFT + 12 + share * (WIDTH - LEFT - RIGHT - 24)


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
