"""Rubik's cube of 2 by 2 by 2, from the start that some turns of the solved cube lead to."""

from itertools import product

from ggp.families import Family, Parameter, Sheet, facts, successors

Sticker = tuple[tuple[int, ...], tuple[int, ...]]  # the corner that it is on, and the direction in which its face looks

_RULES = """\
; Rubik's cube of 2 by 2 by 2: bring it in order within {limit} turns. It starts after {start}.
;
; (turn FACE WAY) turns the right, upper or front face as one sees it from outside; the corner at the left, below and
; behind stays where it is, so that turns of the other three faces are not needed. The state holds the stickers of the
; cube as it is unfolded, (sticker X Y COLOUR), and (step N). X counts from 1 at the left, Y from 1 at the top: the
; upper face is above the front one, and left, front, right and back are in a row.

(role solver)

(way clockwise)
(way half)
(way counterclockwise)

{numbers}
; (solved X Y COLOUR)
{solved}
; (quarter FACE X Y X2 Y2): a quarter of a turn clockwise brings the sticker from the first place to the second
{quarters}
(<= (brings ?face clockwise ?x ?y ?x2 ?y2)
    (quarter ?face ?x ?y ?x2 ?y2))
(<= (brings ?face half ?x ?y ?x3 ?y3)
    (quarter ?face ?x ?y ?x2 ?y2)
    (quarter ?face ?x2 ?y2 ?x3 ?y3))
(<= (brings ?face counterclockwise ?x2 ?y2 ?x ?y)
    (quarter ?face ?x ?y ?x2 ?y2))

(<= (place ?x ?y)
    (solved ?x ?y ?colour))
(<= (colour ?colour)
    (solved ?x ?y ?colour))
(<= (face ?face)
    (quarter ?face ?x ?y ?x2 ?y2))

(<= (base (sticker ?x ?y ?colour))
    (place ?x ?y)
    (colour ?colour))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))
(<= (input solver (turn ?face ?way))
    (face ?face)
    (way ?way))

{stickers}(init (step 0))

(<= (legal solver (turn ?face ?way))
    (face ?face)
    (way ?way))

(<= (filled ?x2 ?y2)
    (does solver (turn ?face ?way))
    (brings ?face ?way ?x ?y ?x2 ?y2))
(<= (next (sticker ?x2 ?y2 ?colour))
    (does solver (turn ?face ?way))
    (brings ?face ?way ?x ?y ?x2 ?y2)
    (true (sticker ?x ?y ?colour)))
(<= (next (sticker ?x ?y ?colour))
    (true (sticker ?x ?y ?colour))
    (not (filled ?x ?y)))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= mixed
    (solved ?x ?y ?colour)
    (not (true (sticker ?x ?y ?colour))))
(<= terminal
    (not mixed))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    (not mixed))
(<= (goal solver 0)
    mixed)
"""

_FACES = {
    "up": ((0, 1, 0), "white", (3, 1)),
    "left": ((-1, 0, 0), "orange", (1, 3)),
    "front": ((0, 0, 1), "green", (3, 3)),
    "right": ((1, 0, 0), "red", (5, 3)),
    "back": ((0, 0, -1), "blue", (7, 3)),
    "down": ((0, -1, 0), "yellow", (3, 5)),
}  # where the face looks (right, up, to the front), its colour, and its first column and row when unfolded
_WORDS = {
    "step": "Turns", "right": "R", "up": "U", "front": "F", "clockwise": "", "half": "2", "counterclockwise": "′",
}  # fmt: skip
_WAYS = {"": 1, "2": 2, "'": 3}  # what is written behind the letter of a face → quarters clockwise


def _turned(vector: tuple[int, ...], face: str) -> tuple[int, ...]:
    """Where a quarter of a turn of the face, clockwise as seen from outside, brings a point or a direction."""
    x, y, z = vector
    return {"right": (x, z, -y), "up": (-z, y, x), "front": (y, -x, z)}[face]


def _places() -> dict[Sticker, tuple[int, int]]:
    """Column and row of each sticker of the unfolded cube."""
    found = {}
    for name, (look, _, (column, row)) in _FACES.items():
        for corner in product((-1, 1), repeat=3):
            x, y, z = corner
            across = {"right": -z, "left": z, "back": -x}.get(name, x)
            along = {"up": z, "down": -z}.get(name, -y)
            if sum(a * b for a, b in zip(corner, look, strict=True)) == 1:
                found[corner, look] = (column + (across > 0), row + (along > 0))
    return found


def _quarter(places: dict[Sticker, tuple[int, int]], face: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Where a quarter of a turn brings the stickers of a face and of the corners on it."""
    look = _FACES[face][0]
    return {
        place: places[_turned(corner, face), _turned(direction, face)]
        for (corner, direction), place in places.items()
        if sum(a * b for a, b in zip(corner, look, strict=True)) == 1
    }


def write(start: str, limit: int) -> Sheet:
    """The start is what these turns make of the solved cube: R, U and F with 2 for half and ' for counterclockwise."""
    places = _places()
    quarters = {face: _quarter(places, face) for face in ("right", "up", "front")}
    solved = {
        place: _FACES[name][1] for name in _FACES for (_, look), place in places.items() if look == _FACES[name][0]
    }
    stickers = dict(solved)
    for turn in start.split():
        face = next(name for name in quarters if name[0].upper() == turn[0])
        for _ in range(_WAYS[turn[1:]]):
            stickers |= {to: stickers[place] for place, to in quarters[face].items()}
    rules = _RULES.format(
        limit=limit,
        start=start,
        numbers=successors(limit),
        solved=facts("solved", ((*place, colour) for place, colour in sorted(solved.items()))),
        quarters=facts("quarter", ((face, *place, *to) for face in quarters for place, to in quarters[face].items())),
        stickers="".join(f"(init (sticker {x} {y} {colour}))\n" for (x, y), colour in sorted(stickers.items())),
    )
    blocks = {colour: {"symbol": "block", "colour": colour, "letters": colour[0]} for _, colour, _ in _FACES.values()}
    board = {
        "fact": "sticker", "row": 2, "column": 1, "piece": 3, "rows": [*"123456"], "columns": [*"12345678"],
        "cells": ["  xx    ", "  xx    ", "xxxxxxxx", "xxxxxxxx", "  xx    ", "  xx    "],
        "row_labels": [], "column_labels": [], "marks": blocks,
    }  # fmt: skip
    return Sheet(
        rules,
        {
            "roles": {"solver": "turns the faces"},
            "drawing": {"board": board, "words": _WORDS, "moves": {"turn": "{1}{2}"}},
        },
    )


FAMILY = Family(
    "Bring the corners of a cube in order by turns of its faces.",
    {
        "start": Parameter(
            "turns of the solved cube, with a space between them: R, U, F, behind each nothing, 2 or '",
            "U R U F' U2 R F' U2 R2 F R'",
            pattern=r"[RUF][2']?( [RUF][2']?)*",
        ),
        "limit": Parameter("turns after which the match ends", 20, 1, 100),
    },
    write,
)
