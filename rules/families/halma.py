"""Halma on a square, Chinese checkers on a star: who first brings its pieces into the camp opposite wins."""

from itertools import product

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

Cell = tuple[int, int]  # column and row, counted from 0
Camps = list[tuple[list[Cell], list[Cell]]]  # of each role: where it starts and where it goes

_RULES = """\
; {title}; X is the column, Y the row from the {origin}.
;
; (move X Y X2 Y2) goes to a neighbouring cell, (hop X Y X2 Y2) over a neighbouring piece to the cell behind.
; A turn of several hops is several steps: (hopping X Y) says which piece goes on, (visited X Y) where it has been in
; this turn, and stop ends the turn. The state holds (cell X Y ROLE), (control ROLE) and (turns N) as well.

{roles}

{order}

; the board

{cells}
{right}
{vertical}

{steps}
(<= (adjacent ?direction ?x ?y ?x2 ?y2)
    (step ?direction ?x ?y ?x2 ?y2)
    (place ?x ?y)
    (place ?x2 ?y2))
(<= (adjacent ?opposite ?x2 ?y2 ?x ?y)
    (back ?direction ?opposite)
    (step ?direction ?x ?y ?x2 ?y2)
    (place ?x ?y)
    (place ?x2 ?y2))

; (start ROLE X Y), and (camp ROLE N X Y) for the cells that a role has to come to

{start}
{camp}

(<= (within ?role ?x ?y)
    (camp ?role ?n ?x ?y))

; (walk ROLE X Y X2 Y2) and (leap ROLE X Y OVER_X OVER_Y X2 Y2): nobody leaves the camp that it has to come to

(<= (keeps ?role ?x ?y ?x2 ?y2)
    (role ?role)
    (place ?x ?y)
    (place ?x2 ?y2)
    (not (within ?role ?x ?y)))
(<= (keeps ?role ?x ?y ?x2 ?y2)
    (within ?role ?x ?y)
    (within ?role ?x2 ?y2))
(<= (walk ?role ?x ?y ?x2 ?y2)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (keeps ?role ?x ?y ?x2 ?y2))
(<= (leap ?role ?x ?y ?x2 ?y2 ?x3 ?y3)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (adjacent ?direction ?x2 ?y2 ?x3 ?y3)
    (keeps ?role ?x ?y ?x3 ?y3))

; facts and moves

(<= (base (cell ?x ?y ?role))
    (place ?x ?y)
    (role ?role))
(<= (base (control ?role))
    (role ?role))
(<= (base (hopping ?x ?y))
    (place ?x ?y))
(<= (base (visited ?x ?y))
    (place ?x ?y))
(base (turns 0))
(<= (base (turns ?n))
    (after ?before ?n))

(<= (input ?role (move ?x ?y ?x2 ?y2))
    (walk ?role ?x ?y ?x2 ?y2))
(<= (input ?role (hop ?x ?y ?x3 ?y3))
    (leap ?role ?x ?y ?x2 ?y2 ?x3 ?y3))
(<= (input ?role stop)
    (role ?role))
(<= (input ?role pass)
    (role ?role))
(<= (input ?role noop)
    (role ?role))

; the start

(<= (init (cell ?x ?y ?role))
    (start ?role ?x ?y))
(init (control {first}))
(init (turns 0))

; moves

(<= (taken ?x ?y)
    (true (cell ?x ?y ?role)))
(<= (empty ?x ?y)
    (place ?x ?y)
    (not (taken ?x ?y)))
(<= (mine ?role ?x ?y)
    (true (control ?role))
    (true (cell ?x ?y ?role)))

(<= going_on
    (true (hopping ?x ?y)))
(<= (active ?x ?y)
    (place ?x ?y)
    (not going_on))
(<= (active ?x ?y)
    (true (hopping ?x ?y)))

; (open X Y X2 Y2): a piece on the first cell could hop to the second, where it has not been in this turn

(<= (open ?role ?x ?y ?x3 ?y3)
    (leap ?role ?x ?y ?x2 ?y2 ?x3 ?y3)
    (taken ?x2 ?y2)
    (empty ?x3 ?y3)
    (not (true (visited ?x3 ?y3))))
(<= (can_hop ?role ?x ?y ?x2 ?y2)
    (mine ?role ?x ?y)
    (active ?x ?y)
    (open ?role ?x ?y ?x2 ?y2))
(<= (can_move ?role ?x ?y ?x2 ?y2)
    (mine ?role ?x ?y)
    (walk ?role ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2)
    (not going_on))
(<= able
    (can_hop ?role ?x ?y ?x2 ?y2))
(<= able
    (can_move ?role ?x ?y ?x2 ?y2))

(<= (legal ?role (move ?x ?y ?x2 ?y2))
    (can_move ?role ?x ?y ?x2 ?y2))
(<= (legal ?role (hop ?x ?y ?x2 ?y2))
    (can_hop ?role ?x ?y ?x2 ?y2))
(<= (legal ?role stop)
    (true (control ?role))
    going_on)
(<= (legal ?role pass)
    (true (control ?role))
    (not going_on)
    (not able))
(<= (legal ?role noop)
    (role ?role)
    (not (true (control ?role))))

; effects

(<= (departs ?x ?y)
    (does ?role (move ?x ?y ?x2 ?y2)))
(<= (departs ?x ?y)
    (does ?role (hop ?x ?y ?x2 ?y2)))
(<= (arrives ?x2 ?y2 ?role)
    (does ?role (move ?x ?y ?x2 ?y2)))
(<= (arrives ?x2 ?y2 ?role)
    (does ?role (hop ?x ?y ?x2 ?y2)))
(<= (next (cell ?x ?y ?role))
    (arrives ?x ?y ?role))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role))
    (not (departs ?x ?y)))

; a turn goes on if the piece that has hopped can hop again

(<= (goes_on ?x2 ?y2)
    (does ?role (hop ?x ?y ?x2 ?y2))
    (open ?role ?x2 ?y2 ?x3 ?y3))
(<= unfinished
    (goes_on ?x ?y))

(<= (next (hopping ?x ?y))
    (goes_on ?x ?y))
(<= (next (visited ?x ?y))
    unfinished
    (departs ?x ?y))
(<= (next (visited ?x ?y))
    unfinished
    (true (visited ?x ?y)))
(<= (next (control ?role))
    (true (control ?role))
    unfinished)
(<= (next (control ?following))
    (true (control ?role))
    (follows ?role ?following)
    (not unfinished))
(<= (next (turns ?n))
    (true (turns ?n))
    unfinished)
(<= (next (turns ?n))
    (true (turns ?before))
    (after ?before ?n)
    (not unfinished))

; the end

(<= (gap ?role)
    (within ?role ?x ?y)
    (empty ?x ?y))
(<= (inside ?role ?n)
    (camp ?role ?n ?x ?y)
    (true (cell ?x ?y ?role)))
(<= (arrived ?role)
    (count ?role {pieces} ?n)
    (most ?n)
    (not (gap ?role)))
(<= decided
    (arrived ?role))
(<= late
    (true (turns {limit})))

(<= terminal
    decided)
(<= terminal
    late)

; (count ROLE N COUNT): its pieces on the first cells of the camp; (more ROLE OTHER): who has more of them in its camp

(<= (count ?role 0 0)
    (role ?role))
(<= (count ?role ?n ?more)
    (after ?before ?n)
    (count ?role ?before ?count)
    (after ?count ?more)
    (inside ?role ?n))
(<= (count ?role ?n ?count)
    (after ?before ?n)
    (count ?role ?before ?count)
    (camp ?role ?n ?x ?y)
    (not (inside ?role ?n)))
(<= (greater ?n ?before)
    (after ?before ?n)
    (camp ?role ?n ?x ?y))
(<= (greater ?n ?less)
    (greater ?n ?before)
    (after ?less ?before))
(<= (beaten ?role)
    (count ?role {pieces} ?less)
    (count ?other {pieces} ?more)
    (greater ?more ?less))
(<= (shared ?role)
    (role ?role)
    (role ?other)
    (distinct ?role ?other)
    (not (beaten ?role))
    (not (beaten ?other)))

(<= (goal ?role 100)
    (arrived ?role))
(<= (goal ?role 0)
    (role ?role)
    decided
    (not (arrived ?role)))
(<= (goal ?role 50)
    (role ?role)
    (not decided)
    (not late))
(<= (goal ?role 100)
    (role ?role)
    late
    (not decided)
    (not (beaten ?role))
    (not (shared ?role)))
(<= (goal ?role 50)
    late
    (not decided)
    (shared ?role))
(<= (goal ?role 0)
    late
    (not decided)
    (beaten ?role))

; numbers: (most N) is more than half of the pieces of a role

{most}
{numbers}
"""
_SQUARE = """\
(back east west)
(back north south)
(back northeast southwest)
(back northwest southeast)

(<= (step east ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (place ?x ?y))
(<= (step north ?x ?y ?x ?y2)
    (place ?x ?y)
    (up ?y ?y2))
(<= (step northeast ?x ?y ?x2 ?y2)
    (right ?x ?x2)
    (up ?y ?y2))
(<= (step northwest ?x2 ?y ?x ?y2)
    (right ?x ?x2)
    (up ?y ?y2))"""
