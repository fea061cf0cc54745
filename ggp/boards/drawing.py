"""Picture → shapes → SVG or PNG: boards side by side, under them labelled values, and facts that nothing else shows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Literal

from ggp.boards.marks import Board, Cell, LineSegment, Picture, Spot, Value, ValueEntry, Wall
from ggp.boards.pieces import piece_shapes
from ggp.boards.profiles import natural_key
from ggp.boards.shapes import (
    Brush,
    Circle,
    Drawing,
    Point,
    Polygon,
    Polyline,
    Rect,
    Shape,
    ShapeGroup,
    Text,
    Theme,
    approximate_width,
    drawing_png,
    drawing_svg,
    placed,
)
from ggp.boards.text import list_facts

_EDGE = 12.0  # around everything, in pixels like all lengths here
_GAP = 28.0  # between boards
_TITLE = 22.0  # height of the title of a board
_LABELS = 22.0  # room for the names of rows and columns
_HALF_HEIGHT = 1 / sqrt(3)  # of a hexagon of width 1
_VALUES_WIDTH = 260.0  # at least, of the labelled values
_VALUE_LINE = 24.0  # height of a line of values
_VALUE_SIZE = 14.0  # of its letters
_SPACE = 6.0  # between a label and its value
_BETWEEN = 18.0  # between the entries of a value
_MOST_ENTRIES = 60  # of a value
_FACT_LINE = 17.0  # height of a line of listed facts
_FACT_SIZE = 12.0  # of its letters
_MOST_FACT_LINES = 30


def picture_svg(
    picture: Picture,
    title: str = "",
    *,
    marked: Collection[Spot] = (),
    has_values: bool = True,
    has_style: bool = True,
    theme: Theme = "auto",
) -> str:
    """The picture as the text of an SVG image, without scripts and references.

    marked: cells to highlight. has_values: whether values and other facts are shown below the boards. has_style:
    whether the SVG contains the colours, as a file must; pages have `picture_style()` in their own style sheet instead.

    Every cell is a `<g class="cell" data-board="…" data-cell="…">` with the constants of its coordinates, separated by
    spaces; every line between dots a `<g class="line" data-board data-from data-to data-drawn="yes|no">`. Both have
    a `<title>` and an `aria-label`.
    """
    return drawing_svg(make_drawing(picture, title, marked, has_values=has_values), has_style=has_style, theme=theme)


def thumbnail_svg(picture: Picture, title: str = "") -> str:
    """As `picture_svg`, for an image that is only looked at: its parts have no names, which are half of the text."""
    return drawing_svg(make_drawing(picture, title), has_names=False)


def picture_png(
    picture: Picture, title: str = "", *, theme: Literal["light", "dark"] = "light", scale: float = 2.0
) -> bytes:
    """The picture as the bytes of a PNG, with `scale` pixels for each unit of length in the drawing."""
    return drawing_png(make_drawing(picture, title), theme=theme, scale=scale)


def make_drawing(
    picture: Picture, title: str = "", marked: Collection[Spot] = (), *, has_values: bool = True
) -> Drawing:
    """The picture as shapes; `marked` cells are highlighted, such as those of the last move."""
    plans = [_plan_board(board, marked) for board in picture.boards]
    groups: list[ShapeGroup] = []
    width, y = _EDGE, _EDGE
    rows = sorted({board.down for board in picture.boards})
    for row in rows:
        members = [(b, p) for b, p in zip(picture.boards, plans, strict=True) if b.down == row]
        x, height = _EDGE, 0.0
        for board, plan in sorted(members, key=lambda member: member[0].across):
            above = _TITLE if board.title else 0.0
            if board.title:
                groups.append(
                    ShapeGroup((Text(x + plan.middle, y + above / 2, board.title, 14.0, "dim", is_bold=True),))
                )
            groups += plan.placed(x, y + above)
            x += plan.width + _gap(board)
            height = max(height, plan.height + above)
            width = max(width, x - _gap(board))
        y += height + (_gap(members[0][0]) / 2 if row != rows[-1] else 0.0)
    width = max(width, _EDGE + _VALUES_WIDTH)
    if has_values:
        shown, y = _value_groups(picture.values, _EDGE, y + (10.0 if plans else 0.0), width)
        groups += shown
        rest, y, widest = _rest(picture, y)
        groups += rest
        width = max(width, widest)
    return Drawing(width + _EDGE, y + _EDGE, tuple(groups), title)


def _gap(board: Board) -> float:
    """The space after a board; one without a title belongs to the next one."""
    return _GAP if board.title else _GAP / 2


def _rest(picture: Picture, y: float) -> tuple[list[ShapeGroup], float, float]:
    """Facts as text; the lower and the right end of the lines."""
    if not picture.rest:
        return [], y, 0.0
    lines = list_facts(picture.rest, 64)
    if len(lines) > _MOST_FACT_LINES:
        lines = [*lines[: _MOST_FACT_LINES - 1], f"… and {len(lines) - _MOST_FACT_LINES + 1} more lines"]
    y += 6.0
    texts = tuple(
        Text(_EDGE, y + _FACT_LINE * (n + 0.5), line, _FACT_SIZE, "dim", "start") for n, line in enumerate(lines)
    )
    widest = max(0.56 * _FACT_SIZE * len(line) for line in lines)
    return [ShapeGroup(texts, kind="rest")], y + _FACT_LINE * len(lines), _EDGE + widest


def _value_groups(values: Sequence[Value], left: float, top: float, right: float) -> tuple[list[ShapeGroup], float]:
    """One group for each value, and their lower end."""
    groups: list[ShapeGroup] = []
    y = top
    for value in values:
        shapes: list[Shape] = [_text(left, y, value.label, "dim")]
        start = left + approximate_width(value.label, _VALUE_SIZE) + 2 * _SPACE
        x = start
        for entry in _few(value.entries):
            wide = _width(entry)
            if x > start and x + wide > right:
                x, y = left + 2 * _BETWEEN, y + _VALUE_LINE
            shapes += _entry(entry, x, y)
            x += wide + _BETWEEN
        groups.append(ShapeGroup(tuple(shapes), kind="value"))
        y += _VALUE_LINE
    return groups, y


def _few(entries: Sequence[ValueEntry]) -> Sequence[ValueEntry]:
    if len(entries) <= _MOST_ENTRIES:
        return entries
    return [*entries[: _MOST_ENTRIES - 1], ValueEntry("", f"… and {len(entries) - _MOST_ENTRIES + 1} more")]


def _width(entry: ValueEntry) -> float:
    keyed = approximate_width(entry.key, _VALUE_SIZE) + _SPACE if entry.key else 0.0
    return (_VALUE_LINE if entry.mark else 0.0) + keyed + approximate_width(entry.value, _VALUE_SIZE)


def _entry(entry: ValueEntry, x: float, y: float) -> list[Shape]:
    shapes: list[Shape] = []
    if entry.mark is not None and entry.mark.symbol != "text":
        shapes += piece_shapes(entry.mark, x + _VALUE_SIZE / 2, y + _VALUE_LINE / 2, 1.3 * _VALUE_SIZE)
        x += _VALUE_LINE
    if entry.key:
        shapes.append(_text(x, y, entry.key, "ink"))
        x += approximate_width(entry.key, _VALUE_SIZE) + _SPACE
    shapes.append(Text(x, y + _VALUE_LINE / 2, entry.value, _VALUE_SIZE, "ink", "start", is_bold=True))
    return shapes


def _text(x: float, y: float, text: str, paint: str) -> Text:
    return Text(x, y + _VALUE_LINE / 2, text, _VALUE_SIZE, paint, "start")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The shapes of a board, from its own upper left corner."""

    width: float
    height: float
    middle: float
    groups: tuple[ShapeGroup, ...]

    def placed(self, x: float, y: float) -> list[ShapeGroup]:
        return [
            ShapeGroup(tuple(placed(shape, x, y) for shape in group.shapes), group.label, group.kind, group.data)
            for group in self.groups
        ]


