"""Profiles → groups of relations that describe the same cells, and so are drawn on the same boards.

A reading says what each argument of a relation means: a coordinate, a piece, or an index of boards.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ggp.boards.layout import PlacementKind
from ggp.boards.marks import is_empty_word
from ggp.boards.profiles import Profile, find_order, side_in, side_of
from ggp.gdl.logic_program import Relation

_MOST = 40  # constants of a coordinate
_MOST_BOARDS = 16
_MOST_NESTED = 5  # boards in each direction, of boards whose cells are boards
_ALIKE = 0.6  # share of their constants that two coordinates have in common if they are the same coordinate
_MOST_MARKS = 12  # numbers as pieces; an argument with more is bookkeeping if the cells have other pieces

Axes = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the arguments of a relation mean; arguments are counted from 0."""

    profile: Profile
    kind: PlacementKind
    place: tuple[int, int]
    index: tuple[int, ...] = ()  # arguments whose constants name the board
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


@dataclass(frozen=True, slots=True)
class Group:
    """Relations on the same boards, with the constants of both coordinates in order."""

    axes: Axes
    readings: tuple[Reading, ...]

    @property
    def has_lines(self) -> bool:
        return any(reading.kind == "lines" for reading in self.readings)

    @property
    def index(self) -> tuple[tuple[str, ...], ...]:
        """The constants of the arguments that name the board, in order."""
        first = self.readings[0]
        return tuple(first.profile.orders[place] or first.profile.constants[place] for place in first.index)


def find_groups(
    profiles: Mapping[Relation, Profile], roles: Collection[str], chains: Sequence[tuple[str, ...]]
) -> tuple[Group, ...]:
    """The groups of all relations with two coordinates, in the order of the rules."""
    first = [reading for profile in profiles.values() if (reading := _read_profile(profile, roles))]
    known = {reading.axes[0] + ("/",) + reading.axes[1] for reading in first if reading.profile.arity <= 3}
    readings = [reading for profile in profiles.values() if (reading := _read_profile(profile, roles, known))]
    groups: list[list[Reading]] = []
    for reading in sorted(readings, key=_rank):
        joined = next((group for group in groups if _belongs(reading, group)), None)
        if joined is None:
            groups.append([reading])
        elif not _is_bookkeeping(reading):
            joined.append(_as_member(reading, joined))
    for profile in profiles.values():
        reading = _read_spot(profile)
        joined = next((group for group in groups if reading and _is_inside(reading, group)), None)
        if (
            reading is not None
            and joined is not None
            and not any(reading.profile is r.profile for g in groups for r in g)
        ):
            joined.append(_as_member(reading, joined))
    order = list(profiles)
    kept = sorted(
        (g for g in groups if not _is_value(g)), key=lambda g: min(order.index(r.profile.relation) for r in g)
    )
    return tuple(Group(_axes(group, chains), tuple(group)) for group in kept)


def _rank(reading: Reading) -> int:
    """Relations that form groups come first: lines, then those with pieces; the others join a group."""
    if reading.kind == "lines":
        return 0
    if reading.kind == "pieces" and reading.pieces:
        return 2 if _is_bookkeeping(reading) else 1
    return 3


def _belongs(reading: Reading, group: Sequence[Reading]) -> bool:
    """Whether the reading describes the cells of the group, not those of another board of the same size."""
    first = group[0]
    if not all(_are_alike(reading, first, coordinate) for coordinate in (0, 1)):
        return False
    if [set(c) for c in _index(reading)] != [set(c) for c in _index(first)]:
        return False
    if not reading.pieces:
        return not (reading.kind == "pieces" and all(other.kind == "pieces" and not other.pieces for other in group))
    return all(reading.contents != other.contents for other in group)


def _is_inside(reading: Reading, group: Sequence[Reading]) -> bool:
    """Whether all cells of the reading are cells of the group, which must be one board."""
    return not group[0].index and all(
        set(reading.axes[coordinate]) <= {constant for other in group for constant in other.axes[coordinate]}
        for coordinate in (0, 1)
    )


def _index(reading: Reading) -> Iterable[tuple[str, ...]]:
    return (reading.profile.constants[place] for place in reading.index)


def _are_alike(one: Reading, other: Reading, coordinate: int) -> bool:
    """Whether a coordinate is the same one in both. If the constants are a guess, being a subset is enough."""
    first, second = set(one.axes[coordinate]), set(other.axes[coordinate])
    is_part = (first <= second and one.is_guess(coordinate)) or (second <= first and other.is_guess(coordinate))
    return is_part or len(first & second) >= _ALIKE * max(len(first), len(second))


def _is_bookkeeping(reading: Reading) -> bool:
    """Whether the pieces are many numbers, such as numbers of groups of cells."""
    profile = reading.profile
    return any(profile.orders[place] and len(profile.constants[place]) > _MOST_MARKS for place in reading.pieces)


