"""A picture as values: boards, labelled values, other facts; and names of pieces → marks.

Lengths are in cells, from the upper left corner. `down` and `across` of a cell are those of its middle: whole numbers
if cells stand in rows and columns. A mark is a symbol, a colour and letters, so that two pieces never differ by colour
alone.

The colours are those of Okabe and Ito (Color Universal Design, 2008), with a red that everybody calls so (Tol 2018);
people with any kind of colour vision can distinguish them. Light and dark pages use different shades.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ggp.gdl.terms import Term

Colour = Literal["white", "black", "blue", "red", "green", "orange", "purple", "sky", "yellow", "grey"]
Symbol = Literal[
    "cross",
    "ring",
    "disc",
    "crowned",  # a disc with a crown
    "block",
    "dot",
    "frame",  # the outline of a block
    "bar",  # as wide as its size says, and flat
    "crate",
    "person",
    "seeds",  # as many dots as its letters say
    "king",
    "queen",
    "rook",
    "bishop",
    "knight",
    "pawn",
    "badge",  # letters on a coloured shape
    "wedge",  # a piece of shogi, which points away from the one who plays from below; K, +R and so on become signs
    "turned_wedge",  # and towards it
    "card",  # letters on a card
    "die",  # as many spots as its letters say
    "text",  # letters alone
]

COLOURS: tuple[Colour, ...] = get_args(Colour)
SYMBOLS: tuple[Symbol, ...] = get_args(Symbol)
CHESS = frozenset(("king", "queen", "rook", "bishop", "knight", "pawn"))
EMPTY_WORDS = frozenset(("blank", "empty", "none", "nothing", "nobody", "free", "vacant", "unmarked", "available"))

SIDES = ("top", "right", "bottom", "left")

_ORDER: tuple[Colour, ...] = ("blue", "red", "green", "orange", "purple", "sky", "yellow", "grey")
_COLOUR_WORDS: dict[str, Colour] = {
    "white": "white", "black": "black", "red": "red", "crimson": "red", "blue": "blue", "green": "green",
    "yellow": "yellow", "gold": "yellow", "orange": "orange", "purple": "purple", "magenta": "purple",
    "violet": "purple", "pink": "purple", "teal": "sky", "cyan": "sky", "sky": "sky", "grey": "grey", "gray": "grey",
    "brown": "orange", "silver": "grey",
}  # fmt: skip
_INITIALS: dict[str, Colour] = {"w": "white", "b": "black", "r": "red", "y": "yellow", "g": "green"}
_KINDS: dict[str, Symbol] = {
    "king": "king", "k": "king", "queen": "queen", "q": "queen", "amazon": "queen", "rook": "rook", "castle": "rook",
    "r": "rook", "bishop": "bishop", "b": "bishop", "knight": "knight", "horse": "knight", "n": "knight",
    "pawn": "pawn", "p": "pawn", "man": "disc", "checker": "disc", "stone": "disc", "disc": "disc", "disk": "disc",
    "token": "disc", "x": "cross", "cross": "cross", "o": "ring", "nought": "ring", "ring": "ring", "wall": "block",
    "block": "block", "blk": "block", "blocked": "block", "hole": "block", "arrow": "block", "burnt": "block",
    "rock": "block", "obstacle": "block", "ground": "block", "pellet": "dot", "dot": "dot", "coin": "dot",
    "point": "dot",
}  # fmt: skip
_ALONE = frozenset(("cross", "ring", "block", "dot"))  # symbols that one letter can mean without an owner
_NATURAL: dict[Symbol | None, Colour] = {"cross": "blue", "ring": "red"}  # independent of the owner
_UNOWNED: dict[Symbol, Colour] = {"block": "grey", "dot": "orange"}
_COUNTED = 2  # letters before the number in series that only count: s0, s1, s2
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SERIES = 3  # names that make a series, such as piece1, piece2, piece3


@dataclass(frozen=True, slots=True)
class Mark:
    """How a piece looks."""

    symbol: Symbol
    colour: Colour
    letters: str  # in text, and on badges; unique among the pieces of a game
    owner: str = ""  # a letter or two for the owner, if the name contains it
    size: float = 1.0  # of the symbol, in parts of its usual size
    is_plain: bool = False  # nothing is written on it, so that only its colour and symbol say what it is
    joins: str = ""  # the side of the cell that a block reaches to: "top", "right", "bottom" or "left"


@dataclass(frozen=True, slots=True)
class _Parts:
    """A name split into owner and kind; either may be missing."""

    colour: Colour | None
    symbol: Symbol | None
    kind: str  # the source of the letters
    owner: str


def make_marks(names: Sequence[str], roles: Sequence[str], given: Mapping[str, Any] | None = None) -> dict[str, Mark]:
    """A mark for each name; names of two words (`white king`) start with the owner.

    given: name → letters, or a table with `symbol`, `colour`, `letters`, `size`, `plain` and `joins`; other values are
    ignored.
    """
    unique = list(dict.fromkeys(names))
    numbers = _series(unique) | _counts(unique)
    splitting = _initials(unique, roles)
    parts = {name: _parts(name, roles, splitting) for name in unique}
    owners = _owner_colours(parts, roles)
    taken = {*owners.values(), *(_NATURAL[part.symbol] for part in parts.values() if part.symbol in _NATURAL)}
    free = [colour for colour in _ORDER if colour not in taken] or list(_ORDER)
    marks: dict[str, Mark] = {}
    for name in unique:
        marks[name] = _mark(name, parts[name], owners, numbers.get(name), free[0])
        if marks[name].colour == free[0] and name not in owners:
            free.append(free.pop(0))
    for name, wish in (given or {}).items():
        if name in marks:
            marks[name] = _wished(marks[name], wish)
    initials = _owner_letters(parts.values())
    marks = {name: replace(mark, owner=initials.get(parts[name].owner, "")) for name, mark in marks.items()}
    return _distinct(marks, parts, given or {})


def is_empty_word(name: str) -> bool:
    """Whether the name means an empty cell."""
    return name in EMPTY_WORDS


def _initials(names: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """The owners by first letter, if all names have two letters, for owner and kind (wp, bk)."""
    firsts = {name[0] for name in names}
    if len(firsts) < 2 or any(not re.fullmatch("[a-z]{2}", name) or name[1] not in _KINDS for name in names):
        return {}
    by_role = {role[0]: role for role in reversed(roles)}
    if firsts <= by_role.keys():
        return {letter: by_role[letter] for letter in firsts}
    return {letter: _INITIALS[letter] for letter in firsts} if firsts <= _INITIALS.keys() else {}


def _parts(name: str, roles: Sequence[str], initials: Mapping[str, str]) -> _Parts:
    words = [word for word in re.split(r"[\s_\-()]+", name) if word]
    if len(words) == 1 and len(name) == 2 and name[0] in initials:
        words = [initials[name[0]], name[1]]
    elif len(words) == 1:
        words = _cut(name, roles)
    owner, kind = (words[0], " ".join(words[1:])) if len(words) > 1 else ("", words[0] if words else name)
    if len(words) == 1 and (kind in _COLOUR_WORDS or kind in roles):
        owner, kind = kind, ""
    symbol = _KINDS.get(kind)
    if not owner and symbol is not None and len(kind) == 1 and symbol not in _ALONE:
        symbol = None  # a letter that stands alone names no piece of chess
    if owner in roles and not kind:
        stem = re.sub(r"_?(player|role|team)_?", "", owner)
        symbol = _KINDS.get(stem) if _KINDS.get(stem) in ("cross", "ring") else None
        kind = stem or owner
    return _Parts(_COLOUR_WORDS.get(owner), symbol, kind, owner)


def _cut(name: str, roles: Sequence[str]) -> list[str]:
    """A name in one word split into owner and kind, if it is made of both: whiteking, blackpawn."""
    for owner in sorted({*_COLOUR_WORDS, *roles}, key=len, reverse=True):
        if name.startswith(owner) and name[len(owner) :] in _KINDS:
            return [owner, name[len(owner) :]]
        if name.endswith(owner) and name[: -len(owner)] in _KINDS:
            return [owner, name[: -len(owner)]]
    return [name]


def _owner_colours(parts: Mapping[str, _Parts], roles: Sequence[str]) -> dict[str, Colour]:
    """A colour for each owner: the one that it is called, or one that is left over."""
    owners = {part.owner: part.colour for part in parts.values() if part.owner}
    colours = {owner: colour for owner, colour in owners.items() if colour is not None}
    free = [colour for colour in _ORDER if colour not in colours.values()]
    for owner in sorted(owners, key=lambda name: list(roles).index(name) if name in roles else len(roles)):
        if owner not in colours:
            colours[owner] = free.pop(0) if free else "grey"
    return colours


def _owner_letters(parts: Iterable[_Parts]) -> dict[str, str]:
    """The first letters of owners, as many as tell them apart, three at most."""
    owners = list(dict.fromkeys(part.owner for part in parts if part.owner))
    for size in (1, 2):
        if len({owner[:size] for owner in owners}) == len(owners):
            return {owner: owner[:size] for owner in owners}
    return {owner: owner[:3] for owner in owners}


def _mark(name: str, parts: _Parts, owners: Mapping[str, Colour], number: str | None, free: Colour) -> Mark:
    if re.fullmatch(r"[+-]?\d+", name):
        return Mark("text", "black", name)
    if number is not None:
        only_counts = len(name) - len(number) <= _COUNTED or number not in name
        return Mark("text", "black", number) if only_counts else Mark("badge", owners.get(parts.owner, free), number)
    symbol = parts.symbol
    if symbol is None:
        is_disc = parts.owner == name and parts.colour is not None
        symbol = "disc" if is_disc else "badge"
    if symbol in _NATURAL:
        colour = parts.colour or _NATURAL[symbol]
    else:
        colour = owners.get(parts.owner, _UNOWNED.get(symbol, free if symbol == "badge" else "black"))
    return Mark(symbol, colour, _letters(parts))


def _letters(parts: _Parts) -> str:
    """One letter, in upper case for white pieces of chess."""
    if parts.symbol == "block":
        return "#"
    if parts.symbol == "dot":
        return "*"
    letter = "n" if parts.symbol == "knight" else (parts.kind or parts.owner)[:1]
    return letter.upper() if parts.symbol in CHESS and parts.colour == "white" else letter


def _series(names: Collection[str]) -> dict[str, str]:
    """The numbers of names that differ in nothing else: piece1, piece2 …"""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        match = re.fullmatch(r"([a-z_]+?)_?(\d+)", name)
        if match:
            found.setdefault(match[1], {})[name] = match[2]
    return {name: number for series in found.values() if len(series) >= _SERIES for name, number in series.items()}


def _counts(names: Collection[str]) -> dict[str, str]:
    """The numbers of names that say how many there are of one thing: onecoin, twocoins …"""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        word = next((word for word in _NUMBER_WORDS if name.startswith(word) and name != word), None)
        if word is not None:
            found.setdefault(name[len(word) :].strip("_s"), {})[name] = str(_NUMBER_WORDS.index(word))
    return {name: number for counts in found.values() if len(counts) > 1 for name, number in counts.items()}


def _wished(mark: Mark, wish: object) -> Mark:
    if isinstance(wish, str | int) and not isinstance(wish, bool):
        return replace(mark, letters=str(wish))
    if not isinstance(wish, Mapping):
        return mark
    symbol = next((symbol for symbol in SYMBOLS if symbol == wish.get("symbol")), mark.symbol)
    colour = next((colour for colour in COLOURS if colour == wish.get("colour")), mark.colour)
    letters = wish.get("letters")
    size, joins = wish.get("size"), wish.get("joins")
    return Mark(
        symbol,
        colour,
        letters if isinstance(letters, str) and letters else mark.letters,
        mark.owner,
        float(size) if isinstance(size, int | float) and 0 < size <= 1 else mark.size,
        wish.get("plain") is True,
        joins if joins in SIDES else mark.joins,
    )


def _distinct(marks: Mapping[str, Mark], parts: Mapping[str, _Parts], given: Mapping[str, Any]) -> dict[str, Mark]:
    """The marks with unique letters; letters from the hints stay."""
    taken = {mark.letters for name, mark in marks.items() if name in given or mark.symbol == "text"}
    found: dict[str, Mark] = {}
    for name, mark in marks.items():
        letters = mark.letters
        if name not in given and mark.symbol != "text" and letters in taken:
            letters = next(text for text in _spellings(name, parts[name], mark, marks) if text not in taken)
        taken.add(letters)
        found[name] = replace(mark, letters=letters)
    return found


def _spellings(name: str, parts: _Parts, mark: Mark, others: Collection[str]) -> list[str]:
    """Possible letters: shorter ones first, and first those with letters that no other name has."""
    kind = re.sub(r"[^a-z0-9]", "", parts.kind or parts.owner or name) or name
    foreign = "".join(other for other in others if other != name)
    seconds = sorted(kind[1:8], key=lambda letter: letter in foreign)
    pairs = [kind[0] + letter for letter in seconds]
    owned = [f"{parts.owner[0]}{mark.letters}"] if parts.owner and parts.owner != name else []
    swapped = [mark.letters.swapcase()] if mark.symbol != "badge" else []
    return [*swapped, *owned, *pairs, name, *(f"{name}{number}" for number in range(2, len(others) + 3))]


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
