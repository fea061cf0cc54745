"""The body of a clause → the order of its conditions, by the number of bindings that each gives.

It knows sizes, and which arguments must be bound before a relation can be asked.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import TypeAlias

from ggp.errors import RulesheetError
from ggp.gdl.dependencies import Dependencies
from ggp.gdl.domains import ROOTS, Domains, Value
from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, LogicProgram, Relation, as_written
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, variables

MAX_DEPTH = 150  # levels of function terms, in a fact, or in a relation that reads itself
MAX_NODES = 10_000  # names in one term, those inside of it included

_Groups: TypeAlias = frozenset[frozenset[int]]  # indexes of arguments; of each group at least one must be bound

_OUTER = (("fact", 0, 0), ("move", 0, 0))  # the positions of whole facts and moves
_UNKNOWN_SIZE = 30.0  # guessed rows of a relation that nothing is known of
_VIEW_EXPONENT = 0.6  # a view holds for fewer rows than its domains allow


@dataclass(frozen=True, slots=True)
class Query:
    """A relation that is asked from outside, with the indexes of its bound arguments."""

    relation: Relation
    bound: tuple[int, ...]


@dataclass(frozen=True)
class QueryPlanner:
    """Orders the conditions of clauses by the number of bindings that each gives.

    It knows sizes, and which arguments must be bound before a relation can be asked.
    """

    program: LogicProgram
    dependencies: Dependencies
    domains: Domains
    fact_counts: Mapping[Relation, int]  # facts of the initial state by their name and arity
    required: dict[Relation, _Groups]
    row_counts: Mapping[Relation, int] = field(default_factory=dict)  # of static relations, where that is known

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

    def ordered(self, clause: Clause, bound: Sequence[int]) -> tuple[Literal, ...]:
        """The body in the order of `order`; RulesheetError where it leaves variables without a value."""
        known = [name for index in bound for name in variables(clause.arguments[index])]
        body = self.order(clause, known)
        if body is None or self.unbound(clause, known):
            raise self.unsafe(clause.relation, bound)
        return body

    def unsafe(self, relation: Relation, bound: Sequence[int]) -> RulesheetError:
        """The error for a relation that cannot be evaluated with these arguments bound."""
        for clause in self.program.clauses[relation]:
            known = [name for index in bound for name in variables(clause.arguments[index])]
            names = self.unbound(clause, known)
            if names:
                shown = ", ".join(dict.fromkeys(map(as_written, names)))
                message = f"no condition binds {shown} in {self.program.place_in_words(relation)}"
                return RulesheetError(message, self.program.rulesheet.place(clause.offset), "safety")
        message = f"{self.program.place_in_words(relation)} leaves variables without a value"
        return RulesheetError(message, self.program.rulesheet.place(self.program.clauses[relation][0].offset), "safety")

    def unbound(self, clause: Clause, bound: Iterable[str]) -> tuple[str, ...]:
        """The variables of the head, or of stuck literals, that nothing binds."""
        rest, known = self.stuck(clause, bound)
        wanted = (clause.head, *(literal.atom for literal in rest))
        return tuple(name for name in dict.fromkeys(v for term in wanted for v in variables(term)) if name not in known)

    def stuck(self, clause: Clause, bound: Iterable[str]) -> tuple[list[Literal], set[str]]:
        """The literals that can never be evaluated, and the variables that are bound without them."""
        known = set(bound)
        locals_of = _local_variables(clause)
        rest = list(clause.body)
        while ready := {literal for literal in rest if self._ready(literal, known, locals_of)}:
            rest = [literal for literal in rest if literal not in ready]
            known.update(name for literal in ready for name in binds(literal))
        return rest, known

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
        rows = len(self.program.tables.get(relation, ())) or self.row_counts.get(relation)
        if rows is not None:
            return rows / prod(min(rows, size) for size, is_bound in zip(sizes, bound, strict=True) if is_bound)
        return 1.2 * float(
            prod(size**_VIEW_EXPONENT for size, is_bound in zip(sizes, bound, strict=True) if not is_bound)
        )

    def most_keys(self, bound: int) -> float:
        """With how many values of so many arguments a relation can be asked at most; perhaps infinity."""
        return self._constants**bound

    @cached_property
    def _constants(self) -> float:
        """How many values a variable can have; infinity where some are made by functions."""
        values = {value for domain in self.domains.values.values() for value in domain}
        inner = (v for place, domain in self.domains.values.items() if place not in _OUTER for v in domain)
        clauses = [clause for clauses in self.program.clauses.values() for clause in clauses]
        atoms = (atom for clause in clauses for atom in (clause.head, *(literal.atom for literal in clause.body)))
        if any(isinstance(value, tuple) for value in inner) or any(map(_names_a_whole, atoms)):
            return inf
        return max(1, sum(isinstance(value, str) for value in values))

    def most_rows(self, literal: Literal, known: Collection[str]) -> float:
        """How many bindings a literal can give at most, as far as the domains of its arguments tell, or infinity."""
        relation, arguments = literal.relation, literal.arguments
        if relation == DOES:
            domains: Sequence[Mapping[Value, None]] = [self.domains.of(DOES, 0)]
        elif relation == TRUE and isinstance(arguments[0], tuple):
            arguments = arguments[0][1:]
            domains = self.domains.inside(TRUE, 0, name_and_arity(literal.arguments[0]))
        elif relation in self.program.tables or relation in self.program.clauses:
            free = (
                index for index, argument in enumerate(arguments) if not all(v in known for v in variables(argument))
            )
            domains = [self.domains.of(relation, index) for index in free]
            return min(prod(map(_most, domains)), len(self.program.tables.get(relation, ())) or inf)
        else:
            return inf
        return prod(
            _most(found)
            for argument, found in zip(arguments, domains, strict=False)
            if not all(name in known for name in variables(argument))
        )

    def _facts(self, pattern: Term, known: set[str]) -> float:
        if isinstance(pattern, str):
            return _UNKNOWN_SIZE
        function = (str(pattern[0]), len(pattern) - 1)
        sizes = [max(1, len(values)) for values in self.domains.inside(TRUE, 0, function)]
        rows = self.fact_counts.get(function) or min(_UNKNOWN_SIZE, prod(sizes))
        bound = [known.issuperset(variables(argument)) for argument in pattern[1:]]
        return rows / prod(min(rows, size) for size, is_bound in zip(sizes, bound, strict=True) if is_bound)


def make_query_planner(
    program: LogicProgram, dependencies: Dependencies, domains: Domains, fact_counts: Mapping[Relation, int]
) -> QueryPlanner:
    """The planner of a program; finds which arguments the callers must bind, as no condition does."""
    planner = QueryPlanner(program, dependencies, domains, fact_counts, {})
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


def _needed(planner: QueryPlanner, clause: Clause, needed: _Groups) -> set[frozenset[int]]:
    """The places in the head of each variable that only the callers can bind."""
    places: dict[str, frozenset[int]] = {}
    for index, argument in enumerate(clause.arguments):
        for name in variables(argument):
            places[name] = places.get(name, frozenset()) | {index}
    bound = {name for name, where in places.items() if any(group <= where for group in needed)}
    read = {name for literal in clause.body for name in binds(literal)}
    bound.update(own := [name for name in planner.unbound(clause, bound) if name in places and name not in read])
    groups = {places[name] for name in own}
    while found := _needed_by_one(planner, clause, bound, places):
        literal, more = found
        groups |= more
        bound.update(binds(literal))
    return groups | {places[name] for name in planner.unbound(clause, bound) if name in places}


def _needed_by_one(
    planner: QueryPlanner, clause: Clause, bound: set[str], places: Mapping[str, frozenset[int]]
) -> tuple[Literal, set[frozenset[int]]] | None:
    """A stuck literal that binds its variables as soon as callers bind one of several arguments, and these."""
    stuck, known = planner.stuck(clause, bound)
    for literal in stuck:
        if literal.positive and literal.relation in planner.required:
            values = {
                i: [v for v in variables(argument) if v not in known] for i, argument in enumerate(literal.arguments)
            }
            groups = [group for group in planner.required[literal.relation] if all(values[i] for i in group)]
            choices = [
                [places[values[i][0]] for i in group if len(values[i]) == 1 and values[i][0] in places]
                for group in groups
            ]
            if all(choices):
                return literal, {frozenset[int]().union(*choice) for choice in choices}
    return None


def _names_a_whole(atom: Term) -> bool:
    """Whether a variable stands for a whole fact or move, or a function for an argument of a relation."""
    name, arity = name_and_arity(atom)
    if (name, arity) in ROOTS:
        return isinstance(atom, tuple) and isinstance(atom[-1], str) and is_variable(atom[-1])
    return isinstance(atom, tuple) and any(isinstance(argument, tuple) for argument in atom[1:])


def _most(domain: Mapping[Value, None]) -> float:
    """How many values an argument can have; infinity where some are made by functions, or nothing is known of it."""
    return inf if any(isinstance(value, tuple) for value in domain) else len(domain) or inf


def binds(literal: Literal) -> tuple[str, ...]:
    """The variables that have a value once the literal is evaluated."""
    gives = literal.positive != (literal.relation == DISTINCT)
    return variables(literal.atom) if gives else ()


def _local_variables(clause: Clause) -> frozenset[str]:
    """Those in one negated literal only, where they are existential: no value at all makes the atom hold."""
    found = Counter(name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term))
    negated = {name for literal in clause.body if not literal.positive for name in variables(literal.atom)}
    return frozenset(name for name in negated if found[name] == 1)
