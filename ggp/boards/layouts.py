"""How the facts of one game become a picture: worked out once for a game, used for each of its states."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ggp.boards.marks import Mark
from ggp.boards.picture import Label, Shape, Side
from ggp.gdl.logic_program import Relation

Place: TypeAlias = tuple[str, ...]  # the constants of the coordinates of a cell, in the order of the rules
Point: TypeAlias = tuple[float, float]  # down, across
Kind = Literal["pieces", "notes", "walls", "lines", "boxes", "stacks"]


@dataclass(frozen=True, slots=True)
class Source:
    """How the facts of one relation are put on one board. Numbers are places of arguments, counted from 0."""

    relation: Relation
    kind: Kind
    place: tuple[int, ...]  # the coordinates
    fixed: tuple[tuple[int, str], ...] = ()  # arguments that must be these constants, or the fact is of another board
    pieces: tuple[int, ...] = ()  # what is there; none where the fact itself says it
    empty: frozenset[str] = frozenset()  # names of contents that are shown as an empty cell
    end: tuple[int, ...] = ()  # of lines: the coordinates of the other end
    offset: Point = (0.0, 0.0)  # of boxes: where the middle of the box is, from the point that names it
    side: Side | None = None  # of walls, where the name of the relation says it
    side_argument: int | None = None  # of walls, where an argument says it
    sign: str = ""


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """One board without what is on it."""

    name: str
    title: str
    shape: Shape
    places: Mapping[Place, Point] = field(repr=False)
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    sources: tuple[Source, ...]
    lines: tuple[tuple[Place, Place], ...] = field(repr=False, default=())  # that can be drawn on it
    guides: tuple[tuple[Point, Point], ...] = field(
        repr=False, default=()
    )  # lines that only show what belongs together
    shade: int | None = None  # see `Board`
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
    """Which arguments of a move name a cell. Numbers are places of arguments, counted from 0."""

    boards: Mapping[Place, str]  # constants of `index` → the board
    index: tuple[int, ...]
    place: tuple[int | None, ...]  # None: any constant; a move that names a column means all of its cells


@dataclass(frozen=True, slots=True)
class Layout:
    """How to draw the states of a game; made by `find_layout`, read by `make_picture` and `move_cells`."""

    boards: tuple[BoardLayout, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)  # of the pieces by name, and of the roles
    clicks: Mapping[Relation, tuple[Click, ...]] = field(default_factory=dict)
