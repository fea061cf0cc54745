"""Clauses → clauses that mean the same with fewer ground rules: where joins are larger than needed, bodies are split.

`{p(x, y), q(y, z)}` may become `part(y) :- q(y, z)` and `{p(x, y), part(y)}`, by the costs of `splits`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

import numpy as np

from ggp.gdl.logic_program import DISTINCT, DOES, Clause, Literal, Relation
from ggp.gdl.terms import Term, is_variable, substitute, variables
from ggp.grounding.prepare import Prepared, unifier
from ggp.grounding.splits import (
    Body,
    BodyPart,
    Split,
    Variables,
    bound_names,
    cheapest_split,
    complement_cost,
    cost_of,
    names_of,
    only_move,
    worth_complement,
)
from ggp.grounding.tables import Extents, Table, join, make_table

_PART_PREFIX = "SPLIT"  # no symbol of a rulesheet has capitals: the reader folds case
_GUARD_PREFIX = "GUARD"
_MAX_ROWS = 1_000_000  # of a join that is made to count it
_MAX_EASY = 100_000  # up to here, the whole join is looked at first
_SLACK = 20_000  # rows that a new relation's join may have without a guard
_SMALL = 24  # a body that costs no more is not split
_LARGE = 1_000  # a clause that costs more is tried with its conditions replaced by their definitions
_GAIN_UNFOLDED = 0.6
MAX_DEFINITION = 4  # clauses
_UNKNOWN = 1e12  # the cost of what cannot be counted


# The rows of bodies.


class LateError(Exception):
    """There is no time to rewrite a clause."""


class TooCostlyError(Exception):
    """What is tried costs more than what it would replace."""


class _Bodies:
    """What is known of the relations that bodies read."""

    def __init__(self, prepared: Prepared, extents: Extents, is_late: Callable[[], bool]) -> None:
        self._prepared = prepared
        self.extents = extents
        self._is_late = is_late

    def check(self) -> None:
        """LateError once it is late."""
        if self._is_late():
            raise LateError

    def part(self, literal: Literal) -> BodyPart:
        names = frozenset(variables(literal.atom))
        if literal.relation == DISTINCT:
            return BodyPart(literal, names, 0, None)
        if self._prepared.is_static(literal.relation):
            return BodyPart(literal, names, 0, self.extents.table(literal))
        if not literal.positive:
            return BodyPart(literal, names, 1, None)
        key = frozenset(variables(literal.arguments[0])) if literal.relation == DOES else None
        return BodyPart(literal, names, 1, self.extents.table(literal), key)

    def weighed(self, parts: tuple[BodyPart, ...], rows: Table) -> tuple[BodyPart, ...]:
        """With the weights of negative conditions: where the atom can never hold, they leave no trace."""
        return tuple(
            replace(part, weight=1 - len(rows.without(self.extents.table(part.literal))) / max(1, len(rows)))
            if part.weight and not part.literal.positive
            else part
            for part in parts
        )

    def joined(self, parts: Sequence[BodyPart], limit: int) -> Table | None:
        """All values that the variables of the parts can have together; None when a join has more rows."""
        waiting = [part for part in parts if part.binds]
        tests = [part for part in parts if not part.binds]
        result = make_table((), np.zeros((0, 1), np.int32))
        while waiting:
            self.check()
            known = set(result.names)
            best = min(waiting, key=lambda part: (_growth(part, known), len(part.table or ())))
            waiting.remove(best)
            assert best.table is not None
            joined = join(result, best.table, limit)
            if joined is None:
                return None
            result = joined
            for test in [test for test in tests if test.names <= set(result.names)]:
                tests.remove(test)
                result = self._tested(result, test)
        return result

    def _tested(self, table: Table, test: BodyPart) -> Table:
        """Without the rows that a condition rules out whatever the state is."""
        if test.literal.relation != DISTINCT:
            return table if test.table is None else table.without(test.table)
        left, right = test.literal.arguments
        if isinstance(left, tuple) or isinstance(right, tuple):
            return table
        values = [
            table.columns([side])[0] if is_variable(side) else np.full(len(table), self.extents.number(side))
            for side in (left, right)
        ]
        return table.where(values[0] != values[1])


def _growth(part: BodyPart, known: set[str]) -> float:
    """About how many rows of a part go with each row that is known."""
    table = part.table
    assert table is not None
    return len(table) / max(1, table.count([name for name in table.names if name in known]))


# New relations.


def sorting_text(literal: Literal, shared: Variables) -> str:
    """A text that does not depend on the names of variables, to sort by."""
    names = variables(literal.atom)
    hidden: dict[str, Term] = {name: "!" if name in shared else "?" for name in names}
    return f"{substitute(literal.atom, hidden)}{literal.positive}"


@dataclass(slots=True)
class _Relations:
    """New relations, one for each body, however often it is used; and their total cost."""

    extents: Extents
    clauses: list[Clause] = field(default_factory=list)
    guards: dict[Relation, Table] = field(default_factory=dict)
    cost: float = 0.0
    most: float = inf  # that it may cost
    offset: int = 0  # of the rule that is rewritten
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("split", "shared", "complement"), 0))
    _known: dict[Term | bytes, str] = field(default_factory=dict)  # body or rows → the name of the relation

    def branch(self, most: float) -> "_Relations":
        """A copy to try something with, which costs so much at most."""
        return _Relations(
            self.extents, [], dict(self.guards), 0.0, most, self.offset, dict(self.counts), dict(self._known)
        )

    def charge(self, cost: float) -> None:
        """TooCostlyError where the total is more than what it may be."""
        self.cost += cost
        if self.cost > self.most:
            raise TooCostlyError

    def guard(self, rows: Table) -> BodyPart:
        """A static relation that holds for these rows."""
        order = sorted(rows.names)
        ordered = rows.columns(order)
        ordered = np.ascontiguousarray(ordered[:, np.lexsort(ordered[::-1])])
        key = b"%d %s" % (len(order), ordered.tobytes())
        name = self._known.setdefault(key, f"{_GUARD_PREFIX}{len(self._known)}")
        self.guards[name, len(order)] = Table(tuple(order), ordered)
        return BodyPart(Literal((name, *order), positive=True), frozenset(order), 0, rows)

    def rows(self, relation: Relation) -> tuple[tuple[Term, ...], ...]:
        """What a guard holds for, as terms."""
        return self.extents.as_terms(self.guards[relation].rows.T)

    def part(
        self,
        parts: Sequence[BodyPart],
        shared: Variables,
        rows: Table,
        key: Variables | None = None,
        reached: Table | None = None,
    ) -> BodyPart:
        """The atom of a relation that holds where all parts do; an existing one if it has the same body.

        Of all that is `reached`, what counts are the rows.
        """
        ordered = sorted(parts, key=lambda part: sorting_text(part.literal, shared))
        order = dict.fromkeys(name for part in ordered for name in variables(part.literal.atom))
        canonical: dict[str, Term] = {name: f"?{index}" for index, name in enumerate(order)}
        head = [name for name in order if name in shared]
        body = tuple(Literal(substitute(p.literal.atom, canonical), p.literal.positive) for p in ordered)
        signs = (("+" if literal.positive else "-", literal.atom) for literal in body)
        said: Term = (_PART_PREFIX, *(canonical[name] for name in head), *signs)
        name = self._known.get(said)
        if name is None:
            name = self._known[said] = f"{_PART_PREFIX}{len(self._known)}"
            atom: Term = (name, *(canonical[variable] for variable in head)) if head else name
            self.clauses.append(Clause(atom, body, self.offset))
            self.charge(max(0.0, cost_of(parts, shared, rows)))
            self.counts["split"] += 1
        else:
            self.counts["shared"] += 1
        weight = 1 if any(part.weight for part in parts) else 0
        return BodyPart(
            Literal((name, *head) if head else name, positive=True),
            shared,
            weight,
            (reached or rows).project(shared),
            key,
        )

    def either(self, names: Sequence[str], bodies: Iterable[Sequence[BodyPart]]) -> Term:
        """The atom of a new relation that holds where all parts of one of the bodies do."""
        name = f"{_PART_PREFIX}{len(self._known)}"
        self._known[name] = name
        head: Term = (name, *names) if names else name
        self.clauses += [Clause(head, tuple(part.literal for part in parts), self.offset) for parts in bodies]
        return head


# Replacing conditions by their definitions.


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


# Splitting.


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The clauses and tables to be grounded, and how often each rewriting was applied."""

    clauses: tuple[Clause, ...]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]
    rewritings: tuple[tuple[str, int], ...]


