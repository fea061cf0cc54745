"""Clauses → clauses in which a condition is replaced by what its relation says."""

from collections.abc import Sequence
from itertools import count

from ggp.gdl.logic_program import Clause, Literal
from ggp.gdl.terms import Term, substitute, variables
from ggp.grounding.unification import unifier


def unfolded(clause: Clause, condition: Literal, definition: Sequence[Clause]) -> list[Clause]:
    """One clause for each of the definition whose head can be the condition."""
    found: list[Clause] = []
    taken = {name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term)}
    rest = [literal for literal in clause.body if literal is not condition]
    for one in definition:
        apart = _renamed(one, taken)
        bindings = unifier(apart.head, condition.atom)
        if bindings is not None:
            body = (*rest, *apart.body)
            literals = dict.fromkeys(Literal(substitute(lit.atom, bindings), lit.positive) for lit in body)
            found.append(Clause(substitute(clause.head, bindings), tuple(literals), clause.offset))
    return found


def _renamed(clause: Clause, taken: set[str]) -> Clause:
    """With other variables than those that are taken."""
    own = dict.fromkeys(name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term))
    free = (name for number in count() if (name := f"?u{number}") not in taken)
    names: dict[str, Term] = {name: next(free) for name in own}
    body = tuple(Literal(substitute(literal.atom, names), literal.positive) for literal in clause.body)
    return Clause(substitute(clause.head, names), body, clause.offset)
