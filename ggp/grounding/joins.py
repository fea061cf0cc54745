"""Tables of numbers with named columns: joined, projected, counted."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import kernel

Rows = NDArray[np.int64]

_KEY_BITS = 62


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows without duplicates; without columns, one row means that it holds."""

    names: tuple[str, ...]
    rows: Rows  # (N, len(names))
    counts: dict[frozenset[str], int] = field(default_factory=dict)  # of projections, as far as they were asked for

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self, names: Iterable[str]) -> Rows:
        return self.rows[:, [self.names.index(name) for name in names]]

    def project(self, names: Iterable[str]) -> "Table":
        """The columns of these names that it has."""
        wanted = frozenset(names)
        kept = tuple(name for name in self.names if name in wanted)
        if kept == self.names:
            return self
        return make_table(kept, list(self.columns(kept).T), len(self))

    def without(self, other: "Table") -> "Table":
        """The rows whose values are not in the other table, which has no further columns."""
        both = np.concatenate((self.columns(other.names), other.rows))
        keys = _keys(both)
        return Table(self.names, self.rows[~np.isin(keys[: len(self)], keys[len(self) :])])

    def count(self, names: Iterable[str]) -> int:
        """About how many rows a projection has; exact where it is the whole table, and for small ones."""
        wanted = frozenset(names).intersection(self.names)
        if len(wanted) == len(self.names):
            return len(self)
        if not wanted:
            return min(1, len(self))
        known = self.counts.get(wanted)
        if known is None:
            places = np.array([place for place, name in enumerate(self.names) if name in wanted], np.int64)
            known = self.counts[wanted] = int(round(_count_distinct(self.rows, places)))
        return known


def make_table(names: tuple[str, ...], columns: Sequence[Rows], size: int) -> Table:
    """A table of columns; duplicates are removed."""
    if not names:
        return Table((), np.zeros((min(1, size), 0), np.int64))
    rows = np.stack(columns, axis=1)
    first = _first_of_each(_keys(rows))
    return Table(names, rows[first])


def join(left: Table, right: Table, limit: int) -> Table | None:
    """The rows that agree where names are shared; None when there are more than the limit."""
    shared = [name for name in left.names if name in right.names]
    new = [name for name in right.names if name not in left.names]
    names = (*left.names, *new)
    both = np.concatenate((left.columns(shared), right.columns(shared)))
    keys = _keys(both)
    left_keys, right_keys = keys[: len(left)], keys[len(left) :]
    order = np.argsort(right_keys, kind="stable")
    ordered = right_keys[order]
    first = np.searchsorted(ordered, left_keys, "left")
    counts = np.searchsorted(ordered, left_keys, "right") - first
    total = int(counts.sum())
    if total > limit:
        return None
    from_left = np.repeat(np.arange(len(left)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    from_right = order[np.repeat(first, counts) + within]
    rows = np.concatenate((left.rows[from_left], right.columns(new)[from_right]), axis=1)
    return Table(names, rows)


def _keys(rows: Rows) -> Rows:
    """A number for each row, the same for the same values only."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    key = rows[:, 0]
    bound = int(key.max(initial=0)) + 1
    for index in range(1, rows.shape[1]):
        column = rows[:, index]
        size = int(column.max(initial=0)) + 1
        if bound * size >= 1 << _KEY_BITS:
            _, key = np.unique(key, return_inverse=True)
            bound = int(key.max(initial=0)) + 1
        key = key * size + column
        bound *= size
    return np.ascontiguousarray(key)


@kernel
def _mixed(key: int) -> int:
    key = (key ^ (key >> 29)) * 0x1E3779B97F4A7C15
    return key ^ (key >> 32)


@kernel
def _count_distinct(rows: Rows, places: Rows) -> float:
    """The number of different rows in some columns, by linear counting (Whang et al. 1990)."""
    size = 1 << 12
    while size < 8 * len(rows):
        size *= 2
    seen = np.zeros(size, np.bool_)
    empty = size
    for row in range(len(rows)):
        key = 0
        for place in places:
            key = _mixed(key + rows[row, place] + 1)
        key &= size - 1
        empty -= not seen[key]
        seen[key] = True
    return size * (math.log(size) - math.log(max(1, empty)))


@kernel
def _first_of_each(keys: Rows) -> Rows:
    """The places at which a key stands for the first time."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    slots = np.full(size, -1, np.int64)
    places = np.empty(len(keys), np.int64)
    found = 0
    for place, key in enumerate(keys):
        slot = _mixed(key) & (size - 1)
        while slots[slot] != -1 and slots[slot] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] == -1:
            slots[slot] = key
            places[found] = place
            found += 1
    return places[:found]
