"""Ratings, and values over time → SVG within a page, of the web service or of a tournament report.

The style sheet of the page says how the classes look: `plot` (the whole), `axis`, `label` (the name of a player), `s1`
to `s8` (a series), `curve`, `whisker`, `point`, `here` (the state that is shown). The SVG has no styles, scripts,
identifiers or references; names are escaped text, and the same values give the same bytes. `standalone` adds a style.

Written by hand rather than with matplotlib: a page must be quick, colours must come from the page, and names must stay
text; stripping matplotlib's SVG down to that took more code than drawing it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, floor
from typing import Protocol

from markupsafe import Markup

SERIES = 8  # classes of series; after them they start again
WIDTH = 640.0  # of plots of ratings, in pixels

_ROW = 30.0  # height of a player in the plot of ratings
_COURSE_HEIGHT = 360.0
_NAMES = 190.0  # room for the names at the ends of curves
_NAME_HEIGHT = 18.0  # of such a name
_LETTER = 12.5  # width of a letter, about, on a phone, where they are larger
_LONGEST_NAME = 22  # letters of a name that are shown; pointing at it shows all
_TICKS = 6  # of an axis, at most
_STEPS = (1, 2, 5)
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#007a5a",
    "#b0518a",
    "#8a6d00",
    "#3a8fc7",
    "#7a4bb5",
    "#444b53",
)
_STYLE = (
    "svg{background:#fff;font-family:sans-serif}text{fill:#545d67;font-size:13px}text.label{fill:#1b1f24}"
    ".axis{stroke:#d8dde3;fill:none}.curve{fill:none;stroke:var(--c);stroke-width:2.25}.point{fill:var(--c)}"
)
_DASHES = ("none", "7 4", "2 4", "9 3 2 3")  # in turn, so that curves differ by more than their colour


class Interval(Protocol):
    """A value with the ends of its confidence interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Curve:
    """Values of one player or role, in ascending order of x; where there is none, the curve leaves x out."""

    name: str
    points: tuple[tuple[int, float], ...]  # x (a state, or a number of matches) and value
    colour: str = ""  # that of a piece, as a class of the page; "": that of its place in the series


def rating_plot(ratings: Sequence[tuple[str, Interval]], title: str) -> Markup:
    """A row for each player in the order given: a point for the rating, a line for its interval; empty without any."""
    if not ratings:
        return Markup()
    names = [_short(name) for name, _ in ratings]
    ticks = _ticks(min(rating.low for _, rating in ratings), max(rating.high for _, rating in ratings))
    frame = _Frame(
        WIDTH, 34 + _ROW * len(ratings), (8, 18, 26, 14 + _LETTER * max(map(len, names))), (ticks[0], ticks[-1]), (0, 1)
    )  # fmt: skip
    parts = [frame.opening(title), _title(title), *frame.columns(ticks)]
    for number, (name, rating) in enumerate(ratings):
        y = 8 + _ROW * (number + 0.5)
        words = f"{name}: {rating.value:.0f}, from {rating.low:.0f} to {rating.high:.0f}"
        parts.append(Markup('<g class="{}"><title>{}</title>').format(series_class(number), words))
        parts.append(_name(frame.left - 10, y, "end", name))
        parts.append(
            Markup('<path class="whisker" d="M{} {}H{}"/>').format(frame.x(rating.low), _n(y), frame.x(rating.high))
        )
        parts.append(Markup('<circle class="point" cx="{}" cy="{}" r="5"/></g>').format(frame.x(rating.value), _n(y)))
    return _joined([*parts, Markup("</svg>")])


