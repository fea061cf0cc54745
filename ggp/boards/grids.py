"""Groups → boards: coordinates become places, and the readings of the relations sources of what is there."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from ggp.boards.emptiness import empty_contents
from ggp.boards.grouping import Axes, Group
from ggp.boards.hexagons import hexagon_shift
from ggp.boards.layouts import BoardLayout, Place, Point, Source
from ggp.boards.orders import side_in
from ggp.boards.orientation import Orientation, Usage, find_orientation
from ggp.boards.picture import Label, Shape
from ggp.boards.profiles import Samples
from ggp.boards.readings import Reading
from ggp.gdl.logic_program import LogicProgram
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, to_text

_IN_A_ROW = 4  # boards, at most
_CELLS_IN_A_ROW = 20  # of boards beside each other, about
_SIGNS = {"gt": (">", "∨"), "greater": (">", "∨"), "lt": ("<", "∧"), "less": ("<", "∧")}  # beside and below


def grid_boards(group: Group, program: LogicProgram, samples: Samples, name: str) -> tuple[BoardLayout, ...]:
    """The boards of a group; `name` is what they have in common, empty where the group is alone."""
    usages = [Usage(reading.profile.relation, reading.place) for reading in group.readings]
    orientation = find_orientation(program, usages, group.axes, _columns(group, samples))
    shift = hexagon_shift(program, group.axes, orientation)
    grid = _Grid(group.axes, orientation, shift)
    shape: Shape = "dots" if group.has_lines else "hexagons" if shift else "squares"
    boards: list[BoardLayout] = []
    for number, index in enumerate(product(*group.index)):
        down, across = _stand(index, group, orientation, number)
        sources = tuple(_source(reading, index, group, orientation) for reading in group.readings)
        own = " ".join((name, *index)).strip()
        is_nested = len(index) == 2  # boards that are cells of a board: one title and names of rows for all of them
        boards.append(
            BoardLayout(
                own,
                "" if is_nested else own,
                shape,
                grid.places,
                () if is_nested and across else grid.rows,
                () if is_nested and down else grid.columns,
                sources,
                grid.edges if group.has_lines else (),
                down=down,
                across=across,
            )
        )
    return tuple(boards)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Two axes as they are drawn."""

    axes: Axes
    orientation: Orientation
    shift: float = 0.0  # of each row against the one above it, in cells

    @property
    def across(self) -> tuple[str, ...]:
        return self.axes[self.orientation.across]

    @property
    def down(self) -> tuple[str, ...]:
        """From the top."""
        constants = self.axes[1 - self.orientation.across]
        return constants[::-1] if self.orientation.is_upward else constants

    @property
    def start(self) -> float:
        """Where the first cell of the first row is, so that no row starts left of 0."""
        return max(0.0, -self.shift * (len(self.down) - 1))

    @property
    def places(self) -> Mapping[Place, Point]:
        found: dict[Place, Point] = {}
        for (down, row), (across, column) in product(enumerate(self.down), enumerate(self.across)):
            place = (column, row) if self.orientation.across == 0 else (row, column)
            found[place] = (float(down), self.start + across + self.shift * down)
        return found

    @property
    def rows(self) -> tuple[Label, ...]:
        return tuple(Label(text, float(at)) for at, text in enumerate(self.down))

    @property
    def columns(self) -> tuple[Label, ...]:
        return tuple(Label(text, self.start + at) for at, text in enumerate(self.across))

    @property
    def edges(self) -> tuple[tuple[Place, Place], ...]:
        """The pairs of neighbours, each from the lower constant to the higher one."""
        first, second = self.axes
        found: list[tuple[Place, Place]] = []
        for (i, one), (j, other) in product(enumerate(first), enumerate(second)):
            if i + 1 < len(first):
                found.append(((one, other), (first[i + 1], other)))
            if j + 1 < len(second):
                found.append(((one, other), (one, second[j + 1])))
        return tuple(found)


def _columns(group: Group, samples: Samples) -> tuple[int, ...]:
    """The coordinates that moves name alone: such a move has one argument, with the constants of that coordinate."""
    arguments: dict[str, set[str]] = {}
    for move in samples.moves:
        if name_and_arity(move)[1] == 1:
            arguments.setdefault(str(move[0]), set()).add(to_text(move[1]))
    if _has_wider_move(samples.moves) or group.index:
        return ()
    sets = [set(axis) for axis in group.axes]
    return tuple(n for n in (0, 1) for seen in arguments.values() if seen == sets[n] and not seen <= sets[1 - n])


def _has_wider_move(moves: frozenset[Term]) -> bool:
    return any(name_and_arity(move)[1] > 1 for move in moves)


def _stand(index: Place, group: Group, orientation: Orientation, number: int) -> tuple[int, int]:
    """Where a board stands among those of its group, counted in boards."""
    constants = group.index
    if len(index) == 2:
        places = [axis.index(constant) for axis, constant in zip(constants, index, strict=True)]
        down = places[1 - orientation.across]
        if orientation.is_upward:
            down = len(constants[1 - orientation.across]) - 1 - down
        return down, places[orientation.across]
    width = len(group.axes[orientation.across])
    return divmod(number, max(1, min(_IN_A_ROW, _CELLS_IN_A_ROW // width)))


def _source(reading: Reading, index: Place, group: Group, orientation: Orientation) -> Source:
    profile = reading.profile
    name = profile.relation[0]
    side = side_in(name) if reading.kind == "walls" and reading.side_argument is None else None
    signs = next((_SIGNS[part] for part in name.split("_") if part in _SIGNS), ("", ""))
    return Source(
        profile.relation,
        reading.kind,
        reading.place,
        tuple(zip(reading.index, index, strict=True)),
        reading.pieces,
        empty_contents(reading),
        reading.end or (),
        _box_offset(reading, group, orientation) if reading.kind == "boxes" else (0.0, 0.0),
        side,
        reading.side_argument,
        signs[0 if side in ("left", "right") else 1],
    )


def _box_offset(reading: Reading, group: Group, orientation: Orientation) -> Point:
    """From the point that names a box to its middle: the corner whose boxes had all their lines in what was seen."""
    line = next(reading for reading in group.readings if reading.kind == "lines")
    corners = ((1, 1), (-1, -1), (1, -1), (-1, 1))  # in steps along both coordinates; the first is the custom
    closed = {corner: _closed(reading, line, group.axes, corner) for corner in corners}
    first, second = max(corners, key=lambda corner: closed[corner])
    across, down = (first, second) if orientation.across == 0 else (second, first)
    return (-down if orientation.is_upward else down) / 2, across / 2


def _closed(boxes: Reading, lines: Reading, axes: Axes, corner: tuple[int, int]) -> int:
    """How many boxes that were seen had all four lines, if this is where they are from their points."""
    count = 0
    end = lines.end or (0, 0)
    for box_rows, line_rows in zip(boxes.profile.rows, lines.profile.rows, strict=True):
        drawn = {frozenset(((r[lines.place[0]], r[lines.place[1]]), (r[end[0]], r[end[1]]))) for r in line_rows}
        for row in box_rows:
            places = [axis.index(row[place]) for axis, place in zip(axes, boxes.place, strict=True)]
            moved = [place + step for place, step in zip(places, corner, strict=True)]
            if all(0 <= place < len(axis) for place, axis in zip(moved, axes, strict=True)):
                points = [(axes[0][i], axes[1][j]) for i in (places[0], moved[0]) for j in (places[1], moved[1])]
                sides = ((0, 1), (0, 2), (1, 3), (2, 3))
                count += all(frozenset((points[a], points[b])) in drawn for a, b in sides)
    return count
