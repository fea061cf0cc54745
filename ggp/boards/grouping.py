"""Profiles → groups: relations that speak of the same cells, and so are drawn on the same boards."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ggp.boards.orders import find_order
from ggp.boards.profiles import Profile
from ggp.boards.readings import Reading, read_profile, read_spot
from ggp.gdl.logic_program import Relation

_ALIKE = 0.6  # how much of their constants two coordinates share that are the same one
_MOST_MARKS = 12  # numbers that are pieces; what has more beside other pieces is bookkeeping

Axes = tuple[tuple[str, ...], tuple[str, ...]]


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
        """The constants of the arguments that tell the boards of the group apart."""
        first = self.readings[0]
        return tuple(first.profile.orders[place] or first.profile.constants[place] for place in first.index)


def find_groups(
    profiles: Mapping[Relation, Profile], roles: Collection[str], chains: Sequence[tuple[str, ...]]
) -> tuple[Group, ...]:
    """The groups of all relations that have two coordinates, in the order of the rules."""
    first = [reading for profile in profiles.values() if (reading := read_profile(profile, roles))]
    known = {reading.axes[0] + ("/",) + reading.axes[1] for reading in first if reading.profile.arity <= 3}
    readings = [reading for profile in profiles.values() if (reading := read_profile(profile, roles, known))]
    groups: list[list[Reading]] = []
    for reading in sorted(readings, key=_rank):
        joined = next((group for group in groups if _belongs(reading, group)), None)
        if joined is None:
            groups.append([reading])
        elif not _is_bookkeeping(reading):
            joined.append(_as_member(reading, joined))
    for profile in profiles.values():
        reading = read_spot(profile)
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
    """Lines first, then what has pieces of its own; the rest joins what is there."""
    if reading.kind == "lines":
        return 0
    if reading.kind == "pieces" and reading.pieces:
        return 2 if _is_bookkeeping(reading) else 1
    return 3


def _belongs(reading: Reading, group: Sequence[Reading]) -> bool:
    """Whether the reading is about the cells of the group, and not of a board of the same kind beside it."""
    first = group[0]
    if not all(_are_alike(reading, first, coordinate) for coordinate in (0, 1)):
        return False
    if [set(c) for c in _index(reading)] != [set(c) for c in _index(first)]:
        return False
    if not reading.pieces:
        return not (reading.kind == "pieces" and all(other.kind == "pieces" and not other.pieces for other in group))
    return all(reading.contents != other.contents for other in group)


def _is_inside(reading: Reading, group: Sequence[Reading]) -> bool:
    """Whether the cells that a fact names are cells of the group, which is one board."""
    return not group[0].index and all(
        set(reading.axes[coordinate]) <= {constant for other in group for constant in other.axes[coordinate]}
        for coordinate in (0, 1)
    )


def _index(reading: Reading) -> Iterable[tuple[str, ...]]:
    return (reading.profile.constants[place] for place in reading.index)


def _are_alike(one: Reading, other: Reading, coordinate: int) -> bool:
    """Whether a coordinate is the same in both; one whose constants are a guess may have all those of the other."""
    first, second = set(one.axes[coordinate]), set(other.axes[coordinate])
    is_part = (first <= second and one.is_guess(coordinate)) or (second <= first and other.is_guess(coordinate))
    return is_part or len(first & second) >= _ALIKE * max(len(first), len(second))


def _is_bookkeeping(reading: Reading) -> bool:
    """Whether the contents are many numbers; beside pieces they number groups of cells or the like."""
    profile = reading.profile
    return any(profile.orders[place] and len(profile.constants[place]) > _MOST_MARKS for place in reading.pieces)


def _as_member(reading: Reading, group: Sequence[Reading]) -> Reading:
    if reading.kind == "pieces" and any(other.kind == "lines" for other in group):
        return replace(reading, kind="boxes")
    if reading.kind == "pieces" and not reading.pieces:
        return replace(reading, kind="notes")
    return reading


def _is_value(group: Sequence[Reading]) -> bool:
    """Whether the group is one pair of numbers and no board."""
    (first, *others) = group
    return not others and first.kind == "pieces" and not first.pieces and all(len(r) <= 1 for r in first.profile.rows)


def _axes(group: Sequence[Reading], chains: Sequence[tuple[str, ...]]) -> Axes:
    found = []
    for coordinate in (0, 1):
        constants = {constant for reading in group for constant in reading.axes[coordinate]}
        found.append(find_order(constants, chains) or tuple(sorted(constants)))
    return found[0], found[1]
