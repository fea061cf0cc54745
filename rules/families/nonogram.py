"""Nonograms, from a picture as text: its rows and columns give the clues."""

from itertools import combinations, groupby

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"cells": "Black cells"}
_MOVES = {"blacken": "column {1}, row {2}"}

_RULES = """\
; A nonogram: blacken {total} cells so that the groups in each row and column have the lengths of the clues.
; Columns count from 1 at the left, rows from 1 at the top. Clues of the rows: {row_clues}.
; Clues of the columns: {column_clues}.

(role solver)

{numbers}
{cell}
(<= (base (black ?x ?y))
    (cell ?x ?y))
(base (cells 0))
(<= (base (cells ?next))
    (succ ?many ?next))

(<= (input solver (blacken ?x ?y))
    (cell ?x ?y))

(init (cells 0))

(<= (legal solver (blacken ?x ?y))
    (cell ?x ?y)
    (not (true (black ?x ?y))))

(<= (next (black ?x ?y))
    (does solver (blacken ?x ?y)))
(<= (next (black ?x ?y))
    (true (black ?x ?y)))
(<= (next (cells ?next))
    (true (cells ?many))
    (succ ?many ?next))

; each way in which a row or column fits its clue

{ways}
(<= wrong
    (line ?line)
    (not (fits ?line)))
(<= terminal
    (true (cells {total})))

(<= (goal solver 100)
    (not wrong))
(<= (goal solver 0)
    wrong)
"""


def write(picture: str) -> Sheet:
    """Rows with / between them: * for black, - for white."""
    rows = picture.split("/")
    if len({len(row) for row in rows}) != 1 or "*" not in picture:
        raise ValueError("picture has to have rows of the same length, and black cells")
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    total = picture.count("*")
    ways = []
    for kind, lines in (("row", rows), ("column", columns)):
        for number, line in enumerate(lines, 1):
            ways += [_way(kind, number, line, way) for way in _ways(line)]
    names = [("row_" + str(y + 1),) for y in range(len(rows))] + [
        ("column_" + str(x + 1),) for x in range(len(columns))
    ]
    rules = _RULES.format(
        total=total,
        row_clues=", ".join(map(_clue, rows)),
        column_clues=", ".join(map(_clue, columns)),
        numbers=successors(total),
        cell=facts("cell", ((x + 1, y + 1) for y in range(len(rows)) for x in range(len(columns)))),
        ways=facts("line", names) + "".join(ways),
    )
    board = {
        "fact": "black", "row": 2, "column": 1, "joined": True,
        "rows": [str(y + 1) for y in range(len(rows))], "columns": [str(x + 1) for x in range(len(columns))],
        "row_labels": [_clue(row) for row in rows], "column_labels": [_clue(column) for column in columns],
        "marks": {"black": {"symbol": "block", "colour": "black", "letters": "#"}},
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "blackens cells"}, "drawing": {"board": board, "words": _WORDS, "moves": _MOVES}}
    )


def _clue(line: str) -> str:
    return " ".join(map(str, _groups(line))) or "0"


def _groups(line: str) -> list[int]:
    return [len(list(group)) for sign, group in groupby(line) if sign == "*"]


def _ways(line: str) -> list[set[int]]:
    """All sets of black cells, counted from 1, that fit the clue of the line."""
    cells = range(1, len(line) + 1)
    found = (set(way) for way in combinations(cells, line.count("*")))
    return [way for way in found if _groups("".join("*" if at in way else "-" for at in cells)) == _groups(line)]


def _way(kind: str, number: int, line: str, way: set[int]) -> str:
    conditions = []
    for at in range(1, len(line) + 1):
        fact = f"(true (black {at} {number}))" if kind == "row" else f"(true (black {number} {at}))"
        conditions.append(fact if at in way else f"(not {fact})")
    return f"(<= (fits {kind}_{number})\n    " + "\n    ".join(conditions) + ")\n"


FAMILY = Family(
    "Blacken cells so that the groups in each line have the lengths of its clue.",
    {
        "picture": Parameter(
            "rows with / between them, * for black and - for white",
            "-*-*-/*****/*****/-***-/--*--",
            pattern=r"[-*]{1,12}(/[-*]{1,12}){0,11}",
        )
    },
    write,
)
