"""Marks → shapes: how pieces look."""

from itertools import pairwise
from math import cos, pi, sin, sqrt

from ggp.boards.marks import CHESS, Colour, Mark
from ggp.boards.shapes import Brush, Circle, Point, Polygon, Polyline, Rect, Shape, Text, placed

_MOST_SEEDS = 60  # that are drawn
_PERSON: tuple[Point, ...] = (
    (-0.28, 0.38), (-0.28, 0.16), (-0.2, 0.04), (-0.1, 0.0), (0.1, 0.0), (0.2, 0.04), (0.28, 0.16), (0.28, 0.38),
)  # fmt: skip
_BASE: tuple[Point, ...] = ((-0.3, 0.42), (0.3, 0.42), (0.3, 0.36), (0.23, 0.29), (-0.23, 0.29), (-0.3, 0.36))
_PAWN: tuple[Point, ...] = ((-0.2, 0.3), (-0.08, -0.04), (-0.15, -0.04), (-0.15, -0.1), (0.15, -0.1), (0.15, -0.04),
                            (0.08, -0.04), (0.2, 0.3))  # fmt: skip
_ROOK: tuple[Point, ...] = (
    (-0.21, 0.3), (-0.16, -0.1), (-0.25, -0.17), (-0.25, -0.38), (-0.14, -0.38), (-0.14, -0.29), (-0.055, -0.29),
    (-0.055, -0.38), (0.055, -0.38), (0.055, -0.29), (0.14, -0.29), (0.14, -0.38), (0.25, -0.38), (0.25, -0.17),
    (0.16, -0.1), (0.21, 0.3),
)  # fmt: skip
_BISHOP: tuple[Point, ...] = (
    (-0.17, 0.3), (-0.12, 0.16), (-0.21, 0.05), (-0.21, -0.12), (-0.12, -0.24), (0.0, -0.37), (0.12, -0.24),
    (0.21, -0.12), (0.21, 0.05), (0.12, 0.16), (0.17, 0.3),
)  # fmt: skip
_QUEEN: tuple[Point, ...] = (
    (-0.23, 0.3), (-0.38, -0.18), (-0.2, 0.05), (-0.18, -0.3), (-0.06, 0.02), (0.0, -0.34), (0.06, 0.02), (0.18, -0.3),
    (0.2, 0.05), (0.38, -0.18), (0.23, 0.3),
)  # fmt: skip
_KING: tuple[Point, ...] = (
    (-0.22, 0.3), (-0.38, 0.02), (-0.37, -0.15), (-0.22, -0.21), (-0.07, -0.12), (0.0, -0.27), (0.07, -0.12),
    (0.22, -0.21), (0.37, -0.15), (0.38, 0.02), (0.22, 0.3),
)  # fmt: skip
_CROWN_CROSS: tuple[Point, ...] = (
    (-0.035, -0.2), (-0.035, -0.31), (-0.11, -0.31), (-0.11, -0.38), (-0.035, -0.38), (-0.035, -0.46), (0.035, -0.46),
    (0.035, -0.38), (0.11, -0.38), (0.11, -0.31), (0.035, -0.31), (0.035, -0.2),
)  # fmt: skip
_KNIGHT: tuple[Point, ...] = (
    (0.24, 0.3), (0.26, 0.08), (0.22, -0.12), (0.14, -0.26), (0.03, -0.34), (-0.02, -0.45), (-0.09, -0.35),
    (-0.17, -0.29), (-0.22, -0.17), (-0.35, 0.0), (-0.36, 0.09), (-0.28, 0.14), (-0.2, 0.08), (-0.08, 0.05),
    (-0.05, 0.06), (-0.09, 0.15), (-0.18, 0.22), (-0.21, 0.3),
)  # fmt: skip
_CROWN: tuple[Point, ...] = (
    (-0.36, 0.26), (-0.44, -0.22), (-0.2, 0.02), (0.0, -0.34), (0.2, 0.02), (0.44, -0.22), (0.36, 0.26),
)  # fmt: skip
_WEDGE: tuple[Point, ...] = ((0.0, -0.44), (0.27, -0.31), (0.37, 0.4), (-0.37, 0.4), (-0.27, -0.31))
_TIPS: tuple[Point, ...] = ((-0.38, -0.2), (-0.18, -0.32), (0.0, -0.37), (0.18, -0.32), (0.38, -0.2))
# Strokes of the signs of shogi, by the letter of the piece in English notation: corners as digits across and down.
_KANJI = {
    "K": "22-82 25-85 18-98 52-58",
    "R": "10-60-63-84-94 80-62 92-73 15-44 06-56 24-27-09 44-49 55-75-77-99-98 85-76 97-88",
    "B": "40-13 31-71-53 23-26-19 23-83-89-78 53-58 25-85 27-87",
    "G": "50-14 50-94 34-74 26-86 54-59 37-48 77-68 19-99",
    "S": "20-03 20-43 13-33 05-45 23-28 06-17 46-37 09-49 60-90-94-64 62-92 60-69-87 95-77 74-99",
    "P": "50-54 52-82 22-24 14-94 54-58 35-17 75-96 86-68-29",
    "+R": "50-51 12-82 23-34 73-64 04-94 25-85-88-28-25 26-86 54-59-99-97",
    "+B": "20-26 20-80 22-82 24-84 50-56 26-96-98-79 17-08 38-39 58-59 78-79",
    "+S": "50-14 50-94 35-75 27-87 19-99 55-59",
    "+P": "30-44 82-45-26-27-39-89",
}
_ON_DARK = frozenset(("blue", "grey", "red"))  # colours with light letters
_OUTLINE = 0.025


