"""Pancake sorting with any number of pancakes."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Flips"}
_MOVES = {"flip": "flip {1}"}

_RULES = """\
; Pancake sorting: flip upper parts of a stack of {number} until each lies on a greater one, within {limit} flips.
; Places count from 1 at the top.

(role solver)

{numbers}
{place}
; a flip of so many pancakes brings the one at a place to another place
{turn}
(<= (base (pancake ?place ?size))
    (place ?place)
    (place ?size))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (flip ?number))
    (place ?number)
    (distinct ?number 1))

{start}(init (step 0))

(<= (legal solver (flip ?number))
    (place ?number)
    (distinct ?number 1))

(<= (next (pancake ?to ?size))
    (does solver (flip ?number))
    (true (pancake ?from ?size))
    (turn ?number ?from ?to))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= misplaced
    (place ?size)
    (not (true (pancake ?size ?size))))
(<= terminal
    (not misplaced))
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    (not misplaced))
(<= (goal solver 0)
    misplaced)
"""


def write(start: str, limit: int) -> Sheet:
    """The sizes of the pancakes from the top, from 1 for the smallest."""
    sizes = [int(size) for size in start.split(",")]
    number = len(sizes)
    if sorted(sizes) != list(range(1, number + 1)):
        raise ValueError(f"start has to hold each number from 1 to {number} once")
    places = range(1, number + 1)
    turn = [(many, at, many + 1 - at if at <= many else at) for many in places[1:] for at in places]
    rules = _RULES.format(
        number=number,
        limit=limit,
        numbers=successors(limit),
        place=facts("place", ((place,) for place in places)),
        turn=facts("turn", turn),
        start="".join(f"(init (pancake {place} {size}))\n" for place, size in enumerate(sizes, 1)),
    )
    marks = {
        str(size): {"symbol": "bar", "size": 0.25 + 0.75 * size / number, "colour": "orange", "letters": str(size)}
        for size in places
    }
    board = {
        "fact": "pancake", "place": [1], "piece": 2, "shape": "free", "marks": marks,
        "at": {str(place): [0.34 * place, 0] for place in places},
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "flips the pancakes"}, "drawing": {"map": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Sort a stack of pancakes by flipping its upper part.",
    {
        "start": Parameter("sizes from the top", "1,5,3,7,2,6,4", pattern=r"\d(,\d)+"),
        "limit": Parameter("flips after which the match ends", 16, 1, 100),
    },
    write,
)
