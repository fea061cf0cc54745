"""The relations that rewriting makes: one for each thing that is said, however often."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ggp.gdl.logic_program import Clause, Literal, Relation
from ggp.gdl.terms import Term, substitute, variables
from ggp.grounding.extents import Extents
from ggp.grounding.joins import Table
from ggp.grounding.parts import Names, Part, cost_of, sorting_text

PART_PREFIX = "SPLIT"  # no symbol of a rulesheet has capitals: the reader folds case
GUARD_PREFIX = "GUARD"


@dataclass(slots=True)
class Relations:
    """New relations; what they cost is added up."""

    extents: Extents
    clauses: list[Clause] = field(default_factory=list)
    guards: dict[Relation, Table] = field(default_factory=dict)
    cost: float = 0.0
    offset: int = 0  # of the rule that is rewritten
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("split", "shared", "complement"), 0))
    _known: dict[Term | bytes, str] = field(default_factory=dict)  # what a relation says, and its name

    def branch(self) -> "Relations":
        """A copy to try something with."""
        return Relations(self.extents, [], dict(self.guards), 0.0, self.offset, dict(self.counts), dict(self._known))

    def guard(self, rows: Table) -> Part:
        """A static relation that holds for these rows."""
        order = sorted(rows.names)
        ordered = rows.columns(order)
        ordered = ordered[:, np.lexsort(ordered[::-1])]
        key = b"%d %s" % (len(order), ordered.tobytes())
        name = self._known.setdefault(key, f"{GUARD_PREFIX}{len(self._known)}")
        self.guards[name, len(order)] = Table(tuple(order), ordered)
        return Part(Literal((name, *order), positive=True), frozenset(order), 0, rows)

    def rows(self, relation: Relation) -> tuple[tuple[Term, ...], ...]:
        """What a guard holds for, as terms."""
        term = self.extents.term
        return tuple(tuple(map(term, row)) for row in self.guards[relation].rows.T.tolist())

    def part(self, parts: Sequence[Part], shared: Names, rows: Table, key: Names | None = None) -> Part:
        """The atom of a relation that holds where all parts do; an existing one if it says the same."""
        ordered = sorted(parts, key=lambda part: sorting_text(part.literal, shared))
        order = dict.fromkeys(name for part in ordered for name in variables(part.literal.atom))
        canonical: dict[str, Term] = {name: f"?{index}" for index, name in enumerate(order)}
        head = [name for name in order if name in shared]
        body = tuple(Literal(substitute(p.literal.atom, canonical), p.literal.positive) for p in ordered)
        signs = (("+" if literal.positive else "-", literal.atom) for literal in body)
        said: Term = (PART_PREFIX, *(canonical[name] for name in head), *signs)
        name = self._known.get(said)
        if name is None:
            name = self._known[said] = f"{PART_PREFIX}{len(self._known)}"
            atom: Term = (name, *(canonical[variable] for variable in head)) if head else name
            self.clauses.append(Clause(atom, body, self.offset))
            self.cost += max(0.0, cost_of(parts, shared, rows))
            self.counts["split"] += 1
        else:
            self.counts["shared"] += 1
        weight = 1 if any(part.weight for part in parts) else 0
        return Part(Literal((name, *head) if head else name, positive=True), shared, weight, rows.project(shared), key)

    def either(self, names: Sequence[str], bodies: Iterable[Sequence[Part]]) -> Term:
        """The atom of a new relation that holds where all parts of one of the bodies do."""
        name = f"{PART_PREFIX}{len(self._known)}"
        self._known[name] = name
        head: Term = (name, *names) if names else name
        self.clauses += [Clause(head, tuple(part.literal for part in parts), self.offset) for parts in bodies]
        return head
