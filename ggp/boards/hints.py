"""The table `drawing` of a game's metadata (hints) → boards, without a rulesheet.

Hints are tables; numbers in them are indices of arguments, counted from 1. `rows` and `columns` list the coordinates as
they are drawn, from the top and from the left.

    [board]  fact, row, column, rows, columns; optional: piece (the relation is the piece without it); empty, the piece
             that means an empty cell; title; shape: "squares", "hexagons", "holes" (of an upright sheet),
             "crossings" (of lines) or "free" (no cells are seen); shift, how many cells each row of hexagons is right
             of the one above; checkered; marks. A list of such tables makes several boards.
             `cells`, a text for each row with a space for each cell that does not exist; `guides`, the lines of
             crossings as pairs of places, otherwise between all neighbours; `notes`, relations whose facts name a cell
             that is highlighted;
             `also`, a list of tables with fact, row, column and perhaps piece: more facts on the same board; `static`,
             piece → list of "ROW COLUMN": what no fact tells; `where`, argument → constant: only these facts; `bands`,
             a thick line after each so many rows and columns; `joined`, true: blocks of one piece make one shape;
             `row_labels`, `column_labels`, in place of the coordinates; `column_letters`, true: pictures call columns
             a, b, c, as players do, and texts as the rules do; `down`, the line of boards in which this one is, from 0.
    [map]    fact, place (a list of arguments), at: words of the place → [down, across]; optional: piece, shape
             ("points", "squares", "hexagons" or "free"), guides: a list of pairs of places that a line joins,
             and empty, also, static, where, down, title and marks as above. Several maps are a list.
    [edges]  as a map, with `at`, `from` and `to` (lists of arguments), perhaps `owner`: each fact is a line; `pairs`
             are those that can be drawn
    [heaps]  fact, heap, count, heaps (names from the top), most: a row of so many pieces; optional: piece, its name
    [lines]  fact, from_row, from_column, to_row, to_column, rows, columns: lines between neighbouring dots; optional:
             row_labels, column_labels, column_letters
    hidden   relations that are not shown at all, such as what the rules only note in order to be quick
    [boxes]  fact, row, column, owner, corner: who owns a square of `lines`; `corner` says where in the square its dot
             is: "upper left", "upper right", "lower left" or "lower right"; optional: marks

    values   a list of relations whose facts are shown as words, where a board would be found for them
    [words]  relation or constant → how people call it, in labelled values: `control = "To move"`, `xplayer = "X"`
    [moves]  relation of a move → how people write it: `move = "{1:letter}{2}–{3:letter}{4}"`. A number in braces is an
             argument, `:letter` makes 1 an a. An empty text is a move of who has nothing to choose. For pages.

`marks` says how to show a piece: letters, or a table of `symbol`, `colour`, `letters`, `size`, `plain` and
`joins` (see `ggp.boards.marks`).
Hints that are not of this form are ignored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias, TypeGuard

from ggp.boards.layout import BoardLayout, GridPoint, Place, Placement
from ggp.boards.marks import BoardShape, Label, make_marks
from ggp.gdl.logic_program import Relation

_BOARD = {"fact": str, "row": int, "column": int, "rows": list, "columns": list}
_ENDS = ("from_row", "from_column", "to_row", "to_column")
_LINES = {"fact": str, "rows": list, "columns": list} | dict.fromkeys(_ENDS, int)
_BOXES = {"fact": str, "row": int, "column": int, "owner": int, "corner": str}
_MAP = {"fact": str, "place": list, "at": dict}
_EDGES = {"fact": str, "from": list, "to": list, "at": dict, "pairs": list}
_HEAPS = {"fact": str, "heap": int, "count": int, "heaps": list, "most": int}
_Maker: TypeAlias = Callable[[Mapping[str, Any], str, Mapping[str, int]], BoardLayout | None]
_MOST_DOWN = 20  # lines of boards
_SHIFT = 0.5  # of hexagons, cells
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
    for title, table, make in _other_tables(hints):
        board = make(table, title, arities)
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


def hidden_relations(hints: Mapping[str, Any]) -> frozenset[str]:
    """The names of the relations whose facts are not shown."""
    hidden = hints.get("hidden")
    return frozenset(map(str, hidden)) if isinstance(hidden, list) else frozenset()


def hinted_words(hints: Mapping[str, Any], table: str) -> dict[str, str]:
    """The table `words` or `moves`."""
    given = hints.get(table)
    return {name: text for name, text in given.items() if isinstance(text, str)} if isinstance(given, Mapping) else {}


def role_colours(hints: Mapping[str, Any], roles: Sequence[str]) -> dict[str, str]:
    """The colour of each role's pieces, as far as names and hints tell it without the rules."""
    tables = [hints.get(name) for name in ("board", "map", "edges", "heaps", "boxes")]
    given = [table for each in tables for table in (each if isinstance(each, list) else [each])]
    wishes = {name: wish for table in given if isinstance(table, Mapping) for name, wish in _marks_of(table).items()}
    return {role: mark.colour for role, mark in make_marks(roles, roles, wishes).items()}


