"""Layout and state → picture."""

from collections.abc import Mapping, Sequence

from ggp.boards.layouts import BoardLayout, Layout, Place, Point, Source
from ggp.boards.marks import Mark, make_marks
from ggp.boards.orders import natural, natural_key, side_of
from ggp.boards.picture import Board, Cell, Entry, Line, Picture, Piece, Spot, Value, Wall
from ggp.gdl.logic_program import Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text

_MOST_ARGUMENTS = 2  # of facts that are values


def make_picture(layout: Layout, facts: Facts) -> Picture:
    """What the state looks like."""
    rows: dict[Relation, list[tuple[Term, Place]]] = {}
    for fact in sorted(facts, key=to_text):
        words = () if isinstance(fact, str) else tuple(map(to_text, fact[1:]))
        rows.setdefault(name_and_arity(fact), []).append((fact, words))
    shown: set[Term] = set()
    boards = tuple(_Painter(layout, board, rows, shown).board() for board in layout.boards)
    listed = sorted(facts - shown, key=lambda fact: natural_key(to_text(fact)))
    values = [fact for fact in listed if name_and_arity(fact)[1] <= _MOST_ARGUMENTS]
    rest = tuple(fact for fact in listed if name_and_arity(fact)[1] > _MOST_ARGUMENTS)
    return Picture(boards, _values(values, layout.marks), rest, tuple(listed))


def _values(facts: Sequence[Term], marks: Mapping[str, Mark]) -> tuple[Value, ...]:
    groups: dict[Relation, list[Entry]] = {}
    for fact in facts:
        entries = groups.setdefault(name_and_arity(fact), [])
        if not isinstance(fact, str):
            *key, value = map(to_text, fact[1:])
            first = key[0] if key else ""
            entries.append(Entry(first, value, marks.get(value) or marks.get(first)))
    return tuple(Value(name, tuple(entries)) for (name, _), entries in groups.items())


class _Painter:
    """Puts the facts of one state on one board."""

    def __init__(
        self,
        layout: Layout,
        board: BoardLayout,
        rows: Mapping[Relation, Sequence[tuple[Term, Place]]],
        shown: set[Term],
    ) -> None:
        self._layout = layout
        self._board = board
        self._rows = rows
        self._shown = shown
        self._pieces: dict[Place, list[Piece]] = {}
        self._notes: dict[Place, list[str]] = {}
        self._boxes: list[Cell] = []
        self._walls: list[Wall] = []
        self._drawn: dict[tuple[Place, Place], Piece | None] = {}

    def board(self) -> Board:
        layout = self._board
        if layout.shape == "stacks":
            return self._stacks(layout.sources[0])
        for source in layout.sources:
            for fact, words in self._rows.get(source.relation, ()):
                if all(words[place] == constant for place, constant in source.fixed) and self._put(source, words):
                    self._shown.add(fact)
        cells = tuple(
            Cell(self._spot(place), *point, tuple(self._pieces.get(place, ())), tuple(self._notes.get(place, ())))
            for place, point in sorted(layout.places.items(), key=lambda item: item[1])
        )
        return Board(
            layout.name, layout.title, layout.shape, layout.height, layout.width, layout.rows, layout.columns, cells,
            tuple(self._boxes), tuple(self._walls), self._lines(), layout.guides, layout.shade, layout.down,
            layout.across,
        )  # fmt: skip

    def _put(self, source: Source, words: Place) -> bool:
        """Whether the fact has its place on the board."""
        place = tuple(words[argument] for argument in source.place)
        point = self._board.places.get(place)
        if point is None:
            return False
        match source.kind:
            case "notes":
                self._notes.setdefault(place, []).append(source.relation[0])
            case "walls":
                return self._put_wall(source, words, place, point)
            case "lines":
                return self._put_line(source, words, place, point)
            case "boxes":
                return self._put_box(source, words, place, point)
            case _:
                if not any(words[argument] in source.empty for argument in source.pieces):
                    self._pieces.setdefault(place, []).append(self._piece(source, words))
        return True

    def _piece(self, source: Source, words: Place) -> Piece:
        name = " ".join(words[argument] for argument in source.pieces) or source.relation[0]
        mark = self._layout.marks.get(name) or make_marks([name], [], {name: name})[name]
        return Piece(name, mark)

    def _put_wall(self, source: Source, words: Place, place: Place, point: Point) -> bool:
        side = source.side if source.side_argument is None else side_of(words[source.side_argument])
        if side is not None:
            word = "" if source.side_argument is None else f" {words[source.side_argument]}"
            self._walls.append(Wall(self._spot(place), *point, side, source.sign, source.relation[0] + word))
        return True

    def _put_line(self, source: Source, words: Place, place: Place, point: Point) -> bool:
        end = tuple(words[argument] for argument in source.end)
        there = self._board.places.get(end)
        if there is None or abs(there[0] - point[0]) + abs(there[1] - point[1]) != 1:
            return False
        owner = self._piece(source, words) if source.pieces else None
        self._drawn[(end, place) if (end, place) in self._board.lines else (place, end)] = owner
        return True

    def _put_box(self, source: Source, words: Place, place: Place, point: Point) -> bool:
        down, across = point[0] + source.offset[0], point[1] + source.offset[1]
        if not (0 < down < self._board.height - 1 and 0 < across < self._board.width - 1):
            return False
        if not any(words[argument] in source.empty for argument in source.pieces):
            self._boxes.append(Cell(self._spot(place), down, across, (self._piece(source, words),)))
        return True

    def _lines(self) -> tuple[Line, ...]:
        pairs = dict.fromkeys([*self._board.lines, *self._drawn])
        places = self._board.places
        return tuple(
            Line(
                self._spot(start),
                self._spot(end),
                *places[start],
                *places[end],
                (start, end) in self._drawn,
                self._drawn.get((start, end)),
            )
            for start, end in pairs
        )

    def _stacks(self, source: Source) -> Board:
        """Columns of what lies on what; the lowest row holds what lies on nothing."""
        below: dict[str, str] = {}
        for fact, words in self._rows.get(source.relation, ()):
            below[words[source.place[0]]] = words[source.end[0]]
            self._shown.add(fact)
        names = [place[0] for place in self._board.places]
        levels = {name: _level(name, below) for name in names}
        bases = natural([name for name in names if name not in below])
        height = max(levels.values(), default=0) + 1
        cells = [
            Cell(
                self._spot((name,)),
                float(height - 1 - levels[name]),
                float(bases.index(base)) if (base := _base(name, below)) in bases else 0.0,
                (Piece(name, self._layout.marks.get(name) or make_marks([name], [])[name]),),
            )
            for name in names
        ]
        cells.sort(key=lambda cell: (cell.down, cell.across))
        board = self._board
        return Board(board.name, board.title, "stacks", height, len(bases), (), (), tuple(cells))

    def _spot(self, place: Place) -> Spot:
        return Spot(self._board.name, place)


def _level(name: str, below: Mapping[str, str]) -> int:
    level = 0
    while name in below and level <= len(below):
        name, level = below[name], level + 1
    return level


def _base(name: str, below: Mapping[str, str]) -> str:
    for _ in range(len(below)):
        name = below.get(name, name)
    return name
