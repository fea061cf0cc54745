"""Profiles without a grid of coordinates → boards: points with names such as c7, concentric squares, rows, stacks."""

import re
from collections.abc import Collection, Mapping, Sequence

from ggp.boards.layout import BoardLayout, GridPoint, Place, Placement
from ggp.boards.marks import is_empty_word
from ggp.boards.orders import compass, find_points, natural
from ggp.boards.picture import BoardShape, Label
from ggp.boards.profiles import Profile, StateSamples
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import to_text

_ROW = (3, 30)  # cells of a row, at least and at most
_MOST_CONTENTS = 12  # different pieces, other than numbers
_IN_A_ROW = 12  # cells side by side
_COUNT = re.compile(r"[a-z]?[0-9]+")
_MOST_RINGS = 6
_LIES_ON = re.compile(r"(is)?(on|above|atop|stacked)(_?top)?(_?of)?_?\d*")


def irregular_board(profile: Profile, samples: StateSamples, roles: Collection[str]) -> BoardLayout | None:
    """The board of a relation; None if it describes none."""
    return _points(profile) or _rings(profile, samples) or _row(profile, roles)


def stack_board(profile: Profile) -> BoardLayout | None:
    """The board of a relation that says what lies on what; None for other relations."""
    if profile.arity != 2 or not _LIES_ON.fullmatch(profile.relation[0]) or not profile.seen:
        return None
    upper, lower = (set(constants) for constants in profile.constants)
    if not upper & lower or not profile.determines((0,), 1) or any(over == under for over, under in profile.seen):
        return None
    name = profile.relation[0]
    places: dict[Place, GridPoint] = {
        (constant,): (0.0, float(at)) for at, constant in enumerate(natural(upper | lower))
    }
    placement = Placement(profile.relation, "stacks", (0,), end=(1,))
    return BoardLayout(name, name, "stacks", places, (), (), (placement,))


def _contents(profile: Profile, places: Sequence[int]) -> tuple[tuple[int, ...], frozenset[str]]:
    """The arguments that name the piece, and the names that mean an empty cell."""
    pieces = tuple(place for place in range(profile.arity) if place not in places)
    empty = frozenset(name for place in pieces for name in profile.constants[place] if is_empty_word(name))
    return pieces, empty


def _points(profile: Profile) -> BoardLayout | None:
    """Points named by a letter and a number: as on a chess board, or centred rows if these differ in length."""
    found = next(((n, points) for n, c in enumerate(profile.constants) if (points := find_points(c))), None)
    if found is None or profile.arity > 3:
        return None
    argument, points = found
    rows = natural({row for row, _ in points.values()})
    columns = natural({column for _, column in points.values()})
    places: dict[Place, GridPoint]
    shape: BoardShape
    if len(points) == len(rows) * len(columns):
        shape = "squares"
        places = {
            (name,): (float(columns[::-1].index(column)), float(rows.index(row)))
            for name, (row, column) in points.items()
        }
        labels = (_labels(columns[::-1]), _labels(rows))
    else:
        shape = "hexagons"
        members = {row: natural({c for r, c in points.values() if r == row}) for row in rows}
        widest = max(map(len, members.values()))
        places = {
            (name,): (float(rows.index(row)), (widest - len(members[row])) / 2 + members[row].index(column))
            for name, (row, column) in points.items()
        }
        labels = (_labels(rows), ())
    pieces, empty = _contents(profile, (argument,))
    placement = Placement(profile.relation, "pieces", (argument,), pieces=pieces, empty=empty)
    return BoardLayout(profile.relation[0], profile.relation[0], shape, places, *labels, (placement,))


def _labels(texts: Sequence[str]) -> tuple[Label, ...]:
    return tuple(Label(text, float(at)) for at, text in enumerate(texts))


def _rings(profile: Profile, samples: StateSamples) -> BoardLayout | None:
    """Concentric squares: one coordinate is a direction from the middle, the other one the distance."""
    directions = next(((n, steps) for n, c in enumerate(profile.constants) if (steps := compass(c))), None)
    if directions is None:
        return None
    direction, steps = directions
    rings = [n for n, order in enumerate(profile.orders) if n != direction and order and len(order) <= _MOST_RINGS]
    if not rings:
        return None
    ring = rings[0]
    order = profile.orders[ring] or ()
    coordinates = (ring, direction) if ring < direction else (direction, ring)
    middle = float(len(order))
    where: dict[tuple[str, str], GridPoint] = {
        (far, word): (middle + down * (at + 1), middle + across * (at + 1))
        for at, far in enumerate(order)
        for word, (down, across) in steps.items()
    }
    places: dict[Place, GridPoint] = {
        (far, word) if ring < direction else (word, far): point for (far, word), point in where.items()
    }
    pieces, empty = _contents(profile, coordinates)
    placement = Placement(profile.relation, "pieces", coordinates, pieces=pieces, empty=empty)
    name = profile.relation[0]
    guides = (*_around(order, steps, where), *_along_moves(places, samples))
    return BoardLayout(name, name, "points", places, (), (), (placement,), guides=guides)


def _around(
    order: Sequence[str], steps: Mapping[str, tuple[int, int]], where: Mapping[tuple[str, str], GridPoint]
) -> tuple[tuple[GridPoint, GridPoint], ...]:
    """From each point of a ring to its neighbours on the ring."""
    words = list(steps)
    neighbours = [
        (one, other)
        for at, one in enumerate(words)
        for other in words[at + 1 :]
        if sum(abs(a - b) for a, b in zip(steps[one], steps[other], strict=True)) == 1
    ]
    return tuple((where[far, one], where[far, other]) for far in order for one, other in neighbours)


def _along_moves(places: Mapping[Place, GridPoint], samples: StateSamples) -> tuple[tuple[GridPoint, GridPoint], ...]:
    """Between both points of each move that was seen and is one step long."""
    found: dict[tuple[GridPoint, GridPoint], None] = {}
    for move in sorted(samples.moves, key=to_text):
        if name_and_arity(move)[1] == 4:
            words = tuple(map(to_text, move[1:]))
            start, end = places.get(words[:2]), places.get(words[2:])
            if start and end and start < end and abs(start[0] - end[0]) + abs(start[1] - end[1]) == 1:
                found[start, end] = None
    return tuple(found)


def _row(profile: Profile, roles: Collection[str]) -> BoardLayout | None:
    """A row of named cells, each of which always holds exactly one thing."""
    if profile.arity != 2 or not profile.changes:
        return None
    key = next((n for n in (0, 1) if profile.is_total((n,)) and not set(profile.constants[n]) <= set(roles)), None)
    if key is None or not _ROW[0] <= len(profile.constants[key]) <= _ROW[1]:
        return None
    contents = profile.constants[1 - key]
    if len(contents) > _MOST_CONTENTS and not all(map(_COUNT.fullmatch, contents)):
        return None
    names = profile.orders[key] or natural(profile.constants[key])
    places: dict[Place, GridPoint] = {
        (name,): (float(at // _IN_A_ROW), float(at % _IN_A_ROW)) for at, name in enumerate(names)
    }
    pieces, empty = _contents(profile, (key,))
    placement = Placement(profile.relation, "pieces", (key,), pieces=pieces, empty=empty)
    return BoardLayout(profile.relation[0], profile.relation[0], "row", places, (), (), (placement,))