def split_clauses(prepared: Prepared, extents: Extents, is_late: Callable[[], bool]) -> Rewritten:
    """The same relations by cheaper clauses; once it is late, the clauses that are not done stay as they are."""
    bodies = _Bodies(prepared, extents, is_late)
    relations = _Relations(extents)
    definitions: dict[Relation, list[Clause]] = {}
    for clause in prepared.clauses:
        definitions.setdefault(clause.relation, []).append(clause)
    definitions = {
        relation: found
        for relation, found in definitions.items()
        if len(found) <= MAX_DEFINITION and relation not in prepared.dependencies.recursive
    }
    clauses: list[Clause] = []
    count = 0
    for clause in prepared.clauses:
        try:
            bodies.check()
            relations, found, times = _best(clause, bodies, relations, definitions)
        except LateError:
            found, times = [clause], 0
        clauses += found
        count += times
    used = {literal.relation for clause in clauses for literal in clause.body}
    guards = {relation: relations.rows(relation) for relation in relations.guards if relation in used}
    counts = {**relations.counts, "unfolded": count, "rigid": prepared.rigid, "connectivity": prepared.connected}
    counts["exclusive"] = len(prepared.exclusive)
    return Rewritten(tuple(clauses), {**prepared.tables, **guards}, tuple(counts.items()))


