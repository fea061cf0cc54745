"""Constants → their order along an axis: numbers, letters, successor relations, numbered names; and directions."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ggp.boards.picture import Side
from ggp.gdl.logic_program import LogicProgram

_NUMBER = re.compile(r"[+-]?\d+")
_NUMBERED = re.compile(r"([a-z_]*?[a-z_]|)_?(\d+)")
_POINT = re.compile(r"([a-z])(\d+)")
_SPECIAL = frozenset(("init", "true", "next", "legal", "does", "goal", "base", "input", "sees", "role"))
_COMPASS = {
    "n": (-1, 0), "ne": (-1, 1), "e": (0, 1), "se": (1, 1), "s": (1, 0), "sw": (1, -1), "w": (0, -1), "nw": (-1, -1),
    "north": (-1, 0), "northeast": (-1, 1), "east": (0, 1), "southeast": (1, 1), "south": (1, 0),
    "southwest": (1, -1), "west": (0, -1), "northwest": (-1, -1),
    "up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1),
}  # fmt: skip
_SIDES: dict[str, Side] = {
    "north": "top", "top": "top", "up": "top", "above": "top", "upper": "top", "east": "right", "right": "right",
    "south": "bottom", "bottom": "bottom", "down": "bottom", "below": "bottom", "lower": "bottom", "west": "left",
    "left": "left",
}  # fmt: skip


def find_chains(program: LogicProgram) -> tuple[tuple[str, ...], ...]:
    """The orders given by successor relations: static relations of two arguments whose facts form one chain."""
    found = []
    for (name, arity), rows in program.tables.items():
        if arity == 2 and name.partition("/")[0] not in _SPECIAL:
            pairs = [(low, high) for low, high in rows if isinstance(low, str) and isinstance(high, str)]
            chain = _chain(pairs) if len(pairs) == len(rows) else None
            if chain is not None:
                found.append(chain)
    return tuple(found)


def _chain(pairs: Collection[tuple[str, str]]) -> tuple[str, ...] | None:
    """The constants from first to last if the pairs form one chain through all of them, else None."""
    after = dict(pairs)
    starts = after.keys() - set(after.values())
    if len(after) != len(pairs) or len(set(after.values())) != len(pairs) or len(starts) != 1:
        return None
    chain = [*starts]
    while chain[-1] in after:
        chain.append(after[chain[-1]])
    return tuple(chain) if len(chain) == len(pairs) + 1 else None


def find_order(constants: Collection[str], chains: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The constants in ascending order; None if they have none, or if there is only one."""
    if len(constants) < 2:
        return None
    if all(map(_NUMBER.fullmatch, constants)):
        return tuple(sorted(constants, key=int))
    for chain in chains:
        if set(constants) <= set(chain):
            return tuple(constant for constant in chain if constant in constants)
    if all(re.fullmatch("[a-z]", constant) for constant in constants):
        letters = sorted(constants)
        return tuple(letters) if ord(letters[-1]) - ord(letters[0]) == len(letters) - 1 else None
    matches = [_NUMBERED.fullmatch(constant) for constant in constants]
    if all(matches) and len({match[1] for match in matches if match}) == 1:
        return tuple(sorted(constants, key=lambda constant: int(_digits(constant))))
    return None


def natural(constants: Collection[str]) -> list[str]:
    """Sorted so that p9 comes before p10."""
    return sorted(constants, key=natural_key)


def natural_key(text: str) -> tuple[list[tuple[int, str]], str]:
    """A sorting key that puts 9 before 10, whatever the number of digits."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", text.strip("()"))
    return [(len(digits), digits or other) for digits, other in parts], text


def find_points(constants: Collection[str]) -> dict[str, tuple[str, str]] | None:
    """Names of points such as a1 or c7 → their row and column; None unless all constants are such names, on a grid."""
    points = {constant: (match[1], match[2]) for constant in constants if (match := _POINT.fullmatch(constant))}
    rows = Counter(row for row, _ in points.values())
    columns = Counter(column for _, column in points.values())
    if len(points) < len(constants) or len(points) < 6 or len(rows) < 2 or len(columns) < 2:
        return None
    return points


def compass(constants: Collection[str]) -> Mapping[str, tuple[int, int]] | None:
    """Directions → steps (down, across); None unless all constants are compass directions."""
    if len(constants) >= 4 and all(constant in _COMPASS for constant in constants):
        return {constant: _COMPASS[constant] for constant in constants}
    return None


def side_of(word: str) -> Side | None:
    return _SIDES.get(word)


def side_in(name: str) -> Side | None:
    """The side that the name of a relation contains: blockednorth, wall_right."""
    parts = re.split(r"[_\-]", name)
    for part in parts:
        if part in _SIDES:
            return _SIDES[part]
    ends = [word for word in ("north", "east", "south", "west") if parts[-1].endswith(word)]
    return _SIDES[ends[0]] if ends else None


def _digits(text: str) -> str:
    match = re.search(r"\d+", text)
    return match[0] if match else "0"
