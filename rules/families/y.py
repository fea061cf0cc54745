"""Y on a triangle of any size."""

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {"control": "To move", "winner": "Winner", "black": "Black", "white": "White"}
_MOVES = {"place": "{1}{2}", "noop": ""}

_RULES = """\
; Y on a triangle of hexagons with {size} on each side; X is the column, Y the row from the top, the longest.
;
; (place X Y) puts a stone on an empty cell; who connects all three sides wins. The state holds (cell X Y ROLE),
; (control ROLE), and (linked SIDE X Y) for each stone that is connected to a side by stones of its role, so that a step
; only has to follow what the new stone adds.

(role white)
(role black)

(opponent white black)
(opponent black white)

; the board: column X of row Y, with X + Y no more than {sum} if columns are counted too

{cells}
{right}
{down}

(<= (step ?x ?y ?x2 ?y)
    (point ?x2 ?y)
    (right ?x ?x2))
(<= (step ?x ?y ?x ?y2)
    (point ?x ?y2)
    (down ?y ?y2))
(<= (step ?x2 ?y ?x ?y2)
    (point ?x2 ?y)
    (right ?x ?x2)
    (down ?y ?y2))
(<= (adjacent ?x ?y ?x2 ?y2)
    (step ?x ?y ?x2 ?y2))
(<= (adjacent ?x2 ?y2 ?x ?y)
    (step ?x ?y ?x2 ?y2))

(<= (border top ?x 1)
    (point ?x 1))
(<= (border left a ?y)
    (point a ?y))
{slope}

; facts and moves

(<= (base (cell ?x ?y ?role))
    (role ?role)
    (point ?x ?y))
(side top)
(side left)
(side slope)
(<= (base (linked ?side ?x ?y))
    (side ?side)
    (point ?x ?y))
(<= (base (control ?role))
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

(<= (legal ?role (place ?x ?y))
    (true (control ?role))
    (point ?x ?y)
    (not (taken ?x ?y)))
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

; (reached SIDE X Y): the stone that lies here after the step is connected to this side, if its role is on turn

(<= (mine ?x ?y)
    (true (control ?role))
    (true (cell ?x ?y ?role)))
(<= (mine ?x ?y)
    (does ?role (place ?x ?y)))
(<= (reached ?side ?x ?y)
    (true (linked ?side ?x ?y)))
(<= (reached ?side ?x ?y)
    (does ?role (place ?x ?y))
    (border ?side ?x ?y))
(<= (reached ?side ?x ?y)
    (side ?side)
    (mine ?x ?y)
    (adjacent ?x ?y ?x2 ?y2)
    (mine ?x2 ?y2)
    (reached ?side ?x2 ?y2))
(<= (next (linked ?side ?x ?y))
    (reached ?side ?x ?y))

; the end: a group that touches all sides has a stone on the top

(<= (connected ?role)
    (border top ?x ?y)
    (true (cell ?x ?y ?role))
    (true (linked top ?x ?y))
    (true (linked left ?x ?y))
    (true (linked slope ?x ?y)))
(<= decided
    (connected ?role))
(<= terminal
    decided)

(<= (goal ?role 100)
    (connected ?role))
(<= (goal ?loser 0)
    (connected ?role)
    (opponent ?role ?loser))
(<= (goal ?role 50)
    (role ?role)
    (not decided))
"""


def write(size: int) -> Sheet:
    """Each side of the triangle has so many cells."""
    columns, rows = "abcdefghijklmnopqrs"[:size], range(1, size + 1)
    rules = _RULES.format(
        size=size,
        sum=size + 1,
        cells=packed_facts("point", [(x, y) for y in rows for x in columns[: size + 1 - y]]),
        slope=packed_facts("border slope", zip(columns, reversed(rows), strict=True)),
        right=chain("right", columns),
        down=chain("down", rows),
    )
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, rows)],
        "columns": [*columns],
        "cells": ["x" * (size + 1 - y) for y in rows],
        "shape": "hexagons",
        "shift": 0.5,
    }
    return Sheet(
        rules,
        {
            "title": f"Y with sides of {size}",
            "roles": {"white": "moves first", "black": "moves second"},
            "drawing": {"hidden": ["linked"], "board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


FAMILY = Family(
    "Connect all three sides of a triangle of hexagons.",
    {"size": Parameter("cells of a side", 9, least=2, most=19)},
    write,
)
