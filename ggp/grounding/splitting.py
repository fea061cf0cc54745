"""Clauses → clauses that say the same in fewer ground rules: where joins are larger than needed, bodies are split.

What it costs is explained in `parts`.
"""

from dataclasses import dataclass, replace
from time import perf_counter

from ggp.gdl.logic_program import Clause, Literal, Relation
from ggp.gdl.terms import Term, variables
from ggp.grounding.bodies import Bodies
from ggp.grounding.extents import Extents
from ggp.grounding.joins import Table, join
from ggp.grounding.parts import (
    Names,
    Part,
    Split,
    bound_names,
    cheapest_split,
    complement_cost,
    cost_of,
    names_of,
    only_move,
    worth_complement,
)
from ggp.grounding.preparation import Prepared
from ggp.grounding.relations import Relations
from ggp.grounding.unfolding import unfolded

_MAX_ROWS = 1_000_000  # of a join that is made to count it
_MAX_EASY = 100_000  # up to here, the whole join is looked at first
_SLACK = 20_000  # rows that a new relation's join may have without a guard
_SMALL = 24  # a body that costs no more is left as it is
_LARGE = 1_000  # a clause that costs more is tried with what its conditions say
_GAIN_UNFOLDED = 0.6
_MAX_DEFINITION = 4  # clauses
_UNKNOWN = 1e12  # the cost of what cannot be counted


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The clauses and tables to be grounded, and how often each rewriting was applied."""

    clauses: tuple[Clause, ...]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]
    rewritings: tuple[tuple[str, int], ...]


def split_clauses(prepared: Prepared, extents: Extents, deadline: float) -> Rewritten:
    """The same relations by cheaper clauses; after the deadline, the clauses that are left stay as they are."""
    bodies = Bodies(prepared, extents)
    relations = Relations(extents)
    definitions: dict[Relation, list[Clause]] = {}
    for clause in prepared.clauses:
        definitions.setdefault(clause.relation, []).append(clause)
    definitions = {
        relation: found
        for relation, found in definitions.items()
        if len(found) <= _MAX_DEFINITION and relation not in prepared.dependencies.recursive
    }
    clauses: list[Clause] = []
    count = 0
    for clause in prepared.clauses:
        if perf_counter() > deadline:
            clauses.append(clause)
            continue
        relations, found, times = _best(clause, bodies, relations, definitions)
        clauses += found
        count += times
    used = {literal.relation for clause in clauses for literal in clause.body}
    guards = {relation: relations.rows(relation) for relation in relations.guards if relation in used}
    counts = {**relations.counts, "unfolded": count, "rigid": prepared.rigid}
    return Rewritten(tuple(clauses), {**prepared.tables, **guards}, tuple(counts.items()))


def _best(
    clause: Clause, bodies: Bodies, relations: Relations, definitions: dict[Relation, list[Clause]]
) -> tuple[Relations, list[Clause], int]:
    """Clauses for one clause, with conditions unfolded as long as that makes it much cheaper."""
    best, found = _split((clause,), bodies, relations)
    clauses = [clause]
    times = 0
    while best.cost > _LARGE and len(clauses) <= _MAX_DEFINITION:
        tries = [
            [*(other for other in clauses if other is not one), *unfolded(one, literal, definitions[literal.relation])]
            for one in clauses
            for literal in one.body
            if literal.positive and literal.relation in definitions
        ]
        results = [(*_split(tuple(tried), bodies, relations), tried) for tried in tries]
        if not results:
            break
        cheapest, pieces, tried = min(results, key=lambda result: result[0].cost)
        if cheapest.cost > _GAIN_UNFOLDED * best.cost:
            break
        best, found, clauses = cheapest, pieces, tried
        times += 1
    return best, found, times


def _split(clauses: tuple[Clause, ...], bodies: Bodies, relations: Relations) -> tuple[Relations, list[Clause]]:
    """Cheaper clauses for some clauses, and all relations made so far."""
    branch = relations.branch()
    splitter = _Splitter(bodies, branch)
    found = [splitter.split(clause) for clause in clauses]
    return branch, [*branch.clauses, *found]


class _Splitter:
    """Splits one clause after the other; equal parts of different clauses become one relation."""

    def __init__(self, bodies: Bodies, relations: Relations) -> None:
        self._bodies = bodies
        self._relations = relations

    def split(self, clause: Clause) -> Clause:
        """What remains of the clause; the relations that it now reads are made."""
        self._relations.offset = clause.offset
        parts = tuple(map(self._bodies.part, clause.body))
        if not any(part.weight for part in parts):
            return clause
        head = frozenset(variables(clause.head))
        rows = self._bodies.joined(parts, _MAX_EASY)
        if rows is None:
            parts = self._framed(parts, head)
            rows = self._bodies.joined(parts, _MAX_ROWS)
        if rows is None:
            parts = self._shrunk(parts, head)
            rows = self._bodies.joined(parts, _MAX_ROWS)
        if rows is None:
            self._relations.cost += _UNKNOWN
        else:
            parts, rows = self._reduced(self._bodies.weighed(parts, rows), head, rows, alone=False)
            self._relations.cost += cost_of(parts, head, rows)
        return replace(clause, body=tuple(part.literal for part in parts))

    def _reduced(
        self, parts: tuple[Part, ...], head: Names, rows: Table, *, alone: bool
    ) -> tuple[tuple[Part, ...], Table]:
        """The parts that remain once the cheapest splits are made, one after the other, and their rows.

        `alone` says that they become a relation of their own, for which there may be a complement.
        """
        while True:
            cost = cost_of(parts, head, rows)
            if alone:
                cost = min(cost, complement_cost(parts, head, rows))
            split = cheapest_split(parts, head, rows, cost) if cost > _SMALL else None
            if split is None:
                return parts, rows
            done = self._extracted(split, head, rows) if split.copied is None else self._parted(split, head, rows)
            if done is None:
                return parts, rows
            parts, rows = done

    def _extracted(self, split: Split, head: Names, rows: Table) -> tuple[tuple[Part, ...], Table]:
        """With a new relation for the inner parts."""
        inside = rows.project(names_of(split.inner))
        parts = (*split.outer, self._part_of(split.inner, split.shared, inside))
        return parts, rows.project(head | names_of(parts))

    def _parted(self, split: Split, head: Names, rows: Table) -> tuple[tuple[Part, ...], Table] | None:
        """With what is asked of a move asked in two places; None when the rest becomes too large."""
        move = split.copied
        assert move is not None
        assert move.key is not None
        outside = head | names_of(split.outer) | move.key
        joined = join(rows.project(split.shared), rows.project(outside), _MAX_ROWS)
        if joined is None:
            return None
        core = names_of(split.inner) | move.key
        inside = rows.project(core)
        part = self._part_of((*split.inner, self._projected(move, core)), split.shared, inside)
        return (*split.outer, self._projected(move, outside), part), joined

    def _projected(self, move: Part, names: Names) -> Part:
        """What a move is in some of its variables."""
        if move.names <= names:
            return move
        assert move.table is not None
        return self._relations.part((move,), move.names & names, move.table, move.key)

    def _part_of(self, parts: tuple[Part, ...], shared: Names, rows: Table) -> Part:
        """A new relation for some parts, put as cheaply as it can be."""
        unbound = names_of(parts) - bound_names(parts)
        if unbound:
            parts = (*parts, self._relations.guard(rows.project(unbound)))
        parts, rows = self._reduced(parts, shared, rows, alone=True)
        parts = self._complemented(parts, shared, rows)
        if self._bodies.joined(parts, 4 * len(rows) + _SLACK) is None:
            parts = (*parts, self._relations.guard(rows.project(names_of(parts))))
        return self._relations.part(parts, shared, rows)

    def _complemented(self, parts: tuple[Part, ...], shared: Names, rows: Table) -> tuple[Part, ...]:
        """What most moves of a role make true, put as: it makes such a move, and none of the others.

        Right because no role makes two moves in one step.
        """
        move = only_move(parts)
        if move is None or move.table is None or move.key is None or shared & move.names - move.key:
            return parts
        against = [part for part in parts if part.weight and part is not move]
        keys = rows.project(shared | move.key)
        possible = join(keys, move.table, _MAX_ROWS)
        if possible is None:
            return parts
        wrong = possible.without(rows.project(possible.names))
        triggers = [join(possible, self._bodies.extents.table(part.literal), _MAX_ROWS) for part in against]
        cost = len(move.table) + len(wrong) + 2 * len(keys) + sum(2 * len(found) for found in triggers if found)
        if None in triggers or not worth_complement(cost, parts, rows):
            return parts
        guard = self._relations.guard(keys)
        conditions = [
            [move, replace(part, literal=Literal(part.literal.atom, not part.literal.positive)), guard]
            for part in against
        ]
        if len(wrong):
            conditions.append([move, self._relations.guard(wrong)])
        wrongs = Literal(self._relations.either(sorted(keys.names), conditions), positive=False)
        self._relations.cost += cost
        self._relations.counts["complement"] += 1
        matching = self._relations.part((move,), move.key, move.table)
        return (matching, guard, Part(wrongs, frozenset(keys.names), 1, None))

    def _framed(self, parts: tuple[Part, ...], head: Names) -> tuple[Part, ...]:
        """With what is asked of a move alone taken out, before the whole is joined."""
        for move in parts:
            local = move.names - head
            if move.key is None or not local:
                continue
            touched = names_of([part for part in parts if part.names & local])
            inner = tuple(p for p in parts if p.names & local or (not p.weight and p.names <= touched))
            outer = tuple(part for part in parts if part not in inner)
            if only_move(inner) is None:
                continue
            shared = touched & (head | names_of(outer))
            unbound = touched - bound_names(inner)
            around = self._bodies.joined([part for part in outer if part.binds and part.names & unbound], _MAX_ROWS)
            if around is None or not unbound <= frozenset(around.names):
                continue
            if unbound:
                inner = (*inner, self._relations.guard(around.project(unbound)))
            rows = self._bodies.joined(inner, _MAX_ROWS)
            if rows is not None:
                part = self._part_of(self._bodies.weighed(inner, rows), shared, rows)
                return self._framed((*outer, part), head)
        return parts

    def _shrunk(self, parts: tuple[Part, ...], head: Names) -> tuple[Part, ...]:
        """Variables taken out of a body whose join is too large, cheapest first, until it can be counted."""
        while self._bodies.joined(parts, _MAX_ROWS) is None:
            best: tuple[Table, tuple[Part, ...]] | None = None
            for name in sorted(names_of(parts) - head):
                bucket = tuple(part for part in parts if name in part.names)
                if len(bucket) < len(parts) and names_of(bucket) <= bound_names(bucket):
                    rows = self._bodies.joined(bucket, len(best[0]) if best else _MAX_ROWS)
                    if rows is not None and (best is None or len(rows) < len(best[0])):
                        best = (rows, bucket)
            if best is None:
                return parts
            rows, bucket = best
            rest = tuple(part for part in parts if part not in bucket)
            shared = names_of(bucket) & (head | names_of(rest))
            parts = (*rest, self._part_of(bucket, shared, rows))
        return parts
