"""Tables of numbers with named columns: joined, projected, counted."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import kernel

Rows: TypeAlias = NDArray[np.int64]  # (columns, N)
Column: TypeAlias = NDArray[np.int64]

_KEY_BITS = 62
_FREE = -1  # a slot of a hash table; no key is negative


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows without duplicates; without columns, one row means that it holds."""

    names: tuple[str, ...]
    rows: Rows
    counts: dict[frozenset[str], int] = field(default_factory=dict)  # of projections, as far as they were asked for

    def __len__(self) -> int:
        return int(self.rows.shape[1])

    def columns(self, names: Iterable[str]) -> Rows:
        return self.rows[[self.names.index(name) for name in names]]

    def project(self, names: Collection[str]) -> "Table":
        """The columns of these names that it has."""
        kept = tuple(name for name in self.names if name in names)
        return self if kept == self.names else make_table(kept, self.columns(kept))

    def where(self, kept: NDArray[np.bool_]) -> "Table":
        return self if kept.all() else Table(self.names, self.rows[:, kept])

    def without(self, other: "Table") -> "Table":
        """The rows whose values are not in the other table, which has no further columns."""
        keys = _keys(np.concatenate((self.columns(other.names), other.rows), axis=1))
        return self.where(~_are_among(keys[: len(self)], keys[len(self) :]))

    def count(self, names: Collection[str]) -> int:
        """About how many rows a projection has; exact where it is the whole table, and for small ones."""
        wanted = frozenset(names).intersection(self.names)
        if len(wanted) == len(self.names):
            return len(self)
        if not wanted:
            return min(1, len(self))
        known = self.counts.get(wanted)
        if known is None:
            places = np.array([place for place, name in enumerate(self.names) if name in wanted], np.int64)
            known = self.counts[wanted] = round(_count_distinct(self.rows, places))
        return known


def make_table(names: tuple[str, ...], columns: Rows) -> Table:
    """A table of columns; duplicates are removed."""
    if not names:
        return Table((), np.zeros((0, min(1, columns.shape[1])), np.int64))
    return Table(names, columns[:, _first_of_each(_keys(columns))])


def join(left: Table, right: Table, limit: int) -> Table | None:
    """The rows that agree where names are shared; None when there are more than the limit."""
    shared = [name for name in left.names if name in right.names]
    new = [name for name in right.names if name not in left.names]
    keys = _keys(np.concatenate((left.columns(shared), right.columns(shared)), axis=1))
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
    rows = np.concatenate((left.rows[:, from_left], right.columns(new)[:, from_right]))
    return Table((*left.names, *new), rows)


def _keys(rows: Rows) -> Column:
    """A number for each row, the same for the same values only."""
    if len(rows) == 0:
        return np.zeros(rows.shape[1], np.int64)
    key = rows[0]
    bound = int(key.max(initial=0)) + 1
    for column in rows[1:]:
        size = int(column.max(initial=0)) + 1
        if bound * size >= 1 << _KEY_BITS:
            _, key = np.unique(key, return_inverse=True)
            bound = int(key.max(initial=0)) + 1
        key = key * size + column
        bound *= size
    return np.ascontiguousarray(key)


@kernel
def _mixed(key: int) -> int:
    key = (key ^ (key >> 33)) * 0x3F51AFD7ED558CCD
    key = (key ^ (key >> 29)) * 0x1E3779B97F4A7C15
    return key ^ (key >> 32)


@kernel
def _count_distinct(rows: Rows, places: Column) -> float:
    """The number of different rows in some columns, by linear counting (Whang et al. 1990)."""
    count = rows.shape[1]
    size = 1 << 12
    while size < 8 * count:
        size *= 2
    seen = np.zeros(size, np.bool_)
    empty = size
    for row in range(count):
        key = 0
        for place in places:
            key = _mixed(key + rows[place, row] + 1)
        key &= size - 1
        empty -= not seen[key]
        seen[key] = True
    return size * (math.log(size) - math.log(max(1, empty)))


@kernel
def _slots_for(count: int) -> Column:
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, _FREE, np.int64)


@kernel
def _slot(slots: Column, key: int) -> int:
    """Where the key stands in a hash table, or where it can be put."""
    slot = _mixed(key) & (len(slots) - 1)
    while slots[slot] not in (_FREE, key):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _first_of_each(keys: Column) -> Column:
    """The places at which a key stands for the first time."""
    slots = _slots_for(len(keys))
    places = np.empty(len(keys), np.int64)
    found = 0
    for place, key in enumerate(keys):
        slot = _slot(slots, key)
        if slots[slot] == _FREE:
            slots[slot] = key
            places[found] = place
            found += 1
    return places[:found]


@kernel
def _are_among(keys: Column, others: Column) -> NDArray[np.bool_]:
    """For each key, whether it is one of the others."""
    slots = _slots_for(len(others))
    for key in others:
        slots[_slot(slots, key)] = key
    found = np.empty(len(keys), np.bool_)
    for place, key in enumerate(keys):
        found[place] = slots[_slot(slots, key)] == key
    return found
