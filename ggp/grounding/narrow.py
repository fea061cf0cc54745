"""Clauses → clauses that say the same by relations of fewer rows, for games whose relations are too large to be listed.

A relation that is only read negated is divided, one relation for each of its clauses, as `not (p or q)` is `not p` and
`not q`. Each of these keeps the arguments on which its own conditions depend: a test of a chess move that ignores two
cells has six arguments, but an attack by a knight depends on two of them. Static alternatives are unfolded where that
frees an argument: two cells differ if their columns do, or their rows.

Every relation is bounded to the values for which it can be asked, argument by argument.

Before that, a negated condition on the place of a piece may become one on the piece. A king is on one square: a
functional dependency. So `(not (threatened ?x ?y ?u))` for the square of a king, where `(true (cell ?x ?y ?king))`, is
the same as `(not (joined ?king ?u))`, where `joined` reads both the square and `threatened`: it has fewer arguments.
Facts of which no two hold in the same state are an exclusive group. Here such groups are supposed; what uses the result
has to prove them (`circuit.invariants`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from math import prod
from typing import TypeAlias

from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, match, substitute, variables
from ggp.grounding.demand import Demand, linked
from ggp.grounding.prepare import KEYWORDS, Prepared, Rows
from ggp.grounding.rewrite import MAX_DEFINITION, unfolded
from ggp.grounding.tables import Extents

_CASE_PREFIX = "CASE"  # no symbol of a rulesheet has capitals: the reader folds case
_ANY_PREFIX = "ANY"
_ASKED_PREFIX = "ASKEDFOR"  # `callers` has relations that begin with ASKED and a number
_VALUE_PREFIX = "VALUE"
_KEYS_PREFIX = "KEYS"
_JOINED_PREFIX = "JOINED"
_FIRST = "FIRST"
_MOST_KEYS = 2
_LEAST_GAIN = 8.0  # how many times fewer rows there are where a place is joined, by the sizes of domains

# Relations whose arguments are those of facts or moves.
_ROOTS = {("init", 1): "true", TRUE: "true", ("next", 1): "true", DOES: "does", ("legal", 2): "does"}
_Asked: TypeAlias = dict[tuple[Relation, int], dict[Term, None]]  # by relation and argument; no entry: any value
# Clauses, and the relations that are asked for → what these hold for.
Evaluate: TypeAlias = Callable[[Sequence[Clause], Sequence[Relation]], Extents]


class UnknownError(Exception):
    """The values of single arguments cannot be told."""


def narrowed(prepared: Prepared, large: Collection[Relation], evaluate: Evaluate) -> Prepared:
    """The same game by narrower relations; the same object where none of the large ones can be narrowed.

    `evaluate` is asked for values of single arguments.
    """
    candidates = _only_negated(prepared, large)
    if not candidates:
        return prepared
    try:
        clauses = _Cases(prepared, asked_values(prepared, evaluate)).clauses(candidates)
        if clauses is None:
            return prepared
        divided = prepared.with_clauses(clauses, prepared.tables)
        return divided.with_clauses(*_bounded(divided, asked_values(divided, evaluate)))
    except UnknownError:
        return prepared


def _only_negated(prepared: Prepared, large: Collection[Relation]) -> list[Relation]:
    """The large relations that conditions read only negated, and that depend on the state without recursion."""
    read = {literal.relation for clause in prepared.clauses for literal in clause.body if literal.positive}
    usual = read.union(prepared.tables, prepared.dependencies.recursive)
    return [relation for relation in sorted(large) if relation not in usual and not prepared.is_static(relation)]


# Asked values.


class _Arguments:
    """Clauses for the values of each single argument: of what relations hold for, and of what they are asked for.

    Facts and moves are taken apart into the arguments of their functions. Conditions on static relations remain as they
    are, so that their arguments go together.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        dynamic = frozenset(c.relation for c in prepared.clauses if not prepared.is_static(c.relation)) - set(KEYWORDS)
        self._demand = Demand(prepared.clauses, dynamic, prepared.dependencies.component, combines=True)
        self._dynamic = dynamic
        self.asked = {
            (relation, place): (f"{_ASKED_PREFIX}{number}", 1)
            for number, (relation, place) in enumerate(
                (relation, place) for relation, places in self._demand.bound.items() for place in places
            )
        }

    def clauses(self) -> Iterator[Clause]:
        """UnknownError where a fact or move as a whole is a variable that other conditions read."""
        for clause in self._prepared.clauses:
            if self._prepared.is_static(clause.relation):
                yield clause
                if clause.relation == ("init", 1):
                    yield from self._values(clause.head, clause, list(clause.body), [])
                continue
            guards = self._guards(clause)
            yield from self._values(clause.head, clause, self._flat(clause.body, clause), guards)
            for literal in clause.body:
                if literal.relation in self._demand.bound:
                    before = self._flat(self._demand.binding(literal, clause, self._demand.bound), clause)
                    for place in self._demand.bound[literal.relation]:
                        head = (self.asked[literal.relation, place][0], literal.arguments[place])
                        yield _about(head, [*guards, *before], clause)
        for (fact,) in self._prepared.tables.get(("init", 1), ()):
            yield from self._values(("init", fact), Clause(fact, (), 0), [], [])

    def _guards(self, clause: Clause) -> list[Literal]:
        places = self._demand.bound.get(clause.relation, ())
        return [
            Literal((self.asked[clause.relation, place][0], clause.arguments[place]), positive=True) for place in places
        ]

    def _values(self, head: Term, clause: Clause, body: list[Literal], guards: list[Literal]) -> Iterator[Clause]:
        for atom in self._atoms(head):
            yield _about(atom, [*guards, *body], clause)

    def _flat(self, body: Iterable[Literal], clause: Clause) -> list[Literal]:
        """The positive conditions of a body, those on dynamic relations argument by argument."""
        found: list[Literal] = []
        for literal in body:
            if not literal.positive or literal.relation == DISTINCT:
                continue
            if literal.relation not in (TRUE, DOES) and self._prepared.is_static(literal.relation):
                found.append(literal)
            else:
                found += [Literal(atom, positive=True) for atom in self._atoms(literal.atom, clause)]
        return found

    def _atoms(self, atom: Term, clause: Clause | None = None) -> Iterator[Term]:
        """What an atom says of each single argument."""
        relation = name_and_arity(atom)
        root = _ROOTS.get(relation)
        arguments = () if isinstance(atom, str) else atom[1:]
        for place, argument in enumerate(arguments):
            if root is None or place < len(arguments) - 1:
                yield (f"{_VALUE_PREFIX}{root or relation}{place}", argument)
            elif isinstance(argument, tuple):
                for inner, part in enumerate(argument[1:]):
                    yield (f"{_VALUE_PREFIX}{root}{argument[0]}/{len(argument)}{inner}", part)
            elif is_variable(argument) and (clause is None or _occurrences(clause, argument) > 1):
                raise UnknownError