_STAR = """\
(back east west)
(back southeast northwest)
(back southwest northeast)

(<= (step east ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (place ?x ?y))
(<= (step southeast ?x ?y ?x ?y2)
    (place ?x ?y)
    (down ?y ?y2))
(<= (step southwest ?x2 ?y ?x ?y2)
    (right ?x ?x2)
    (down ?y ?y2))"""

_COLOURS = ("red", "blue", "green", "yellow", "purple", "orange")
_MOST_ROWS = 5  # of a point: columns are letters
_POINTS = {
    2: (3, 0),
    3: (3, 5, 1),
    6: (3, 4, 5, 0, 1, 2),
}  # roles → the points where they start, clockwise from the top


def _square(size: int) -> tuple[list[Cell], Camps]:
    """All cells, and two triangles at opposite corners."""
    cells = [(x, y) for y in range(size) for x in range(size)]
    lower = [(x, y) for x, y in cells if x + y < size // 2]
    upper = [(x, y) for x, y in cells if 2 * size - 2 - x - y < size // 2]
    return cells, [(lower, upper), (upper, lower)]


def _star(size: int, roles: int) -> tuple[list[Cell], Camps]:
    """A hexagon with a triangle on each of its sides: each row is half a cell right of the one above."""
    most = 2 * size
    found = {
        (x + most, z + most): (x, -x - z, z)
        for z, x in product(range(-most, most + 1), repeat=2)
        if min(x, -x - z, z) >= -size or max(x, -x - z, z) <= size
    }
    beyond = [(2, -1), (0, 1), (1, -1), (2, 1), (0, -1), (1, 1)]  # of each point the coordinate that is large, its sign
    points = [[cell for cell, where in found.items() if sign * where[axis] > size] for axis, sign in beyond]
    return [*found], [(points[at], points[(at + 3) % 6]) for at in _POINTS[roles]]


def write(shape: str, size: int, roles: int, limit: int) -> Sheet:
    """A square has this many rows, the camps half as many; the points of a star have this many."""
    if shape == "square" and roles != 2:
        raise ValueError("a square is for 2 roles")
    if shape == "star" and size > _MOST_ROWS:
        raise ValueError(f"a star has points of {_MOST_ROWS} rows at most")
    if roles not in _POINTS:
        raise ValueError(f"{roles} roles are none of 2, 3 and 6")
    is_square = shape == "square"
    cells, camps = _square(size) if is_square else _star(size, roles)
    names = ("white", "black") if is_square else _COLOURS[:roles]
    many = size if is_square else 4 * size + 1
    columns, rows = "abcdefghijklmnopqrstu"[:many], [*map(str, range(1, many + 1))]
    words = {cell: (columns[cell[0]], rows[cell[1]]) for cell in cells}
    title = (
        f"Halma on {size} by {size} cells" if is_square else f"Chinese checkers for {roles} on points of {size} rows"
    )
    pieces = len(camps[0][0])
    rules = _RULES.format(
        title=title,
        origin="bottom" if is_square else "top",
        roles="\n".join(f"(role {name})" for name in names),
        order="\n".join(f"(follows {one} {two})" for one, two in zip(names, names[1:] + names[:1], strict=True)),
        cells=packed_facts("place", words.values()),
        right=chain("right", columns),
        vertical=chain("up" if is_square else "down", rows),
        steps=_SQUARE if is_square else _STAR,
        start="\n".join(
            packed_facts("start", ((name, *words[cell]) for cell in own))
            for name, (own, _) in zip(names, camps, strict=True)
        ),
        camp="\n".join(
            packed_facts("camp", ((name, number, *words[cell]) for number, cell in enumerate(end, 1)))
            for name, (_, end) in zip(names, camps, strict=True)
        ),
        first=names[0],
        pieces=pieces,
        most=packed_facts("most", ((number,) for number in range(pieces // 2 + 1, pieces + 1))),
        limit=limit,
        numbers=chain("after", range(limit + 1)),
    )  # fmt: skip
    board = {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "rows": rows[::-1] if is_square else rows,
        "columns": [*columns], "notes": ["hopping"],
        "marks": {name: {"symbol": "disc", "colour": name, "letters": name[0]} for name in names},
    }  # fmt: skip
    if is_square:
        board |= {"checkered": True}
    else:
        mask = ["".join("x" if (x, y) in words else " " for x in range(many)).rstrip() for y in range(many)]
        board |= {"shape": "hexagons", "shift": 0.5, "cells": mask, "row_labels": [], "column_labels": []}
    drawing = {
        "hidden": ["visited"],
        "board": board,
        "words": {"control": "To move", "turns": "Turns", "hopping": "May go on from"}
        | {name: name.capitalize() for name in names},
        "moves": {"move": "{1}{2}–{3}{4}", "hop": "{1}{2}→{3}{4}", "stop": "stop", "pass": "pass", "noop": ""},
    }
    ordinals = ("first", "second", "third", "fourth", "fifth", "sixth")
    told = {name: f"moves {ordinal}" for name, ordinal in zip(names, ordinals, strict=False)}
    return Sheet(rules, {"title": title, "roles": told, "drawing": drawing})


FAMILY = Family(
    "Pieces step, or hop over others, into the camp opposite.",
    {
        "shape": Parameter("square for halma, star for Chinese checkers", "square", pattern="square|star"),
        "size": Parameter("rows of a square, or of each point of a star", 8, 2, 16),
        "roles": Parameter("2 on a square, 2, 3 or 6 on a star", 2, 2, 6),
        "limit": Parameter("turns after which who has more pieces in its camp wins", 200, 10, 1000),
    },
    write,
)
