"""Game of the amazons on square boards."""

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {
    "turn": "To move",
    "moving": "moves an amazon",
    "shooting": "shoots",
    "archer": "Shoots from",
    "black": "Black",
    "white": "White",
}
_MOVES = {"move": "{1}{2}–{3}{4}", "shoot": "arrow {1}{2}", "noop": ""}

_RULES = """\
; The game of the amazons on {size} by {size} cells; X is the column, Y the row from the bottom.
;
; A turn is two steps of a role: (move X Y X2 Y2) moves an amazon like a queen of chess, then (shoot X Y) shoots an
; arrow from where it is now to a cell, the same way. The state holds (cell X Y PIECE), (turn ROLE STAGE), and
; (archer X Y) for an amazon that has moved and not shot. Who cannot move loses.

(role white)
(role black)

(opponent white black)
(opponent black white)

; the board

{column_facts}
{row_facts}
{right}
{up}


(<= (step north ?x ?y ?x ?y2)
    (column ?x)
    (up ?y ?y2))
(<= (step east ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (row ?y))
(<= (step northeast ?x ?y ?x2 ?y2)
    (right ?x ?x2)
    (up ?y ?y2))
(<= (step northwest ?x2 ?y ?x ?y2)
    (right ?x ?x2)
    (up ?y ?y2))
(<= (step south ?x ?y2 ?x ?y)
    (step north ?x ?y ?x ?y2))
(<= (step west ?x2 ?y ?x ?y)
    (step east ?x ?y ?x2 ?y))
(<= (step southwest ?x2 ?y2 ?x ?y)
    (step northeast ?x ?y ?x2 ?y2))
(<= (step southeast ?x2 ?y2 ?x ?y)
    (step northwest ?x ?y ?x2 ?y2))

(<= (line ?direction ?x ?y ?x2 ?y2)
    (step ?direction ?x ?y ?x2 ?y2))
(<= (line ?direction ?x ?y ?x3 ?y3)
    (line ?direction ?x ?y ?x2 ?y2)
    (step ?direction ?x2 ?y2 ?x3 ?y3))

(content white)
(content black)
(content arrow)

; facts and moves

(<= (base (cell ?x ?y ?content))
    (column ?x)
    (row ?y)
    (content ?content))
(<= (base (turn ?role moving))
    (role ?role))
(<= (base (turn ?role shooting))
    (role ?role))
(<= (base (archer ?x ?y))
    (column ?x)
    (row ?y))

(<= (input ?role (move ?x ?y ?x2 ?y2))
    (role ?role)
    (line ?direction ?x ?y ?x2 ?y2))
(<= (input ?role (shoot ?x ?y))
    (role ?role)
    (column ?x)
    (row ?y))
(<= (input ?role noop)
    (role ?role))

; the start

{start}
(init (turn white moving))

; (goes DIRECTION X Y X2 Y2): an amazon of the role on turn gets from here to there

(<= (taken ?x ?y)
    (true (cell ?x ?y ?content)))
(<= (empty ?x ?y)
    (column ?x)
    (row ?y)
    (not (taken ?x ?y)))
(<= (mine ?x ?y)
    (true (turn ?role moving))
    (true (cell ?x ?y ?role)))
(<= (goes ?direction ?x ?y ?x2 ?y2)
    (mine ?x ?y)
    (step ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))
(<= (goes ?direction ?x ?y ?x3 ?y3)
    (goes ?direction ?x ?y ?x2 ?y2)
    (step ?direction ?x2 ?y2 ?x3 ?y3)
    (empty ?x3 ?y3))

; (flies DIRECTION X Y): an arrow from the amazon that has moved gets here

(<= (flies ?direction ?x2 ?y2)
    (true (archer ?x ?y))
    (step ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))
(<= (flies ?direction ?x2 ?y2)
    (flies ?direction ?x ?y)
    (step ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))

(<= (legal ?role (move ?x ?y ?x2 ?y2))
    (true (turn ?role moving))
    (goes ?direction ?x ?y ?x2 ?y2))
(<= (legal ?role (shoot ?x ?y))
    (true (turn ?role shooting))
    (flies ?direction ?x ?y))
(<= (legal ?waiting noop)
    (true (turn ?role ?stage))
    (opponent ?role ?waiting))

; effects

(<= (departs ?x ?y)
    (does ?role (move ?x ?y ?x2 ?y2)))
(<= (arrives ?x2 ?y2)
    (does ?role (move ?x ?y ?x2 ?y2)))
(<= (hit ?x2 ?y2)
    (does ?role (shoot ?x2 ?y2)))

(<= (next (cell ?x ?y ?role))
    (true (turn ?role moving))
    (arrives ?x ?y))
(<= (next (cell ?x ?y arrow))
    (hit ?x ?y))
(<= (next (cell ?x ?y ?content))
    (true (cell ?x ?y ?content))
    (not (departs ?x ?y)))
(<= (next (archer ?x ?y))
    (arrives ?x ?y))
(<= (next (turn ?role shooting))
    (true (turn ?role moving)))
(<= (next (turn ?waiting moving))
    (true (turn ?role shooting))
    (opponent ?role ?waiting))

; the end: no amazon of the role on turn has an empty cell next to it; one that has moved can always shoot back

(<= able
    (mine ?x ?y)
    (step ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))
(<= stuck
    (true (turn ?role moving))
    (not able))
(<= terminal
    stuck)

(<= (goal ?role 0)
    (true (turn ?role moving))
    stuck)
(<= (goal ?waiting 100)
    (true (turn ?role moving))
    (opponent ?role ?waiting)
    stuck)
(<= (goal ?role 50)
    (role ?role)
    (not stuck))
"""
_STARTS = {
    6: (["c1", "d1", "a3", "f3"], ["a4", "f4", "c6", "d6"]),
    8: (["c1", "f1", "a3", "h3"], ["a6", "h6", "c8", "f8"]),
    10: (["d1", "g1", "a4", "j4"], ["a7", "j7", "d10", "g10"]),
}


def write(size: int) -> Sheet:
    """The board has this many columns and rows: 6, 8 or 10."""
    if size not in _STARTS:
        raise ValueError("the sizes with a usual start are 6, 8 and 10")
    columns, rows = "abcdefghij"[:size], range(1, size + 1)
    amazons = [
        f"cell {point[0]} {point[1:]} {role}"
        for role, points in zip(("white", "black"), _STARTS[size], strict=True)
        for point in points
    ]
    rules = _RULES.format(
        size=size,
        column_facts=packed_facts("column", columns),
        row_facts=packed_facts("row", zip(rows, strict=True)),
        right=chain("right", columns),
        up=chain("up", rows),
        start=packed_facts("init", [(f"({amazon})",) for amazon in amazons]),
    )
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, reversed(rows))],
        "columns": [*columns],
        "checkered": True,
        "notes": ["archer"],
        "marks": {
            "white": {"symbol": "queen", "colour": "white", "letters": "W"},
            "black": {"symbol": "queen", "colour": "black", "letters": "b"},
            "arrow": {"symbol": "block", "colour": "sky", "letters": "#"},
        },
    }
    return Sheet(
        rules,
        {
            "title": f"Amazons {size} by {size}",
            "roles": {"white": "moves first", "black": "moves second"},
            "drawing": {"board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


FAMILY = Family(
    "Queens move and shoot arrows that block cells; who cannot move loses.",
    {"size": Parameter("rows and columns: 6, 8 or 10", 8, least=6, most=10)},
    write,
)