def _best(
    clause: Clause, bodies: _Bodies, relations: _Relations, definitions: dict[Relation, list[Clause]]
) -> tuple[_Relations, list[Clause], int]:
    """Clauses for one clause, with conditions unfolded as long as that makes it much cheaper."""
    best, found = _split((clause,), bodies, relations)
    clauses = [clause]
    times = 0
    while best.cost > _LARGE and len(clauses) <= MAX_DEFINITION:
        tries = [
            [*(other for other in clauses if other is not one), *unfolded(one, literal, definitions[literal.relation])]
            for one in clauses
            for literal in one.body
            if literal.positive and literal.relation in definitions
        ]
        most = _GAIN_UNFOLDED * best.cost
        cheaper: tuple[_Relations, list[Clause], list[Clause]] | None = None
        for tried in tries:
            with suppress(TooCostlyError):
                result = (*_split(tuple(tried), bodies, relations, cheaper[0].cost if cheaper else most), tried)
                if cheaper is None or result[0].cost < cheaper[0].cost:
                    cheaper = result
        if cheaper is None:
            break
        best, found, clauses = cheaper
        times += 1
    return best, found, times


def _split(
    clauses: tuple[Clause, ...], bodies: _Bodies, relations: _Relations, most: float = inf
) -> tuple[_Relations, list[Clause]]:
    """Cheaper clauses for some clauses, and all relations made so far; TooCostlyError where they cost more."""
    branch = relations.branch(most)
    splitter = _Splitter(bodies, branch)
    found = [splitter.split(clause) for clause in clauses]
    return branch, [*branch.clauses, *found]


