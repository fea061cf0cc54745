"""Negated conditions about the place of a piece → conditions about the piece, where it is in one place at most.

A king is on one square: a functional dependency. So `(not (threatened ?x ?y ?u))` for the square of a king, where
`(true (cell ?x ?y ?king))`, is the same as `(not (joined ?king ?u))`, where `joined` reads both the square and
`threatened`: it has fewer arguments. Facts of which no two hold in the same state are an exclusive group. Here such
groups are supposed; what uses the result has to prove them (`circuit.invariants`).
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from ggp.gdl.logic_program import DISTINCT, TRUE, Clause, Literal, Relation
from ggp.gdl.terms import Term, match, substitute, variables
from ggp.grounding.narrow import Evaluate, only_negated
from ggp.grounding.prepare import Prepared
from ggp.grounding.rewrite import unfolded

_KEYS_PREFIX = "KEYS"  # no symbol of a rulesheet has capitals: the reader folds case
_JOINED_PREFIX = "JOINED"
_FIRST = "FIRST"
_MOST_KEYS = 2
_LEAST_GAIN = 8.0  # how many times fewer rows there are, by the sizes of domains


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
    negated = only_negated(prepared, large)
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