def _other_tables(hints: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], _Maker]]:
    """Maps, edges and heaps, each with its name and with what makes a board of it."""
    for kind, form, make in (("map", _MAP, _map), ("edges", _EDGES, _edges), ("heaps", _HEAPS, _heaps)):
        tables = hints.get(kind)
        given = [table for table in (tables if isinstance(tables, list) else [tables]) if _has(table, form)]
        for number, table in enumerate(given, 1):
            yield kind + (str(number) if len(given) > 1 else ""), table, make


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
    if not isinstance(table.get("piece", 0), int):
        return None
    found = _places(table, ("row", "column", "piece") if "piece" in table else ("row", "column"), arities)
    if found is None:
        return None
    relation, (row, column, *piece) = found
    wished = table.get("shape")
    shape: BoardShape = wished if wished in ("hexagons", "holes", "crossings", "free") else "squares"
    grid = _grid(table, shape, len(rows), len(columns))
    places = {_named(row, column, rows[down], columns[across]): point for (down, across), point in grid.items()}
    start = next((point[1] - across for (down, across), point in grid.items() if down == 0), 0.0)
    placements = [Placement(
        relation, "pieces", tuple(sorted((row, column))), _fixed(table), tuple(piece), _empty(table)
    )]  # fmt: skip
    placements += [*_also(table, arities), *_notes(table)]
    if [placement for placement in placements if len(placement.place) != 2]:
        return None
    tops = {across for down, across in grid if down == 0 or shape != "hexagons"}
    labels = (
        _labels(table, "row_labels", rows, 0.0),
        tuple(label for at, label in enumerate(_labels(table, "column_labels", columns, start)) if at in tops),
    )
    cells = {place if row < column else place[::-1]: place for place in places}
    return BoardLayout(
        name, _title(table, name), shape, places, *labels, tuple(placements),
        shade=(len(rows) - 1) % 2 if table.get("checkered") is True else None,
        bands=bands if isinstance(bands := table.get("bands"), int) and bands > 0 else 0,
        is_joined=table.get("joined") is True,
        static=_static(table, cells),
        guides=_crossing_lines(table, places) if shape == "crossings" else (),
        down=_down(table),
    )  # fmt: skip


def _grid(table: Mapping[str, Any], shape: BoardShape, rows: int, columns: int) -> dict[tuple[int, int], GridPoint]:
    """Where the cells are that exist, by row and column."""
    mask = table.get("cells")
    lines = [str(line).ljust(columns) for line in mask] if isinstance(mask, list) and len(mask) == rows else None
    shift = table.get("shift", _SHIFT) if shape == "hexagons" else 0.0
    shift = float(shift) if isinstance(shift, int | float) else _SHIFT
    cells = [
        (down, across)
        for down, across in product(range(rows), range(columns))
        if lines is None or lines[down][across] != " "
    ]
    left = min((across + shift * down for down, across in cells), default=0.0)
    return {(down, across): (float(down), across + shift * down - left) for down, across in cells}


