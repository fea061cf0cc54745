"""Board → shapes around its own corner."""

from collections.abc import Collection
from dataclasses import dataclass
from math import sqrt

from ggp.boards import Board, Cell, Line, Spot, Wall
from ggp.boards.orders import natural_key
from ggp.boards.pictures.glyphs import glyph
from ggp.boards.pictures.shapes import Brush, Circle, Group, Point, Polygon, Polyline, Rect, Shape, Text

_LABELS = 22.0  # room for the names of rows and columns
_HALF_HEIGHT = 1 / sqrt(3)  # of a hexagon that is 1 wide


@dataclass(frozen=True, slots=True)
class Plan:
    """The shapes of a board, from its own corner on."""

    width: float
    height: float
    middle: float
    groups: tuple[Group, ...]

    def placed(self, x: float, y: float) -> list[Group]:
        return [
            Group(tuple(moved(shape, x, y) for shape in group.shapes), group.label, group.kind, group.data)
            for group in self.groups
        ]


def moved(shape: Shape, x: float, y: float) -> Shape:
    match shape:
        case Rect():
            return Rect(shape.x + x, shape.y + y, shape.width, shape.height, shape.brush, shape.radius)
        case Circle():
            return Circle(shape.x + x, shape.y + y, shape.radius, shape.brush)
        case Polygon():
            return Polygon(tuple((u + x, v + y) for u, v in shape.points), shape.brush)
        case Polyline():
            return Polyline(tuple((u + x, v + y) for u, v in shape.points), shape.brush)
        case Text():
            return Text(
                shape.x + x, shape.y + y, shape.text, shape.size, shape.paint, shape.anchor, shape.is_bold
            )  # fmt: skip


def plan_board(board: Board, marked: Collection[Spot]) -> Plan:
    return _Planner(board, marked).plan()


class _Planner:
    """Turns the places of one board into pixels."""

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
        self._left = _LABELS if board.rows else 0.0
        self._top = _LABELS if board.columns and not self._is_upward else 0.0

    def plan(self) -> Plan:
        board, unit = self._board, self._unit
        groups = [Group(self._labels(), kind="labels"), Group(self._guides(), kind="guides")]
        groups += [self._cell(cell) for cell in board.cells]
        groups += [self._line(line) for line in board.lines]
        groups += [
            Group(glyph(box.pieces[0].mark, *self._at(box.down, box.across), 0.8 * unit), box.text, "box")
            for box in board.boxes
        ]
        groups += [Group(self._wall(wall), wall.text, "wall") for wall in board.walls]
        below = _LABELS if board.columns and self._is_upward else 0.0
        wide = ((board.width - 1) * self._across + max(1.0, self._across)) * unit
        high = ((board.height - 1) * self._down + self._tall) * unit
        return Plan(
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

    def _cell(self, cell: Cell) -> Group:
        x, y = self._at(cell.down, cell.across)
        is_marked = cell.spot in self._marked
        shapes = [*self._ground(cell, x, y, is_marked=is_marked), *self._content(cell, x, y)]
        data = {"board": cell.spot.board, "cell": " ".join(cell.spot.place)}
        return Group(tuple(shapes), cell.text, "cell", data)

    def _ground(self, cell: Cell, x: float, y: float, *, is_marked: bool) -> list[Shape]:
        """What is under the pieces."""
        unit, shape = self._unit, self._board.shape
        is_shaded = self._board.shade == round(cell.down + cell.across) % 2
        fill = "marked" if is_marked else "shade" if is_shaded else "cell"
        brush = Brush(fill, "grid", 1.0)
        if shape == "dots":
            return [
                Circle(x, y, 0.3 * unit, Brush("marked" if is_marked else "none")),
                Circle(x, y, 0.09 * unit, Brush("ink")),
            ]
        if shape == "points":
            return [Circle(x, y, 0.3 * unit, brush)]
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
        if len(marks) <= 1:
            return [shape for mark in marks for shape in glyph(mark, x, y, scale * unit)]
        shapes: list[Shape] = []
        others = [mark for mark in marks if mark.symbol not in ("block", "dot")]
        for mark in marks:
            if mark.symbol == "block":
                shapes += glyph(mark, x, y, scale * unit)
            elif mark.symbol == "dot":  # beside what else is there
                shapes += glyph(mark, x + 0.34 * unit, y + 0.34 * unit, 0.8 * scale * unit)
        if len(others) == 1:
            return [*shapes, *glyph(others[0], x - 0.04 * unit, y - 0.04 * unit, 0.8 * scale * unit)]
        for number, mark in enumerate(others[:4]):
            down, across = divmod(number, 2)
            shapes += glyph(mark, x + (across - 0.5) * 0.46 * unit, y + (down - 0.5) * 0.46 * unit, 0.5 * scale * unit)
        return shapes

    def _line(self, line: Line) -> Group:
        start, end = self._at(line.from_down, line.from_across), self._at(line.to_down, line.to_across)
        unit = self._unit
        paint = line.owner.mark.colour if line.owner else "ink"
        near, far = _between(start, end, 0.16), _between(start, end, 0.84)
        visible = Brush(None, paint, 0.13 * unit) if line.is_drawn else Brush(None, "faint", 0.05 * unit)
        shapes = (Polyline((near, far), Brush(None, "none", 0.5 * unit)), Polyline((near, far), visible))
        data = {
            "board": line.start.board,
            "from": " ".join(line.start.place),
            "to": " ".join(line.end.place),
            "drawn": "yes" if line.is_drawn else "no",
        }
        return Group(shapes, line.text, "line", data)

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
