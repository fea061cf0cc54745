"""Clause → the order in which its literals are evaluated, given which variables are bound beforehand."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ggp.gdl.dependencies import Dependencies
from ggp.gdl.domains import Domains
from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, LogicProgram, Relation
from ggp.gdl.terms import Term, variables

Groups: TypeAlias = frozenset[frozenset[int]]  # indexes of arguments; of each group at least one must be bound

_UNKNOWN_SIZE = 30.0  # guessed rows of a relation that nothing is known of
_VIEW_EXPONENT = 0.6  # a view holds for fewer rows than its domains allow


@dataclass(frozen=True)
class Planner:
    """What is known of sizes, and of the arguments that must be bound before a relation can be asked."""

    program: LogicProgram
    dependencies: Dependencies
    domains: Domains
    fact_counts: Mapping[Relation, int]  # facts of the initial state by their name and arity
    required: dict[Relation, Groups]

    def order(self, clause: Clause, bound: Iterable[str]) -> tuple[Literal, ...] | None:
        """The body, cheapest literal first at each point; None when some literal can never be evaluated."""
        known = set(bound)
        locals_of = _local_variables(clause)
        rest = list(clause.body)
        ordered: list[Literal] = []
        while rest:
            ready = [literal for literal in rest if self._ready(literal, known, locals_of)]
            if not ready:
                return None
            best = min(ready, key=lambda literal: (self._may_grow(literal, clause), self._cost(literal, known)))
            rest.remove(best)
            ordered.append(best)
            known.update(binds(best))
        return tuple(ordered)

    def unbound(self, clause: Clause, bound: Iterable[str]) -> tuple[str, ...]:
        """The variables of the head, or of stuck literals, that nothing binds."""
        known = set(bound)
        locals_of = _local_variables(clause)
        rest = list(clause.body)
        while ready := {literal for literal in rest if self._ready(literal, known, locals_of)}:
            rest = [literal for literal in rest if literal not in ready]
            known.update(name for literal in ready for name in binds(literal))
        wanted = (clause.head, *(literal.atom for literal in rest))
        return tuple(name for name in dict.fromkeys(v for term in wanted for v in variables(term)) if name not in known)

    @property
    def builds_unseen(self) -> bool:
        """Whether a rule makes function terms from values that only its callers have, which domains do not see."""
        clauses = (clause for relation in self.required for clause in self.program.clauses.get(relation, ()))
        return any(isinstance(argument, tuple) for clause in clauses for argument in clause.arguments)

    def can_ask(self, relation: Relation, bound: Iterable[int]) -> bool:
        """Whether a relation can be evaluated with these arguments bound."""
        given = set(bound)
        return all(group & given for group in self.required.get(relation, ()))

    def _ready(self, literal: Literal, known: set[str], locals_of: frozenset[str]) -> bool:
        if literal.relation == DISTINCT:
            open_sides = [side for side in literal.arguments if not known.issuperset(variables(side))]
            return len(open_sides) <= (0 if literal.positive else 1)
        if literal.relation in self.required:
            given = (i for i, argument in enumerate(literal.arguments) if known.issuperset(variables(argument)))
            if not self.can_ask(literal.relation, given):
                return False
        return literal.positive or all(name in known or name in locals_of for name in variables(literal.atom))

    def _may_grow(self, literal: Literal, clause: Clause) -> bool:
        """Whether a recursion asks for greater terms: it goes last, so that the other conditions bound them first."""
        component = self.dependencies.component
        return component.get(literal.relation) == component[clause.relation] and any(
            isinstance(argument, tuple) and variables(argument) for argument in literal.arguments
        )

    def _cost(self, literal: Literal, known: set[str]) -> float:
        """About how many bindings the literal gives for each that reaches it; tests cost less the quicker they are."""
        relation = literal.relation
        if relation == DISTINCT:
            return 0.0
        is_stored = relation in (TRUE, DOES) or relation in self.program.tables
        if not literal.positive or known.issuperset(variables(literal.atom)):
            return 0.1 if is_stored else 0.5
        return max(0.2, self._fan_out(literal, known))

    def _fan_out(self, literal: Literal, known: set[str]) -> float:
        relation, arguments = literal.relation, literal.arguments
        if relation == DOES:
            return 1.0 if known.issuperset(variables(arguments[0])) else 2.0
        if relation == TRUE:
            return self._facts(arguments[0], known)
        bound = [known.issuperset(variables(argument)) for argument in arguments]
        sizes = [max(1, len(self.domains.of(relation, index))) for index in range(relation[1])]
        if relation in self.program.tables:
            rows = len(self.program.tables[relation])
            return rows / prod(min(rows, size) for size, is_bound in zip(sizes, bound, strict=True) if is_bound)
        return 1.2 * float(
            prod(size**_VIEW_EXPONENT for size, is_bound in zip(sizes, bound, strict=True) if not is_bound)
        )

    def _facts(self, pattern: Term, known: set[str]) -> float:
        if isinstance(pattern, str):
            return _UNKNOWN_SIZE
        function = (str(pattern[0]), len(pattern) - 1)
        sizes = [max(1, len(values)) for values in self.domains.inside(TRUE, 0, function)]
        rows = self.fact_counts.get(function) or min(_UNKNOWN_SIZE, prod(sizes))
        bound = [known.issuperset(variables(argument)) for argument in pattern[1:]]
        return rows / prod(min(rows, size) for size, is_bound in zip(sizes, bound, strict=True) if is_bound)


def make_planner(
    program: LogicProgram, dependencies: Dependencies, domains: Domains, fact_counts: Mapping[Relation, int]
) -> Planner:
    """The planner of a program; finds out which arguments must be bound, where a rule leaves that to its callers."""
    planner = Planner(program, dependencies, domains, fact_counts, {})
    changed = True
    while changed:
        changed = False
        for relation, clauses in program.clauses.items():
            needed = planner.required.get(relation, frozenset())
            more = needed.union(*(_needed(planner, clause, needed) for clause in clauses))
            if more != needed:
                planner.required[relation] = more
                changed = True
    return planner


def _needed(planner: Planner, clause: Clause, needed: Groups) -> set[frozenset[int]]:
    """Where each variable stands in the head that nothing but the callers can bind."""
    places: dict[str, frozenset[int]] = {}
    for index, argument in enumerate(clause.arguments):
        for name in variables(argument):
            places[name] = places.get(name, frozenset()) | {index}
    bound = [name for name, where in places.items() if any(group <= where for group in needed)]
    return {places[name] for name in planner.unbound(clause, bound) if name in places}


def binds(literal: Literal) -> tuple[str, ...]:
    """The variables that have a value once the literal is evaluated."""
    gives = literal.positive != (literal.relation == DISTINCT)
    return variables(literal.atom) if gives else ()


def _local_variables(clause: Clause) -> frozenset[str]:
    """Those that stand in one negated literal only, where they mean that there is no such thing at all."""
    found = Counter(name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term))
    negated = {name for literal in clause.body if not literal.positive for name in variables(literal.atom)}
    return frozenset(name for name in negated if found[name] == 1)
