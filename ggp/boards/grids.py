"""Groups → boards of squares, hexagons or dots: where each cell is, and how each relation is shown.

Which coordinate runs across, and in which direction the other one counts, is decided by these, in this order:
* names of variables and of relations that are about one coordinate (?row, ?x, (nextfile …)) vote;
* moves that name one coordinate only: a piece that is dropped into a column lands at the low end of the other
  coordinate, so that one is the height;
* letters are columns and numbers rows, counted upwards, as on a chess board;
* otherwise the first coordinate is the row, counted downwards, and the second the column.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from ggp.boards.groups import Axes, Group, Reading
from ggp.boards.layout import BoardLayout, GridPoint, Place, Placement
from ggp.boards.marks import BoardShape, Label, is_empty_word
from ggp.boards.profiles import StateSamples, side_in
from ggp.gdl.logic_program import Clause, Literal, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, to_text

_IN_A_ROW = 4  # boards, at most
_CELLS_IN_A_ROW = 20  # of boards side by side, about
_SIGNS = {
    "gt": (">", "∨"),
    "greater": (">", "∨"),
    "lt": ("<", "∧"),
    "less": ("<", "∧"),
}  # for cells side by side, and one below the other


_ACROSS = frozenset(("x", "col", "column", "file", "across", "horizontal"))
_DOWN = frozenset(("row", "down"))
_UP = frozenset(("y", "rank", "height", "level", "vertical"))
_FACTS = frozenset(("true", "next", "init", "base"))
_WORDS = re.compile(r"(next|succ|prev|new|old|my|to|from|adj|cell|plus|minus|any)?_?(row|col|column|file|rank)s?")
_Step = tuple[int, int]
_SIDEWAYS = frozenset(((0, 1), (0, -1), (1, 0), (-1, 0)))
_SHIFT = 0.5  # cells
_SHORT_WORD = "b"  # for blank, in rules without white
_COLOURS = frozenset(("w", "white", "black"))


@dataclass(frozen=True, slots=True)
class _Orientation:
    """How two coordinates are drawn."""

    across: int  # which one is the column: 0 or 1
    is_upward: bool  # whether the lowest constant of the other one is at the bottom


@dataclass(frozen=True, slots=True)
class _Usage:
    """Where the coordinates of a board occur: a relation and two of its arguments."""

    relation: Relation
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Grid:
    """Two axes with their directions."""

    axes: Axes
    orientation: _Orientation
    shift: float = 0.0  # of each row against the one above it, in cells

    @property
    def across(self) -> tuple[str, ...]:
        return self.axes[self.orientation.across]

    @property
    def down(self) -> tuple[str, ...]:
        """The constants of the rows from top to bottom."""
        constants = self.axes[1 - self.orientation.across]
        return constants[::-1] if self.orientation.is_upward else constants

    @property
    def start(self) -> float:
        """Where the first row starts, so that no row starts left of 0."""
        return max(0.0, -self.shift * (len(self.down) - 1))

    @property
    def places(self) -> Mapping[Place, GridPoint]:
        found: dict[Place, GridPoint] = {}
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


def grid_boards(group: Group, program: LogicProgram, samples: StateSamples, name: str) -> tuple[BoardLayout, ...]:
    """The boards of a group; `name` is the common part of their names, empty if there is one group only."""
    usages = [_Usage(reading.profile.relation, reading.place) for reading in group.readings]
    orientation = _find_orientation(program, usages, group.axes, _columns(group, samples))
    shift = _hexagon_shift(program, group.axes, orientation)
    grid = _Grid(group.axes, orientation, shift)
    shape: BoardShape = "dots" if group.has_lines else "hexagons" if shift else "squares"
    boards: list[BoardLayout] = []
    for number, index in enumerate(product(*group.index)):
        down, across = _stand(index, group, orientation, number)
        placements = tuple(_placement(reading, index, group, orientation) for reading in group.readings)
        own = " ".join((name, *index)).strip()
        is_nested = len(index) == 2  # boards that are cells of a board: labels only at the outer edge
        boards.append(
            BoardLayout(
                own,
                "" if is_nested else own,
                shape,
                grid.places,
                () if is_nested and across else grid.rows,
                () if is_nested and down else grid.columns,
                placements,
                grid.edges if group.has_lines else (),
                down=down,
                across=across,
            )
        )
    return tuple(boards)


def _columns(group: Group, samples: StateSamples) -> tuple[int, ...]:
    """The coordinates (0, 1) that moves name alone, as their only argument."""
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


def _stand(index: Place, group: Group, orientation: _Orientation, number: int) -> tuple[int, int]:
    """The place of a board among those of its group, in boards: down, across."""
    constants = group.index
    if len(index) == 2:
        places = [axis.index(constant) for axis, constant in zip(constants, index, strict=True)]
        down = places[1 - orientation.across]
        if orientation.is_upward:
            down = len(constants[1 - orientation.across]) - 1 - down
        return down, places[orientation.across]
    width = len(group.axes[orientation.across])
    return divmod(number, max(1, min(_IN_A_ROW, _CELLS_IN_A_ROW // width)))


def _placement(reading: Reading, index: Place, group: Group, orientation: _Orientation) -> Placement:
    profile = reading.profile
    name = profile.relation[0]
    side = side_in(name) if reading.kind == "walls" and reading.side_argument is None else None
    signs = next((_SIGNS[part] for part in name.split("_") if part in _SIGNS), ("", ""))
    return Placement(
        profile.relation,
        reading.kind,
        reading.place,
        tuple(zip(reading.index, index, strict=True)),
        reading.pieces,
        _empty_contents(reading),
        reading.end or (),
        _box_offset(reading, group, orientation) if reading.kind == "boxes" else (0.0, 0.0),
        side,
        reading.side_argument,
        signs[0 if side in ("left", "right") else 1],
    )


def _box_offset(reading: Reading, group: Group, orientation: _Orientation) -> GridPoint:
    """From the point that names a box to its middle: where most boxes that were seen had all four lines."""
    line = next(reading for reading in group.readings if reading.kind == "lines")
    corners = ((1, 1), (-1, -1), (1, -1), (-1, 1))  # steps along both coordinates; the first is the usual one
    closed = {corner: _closed(reading, line, group.axes, corner) for corner in corners}
    first, second = max(corners, key=lambda corner: closed[corner])
    across, down = (first, second) if orientation.across == 0 else (second, first)
    return (-down if orientation.is_upward else down) / 2, across / 2


def _closed(boxes: Reading, lines: Reading, axes: Axes, corner: tuple[int, int]) -> int:
    """How many boxes that were seen had all four lines, if boxes lie in this direction from their points."""
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


def _find_orientation(
    program: LogicProgram,
    usages: Sequence[_Usage],
    axes: tuple[tuple[str, ...], tuple[str, ...]],
    columns: Sequence[int],
) -> _Orientation:
    """The orientation of a board.

    axes: the constants of both coordinates; columns: coordinates (0 or 1) that moves name without the other one.
    """
    votes = (_votes(program, usages, 0), _votes(program, usages, 1))
    lean = _lean(votes[0]) - _lean(votes[1])
    letters = tuple(all(len(constant) == 1 and constant.isalpha() for constant in axis) for axis in axes)
    if lean:
        across = 0 if lean > 0 else 1
    elif len(set(columns)) == 1:
        across = columns[0]
    elif letters[0] != letters[1]:
        across = 0 if letters[0] else 1
    else:
        across = 1
    down = votes[1 - across]
    if len(set(columns)) == 1:
        return _Orientation(across, is_upward=columns[0] == across)
    rows, heights = sum(down[word] for word in _DOWN), sum(down[word] for word in _UP)
    if rows != heights:
        return _Orientation(across, is_upward=heights > rows)
    return _Orientation(across, is_upward=letters[across] and not letters[1 - across])


def _lean(votes: Counter[str]) -> int:
    """1 if the names are about a column, -1 if about a row, else 0."""
    across = sum(votes[word] for word in _ACROSS)
    down = sum(votes[word] for word in _DOWN | _UP)
    return (across > down) - (across < down)


def _votes(program: LogicProgram, usages: Sequence[_Usage], coordinate: int) -> Counter[str]:
    """Words about directions in the names of a coordinate's variables and their relations, counted once per rule."""
    votes: Counter[str] = Counter()
    for clauses in program.clauses.values():
        for clause in clauses:
            names = _variables(clause, usages, coordinate)
            if names:
                words = {word for name in names for word in _words(name.lstrip("?"))}
                words |= {
                    word
                    for literal in clause.body
                    if _speaks_of(literal, names)
                    for word in _words(literal.relation[0])
                }
                votes.update(words)
    return votes


