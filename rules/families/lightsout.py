"""Lights out on a square of any size, with all lights on at the start or some."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Presses"}
_MOVES = {"press": "column {1}, row {2}"}

_RULES = """\
; Lights out on {size} by {size} lights: turn all of them off within {limit} presses.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
{cell}
; what a press of the button at the first place switches
{switches}
(<= (base (lit ?x ?y))
    (cell ?x ?y))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (press ?x ?y))
    (cell ?x ?y))

{start}(init (step 0))

(<= (legal solver (press ?x ?y))
    (cell ?x ?y))

(<= (switched ?u ?v)
    (does solver (press ?x ?y))
    (switches ?x ?y ?u ?v))
(<= (next (lit ?x ?y))
    (true (lit ?x ?y))
    (not (switched ?x ?y)))
(<= (next (lit ?x ?y))
    (switched ?x ?y)
    (not (true (lit ?x ?y))))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= light
    (true (lit ?x ?y)))
(<= terminal
    (not light))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    (not light))
(<= (goal solver 0)
    light)
"""


def write(size: int, start: str, limit: int) -> Sheet:
    """Rows of the start with / between them: * is lit, - is not; `all` for a board that is lit."""
    rows = ["*" * size] * size if start == "all" else start.split("/")
    if len(rows) != size or any(len(row) != size for row in rows):
        raise ValueError(f"start has to have {size} rows of {size} lights")
    cells = [(x, y) for y in range(1, size + 1) for x in range(1, size + 1)]
    switches = [(x, y, u, v) for x, y in cells for u, v in cells if abs(x - u) + abs(y - v) <= 1]
    rules = _RULES.format(
        size=size,
        limit=limit,
        numbers=successors(limit),
        cell=facts("cell", cells),
        switches=facts("switches", switches),
        start="".join(f"(init (lit {x} {y}))\n" for x, y in cells if rows[y - 1][x - 1] == "*"),
    )
    names = [str(number + 1) for number in range(size)]
    board = {
        "fact": "lit", "row": 2, "column": 1, "rows": names, "columns": names,
        "marks": {"lit": {"symbol": "block", "colour": "yellow", "letters": "*"}},
    }  # fmt: skip
    return Sheet(
        rules,
        {"roles": {"solver": "presses the buttons"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}},
    )


FAMILY = Family(
    "Each button switches its light and those next to it; turn all off.",
    {
        "size": Parameter("rows and columns", 5, 2, 9),
        "start": Parameter("rows with / between them, * for lit and - for dark, or all", "all", pattern=r"all|[*/-]+"),
        "limit": Parameter("presses after which the match ends", 25, 1, 100),
    },
    write,
)