def course_plot(curves: Sequence[Curve], title: str, x_title: str, y_title: str) -> Markup:
    """A curve for each player in the order given; the first eight have colours, and names at their ends."""
    points = [point for curve in curves for point in curve.points]
    if not points:
        return Markup()
    across = _ticks(min(x for x, _ in points), max(x for x, _ in points), least=1)
    up = _ticks(min(value for _, value in points), max(value for _, value in points))
    frame = _Frame(WIDTH, _COURSE_HEIGHT, (12, _NAMES, 46, 64), (across[0], across[-1]), (up[0], up[-1]))
    parts = [frame.opening(title), _title(title), *frame.columns(across), *frame.rows(up)]
    middle = (frame.top + frame.height - frame.bottom) / 2
    parts.append(_text((frame.left + frame.width - frame.right) / 2, frame.height - 6, "middle", x_title))
    turned = Markup('<text transform="rotate(-90)" x="{}" y="14" text-anchor="middle">{}</text>')
    parts.append(turned.format(_n(-middle), y_title))
    parts += [Markup('<path class="axis" d="{}"/>').format(frame.way(curve)) for curve in curves[SERIES:]]
    shown = [(number, curve) for number, curve in enumerate(curves[:SERIES]) if curve.points]
    ends = {number: float(frame.y(curve.points[-1][1])) for number, curve in shown}
    heights = _apart(ends, _NAME_HEIGHT)
    for number, curve in shown:
        parts.append(Markup('<g class="{}"><title>{}</title>').format(series_class(number), curve.name))
        dashes = _DASHES[number % len(_DASHES)]
        parts.append(Markup('<path class="curve" stroke-dasharray="{}" d="{}"/>').format(dashes, frame.way(curve)))
        parts += frame.points(curve)
        parts += [_name(frame.width - frame.right + 8, heights[number], "start", curve.name), Markup("</g>")]
    return _joined([*parts, Markup("</svg>")])


def standalone(plot: Markup) -> str:
    """A plot with its colours, as the text of a file of its own."""
    series = "".join(f".s{number + 1}{{--c:{colour}}}" for number, colour in enumerate(_COLOURS))
    style = Markup("<style>{}{}</style>").format(Markup(_STYLE), series)  # noqa: S704 - ours
    opening, rest = plot.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'


