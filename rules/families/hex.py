"""Hex with the swap rule on a rhombus of any size."""

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {"control": "To move", "winner": "Winner", "red": "Red", "blue": "Blue"}
_MOVES = {"place": "{1}{2}", "swap": "swap", "noop": ""}

_RULES = """\
; Hex on a rhombus of {size} by {size} cells; X is the column from the left, Y the row from the top.
;
; (place X Y) puts a stone on an empty cell; red connects the top with the bottom, blue the left with the right. In its
; first turn blue may swap instead: red's stone becomes blue's, mirrored on the long diagonal. The state holds
; (cell X Y ROLE), (control ROLE), (opening ROLE) until that role has made its first move, and (linked ROLE X Y) for
; each stone that is connected to its role's first border, so that a step only has to follow what the new stone adds.

(role red)
(role blue)

(opponent red blue)
(opponent blue red)

; the board

{columns}
{rows}
{right}
{down}
{mirror}

(<= (step ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (row ?y))
(<= (step ?x ?y ?x ?y2)
    (column ?x)
    (down ?y ?y2))
(<= (step ?x2 ?y ?x ?y2)
    (right ?x ?x2)
    (down ?y ?y2))
(<= (adjacent ?x ?y ?x2 ?y2)
    (step ?x ?y ?x2 ?y2))
(<= (adjacent ?x2 ?y2 ?x ?y)
    (step ?x ?y ?x2 ?y2))

(<= (first_border red ?x 1)
    (column ?x))
(<= (first_border blue a ?y)
    (row ?y))
(<= (last_border red ?x {size})
    (column ?x))
(<= (last_border blue {last} ?y)
    (row ?y))

; facts and moves

(<= (base (cell ?x ?y ?role))
    (role ?role)
    (column ?x)
    (row ?y))
(<= (base (linked ?role ?x ?y))
    (role ?role)
    (column ?x)
    (row ?y))
(<= (base (control ?role))
    (role ?role))
(<= (base (opening ?role))
    (role ?role))

(<= (input ?role (place ?x ?y))
    (role ?role)
    (column ?x)
    (row ?y))
(input blue swap)
(<= (input ?role noop)
    (role ?role))

; the start

(init (control red))
(init (opening red))
(init (opening blue))

; moves

(<= (taken ?x ?y)
    (true (cell ?x ?y ?role)))

(<= (legal ?role (place ?x ?y))
    (true (control ?role))
    (column ?x)
    (row ?y)
    (not (taken ?x ?y)))
(<= (legal blue swap)
    (true (control blue))
    (true (opening blue)))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

; effects

(<= (next (cell ?x ?y ?role))
    (does ?role (place ?x ?y)))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role))
    (not swapped))
(<= swapped
    (does blue swap))
(<= (mirrored ?x2 ?y2)
    swapped
    (true (cell ?x ?y red))
    (mirror ?x ?y2)
    (mirror ?x2 ?y))
(<= (next (cell ?x ?y blue))
    (mirrored ?x ?y))

(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))
(<= (next (opening ?role))
    (true (opening ?role))
    (not (true (control ?role))))

; (reached X Y): the stone of the role on turn that lies here after the step is connected to its first border

(<= (mine ?x ?y)
    (true (control ?role))
    (true (cell ?x ?y ?role)))
(<= (mine ?x ?y)
    (does ?role (place ?x ?y)))
(<= (reached ?x ?y)
    (true (control ?role))
    (true (linked ?role ?x ?y)))
(<= (reached ?x ?y)
    (does ?role (place ?x ?y))
    (first_border ?role ?x ?y))
(<= (reached ?x ?y)
    (mine ?x ?y)
    (adjacent ?x ?y ?x2 ?y2)
    (reached ?x2 ?y2))

(<= (next (linked ?role ?x ?y))
    (true (control ?role))
    (reached ?x ?y))
(<= (next (linked ?waiting ?x ?y))
    (true (control ?role))
    (opponent ?role ?waiting)
    (true (linked ?waiting ?x ?y))
    (not swapped))
(<= (next (linked blue ?x ?y))
    (mirrored ?x ?y)
    (first_border blue ?x ?y))

; the end

(<= (connected ?role)
    (last_border ?role ?x ?y)
    (true (linked ?role ?x ?y)))
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
    """The board has this many rows and columns."""
    columns, rows = "abcdefghijklmnopqrs"[:size], range(1, size + 1)
    rules = _RULES.format(
        size=size,
        last=columns[-1],
        columns=packed_facts("column", columns),
        rows=packed_facts("row", zip(rows, strict=True)),
        right=chain("right", columns),
        down=chain("down", rows),
        mirror=packed_facts("mirror", zip(columns, rows, strict=True)),
    )
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, rows)],
        "columns": [*columns],
        "shape": "hexagons",
        "shift": 0.5,
        "marks": {
            name: {"symbol": "disc", "colour": name, "letters": name[0], "plain": True} for name in ("red", "blue")
        },
    }
    return Sheet(
        rules,
        {
            "title": f"Hex {size} by {size}",
            "roles": {"red": "connects top and bottom and moves first", "blue": "connects left and right; may swap"},
            "drawing": {"hidden": ["linked", "opening"], "board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


FAMILY = Family(
    "Connect two opposite sides of a rhombus of hexagons; with the swap rule.",
    {"size": Parameter("rows and columns", 11, least=2, most=19)},
    write,
)
