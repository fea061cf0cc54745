"""The table `drawing` of a game's metadata (hints) → boards, without a rulesheet.

Hints are tables; numbers in them are indices of arguments, counted from 1. `rows` and `columns` list the coordinates as
they are drawn, from the top and from the left.

    [board]  fact, row, column, piece, rows, columns; optional: empty, the piece that means an empty cell; title; shape:
             "squares" or "hexagons"; shift, how many cells each row of hexagons is right of the one above;
             checkered; marks. A list of such tables makes several boards.
    [lines]  fact, from_row, from_column, to_row, to_column, rows, columns: lines between neighbouring dots
    [boxes]  fact, row, column, owner, corner: who owns a square of `lines`; `corner` says where in the square its dot
             is: "upper left", "upper right", "lower left" or "lower right"; optional: marks

`marks` says how to show a piece: letters, or a table of `symbol`, `colour` and `letters` (see `ggp.boards.marks`).
Hints that are not of this form are ignored.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, TypeGuard

from ggp.boards.layout import BoardLayout, GridPoint, Place, Placement
from ggp.boards.picture import BoardShape, Label
from ggp.gdl.logic_program import Relation

_BOARD = {"fact": str, "row": int, "column": int, "piece": int, "rows": list, "columns": list}
_ENDS = ("from_row", "from_column", "to_row", "to_column")
_LINES = {"fact": str, "rows": list, "columns": list} | dict.fromkeys(_ENDS, int)
_BOXES = {"fact": str, "row": int, "column": int, "owner": int, "corner": str}
_SHIFT = 0.5  # of hexagons, cells


def hinted_boards(
    hints: Mapping[str, Any], arities: Mapping[str, int]
) -> tuple[tuple[BoardLayout, ...], dict[str, Any]]:
    """The boards of the hints, and their marks by name of piece. `arities`: relation → arity, if rules are known."""
    boards: list[BoardLayout] = []
    marks: dict[str, Any] = {}
    tables = hints.get("board")
    given = [table for table in (tables if isinstance(tables, list) else [tables]) if _has(table, _BOARD)]
    for number, table in enumerate(given):
        board = _board(table, str(number + 1) if len(given) > 1 else "", arities)
        if board is not None:
            boards.append(board)
            marks |= _marks_of(table)
    lines, boxes = hints.get("lines"), hints.get("boxes")
    if _has(lines, _LINES):
        board = _dots(lines, boxes if _has(boxes, _BOXES) else None, "lines" if boards else "", arities)
        if board is not None:
            boards.append(board)
            marks |= _marks_of(boxes) if _has(boxes, _BOXES) else {}
    return tuple(boards), marks


def _has(hints: object, form: Mapping[str, type]) -> TypeGuard[Mapping[str, Any]]:
    """Whether the table has all these members with these types, none of them empty or 0."""
    return isinstance(hints, Mapping) and all(
        isinstance(hints.get(name), kind) and hints[name] for name, kind in form.items()
    )


def _marks_of(table: Mapping[str, Any]) -> Mapping[str, Any]:
    marks = table.get("marks")
    return {str(name): wish for name, wish in marks.items()} if isinstance(marks, Mapping) else {}


def _axes(table: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    return [str(row) for row in table["rows"]], [str(column) for column in table["columns"]]


def _places(
    table: Mapping[str, Any], names: tuple[str, ...], arities: Mapping[str, int]
) -> tuple[Relation, tuple[int, ...]] | None:
    """The relation, and the arguments counted from 0; None if the relation has fewer arguments."""
    places = tuple(table[name] - 1 for name in names)
    arity = arities.get(table["fact"], max(places) + 1)
    return ((table["fact"], arity), places) if min(places) >= 0 and max(places) < arity else None


def _board(table: Mapping[str, Any], name: str, arities: Mapping[str, int]) -> BoardLayout | None:
    rows, columns = _axes(table)
    found = _places(table, ("row", "column", "piece"), arities)
    if found is None:
        return None
    relation, (row, column, piece) = found
    shape: BoardShape = "hexagons" if table.get("shape") == "hexagons" else "squares"
    shift = table.get("shift", _SHIFT) if shape == "hexagons" else 0.0
    shift = float(shift) if isinstance(shift, int | float) else _SHIFT
    start = max(0.0, -shift * (len(rows) - 1))
    places: dict[Place, GridPoint] = {}
    for (down, one), (across, other) in product(enumerate(rows), enumerate(columns)):
        places[_named(row, column, one, other)] = (float(down), start + across + shift * down)
    empty = table.get("empty")
    placement = Placement(
        relation,
        "pieces",
        tuple(sorted((row, column))),
        pieces=(piece,),
        empty=frozenset((empty,)) if isinstance(empty, str) else frozenset(),
    )
    title = table.get("title")
    labels = (
        tuple(Label(text, float(at)) for at, text in enumerate(rows)),
        tuple(Label(text, start + at) for at, text in enumerate(columns)),
    )
    return BoardLayout(
        name, title if isinstance(title, str) else name, shape, places, *labels, (placement,),
        shade=(len(rows) - 1) % 2 if table.get("checkered") is True else None,
    )  # fmt: skip


def _named(row: int, column: int, one: str, other: str) -> Place:
    """The coordinates in the order of the arguments."""
    return (one, other) if row < column else (other, one)


def _dots(
    table: Mapping[str, Any], boxes: Mapping[str, Any] | None, name: str, arities: Mapping[str, int]
) -> BoardLayout | None:
    rows, columns = _axes(table)
    found = _places(table, _ENDS, arities)
    if found is None:
        return None
    relation, (row, column, to_row, to_column) = found
    places = {
        _named(row, column, one, other): (float(down), float(across))
        for (down, one), (across, other) in product(enumerate(rows), enumerate(columns))
    }
    ends = (to_row, to_column) if row < column else (to_column, to_row)
    placements = [Placement(relation, "lines", tuple(sorted((row, column))), end=ends)]
    owned = None if boxes is None else _places(boxes, ("row", "column", "owner"), arities)
    if boxes is not None and owned is not None:
        box, (box_row, box_column, owner) = owned
        place = (box_row, box_column) if row < column else (box_column, box_row)
        corner = boxes["corner"]
        offset = (-0.5 if "lower" in corner else 0.5, -0.5 if "right" in corner else 0.5)
        placements.append(Placement(box, "boxes", place, pieces=(owner,), offset=offset))
    labels = (
        tuple(Label(text, float(at)) for at, text in enumerate(rows)),
        tuple(Label(text, float(at)) for at, text in enumerate(columns)),
    )
    pairs = tuple(_neighbours(rows, columns, row < column))
    return BoardLayout(name, name, "dots", places, *labels, tuple(placements), pairs)


def _neighbours(rows: list[str], columns: list[str], is_row_first: bool) -> Iterator[tuple[Place, Place]]:
    """From the lower left on, each from the lower end to the upper and from the left to the right."""
    row, column = (0, 1) if is_row_first else (1, 0)
    for down, one in reversed([*enumerate(rows)]):
        for across, other in enumerate(columns):
            here = _named(row, column, one, other)
            if across + 1 < len(columns):
                yield here, _named(row, column, one, columns[across + 1])
            if down > 0:
                yield here, _named(row, column, rows[down - 1], other)