def _occurrences(clause: Clause, name: str) -> int:
    return sum(variables(atom).count(name) for atom in (clause.head, *(literal.atom for literal in clause.body)))


def _about(head: Term, body: Sequence[Literal], clause: Clause) -> Clause:
    """A clause with those conditions only that hang together with the variables of the head."""
    return Clause(head, tuple(linked(body, set(variables(head)))), clause.offset)


def asked_values(prepared: Prepared, evaluate: Evaluate) -> _Asked:
    """The values for which conditions can ask, by relation and argument; no entry where any value can be asked for."""
    arguments = _Arguments(prepared)
    clauses = list(arguments.clauses())
    extents = evaluate(clauses, list(arguments.asked.values()))
    return {key: {row[0]: None for row in extents.terms(name)} for key, name in arguments.asked.items()}


def _bounded(prepared: Prepared, asked: _Asked) -> tuple[list[Clause], dict[Relation, Rows]]:
    """The clauses, bounded where their heads are not asked for all that their bodies may give."""
    tables = dict(prepared.tables)
    names: dict[tuple[Term, ...], str] = {}
    found: list[Clause] = []
    for clause in prepared.clauses:
        guards: list[Literal] = []
        for place, argument in enumerate(clause.arguments):
            values = asked.get((clause.relation, place))
            if values is None or not is_variable(argument):
                continue
            if len(values) < len(prepared.domains.of(clause.relation, place)):
                name = names.setdefault(tuple(values), f"{_ASKED_PREFIX}{len(names)}")
                tables[name, 1] = tuple((value,) for value in values)
                guards.append(Literal((name, argument), positive=True))
        found.append(replace(clause, body=(*dict.fromkeys(guards), *clause.body)) if guards else clause)
    return found, tables


