"""Sliding tiles: the eight puzzle, the fifteen puzzle and others, from any start."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Steps"}
_MOVES = {"slide": "column {1}, row {2}"}

_RULES = """\
; Sliding tiles on {columns} columns and {rows} rows: bring them in order, the blank last, within {limit} steps.
; Columns count from 1 at the left, rows from 1 at the top.

(role solver)

{numbers}
; cells with the tile that belongs there; blank is the empty place
{home}
; neighbours
{adjacent}
(<= (base (cell ?x ?y ?tile))
    (home ?x ?y ?own)
    (home ?u ?v ?tile))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (slide ?x ?y))
    (home ?x ?y ?tile))

{start}(init (step 0))

; a tile next to the blank slides to it

(<= (legal solver (slide ?x ?y))
    (true (cell ?u ?v blank))
    (adjacent ?u ?v ?x ?y))

(<= (next (cell ?x ?y blank))
    (does solver (slide ?x ?y)))
(<= (next (cell ?u ?v ?tile))
    (true (cell ?u ?v blank))
    (does solver (slide ?x ?y))
    (true (cell ?x ?y ?tile)))
(<= (changed ?x ?y)
    (does solver (slide ?x ?y)))
(<= (changed ?x ?y)
    (true (cell ?x ?y blank)))
(<= (next (cell ?x ?y ?tile))
    (true (cell ?x ?y ?tile))
    (not (changed ?x ?y)))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

; the end

(<= misplaced
    (home ?x ?y ?tile)
    (not (true (cell ?x ?y ?tile))))
(<= terminal
    (not misplaced))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    (not misplaced))
(<= (goal solver 0)
    misplaced)
"""


def write(columns: int, rows: int, start: str, limit: int) -> Sheet:
    """The tiles at the start from the upper left, row by row; 0 is the blank."""
    cells = [(x, y) for y in range(1, rows + 1) for x in range(1, columns + 1)]
    order = [int(tile) for tile in start.split(",")]
    if sorted(order) != list(range(len(cells))):
        raise ValueError(f"start has to hold each number from 0 to {len(cells) - 1} once")
    names = {tile: str(tile) if tile else "blank" for tile in order}
    goal = [*range(1, len(cells)), 0]
    near = [(x, y, u, v) for x, y in cells for u, v in cells if abs(x - u) + abs(y - v) == 1]
    rules = _RULES.format(
        columns=columns,
        rows=rows,
        limit=limit,
        numbers=successors(limit),
        home=facts("home", ((*cell, names[tile]) for cell, tile in zip(cells, goal, strict=True))),
        adjacent=facts("adjacent", near),
        start="".join(f"(init (cell {x} {y} {names[tile]}))\n" for (x, y), tile in zip(cells, order, strict=True)),
    )
    marks = {str(tile): {"symbol": "badge", "colour": "yellow", "letters": str(tile)} for tile in sorted(order)[1:]}
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "empty": "blank",
        "rows": [str(y + 1) for y in range(rows)], "columns": [str(x + 1) for x in range(columns)],
        "row_labels": [], "column_labels": [], "marks": marks,
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "slides the tiles"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Slide tiles into the empty place until they are in order.",
    {
        "columns": Parameter("columns", 3, 2, 6),
        "rows": Parameter("rows", 3, 2, 6),
        "start": Parameter("tiles row by row, 0 for the blank", "8,6,7,2,5,4,3,0,1", pattern=r"\d{1,2}(,\d{1,2})+"),
        "limit": Parameter("steps after which the match ends", 60, 1, 300),
    },
    write,
)