def _notes(table: Mapping[str, Any]) -> list[Placement]:
    """Relations of two arguments whose facts highlight a cell."""
    notes = table.get("notes")
    return [Placement((str(note), 2), "notes", (0, 1)) for note in notes] if isinstance(notes, list) else []


def _crossing_lines(
    table: Mapping[str, Any], places: Mapping[Place, GridPoint]
) -> tuple[tuple[GridPoint, GridPoint], ...]:
    """The lines that are given, or those between all neighbours in rows and columns."""
    if "guides" in table:
        return tuple((places[one], places[other]) for one, other in _pairs(table["guides"], places))
    points = set(places.values())
    ends = [((y, x), (y + 1, x)) for y, x in sorted(points)] + [((y, x), (y, x + 1)) for y, x in sorted(points)]
    return tuple((one, other) for one, other in ends if other in points)


def _labels(table: Mapping[str, Any], field: str, names: list[str], start: float) -> tuple[Label, ...]:
    texts = table.get(field)
    shown = [str(text) for text in texts] if isinstance(texts, list) else names
    if field == "column_labels" and table.get("column_letters") is True:
        return tuple(
            Label(letter, start + at, name) for at, (letter, name) in enumerate(zip(_LETTERS, names, strict=False))
        )
    return tuple(Label(text, start + at) for at, text in enumerate(shown))


def _down(table: Mapping[str, Any]) -> int:
    down = table.get("down", 0)
    return down if isinstance(down, int) and 0 <= down <= _MOST_DOWN else 0


def _title(table: Mapping[str, Any], name: str) -> str:
    title = table.get("title")
    return title if isinstance(title, str) else name


def _empty(table: Mapping[str, Any]) -> frozenset[str]:
    empty = table.get("empty")
    return frozenset((empty,)) if isinstance(empty, str) else frozenset()


def _fixed(table: Mapping[str, Any]) -> tuple[tuple[int, str], ...]:
    where = table.get("where")
    pairs = where.items() if isinstance(where, Mapping) else ()
    return tuple((int(argument) - 1, str(constant)) for argument, constant in pairs if str(argument).isdecimal())


def _also(table: Mapping[str, Any], arities: Mapping[str, int]) -> list[Placement]:
    """More facts on the same places: tables with `row` and `column`, or with `place`."""
    tables = table.get("also")
    found: list[Placement] = []
    for other in tables if isinstance(tables, list) else ():
        if not isinstance(other, Mapping) or not isinstance(other.get("fact"), str):
            continue
        given = other.get("place", [other.get("row"), other.get("column")])
        piece = other.get("piece")
        numbers = [*given, *([] if piece is None else [piece])] if isinstance(given, list) else [0]
        arity = arities.get(other["fact"], max((n for n in numbers if isinstance(n, int)), default=0))
        if not all(isinstance(number, int) and 1 <= number <= arity for number in numbers):
            continue
        place = tuple(number - 1 for number in given)
        place = place if "place" in other else tuple(sorted(place))
        pieces = () if piece is None else (piece - 1,)
        found.append(Placement((other["fact"], arity), "pieces", place, _fixed(other), pieces, _empty(other)))
    return found


def _static(table: Mapping[str, Any], cells: Mapping[Place, Place]) -> dict[Place, tuple[str, ...]]:
    """`cells`: words of a place as the hints have them → the place."""
    static = table.get("static")
    found: dict[Place, tuple[str, ...]] = {}
    for piece, texts in static.items() if isinstance(static, Mapping) else ():
        for text in texts if isinstance(texts, list) else ():
            place = cells.get(tuple(str(text).split()))
            if place is not None:
                found[place] = (*found.get(place, ()), str(piece))
    return found