# Cases of what is negated.


@dataclass(frozen=True, slots=True)
class _Case:
    """A clause of a relation that is only negated, and the places of the arguments on which it depends."""

    clause: Clause
    places: tuple[int, ...]
    name: str

    def of(self, arguments: Sequence[Term]) -> Term:
        kept = tuple(arguments[place] for place in self.places)
        return (self.name, *kept) if kept else self.name


class _Cases:
    """Divides relations that are only read negated."""

    def __init__(self, prepared: Prepared, asked: _Asked) -> None:
        self._prepared = prepared
        self._asked = asked
        self._definitions: dict[Relation, list[Clause]] = {}
        for clause in prepared.clauses:
            self._definitions.setdefault(clause.relation, []).append(clause)
        self._numbers = count()
        self._names: dict[tuple[Term, ...], str] = {}
        self._alternatives: list[Clause] = []

    def clauses(self, divisible: Iterable[Relation]) -> list[Clause] | None:
        """All clauses; None where no relation loses an argument."""
        cases = {relation: found for relation in divisible if (found := self._cases(relation))}
        if not cases:
            return None
        kept = [
            one for relation, found in self._definitions.items() if relation not in cases for one in self._merged(found)
        ]
        kept += (
            replace(case.clause, head=case.of(case.clause.arguments)) for found in cases.values() for case in found
        )
        return [replace(clause, body=tuple(_divided(clause, cases))) for clause in (*self._alternatives, *kept)]

    def _cases(self, relation: Relation) -> list[_Case]:
        """The cases of a relation; none where each depends on all arguments."""
        found = [one for clause in self._merged(self._definitions[relation]) for one in self._unfolded(clause)]
        free = [self._free(clause) for clause in found]
        if not any(free):
            return []
        return [
            _Case(*self._without(clause, names), f"{_CASE_PREFIX}{next(self._numbers)}")
            for clause, names in zip(found, free, strict=True)
        ]

    def _without(self, clause: Clause, free: Collection[str]) -> tuple[Clause, tuple[int, ...]]:
        """The clause without the conditions on free arguments, and the places of all other arguments."""
        places = tuple(place for place, argument in enumerate(clause.arguments) if argument not in free)
        return replace(
            clause, body=tuple(lit for lit in clause.body if not set(variables(lit.atom)) & set(free))
        ), places

    def _merged(self, clauses: Sequence[Clause]) -> list[Clause]:
        """With one clause for several that differ in one condition on the same variables."""
        groups: dict[tuple[Term, frozenset[Literal], frozenset[str]], dict[Clause, Literal]] = {}
        for clause in clauses:
            for literal in clause.body:
                if literal.positive and literal.relation != DISTINCT and not self._prepared.is_static(literal.relation):
                    rest = frozenset(clause.body) - {literal}
                    groups.setdefault((clause.head, rest, frozenset(variables(literal.atom))), {})[clause] = literal
        merged: list[Clause] = []
        gone: set[Clause] = set()
        for members in sorted(groups.values(), key=len, reverse=True):
            left = {clause: literal for clause, literal in members.items() if clause not in gone}
            if len(left) > 1:
                first, literal = next(iter(left.items()))
                head = self._any(tuple(left.values()), first.offset)
                body = tuple(Literal(head, positive=True) if one == literal else one for one in first.body)
                merged.append(replace(first, body=body))
                gone.update(left)
        return [*merged, *(clause for clause in clauses if clause not in gone)]

    def _any(self, literals: tuple[Literal, ...], offset: int) -> Term:
        """The atom of a relation that holds where one of the conditions does."""
        names = variables(literals[0].atom)
        numbered: dict[str, Term] = {name: f"?{place}" for place, name in enumerate(names)}
        atoms = tuple(substitute(literal.atom, numbered) for literal in literals)
        name = self._names.get(atoms)
        if name is None:
            name = self._names[atoms] = f"{_ANY_PREFIX}{len(self._names)}"
            head = (name, *numbered.values())
            self._alternatives += [Clause(head, (Literal(atom, positive=True),), offset) for atom in atoms]
        return (name, *names)

    def _unfolded(self, clause: Clause) -> list[Clause]:
        """The clause, or several in place of it, each of which depends on fewer arguments."""
        for literal in clause.body:
            definition = self._definitions.get(literal.relation, ())
            if literal.positive and 1 < len(definition) <= MAX_DEFINITION and self._is_plain(literal.relation):
                found = unfolded(clause, literal, definition)
                if all(len(self._free(one)) > len(self._free(clause)) for one in found):
                    return [more for one in found for more in self._unfolded(one)]
        return [clause]

    def _is_plain(self, relation: Relation) -> bool:
        return self._prepared.is_static(relation) and relation not in self._prepared.dependencies.recursive

    def _free(self, clause: Clause) -> frozenset[str]:
        """The arguments of the head for which it holds whatever the others are, among those that are asked for."""
        if not all(is_variable(argument) for argument in clause.arguments) or len(set(clause.arguments)) < len(
            clause.arguments
        ):
            return frozenset()
        return frozenset(
            name
            for place, name in enumerate(clause.arguments)
            if isinstance(name, str) and self._is_free(clause, place, name)
        )

    def _is_free(self, clause: Clause, place: int, name: str) -> bool:
        values = self._asked.get((clause.relation, place))
        conditions = [literal for literal in clause.body if name in variables(literal.atom)]
        return values is not None and all(
            literal.positive and literal.arguments == (name,) and self._holds_for(literal.relation, values)
            for literal in conditions
        )

    def _holds_for(self, relation: Relation, values: Collection[Term]) -> bool:
        return {(value,) for value in values}.issubset(self._prepared.tables.get(relation, ()))


