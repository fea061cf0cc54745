"""What a state looks like, however it is painted: boards with cells, pieces, walls and lines; values; the rest.

Places are in units of one cell, counted from the upper left corner: `down` and `across` of a cell are those of its
middle, whole numbers where cells stand in rows and columns.
"""

from dataclasses import dataclass
from typing import Literal

from ggp.boards.marks import Mark
from ggp.gdl.terms import Term

Shape = Literal[
    "squares",
    "hexagons",  # rows one above the other, shifted by halves of a cell
    "dots",  # points of a grid with lines between them; what is on a cell is on its point
    "points",  # points without a grid
    "row",  # one row of named cells
    "stacks",  # what lies on what, from the lowest row up
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
    notes: tuple[str, ...] = ()  # names of facts that are about the cell and name nothing on it; it is highlighted

    @property
    def text(self) -> str:
        """For people who cannot see it: `2 3: white king`."""
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
class Line:
    """A line from one cell to another; also one that could be drawn and is not there yet."""

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


@dataclass(frozen=True, slots=True)
class Board:
    """One board. `down` and `across` count boards: where it stands among the others."""

    name: str  # as in the spots of its cells; empty where there is one only
    title: str
    shape: Shape
    height: float  # in cells
    width: float
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    cells: tuple[Cell, ...]  # from the upper left to the lower right
    boxes: tuple[Cell, ...] = ()  # squares between four dots that somebody owns
    walls: tuple[Wall, ...] = ()
    lines: tuple[Line, ...] = ()
    guides: tuple[tuple[tuple[float, float], tuple[float, float]], ...] = ()  # from and to, each down and across
    shade: int | None = None  # cells whose down + across leaves this remainder by 2 are darker
    down: int = 0
    across: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of several: `xplayer` and `10` of `coins`; either text may be empty."""

    key: str
    value: str
    mark: Mark | None = None  # of the piece, or of the role, that the value or else the key is called


@dataclass(frozen=True, slots=True)
class Value:
    """A label with what it holds: whose turn it is, counters, hands."""

    label: str
    entries: tuple[Entry, ...]  # in natural order; none where the fact has no arguments


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole state."""

    boards: tuple[Board, ...]
    values: tuple[Value, ...]
    rest: tuple[Term, ...]  # facts that nothing above shows
    listed: tuple[Term, ...]  # facts that no board shows: those of the values, and the rest; in natural order

    def cell(self, spot: Spot) -> Cell | None:
        return next((cell for board in self.boards for cell in board.cells if cell.spot == spot), None)
