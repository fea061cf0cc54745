"""For which arguments relations are needed, by the conditions that stand before those that ask for them.

A relation that every clause reads with some arguments bound gets a second one that holds for the values of those that
are needed (the magic sets of Bancilhon, Maier, Sagiv and Ullman 1986, with one binding pattern for each relation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.terms import variables

_DEMAND_PREFIX = "DEMAND"


class Demand:
    """For which arguments large relations are needed.

    A condition is asked for the arguments that the conditions before it bind. Where several of these have no variable
    in common, all combinations of what they bind are needed if it `combines` them. Else only those count that hang
    together with what the clause itself is asked for, or those that bind most arguments: fewer arguments are bound.
    """

    def __init__(
        self, clauses: Sequence[Clause], large: frozenset[Relation], rank: Mapping[Relation, int], *, combines: bool
    ) -> None:
        """Of the large relations that a clause reads, those of lower rank are asked first."""
        self._clauses, self._rank, self._combines = clauses, rank, combines
        self.bound = self._bound_arguments(large)

    def clauses(self) -> tuple[list[Clause], list[Clause], tuple[Relation, ...]]:
        """The clauses, those of large relations guarded; clauses that derive what is needed; and their relations."""
        bound = self.bound
        names = {relation: f"{_DEMAND_PREFIX}{number}" for number, relation in enumerate(bound)}

        def needed(atom: Literal | Clause) -> Literal:
            arguments = tuple(atom.arguments[index] for index in bound[atom.relation])
            return Literal((names[atom.relation], *arguments), positive=True)

        guarded: list[Clause] = []
        asking: list[Clause] = []
        for clause in self._clauses:
            guards = (needed(clause),) if clause.relation in bound else ()
            guarded.append(replace(clause, body=(*guards, *clause.body)))
            for literal in clause.body:
                if literal.relation in bound:
                    body = (*guards, *self.binding(literal, clause, bound))
                    asking.append(Clause(needed(literal).atom, body, clause.offset))
        return guarded, asking, tuple((names[relation], len(places)) for relation, places in bound.items())

    def _bound_arguments(self, large: frozenset[Relation]) -> dict[Relation, tuple[int, ...]]:
        """For each relation, the arguments that are bound wherever it is read; without those of which none is."""
        bound = {relation: tuple(range(relation[1])) for relation in sorted(large)}
        changed = True
        while changed:
            before = dict(bound)
            for clause in self._clauses:
                for literal in clause.body:
                    if literal.relation in bound:
                        known = asked_variables(clause, bound)
                        for other in self.binding(literal, clause, bound):
                            known |= set(variables(other.atom))
                        bound[literal.relation] = tuple(
                            place
                            for place in bound[literal.relation]
                            if known.issuperset(variables(literal.arguments[place]))
                        )
            bound = {relation: places for relation, places in bound.items() if places}
            changed = bound != before
        return bound

    def binding(
        self, literal: Literal, clause: Clause, bound: Mapping[Relation, tuple[int, ...]]
    ) -> tuple[Literal, ...]:
        """The conditions before one that say for which arguments it is needed."""

        def order(other: Literal) -> tuple[int, int]:
            return self._rank.get(other.relation, 0), clause.body.index(other)

        before = tuple(
            other
            for other in clause.body
            if other.positive
            and other.relation != DISTINCT
            and (other.relation not in bound or order(other) < order(literal))
        )
        if self._combines:
            return before
        wanted, asked = set(variables(literal.atom)), asked_variables(clause, bound)
        groups = [linked(before, asked)]
        while left := [one for one in before if not any(one in group for group in groups)]:
            groups.append(linked(left, set(variables(left[0].atom))) or left[:1])
        shares = [len(wanted & {name for one in group for name in variables(one.atom)}) for group in groups]
        if wanted & asked:
            shares[0] = len(wanted)
        best = shares.index(max(shares))
        kept = [one for at, group in enumerate(groups) if at == best or not shares[at] for one in group]
        return tuple(one for one in before if one in kept)


def asked_variables(clause: Clause, bound: Mapping[Relation, tuple[int, ...]]) -> set[str]:
    """The variables of what is bound in the head when the clause is asked."""
    return {name for index in bound.get(clause.relation, ()) for name in variables(clause.arguments[index])}


def linked(conditions: Sequence[Literal], names: set[str]) -> list[Literal]:
    """Those that share a variable with these names, directly or by way of others."""
    found: list[Literal] = []
    while more := [one for one in conditions if one not in found and names & set(variables(one.atom))]:
        found += more
        names = names.union(*(variables(one.atom) for one in more))
    return found
