"""Peg solitaire on a board as text."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"jumps": "Jumps"}
_MOVES = {"jump": "{1:letter}{2}–{3:letter}{4}"}

_RULES = """\
; Peg solitaire with {pegs} pegs: jump over pegs, which are taken, until one is left{where}.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
{hole}
; a peg in the first hole jumps over one in the second to the third
{jump}
(<= (base (peg ?x ?y))
    (hole ?x ?y))
(base (jumps 0))
(<= (base (jumps ?next))
    (succ ?number ?next))

(<= (input solver (jump ?x ?y ?s ?t))
    (over ?x ?y ?u ?v ?s ?t))

{start}(init (jumps 0))

(<= (legal solver (jump ?x ?y ?s ?t))
    (over ?x ?y ?u ?v ?s ?t)
    (true (peg ?x ?y))
    (true (peg ?u ?v))
    (not (true (peg ?s ?t))))

(<= (next (peg ?s ?t))
    (does solver (jump ?x ?y ?s ?t)))
(<= (gone ?x ?y)
    (does solver (jump ?x ?y ?s ?t)))
(<= (gone ?u ?v)
    (does solver (jump ?x ?y ?s ?t))
    (over ?x ?y ?u ?v ?s ?t))
(<= (next (peg ?x ?y))
    (true (peg ?x ?y))
    (not (gone ?x ?y)))
(<= (next (jumps ?next))
    (true (jumps ?number))
    (succ ?number ?next))

; the end: no jump is left

(<= goes_on
    (legal solver ?move))
(<= terminal
    (not goes_on))

{values}
(<= (goal solver ?value)
    (true (jumps ?number))
    (value ?number ?value))
"""

_END = """\
(<= in_the_middle
    (true (peg {x} {y})))
(<= (goal solver 100)
    (true (jumps {last}))
    in_the_middle)
(<= (goal solver 90)
    (true (jumps {last}))
    (not in_the_middle))
"""


def write(board: str) -> Sheet:
    """Rows: * peg, . hole without a peg, - nothing; the last peg should end in the first free hole."""
    signs = {(x, y): sign for y, row in enumerate(board.split("/"), 1) for x, sign in enumerate(row, 1)}
    holes = [cell for cell, sign in signs.items() if sign in "*."]
    free = [cell for cell in holes if signs[cell] == "."]
    pegs = len(holes) - len(free)
    if not free or pegs < 2:
        raise ValueError("board has to have a free hole, and two pegs or more")
    over = [
        (x, y, x + dx, y + dy, x + 2 * dx, y + 2 * dy)
        for x, y in holes
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
        if (x + dx, y + dy) in holes and (x + 2 * dx, y + 2 * dy) in holes
    ]
    last = pegs - 1
    rules = _RULES.format(
        pegs=pegs,
        where=" in the middle",
        numbers=successors(last),
        hole=facts("hole", holes),
        jump=facts("over", over),
        start="".join(f"(init (peg {x} {y}))\n" for x, y in holes if signs[x, y] == "*"),
        values=facts("value", ((number, 90 * number // last) for number in range(last))),
    ) + _END.format(x=free[0][0], y=free[0][1], last=last)
    drawing = {
        "fact": "peg", "place": [1, 2], "shape": "points",
        "at": {f"{x} {y}": [y, x] for x, y in holes},
        "marks": {"peg": {"symbol": "disc", "colour": "black", "letters": "*"}},
    }  # fmt: skip
    return Sheet(rules, {"roles": {"solver": "jumps"}, "drawing": {"map": drawing, "words": _WORDS, "moves": _MOVES}})


FAMILY = Family(
    "Jump over pegs until one is left.",
    {
        "board": Parameter(
            "rows with / between them: * peg, . hole without a peg, - nothing",
            "--***--/--***--/*******/***.***/*******/--***--/--***--",
            pattern=r"[-*./]+",
        )
    },
    write,
)
