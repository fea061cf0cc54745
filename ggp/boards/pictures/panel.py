"""Labelled values → shapes: each a label and what it holds, in lines that are as wide as the boards."""

from collections.abc import Sequence

from ggp.boards import Entry, Value
from ggp.boards.pictures.glyphs import glyph
from ggp.boards.pictures.shapes import Group, Shape, Text, approximate_width

_LINE = 24.0
_SIZE = 14.0
_SPACE = 6.0
_BETWEEN = 18.0  # entries
_MOST = 60  # entries of a value


def value_groups(values: Sequence[Value], left: float, top: float, right: float) -> tuple[list[Group], float]:
    """One group for each value, and where they end."""
    groups: list[Group] = []
    y = top
    for value in values:
        shapes: list[Shape] = [_text(left, y, value.label, "dim")]
        start = left + approximate_width(value.label, _SIZE) + 2 * _SPACE
        x = start
        for entry in _few(value.entries):
            wide = _width(entry)
            if x > start and x + wide > right:
                x, y = left + 2 * _BETWEEN, y + _LINE
            shapes += _entry(entry, x, y)
            x += wide + _BETWEEN
        groups.append(Group(tuple(shapes), kind="value"))
        y += _LINE
    return groups, y


def _few(entries: Sequence[Entry]) -> Sequence[Entry]:
    if len(entries) <= _MOST:
        return entries
    return [*entries[: _MOST - 1], Entry("", f"… and {len(entries) - _MOST + 1} more")]


def _width(entry: Entry) -> float:
    keyed = approximate_width(entry.key, _SIZE) + _SPACE if entry.key else 0.0
    return (_LINE if entry.mark else 0.0) + keyed + approximate_width(entry.value, _SIZE)


def _entry(entry: Entry, x: float, y: float) -> list[Shape]:
    shapes: list[Shape] = []
    if entry.mark is not None and entry.mark.symbol != "text":
        shapes += glyph(entry.mark, x + _SIZE / 2, y + _LINE / 2, 1.3 * _SIZE)
        x += _LINE
    if entry.key:
        shapes.append(_text(x, y, entry.key, "ink"))
        x += approximate_width(entry.key, _SIZE) + _SPACE
    shapes.append(Text(x, y + _LINE / 2, entry.value, _SIZE, "ink", "start", is_bold=True))
    return shapes


def _text(x: float, y: float, text: str, paint: str) -> Text:
    return Text(x, y + _LINE / 2, text, _SIZE, paint, "start")