def value_plot(curves: Sequence[Curve], last: int, at: int) -> Markup:
    """Goal values, 0 to 100, over the states of a match, with a legend; `plot.js` draws the same in a live page.

    States go from 0 to `last`, and `at` is the one that is shown.
    """
    if not curves:
        return Markup()
    frame = _Frame(420, 170, (14, 10, 24, 44), (0, max(1, last)), (0, 100))
    parts = [frame.opening(values_label(curves)), *frame.rows((0, 50, 100))]
    for state in sorted({0, (last + 1) // 2, last}):
        anchor = "start" if state == 0 else "end" if state == last else "middle"
        parts.append(_text(float(frame.x(state)), frame.height - 5, anchor, str(state)))
    parts.append(
        Markup('<path class="here" d="M{} {}V{}"/>').format(frame.x(at), _n(frame.top), _n(frame.height - frame.bottom))
    )
    for number, curve in enumerate(curves):
        parts.append(
            Markup('<g class="{}"><path class="curve" d="{}"/>').format(_class(number, curve), frame.way(curve))
        )
        parts += [*frame.points(curve), Markup("</g>")]
    parts.append(Markup('</svg><ul class="legend">'))
    parts += [Markup('<li class="{}">{}</li>').format(_class(n, curve), curve.name) for n, curve in enumerate(curves)]
    return _joined([*parts, Markup("</ul>")])


def _class(number: int, curve: Curve) -> str:
    return f"c-{curve.colour}" if curve.colour else series_class(number)


def values_label(curves: Sequence[Curve]) -> str:
    """The curves in words, for people who do not see them."""
    told = "; ".join(f"{curve.name} {_course(curve.points)}" for curve in curves)
    return f"Goal values that players expect: {told}. All of them are in the list of moves."


def series_class(number: int) -> str:
    """The class of a series, counted from 0."""
    return f"s{number % SERIES + 1}"


def _course(points: Sequence[tuple[int, float]]) -> str:
    (first, before), (last, now) = points[0], points[-1]
    values = [value for _, value in points]
    if len(points) == 1:
        return f"{now:.0f} in state {last}"
    return f"{before:.0f} in state {first}, {now:.0f} in state {last}, all from {min(values):.0f} to {max(values):.0f}"


@dataclass(frozen=True, slots=True)
class _Frame:
    """A picture with margins around the area of its values."""

    width: float
    height: float
    margins: tuple[float, float, float, float]  # top, right, bottom, left
    across: tuple[float, float]  # the values at the left and at the right edge of the area
    up: tuple[float, float]  # those at the bottom and at the top

    @property
    def top(self) -> float:
        return self.margins[0]

    @property
    def right(self) -> float:
        return self.margins[1]

    @property
    def bottom(self) -> float:
        return self.margins[2]

    @property
    def left(self) -> float:
        return self.margins[3]

    def x(self, value: float) -> str:
        low, high = self.across
        inside = min(max(value, low), high)
        return _n(self.left + (self.width - self.left - self.right) * (inside - low) / (high - low))

    def y(self, value: float) -> str:
        low, high = self.up
        return _n(self.top + (self.height - self.top - self.bottom) * (high - value) / (high - low))

    def opening(self, label: str) -> Markup:
        start = Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">')
        return start.format(_n(self.width), _n(self.height), label)

    def columns(self, ticks: Sequence[float]) -> Iterator[Markup]:
        """A line up and a number below for each tick."""
        bottom = self.height - self.bottom
        for tick in ticks:
            yield Markup('<path class="axis" d="M{} {}V{}"/>').format(self.x(tick), _n(self.top), _n(bottom))
            yield _text(float(self.x(tick)), bottom + 18, "middle", _number(tick))

    def rows(self, ticks: Sequence[float]) -> Iterator[Markup]:
        """A line across and a number at its left for each tick."""
        for tick in ticks:
            end = _n(self.width - self.right)
            yield Markup('<path class="axis" d="M{} {}H{}"/>').format(_n(self.left), self.y(tick), end)
            yield _text(self.left - 6, float(self.y(tick)) + 4, "end", _number(tick))

    def way(self, curve: Curve) -> str:
        return "M" + "L".join(f"{self.x(x)} {self.y(value)}" for x, value in curve.points) if curve.points else "M0 0"

    def points(self, curve: Curve) -> Iterator[Markup]:
        for x, value in curve.points:
            yield Markup('<circle class="point" cx="{}" cy="{}" r="2.6"/>').format(self.x(x), self.y(value))


def _ticks(low: float, high: float, least: float = 0.1) -> list[float]:
    """Round numbers around all values, none closer to the next than `least`."""
    span = max(high - low, 1.0)
    sizes = (size * 10.0**power for power in count(-1) for size in _STEPS)
    step = next(size for size in sizes if size >= least and span / size <= _TICKS)
    first, last = floor(low / step), ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _apart(heights: Mapping[int, float], gap: float) -> dict[int, float]:
    """The same moved as little as needed for no two to be closer than the gap; their order is kept."""
    blocks: list[tuple[list[int], float]] = []  # numbers whose names touch each other, and their middle
    for number in sorted(heights, key=lambda number: heights[number]):
        members, middle = [number], heights[number]
        while blocks and blocks[-1][1] + gap * (len(blocks[-1][0]) + len(members)) / 2 > middle:
            before, centre = blocks.pop()
            middle = (centre * len(before) + middle * len(members)) / (len(before) + len(members))
            members = before + members
        blocks.append((members, middle))
    return {
        number: middle + gap * (place - (len(members) - 1) / 2)
        for members, middle in blocks
        for place, number in enumerate(members)
    }


def _title(text: str) -> Markup:
    return Markup("<title>{}</title>").format(text)


def _text(x: float, y: float, anchor: str, text: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(_n(x), _n(y), anchor, text)


def _name(x: float, y: float, anchor: str, name: str) -> Markup:
    start = Markup('<text class="label" x="{}" y="{}" text-anchor="{}">{}<title>{}</title></text>')
    return start.format(_n(x), _n(y + 4), anchor, _short(name), name)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _n(number: float) -> str:
    """A length, to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")


def _joined(parts: Sequence[Markup]) -> Markup:
    return Markup("\n").join(parts)
