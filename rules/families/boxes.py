"""Dots and boxes on any number of boxes, with a draw where both own as many."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"control": "To move", "boxes": "Boxes", "first": "First", "second": "Second"}
_MOVES = {"draw": "{1:letter}{2}–{3:letter}{4}", "noop": ""}

_RULES = """\
; Dots and boxes on {columns} columns and {rows} rows of boxes: who owns more boxes at the end wins.
; Dots count from 1 at the left and from 1 at the bottom; a box is named by its lower left dot.

(role first)
(role second)

(opponent first second)
(opponent second first)

; lines between dots, and boxes with their four lines
{edge}
{side}
; numbers of boxes
{numbers}
(<= (box ?x ?y)
    (side ?x ?y ?a ?b ?c ?d))

(<= (base (line ?a ?b ?c ?d))
    (edge ?a ?b ?c ?d))
(<= (base (owner ?x ?y ?role))
    (box ?x ?y)
    (role ?role))
(<= (base (boxes ?role 0))
    (role ?role))
(<= (base (boxes ?role ?next))
    (role ?role)
    (succ ?number ?next))
(<= (base (control ?role))
    (role ?role))

(<= (input ?role (draw ?a ?b ?c ?d))
    (role ?role)
    (edge ?a ?b ?c ?d))
(<= (input ?role noop)
    (role ?role))

(<= (init (boxes ?role 0))
    (role ?role))
(init (control first))

(<= (legal ?role (draw ?a ?b ?c ?d))
    (true (control ?role))
    (edge ?a ?b ?c ?d)
    (not (true (line ?a ?b ?c ?d))))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

; a line, and the boxes that it completes: those on whose other sides lines are drawn already

(<= (next (line ?a ?b ?c ?d))
    (does ?role (draw ?a ?b ?c ?d)))
(<= (next (line ?a ?b ?c ?d))
    (true (line ?a ?b ?c ?d)))

{completed}
(<= scored
    (completed ?x ?y))
(<= scored_twice
    (completed ?x ?y)
    (completed ?u ?v)
    (neighbours ?x ?y ?u ?v))
{neighbours}
(<= (next (owner ?x ?y ?role))
    (completed ?x ?y)
    (true (control ?role)))
(<= (next (owner ?x ?y ?role))
    (true (owner ?x ?y ?role)))

(<= (next (boxes ?role ?number))
    (true (boxes ?role ?number))
    (not scored))
(<= (next (boxes ?waiting ?number))
    (true (control ?role))
    (opponent ?role ?waiting)
    (true (boxes ?waiting ?number))
    scored)
(<= (next (boxes ?role ?next))
    (true (control ?role))
    (true (boxes ?role ?number))
    (succ ?number ?next)
    scored
    (not scored_twice))
(<= (next (boxes ?role ?last))
    (true (control ?role))
    (true (boxes ?role ?number))
    (succ ?number ?next)
    (succ ?next ?last)
    scored_twice)

; who completes a box goes on

(<= (next (control ?role))
    (true (control ?role))
    scored)
(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting)
    (not scored))

; the end: all lines are drawn

(<= open
    (edge ?a ?b ?c ?d)
    (not (true (line ?a ?b ?c ?d))))
(<= terminal
    (not open))

{beats}
(<= (leads ?role)
    (true (boxes ?role ?number))
    (opponent ?role ?other)
    (true (boxes ?other ?less))
    (beats ?number ?less))
(<= level
    (not (leads first))
    (not (leads second)))
(<= (goal ?role 100)
    (leads ?role))
(<= (goal ?role 50)
    (role ?role)
    level)
(<= (goal ?role 0)
    (leads ?other)
    (opponent ?other ?role))
"""


def write(columns: int, rows: int) -> Sheet:
    """The rules for each side of each box."""
    dots = [(x, y) for y in range(1, rows + 2) for x in range(1, columns + 2)]
    edges = [(x, y, x + 1, y) for x, y in dots if x <= columns] + [(x, y, x, y + 1) for x, y in dots if y <= rows]
    boxes = [(x, y) for x, y in dots if x <= columns and y <= rows]
    sides = {
        (x, y): [(x, y, x + 1, y), (x, y + 1, x + 1, y + 1), (x, y, x, y + 1), (x + 1, y, x + 1, y + 1)]
        for x, y in boxes
    }
    most = len(boxes)
    rules = _RULES.format(
        columns=columns,
        rows=rows,
        edge=facts("edge", edges),
        side=facts("side", ((*box, *side) for box in boxes for side in sides[box])),
        numbers=successors(most),
        completed="".join(_completed(box, sides[box]) for box in boxes),
        neighbours=facts(
            "neighbours", ((x, y, u, v) for x, y in boxes for u, v in ((x + 1, y), (x, y + 1)) if (u, v) in sides)
        ),
        beats=facts("beats", ((one, other) for one in range(1, most + 1) for other in range(one))),
    )
    dots_of = {"rows": [str(y) for y in range(rows + 1, 0, -1)], "columns": [str(x + 1) for x in range(columns + 1)]}
    drawing = {
        "words": _WORDS, "moves": _MOVES,
        "lines": {
            "fact": "line", "from_row": 2, "from_column": 1, "to_row": 4, "to_column": 3, **dots_of,
            "column_letters": True,
        },
        "boxes": {
            "fact": "owner", "row": 2, "column": 1, "owner": 3, "corner": "lower left",
            "marks": {
                "first": {"symbol": "block", "colour": "blue", "letters": "1"},
                "second": {"symbol": "block", "colour": "red", "letters": "2"},
            },
        },
    }  # fmt: skip
    return Sheet(rules, {"roles": {"first": "moves first", "second": "moves second"}, "drawing": drawing})


def _completed(box: tuple[int, int], sides: list[tuple[int, int, int, int]]) -> str:
    texts = [" ".join(map(str, side)) for side in sides]
    rules = []
    for text in texts:
        others = "".join(f"\n    (true (line {other}))" for other in texts if other != text)
        rules.append(f"(<= (completed {box[0]} {box[1]})\n    (does ?role (draw {text})){others})\n")
    return "".join(rules)


FAMILY = Family(
    "Draw lines between dots and own boxes.",
    {"columns": Parameter("columns of boxes", 3, 1, 8), "rows": Parameter("rows of boxes", 3, 1, 8)},
    write,
)
