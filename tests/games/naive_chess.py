"""A plain model of chess on a small board: each move is tried out, and then the king must not be attacked."""

from collections.abc import Iterator

from tests.games.naive_boards import AROUND, STRAIGHT, Point, ahead, name

Pieces = dict[Point, tuple[str, str]]  # role and kind of the piece on a cell
SIZE = 5
JUMPS = tuple((x * u, y * v) for x, y in ((1, 2), (2, 1)) for u in (1, -1) for v in (1, -1))
ASLANT = tuple(step for step in AROUND if step not in STRAIGHT)
RIDES = {"queen": AROUND, "rook": STRAIGHT, "bishop": ASLANT, "king": AROUND, "knight": JUMPS}
FORWARD = {"white": 1, "black": -1}
LAST = {"white": SIZE - 1, "black": 0}


def reached(pieces: Pieces, start: Point) -> Iterator[Point]:
    """Where the piece on a cell can go or take, whatever becomes of its king."""
    role, kind = pieces[start]
    if kind == "pawn":
        for dx in (-1, 0, 1):
            to = (start[0] + dx, start[1] + FORWARD[role])
            is_taken = to in pieces and pieces[to][0] != role
            if to in ahead(start, (dx, FORWARD[role]), SIZE) and (is_taken if dx else to not in pieces):
                yield to
        return
    for step in RIDES[kind]:
        way = ahead(start, step, SIZE)
        for to in way[:1] if kind in ("king", "knight") else way:
            if to not in pieces or pieces[to][0] != role:
                yield to
            if to in pieces:
                break


def in_check(pieces: Pieces, role: str) -> bool:
    king = next(cell for cell, piece in pieces.items() if piece == (role, "king"))
    return any(king in reached(pieces, cell) for cell, (owner, _) in pieces.items() if owner != role)


def minichess(pieces: Pieces, role: str) -> Iterator[tuple[str, Pieces]]:
    """The legal moves, with the pieces after them."""
    for start, (owner, kind) in pieces.items():
        for to in reached(pieces, start) if owner == role else ():
            left = {cell: piece for cell, piece in pieces.items() if cell != start}
            if in_check(left | {to: (role, kind)}, role):
                continue
            if kind == "pawn" and to[1] == LAST[role]:
                for other in ("queen", "rook", "bishop", "knight"):
                    yield f"(promote {name(start)} {name(to)} {other})", left | {to: (role, other)}
            else:
                yield f"(move {name(start)} {name(to)})", left | {to: (role, kind)}