def _points(table: Mapping[str, Any]) -> dict[Place, GridPoint]:
    """The places of `at`, from the upper left."""
    found = {
        tuple(str(name).split()): (float(at[0]), float(at[1]))
        for name, at in table["at"].items()
        if isinstance(at, list) and len(at) == 2 and all(isinstance(number, int | float) for number in at)
    }
    top, left = (min((point[axis] for point in found.values()), default=0.0) for axis in (0, 1))
    return {place: (down - top, across - left) for place, (down, across) in found.items()}


def _pairs(texts: object, places: Mapping[Place, GridPoint]) -> list[tuple[Place, Place]]:
    """Pairs of places that are there, each a list of two texts."""
    given = [pair for pair in texts if isinstance(pair, list) and len(pair) == 2] if isinstance(texts, list) else []
    pairs = [(tuple(str(one).split()), tuple(str(other).split())) for one, other in given]
    return [pair for pair in pairs if pair[0] in places and pair[1] in places]


def _arguments(given: object, arity: int) -> tuple[int, ...] | None:
    """Arguments counted from 0; None if the relation has fewer."""
    if not isinstance(given, list) or not all(isinstance(number, int) and 1 <= number <= arity for number in given):
        return None
    return tuple(number - 1 for number in given)


def _map(table: Mapping[str, Any], name: str, arities: Mapping[str, int]) -> BoardLayout | None:
    piece = [table["piece"]] if "piece" in table else []
    arity = arities.get(table["fact"], max((n for n in [*table["place"], *piece] if isinstance(n, int)), default=0))
    place, pieces, places = _arguments(table["place"], arity), _arguments(piece, arity), _points(table)
    if place is None or pieces is None or not places:
        return None
    own = Placement((table["fact"], arity), "pieces", place, _fixed(table), pieces, _empty(table))
    placements = [own, *(other for other in _also(table, arities) if len(other.place) == len(place))]
    shapes: dict[object, BoardShape] = {"squares": "squares", "hexagons": "hexagons", "free": "free"}
    guides = tuple((places[one], places[other]) for one, other in _pairs(table.get("guides"), places))
    return BoardLayout(
        name, _title(table, name), shapes.get(table.get("shape"), "points"), places, (), (), tuple(placements),
        guides=guides, is_joined=table.get("joined") is True, static=_static(table, {place: place for place in places}),
        down=_down(table),
    )  # fmt: skip


def _edges(table: Mapping[str, Any], name: str, arities: Mapping[str, int]) -> BoardLayout | None:
    owner = [table["owner"]] if "owner" in table else []
    numbers = [*table["from"], *table["to"], *owner]
    arity = arities.get(table["fact"], max((n for n in numbers if isinstance(n, int)), default=0))
    start, end, pieces = (_arguments(given, arity) for given in (table["from"], table["to"], owner))
    places = _points(table)
    if start is None or end is None or pieces is None or not places:
        return None
    placement = Placement((table["fact"], arity), "lines", start, _fixed(table), pieces, end=end)
    pairs = tuple(_pairs(table["pairs"], places))
    return BoardLayout(name, _title(table, name), "dots", places, (), (), (placement,), pairs)


def _heaps(table: Mapping[str, Any], name: str, arities: Mapping[str, int]) -> BoardLayout | None:
    arity = arities.get(table["fact"], max(table["heap"], table["count"]))
    found = _arguments([table["heap"], table["count"]], arity)
    if found is None:
        return None
    names = [str(heap) for heap in table["heaps"]]
    places: dict[Place, GridPoint] = {
        (heap, str(number + 1)): (float(down), float(number))
        for (down, heap), number in product(enumerate(names), range(table["most"]))
    }
    piece = table.get("piece")
    placement = Placement((table["fact"], arity), "heaps", found, piece=piece if isinstance(piece, str) else "token")
    rows = _labels(table, "heap_labels", names, 0.0)
    return BoardLayout(name, _title(table, name), "free", places, rows, (), (placement,))


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
    labels = (_labels(table, "row_labels", rows, 0.0), _labels(table, "column_labels", columns, 0.0))
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
