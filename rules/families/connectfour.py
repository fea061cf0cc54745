"""Connect four on boards of other sizes."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_RULES = """\
; Connect four on {columns} columns and {rows} rows; row 1 is at the bottom.
;
; (drop X) lets a disc of the role's colour fall into column X; (cell X Y ROLE) says whose disc lies where, and a cell
; without a disc has no such fact. Four discs in a row, column or diagonal win; a full board without them is a draw.
; The role without control has the one move noop. The goal values are 50 each until a line decides.

(role red)
(role yellow)

(opponent red yellow)
(opponent yellow red)

{column}
{row}
(top {rows})

{succ}
; (beside DIRECTION X Y X2 Y2): the next cell in one of four directions, (two_on …) the next but one

(<= (beside across ?x ?y ?x2 ?y)
    (column ?x)
    (row ?y)
    (column ?x2)
    (succ ?x ?x2))
(<= (beside up ?x ?y ?x ?y2)
    (column ?x)
    (row ?y)
    (row ?y2)
    (succ ?y ?y2))
(<= (beside rising ?x ?y ?x2 ?y2)
    (beside across ?x ?y ?x2 ?y)
    (beside up ?x2 ?y ?x2 ?y2))
(<= (beside falling ?x ?y2 ?x2 ?y)
    (beside rising ?x ?y ?x2 ?y2))

(<= (two_on ?direction ?x ?y ?x3 ?y3)
    (beside ?direction ?x ?y ?x2 ?y2)
    (beside ?direction ?x2 ?y2 ?x3 ?y3))

; facts and moves

(<= (base (cell ?x ?y ?role))
    (column ?x)
    (row ?y)
    (role ?role))
(<= (base (control ?role))
    (role ?role))

(<= (input ?role (drop ?x))
    (role ?role)
    (column ?x))
(<= (input ?role noop)
    (role ?role))

; the start

(init (control red))

; moves

(<= (filled ?x ?y)
    (true (cell ?x ?y ?role)))

(<= (takes_a_disc ?x)
    (column ?x)
    (top ?y)
    (not (filled ?x ?y)))

(<= (legal ?role (drop ?x))
    (true (control ?role))
    (takes_a_disc ?x))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

; effects: a disc comes to lie on the bottom or on another disc

(<= (lands ?x 1)
    (column ?x)
    (not (filled ?x 1)))
(<= (lands ?x ?y)
    (beside up ?x ?below ?x ?y)
    (filled ?x ?below)
    (not (filled ?x ?y)))

(<= (next (cell ?x ?y ?role))
    (does ?role (drop ?x))
    (lands ?x ?y))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role)))

(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))

; the end: only the role that has just moved can have a new line, so only its discs are looked at,
; and four are two neighbours with the two neighbours after them

(<= (moved ?role)
    (true (control ?waiting))
    (opponent ?waiting ?role))

(<= (fresh ?x ?y)
    (moved ?role)
    (true (cell ?x ?y ?role)))
(<= (pair ?direction ?x ?y)
    (beside ?direction ?x ?y ?x2 ?y2)
    (fresh ?x ?y)
    (fresh ?x2 ?y2))
(<= line
    (two_on ?direction ?x ?y ?x3 ?y3)
    (pair ?direction ?x ?y)
    (pair ?direction ?x3 ?y3))

(<= open
    (takes_a_disc ?x))

(<= terminal
    line)
(<= terminal
    (not open))

(<= (goal ?role 100)
    line
    (moved ?role))
(<= (goal ?role 0)
    line
    (true (control ?role)))
(<= (goal ?role 50)
    (role ?role)
    (not line))
"""


def write(columns: int, rows: int) -> Sheet:
    """Discs fall to the bottom, which is row 1."""
    rules = _RULES.format(
        columns=columns,
        rows=rows,
        column=facts("column", ((x,) for x in range(1, columns + 1))),
        row=facts("row", ((y,) for y in range(1, rows + 1))),
        succ=successors(max(columns, rows), 1),
    )
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "rows": [str(y) for y in range(rows, 0, -1)],
        "columns": [str(x + 1) for x in range(columns)], "shape": "holes",
        "marks": {
            colour: {"symbol": "disc", "colour": colour, "letters": colour[0], "plain": True}
            for colour in ("red", "yellow")
        },
    }  # fmt: skip
    words = {"control": "To move", "red": "Red", "yellow": "Yellow"}
    return Sheet(
        rules,
        {
            "title": f"Connect four on {columns} by {rows}",
            "roles": {"red": "moves first", "yellow": "moves second"},
            "drawing": {"board": board, "words": words, "moves": {"drop": "column {1}", "noop": ""}},
        },
    )


FAMILY = Family(
    "Drop discs into columns; the first line of four wins.",
    {"columns": Parameter("columns", 7, 4, 12), "rows": Parameter("rows", 6, 4, 12)},
    write,
)
