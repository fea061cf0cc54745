"""Sokoban, from a level as text."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Steps"}
_MOVES = {"go": "{1}"}

_RULES = """\
; Sokoban: push each crate to a target within {limit} steps.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
; places inside the walls that are next to each other
{next_to}
{target}
(<= (floor ?x ?y)
    (beside ?direction ?x ?y ?u ?v))
(<= (direction ?direction)
    (beside ?direction ?x ?y ?u ?v))

(<= (base (person ?x ?y))
    (floor ?x ?y))
(<= (base (crate ?x ?y))
    (floor ?x ?y))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (go ?direction))
    (direction ?direction))

{start}(init (step 0))

; where a step of the person leads, and which crate it pushes where

(<= (leads ?direction ?u ?v)
    (true (person ?x ?y))
    (beside ?direction ?x ?y ?u ?v))
(<= (pushes ?direction ?s ?t)
    (leads ?direction ?u ?v)
    (true (crate ?u ?v))
    (beside ?direction ?u ?v ?s ?t))

(<= (legal solver (go ?direction))
    (leads ?direction ?u ?v)
    (not (true (crate ?u ?v))))
(<= (legal solver (go ?direction))
    (pushes ?direction ?s ?t)
    (not (true (crate ?s ?t))))

(<= (entered ?u ?v)
    (does solver (go ?direction))
    (leads ?direction ?u ?v))
(<= (next (person ?u ?v))
    (entered ?u ?v))
(<= (next (crate ?s ?t))
    (does solver (go ?direction))
    (pushes ?direction ?s ?t))
(<= (next (crate ?x ?y))
    (true (crate ?x ?y))
    (not (entered ?x ?y)))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

; the end

(<= unsolved
    (target ?x ?y)
    (not (true (crate ?x ?y))))
(<= goes_on
    (legal solver ?move))
(<= terminal
    (not unsolved))
(<= terminal
    (not goes_on))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    (not unsolved))
(<= (goal solver 0)
    unsolved)
"""


def write(level: str, limit: int) -> Sheet:
    """Rows with / between them: # wall, @ person, $ crate, . target, * crate on a target, + person on one, - floor."""
    signs = {(x, y): sign for y, row in enumerate(level.split("/"), 1) for x, sign in enumerate(row, 1)}
    people = [cell for cell, sign in signs.items() if sign in "@+"]
    if len(people) != 1:
        raise ValueError("level has to have one person")
    crates = [cell for cell, sign in signs.items() if sign in "$*"]
    targets = [cell for cell, sign in signs.items() if sign in ".*+"]
    if not 0 < len(targets) <= len(crates):
        raise ValueError("level has to have targets, and as many crates")
    floor = _inside(signs, people[0])
    steps = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
    beside = [
        (name, x, y, x + dx, y + dy) for name, (dx, dy) in steps.items() for x, y in floor if (x + dx, y + dy) in floor
    ]
    rules = _RULES.format(
        limit=limit,
        numbers=successors(limit),
        next_to=facts("beside", beside),
        target=facts("target", targets),
        start="".join(f"(init (crate {x} {y}))\n" for x, y in crates) + "(init (person {} {}))\n".format(*people[0]),
    )
    board = {
        "fact": "crate", "row": 2, "column": 1, "also": [{"fact": "person", "row": 2, "column": 1}],
        "rows": [str(y) for y in range(1, max(y for _, y in signs) + 1)],
        "columns": [str(x) for x in range(1, max(x for x, _ in signs) + 1)],
        "row_labels": [], "column_labels": [], "joined": True,
        "static": {
            "wall": [f"{y} {x}" for (x, y), sign in signs.items() if sign == "#"],
            "target": [f"{y} {x}" for x, y in targets],
        },
        "marks": {
            "wall": {"symbol": "block", "colour": "grey", "letters": "#"},
            "target": {"symbol": "dot", "colour": "red", "letters": "."},
            "crate": {"symbol": "crate", "colour": "orange", "letters": "$"},
            "person": {"symbol": "person", "colour": "blue", "letters": "@"},
        },
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "pushes the crates"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


def _inside(signs: dict[tuple[int, int], str], start: tuple[int, int]) -> list[tuple[int, int]]:
    """The places that are not cut off by walls, row by row; ValueError if the edge of the level is one of them."""
    found, waiting = {start}, [start]
    while waiting:
        x, y = waiting.pop()
        for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if cell not in signs:
                raise ValueError("level has to have walls all around")
            if signs[cell] != "#" and cell not in found:
                found.add(cell)
                waiting.append(cell)
    return sorted(found, key=lambda cell: (cell[1], cell[0]))


FAMILY = Family(
    "Push crates to targets.",
    {
        "level": Parameter(
            "rows with / between them: # wall, @ person, $ crate, . target, * crate on it, + person on it, - floor",
            "#######/#--.--#/#-$@$-#/#--.--#/#######",
            pattern=r"[-#@$.*+/]+",
        ),
        "limit": Parameter("steps after which the match ends", 40, 1, 400),
    },
    write,
)
