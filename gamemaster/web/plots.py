"""Ratings, or values over the steps of a match → an inline picture; the page's style sheet has the colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from markupsafe import Markup, escape

from gamemaster.web.models import Rated

COLOURS = 6
WIDTH = 640
ROW = 30
TOP, BOTTOM, RIGHT = 8, 26, 18

_VALUES = (420, 170)  # width and height
_LETTER = 12.5  # width of a letter, about, on a phone, where they are larger
_LONGEST = 24  # letters of a name that are shown
_TICKS = 6
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Curve:
    """Goal values, 0 to 100, of one role; not of every state."""

    name: str
    points: tuple[tuple[int, float], ...]  # (state, value), in order


def value_plot(curves: Sequence[Curve], last: int, at: int) -> Markup:
    """As `plot.js` draws it, with a legend; states go from 0 to `last`, and `at` is the one that is shown."""
    if not curves:
        return Markup()
    width, height = _VALUES
    left, right, top, bottom = 44, 10, 14, 24

    def x(state: int) -> str:
        return f"{left + (width - left - right) * state / max(1, last):.1f}"

    def y(value: float) -> str:
        return f"{top + (height - top - bottom) * (100 - value) / 100:.1f}"

    label = values_label(curves)
    parts = [Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(width, height, label)]
    for goal in (0, 50, 100):
        parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(left, y(goal), width - right))
        parts.append(_text(left - 6, float(y(goal)) + 4, "end", str(goal)))
    for state in sorted({0, (last + 1) // 2, last}):
        anchor = "start" if state == 0 else "end" if state == last else "middle"
        parts.append(_text(float(x(state)), height - 5, anchor, str(state)))
    parts.append(Markup('<path class="here" d="M{} {}V{}"/>').format(x(at), top, height - bottom))
    for number, curve in enumerate(curves):
        way = "L".join(f"{x(state)} {y(value)}" for state, value in curve.points)
        parts.append(Markup('<g class="s{}"><path class="curve" d="M{}"/>').format(colour(number), way))
        for state, value in curve.points:
            parts.append(Markup('<circle class="point" cx="{}" cy="{}" r="2.6"/>').format(x(state), y(value)))
        parts.append(Markup("</g>"))
    names = [Markup('<li class="s{}">{}</li>').format(colour(at), curve.name) for at, curve in enumerate(curves)]
    return Markup("").join([*parts, Markup('</svg><ul class="legend">'), *names, Markup("</ul>")])


def values_label(curves: Sequence[Curve]) -> str:
    """What the picture says, for those who do not see it."""
    told = "; ".join(f"{curve.name} {_course(curve.points)}" for curve in curves)
    return f"Goal values that players expect: {told}. All of them are in the list of moves."


def _course(points: Sequence[tuple[int, float]]) -> str:
    (first, before), (last, now) = points[0], points[-1]
    values = [value for _, value in points]
    if len(points) == 1:
        return f"{now:.0f} in state {last}"
    return f"{before:.0f} in state {first}, {now:.0f} in state {last}, all from {min(values):.0f} to {max(values):.0f}"


def colour(number: int) -> int:
    """Of a series, as the style sheet counts."""
    return number % COLOURS + 1


def _text(x: float, y: float, anchor: str, text: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)


def rating_plot(lines: Sequence[tuple[str, Rated]], title: str) -> Markup:
    """One line for each player, in the order given; empty without any."""
    if not lines:
        return Markup()
    names = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name, _ in lines]
    left = 14 + _LETTER * max(map(len, names))
    ticks = _ticks(min(rated.low for _, rated in lines), max(rated.high for _, rated in lines))
    height = TOP + ROW * len(lines) + BOTTOM
    scale = (WIDTH - left - RIGHT) / (ticks[-1] - ticks[0])

    def x(value: float) -> str:
        return f"{left + scale * (min(max(value, ticks[0]), ticks[-1]) - ticks[0]):.1f}"

    parts = [
        Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>').format(
            WIDTH, height, title, title
        )
    ]
    for tick in ticks:
        at, bottom = x(tick), height - BOTTOM
        parts.append(Markup('<path class="axis" d="M{} {}V{}"/>').format(at, TOP, bottom))
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                at, height - 8, f"{tick:g}".replace("-", "\N{MINUS SIGN}")
            )
        )
    for number, (name, (_, rated)) in enumerate(zip(names, lines, strict=True)):
        y = TOP + ROW * number + ROW / 2
        words = f"{lines[number][0]}: {rated.value:.0f}, from {rated.low:.0f} to {rated.high:.0f}"
        parts.append(Markup('<g class="s{}"><title>{}</title>').format(colour(number), words))
        parts.append(
            Markup('<text class="label" x="{}" y="{}" text-anchor="end">{}</text>').format(
                f"{left - 10:.0f}", y + 4, name
            )
        )
        parts.append(Markup('<path class="whisker" d="M{} {}H{}"/>').format(x(rated.low), y, x(rated.high)))
        parts.append(Markup('<circle class="point" cx="{}" cy="{}" r="5"/></g>').format(x(rated.value), y))
    parts.append(Markup("</svg>"))
    return Markup("\n").join(map(escape, parts))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around all values."""
    span = max(high - low, 1.0)
    step = next(size * 10**power for power in range(-1, 12) for size in _STEPS if span / (size * 10**power) <= _TICKS)
    first, last = floor(low / step), ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]
