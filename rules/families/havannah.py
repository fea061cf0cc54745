"""Havannah on a hexagon of any size."""

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {"control": "To move", "winner": "Winner", "black": "Black", "white": "White"}
_MOVES = {"place": "{1}{2}", "noop": ""}

_RULES = """\
; Havannah on a hexagon of hexagons with {size} on each side; X is the column, Y the row from the top.
;
; (place X Y) puts a stone on an empty cell. A fork (three sides), a bridge (two corners) or a ring (around any cell)
; of connected stones wins. The state holds (cell X Y ROLE), (control ROLE), (winner ROLE), and (linked KIND NUMBER X Y)
; for each stone that is connected to a side or corner by stones of its role, so that a step only has to follow what the
; new stone adds.

(role white)
(role black)

(opponent white black)
(opponent black white)

; the board

{cells}
{right}
{down}

(<= (step ?x ?y ?x2 ?y)
    (point ?x ?y)
    (right ?x ?x2)
    (point ?x2 ?y))
(<= (step ?x ?y ?x ?y2)
    (point ?x ?y)
    (down ?y ?y2)
    (point ?x ?y2))
(<= (step ?x2 ?y ?x ?y2)
    (point ?x2 ?y)
    (right ?x ?x2)
    (down ?y ?y2)
    (point ?x ?y2))
(<= (adjacent ?x ?y ?x2 ?y2)
    (step ?x ?y ?x2 ?y2))
(<= (adjacent ?x2 ?y2 ?x ?y)
    (step ?x ?y ?x2 ?y2))

; (edge KIND NUMBER X Y): sides are without their corners

{edges}

(<= (rim ?x ?y)
    (edge ?kind ?n ?x ?y))
(<= (inner ?x ?y)
    (point ?x ?y)
    (not (rim ?x ?y)))

; facts and moves

(<= (base (cell ?x ?y ?role))
    (role ?role)
    (point ?x ?y))
(<= (base (linked ?kind ?n ?x ?y))
    (edge ?kind ?n ?x1 ?y1)
    (point ?x ?y))
(<= (base (control ?role))
    (role ?role))
(<= (base (winner ?role))
    (role ?role))

(<= (input ?role (place ?x ?y))
    (role ?role)
    (point ?x ?y))
(<= (input ?role noop)
    (role ?role))

; the start

(init (control white))

; moves

(<= (taken ?x ?y)
    (true (cell ?x ?y ?role)))
(<= (empty ?x ?y)
    (point ?x ?y)
    (not (taken ?x ?y)))

(<= (legal ?role (place ?x ?y))
    (true (control ?role))
    (empty ?x ?y))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

; effects

(<= (next (cell ?x ?y ?role))
    (does ?role (place ?x ?y)))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role)))
(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))

; (reached KIND NUMBER X Y): the stone that lies here after the step is connected to this side or corner

(<= (mine ?x ?y)
    (true (control ?role))
    (true (cell ?x ?y ?role)))
(<= (mine ?x ?y)
    (does ?role (place ?x ?y)))
(<= (reached ?kind ?n ?x ?y)
    (true (linked ?kind ?n ?x ?y)))
(<= (reached ?kind ?n ?x ?y)
    (does ?role (place ?x ?y))
    (edge ?kind ?n ?x ?y))
(<= (reached ?kind ?n ?x ?y)
    (mine ?x ?y)
    (adjacent ?x ?y ?x2 ?y2)
    (mine ?x2 ?y2)
    (reached ?kind ?n ?x2 ?y2))
(<= (next (linked ?kind ?n ?x ?y))
    (reached ?kind ?n ?x ?y))

; forks and bridges of the group of the new stone

(<= (joins ?kind ?n)
    (does ?role (place ?x ?y))
    (reached ?kind ?n ?x ?y))
(<= wins
    (joins corner ?n)
    (joins corner ?m)
    (less ?n ?m))
(<= wins
    (joins side ?n)
    (joins side ?m)
    (less ?n ?m)
    (joins side ?k)
    (less ?m ?k))

; rings: a cell without a stone of the role from which the rim cannot be reached, or a stone with six of its role around

(<= (outside ?x ?y)
    (rim ?x ?y)
    (not (mine ?x ?y)))
(<= (outside ?x ?y)
    (inner ?x ?y)
    (not (mine ?x ?y))
    (adjacent ?x ?y ?x2 ?y2)
    (outside ?x2 ?y2))
(<= wins
    (inner ?x ?y)
    (not (mine ?x ?y))
    (not (outside ?x ?y)))
(<= (open ?x ?y)
    (adjacent ?x ?y ?x2 ?y2)
    (not (mine ?x2 ?y2)))
(<= wins
    (inner ?x ?y)
    (mine ?x ?y)
    (not (open ?x ?y)))

(<= (next (winner ?role))
    (true (control ?role))
    wins)

; the end

(<= decided
    (true (winner ?role)))
(<= unfilled
    (empty ?x ?y))
(<= terminal
    decided)
(<= terminal
    (not unfilled))

(<= (goal ?role 100)
    (true (winner ?role)))
(<= (goal ?loser 0)
    (true (winner ?role))
    (opponent ?role ?loser))
(<= (goal ?role 50)
    (role ?role)
    (not decided))

; numbers

{less}
"""


def write(size: int) -> Sheet:
    """Each side of the hexagon has so many cells."""
    wide = 2 * size - 1
    columns, rows = "abcdefghijklmnopqrs"[:wide], range(1, wide + 1)
    cells = [
        (across, down)
        for down in range(wide)
        for across in range(wide)
        if size - 1 <= across + down <= 3 * size - 3
    ]  # fmt: skip
    on = {cell: [k for k, side in enumerate(_sides(*cell, size - 1), 1) if side] for cell in cells}
    corners = [cell for cell in cells if len(on[cell]) == 2]
    edges = [("side", on[x, y][0], columns[x], y + 1) for x, y in cells if len(on[x, y]) == 1]
    edges += [("corner", k, columns[x], y + 1) for k, (x, y) in enumerate(corners, 1)]
    rules = _RULES.format(
        size=size,
        cells=packed_facts("point", [(columns[x], y + 1) for x, y in cells]),
        right=chain("right", columns),
        down=chain("down", rows),
        edges=packed_facts("edge", sorted(edges)),
        less=packed_facts("less", [(one, other) for other in range(2, 7) for one in range(1, other)]),
    )
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, rows)],
        "columns": [*columns],
        "cells": ["".join("x" if (x, y) in on else " " for x in range(wide)).rstrip() for y in range(wide)],
        "shape": "hexagons",
        "shift": 0.5,
    }
    return Sheet(
        rules,
        {
            "title": f"Havannah with sides of {size}",
            "roles": {"white": "moves first", "black": "moves second"},
            "drawing": {"hidden": ["linked"], "board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


def _sides(x: int, y: int, n: int) -> tuple[bool, ...]:
    """On which of the six sides a cell is; column and row counted from 0, sides of n + 1."""
    return (y == 0, x + y == 3 * n, x == 2 * n, y == 2 * n, x + y == n, x == 0)


FAMILY = Family(
    "A ring, a bridge between two corners, or a fork between three sides of a hexagon.",
    {"size": Parameter("cells of a side", 4, least=3, most=10)},
    write,
)
