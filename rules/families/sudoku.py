"""Sudoku of 4 by 4 or 9 by 9 cells, from its givens."""

from math import isqrt

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"filled": "Filled"}
_MOVES = {"fill": "{3} in column {1}, row {2}"}

_RULES = """\
; Sudoku: fill the board so that each row, column and box of {box} by {box} holds each number from 1 to {size}.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
; numbers, which are those of columns and rows too
{index}
; column, row and the box that they are in
{box_of}
; the givens
{given}
(<= (is_given ?x ?y)
    (given ?x ?y ?number))

(<= (base (cell ?x ?y ?number))
    (index ?x)
    (index ?y)
    (index ?number))
(base (filled 0))
(<= (base (filled ?next))
    (succ ?many ?next))

(<= (input solver (fill ?x ?y ?number))
    (box ?x ?y ?box)
    (not (is_given ?x ?y))
    (index ?number))

(<= (init (cell ?x ?y ?number))
    (given ?x ?y ?number))
(init (filled 0))

; a number is not put twice into a row, column or box

(<= (in_column ?x ?number)
    (true (cell ?x ?y ?number)))
(<= (in_row ?y ?number)
    (true (cell ?x ?y ?number)))
(<= (in_box ?box ?number)
    (true (cell ?x ?y ?number))
    (box ?x ?y ?box))
(<= (full ?x ?y)
    (true (cell ?x ?y ?number)))

(<= (legal solver (fill ?x ?y ?number))
    (box ?x ?y ?box)
    (not (is_given ?x ?y))
    (index ?number)
    (not (full ?x ?y))
    (not (in_column ?x ?number))
    (not (in_row ?y ?number))
    (not (in_box ?box ?number)))

(<= (next (cell ?x ?y ?number))
    (does solver (fill ?x ?y ?number)))
(<= (next (cell ?x ?y ?number))
    (true (cell ?x ?y ?number)))
(<= (next (filled ?next))
    (true (filled ?many))
    (succ ?many ?next))

; the end: nothing more can be filled in

(<= goes_on
    (legal solver ?move))
(<= terminal
    (not goes_on))

{values}
(<= (goal solver ?value)
    (true (filled ?many))
    (value ?many ?value))
"""


def write(givens: str) -> Sheet:
    """The numbers row by row, 0 for what has to be found."""
    size = isqrt(len(givens))
    box = isqrt(size)
    index = range(1, size + 1)
    cells = [(x, y) for y in index for x in index]
    given = [(*cell, sign) for cell, sign in zip(cells, givens, strict=True) if sign != "0"]
    if any(int(number) > size for *_, number in given):
        raise ValueError(f"givens has to hold numbers from 0 to {size}")
    free = size * size - len(given)
    rules = _RULES.format(
        box=box,
        size=size,
        numbers=successors(free),
        index=facts("index", ((number,) for number in index)),
        box_of=facts("box", ((x, y, (y - 1) // box * box + (x - 1) // box + 1) for x, y in cells)),
        given=facts("given", given),
        values=facts("value", ((number, 100 * number // free) for number in range(free + 1))),
    )
    names = [str(number) for number in index]
    marks = {name: {"symbol": "text", "letters": name} for name in names}
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "rows": names, "columns": names, "bands": box,
        "row_labels": [], "column_labels": [], "marks": marks,
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "fills in numbers"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Fill a board so that no row, column or box holds a number twice.",
    {
        "givens": Parameter(
            "16 or 81 numbers row by row, 0 for what has to be found",
            "1000004003000002",
            pattern=r"[0-4]{16}|[0-9]{81}",
        )
    },
    write,
)