def piece_shapes(mark: Mark, x: float, y: float, size: float) -> tuple[Shape, ...]:
    """The shapes of a mark in a square of this size around a point. Pieces of chess are drawn by hand."""
    size *= mark.size if mark.symbol != "bar" else 1.0
    brush = Brush(mark.colour, _edge(mark.colour), max(1.0, _OUTLINE * size))
    match mark.symbol:
        case "cross":
            return _cross(mark.colour, x, y, size)
        case "ring":
            return (Circle(x, y, 0.29 * size, Brush(None, mark.colour, 0.11 * size)),)
        case "disc" | "crowned":
            return _disc(mark, brush, x, y, size)
        case "block":
            side = 0.84 * size
            return (Rect(x - side / 2, y - side / 2, side, side, Brush(mark.colour), 0.08 * size),)
        case "text" | "badge" | "wedge" | "turned_wedge" | "card" | "die":
            return _lettered(mark, x, y, size, brush)
        case _ if mark.symbol in CHESS:
            piece = (placed(shape, x, y, size) for shape in _piece(mark, brush))
            return (*piece, *_owner(mark, x, y + 0.17 * size, 0.5 * size, ""))
        case _:
            return _boxed(mark, brush, x, y, size)


def _disc(mark: Mark, brush: Brush, x: float, y: float, size: float) -> tuple[Shape, ...]:
    disc = Circle(x, y, 0.38 * size, brush)
    if mark.symbol == "crowned":
        crown = tuple((x + 0.6 * size * u, y + 0.6 * size * v) for u, v in _CROWN)
        return (disc, Polygon(crown, _inner(mark.colour)))
    return (disc,) if mark.is_plain else (disc, *_owner(mark, x, y, 0.8 * size, mark.letters))


