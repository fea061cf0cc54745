"""State + drawing hints of the metadata → text for a terminal. Nothing about a game is known here but its hints.

Hints are tables; numbers in them are places of arguments, counted from 1. `rows` and `columns` name the coordinates as
they are drawn, from the top and from the left; `marks` says how to show a content, and is optional everywhere.

    [board]  fact, row, column, piece, rows, columns; optional: empty, the content of an empty cell
    [lines]  fact, from_row, from_column, to_row, to_column, rows, columns: lines between neighbouring dots
    [boxes]  fact, row, column, owner, corner: who owns a square of `lines`; `corner` says where in the square its dot
             is: "upper left", "upper right", "lower left" or "lower right"

Facts that the hints do not place are listed below the picture; without usable hints all are.
"""

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from ggp.machine import Facts
from ggp.rulesheet import name_and_arity
from ggp.terms import Term, to_text

WIDTH = 100  # characters of a line of listed facts
EMPTY = "."

_BOARD = {"fact": str, "row": int, "column": int, "piece": int, "rows": list, "columns": list}
_ENDS = ("from_row", "from_column", "to_row", "to_column")
_LINES = {"fact": str, "rows": list, "columns": list} | dict.fromkeys(_ENDS, int)
_BOXES = {"fact": str, "row": int, "column": int, "owner": int, "corner": str}
_DOTS_APART = 4  # characters between two dots of a row
_NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps the arguments of a fact on one line


def draw_state(facts: Facts, drawing: Mapping[str, Any]) -> str:
    """The state as lines of text: a picture where the hints give one, and what it does not show as a list."""
    lines: list[str] = []
    shown: set[Term] = set()
    if _has(drawing.get("board"), _BOARD):
        lines += _board(facts, drawing["board"], shown)
    if _has(drawing.get("lines"), _LINES):
        boxes = drawing.get("boxes")
        lines += _dots(facts, drawing["lines"], boxes if _has(boxes, _BOXES) else None, shown)
    return "\n".join([*lines, *list_facts(facts - shown)])


def list_facts(facts: Facts) -> list[str]:
    """Facts grouped by name and arity: `control xplayer`, `coins: o 10, x 10`."""
    groups: dict[tuple[str, int], list[str]] = {}
    for fact in sorted(facts, key=_natural_order):
        name, arity = name_and_arity(fact)
        arguments = " ".join(map(to_text, fact[1:])) if arity else ""
        groups.setdefault((name, arity), []).append(arguments)
    lines: list[str] = []
    for (name, _), members in groups.items():
        text = f"{name} {members[0]}".rstrip() if len(members) == 1 else f"{name}: {_joined(members)}"
        folded = wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        lines += [line.replace(_NO_BREAK, " ") for line in folded]
    return lines


def _joined(members: list[str]) -> str:
    return ", ".join(member.replace(" ", _NO_BREAK) for member in members)


def _natural_order(fact: Term) -> tuple[list[tuple[int, str]], str]:
    """A sorting key that puts 9 before 10, whatever the number of digits."""
    text = to_text(fact)
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", text.strip("()"))
    return [(len(digits), digits or other) for digits, other in parts], text


def _has(hints: object, form: Mapping[str, type]) -> bool:
    """Whether the hints have all these members, of these types and none of them empty or 0."""
    return isinstance(hints, Mapping) and all(
        isinstance(hints.get(name), kind) and hints[name] for name, kind in form.items()
    )


def _axes(hints: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    return [str(row) for row in hints["rows"]], [str(column) for column in hints["columns"]]


def _facts_of(facts: Facts, relation: str, places: list[int]) -> Iterator[tuple[Term, list[str]]]:
    """Each fact of a relation that has arguments at these places, with them as text, in the order of the text."""
    for fact in sorted(facts, key=to_text):
        name, arity = name_and_arity(fact)
        if name == relation and all(1 <= place <= arity for place in places):
            yield fact, [to_text(fact[place]) for place in places]


def _marked(content: str, hints: Mapping[str, Any]) -> str:
    marks = hints.get("marks")
    return str(marks.get(content, content)) if isinstance(marks, Mapping) else content


def _board(facts: Facts, hints: Mapping[str, Any], shown: set[Term]) -> list[str]:
    """A table with a header; adds to `shown` the facts in it."""
    rows, columns = _axes(hints)
    cells: dict[tuple[str, str], str] = {}
    for fact, (row, column, piece) in _facts_of(facts, hints["fact"], [hints["row"], hints["column"], hints["piece"]]):
        if row in rows and column in columns and (row, column) not in cells:
            cells[row, column] = EMPTY if piece == hints.get("empty") else _marked(piece, hints)
            shown.add(fact)
    table = [["", *columns], *([row, *(cells.get((row, column), EMPTY) for column in columns)] for row in rows)]
    width = max((len(text) for line in table for text in line[1:]), default=0)
    margin = max(len(line[0]) for line in table)
    return [f"{line[0]:>{margin}}  {' '.join(f'{text:<{width}}' for text in line[1:])}".rstrip() for line in table]


def _dots(facts: Facts, hints: Mapping[str, Any], box_hints: Mapping[str, Any] | None, shown: set[Term]) -> list[str]:
    """Dots, the lines between them and the owners of the squares; adds to `shown` the facts in the picture."""
    rows, columns = _axes(hints)
    picture = [[" "] * (_DOTS_APART * (len(columns) - 1) + 1) for _ in range(2 * len(rows) - 1)]
    for row in range(len(rows)):
        for column in range(len(columns)):
            picture[2 * row][_DOTS_APART * column] = "+"
    for fact, (row1, column1, row2, column2) in _facts_of(facts, hints["fact"], [hints[end] for end in _ENDS]):
        if {row1, row2} <= set(rows) and {column1, column2} <= set(columns):
            down, across = rows.index(row1) + rows.index(row2), columns.index(column1) + columns.index(column2)
            if abs(rows.index(row1) - rows.index(row2)) + abs(columns.index(column1) - columns.index(column2)) == 1:
                _write(picture, down, across, "|" if down % 2 else "---")
                shown.add(fact)
    if box_hints is not None:
        _owners(facts, hints, box_hints, picture, shown)
    margin = max(map(len, rows), default=0)
    header = "".join(f"{column:<{_DOTS_APART}}" for column in columns)
    labels = [rows[number // 2] if number % 2 == 0 else "" for number in range(len(picture))]
    body = [f"{label:>{margin}}  {''.join(line)}" for label, line in zip(labels, picture, strict=True)]
    return [line.rstrip() for line in (f"{'':>{margin}}  {header}", *body)]


def _owners(
    facts: Facts, hints: Mapping[str, Any], box_hints: Mapping[str, Any], picture: list[list[str]], shown: set[Term]
) -> None:
    rows, columns = _axes(hints)
    corner = box_hints["corner"]
    places = [box_hints["row"], box_hints["column"], box_hints["owner"]]
    for fact, (row, column, owner) in _facts_of(facts, box_hints["fact"], places):
        if row in rows and column in columns:
            down = 2 * rows.index(row) + (-1 if "lower" in corner else 1)
            across = 2 * columns.index(column) + (-1 if "right" in corner else 1)
            if 0 < down < 2 * len(rows) - 1 and 0 < across < 2 * len(columns) - 1:
                _write(picture, down, across, _marked(owner, box_hints)[: _DOTS_APART - 1])
                shown.add(fact)


def _write(picture: list[list[str]], down: int, across: int, text: str) -> None:
    """Puts text on a place given in halves of the distance between dots."""
    start = _DOTS_APART * across // 2 - len(text) // 2
    picture[down][start : start + len(text)] = text