def _divided(clause: Clause, cases: dict[Relation, list[_Case]]) -> Iterator[Literal]:
    """The body, with a negated condition for each case of a negated condition."""
    for literal in clause.body:
        if literal.relation in cases:
            yield from (Literal(case.of(literal.arguments), positive=False) for case in cases[literal.relation])
        else:
            yield literal


# Functional dependencies.


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A negated condition, and a fact that its clause reads, too, of which at most one holds for the same keys."""

    condition: Literal  # negated
    fact: Literal
    keys: tuple[str, ...]  # variables of the fact
    static: tuple[Literal, ...]  # conditions of the same clause, which bind the keys

    @property
    def place(self) -> frozenset[str]:
        """The variables of the fact that the keys determine."""
        return frozenset(variables(self.fact.atom)).difference(self.keys)

    def atom(self, name: str) -> Term:
        """Of the relation that takes the place of the condition."""
        kept = dict.fromkeys((*(v for v in variables(self.condition.atom) if v not in self.place), *self.keys))
        return (name, *kept) if kept else name

    def definition(self, name: str) -> Clause:
        """Of that relation; the same where only variables have other names."""
        body = (replace(self.condition, positive=True), self.fact, *self.static)
        names = dict.fromkeys(v for literal in body for v in variables(literal.atom))
        numbered: dict[str, Term] = {v: f"?{number}" for number, v in enumerate(names)}
        literals = tuple(Literal(substitute(literal.atom, numbered), positive=True) for literal in body)
        return Clause(substitute(self.atom(name), numbered), literals, 0)


def joined_first(prepared: Prepared, large: Collection[Relation], evaluate: Evaluate) -> Prepared:
    """The same game, as long as no two facts of the same pattern in its `exclusive` hold together.

    The same object where there is no large relation that all conditions read so. `evaluate`: for static relations.
    """
    negated = _only_negated(prepared, large)
    readers = [(clause, one) for clause in prepared.clauses for one in clause.body if one.relation in negated]
    options = {reader: list(_candidates(*reader, prepared)) for reader in readers}
    if not any(options.values()):
        return prepared
    groups = _groups([one for several in options.values() for one in several], prepared, evaluate)

    def gain(candidate: _Candidate) -> float:
        """About how many times fewer rows there are; 0 where the groups are not exclusive at first."""
        sizes = (
            len(prepared.domains.of(candidate.condition.relation, place))
            for place, argument in enumerate(candidate.condition.arguments)
            if argument in candidate.place
        )
        return prod(sizes) / len(groups[candidate]) if groups[candidate] else 0

    best = {reader: max(several, key=gain, default=None) for reader, several in options.items()}
    kept = {condition.relation for (_, condition), found in best.items() if not found or gain(found) < _LEAST_GAIN}
    chosen = {reader: found for reader, found in best.items() if found and found.condition.relation not in kept}
    if not chosen:
        return prepared
    patterns = dict.fromkeys(pattern for found in chosen.values() for pattern in groups[found])
    return replace(prepared.with_clauses(_joined(prepared, chosen), prepared.tables), exclusive=tuple(patterns))


def _candidates(clause: Clause, condition: Literal, prepared: Prepared) -> Iterator[_Candidate]:
    """With each fact that binds arguments of the condition, and any keys of it that static conditions bind."""
    positive = [one for one in clause.body if one.positive and one.relation != DISTINCT]
    for fact in (one for one in positive if one.relation == TRUE):
        names = variables(fact.atom)
        for keys in (keys for size in range(_MOST_KEYS + 1) for keys in combinations(names, size)):
            place = set(names).difference(keys)
            static = tuple(
                one
                for one in positive
                if prepared.is_static(one.relation)
                and not place.intersection(variables(one.atom))
                and set(keys).intersection(variables(one.atom))
            )
            bound = {name for one in static for name in variables(one.atom)}
            if place.intersection(condition.arguments) and bound.issuperset(keys):
                yield _Candidate(condition, fact, keys, static)


def _groups(
    candidates: Iterable[_Candidate], prepared: Prepared, evaluate: Evaluate
) -> dict[_Candidate, tuple[Term, ...]]:
    """The facts for each value of the keys, as patterns; none where two of a group hold at first, or none of any."""
    names = {candidate: f"{_KEYS_PREFIX}{number}" for number, candidate in enumerate(dict.fromkeys(candidates))}
    keyed = [Clause((name, *one.keys), one.static, 0) for one, name in names.items() if one.keys]
    first = Clause((_FIRST, "?0"), (Literal(("init", "?0"), positive=True),), 0)
    shown = [clause.relation for clause in (first, *keyed)]
    extents = evaluate(prepared.with_definitions([first, *keyed]), shown)
    at_first = [fact for (fact,) in extents.terms(first.relation)]
    found: dict[_Candidate, tuple[Term, ...]] = {}
    for candidate, name in names.items():
        rows = extents.terms((name, len(candidate.keys))) if candidate.keys else ((),)
        others: dict[str, Term] = {v: f"?{number}" for number, v in enumerate(variables(candidate.fact.atom))}
        bindings = [others | dict(zip(candidate.keys, row, strict=True)) for row in rows]
        patterns = tuple(substitute(candidate.fact.arguments[0], one) for one in bindings)
        counts = [sum(match(pattern, fact, {}) is not None for fact in at_first) for pattern in patterns]
        found[candidate] = patterns if max(counts, default=0) == 1 else ()
    return found


def _joined(prepared: Prepared, chosen: dict[tuple[Clause, Literal], _Candidate]) -> list[Clause]:
    """All clauses, with other relations in place of those of the chosen conditions."""
    names: dict[Clause, str] = {}  # by a definition without a name
    definitions: dict[Relation, list[Clause]] = {one.condition.relation: [] for one in chosen.values()}
    clauses: list[Clause] = []
    for clause in prepared.clauses:
        body = list(clause.body)
        for at, literal in enumerate(body):
            candidate = chosen.get((clause, literal))
            if candidate:
                name = names.setdefault(candidate.definition(""), f"{_JOINED_PREFIX}{len(names)}")
                body[at] = Literal(candidate.atom(name), positive=False)
        definitions.get(clause.relation, clauses).append(replace(clause, body=tuple(body)))
    for candidate in chosen.values():
        name = names.pop(candidate.definition(""), "")
        if name:  # else it is there already
            made = candidate.definition(name)
            clauses += unfolded(made, made.body[0], definitions[candidate.condition.relation])
    return clauses
