"""The tower of Hanoi, with any number of disks."""

from ggp.families import Family, Parameter, Sheet, facts, successors

_WORDS = {"step": "Steps"}
_MOVES = {"move": "{1} → {2}"}

_RULES = """\
; The tower of Hanoi with {disks} disks: move the tower from peg a to peg c within {limit} steps.

(role solver)

(peg a)
(peg b)
(peg c)

{numbers}
; disks by size, which are the numbers of heights too, and which lie on which
{disk}{smaller}
(<= (base (disk ?peg ?height ?disk))
    (peg ?peg)
    (size ?height)
    (size ?disk))
(base (step 0))
(<= (base (step ?next))
    (succ ?step ?next))

(<= (input solver (move ?from ?to))
    (peg ?from)
    (peg ?to)
    (distinct ?from ?to))

{start}(init (step 0))

; the upper disk of each peg, and the place above it

(<= (covered ?peg ?height)
    (true (disk ?peg ?above ?disk))
    (succ ?height ?above))
(<= (top ?peg ?height ?disk)
    (true (disk ?peg ?height ?disk))
    (not (covered ?peg ?height)))
(<= (takes ?peg 1 ?disk)
    (peg ?peg)
    (size ?disk)
    (not (covered ?peg 0)))
(<= (takes ?peg ?above ?disk)
    (top ?peg ?height ?lower)
    (smaller ?disk ?lower)
    (succ ?height ?above))

(<= (legal solver (move ?from ?to))
    (top ?from ?height ?disk)
    (takes ?to ?above ?disk)
    (distinct ?from ?to))

(<= (next (disk ?to ?above ?disk))
    (does solver (move ?from ?to))
    (top ?from ?height ?disk)
    (takes ?to ?above ?disk))
(<= (taken ?from ?height)
    (does solver (move ?from ?to))
    (top ?from ?height ?disk))
(<= (next (disk ?peg ?height ?disk))
    (true (disk ?peg ?height ?disk))
    (not (taken ?peg ?height)))
(<= (next (step ?next))
    (true (step ?step))
    (succ ?step ?next))

(<= solved
    (true (disk c {disks} 1)))
(<= terminal
    solved)
(<= terminal
    (true (step {limit})))

(<= (goal solver 100)
    solved)
(<= (goal solver 0)
    (not solved))
"""


def write(disks: int) -> Sheet:
    """Twice as many steps as the shortest way has."""
    limit = 2 * (2**disks - 1)
    sizes = range(1, disks + 1)
    rules = _RULES.format(
        disks=disks,
        limit=limit,
        numbers=successors(limit),
        disk=facts("size", ((size,) for size in sizes)),
        smaller=facts("smaller", ((one, other) for other in sizes for one in range(1, other))),
        start="".join(f"(init (disk a {height} {disks + 1 - height}))\n" for height in sizes),
    )
    colours = ("red", "orange", "yellow", "green", "sky", "blue", "purple", "grey")
    marks = {
        str(size): {
            "symbol": "bar",
            "size": 0.3 + 0.7 * size / disks,
            "colour": colours[size % 8],
            "letters": str(size),
        }
        for size in sizes
    }
    pegs = {"a": 0.0, "b": 1.15, "c": 2.3}
    board = {
        "fact": "disk", "place": [1, 2], "piece": 3, "shape": "free", "marks": marks,
        "at": {f"{peg} {height}": [0.32 * (disks - height), at] for peg, at in pegs.items() for height in sizes},
        "guides": [[f"{peg} 1", f"{peg} {disks}"] for peg in pegs],
    }  # fmt: skip
    return Sheet(
        rules, {"roles": {"solver": "moves the tower"}, "drawing": {"map": board, "words": _WORDS, "moves": _MOVES}}
    )


FAMILY = Family(
    "Move a tower of disks to another peg, no disk on a smaller one.",
    {"disks": Parameter("disks of the tower", 5, 1, 8)},
    write,
)