class _Splitter:
    """Splits one clause after the other; equal parts of different clauses become one relation."""

    def __init__(self, bodies: _Bodies, relations: _Relations) -> None:
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
            parts, rows = self._shrunk(parts, head)
        if rows is None:
            self._relations.charge(_UNKNOWN)
        else:
            parts, rows = self._reduced(self._bodies.weighed(parts, rows), head, rows, alone=False)
            self._relations.charge(cost_of(parts, head, rows))
        return replace(clause, body=tuple(part.literal for part in parts))

    def _reduced(
        self, parts: tuple[BodyPart, ...], head: Variables, rows: Table, *, alone: bool
    ) -> tuple[tuple[BodyPart, ...], Table]:
        """The parts that remain once the cheapest splits are made, one after the other, and their rows.

        If `alone`, they become a relation of their own, which may be written as a complement.
        """
        while True:
            cost = cost_of(parts, head, rows)
            if alone:
                cost = min(cost, complement_cost(parts, head, rows))
            body = Body(head, rows, self._bodies.check)
            split = cheapest_split(parts, body, cost) if cost > _SMALL else None
            if split is None:
                return parts, rows
            done = self._extracted(split, head, rows) if split.copied is None else self._parted(split, head, rows)
            if done is None:
                return parts, rows
            parts, rows = done

    def _extracted(self, split: Split, head: Variables, rows: Table) -> tuple[tuple[BodyPart, ...], Table]:
        """With a new relation for the inner parts."""
        inside = rows.project(names_of(split.inner))
        parts = (*split.outer, self._part_of(split.inner, split.shared, inside))
        return parts, rows.project(head | names_of(parts))

    def _parted(self, split: Split, head: Variables, rows: Table) -> tuple[tuple[BodyPart, ...], Table] | None:
        """With the conditions on a move in two places; None when the rest becomes too large."""
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

    def _projected(self, move: BodyPart, names: Variables) -> BodyPart:
        """What a move is in some of its variables."""
        if move.names <= names:
            return move
        assert move.table is not None
        return self._relations.part((move,), move.names & names, move.table, move.key)

    def _part_of(self, parts: tuple[BodyPart, ...], shared: Variables, rows: Table) -> BodyPart:
        """A new relation for some parts, by its cheapest clauses."""
        unbound = names_of(parts) - bound_names(parts)
        if unbound:
            parts = (*parts, self._relations.guard(rows.project(unbound)))
        parts, rows = self._reduced(parts, shared, rows, alone=True)
        parts = self._complemented(parts, shared, rows)
        reached = self._bodies.joined(parts, len(rows) + len(rows) // 4 + _SLACK)
        if reached is None or not shared <= frozenset(reached.names):
            parts, reached = (*parts, self._relations.guard(rows.project(names_of(parts)))), rows
        return self._relations.part(parts, shared, rows, reached=reached)

    def _complemented(self, parts: tuple[BodyPart, ...], shared: Variables, rows: Table) -> tuple[BodyPart, ...]:
        """The complement of what most moves of a role make true: the role makes such a move, and none of the others.

        This is right because no role makes two moves in one step.
        """
        move = only_move(parts)
        if move is None or move.table is None or move.key is None or shared & move.names - move.key:
            return parts
        if not shared | move.key:  # there is nothing by which rows could differ
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
        self._relations.charge(cost)
        self._relations.counts["complement"] += 1
        matching = self._relations.part((move,), move.key, move.table)
        return (matching, guard, BodyPart(wrongs, frozenset(keys.names), 1, None))

    def _framed(self, parts: tuple[BodyPart, ...], head: Variables) -> tuple[BodyPart, ...]:
        """With the conditions on a move alone taken out, before the whole is joined."""
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

    def _shrunk(self, parts: tuple[BodyPart, ...], head: Variables) -> tuple[tuple[BodyPart, ...], Table | None]:
        """Variables taken out of a body whose join is too large, cheapest first, until it can be counted; and its rows.

        No rows where that cannot be.
        """
        sizes: dict[tuple[tuple[BodyPart, ...], Variables], tuple[int, int]] = {}  # of joins that were made before
        while True:
            best: tuple[tuple[int, int], tuple[BodyPart, ...], Variables] | None = None
            for name in sorted(names_of(parts) - head):
                bucket = tuple(part for part in parts if name in part.names)
                if len(bucket) < len(parts) and names_of(bucket) <= bound_names(bucket):
                    shared = names_of(bucket) & (head | names_of([part for part in parts if part not in bucket]))
                    size = sizes.get((bucket, shared))
                    if size is None:
                        rows = self._bodies.joined(bucket, best[0][0] if best else _MAX_ROWS)
                        if rows is None:
                            continue
                        size = sizes[bucket, shared] = len(rows), rows.count(shared)
                    if best is None or size < best[0]:
                        best = (size, bucket, shared)
            rows = self._bodies.joined(best[1], _MAX_ROWS) if best else None
            if best is None or rows is None:
                return parts, None
            _, bucket, shared = best
            parts = (*(part for part in parts if part not in bucket), self._part_of(bucket, shared, rows))
            whole = self._bodies.joined(parts, _MAX_ROWS)
            if whole is not None:
                return parts, whole
