"""The problem of n queens, row by row."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"queens": "Queens"}
_MOVES = {"place": "column {1:letter}"}

_RULES = """\
; {size} queens on a board of {size} by {size}: one in each row, from row 1 on, none attacked by another.

(role solver)

{numbers}
; rows and columns
{index}
; cells on a diagonal, of which the second is in a higher row
{diagonal}
(<= (base (queen ?x ?y))
    (index ?x)
    (index ?y))
(base (queens 0))
(<= (base (queens ?next))
    (succ ?number ?next))

(<= (input solver (place ?x))
    (index ?x))

(init (queens 0))

(<= (row ?y)
    (true (queens ?number))
    (succ ?number ?y))
(<= (taken ?x)
    (true (queen ?x ?y)))
(<= (taken ?u)
    (true (queen ?x ?y))
    (row ?v)
    (diagonal ?x ?y ?u ?v))
(<= (safe ?x)
    (index ?x)
    (row ?y)
    (not (taken ?x)))

(<= (legal solver (place ?x))
    (safe ?x))

(<= (next (queen ?x ?y))
    (does solver (place ?x))
    (row ?y))
(<= (next (queen ?x ?y))
    (true (queen ?x ?y)))
(<= (next (queens ?next))
    (true (queens ?number))
    (succ ?number ?next))

; the end: all are placed, or the next row has no safe cell

(<= goes_on
    (safe ?x))
(<= terminal
    (not goes_on))

{values}
(<= (goal solver ?value)
    (true (queens ?number))
    (value ?number ?value))
"""


def write(size: int) -> Sheet:
    """100 for all queens, and in proportion for fewer."""
    index = range(1, size + 1)
    cells = [(x, y) for y in index for x in index]
    diagonal = [(x, y, u, v) for x, y in cells for u, v in cells if v > y and abs(u - x) == v - y]
    rules = _RULES.format(
        size=size,
        numbers=successors(size),
        index=facts("index", ((number,) for number in index)),
        diagonal=facts("diagonal", diagonal),
        values=facts("value", ((number, 100 * number // size) for number in range(size + 1))),
    )
    names = [str(number) for number in index]
    board = {
        "fact": "queen", "row": 2, "column": 1, "rows": names[::-1], "columns": names, "checkered": True,
        "column_letters": True,
        "marks": {"queen": {"symbol": "queen", "colour": "black", "letters": "q"}},
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "places the queens"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Place queens, one in each row, so that none attacks another.",
    {"size": Parameter("queens, rows and columns", 8, 1, 16)},
    write,
)
