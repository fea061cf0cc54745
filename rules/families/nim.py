"""Nim with any heaps, in normal play: who takes the last object wins."""

from ggp.families import Family, Parameter, Sheet

_WORDS = {"control": "To move", "first": "First", "second": "Second"}
_MOVES = {"reduce": "heap {1} down to {2}", "noop": ""}

_RULES = """\
; Nim with heaps of {words} objects: whoever takes the last object wins.

(role first)
(role second)

(opponent first second)
(opponent second first)

; heap and its size at the start
{heaps}
; less than
{less}
; what can be left of each heap
(<= (size ?heap ?start)
    (start ?heap ?start))
(<= (size ?heap ?rest)
    (start ?heap ?start)
    (less ?rest ?start))

(<= (base (heap ?heap ?size))
    (size ?heap ?size))
(<= (base (control ?role))
    (role ?role))

(<= (input ?role (reduce ?heap ?rest))
    (role ?role)
    (start ?heap ?start)
    (less ?rest ?start))
(<= (input ?role noop)
    (role ?role))

(<= (init (heap ?heap ?start))
    (start ?heap ?start))
(init (control first))

(<= (legal ?role (reduce ?heap ?rest))
    (true (control ?role))
    (true (heap ?heap ?size))
    (less ?rest ?size))
(<= (legal ?waiting noop)
    (true (control ?role))
    (opponent ?role ?waiting))

(<= (reduced ?heap)
    (does ?role (reduce ?heap ?rest)))
(<= (next (heap ?heap ?rest))
    (does ?role (reduce ?heap ?rest)))
(<= (next (heap ?heap ?size))
    (true (heap ?heap ?size))
    (not (reduced ?heap)))
(<= (next (control ?waiting))
    (true (control ?role))
    (opponent ?role ?waiting))

; the end: who is on turn has nothing to take

(<= left
    (true (heap ?heap ?size))
    (distinct ?size 0))
(<= terminal
    (not left))

(<= (goal ?role 50)
    (role ?role)
    left)
(<= (goal ?waiting 100)
    (not left)
    (true (control ?role))
    (opponent ?role ?waiting))
(<= (goal ?role 0)
    (not left)
    (true (control ?role)))
"""


def write(heaps: str) -> Sheet:
    """The heaps, from left to right, as numbers of objects."""
    sizes = [int(size) for size in heaps.split(",")]
    most = max(sizes)
    facts = "".join(f"(start {number} {size})\n" for number, size in enumerate(sizes, 1))
    less = "".join(f"(less {one} {other})\n" for other in range(1, most + 1) for one in range(other))
    words = ", ".join(map(str, sizes[:-1])) + (" and " if len(sizes) > 1 else "") + str(sizes[-1])
    return Sheet(
        _RULES.format(words=words, heaps=facts, less=less),
        {
            "title": f"Nim with heaps of {words}",
            "roles": {"first": "moves first", "second": "moves second"},
            "drawing": {
                "words": _WORDS,
                "moves": _MOVES,
                "heaps": {
                    "fact": "heap",
                    "heap": 1,
                    "count": 2,
                    "heaps": [str(heap + 1) for heap in range(len(sizes))],
                    "most": most,
                    "piece": "stone",
                    "marks": {"stone": {"symbol": "disc", "colour": "grey", "letters": "o", "plain": True}},
                },
            },
        },
    )


FAMILY = Family(
    "Take any number of objects from one heap; the last object wins.",
    {
        "heaps": Parameter(
            "objects in each heap, with commas between them", "1,3,5,7", pattern=r"\d{1,2}(,\d{1,2}){0,9}"
        )
    },
    write,
)
