"""Rush hour, from a level as text."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Steps"}
_MOVES = {"drive": "{1} {2}"}

_RULES = """\
; Rush hour: drive car x out of the jam, to the right end of its row, within {limit} steps of one cell.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
; cars and their two directions; cells that are next to each other
{drives}
{beside}
(<= (base (cell ?x ?y ?car))
    (drives ?car ?direction)
    (beside ?direction ?x ?y ?u ?v)
    (lane ?car ?x ?y))
(<= (base (cell ?u ?v ?car))
    (drives ?car ?direction)
    (beside ?direction ?x ?y ?u ?v)
    (lane ?car ?u ?v))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

; the row or column of each car
{lane}
(<= (input solver (drive ?car ?direction))
    (drives ?car ?direction))

{start}(init (step 0))

(<= (taken ?x ?y)
    (true (cell ?x ?y ?car)))

; the front of a car has a free cell before it; all cells of the car go on by one

(<= (legal solver (drive ?car ?direction))
    (drives ?car ?direction)
    (lane ?car ?x ?y)
    (true (cell ?x ?y ?car))
    (beside ?direction ?x ?y ?u ?v)
    (not (taken ?u ?v)))

(<= (driven ?car)
    (does solver (drive ?car ?direction)))
(<= (next (cell ?u ?v ?car))
    (does solver (drive ?car ?direction))
    (true (cell ?x ?y ?car))
    (lane ?car ?x ?y)
    (beside ?direction ?x ?y ?u ?v))
(<= (next (cell ?x ?y ?car))
    (true (cell ?x ?y ?car))
    (not (driven ?car)))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= out
    (true (cell {exit} x)))
(<= goes_on
    (legal solver ?move))
(<= terminal
    out)
(<= terminal
    (not goes_on))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    out)
(<= (goal solver 0)
    (not out))
"""


def write(level: str, limit: int) -> Sheet:
    """Rows with / between them: a letter for each car, x for the one that has to go out to the right, - for free."""
    rows = level.split("/")
    if len({len(row) for row in rows}) != 1:
        raise ValueError("level has to have rows of the same length")
    cells = {(x, y): car for y, row in enumerate(rows, 1) for x, car in enumerate(row, 1)}
    cars = {car: [cell for cell in cells if cells[cell] == car] for car in sorted(set(cells.values()) - {"-"})}
    if "x" not in cars:
        raise ValueError("level has to have a car x")
    drives, lanes = [], []
    for car, own in cars.items():
        is_level = len({y for _, y in own}) == 1
        if len(own) < 2 or (not is_level and (car == "x" or len({x for x, _ in own}) != 1)):
            raise ValueError(f"car {car} has to have two cells or more in a row or column")
        drives += [(car, direction) for direction in (("left", "right") if is_level else ("up", "down"))]
        lanes += [(car, x, y) for x, y in cells if (y == own[0][1] if is_level else x == own[0][0])]
    steps = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
    beside = [
        (name, x, y, x + dx, y + dy) for name, (dx, dy) in steps.items() for x, y in cells if (x + dx, y + dy) in cells
    ]
    rules = _RULES.format(
        limit=limit,
        numbers=successors(limit),
        drives=facts("drives", drives),
        beside=facts("beside", beside),
        lane=facts("lane", lanes),
        start="".join(f"(init (cell {x} {y} {car}))\n" for (x, y), car in cells.items() if car != "-"),
        exit=f"{len(rows[0])} {cars['x'][0][1]}",
    )
    colours = ("blue", "green", "yellow", "purple", "sky", "orange", "grey")
    marks = {
        car: {"symbol": "block", "colour": "red" if car == "x" else colours[number % 7], "letters": car}
        for number, car in enumerate(cars)
    }
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "joined": True, "marks": marks,
        "rows": [str(y + 1) for y in range(len(rows))], "columns": [str(x + 1) for x in range(len(rows[0]))],
        "row_labels": [], "column_labels": [],
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "drives the cars"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Drive a car out of a jam.",
    {
        "level": Parameter(
            "rows with / between them: a letter for each car, - for a free cell",
            "aa---o/p--q-o/pxxq-o/p--q--/b---cc/b-rrr-",
            pattern=r"[-a-z/]+",
        ),
        "limit": Parameter("steps after which the match ends", 100, 1, 400),
    },
    write,
)
