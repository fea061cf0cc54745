"""Profile of a relation → what each of its arguments says on a board: a coordinate, a piece, or which board it is."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ggp.boards.layouts import Kind
from ggp.boards.marks import is_empty_word
from ggp.boards.orders import side_in, side_of
from ggp.boards.profiles import Profile

MOST = 40  # constants of a coordinate
_MOST_BOARDS = 16
_MOST_NESTED = 5  # constants of a coordinate that tells boards apart


@dataclass(frozen=True, slots=True)
class Reading:
    """What the arguments of a relation say; places are counted from 0."""

    profile: Profile
    kind: Kind
    place: tuple[int, int]
    index: tuple[int, ...] = ()  # arguments that tell boards apart
    pieces: tuple[int, ...] = ()
    end: tuple[int, int] | None = None
    side_argument: int | None = None

    @property
    def axes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        first, second = (self.profile.constants[place] for place in self.place)
        return first, second

    def is_guess(self, coordinate: int) -> bool:
        return self.profile.guessed[self.place[coordinate]]

    @property
    def contents(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(self.profile.constants[place]) for place in self.pieces)


def read_profile(profile: Profile, roles: Collection[str], known: Collection[tuple[str, ...]] = ()) -> Reading | None:
    """The reading of facts with two coordinates; None where they have none.

    known: coordinates of other relations, which are preferred where there is a choice.
    """
    ordered = [place for place in range(profile.arity) if _is_coordinate(profile, place, roles)]
    if len(ordered) >= 4 and _are_two_points(profile, ordered):
        return _read_four(profile, ordered)
    pairs = [pair for pair in combinations(ordered, 2) if not _is_counter(profile, pair)]
    if not pairs:
        return None
    best = max(pairs, key=lambda pair: _merit(profile, pair, known))
    return _read_others(Reading(profile, "pieces", best), roles)


def read_spot(profile: Profile) -> Reading | None:
    """The reading of facts of two arguments of which one is always the same, and so has no order.

    It holds where they name a cell of a board that is known.
    """
    if profile.arity != 2 or not profile.seen or all(len(constants) > 1 for constants in profile.constants):
        return None
    return Reading(profile, "walls" if side_in(profile.relation[0]) else "pieces", (0, 1))


def is_line(reading: Reading, row: Sequence[str]) -> bool:
    """Whether a fact joins two neighbours of a grid."""
    if reading.end is None:
        return False
    apart = [
        abs(axis.index(row[start]) - axis.index(row[end]))
        for axis, start, end in zip(_ordered_axes(reading), reading.place, reading.end, strict=True)
        if row[start] in axis and row[end] in axis
    ]
    return len(apart) == 2 and sum(apart) == 1


def _ordered_axes(reading: Reading) -> Iterator[tuple[str, ...]]:
    for place in reading.place:
        yield reading.profile.orders[place] or ()


def _is_coordinate(profile: Profile, place: int, roles: Collection[str]) -> bool:
    order = profile.orders[place]
    return order is not None and 2 <= len(order) <= MOST and not set(order) <= set(roles)


def _is_counter(profile: Profile, pair: tuple[int, int]) -> bool:
    """Whether one of two arguments only counts something for each constant of the other, as heaps of stones do."""
    if profile.arity > 2 or not profile.changes:
        return False
    return any(profile.is_total((key,)) for key in pair)


def _merit(profile: Profile, pair: tuple[int, int], known: Collection[tuple[str, ...]]) -> tuple[float, ...]:
    first, second = pair
    axes = (profile.constants[first], profile.constants[second])
    others = [place for place in range(profile.arity) if place not in pair]
    is_key = all(profile.determines(pair, place) for place in others)
    return (axes[0] + ("/",) + axes[1] in known, second == first + 1, axes[0] == axes[1], is_key, -first)


def _read_others(reading: Reading, roles: Collection[str]) -> Reading | None:
    profile = reading.profile
    index: list[int] = []
    pieces: list[int] = []
    side_argument: int | None = None
    for place in range(profile.arity):
        if place in reading.place:
            continue
        constants = profile.constants[place]
        sides = [constant for constant in constants if side_of(constant)]
        if sides and not set(constants) <= set(roles) and all(side_of(c) or is_empty_word(c) for c in constants):
            side_argument = place
        elif _tells_boards(reading, place):
            if len(constants) > _MOST_BOARDS:
                return None
            index.append(place)
        else:
            pieces.append(place)
    pieces.sort(key=lambda place: not set(profile.constants[place]) <= set(roles))  # the owner comes first
    if side_argument is not None or (not pieces and side_in(profile.relation[0])):
        return replace(reading, kind="walls", index=tuple(index), side_argument=side_argument)
    return replace(reading, index=tuple(index), pieces=tuple(pieces))


def _tells_boards(reading: Reading, place: int) -> bool:
    """Whether an argument tells boards apart: the same cells come again with each of its constants."""
    profile = reading.profile
    is_ordered = profile.orders[place] is not None
    comes_first = is_ordered and place < reading.place[0]
    if not profile.seen or profile.determines(reading.place, place):
        return comes_first and not profile.seen
    others = [other for other in range(profile.arity) if other != place and other not in reading.place]
    if is_ordered and not comes_first:  # a third coordinate, where it takes one to tell what is there
        return any(
            profile.determines((*reading.place, place), other) and not profile.determines(reading.place, other)
            for other in others
        )
    return comes_first or (len(profile.constants[place]) <= _MOST_BOARDS and _comes_again(reading, place))


def _comes_again(reading: Reading, place: int) -> bool:
    """Whether most cells had several of the constants in the first state that had any."""
    cells: dict[tuple[str, ...], set[str]] = {}
    for row in next(rows for rows in reading.profile.rows if rows):
        cells.setdefault(tuple(row[at] for at in reading.place), set()).add(row[place])
    return 2 * sum(len(values) > 1 for values in cells.values()) > len(cells)


def _are_two_points(profile: Profile, ordered: Sequence[int]) -> bool:
    """Whether the first four coordinates are two and the same two again."""
    axes = [set(profile.constants[place]) for place in ordered[:4]]
    return all(
        2 * len(one & other) > max(len(one), len(other)) for one, other in ((axes[0], axes[2]), (axes[1], axes[3]))
    )


def _read_four(profile: Profile, ordered: Sequence[int]) -> Reading | None:
    """Four coordinates: a line between two points, or a cell of a board that is a cell of a board."""
    first, second, third, fourth = ordered[:4]
    rest = tuple(place for place in range(profile.arity) if place not in ordered[:4])
    line = Reading(profile, "lines", (first, second), pieces=rest, end=(third, fourth))
    if profile.seen and all(is_line(line, row) for row in profile.seen):
        return line
    if rest and all(len(profile.constants[place]) <= _MOST_NESTED for place in (first, second)):
        return Reading(profile, "pieces", (third, fourth), (first, second), rest)
    return None
