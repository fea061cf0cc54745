"""Domineering on a board of any size."""

from ggp.families import Family, Parameter, Sheet, facts

_WORDS = {"control": "To move", "vertical": "Vertical", "horizontal": "Horizontal"}
_MOVES = {"place": "{1:letter}{2}", "noop": ""}

_RULES = """\
; Domineering on {columns} columns and {rows} rows: who cannot place a domino loses.
; Columns count from 1 at the left, rows from 1 at the bottom. Vertical begins.

(role vertical)
(role horizontal)

(opponent vertical horizontal)
(opponent horizontal vertical)

; the two cells of each domino, with its role and the names of its halves
{domino}
(<= (base (cell ?x ?y ?half))
    (domino ?role ?x ?y ?u ?v ?half ?other))
(<= (base (cell ?u ?v ?half))
    (domino ?role ?x ?y ?u ?v ?other ?half))
(<= (base (control ?role))
    (role ?role))

(<= (input ?role (place ?x ?y))
    (domino ?role ?x ?y ?u ?v ?half ?other))
(<= (input ?role noop)
    (role ?role))

(init (control vertical))

(<= (taken ?x ?y)
    (true (cell ?x ?y ?half)))
(<= (fits ?role ?x ?y)
    (domino ?role ?x ?y ?u ?v ?half ?other)
    (not (taken ?x ?y))
    (not (taken ?u ?v)))

(<= (legal ?role (place ?x ?y))
    (true (control ?role))
    (fits ?role ?x ?y))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

(<= (next (cell ?x ?y ?half))
    (does ?role (place ?x ?y))
    (domino ?role ?x ?y ?u ?v ?half ?other))
(<= (next (cell ?u ?v ?other))
    (does ?role (place ?x ?y))
    (domino ?role ?x ?y ?u ?v ?half ?other))
(<= (next (cell ?x ?y ?half))
    (true (cell ?x ?y ?half)))
(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))

; the end: the role in control can place no domino

(<= goes_on
    (true (control ?role))
    (fits ?role ?x ?y))
(<= terminal
    (not goes_on))

(<= (goal ?role 50)
    (role ?role)
    goes_on)
(<= (goal ?waiting 100)
    (true (control ?role))
    (opponent ?role ?waiting)
    (not goes_on))
(<= (goal ?role 0)
    (true (control ?role))
    (not goes_on))
"""


def write(columns: int, rows: int) -> Sheet:
    """A domino is named by its lower or left cell."""
    cells = [(x, y) for y in range(1, rows + 1) for x in range(1, columns + 1)]
    dominoes = [("vertical", x, y, x, y + 1, "lower", "upper") for x, y in cells if y < rows]
    dominoes += [("horizontal", x, y, x + 1, y, "left", "right") for x, y in cells if x < columns]
    rules = _RULES.format(columns=columns, rows=rows, domino=facts("domino", dominoes))
    halves = {"lower": ("blue", "top"), "upper": ("blue", "bottom"), "left": ("red", "right"), "right": ("red", "left")}
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "rows": [str(y) for y in range(rows, 0, -1)],
        "columns": [str(x + 1) for x in range(columns)], "column_letters": True,
        "marks": {
            name: {"symbol": "block", "colour": colour, "letters": sign, "joins": side}
            for (name, (colour, side)), sign in zip(halves.items(), "v^<>", strict=True)
        },
    }  # fmt: skip
    roles = {"vertical": "places upright dominoes and begins", "horizontal": "places lying dominoes"}
    return Sheet(rules, {"roles": roles, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}})


FAMILY = Family(
    "Place dominoes, one role upright, the other lying; who cannot loses.",
    {"columns": Parameter("columns", 8, 1, 12), "rows": Parameter("rows", 8, 1, 12)},
    write,
)
