"""A picture: what a state looks like, independent of text, SVG or PNG. Boards, labelled values, and other facts.

Lengths are in cells, from the upper left corner. `down` and `across` of a cell are those of its middle: whole numbers
if cells stand in rows and columns.
"""

from dataclasses import dataclass
from typing import Literal

from ggp.boards.marks import Mark
from ggp.gdl.terms import Term

BoardShape = Literal[
    "squares",
    "hexagons",  # rows one above the other, shifted by halves of a cell
    "dots",  # points of a grid with lines between them; a piece stands on its point
    "points",  # points without a grid
    "free",  # pieces without cells
    "crossings",  # lines between points; pieces stand where they meet
    "holes",  # squares of an upright sheet, each with a round hole
    "row",  # one row of named cells
    "stacks",  # columns of things that lie on each other
]
Side = Literal["top", "right", "bottom", "left"]


@dataclass(frozen=True, slots=True)
class Spot:
    """The name of a cell: its board, and the constants of its coordinates in the order of the rules."""

    board: str
    place: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.board, *self.place)).lstrip()


@dataclass(frozen=True, slots=True)
class Piece:
    """What is on a cell."""

    name: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of a board with what is on it, the lowest first."""

    spot: Spot
    down: float
    across: float
    pieces: tuple[Piece, ...] = ()
    notes: tuple[str, ...] = ()  # relations of facts that only name the cell; it is highlighted

    @property
    def text(self) -> str:
        """The cell in words, for screen readers: `2 3: white king`."""
        content = [*(piece.name for piece in self.pieces), *self.notes]
        return f"{self.spot}: {', '.join(content) or 'empty'}"


@dataclass(frozen=True, slots=True)
class Wall:
    """A line along a side of a cell, or a sign there."""

    spot: Spot
    down: float
    across: float
    side: Side
    sign: str = ""  # such as `>`, which stands on the side in place of a line
    text: str = ""


@dataclass(frozen=True, slots=True)
class LineSegment:
    """A line between two points that is drawn, or that could be drawn."""

    start: Spot
    end: Spot
    from_down: float
    from_across: float
    to_down: float
    to_across: float
    is_drawn: bool
    owner: Piece | None = None

    @property
    def text(self) -> str:
        state = "drawn" if self.is_drawn else "not drawn"
        return f"{self.start} to {self.end}: {self.owner.name if self.owner else state}"


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a row or of a column, and where it is."""

    text: str
    at: float
    term: str = ""  # what the rules call it, where that is something else; where moves are typed, this is shown


@dataclass(frozen=True, slots=True)
class Board:
    """One board with what is on it. `down` and `across` count boards: its place among the others."""

    name: str  # as in the spots of its cells; empty if the game has one board
    title: str
    shape: BoardShape
    height: float  # in cells
    width: float
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    cells: tuple[Cell, ...]  # from the upper left to the lower right
    boxes: tuple[Cell, ...] = ()  # squares between four dots that have an owner
    walls: tuple[Wall, ...] = ()
    lines: tuple[LineSegment, ...] = ()
    guides: tuple[
        tuple[tuple[float, float], tuple[float, float]], ...
    ] = ()  # (down, across) of both ends; they only show which points belong together
    shade: int | None = None  # 0 or 1: cells with (down + across) % 2 equal to it are darker
    bands: int = 0  # a thick line after each so many rows and columns of squares
    is_joined: bool = False  # blocks of the same piece on neighbouring squares are one shape
    down: int = 0
    across: int = 0


@dataclass(frozen=True, slots=True)
class ValueEntry:
    """One value of several: `xplayer` and `10` of `coins`; either text may be empty."""

    key: str
    value: str
    mark: Mark | None = None  # of the piece or role named by the value, or else by the key


@dataclass(frozen=True, slots=True)
class Value:
    """The facts of one relation that no board shows: whose turn it is, counters, hands."""

    label: str
    entries: tuple[ValueEntry, ...]  # in natural order; empty if the fact has no arguments


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole state. The values and the rest together are all facts that no board shows."""

    boards: tuple[Board, ...]
    values: tuple[Value, ...]
    rest: tuple[Term, ...]  # facts with too many arguments for a value
    listed: tuple[Term, ...]  # the facts of the values and the rest, in natural order

    def cell(self, spot: Spot) -> Cell | None:
        return next((cell for board in self.boards for cell in board.cells if cell.spot == spot), None)