def _boxed(mark: Mark, brush: Brush, x: float, y: float, size: float) -> tuple[Shape, ...]:
    """The shapes of the symbols for things that are no pieces of classical games."""
    match mark.symbol:
        case "dot":
            return (Circle(x, y, 0.13 * size, brush),)
        case "frame":
            side = 0.66 * size
            return (Rect(x - side / 2, y - side / 2, side, side, Brush(None, mark.colour, 0.11 * size), 0.05 * size),)
        case "bar":
            wide, high = 0.98 * mark.size * size, 0.3 * size
            return (Rect(x - wide / 2, y - high / 2, wide, high, brush, 0.12 * size),)
        case "person":
            body = Polygon(tuple((x + size * u, y + size * v) for u, v in _PERSON), brush)
            return (body, Circle(x, y - 0.2 * size, 0.15 * size, brush))
        case "crate":
            return _crate(brush, x, y, size)
        case _:
            return _seeds(mark, brush, x, y, size)


def _crate(brush: Brush, x: float, y: float, size: float) -> tuple[Shape, ...]:
    half = 0.38 * size
    plank = Brush(None, brush.stroke, 0.05 * size)
    box = Rect(x - half, y - half, 2 * half, 2 * half, Brush(brush.fill, brush.stroke, 0.05 * size), 0.06 * size)
    planks = (((x - half, y - half), (x + half, y + half)), ((x - half, y + half), (x + half, y - half)))
    return (box, *(Polyline(ends, plank) for ends in planks))


def _card(mark: Mark, x: float, y: float, size: float) -> tuple[Shape, ...]:
    wide, high = 0.64 * size, 0.9 * size
    paper = Rect(x - wide / 2, y - high / 2, wide, high, Brush("white", "white-edge", 0.02 * size), 0.08 * size)
    paint = "on-light" if mark.colour in ("white", "black") else mark.colour
    return (paper, Text(x, y, mark.letters, _size(mark.letters, 0.72 * size), paint, is_bold=True))


def _die(mark: Mark, x: float, y: float, size: float) -> tuple[Shape, ...]:
    """Spots as on any die, up to six."""
    number = int(mark.letters) if mark.letters.isdecimal() else 0
    side, far = 0.72 * size, 0.19 * size
    corners = ((-1, -1), (1, 1), (-1, 1), (1, -1), (-1, 0), (1, 0))[: number - number % 2]
    spots = (*corners, (0, 0)) if number % 2 else corners
    cube = Rect(x - side / 2, y - side / 2, side, side, Brush("white", "white-edge", 0.02 * size), 0.14 * size)
    return (cube, *(Circle(x + far * u, y + far * v, 0.07 * size, Brush("on-light")) for u, v in spots))


def _seeds(mark: Mark, brush: Brush, x: float, y: float, size: float) -> tuple[Shape, ...]:
    """So many seeds on a spiral in which neighbours are equally far apart (Vogel 1979), and their number."""
    number = int(mark.letters) if mark.letters.isdecimal() else 0
    if number == 0:
        return ()
    turn = pi * (3 - sqrt(5))
    far = 0.36 * size / sqrt(max(number, 7))
    shapes: list[Shape] = []
    for seed in range(min(number, _MOST_SEEDS)):
        away, angle = far * sqrt(seed + 0.5), seed * turn
        shapes.append(Circle(x + away * cos(angle), y - 0.06 * size + away * sin(angle), 0.5 * far, brush))
    return (*shapes, Text(x, y + 0.4 * size, mark.letters, 0.22 * size, "dim"))


def _inner(colour: Colour) -> Brush:
    """What shows on a piece of this colour."""
    return Brush(_on(colour))


def _lettered(mark: Mark, x: float, y: float, size: float, brush: Brush) -> tuple[Shape, ...]:
    match mark.symbol:
        case "text":
            return (Text(x, y, mark.letters, _size(mark.letters, 1.2 * size), "ink", is_bold=True),)
        case "wedge" | "turned_wedge":
            return _wedge(mark, x, y, size, brush)
        case "card":
            return _card(mark, x, y, size)
        case "die":
            return _die(mark, x, y, size)
        case _:
            side = 0.76 * size
            box = Rect(x - side / 2, y - side / 2, side, side, brush, 0.2 * size)
            return (box, _letters(mark.letters, mark.colour, x, y, size))


