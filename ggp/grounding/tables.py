"""Relations as tables of numbers with named columns: joined, projected, counted; and read from the names of atoms."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.logic_program import Literal, Relation
from ggp.gdl.terms import Term, is_variable, variables
from ggp.grounding.prepare import Translation
from ggp.kernel import count_ones, kernel

Rows: TypeAlias = NDArray[np.int32]  # (columns, N)
Column: TypeAlias = NDArray[np.int64]

_KEY_BITS = 62
_BLOCK = 512  # rows whose keys are made together
_FREE = -1  # a slot of a hash table; no key is negative
_PART = 10_000  # rows that are converted by one call, which holds the GIL: a player has to answer in time
_DIGITS = b"0123456789"
_SPACES = bytes(byte if byte in _DIGITS else 32 for byte in range(256))


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
        return self if kept.all() else Table(self.names, _taken(self.rows, np.flatnonzero(kept)))

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
        return Table((), np.zeros((0, min(1, columns.shape[1])), np.int32))
    return Table(names, _taken(columns, _first_of_each(_keys(columns))))


def join(left: Table, right: Table, limit: int) -> Table | None:
    """The rows that agree where names are shared; None when there are more than the limit."""
    shared = [name for name in left.names if name in right.names]
    new = [name for name in right.names if name not in left.names]
    keys = _keys(np.concatenate((left.columns(shared), right.columns(shared)), axis=1))
    matched, order, first, slot_of = _matched(keys[: len(left)], keys[len(left) :])
    if matched > limit:
        return None
    return Table((*left.names, *new), _joined(left.rows, right.columns(new), order, first, slot_of, matched))


def _keys(rows: Rows) -> Column:
    """A number for each row, the same for the same values only."""
    if len(rows) == 0:
        return np.zeros(rows.shape[1], np.int64)
    key = rows[0].astype(np.int64)
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
    seen = np.zeros(size // 64, np.uint64)
    keys = np.empty(_BLOCK, np.int64)
    for start in range(0, count, _BLOCK):
        block = min(_BLOCK, count - start)
        keys[:] = 0
        for place in places:
            column = rows[place, start : start + block]
            for at in range(block):  # a loop of its own, so that vectors do it
                keys[at] = _mixed(keys[at] + column[at] + 1)
        for at in range(block):
            key = keys[at] & (size - 1)
            seen[key >> 6] |= np.uint64(1) << np.uint64(key & 63)
    empty = size
    for word in seen:
        empty -= count_ones(word)
    return size * (math.log(size) - math.log(max(1, empty)))


@kernel
def _slots_for(count: int) -> Column:
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, _FREE, np.int64)


@kernel
def _slot(slots: Column, key: int) -> int:
    """The slot of the key in a hash table, or the free one for it."""
    slot = _mixed(key) & (len(slots) - 1)
    while slots[slot] not in (_FREE, key):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _matched(left_keys: Column, right_keys: Column) -> tuple[int, Column, Column, Column]:
    """How many pairs of places have the same key; and to list them: the places on the right by their slots in a hash
    table, the first of each slot, and the slot of each place on the left.
    """
    slots = _slots_for(len(right_keys))
    slot_of_right = np.empty(len(right_keys), np.int64)
    first = np.zeros(len(slots) + 1, np.int64)
    for place, key in enumerate(right_keys):
        slot = _slot(slots, key)
        slots[slot] = key
        slot_of_right[place] = slot
        first[slot + 1] += 1
    for at in range(len(slots)):
        first[at + 1] += first[at]
    order = np.empty(len(right_keys), np.int64)
    filled = first[:-1].copy()
    for place in range(len(right_keys)):
        at = slot_of_right[place]
        order[filled[at]] = place
        filled[at] += 1
    slot_of = np.empty(len(left_keys), np.int64)
    matched = 0
    for place, key in enumerate(left_keys):
        slot_of[place] = _slot(slots, key)
        matched += first[slot_of[place] + 1] - first[slot_of[place]]
    return matched, order, first, slot_of


@kernel
def _joined(left: Rows, right: Rows, order: Column, first: Column, slot_of: Column, matched: int) -> Rows:
    """The columns of all pairs, by their places on the left, then on the right."""
    rows = np.empty((len(left) + len(right), matched), np.int32)
    for column in range(len(left)):
        at = 0
        for place, slot in enumerate(slot_of):
            for _ in range(first[slot], first[slot + 1]):
                rows[column, at] = left[column, place]
                at += 1
    for column in range(len(right)):
        at = 0
        for slot in slot_of:
            for other in range(first[slot], first[slot + 1]):
                rows[len(left) + column, at] = right[column, order[other]]
                at += 1
    return rows


@kernel
def _taken(rows: Rows, places: Column) -> Rows:
    """The rows at these places."""
    found = np.empty((len(rows), len(places)), np.int32)
    for column in range(len(rows)):
        for at, place in enumerate(places):
            found[column, at] = rows[column, place]
    return found


@kernel
def _first_of_each(keys: Column) -> Column:
    """The first place of each key."""
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


# Reading.


class Extents:
    """What each relation can hold for; constants have the ids of their names, function terms higher ones."""

    def __init__(self, translation: Translation, names: Iterable[bytes]) -> None:
        self._translation = translation
        self._base = len(translation.constants)
        self._ids: dict[
            tuple[int, ...], int
        ] = {}  # function terms: the number of the function, the ids of its arguments
        self._rows: dict[Relation, Column] = {}
        self._functions = np.zeros(0, np.int64)  # of each function term: the number of its function
        self._arguments: dict[int, Column] = {}  # by the number of a function, for every function term a row
        self._read(names)
        self._tables: dict[tuple[Relation, Term], Table] = {}

    def table(self, literal: Literal) -> Table:
        """The values that an atom's variables can have together."""
        names = variables(literal.atom)
        renaming = {name: f"?{index}" for index, name in enumerate(names)}
        key = (literal.relation, _renamed(literal.atom, renaming))
        known = self._tables.get(key)
        if known is None:
            known = self._tables[key] = self._match(literal.relation, literal.arguments)
        return Table(names, known.rows)

    def number(self, constant: Term) -> int:
        """The id of a constant."""
        return self._translation.constant_number(constant)

    def terms(self, relation: Relation) -> tuple[tuple[Term, ...], ...]:
        """All that a relation can hold for."""
        rows = self._rows.get(relation)
        return () if rows is None else self.as_terms(rows)

    def as_terms(self, rows: NDArray[np.int32] | NDArray[np.int64]) -> tuple[tuple[Term, ...], ...]:
        """(N, columns) ids as terms."""
        terms = {number: self.term(number) for number in np.unique(rows).tolist()}
        return tuple(tuple([terms[number] for number in row]) for row in rows.tolist())

    def term(self, number: int) -> Term:
        """The term with an id."""
        if number < self._base:
            return self._translation.constants[number]
        number -= self._base
        function = int(self._functions[number])
        name, arity = self._translation.functions[function]
        return (name, *(self.term(int(part)) for part in self._arguments[function][number, :arity]))

    def _read(self, names: Iterable[bytes]) -> None:
        by_shape: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for name in names:
            by_shape[name.translate(None, _DIGITS)].append(name)
        found: defaultdict[Relation, list[Column]] = defaultdict(list)
        for shape, members in by_shape.items():
            self._read_shape(shape, np.concatenate([_numbers(members[part]) for part in _parts(len(members))]), found)
        for relation, parts in found.items():
            self._rows[relation] = np.concatenate(parts)
        self._index_functions()

    def _read_shape(self, shape: bytes, numbers: Column, found: defaultdict[Relation, list[Column]]) -> None:
        """Atoms that differ in their numbers only; the shape is what remains without them, like `p(c,f(c,c))`."""
        relation_name, _, rest = shape.partition(b"(")
        place = 0
        keyword = self._translation.keyword(relation_name)
        if keyword is None:
            place = 1
        columns: list[Column] = []
        open_terms: list[tuple[Column, list[Column]]] = []
        for symbol in rest:
            if symbol == ord("c"):
                columns.append(numbers[:, place])
                place += 1
            elif symbol == ord("f"):
                open_terms.append((numbers[:, place], columns))
                columns = []
                place += 1
            elif symbol == ord(")") and open_terms:
                function, outer = open_terms.pop()
                outer.append(self._interned(np.stack((function, *columns), axis=1)))
                columns = outer
        rows = np.stack(columns, axis=1) if columns else np.zeros((len(numbers), 0), np.int64)
        if keyword is not None:
            found[keyword].append(rows)
            return
        for number in np.unique(numbers[:, 0]):
            found[self._translation.relations[int(number)]].append(rows[numbers[:, 0] == number])

    def _interned(self, terms: Column) -> Column:
        ids, base, found = self._ids, self._base, list[Column]()
        for part in _parts(len(terms)):
            rows = map(tuple, terms[part].tolist())
            found.append(np.array([ids.setdefault(row, base + len(ids)) for row in rows], np.int64))
        return np.concatenate(found)

    def _index_functions(self) -> None:
        self._functions = np.array([row[0] for row in self._ids], np.int64)
        by_function: defaultdict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        for place, row in enumerate(self._ids):
            by_function[row[0]].append((place, row[1:]))
        for function, members in by_function.items():
            matrix = np.zeros((len(self._ids), len(members[0][1])), np.int64)
            matrix[[place for place, _ in members]] = np.array([row for _, row in members], np.int64)
            self._arguments[function] = matrix

    def _match(self, relation: Relation, patterns: tuple[Term, ...]) -> Table:
        rows = self._rows.get(relation)
        if rows is None:
            rows = np.zeros((0, relation[1]), np.int64)
        kept = np.ones(len(rows), np.bool_)
        bound: dict[str, Column] = {}
        waiting = [(rows[:, index], pattern) for index, pattern in enumerate(patterns)]
        while waiting:
            column, pattern = waiting.pop()
            if is_variable(pattern):
                name = str(pattern)
                if name in bound:
                    kept &= bound[name] == column
                bound[name] = column
            elif isinstance(pattern, str):
                kept &= column == self._translation.constant_number(pattern)
            else:
                number = self._translation.function_number((str(pattern[0]), len(pattern) - 1))
                places = np.maximum(column - self._base, 0)
                if number not in self._arguments:
                    kept[:] = False
                    places[:] = 0
                    parts = np.zeros((len(rows), len(pattern) - 1), np.int64)
                else:
                    kept &= (column >= self._base) & (self._functions[places] == number)
                    parts = self._arguments[number][places]
                waiting += [(parts[:, index], part) for index, part in enumerate(pattern[1:])]
        names = tuple(dict.fromkeys(name for pattern in patterns for name in variables(pattern)))
        columns = np.array([bound[name][kept] for name in names], np.int32).reshape(len(names), int(kept.sum()))
        return make_table(names, columns)


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if isinstance(term, str):
        return names.get(term, term)
    return (term[0], *(_renamed(part, names) for part in term[1:]))


def _parts(count: int) -> Iterator[slice]:
    """All rows of so many, `_PART` at a time; one part of none."""
    for start in range(0, max(count, 1), _PART):
        yield slice(start, start + _PART)


def _numbers(names: list[bytes]) -> Column:
    """(names, numbers in each) of atoms that differ in their numbers only."""
    return np.array(b" ".join(names).translate(_SPACES).split(), np.int64).reshape(len(names), -1)
