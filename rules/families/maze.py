"""A maze, from a level as text."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Steps"}
_MOVES = {"go": "{1}"}

_RULES = """\
; A maze: walk from the entrance to the exit within {limit} steps.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
; places that are next to each other without a wall between them
{beside}
(<= (place ?x ?y)
    (beside ?direction ?x ?y ?u ?v))
(<= (direction ?direction)
    (beside ?direction ?x ?y ?u ?v))

(<= (base (person ?x ?y))
    (place ?x ?y))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (go ?direction))
    (direction ?direction))

(init (person {entrance}))
(init (step 0))

(<= (legal solver (go ?direction))
    (true (person ?x ?y))
    (beside ?direction ?x ?y ?u ?v))

(<= (next (person ?u ?v))
    (does solver (go ?direction))
    (true (person ?x ?y))
    (beside ?direction ?x ?y ?u ?v))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= out
    (true (person {exit})))
(<= terminal
    out)
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    out)
(<= (goal solver 0)
    (not out))
"""


def write(level: str, limit: int) -> Sheet:
    """Rows with / between them: # wall, - way, @ entrance, ! exit."""
    signs = {(x, y): sign for y, row in enumerate(level.split("/"), 1) for x, sign in enumerate(row, 1)}
    ways = [cell for cell, sign in signs.items() if sign != "#"]
    entrances, exits = ([cell for cell in ways if signs[cell] == sign] for sign in "@!")
    if len(entrances) != 1 or len(exits) != 1:
        raise ValueError("level has to have one entrance and one exit")
    steps = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
    beside = [
        (name, x, y, x + dx, y + dy) for name, (dx, dy) in steps.items() for x, y in ways if (x + dx, y + dy) in ways
    ]
    rules = _RULES.format(
        limit=limit,
        numbers=successors(limit),
        beside=facts("beside", beside),
        entrance="{} {}".format(*entrances[0]),
        exit="{} {}".format(*exits[0]),
    )
    board = {
        "fact": "person", "row": 2, "column": 1, "joined": True,
        "rows": [str(y) for y in range(1, max(y for _, y in signs) + 1)],
        "columns": [str(x) for x in range(1, max(x for x, _ in signs) + 1)],
        "row_labels": [], "column_labels": [],
        "static": {
            "wall": [f"{y} {x}" for (x, y), sign in signs.items() if sign == "#"],
            "exit": [f"{y} {x}" for x, y in exits],
        },
        "marks": {
            "wall": {"symbol": "block", "colour": "grey", "letters": "#"},
            "exit": {"symbol": "dot", "colour": "green", "letters": "!"},
            "person": {"symbol": "person", "colour": "blue", "letters": "@"},
        },
    }  # fmt: skip
    return Sheet(rules, {"roles": {"solver": "walks"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}})


FAMILY = Family(
    "Find the way through a maze.",
    {
        "level": Parameter(
            "rows with / between them: # wall, - way, @ entrance, ! exit",
            "@-#------/-##-####-/-----#---/##-##-#-#/-#--#-#--/---#--##-/-###-#---/---#-#-#-/##----#-!",
            pattern=r"[-#@!/]+",
        ),
        "limit": Parameter("steps after which the match ends", 64, 1, 400),
    },
    write,
)