def _wedge(mark: Mark, x: float, y: float, size: float, brush: Brush) -> tuple[Shape, ...]:
    up = -1 if mark.symbol == "turned_wedge" else 1
    outline = Polygon(tuple((x + size * u, y + up * size * v) for u, v in _WEDGE), brush)
    strokes = _KANJI.get(mark.letters.upper(), "").split()
    if not strokes:
        return (outline, _letters(mark.letters, mark.colour, x, y + up * 0.06 * size, 0.8 * size))
    ink, unit = Brush(None, _on(mark.colour), 0.045 * size), up * 0.057 * size
    lines = [[(int(point[0]) - 4.8, int(point[1]) - 3.6) for point in stroke.split("-")] for stroke in strokes]
    return (outline, *(Polyline(tuple((x + unit * u, y + unit * v) for u, v in line), ink) for line in lines))


def _owner(mark: Mark, x: float, y: float, size: float, other: str) -> tuple[Shape, ...]:
    """Letters on pieces that would differ by colour alone; black and white differ enough."""
    text = mark.owner or other
    return (_letters(text, mark.colour, x, y, size),) if text and mark.colour not in ("white", "black") else ()


def _letters(text: str, colour: Colour, x: float, y: float, size: float) -> Text:
    return Text(x, y, text, _size(text, size), _on(colour), is_bold=True)


def _on(colour: Colour) -> str:
    """The paint that can be read on this colour."""
    return "black-edge" if colour == "black" else "on-dark" if colour in _ON_DARK else "on-light"


def _size(text: str, size: float) -> float:
    """The size of letters that fit into a square."""
    return min(0.5 * size, 1.15 * size / max(1, len(text)))


def _edge(colour: Colour) -> str:
    return f"{colour}-edge" if colour in ("white", "black") else "edge"


def _cross(colour: Colour, x: float, y: float, size: float) -> tuple[Shape, ...]:
    arm = 0.27 * size
    brush = Brush(None, colour, 0.12 * size)
    return (
        Polyline(((x - arm, y - arm), (x + arm, y + arm)), brush),
        Polyline(((x - arm, y + arm), (x + arm, y - arm)), brush),
    )


def _piece(mark: Mark, brush: Brush) -> tuple[Shape, ...]:
    """A piece of chess in the square of side 1."""
    assert mark.symbol in CHESS
    base = Polygon(_BASE, brush)
    line = Brush(None, brush.stroke, brush.width)
    match mark.symbol:
        case "pawn":
            return (Polygon(_PAWN, brush), base, Circle(0.0, -0.2, 0.14, brush))
        case "rook":
            return (Polygon(_ROOK, brush), base, Polyline(((-0.16, -0.1), (0.16, -0.1)), line))
        case "bishop":
            slit = Polyline(((0.02, -0.16), (0.1, -0.02)), line)
            return (Polygon(_rounded(_BISHOP), brush), base, slit, Circle(0.0, -0.38, 0.05, brush))
        case "queen":
            tips = tuple(Circle(tip[0], tip[1], 0.05, brush) for tip in _TIPS)
            return (Polygon(_QUEEN, brush), *tips, base)
        case "king":
            return (Polygon(_CROWN_CROSS, brush), Polygon(_rounded(_KING), brush), base)
        case _:
            eye = Circle(-0.13, -0.17, 0.025, Brush(brush.stroke))
            return (Polygon(_rounded(_KNIGHT), brush), base, eye)


def _rounded(points: tuple[Point, ...], times: int = 2) -> tuple[Point, ...]:
    """The polygon with its corners cut (Chaikin, 1974), except the first and the last point."""
    for _ in range(times):
        cut: list[Point] = [points[0]]
        for (x, y), (u, v) in pairwise(points):
            cut += [(0.75 * x + 0.25 * u, 0.75 * y + 0.25 * v), (0.25 * x + 0.75 * u, 0.25 * y + 0.75 * v)]
        points = (*cut, points[-1])
    return points
