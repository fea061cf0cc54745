"""The knight's tour on a board of any size."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"cells": "Cells visited"}
_MOVES = {"leap": "N{1:letter}{2}"}

_RULES = """\
; A knight's tour on {columns} columns and {rows} rows: visit every cell once, from the lower left corner.

(role solver)

{numbers}
{cell}
; leaps of a knight
{leap}
(<= (base (knight ?x ?y))
    (cell ?x ?y))
(<= (base (visited ?x ?y))
    (cell ?x ?y))
(base (cells 1))
(<= (base (cells ?next))
    (succ ?number ?next))

(<= (input solver (leap ?x ?y))
    (cell ?x ?y))

(init (knight 1 1))
(init (visited 1 1))
(init (cells 1))

(<= (legal solver (leap ?u ?v))
    (true (knight ?x ?y))
    (leaps ?x ?y ?u ?v)
    (not (true (visited ?u ?v))))

(<= (next (knight ?x ?y))
    (does solver (leap ?x ?y)))
(<= (next (visited ?x ?y))
    (does solver (leap ?x ?y)))
(<= (next (visited ?x ?y))
    (true (visited ?x ?y)))
(<= (next (cells ?next))
    (true (cells ?number))
    (succ ?number ?next))

; the end: no leap is left

(<= goes_on
    (legal solver ?move))
(<= terminal
    (not goes_on))

{values}
(<= (goal solver ?value)
    (true (cells ?number))
    (value ?number ?value))
"""


def write(columns: int, rows: int) -> Sheet:
    """100 for all cells, and in proportion for fewer."""
    cells = [(x, y) for y in range(1, rows + 1) for x in range(1, columns + 1)]
    leaps = [(x, y, u, v) for x, y in cells for u, v in cells if {abs(x - u), abs(y - v)} == {1, 2}]
    rules = _RULES.format(
        columns=columns,
        rows=rows,
        numbers=successors(len(cells), 1),
        cell=facts("cell", cells),
        leap=facts("leaps", leaps),
        values=facts("value", ((number, 100 * number // len(cells)) for number in range(1, len(cells) + 1))),
    )
    board = {
        "fact": "visited", "row": 2, "column": 1, "rows": [str(y) for y in range(rows, 0, -1)],
        "columns": [str(x + 1) for x in range(columns)], "checkered": True, "column_letters": True,
        "also": [{"fact": "knight", "row": 2, "column": 1}],
        "marks": {
            "visited": {"symbol": "block", "colour": "green", "letters": "*"},
            "knight": {"symbol": "knight", "colour": "black", "letters": "N"},
        },
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "rides the knight"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "A knight visits every cell of a board once.",
    {"columns": Parameter("columns", 8, 3, 12), "rows": Parameter("rows", 8, 3, 12)},
    write,
)