def _variables(clause: Clause, usages: Sequence[_Usage], coordinate: int) -> set[str]:
    """The variables of a rule that are this coordinate of a fact."""
    found: set[str] = set()
    for atom in (clause.head, *(literal.atom for literal in clause.body)):
        if not isinstance(atom, str) and name_and_arity(atom)[0] in _FACTS:
            fact = atom[1]
            for usage in usages:
                if name_and_arity(fact) == usage.relation:
                    term: Term = fact[1:][usage.place[coordinate]]
                    if isinstance(term, str) and term.startswith("?"):
                        found.add(term)
    return found


def _speaks_of(literal: Literal, names: set[str]) -> bool:
    """Whether the condition is about these variables and at most one other argument."""
    others = {argument for argument in literal.arguments if argument not in names}
    return literal.relation[0] not in _FACTS and len(literal.arguments) <= 2 and len(others) < len(literal.arguments)


def _words(name: str) -> set[str]:
    found = set()
    for part in re.split(r"[_\-+0-9/ ]+", name.lower()):
        match = _WORDS.fullmatch(part)
        word = match[2] if match else part
        if word in _ACROSS | _DOWN | _UP:
            found.add(word)
    return found


def _hexagon_shift(program: LogicProgram, axes: Axes, orientation: _Orientation) -> float:
    """How far each row is right of the one above, in cells; 0.0 for squares.

    The cells are hexagons if the rules have a relation of neighbours that gives each cell six.
    """
    for (name, arity), clauses in program.clauses.items():
        if arity == 4 and name not in ("true", "next"):
            steps = {step for clause in clauses for step in _steps(clause, program, axes)}
            diagonal = steps - _SIDEWAYS
            if len(steps) == 6 and steps >= _SIDEWAYS and all((-i, -j) in diagonal for i, j in diagonal):
                i, j = min(diagonal)
                down, across = (j, i) if orientation.across == 0 else (i, j)
                is_falling = (down * across > 0) != orientation.is_upward
                return -_SHIFT if is_falling else _SHIFT
    return 0.0


