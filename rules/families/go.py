"""Go with area scoring on square boards up to 11 by 11."""

from collections.abc import Iterable

from ggp.families import Family, Parameter, Sheet, chain, packed_facts

_WORDS = {
    "control": "To move",
    "step": "Steps",
    "passed": "Passes in a row",
    "ko": "Ko",
    "black": "Black",
    "white": "White",
}
_MOVES = {"place": "{1}{2}", "pass": "pass", "noop": ""}

_RULES = """\
; Go on {size} by {size} points by area scoring, {komi}.5 points for white; X is the column, Y the row from the bottom.
;
; (place X Y) puts a stone on an empty point; chains of the opponent that have no liberty then are taken off. (pass)
; passes. The state holds (cell X Y ROLE), (control ROLE), (ko X Y) for the point that must not be retaken at once,
; (passed N) for one pass or two in a row, and (step N).
;
; Whether a chain has another liberty than a given one is found without following its stones for each point: points
; have numbers of {bits} binary digits, and (free DIGIT VALUE X Y) says that the chain of the stone here has a liberty
; with this value of the digit. Two liberties differ in some digit.

(role black)
(role white)

(opponent black white)
(opponent white black)

; the board

{column_facts}
{row_facts}
{right}
{up}

(<= (adjacent east ?x ?y ?x2 ?y)
    (right ?x ?x2)
    (row ?y))
(<= (adjacent west ?x2 ?y ?x ?y)
    (right ?x ?x2)
    (row ?y))
(<= (adjacent north ?x ?y ?x ?y2)
    (column ?x)
    (up ?y ?y2))
(<= (adjacent south ?x ?y2 ?x ?y)
    (column ?x)
    (up ?y ?y2))

; the binary digits of columns and rows

{digits}

(<= (number ?x ?y ?digit ?value)
    (column_digit ?x ?digit ?value)
    (row ?y))
(<= (number ?x ?y ?digit ?value)
    (column ?x)
    (row_digit ?y ?digit ?value))
(other 0 1)
(other 1 0)

; facts and moves

(<= (base (cell ?x ?y ?role))
    (column ?x)
    (row ?y)
    (role ?role))
(<= (base (ko ?x ?y))
    (column ?x)
    (row ?y))
(<= (base (control ?role))
    (role ?role))
(base (passed 1))
(base (passed 2))
(base (step 0))
(<= (base (step ?n))
    (after ?before ?n))

(<= (input ?role (place ?x ?y))
    (role ?role)
    (column ?x)
    (row ?y))
(<= (input ?role pass)
    (role ?role))
(<= (input ?role noop)
    (role ?role))

; the start

(init (control black))
(init (step 0))

; the board as the role on turn sees it

(<= (mine ?x ?y)
    (true (control ?role))
    (true (cell ?x ?y ?role)))
(<= (theirs ?x ?y)
    (true (control ?role))
    (opponent ?role ?waiting)
    (true (cell ?x ?y ?waiting)))
(<= (empty ?x ?y)
    (column ?x)
    (row ?y)
    (not (mine ?x ?y))
    (not (theirs ?x ?y)))

; chains and their liberties

(<= (joined ?x ?y ?x2 ?y2)
    (forwards ?direction)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (mine ?x ?y)
    (mine ?x2 ?y2))
(<= (joined ?x ?y ?x2 ?y2)
    (forwards ?direction)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (theirs ?x ?y)
    (theirs ?x2 ?y2))
(<= (linked ?x ?y ?x2 ?y2)
    (joined ?x ?y ?x2 ?y2))
(<= (linked ?x2 ?y2 ?x ?y)
    (joined ?x ?y ?x2 ?y2))
(forwards east)
(forwards north)

(<= (free ?digit ?value ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2)
    (number ?x2 ?y2 ?digit ?value))
(<= (free ?digit ?value ?x ?y)
    (linked ?x ?y ?x2 ?y2)
    (free ?digit ?value ?x2 ?y2))
(<= (roomy ?x ?y)
    (free ?digit 0 ?x ?y)
    (free ?digit 1 ?x ?y))

; moves: not where the new stone would have no liberty

(<= (breathes ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))
(<= (breathes ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (mine ?x2 ?y2)
    (roomy ?x2 ?y2))
(<= (breathes ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (theirs ?x2 ?y2)
    (not (roomy ?x2 ?y2)))

(<= (legal ?role (place ?x ?y))
    (true (control ?role))
    (empty ?x ?y)
    (breathes ?x ?y)
    (not (true (ko ?x ?y))))
(<= (legal ?role pass)
    (true (control ?role)))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

; effects: chains of the opponent are taken whose only liberty has the number of the new stone

(<= (placed ?x ?y)
    (does ?role (place ?x ?y)))
(<= placing
    (placed ?x ?y))
(<= (played ?digit ?value)
    (placed ?x ?y)
    (number ?x ?y ?digit ?value))
(<= (safe ?x ?y)
    (roomy ?x ?y))
(<= (safe ?x ?y)
    (free ?digit ?value ?x ?y)
    (other ?value ?value2)
    (played ?digit ?value2))
(<= (taken ?x ?y)
    placing
    (theirs ?x ?y)
    (not (safe ?x ?y)))

(<= (next (cell ?x ?y ?role))
    (does ?role (place ?x ?y)))
(<= (next (cell ?x ?y ?role))
    (true (cell ?x ?y ?role))
    (not (taken ?x ?y)))

; ko: a single stone without another liberty took a single stone

(<= (supported ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (empty ?x2 ?y2))
(<= (supported ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (mine ?x2 ?y2))
(<= (accompanied ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (theirs ?x2 ?y2))
(<= (takes_also ?direction ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (adjacent ?direction3 ?x ?y ?x3 ?y3)
    (distinct ?direction ?direction3)
    (taken ?x3 ?y3))
(<= (next (ko ?x2 ?y2))
    (placed ?x ?y)
    (not (supported ?x ?y))
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (taken ?x2 ?y2)
    (not (accompanied ?x2 ?y2))
    (not (takes_also ?direction ?x ?y)))

(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))
(<= (next (step ?n))
    (true (step ?before))
    (after ?before ?n))
(<= (next (passed 2))
    (does ?role pass)
    (true (passed 1)))
(<= (next (passed 1))
    (does ?role pass)
    (not (true (passed 1))))

; the end

(<= terminal
    (true (passed 2)))
(<= terminal
    (true (step {longest})))

; area: stones, and empty points from which only stones of one role are reached

(<= (touches ?role ?x ?y)
    (empty ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (true (cell ?x2 ?y2 ?role)))
(<= (touches ?role ?x ?y)
    (empty ?x ?y)
    (adjacent ?direction ?x ?y ?x2 ?y2)
    (touches ?role ?x2 ?y2))
(<= (owns ?role ?x ?y)
    (true (cell ?x ?y ?role)))
(<= (owns ?role ?x ?y)
    (opponent ?role ?other)
    (touches ?role ?x ?y)
    (not (touches ?other ?x ?y)))

; the area of a role as a binary number: (unit ROLE PLACE N BIT) are the units of a binary place, those of place 0 the
; points, and {komi} more for white. They are taken two by two as couples of 0 to 2; (rest ROLE PLACE N BIT) is left
; over after N couples, and each couple carries a unit to the next place.

(<= (unit ?role 0 ?n 1)
    (numbered ?n ?x ?y)
    (owns ?role ?x ?y))
(<= (unit ?role 0 ?n 0)
    (role ?role)
    (numbered ?n ?x ?y)
    (not (owns ?role ?x ?y)))
{padding_rule}(<= (unit white 0 ?n 1)
    (komi ?n))
(<= (unit black 0 ?n 0)
    (komi ?n))

(<= (couple ?role ?place ?n ?sum)
    (two ?n ?first ?second)
    (unit ?role ?place ?first ?bit1)
    (unit ?role ?place ?second ?bit2)
    (plus ?bit1 ?bit2 ?sum))
(<= (even ?role ?place ?n)
    (couple ?role ?place ?n 0))
(<= (even ?role ?place ?n)
    (couple ?role ?place ?n 2))

(<= (rest ?role ?place 0 0)
    (role ?role)
    (last_couple ?place ?n))
(<= (rest ?role ?place ?n ?bit)
    (even ?role ?place ?n)
    (succ ?before ?n)
    (rest ?role ?place ?before ?bit))
(<= (rest ?role ?place ?n ?bit)
    (couple ?role ?place ?n 1)
    (succ ?before ?n)
    (rest ?role ?place ?before ?other)
    (plus ?bit ?other 1))

(<= (unit ?role ?next_place ?n 0)
    (couple ?role ?place ?n 0)
    (succ ?place ?next_place))
(<= (unit ?role ?next_place ?n ?bit)
    (couple ?role ?place ?n 1)
    (succ ?before ?n)
    (rest ?role ?place ?before ?bit)
    (succ ?place ?next_place))
(<= (unit ?role ?next_place ?n 1)
    (couple ?role ?place ?n 2)
    (succ ?place ?next_place))

(<= (bit ?role ?place ?bit)
    (last_couple ?place ?n)
    (rest ?role ?place ?n ?bit))
(<= (bit ?role {places} ?bit)
    (unit ?role {places} 1 ?bit))

; the highest place at which the bits differ decides; as many points as white with {komi} more are half a point too few

(<= (leads ?place)
    (bit black ?place 1)
    (bit white ?place 0))
(<= (leads ?place)
    (leads ?below)
    (succ ?below ?place)
    (bit black ?place ?bit)
    (bit white ?place ?bit))

(<= (goal black 100)
    (leads {places}))
(<= (goal white 0)
    (leads {places}))
(<= (goal black 0)
    (not (leads {places})))
(<= (goal white 100)
    (not (leads {places})))

; numbers

(plus 0 0 0) (plus 0 1 1) (plus 1 0 1) (plus 1 1 2)

{couples}

{numbered}

{rest_units}

{pairs}

{succ}

{after}
"""


