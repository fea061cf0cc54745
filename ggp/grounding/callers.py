"""Values for the variables that no condition binds: those that the callers of a relation, which read it, ask for.

`(<= (column ?x ?y ?z) (next_to ?y ?z))` holds for every ?x there is. Published rulesheets have such rules, and all
conditions that read the relation bind the argument. With a condition for the values that they ask for the rule is safe,
and what reads it stays the same. Which arguments must be bound are modes of logic programs (Mellish 1981).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from ggp.gdl.domains import Domains, Position, variable_positions
from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.terms import Term, is_variable, variables

_ASKED_PREFIX = "ASKED"

Tables: TypeAlias = Mapping[Relation, tuple[tuple[Term, ...], ...]]


@dataclass(frozen=True, slots=True)
class _Group:
    """Arguments of a relation of which callers must bind at least one."""

    relation: Relation
    places: frozenset[int]


_Source: TypeAlias = str | _Group | tuple[Position, ...]  # one value, those asked for, those that positions share


class UnboundError(Exception):
    """A variable is bound neither by conditions nor by callers, or to a function."""


def bind_by_callers(
    clauses: Sequence[Clause],
    tables: Tables,
    outputs: Collection[Relation],
    find_domains: Callable[[Sequence[Clause], Tables], Domains],
) -> tuple[list[Clause], Tables]:
    """The clauses, those with unbound variables with conditions for them, and the tables, those of the values included.

    Outputs have callers outside of the clauses, which bind nothing.
    """
    modes = _find_modes(clauses, outputs)
    loose = dict.fromkeys(group for mode in modes for group in mode.loose.values())
    relations = {group: (f"{_ASKED_PREFIX}{number}", 1) for number, group in enumerate(loose)}
    asked: dict[_Group, dict[str, None]] = {}
    while True:
        before = sum(map(len, asked.values()))
        bound = [mode.bound(relations) for mode in modes if all(map(asked.get, mode.loose.values()))]
        rows = {relation: tuple((value,) for value in asked.get(group, ())) for group, relation in relations.items()}
        filled = {**tables, **{relation: values for relation, values in rows.items() if values}}
        domains = find_domains(bound, filled)
        for group, source in chain.from_iterable(mode.asks for mode in modes):
            asked.setdefault(group, {}).update(dict.fromkeys(_values(source, asked, domains)))
        if sum(map(len, asked.values())) == before:
            return bound, filled


def _find_modes(clauses: Sequence[Clause], outputs: Collection[Relation]) -> list["_Mode"]:
    """Those of all clauses, once the groups of all relations are known."""
    groups: dict[Relation, set[_Group]] = {}
    while True:
        modes = [_Mode(clause, groups) for clause in clauses]
        needed = {group for mode in modes for group in mode.needed}
        if needed <= set(chain.from_iterable(groups.values())):
            return modes
        for group in needed:
            if group.relation in outputs:
                raise UnboundError
            groups.setdefault(group.relation, set()).add(group)


def _values(source: _Source, asked: Mapping[_Group, Mapping[str, None]], domains: Domains) -> list[str]:
    if isinstance(source, str):
        return [source]
    if isinstance(source, _Group):
        return list(asked.get(source, ()))
    first, *others = (domains.values.get(position, {}) for position in source)
    found = [value for value in first if all(value in other for other in others)]
    constants = [value for value in found if isinstance(value, str)]
    if len(constants) < len(found):
        raise UnboundError
    return constants


@dataclass
class _Mode:
    """What binds each variable of a clause, and what the clause asks for."""

    clause: Clause
    groups: Mapping[Relation, set[_Group]]  # of the relations, as far as they are known
    needed: set[_Group] = field(default_factory=set)  # of the relation of the head
    loose: dict[str, _Group] = field(default_factory=dict)  # the variables that only callers bind
    asks: list[tuple[_Group, _Source]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known: dict[str, _Source] = {}
        self._positive = [lit for lit in self.clause.body if lit.positive and lit.relation != DISTINCT]
        read = {name for literal in self._positive for name in variables(literal.atom)}
        self._bind_by_head()
        self._ask_all()
        for name in variables(self.clause.head) + self._tested():
            if name not in read:
                self.loose[name] = self._loose_group(name)
                self._known.setdefault(name, self.loose[name])
        self._ask_all()
        while self._positive:
            self._ask(self._positive.pop(0), demands=True)
            self._ask_all()
        for literal in self.clause.body:
            if not literal.positive and literal.relation != DISTINCT:
                self._ask(literal, demands=False)

    def bound(self, relations: Mapping[_Group, Relation]) -> Clause:
        """The clause with a condition for each variable that only callers bind."""
        conditions = (Literal((relations[group][0], name), positive=True) for name, group in self.loose.items())
        return replace(self.clause, body=(*conditions, *self.clause.body))

    def _bind_by_head(self) -> None:
        """Binds the variables that stand for a whole group of the head."""
        for group in self._groups(self.clause.relation):
            names = {self.clause.arguments[place] for place in group.places}
            self._known.update((str(name), group) for name in names if len(names) == 1 and is_variable(name))

    def _tested(self) -> tuple[str, ...]:
        """The variables of conditions that bind none."""
        tests = (lit for lit in self.clause.body if not lit.positive or lit.relation == DISTINCT)
        return tuple(name for literal in tests for name in variables(literal.atom))

    def _places(self, name: Term) -> frozenset[int]:
        return frozenset(place for place, argument in enumerate(self.clause.arguments) if argument == name)

    def _loose_group(self, name: str) -> _Group:
        source = self._known.get(name)
        return source if isinstance(source, _Group) else self._need(self._places(name))

    def _need(self, places: frozenset[int]) -> _Group:
        if not places:
            raise UnboundError
        group = _Group(self.clause.relation, places)
        self.needed.add(group)
        return group

    def _ask_all(self) -> None:
        """Asks conditions as long as there are some whose groups are bound."""
        while ready := [literal for literal in self._positive if all(map(any, self._sources(literal)))]:
            self._positive = [literal for literal in self._positive if literal not in ready]
            for literal in ready:
                self._ask(literal, demands=False)

    def _sources(self, literal: Literal) -> Iterator[list[_Source]]:
        """For each group of the condition, what gives it values."""
        for group in self._groups(literal.relation):
            arguments = [literal.arguments[place] for place in sorted(group.places)]
            found = (
                self._known.get(each) if is_variable(each) else each for each in arguments if isinstance(each, str)
            )
            yield [source for source in found if source is not None]

    def _groups(self, relation: Relation) -> list[_Group]:
        return sorted(self.groups.get(relation, ()), key=lambda group: sorted(group.places))

    def _ask(self, literal: Literal, *, demands: bool) -> None:
        """Asks a condition, which binds its variables; what is not bound, the callers of the head must."""
        for group, sources in zip(self._groups(literal.relation), self._sources(literal), strict=True):
            if not (sources or demands):
                raise UnboundError
            names = {literal.arguments[place] for place in group.places}
            places = frozenset[int]().union(*map(self._places, names))
            self.asks.append((group, sources[0] if sources else self._need(places)))
        found: dict[str, list[Position]] = {}
        for position, name in variable_positions(literal.atom):
            found.setdefault(name, []).append(position)
        for name, positions in found.items():
            self._known.setdefault(name, tuple(positions))