def _plan_board(board: Board, marked: Collection[Spot]) -> _Plan:
    return _Planner(board, marked).plan()


class _Planner:
    """Draws one board."""

    def __init__(self, board: Board, marked: Collection[Spot]) -> None:
        self._board = board
        self._marked = frozenset(marked)
        size = max(board.height, board.width)
        self._unit = 64.0 if size <= 4 else 52.0 if size <= 8 else 44.0 if size <= 12 else 34.0 if size <= 20 else 24.0
        self._across = 1.0
        self._down = 1.0
        match board.shape:
            case "hexagons":
                self._down = sqrt(3) / 2
            case "row":
                self._down = 1.45
            case "stacks":
                self._across = 1.0 + 0.16 * max((len(str(cell.spot)) for cell in board.cells), default=0)
                self._down = 0.7
            case _:
                pass
        self._is_upward = len(board.rows) > 1 and natural_key(board.rows[0].text) > natural_key(board.rows[-1].text)
        self._neighbours = self._find_neighbours()
        self._left = _LABELS if board.rows else 0.0
        self._top = _LABELS if board.columns and not self._is_upward else 0.0

    def plan(self) -> _Plan:
        board, unit = self._board, self._unit
        groups = [ShapeGroup(self._labels(), kind="labels"), ShapeGroup(self._guides(), kind="guides")]
        groups += [self._cell(cell) for cell in board.cells]
        groups.append(ShapeGroup(tuple(shape for cell in board.cells for shape in self._corner(cell)), kind="joints"))
        groups.append(ShapeGroup(self._bands(), kind="bands"))
        groups += [self._line(line) for line in board.lines]
        groups += [
            ShapeGroup(piece_shapes(box.pieces[0].mark, *self._at(box.down, box.across), 0.8 * unit), box.text, "box")
            for box in board.boxes
        ]
        groups += [ShapeGroup(self._wall(wall), wall.text, "wall") for wall in board.walls]
        below = _LABELS if board.columns and self._is_upward else 0.0
        wide = ((board.width - 1) * self._across + max(1.0, self._across)) * unit
        high = ((board.height - 1) * self._down + self._tall) * unit
        return _Plan(
            self._left + wide, self._top + high + below, self._left + wide / 2,
            tuple(group for group in groups if group.shapes),
        )  # fmt: skip

    @property
    def _tall(self) -> float:
        """The height of one cell."""
        match self._board.shape:
            case "hexagons":
                return 2 * _HALF_HEIGHT
            case "row":
                return 1.4
            case "stacks":
                return 0.7
            case _:
                return 1.0

    def _at(self, down: float, across: float) -> Point:
        """The middle of a place."""
        x = self._left + (across * self._across + max(1.0, self._across) / 2) * self._unit
        above = 0.9 if self._board.shape == "row" else self._tall / 2
        return x, self._top + (down * self._down + above) * self._unit

    def _labels(self) -> tuple[Shape, ...]:
        rows = [Text(_LABELS / 2 - 2, self._at(r.at, 0)[1], r.text, self._small, "dim") for r in self._board.rows]
        bottom = self._at(self._board.height - 1, 0)[1] + self._tall * self._unit / 2 + _LABELS / 2
        y = bottom if self._is_upward else _LABELS / 2
        columns = [Text(self._at(0, c.at)[0], y, c.text, self._small, "dim") for c in self._board.columns]
        return (*rows, *columns)

    @property
    def _small(self) -> float:
        return min(14.0, 0.36 * self._unit)

    def _guides(self) -> tuple[Shape, ...]:
        brush = Brush(None, "grid", 2.0)
        return tuple(Polyline((self._at(*start), self._at(*end)), brush) for start, end in self._board.guides)

    def _bands(self) -> tuple[Shape, ...]:
        """The thick lines between groups of rows and columns, and around them."""
        if not self._board.bands:
            return ()
        height, width, step = round(self._board.height), round(self._board.width), self._board.bands
        brush = Brush(None, "ink", 3.0)
        ends = [((down, 0), (down, width)) for down in {*range(0, height, step), height}]
        ends += [((0, across), (height, across)) for across in {*range(0, width, step), width}]
        return tuple(
            Polyline((self._at(one[0] - 0.5, one[1] - 0.5), self._at(other[0] - 0.5, other[1] - 0.5)), brush)
            for one, other in sorted(ends)
        )

    def _joints(self, cell: Cell, x: float, y: float) -> list[Shape]:
        """What joins a block with those of the same piece on the right and below, and with the side that it reaches."""
        shapes: list[Shape] = []
        for piece in (piece for piece in cell.pieces if piece.mark.symbol in ("block", "crate")):
            near, far = 0.42 * self._unit * piece.mark.size, 0.5 * self._unit
            sides = {piece.mark.joins} if piece.mark.joins else self._neighbours.get(cell.spot, set())
            for side in sorted(sides - {"corner"}):
                right, down = {"right": (1, 0), "left": (-1, 0), "bottom": (0, 1), "top": (0, -1)}[side]
                brush = Brush(piece.mark.colour)
                left, top = min(0.0, right * far) - abs(down) * near, min(0.0, down * far) - abs(right) * near
                wide, high = far if right else 2 * near, far if down else 2 * near
                shapes.append(Rect(x + left, y + top, wide, high, brush))
        return shapes

    def _corner(self, cell: Cell) -> list[Shape]:
        """What fills the gap between four blocks of the same piece."""
        if "corner" not in self._neighbours.get(cell.spot, set()):
            return []
        x, y = self._at(cell.down, cell.across)
        near, wide = 0.42 * self._unit, 0.16 * self._unit
        blocks = [piece.mark.colour for piece in cell.pieces if piece.mark.symbol == "block"]
        return [Rect(x + near, y + near, wide, wide, Brush(colour)) for colour in blocks]

    def _find_neighbours(self) -> dict[Spot, set[str]]:
        """The sides on which a square has a neighbour with the same piece, where those are joined."""
        cells = {(cell.down, cell.across): cell for cell in self._board.cells} if self._board.is_joined else {}
        steps = {"right": (0, 1), "left": (0, -1), "bottom": (1, 0), "top": (-1, 0), "corner": (1, 1)}
        found: dict[Spot, set[str]] = {}
        for (down, across), cell in cells.items():
            names = {piece.name for piece in cell.pieces}
            for side, (by_down, by_across) in steps.items():
                other = cells.get((down + by_down, across + by_across))
                if other is not None and names & {piece.name for piece in other.pieces}:
                    found.setdefault(cell.spot, set()).add(side)
        whole = {"right", "bottom", "corner"}  # four blocks, between which no gap is left
        return {spot: sides if whole <= sides else sides - {"corner"} for spot, sides in found.items()}

    def _cell(self, cell: Cell) -> ShapeGroup:
        x, y = self._at(cell.down, cell.across)
        is_marked = cell.spot in self._marked
        shapes = [*self._ground(cell, x, y, is_marked=is_marked), *self._joints(cell, x, y)]
        shapes += self._content(cell, x, y)
        data = {"board": cell.spot.board, "cell": " ".join(cell.spot.place)}
        return ShapeGroup(tuple(shapes), cell.text, "cell", data)

    def _ground(self, cell: Cell, x: float, y: float, *, is_marked: bool) -> list[Shape]:
        """The cell itself, below its pieces."""
        unit, shape = self._unit, self._board.shape
        is_shaded = self._board.shade == round(cell.down + cell.across) % 2
        fill = "marked" if is_marked else "shade" if is_shaded else "cell"
        brush = Brush(fill, "grid", 1.0)
        if shape == "dots":
            return [
                Circle(x, y, 0.3 * unit, Brush("marked" if is_marked else "none")),
                Circle(x, y, 0.09 * unit, Brush("ink")),
            ]
        if shape == "free":
            unseen = Brush("none", "marked" if is_marked else None, 0.06 * unit)
            return [Rect(x - unit / 2, y - unit / 2, unit, unit, unseen)]
        if shape == "points":
            return [Circle(x, y, 0.3 * unit, brush)]
        if shape == "crossings":
            return [
                Circle(x, y, 0.46 * unit, Brush("marked" if is_marked else "none")),
                Circle(x, y, 0.07 * unit, Brush("grid")),
            ]
        if shape == "holes":
            edge = Brush("paper", "marked", 0.09 * unit) if is_marked else Brush("paper")
            return [Rect(x - unit / 2, y - unit / 2, unit, unit, Brush("sheet", "sheet", 1.0)),
                    Circle(x, y, 0.41 * unit, edge)]  # fmt: skip
        if shape == "stacks":
            wide, high = (self._across - 0.08) * unit, 0.64 * unit
            return [Rect(x - wide / 2, y - high / 2, wide, high, brush, 5.0)]
        ground: list[Shape] = []
        if shape == "hexagons":
            ground.append(Polygon(tuple((x + unit * u, y + unit * v) for u, v in _hexagon()), brush))
        else:
            ground.append(Rect(x - unit / 2, y - unit / 2, unit, unit, brush))
        if shape == "row":
            name = " ".join(cell.spot.place)
            size = min(self._small, 1.7 * unit / max(1, len(name)))
            ground.append(Text(x, y - 0.72 * unit, name, size, "dim"))
        if cell.notes:
            inset = 0.42 * unit
            edge = Brush(None, "orange", 0.06 * unit)
            ground.append(Rect(x - inset, y - inset, 2 * inset, 2 * inset, edge, 0.1 * unit))
        return ground

    def _content(self, cell: Cell, x: float, y: float) -> list[Shape]:
        unit = self._unit
        if self._board.shape == "dots":
            return []
        if self._board.shape == "stacks":
            return [Text(x, y, " ".join(cell.spot.place), self._small, "ink", is_bold=True)]
        marks = [piece.mark for piece in cell.pieces]
        scale = 0.8 if self._board.shape in ("points", "hexagons") else 1.0
        scale = 0.98 if self._board.shape == "holes" else scale
        if len(marks) <= 1:
            return [shape for mark in marks for shape in piece_shapes(mark, x, y, scale * unit)]
        shapes: list[Shape] = []
        others = [mark for mark in marks if mark.symbol not in ("block", "dot")]
        for mark in marks:
            if mark.symbol == "block":
                shapes += piece_shapes(mark, x, y, scale * unit)
            elif mark.symbol == "dot":  # in the corner, next to the other piece
                shapes += piece_shapes(mark, x + 0.34 * unit, y + 0.34 * unit, 0.8 * scale * unit)
        if len(others) == 1:
            return [*shapes, *piece_shapes(others[0], x - 0.04 * unit, y - 0.04 * unit, 0.8 * scale * unit)]
        for number, mark in enumerate(others[:4]):
            down, across = divmod(number, 2)
            shapes += piece_shapes(
                mark, x + (across - 0.5) * 0.46 * unit, y + (down - 0.5) * 0.46 * unit, 0.5 * scale * unit
            )
        return shapes

    def _line(self, line: LineSegment) -> ShapeGroup:
        start, end = self._at(line.from_down, line.from_across), self._at(line.to_down, line.to_across)
        unit = self._unit
        paint = line.owner.mark.colour if line.owner else "ink"
        gap = 0.16 / max(1.0, hypot(line.to_down - line.from_down, line.to_across - line.from_across))
        near, far = _between(start, end, gap), _between(start, end, 1 - gap)
        visible = Brush(None, paint, 0.13 * unit) if line.is_drawn else Brush(None, "faint", 0.05 * unit)
        shapes = (Polyline((near, far), Brush(None, "none", 0.5 * unit)), Polyline((near, far), visible))
        data = {
            "board": line.start.board,
            "from": " ".join(line.start.place),
            "to": " ".join(line.end.place),
            "drawn": "yes" if line.is_drawn else "no",
        }
        return ShapeGroup(shapes, line.text, "line", data)

    def _wall(self, wall: Wall) -> tuple[Shape, ...]:
        x, y = self._at(wall.down, wall.across)
        half = self._unit / 2
        ends: dict[str, tuple[Point, Point]] = {
            "top": ((x - half, y - half), (x + half, y - half)),
            "bottom": ((x - half, y + half), (x + half, y + half)),
            "left": ((x - half, y - half), (x - half, y + half)),
            "right": ((x + half, y - half), (x + half, y + half)),
        }
        start, end = ends[wall.side]
        if wall.sign:
            middle = _between(start, end, 0.5)
            ground = Circle(*middle, 0.2 * self._unit, Brush("cell"))
            return (ground, Text(*middle, wall.sign, 0.4 * self._unit, "ink", is_bold=True))
        return (Polyline((start, end), Brush(None, "ink", 0.1 * self._unit)),)


def _between(start: Point, end: Point, part: float) -> Point:
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


def _hexagon() -> tuple[Point, ...]:
    """Upright, 1 wide, around (0, 0)."""
    half = _HALF_HEIGHT / 2
    return ((0.0, -2 * half), (0.5, -half), (0.5, half), (0.0, 2 * half), (-0.5, half), (-0.5, -half))
