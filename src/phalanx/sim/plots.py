"""Plots as SVG text: lines over time and bars by class. They stand in a page by themselves and need nothing else."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 12, 52  # room for the larger letters of a narrow screen
DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 2")  # beside the colour, which not everybody sees
POINTS_MAX = 240
_NEARLY = 1e-9  # what sums and products of floats may be off by
STEPS = 5  # between the ends of an axis, at most


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bars:
    """Two values for every class: ``solid`` in front, ``pale`` behind it."""

    name: str
    solid: Sequence[float]
    pale: Sequence[float]


@dataclass(frozen=True, slots=True)
class Axes:
    """``top``: where the upright axis ends; None: at the largest value. ``step``: its ticks are no closer than this."""

    title: str
    across: str
    upright: str
    top: float | None = None
    step: float = 0.0


def lines(axes: Axes, given: Sequence[Line]) -> str:
    """Steps over time: a value holds until the next one."""
    right = max((x for line in given for x, _ in line.points), default=0.0) or 1.0
    heights = _heights(axes, (y for line in given for _, y in line.points))
    drawn = "".join(_path(number, line, right, heights[-1]) for number, line in enumerate(given))
    marks = "".join(
        f'<text x="{_across(x, right)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(_figure(x))}</text>'
        for x in ticks(right)
        if x <= right
    )
    return _svg(axes, _grid(heights) + marks + drawn) + _legend([line.name for line in given])


def _path(number: int, line: Line, right: float, top: float) -> str:
    points = line.points[:: max(1, len(line.points) // POINTS_MAX)]
    steps = ""
    for i, (x, y) in enumerate(points):
        at, up = _across(x, right), _up(y, top)
        steps += f"M{at} {up}" if not i else f"H{at}V{up}"
    return f'<path class="s{number % 5}" d="{steps}" fill="none" stroke-dasharray="{DASHES[number % 5]}"/>'


def bars(axes: Axes, classes: Sequence[str], given: Sequence[Bars]) -> str:
    """One group of bars per class; in it one place per series, with the larger value pale behind the smaller."""
    heights = _heights(axes, (value for one in given for value in (*one.solid, *one.pale)))
    top = heights[-1]
    room = (WIDTH - LEFT - RIGHT) / max(1, len(classes))
    wide = min(room * 0.8 / max(1, len(given)), 60.0)
    drawn = ""
    for place, name in enumerate(classes):
        middle = LEFT + (place + 0.5) * room
        for number, one in enumerate(given):
            left = middle + (number - len(given) / 2) * wide
            drawn += _bar(f"f{number % 5} pale", left, wide, one.pale[place], top)
            drawn += _bar(f"f{number % 5}", left, wide, one.solid[place], top)
        drawn += f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(name)}</text>'
    return _svg(axes, _grid(heights) + drawn) + _legend([one.name for one in given])


def _bar(style: str, left: float, wide: float, value: float, top: float) -> str:
    up = _up(value, top)
    height = round(HEIGHT - BOTTOM - up, 1)
    return f'<rect class="{style}" x="{left:.1f}" y="{up}" width="{wide * 0.92:.1f}" height="{height}"/>'


def ticks(largest: float, least: float = 0.0) -> list[float]:
    """From 0 to at least ``largest``, in steps of 1, 2 or 5 times a power of ten that are no shorter than ``least``."""
    rough = max(largest / STEPS, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - _NEARLY))
    return [round(number * step, 12) for number in range(math.ceil(largest / step * (1 - _NEARLY)) + 1)]


def _heights(axes: Axes, values: Iterable[float]) -> list[float]:
    return ticks(axes.top or max(values, default=0.0) or 1.0, axes.step)


def _grid(heights: Sequence[float]) -> str:
    found = ""
    for height in heights:
        up = _up(height, heights[-1])
        found += f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up}" y2="{up}"/>'
        found += f'<text x="{LEFT - 6}" y="{up + 4}" text-anchor="end">{escape(_figure(height))}</text>'
    return found


def _svg(axes: Axes, inside: str) -> str:
    labels = (
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(axes.across)}</text>'
        f'<text class="upright" x="14" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(axes.upright)}</text>'
    )
    title = f"<title>{escape(axes.title)}</title>"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{title}{inside}{labels}</svg>'


def _legend(names: Iterable[str]) -> str:
    keys = "".join(
        f'<li><svg viewBox="0 0 24 8" class="key" aria-hidden="true"><path class="s{number % 5}" d="M0 4H24" '
        f'stroke-dasharray="{DASHES[number % 5]}"/></svg>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    return f'<ul class="legend">{keys}</ul>'


def _across(x: float, right: float) -> float:
    return round(LEFT + x / right * (WIDTH - LEFT - RIGHT), 1)


def _up(y: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - min(y / top, 1.0) * (HEIGHT - TOP - BOTTOM), 1)


def _figure(value: float) -> str:
    """Three digits that matter: 0.25, 12.5, 340, 12,000."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
