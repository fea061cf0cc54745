"""Ratings → an inline picture: values with their intervals; the page's style sheet has the colours."""

from collections.abc import Sequence
from math import ceil, floor

from markupsafe import Markup, escape

from gamemaster.pages.standings import Rated

WIDTH = 640
ROW = 30
TOP, BOTTOM, RIGHT = 8, 26, 18

_LETTER = 9.5  # width of a letter, about; on a phone they are larger
_LONGEST = 24  # letters of a name that are shown
_TICKS = 6
_STEPS = (1, 2, 5)


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
        parts.append(Markup('<g class="s{}"><title>{}</title>').format(number % 6 + 1, words))
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
