"""Chomp on a bar of any size."""

from ggp.families import Family, Parameter, Sheet, facts

_WORDS = {"control": "To move", "first": "First", "second": "Second"}
_MOVES = {"bite": "{1:letter}{2}", "noop": ""}

_RULES = """\
; Chomp on {columns} columns and {rows} rows: who eats the poisoned piece in the lower left corner loses.
; Columns count from 1 at the left, rows from 1 at the bottom.

(role first)
(role second)

(opponent first second)
(opponent second first)

{cell}
; a bite at the first cell eats the second one
(<= (eats ?x ?y ?u ?v)
    (cell ?x ?y)
    (cell ?u ?v)
    (not_right_of ?x ?u)
    (not_right_of ?y ?v))
{order}
(<= (base (piece ?x ?y))
    (cell ?x ?y))
(<= (base (control ?role))
    (role ?role))

(<= (input ?role (bite ?x ?y))
    (role ?role)
    (cell ?x ?y))
(<= (input ?role noop)
    (role ?role))

(<= (init (piece ?x ?y))
    (cell ?x ?y))
(init (control first))

(<= (legal ?role (bite ?x ?y))
    (true (control ?role))
    (true (piece ?x ?y)))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

(<= (eaten ?u ?v)
    (does ?role (bite ?x ?y))
    (eats ?x ?y ?u ?v))
(<= (next (piece ?x ?y))
    (true (piece ?x ?y))
    (not (eaten ?x ?y)))
(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))

; the end: the poisoned piece is eaten, by the role that is not in control now

(<= terminal
    (not (true (piece 1 1))))

(<= (goal ?role 50)
    (role ?role)
    (true (piece 1 1)))
(<= (goal ?role 100)
    (true (control ?role))
    (not (true (piece 1 1))))
(<= (goal ?waiting 0)
    (true (control ?role))
    (opponent ?role ?waiting)
    (not (true (piece 1 1))))
"""


def write(columns: int, rows: int) -> Sheet:
    """A bite takes the piece, and all that are not left of it and not below it."""
    most = max(columns, rows)
    rules = _RULES.format(
        columns=columns,
        rows=rows,
        cell=facts("cell", ((x, y) for y in range(1, rows + 1) for x in range(1, columns + 1))),
        order=facts("not_right_of", ((one, other) for other in range(1, most + 1) for one in range(1, other + 1))),
    )
    board = {
        "fact": "piece", "row": 2, "column": 1, "rows": [str(y) for y in range(rows, 0, -1)],
        "columns": [str(x + 1) for x in range(columns)], "column_letters": True, "static": {"poison": ["1 1"]},
        "marks": {
            "piece": {"symbol": "block", "colour": "orange", "letters": "#"},
            "poison": {"symbol": "badge", "colour": "green", "letters": "!"},
        },
    }  # fmt: skip
    return Sheet(
        rules,
        {
            "roles": {"first": "bites first", "second": "bites second"},
            "drawing": {"board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


FAMILY = Family(
    "Eat a bar of chocolate from the upper right; the last piece is poisoned.",
    {"columns": Parameter("columns", 7, 1, 12), "rows": Parameter("rows", 4, 1, 12)},
    write,
)
