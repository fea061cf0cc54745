"""Clauses → clauses whose large relations hold only for arguments that someone asks for.

A relation that every clause reads with some arguments bound gets a second one that says for which values of those it
is needed (the magic sets of Bancilhon, Maier, Sagiv and Ullman 1986, with one binding pattern for each relation).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.terms import variables

DEMAND_PREFIX = "DEMAND"


def with_demand(
    clauses: Sequence[Clause], large: frozenset[Relation], rank: Mapping[Relation, int]
) -> tuple[list[Clause], list[Clause], tuple[Relation, ...]]:
    """The clauses, those of large relations guarded; the clauses that say what is needed; and their relations.

    Of the large relations that a clause reads, those of lower rank are asked first.
    """
    bound = _bound_arguments(clauses, large, rank)
    names = {relation: f"{DEMAND_PREFIX}{number}" for number, relation in enumerate(bound)}

    def needed(atom: Literal | Clause) -> Literal:
        arguments = tuple(atom.arguments[index] for index in bound[atom.relation])
        return Literal((names[atom.relation], *arguments), positive=True)

    guarded: list[Clause] = []
    asking: list[Clause] = []
    for clause in clauses:
        guards = (needed(clause),) if clause.relation in bound else ()
        guarded.append(replace(clause, body=(*guards, *clause.body)))
        for literal in clause.body:
            if literal.relation in bound:
                body = (*guards, *_before(literal, clause, bound, rank))
                asking.append(Clause(needed(literal).atom, body, clause.offset))
    return guarded, asking, tuple((names[relation], len(places)) for relation, places in bound.items())


def _before(
    literal: Literal, clause: Clause, bound: Collection[Relation], rank: Mapping[Relation, int]
) -> tuple[Literal, ...]:
    """The conditions that are known before one on a large relation is asked."""

    def order(other: Literal) -> tuple[int, int]:
        return rank.get(other.relation, 0), clause.body.index(other)

    return tuple(
        other
        for other in clause.body
        if other.positive
        and other.relation != DISTINCT
        and (other.relation not in bound or order(other) < order(literal))
    )


def _bound_arguments(
    clauses: Sequence[Clause], large: frozenset[Relation], rank: Mapping[Relation, int]
) -> dict[Relation, tuple[int, ...]]:
    """For each relation, the arguments that are bound wherever it is read; without those of which none is."""
    bound = {relation: frozenset(range(relation[1])) for relation in large}
    changed = True
    while changed:
        before = dict(bound)
        for clause in clauses:
            for literal in clause.body:
                if literal.relation in bound:
                    terms = [clause.arguments[index] for index in bound.get(clause.relation, ())]
                    terms += (other.atom for other in _before(literal, clause, bound, rank))
                    known = {name for term in terms for name in variables(term)}
                    places = (i for i in bound[literal.relation] if known.issuperset(variables(literal.arguments[i])))
                    bound[literal.relation] = frozenset(places)
        bound = {relation: places for relation, places in bound.items() if places}
        changed = bound != before
    return {relation: tuple(sorted(places)) for relation, places in bound.items()}