def _steps(clause: Clause, program: LogicProgram, axes: Axes) -> set[_Step]:
    """The steps along both coordinates that a rule about two cells allows; none for other rules."""
    first, second, third, fourth = clause.arguments
    choices = (_distances(first, third, clause, program, axes[0]), _distances(second, fourth, clause, program, axes[1]))
    return {(i, j) for i, j in product(*choices) if (i, j) != (0, 0)}


def _distances(start: Term, end: Term, clause: Clause, program: LogicProgram, axis: tuple[str, ...]) -> set[int]:
    """How far the end is from the start along the axis: 0 for the same variable, 1 or -1 for a successor."""
    if start == end:
        return {0}
    found = set()
    for literal in clause.body:
        if literal.positive and len(literal.arguments) == 2 and set(literal.arguments) == {start, end}:
            rows = set(program.tables.get(literal.relation, ()))
            step = 1 if literal.arguments == (start, end) else -1
            if rows and all(pair in rows for pair in pairwise(axis)):
                found.add(step)
            elif rows and all(pair in rows for pair in pairwise(axis[::-1])):
                found.add(-step)
    return found


def _empty_contents(reading: Reading) -> frozenset[str]:
    """Names of pieces that mean an empty cell: words for it, or the letter in most cells of the first state."""
    profile = reading.profile
    words = {name for place in reading.pieces for name in profile.constants[place] if is_empty_word(name)}
    if len(reading.pieces) != 1 or words:
        return frozenset(words)
    (place,) = reading.pieces
    constants = profile.constants[place]
    if _SHORT_WORD in constants and not _COLOURS & set(constants):
        return frozenset((_SHORT_WORD,))
    if len(constants) < 2 or profile.orders[place] or not profile.rows:
        return frozenset()
    key = (*reading.index, *reading.place)
    counts = Counter(row[place] for row in profile.rows[0])
    if counts and profile.is_total(key):
        most, number = counts.most_common(1)[0]
        if 2 * number > sum(counts.values()) and len(most) <= 1:
            return frozenset((most,))
    return frozenset()
