"""The slowest interpreter: every clause tried with every value for every variable, stratum by stratum."""

from collections.abc import Iterable
from itertools import product

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, LogicProgram, Relation
from ggp.gdl.terms import Term, substitute, variables


def naive_model(program: LogicProgram, universe: Iterable[Term], given: Iterable[Term] = ()) -> frozenset[Term]:
    """All atoms that hold, those given included; variables take the values of the universe only."""
    values = tuple(universe)
    model = set(given)
    for (name, arity), rows in program.tables.items():
        model.update((name, *row) if arity else name for row in rows)
    strata = _strata(program)
    for level in range(1 + max(strata.values(), default=0)):
        clauses = [c for relation, found in program.clauses.items() if strata[relation] == level for c in found]
        size = -1
        while size != len(model):
            size = len(model)
            for clause in clauses:
                model.update(list(_derived(clause, values, model)))
    return frozenset(model)


def _strata(program: LogicProgram) -> dict[Relation, int]:
    """A number for each relation, higher than those of the relations that it reads negated."""
    strata = dict.fromkeys(program.clauses, 0)
    for _ in range(len(strata) + 1):
        for relation, clauses in program.clauses.items():
            for literal in (literal for clause in clauses for literal in clause.body):
                if literal.relation in strata:
                    strata[relation] = max(strata[relation], strata[literal.relation] + (not literal.positive))
    return strata


def _derived(clause: Clause, values: tuple[Term, ...], model: set[Term]) -> Iterable[Term]:
    names = dict.fromkeys(
        name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term)
    )
    for choice in product(values, repeat=len(names)):
        bindings = dict(zip(names, choice, strict=True))
        if all(_holds(literal, bindings, model) for literal in clause.body):
            yield substitute(clause.head, bindings)


def _holds(literal: Literal, bindings: dict[str, Term], model: set[Term]) -> bool:
    atom = substitute(literal.atom, bindings)
    if literal.relation == DISTINCT:
        return (atom[1] != atom[2]) == literal.positive
    return (atom in model) == literal.positive