def _as_member(reading: Reading, group: Sequence[Reading]) -> Reading:
    if reading.kind == "pieces" and any(other.kind == "lines" for other in group):
        return replace(reading, kind="boxes")
    if reading.kind == "pieces" and not reading.pieces:
        return replace(reading, kind="notes")
    return reading


def _is_value(group: Sequence[Reading]) -> bool:
    """Whether the group is only a pair of numbers, not a board."""
    (first, *others) = group
    return not others and first.kind == "pieces" and not first.pieces and all(len(r) <= 1 for r in first.profile.rows)


def _axes(group: Sequence[Reading], chains: Sequence[tuple[str, ...]]) -> Axes:
    found = []
    for coordinate in (0, 1):
        constants = {constant for reading in group for constant in reading.axes[coordinate]}
        found.append(find_order(constants, chains) or tuple(sorted(constants)))
    return found[0], found[1]


def _read_profile(profile: Profile, roles: Collection[str], known: Collection[tuple[str, ...]] = ()) -> Reading | None:
    """The reading of facts with two coordinates; None if they have none.

    known: pairs of coordinates of other relations, which are preferred if there is a choice.
    """
    ordered = [place for place in range(profile.arity) if _is_coordinate(profile, place, roles)]
    if len(ordered) >= 4 and _are_two_points(profile, ordered):
        return _read_four(profile, ordered)
    pairs = [pair for pair in combinations(ordered, 2) if not _is_counter(profile, pair)]
    if not pairs:
        return None
    best = max(pairs, key=lambda pair: _merit(profile, pair, known))
    return _read_other_arguments(Reading(profile, "pieces", best), roles)


def _read_spot(profile: Profile) -> Reading | None:
    """The reading of facts with two arguments of which one is always the same, and so has no order.

    The caller checks that they name cells of a known board.
    """
    if profile.arity != 2 or not profile.seen or all(len(constants) > 1 for constants in profile.constants):
        return None
    return Reading(profile, "walls" if side_in(profile.relation[0]) else "pieces", (0, 1))


def _is_line(reading: Reading, row: Sequence[str]) -> bool:
    """Whether a fact connects two neighbours of a grid."""
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
    return order is not None and 2 <= len(order) <= _MOST and not set(order) <= set(roles)


def _is_counter(profile: Profile, pair: tuple[int, int]) -> bool:
    """Whether one of two arguments counts something for each constant of the other, such as stones in heaps."""
    if profile.arity > 2 or not profile.changes:
        return False
    return any(profile.is_total((key,)) for key in pair)


def _merit(profile: Profile, pair: tuple[int, int], known: Collection[tuple[str, ...]]) -> tuple[float, ...]:
    first, second = pair
    axes = (profile.constants[first], profile.constants[second])
    others = [place for place in range(profile.arity) if place not in pair]
    is_key = all(profile.determines(pair, place) for place in others)
    return (axes[0] + ("/",) + axes[1] in known, second == first + 1, axes[0] == axes[1], is_key, -first)


def _read_other_arguments(reading: Reading, roles: Collection[str]) -> Reading | None:
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
        elif _names_board(reading, place):
            if len(constants) > _MOST_BOARDS:
                return None
            index.append(place)
        else:
            pieces.append(place)
    pieces.sort(key=lambda place: not set(profile.constants[place]) <= set(roles))  # the owner comes first
    if side_argument is not None or (not pieces and side_in(profile.relation[0])):
        return replace(reading, kind="walls", index=tuple(index), side_argument=side_argument)
    return replace(reading, index=tuple(index), pieces=tuple(pieces))


def _names_board(reading: Reading, place: int) -> bool:
    """Whether an argument names the board: the same cells occur with each of its constants."""
    profile = reading.profile
    is_ordered = profile.orders[place] is not None
    comes_first = is_ordered and place < reading.place[0]
    if not profile.seen or profile.determines(reading.place, place):
        return comes_first and not profile.seen
    others = [other for other in range(profile.arity) if other != place and other not in reading.place]
    if is_ordered and not comes_first:  # a third coordinate that is needed to determine the piece
        return any(
            profile.determines((*reading.place, place), other) and not profile.determines(reading.place, other)
            for other in others
        )
    return comes_first or (len(profile.constants[place]) <= _MOST_BOARDS and _occurs_again(reading, place))


def _occurs_again(reading: Reading, place: int) -> bool:
    """Whether most cells had several of the constants in the first state that had any facts."""
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
    """Four coordinates: a line between two points, or a cell of a board whose cells are boards."""
    first, second, third, fourth = ordered[:4]
    rest = tuple(place for place in range(profile.arity) if place not in ordered[:4])
    line = Reading(profile, "lines", (first, second), pieces=rest, end=(third, fourth))
    if profile.seen and all(_is_line(line, row) for row in profile.seen):
        return line
    if rest and all(len(profile.constants[place]) <= _MOST_NESTED for place in (first, second)):
        return Reading(profile, "pieces", (third, fourth), (first, second), rest)
    return None
