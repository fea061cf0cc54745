"""How the states of one game are drawn (a layout), and its use: state → picture, move → the cells to click for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ggp.boards.marks import (
    Board,
    BoardShape,
    Cell,
    Label,
    LineSegment,
    Mark,
    Picture,
    Piece,
    Side,
    Spot,
    Value,
    ValueEntry,
    Wall,
    make_marks,
)
from ggp.boards.profiles import natural, natural_key, side_of
from ggp.gdl.logic_program import Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text

Place: TypeAlias = tuple[str, ...]  # the constants of the coordinates of a cell, in the order of the rules
GridPoint: TypeAlias = tuple[float, float]  # down, across
PlacementKind = Literal["pieces", "notes", "walls", "lines", "boxes", "stacks", "heaps"]


@dataclass(frozen=True, slots=True)
class Placement:
    """How the facts of one relation are shown on one board. Numbers are indices of arguments, counted from 0."""

    relation: Relation
    kind: PlacementKind
    place: tuple[int, ...]  # the coordinates
    fixed: tuple[
        tuple[int, str], ...
    ] = ()  # arguments and the constants they must be; otherwise the fact belongs to another board
    pieces: tuple[int, ...] = ()  # those that name the piece; empty if the relation itself is the piece
    empty: frozenset[str] = frozenset()  # names of pieces that mean an empty cell
    end: tuple[int, ...] = ()  # for lines: the coordinates of the other end
    offset: GridPoint = (0.0, 0.0)  # for boxes: from the point that names the box to its middle
    side: Side | None = None  # for walls, if the name of the relation gives the side
    side_argument: int | None = None  # for walls, if an argument gives the side
    sign: str = ""  # for walls: a sign such as `>` instead of a line
    piece: str = ""  # for heaps, whose place says the row and how many pieces stand in it: their name


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """One board, empty."""

    name: str
    title: str
    shape: BoardShape
    places: Mapping[Place, GridPoint] = field(repr=False)
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    placements: tuple[Placement, ...]
    lines: tuple[tuple[Place, Place], ...] = field(repr=False, default=())  # all that can be drawn
    guides: tuple[tuple[GridPoint, GridPoint], ...] = field(repr=False, default=())  # see `Board`
    shade: int | None = None  # see `Board`
    bands: int = 0  # see `Board`
    is_joined: bool = False  # see `Board`
    static: Mapping[Place, tuple[str, ...]] = field(repr=False, default_factory=dict)  # pieces that no fact tells
    down: int = 0
    across: int = 0

    @property
    def height(self) -> float:
        return max((down for down, _ in self.places.values()), default=0.0) + 1

    @property
    def width(self) -> float:
        return max((across for _, across in self.places.values()), default=0.0) + 1


@dataclass(frozen=True, slots=True)
class Click:
    """Which arguments of a move name a cell. Numbers are indices of arguments, counted from 0."""

    boards: Mapping[Place, str]  # constants of the arguments `index` → name of the board
    index: tuple[int, ...]
    place: tuple[int | None, ...]  # None: any constant; a move that names a column means all its cells


@dataclass(frozen=True, slots=True)
class Layout:
    """How to draw the states of a game; made by `find_layout`, read by `make_picture` and `move_cells`."""

    boards: tuple[BoardLayout, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)  # name of a piece or a role → how it looks
    clicks: Mapping[Relation, tuple[Click, ...]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()  # relations that are not shown
    words: Mapping[str, str] = field(default_factory=dict)  # relation or constant → how labelled values call it


_MAX_VALUE_ARGUMENTS = 2  # facts with more are not shown as labelled values


def make_picture(layout: Layout, facts: Facts) -> Picture:
    """The picture of a state. Facts that no board shows become labelled values or are listed."""
    rows: dict[Relation, list[tuple[Term, Place]]] = {}
    for fact in sorted(facts, key=to_text):
        if name_and_arity(fact)[0] in layout.hidden:
            continue
        words = () if isinstance(fact, str) else tuple(map(to_text, fact[1:]))
        rows.setdefault(name_and_arity(fact), []).append((fact, words))
    shown: set[Term] = set()
    boards = tuple(_Painter(layout, board, rows, shown).board() for board in layout.boards)
    unshown = (fact for fact in facts - shown if name_and_arity(fact)[0] not in layout.hidden)
    listed = sorted(unshown, key=lambda fact: natural_key(to_text(fact)))
    values = [fact for fact in listed if name_and_arity(fact)[1] <= _MAX_VALUE_ARGUMENTS]
    rest = tuple(fact for fact in listed if name_and_arity(fact)[1] > _MAX_VALUE_ARGUMENTS)
    return Picture(boards, _values(values, layout), rest, tuple(listed))


def _values(facts: Sequence[Term], layout: Layout) -> tuple[Value, ...]:
    marks, words = layout.marks, layout.words
    groups: dict[Relation, list[ValueEntry]] = {}
    for fact in facts:
        entries = groups.setdefault(name_and_arity(fact), [])
        if not isinstance(fact, str):
            *key, value = map(to_text, fact[1:])
            first = key[0] if key else ""
            mark = next((marks[word] for word in (value, first) if word in marks and not word.isdecimal()), None)
            entries.append(ValueEntry(words.get(first, _plain(first)), words.get(value, _plain(value)), mark))
    return tuple(Value(words.get(name, _label(name)), tuple(entries)) for (name, _), entries in groups.items())


def _plain(name: str) -> str:
    """A constant as people write it: `light_small` without the line."""
    return name.replace("_", " ")


def _label(name: str) -> str:
    """The same with a capital letter."""
    plain = _plain(name)
    return plain[:1].upper() + plain[1:]


def move_cells(layout: Layout, move: Term) -> tuple[tuple[Spot, ...], ...]:
    """The clicks that make a move, in order; for each click the cells of which one must be clicked.

    A move that names a cell has one click, a move from → to has two; a move that names only a column has one, on any of
    its cells. Moves that name no cell have none. Several moves may have the same clicks: then
    the user must be asked for the other arguments.
    """
    if isinstance(move, str):
        return ()
    words = tuple(map(to_text, move[1:]))
    spots = {(board.name, place): Spot(board.name, place) for board in layout.boards for place in board.places}
    found: list[tuple[Spot, ...]] = []
    for click in layout.clicks.get(name_and_arity(move), ()):
        index = tuple(words[place] for place in click.index)
        names = [click.boards[index]] if index in click.boards else [] if click.index else list(click.boards.values())
        wanted = [None if place is None else words[place] for place in click.place]
        cells = tuple(
            spot
            for (board, place), spot in spots.items()
            if board in names and all(word is None or word == own for word, own in zip(wanted, place, strict=True))
        )
        if not cells:
            return ()
        found.append(cells)
    return tuple(found)


class _Painter:
    """Draws the facts of one state on one board; adds the facts that it shows to `shown`."""

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
            return self._stacks(layout.placements[0])
        for place, names in layout.static.items():
            self._pieces[place] = [self._named(name) for name in names]
        for placement in layout.placements:
            for fact, words in self._rows.get(placement.relation, ()):
                if all(words[place] == constant for place, constant in placement.fixed) and self._put(placement, words):
                    self._shown.add(fact)
        cells = tuple(
            Cell(self._spot(place), *point, tuple(self._pieces.get(place, ())), tuple(self._notes.get(place, ())))
            for place, point in sorted(layout.places.items(), key=lambda item: item[1])
        )
        return Board(
            layout.name, layout.title, layout.shape, layout.height, layout.width, layout.rows, layout.columns, cells,
            tuple(self._boxes), tuple(self._walls), self._lines(), layout.guides, layout.shade, layout.bands,
            layout.is_joined, layout.down, layout.across,
        )  # fmt: skip

    def _put(self, placement: Placement, words: Place) -> bool:
        """Draws a fact; False if it does not fit on this board."""
        if placement.kind == "heaps":
            return self._put_heap(placement, words)
        place = tuple(words[argument] for argument in placement.place)
        point = self._board.places.get(place)
        if point is None:
            return False
        match placement.kind:
            case "notes":
                self._notes.setdefault(place, []).append(placement.relation[0])
            case "walls":
                return self._put_wall(placement, words, place, point)
            case "lines":
                return self._put_line(placement, words, place, point)
            case "boxes":
                return self._put_box(placement, words, place, point)
            case _:
                if not any(words[argument] in placement.empty for argument in placement.pieces):
                    self._pieces.setdefault(place, []).append(self._piece(placement, words))
        return True

    def _piece(self, placement: Placement, words: Place) -> Piece:
        return self._named(" ".join(words[argument] for argument in placement.pieces) or placement.relation[0])

    def _named(self, name: str) -> Piece:
        mark = self._layout.marks.get(name) or make_marks([name], [], {name: name})[name]
        return Piece(name, mark)

    def _put_heap(self, placement: Placement, words: Place) -> bool:
        """As many pieces as the fact says, in the row of the place from the left."""
        heap, count = (words[argument] for argument in placement.place)
        places = [(heap, str(number + 1)) for number in range(int(count))] if count.isdecimal() else [("", "")]
        if not all(place in self._board.places for place in places):
            return False
        for place in places:
            self._pieces[place] = [self._named(placement.piece)]
        return True

    def _put_wall(self, placement: Placement, words: Place, place: Place, point: GridPoint) -> bool:
        side = placement.side if placement.side_argument is None else side_of(words[placement.side_argument])
        if side is not None:
            word = "" if placement.side_argument is None else f" {words[placement.side_argument]}"
            self._walls.append(Wall(self._spot(place), *point, side, placement.sign, placement.relation[0] + word))
        return True

    def _put_line(self, placement: Placement, words: Place, place: Place, point: GridPoint) -> bool:
        end = tuple(words[argument] for argument in placement.end)
        there = self._board.places.get(end)
        is_known = (place, end) in self._board.lines or (end, place) in self._board.lines
        if there is None or (not is_known and abs(there[0] - point[0]) + abs(there[1] - point[1]) != 1):
            return False
        owner = self._piece(placement, words) if placement.pieces else None
        self._drawn[(end, place) if (end, place) in self._board.lines else (place, end)] = owner
        return True

    def _put_box(self, placement: Placement, words: Place, place: Place, point: GridPoint) -> bool:
        down, across = point[0] + placement.offset[0], point[1] + placement.offset[1]
        if not (0 < down < self._board.height - 1 and 0 < across < self._board.width - 1):
            return False
        if not any(words[argument] in placement.empty for argument in placement.pieces):
            self._boxes.append(Cell(self._spot(place), down, across, (self._piece(placement, words),)))
        return True

    def _lines(self) -> tuple[LineSegment, ...]:
        pairs = dict.fromkeys([*self._board.lines, *self._drawn])
        places = self._board.places
        return tuple(
            LineSegment(
                self._spot(start),
                self._spot(end),
                *places[start],
                *places[end],
                (start, end) in self._drawn,
                self._drawn.get((start, end)),
            )
            for start, end in pairs
        )

    def _stacks(self, placement: Placement) -> Board:
        """A column for each thing that lies on nothing, with what lies on it above."""
        below: dict[str, str] = {}
        for fact, words in self._rows.get(placement.relation, ()):
            below[words[placement.place[0]]] = words[placement.end[0]]
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
