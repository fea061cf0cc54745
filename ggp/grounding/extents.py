"""The atoms that gringo names → for each relation, its rows as numbers; terms become ids."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from ggp.gdl.logic_program import Literal, Relation
from ggp.gdl.terms import Term, is_variable, variables
from ggp.grounding.joins import Column, Table, make_table
from ggp.grounding.translation import Translation

_DIGITS = b"0123456789"
_SPACES = bytes(byte if byte in _DIGITS else 32 for byte in range(256))


class Extents:
    """What each relation may ever hold for; constants have the ids of their names, function terms higher ones."""

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
        """All that a relation may hold for."""
        rows = self._rows.get(relation)
        return () if rows is None else tuple(tuple(map(self.term, row)) for row in rows.tolist())

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
            numbers = np.array(b" ".join(members).translate(_SPACES).split(), np.int64).reshape(len(members), -1)
            self._read_shape(shape, numbers, found)
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
        ids = self._ids
        base = self._base
        return np.array([ids.setdefault(row, base + len(ids)) for row in map(tuple, terms.tolist())], np.int64)

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
        columns = np.array([bound[name][kept] for name in names], np.int64).reshape(len(names), int(kept.sum()))
        return make_table(names, columns)


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if isinstance(term, str):
        return names.get(term, term)
    return (term[0], *(_renamed(part, names) for part in term[1:]))