_PADDING = """\
(<= (unit ?role 0 ?n 0)
    (role ?role)
    (padding ?n))
"""


def write(size: int, komi: int) -> Sheet:
    """The board has this many columns and rows; white has half a point more than komi."""
    columns, rows = "abcdefghijk"[:size], range(1, size + 1)
    digits = (size - 1).bit_length()
    units = size * size + komi
    places = (units - 1).bit_length()
    cells = [(column, row) for row in rows for column in columns]
    own = range(size * size + 1, units + 1)
    padding = [(n,) for n in range(units + 1, (1 << places) + 1)]
    rules = _RULES.format(
        size=size, komi=komi, bits=2 * digits, longest=2 * size * size, places=places,
        column_facts=packed_facts("column", columns),
        row_facts=packed_facts("row", zip(rows, strict=True)),
        right=chain("right", columns),
        up=chain("up", rows),
        digits="\n".join(
            packed_facts(f"{kind}_digit", _digits(kind[0], names, digits))
            for kind, names in (("column", columns), ("row", rows))
        ),
        couples=packed_facts("last_couple", [(place, 1 << places - 1 - place) for place in range(places)]),
        numbered=packed_facts("numbered", [(n, *cell) for n, cell in enumerate(cells, 1)]),
        padding_rule=_PADDING if padding else "",
        rest_units="\n".join(
            [packed_facts("komi", zip(own, strict=True)), *([packed_facts("padding", padding)] if padding else [])]
        ),
        pairs=packed_facts("two", [(n, 2 * n - 1, 2 * n) for n in range(1, (1 << places - 1) + 1)]),
        succ=chain("succ", range((1 << places - 1) + 1)),
        after=chain("after", range(2 * size * size + 1)),
    )  # fmt: skip
    board = {
        "fact": "cell",
        "row": 2,
        "column": 1,
        "piece": 3,
        "rows": [*map(str, reversed(rows))],
        "columns": [*columns],
        "shape": "crossings",
        "notes": ["ko"],
    }
    return Sheet(
        rules,
        {
            "title": f"Go {size} by {size}",
            "roles": {"black": "moves first", "white": f"moves second and has {komi}.5 points more"},
            "drawing": {"board": board, "words": _WORDS, "moves": _MOVES},
        },
    )


def _digits(prefix: str, names: Iterable[object], digits: int) -> list[tuple[object, str, int]]:
    """The binary digits of the number of each name, counted from 0."""
    return [(name, f"{prefix}{at}", n >> at & 1) for n, name in enumerate(names) for at in range(digits)]


FAMILY = Family(
    "Surround territory and stones; area scoring without suicide.",
    {
        "size": Parameter("rows and columns", 9, least=3, most=11),
        "komi": Parameter("whole points of white's compensation, to which half a point comes", 7, most=20),
    },
    write,
)
