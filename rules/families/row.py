"""A line of several stones on square boards: gomoku, connect6."""

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {
    "control": "To move",
    "turn": "To move",
    "first": "first stone",
    "second": "last stone",
    "black": "Black",
    "white": "White",
}
_MOVES = {"place": "{1}{2}", "noop": ""}

_RULES = """\
; A row of {length} on {size} by {size} points; X is the column, Y the row from the bottom.
;
; (place X Y) puts a stone on an empty point; the first line of {length} or more stones of a role wins. {turns}
; The state holds (cell X Y ROLE) and {state}.

(role black)
(role white)

(opponent black white)
(opponent white black)

; the board

{columns}
{rows}
{right}
{up}

(<= (step east ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (row ?y))
(<= (step north ?x ?y ?x ?y2)
    (column ?x)
    (up ?y ?y2))
(<= (step northeast ?x ?y ?x2 ?y2)
    (right ?x ?x2)
    (up ?y ?y2))
(<= (step southeast ?x ?y2 ?x2 ?y)
    (right ?x ?x2)
    (up ?y ?y2))

; facts and moves

(<= (base (cell ?x ?y ?role))
    (column ?x)
    (row ?y)
    (role ?role))
{bases}

(<= (input ?role (place ?x ?y))
    (role ?role)
    (column ?x)
    (row ?y))
(<= (input ?role noop)
    (role ?role))

; the start

{start}

; moves

(<= (taken ?x ?y)
    (true (cell ?x ?y ?role)))
(<= (empty ?x ?y)
    (column ?x)
    (row ?y)
    (not (taken ?x ?y)))
{mover}
(<= (legal ?role (place ?x ?y))
    (on_turn ?role)
    (empty ?x ?y))
(<= (legal ?waiting noop)
    (on_turn ?role)
    (opponent ?role ?waiting))

; effects

(<= (next (cell ?x ?y ?role))
    (does ?role (place ?x ?y)))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role)))
{nexts}

; (line ROLE DIRECTION X Y N): N stones of the role in a row that ends here

(<= (line ?role ?direction ?x ?y 1)
    (true (cell ?x ?y ?role))
    (step ?direction ?x ?y ?x2 ?y2))
(<= (line ?role ?direction ?x2 ?y2 ?n)
    (line ?role ?direction ?x ?y ?before)
    (step ?direction ?x ?y ?x2 ?y2)
    (after ?before ?n)
    (true (cell ?x2 ?y2 ?role)))

{after}

; the end

(<= (winner ?role)
    (line ?role ?direction ?x ?y {length}))
(<= decided
    (winner ?role))
(<= unfilled
    (empty ?x ?y))
(<= terminal
    decided)
(<= terminal
    (not unfilled))

(<= (goal ?role 100)
    (winner ?role))
(<= (goal ?loser 0)
    (winner ?role)
    (opponent ?role ?loser))
(<= (goal ?role 50)
    (role ?role)
    (not decided))
"""
_SINGLE = {
    "turns": "Each turn is one stone.",
    "state": "(control ROLE)",
    "bases": "(<= (base (control ?role))\n    (role ?role))",
    "start": "(init (control black))",
    "mover": "(<= (on_turn ?role)\n    (true (control ?role)))",
    "nexts": "(<= (next (control ?waiting))\n    (true (control ?role))\n    (opponent ?role ?waiting))",
}
_DOUBLE = {
    "turns": "Each turn is two stones, one a step; black's first turn is one.",
    "state": "(turn ROLE STONE), the role on turn and which of its stones comes next",
    "bases": "(<= (base (turn ?role ?stone))\n    (role ?role)\n    (stone ?stone))\n(stone first)\n(stone second)",
    "start": "(init (turn black second))",
    "mover": "(<= (on_turn ?role)\n    (true (turn ?role ?stone)))",
    "nexts": "(<= (next (turn ?role second))\n    (true (turn ?role first)))\n"
    "(<= (next (turn ?waiting first))\n    (true (turn ?role second))\n    (opponent ?role ?waiting))",
}


def write(size: int, length: int, stones: int) -> Sheet:
    """The board has this many columns and rows; so many stones in a row win; a turn is one stone or two."""
    columns, rows = "abcdefghijklmnopqrs"[:size], range(1, size + 1)
    if length > size:
        raise ValueError("a line cannot be longer than the board")
    rules = _RULES.format(
        size=size,
        length=length,
        columns=packed_facts("column", columns),
        rows=packed_facts("row", zip(rows, strict=True)),
        right=chain("right", columns),
        up=chain("up", rows),
        after=chain("after", range(1, length + 1)),
        **(_SINGLE if stones == 1 else _DOUBLE),
    )
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, reversed(rows))],
        "columns": [*columns],
        "shape": "crossings",
    }
    return Sheet(
        rules,
        {
            "title": f"A row of {length} on {size} by {size} points",
            "roles": {"black": "moves first", "white": "moves second"},
            "drawing": {"board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


FAMILY = Family(
    "The first line of so many stones wins, one stone a turn or two.",
    {
        "size": Parameter("rows and columns", 15, least=3, most=19),
        "length": Parameter("stones of a line that wins", 5, least=3, most=9),
        "stones": Parameter("stones of a turn; the first turn is one", 1, most=2),
    },
    write,
)
