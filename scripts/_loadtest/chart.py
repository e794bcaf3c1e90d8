"""Draw line charts as SVG, without any library."""

import math
from collections.abc import Callable, Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 880, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 40
TICKS = 5

Point = tuple[float, float]


class Line(msgspec.Struct, frozen=True):
    """A named line; `style` numbers its colour."""

    name: str
    points: Sequence[Point]
    style: int


class Axis(msgspec.Struct, frozen=True):
    """How one direction is labelled: a title, and ticks as (place, text)."""

    title: str
    ticks: Sequence[tuple[float, str]]


def draw(lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """Draw lines between the least and the greatest tick of each axis."""
    place_x = _scale(x, LEFT, WIDTH - RIGHT)
    place_y = _scale(y, HEIGHT - BOTTOM, TOP)
    parts = [_grid(x, y, place_x, place_y)]
    for line in lines:
        points = " ".join(f"{place_x(at):.1f},{place_y(value):.1f}" for at, value in line.points)
        parts.append(f'<polyline class="line c{line.style}" points="{points}"/>')
    legend = "".join(
        f'<span class="c{line.style}">&#9632; {escape(line.name)}</span> ' for line in lines
    )
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
    return f'<p class="legend">{legend}</p>{svg}'


def even_axis(title: str, most: float) -> Axis:
    """Label an axis from 0 to at least `most` at round numbers."""
    step = _round_up(max(most, 1e-9) / TICKS)
    count = math.ceil(max(most, 1e-9) / step)
    return Axis(title, [(at * step, f"{at * step:,.6g}") for at in range(count + 1)])


def _round_up(step: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def _scale(axis: Axis, first: float, last: float) -> Callable[[float], float]:
    low, high = axis.ticks[0][0], axis.ticks[-1][0]
    span = (high - low) or 1
    return lambda value: first + (value - low) / span * (last - first)


def _grid(
    x: Axis, y: Axis, place_x: Callable[[float], float], place_y: Callable[[float], float]
) -> str:
    parts = []
    for value, text in y.ticks:
        at = place_y(value)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )
        parts.append(
            f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    for value, text in x.ticks:
        at, foot = place_x(value), HEIGHT - BOTTOM
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{foot}"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{foot + 16}" text-anchor="middle">{escape(text)}</text>'
        )
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{escape(x.title)}</text>'
    )
    parts.append(f'<text x="4" y="12">{escape(y.title)}</text>')
    return "".join(parts)
