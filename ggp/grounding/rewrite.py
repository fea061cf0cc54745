"""Clauses → clauses that mean the same with fewer ground rules: where joins are larger than needed, bodies are split.

`{p(x, y), q(y, z)}` may become `part(y) :- q(y, z)` and `{p(x, y), part(y)}`. Costs are counted from the rows of a
body: all values that its variables can have together. A ground rule with N dynamic conditions counts N, and each atom
that they give counts -1: about the gates of a circuit. Conditions that are the same in all states leave no trace in
ground rules, and cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from math import inf

import numpy as np

from ggp.gdl.logic_program import DISTINCT, DOES, Clause, Literal, Relation
from ggp.gdl.terms import Term, is_variable, substitute, variables
from ggp.grounding.prepare import Prepared, unifier
from ggp.grounding.tables import Extents, Table, join, make_table

_Variables = frozenset[str]

_PART_PREFIX = "SPLIT"  # no symbol of a rulesheet has capitals: the reader folds case
_GUARD_PREFIX = "GUARD"
_GAIN = 0.9  # a split must cost at most this share of what it replaces
_MAX_ROWS = 1_000_000  # of a join that is made to count it
_MAX_EASY = 100_000  # up to here, the whole join is looked at first
_SLACK = 20_000  # rows that a new relation's join may have without a guard
_SMALL = 24  # a body that costs no more is not split
_LARGE = 1_000  # a clause that costs more is tried with its conditions replaced by their definitions
_GAIN_UNFOLDED = 0.6
MAX_DEFINITION = 4  # clauses
_UNKNOWN = 1e12  # the cost of what cannot be counted


@dataclass(frozen=True, slots=True, eq=False)
class _BodyPart:
    """A condition; `weight` is the share of ground rules in which it stays: 0 if it is static."""

    literal: Literal
    names: _Variables
    weight: float
    table: Table | None  # of a condition that holds for few values; None for those that only test
    key: _Variables | None = None  # of what a role does: for any values of these variables, at most one row holds

    @property
    def binds(self) -> bool:
        """Whether it gives its variables values."""
        return self.literal.positive and self.table is not None


@dataclass(frozen=True, slots=True)
class _Split:
    """A way to take some parts out of a body.

    With `copied`, this part stays in both: as no role makes two moves in one step, conditions
    on its move can be in both.
    """

    inner: tuple[_BodyPart, ...]
    outer: tuple[_BodyPart, ...]
    shared: _Variables  # the variables of the new relation
    cost: float  # of both
    copied: _BodyPart | None = None


def _names_of(parts: Sequence[_BodyPart]) -> _Variables:
    return frozenset().union(*(part.names for part in parts))


def _bound_names(parts: Sequence[_BodyPart]) -> _Variables:
    """The variables that the parts give values."""
    return frozenset().union(*(part.names for part in parts if part.binds))


def _cost_of(parts: Sequence[_BodyPart], head: _Variables, rows: Table) -> float:
    """What a body costs."""
    weight = sum(part.weight for part in parts)
    return rows.count(head | _names_of(parts)) * weight - rows.count(head) if weight else 0


def _complement_cost(parts: Sequence[_BodyPart], shared: _Variables, rows: Table) -> float:
    """About what the complement costs, which names the other moves; infinite where there is none."""
    move = _only_move(parts)
    if move is None or move.key is None or move.table is None or shared & move.names - move.key or len(parts) == 1:
        return inf
    keys = rows.count(shared | move.key)
    given = rows.count(_names_of(parts))
    possible = keys * len(move.table) / max(1, rows.count(move.key))
    against = sum(part.weight for part in parts) - move.weight
    return len(move.table) + max(0, possible - given) + 2 * keys + 2 * against * given


def _only_move(parts: Sequence[_BodyPart]) -> _BodyPart | None:
    """The part of a single move, if it is the only condition that something dynamic holds."""
    positive = [part for part in parts if part.weight and part.literal.positive]
    return positive[0] if len(positive) == 1 and positive[0].key is not None else None


def _cheapest_split(parts: tuple[_BodyPart, ...], head: _Variables, rows: Table, cost: float) -> _Split | None:
    """The split that costs least, or None when none is worth it."""
    best: _Split | None = None
    moves = [part for part in parts if part.key is not None]
    for chosen in _candidates(parts, head):
        splits = [_priced(chosen, parts, head, rows, best.cost if best else _GAIN * cost)]
        splits += (_priced_copy(chosen, move, parts, head, rows) for move in moves)
        for split in splits:
            if split and split.cost <= _GAIN * cost and (best is None or split.cost < best.cost):
                best = split
    return best


def _worth_complement(cost: float, parts: Sequence[_BodyPart], rows: Table) -> bool:
    return cost <= _GAIN * len(rows) * sum(part.weight for part in parts)


def _sorting_text(literal: Literal, shared: _Variables) -> str:
    """A text that does not depend on the names of variables, to sort by."""
    names = variables(literal.atom)
    hidden: dict[str, Term] = {name: "!" if name in shared else "?" for name in names}
    return f"{substitute(literal.atom, hidden)}{literal.positive}"


def _candidates(parts: tuple[_BodyPart, ...], head: _Variables) -> Iterator[frozenset[int]]:
    """Sets of parts that may be worth a relation of their own."""
    local = _names_of(parts) - head
    groups = {frozenset((name,)) for name in local}
    for part in parts:
        groups.add(part.names & local)
        groups.update(map(frozenset, combinations(sorted(part.names & local), 2)))
    dynamic = [index for index, part in enumerate(parts) if part.weight]
    found = {frozenset(i for i, part in enumerate(parts) if part.names & group) for group in groups}
    found.update(frozenset((index,)) for index in dynamic)
    if len(dynamic) > 2:
        found.update(map(frozenset, combinations(dynamic, 2)))
    everything = frozenset(range(len(parts)))
    found.update([everything - inner for inner in found])
    yield from sorted((inner for inner in found if inner and inner != everything), key=sorted)


def _priced(
    chosen: frozenset[int], parts: tuple[_BodyPart, ...], head: _Variables, rows: Table, most: float
) -> _Split | None:
    """The split that takes these parts out, and all static ones that go with them; None where it surely costs more."""
    names = _names_of([parts[index] for index in chosen])
    inner = tuple(p for i, p in enumerate(parts) if i in chosen or (p.weight == 0 and p.names <= names))
    outer = tuple(part for part in parts if part not in inner)
    if not outer:
        return None
    outside = head | _names_of(outer)
    shared = names & outside
    inner_weight = sum(part.weight for part in inner)
    weight = sum(part.weight for part in outer) + (1 if inner_weight else 0)
    outer_cost = rows.count(outside) * weight - rows.count(head)
    if outer_cost > most and not 0 < inner_weight < 1:  # the inner parts cost 0 at least
        return None
    inner_cost = min(_cost_of(inner, shared, rows), _complement_cost(inner, shared, rows))
    return _Split(inner, outer, shared, inner_cost + outer_cost)


def _priced_copy(
    chosen: frozenset[int], move: _BodyPart, parts: tuple[_BodyPart, ...], head: _Variables, rows: Table
) -> _Split | None:
    """The split that takes these parts out and keeps the condition on the move in both bodies."""
    assert move.key is not None
    assert move.table is not None
    core = [parts[index] for index in chosen if parts[index] is not move]
    names = _names_of(core)
    if not core or not names & move.names - move.key:
        return None
    core += [p for p in parts if p not in core and p is not move and not p.weight and p.names <= names]
    outer = tuple(part for part in parts if part is not move and part not in core)
    inside = names | move.key
    outside = head | move.key | _names_of(outer)
    shared = (names & outside) - move.names | move.key
    inner_cost = min(
        rows.count(inside) * (1 + sum(part.weight for part in core)) - rows.count(shared),
        _complement_cost((*core, _BodyPart(move.literal, move.names & inside, 1, move.table, move.key)), shared, rows),
    )
    if not outer and head & move.names - move.key:  # the rest of the move may be split further
        inner = (*core, move)
        nested = _cheapest_split(inner, shared, rows, inner_cost)
        inner_cost = nested.cost if nested else inner_cost
    dropped = sum(len(move.table) for kept in (inside, outside) if not move.names <= kept)
    common = shared & outside
    outer_rows = rows.count(shared) * rows.count(outside) / max(1, rows.count(common))
    total = inner_cost + dropped + outer_rows * (2 + sum(part.weight for part in outer)) - rows.count(head)
    return _Split(tuple(core), outer, shared, total, move)


# The rows of bodies.


class _Bodies:
    """What is known of the relations that bodies read."""

    def __init__(self, prepared: Prepared, extents: Extents) -> None:
        self._prepared = prepared
        self.extents = extents

    def part(self, literal: Literal) -> _BodyPart:
        names = frozenset(variables(literal.atom))
        if literal.relation == DISTINCT:
            return _BodyPart(literal, names, 0, None)
        if self._prepared.is_static(literal.relation):
            return _BodyPart(literal, names, 0, self.extents.table(literal))
        if not literal.positive:
            return _BodyPart(literal, names, 1, None)
        key = frozenset(variables(literal.arguments[0])) if literal.relation == DOES else None
        return _BodyPart(literal, names, 1, self.extents.table(literal), key)

    def weighed(self, parts: tuple[_BodyPart, ...], rows: Table) -> tuple[_BodyPart, ...]:
        """With the weights of negative conditions: where the atom can never hold, they leave no trace."""
        return tuple(
            replace(part, weight=1 - len(rows.without(self.extents.table(part.literal))) / max(1, len(rows)))
            if part.weight and not part.literal.positive
            else part
            for part in parts
        )

    def joined(self, parts: Sequence[_BodyPart], limit: int) -> Table | None:
        """All values that the variables of the parts can have together; None when a join has more rows."""
        waiting = [part for part in parts if part.binds]
        tests = [part for part in parts if not part.binds]
        result = make_table((), np.zeros((0, 1), np.int32))
        while waiting:
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

    def _tested(self, table: Table, test: _BodyPart) -> Table:
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


def _growth(part: _BodyPart, known: set[str]) -> float:
    """About how many rows of a part go with each row that is known."""
    table = part.table
    assert table is not None
    return len(table) / max(1, table.count([name for name in table.names if name in known]))


# New relations.


@dataclass(slots=True)
class _Relations:
    """New relations, one for each body, however often it is used; and their total cost."""

    extents: Extents
    clauses: list[Clause] = field(default_factory=list)
    guards: dict[Relation, Table] = field(default_factory=dict)
    cost: float = 0.0
    offset: int = 0  # of the rule that is rewritten
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("split", "shared", "complement"), 0))
    _known: dict[Term | bytes, str] = field(default_factory=dict)  # body or rows → the name of the relation

    def branch(self) -> "_Relations":
        """A copy to try something with."""
        return _Relations(self.extents, [], dict(self.guards), 0.0, self.offset, dict(self.counts), dict(self._known))

    def guard(self, rows: Table) -> _BodyPart:
        """A static relation that holds for these rows."""
        order = sorted(rows.names)
        ordered = rows.columns(order)
        ordered = np.ascontiguousarray(ordered[:, np.lexsort(ordered[::-1])])
        key = b"%d %s" % (len(order), ordered.tobytes())
        name = self._known.setdefault(key, f"{_GUARD_PREFIX}{len(self._known)}")
        self.guards[name, len(order)] = Table(tuple(order), ordered)
        return _BodyPart(Literal((name, *order), positive=True), frozenset(order), 0, rows)

    def rows(self, relation: Relation) -> tuple[tuple[Term, ...], ...]:
        """What a guard holds for, as terms."""
        term = self.extents.term
        return tuple(tuple(map(term, row)) for row in self.guards[relation].rows.T.tolist())

    def part(
        self,
        parts: Sequence[_BodyPart],
        shared: _Variables,
        rows: Table,
        key: _Variables | None = None,
        reached: Table | None = None,
    ) -> _BodyPart:
        """The atom of a relation that holds where all parts do; an existing one if it has the same body.

        Of all that is `reached`, what counts are the rows.
        """
        ordered = sorted(parts, key=lambda part: _sorting_text(part.literal, shared))
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
            self.cost += max(0.0, _cost_of(parts, shared, rows))
            self.counts["split"] += 1
        else:
            self.counts["shared"] += 1
        weight = 1 if any(part.weight for part in parts) else 0
        return _BodyPart(
            Literal((name, *head) if head else name, positive=True),
            shared,
            weight,
            (reached or rows).project(shared),
            key,
        )

    def either(self, names: Sequence[str], bodies: Iterable[Sequence[_BodyPart]]) -> Term:
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
    """The same relations by cheaper clauses; once it is late, the clauses that are left stay as they are."""
    bodies = _Bodies(prepared, extents)
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
        if is_late():
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
        results = [(*_split(tuple(tried), bodies, relations), tried) for tried in tries]
        if not results:
            break
        cheapest, pieces, tried = min(results, key=lambda result: result[0].cost)
        if cheapest.cost > _GAIN_UNFOLDED * best.cost:
            break
        best, found, clauses = cheapest, pieces, tried
        times += 1
    return best, found, times


def _split(clauses: tuple[Clause, ...], bodies: _Bodies, relations: _Relations) -> tuple[_Relations, list[Clause]]:
    """Cheaper clauses for some clauses, and all relations made so far."""
    branch = relations.branch()
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
            parts = self._shrunk(parts, head)
            rows = self._bodies.joined(parts, _MAX_ROWS)
        if rows is None:
            self._relations.cost += _UNKNOWN
        else:
            parts, rows = self._reduced(self._bodies.weighed(parts, rows), head, rows, alone=False)
            self._relations.cost += _cost_of(parts, head, rows)
        return replace(clause, body=tuple(part.literal for part in parts))

    def _reduced(
        self, parts: tuple[_BodyPart, ...], head: _Variables, rows: Table, *, alone: bool
    ) -> tuple[tuple[_BodyPart, ...], Table]:
        """The parts that remain once the cheapest splits are made, one after the other, and their rows.

        If `alone`, they become a relation of their own, which may be written as a complement.
        """
        while True:
            cost = _cost_of(parts, head, rows)
            if alone:
                cost = min(cost, _complement_cost(parts, head, rows))
            split = _cheapest_split(parts, head, rows, cost) if cost > _SMALL else None
            if split is None:
                return parts, rows
            done = self._extracted(split, head, rows) if split.copied is None else self._parted(split, head, rows)
            if done is None:
                return parts, rows
            parts, rows = done

    def _extracted(self, split: _Split, head: _Variables, rows: Table) -> tuple[tuple[_BodyPart, ...], Table]:
        """With a new relation for the inner parts."""
        inside = rows.project(_names_of(split.inner))
        parts = (*split.outer, self._part_of(split.inner, split.shared, inside))
        return parts, rows.project(head | _names_of(parts))

    def _parted(self, split: _Split, head: _Variables, rows: Table) -> tuple[tuple[_BodyPart, ...], Table] | None:
        """With the conditions on a move in two places; None when the rest becomes too large."""
        move = split.copied
        assert move is not None
        assert move.key is not None
        outside = head | _names_of(split.outer) | move.key
        joined = join(rows.project(split.shared), rows.project(outside), _MAX_ROWS)
        if joined is None:
            return None
        core = _names_of(split.inner) | move.key
        inside = rows.project(core)
        part = self._part_of((*split.inner, self._projected(move, core)), split.shared, inside)
        return (*split.outer, self._projected(move, outside), part), joined

    def _projected(self, move: _BodyPart, names: _Variables) -> _BodyPart:
        """What a move is in some of its variables."""
        if move.names <= names:
            return move
        assert move.table is not None
        return self._relations.part((move,), move.names & names, move.table, move.key)

    def _part_of(self, parts: tuple[_BodyPart, ...], shared: _Variables, rows: Table) -> _BodyPart:
        """A new relation for some parts, by its cheapest clauses."""
        unbound = _names_of(parts) - _bound_names(parts)
        if unbound:
            parts = (*parts, self._relations.guard(rows.project(unbound)))
        parts, rows = self._reduced(parts, shared, rows, alone=True)
        parts = self._complemented(parts, shared, rows)
        reached = self._bodies.joined(parts, len(rows) + len(rows) // 4 + _SLACK)
        if reached is None or not shared <= frozenset(reached.names):
            parts, reached = (*parts, self._relations.guard(rows.project(_names_of(parts)))), rows
        return self._relations.part(parts, shared, rows, reached=reached)

    def _complemented(self, parts: tuple[_BodyPart, ...], shared: _Variables, rows: Table) -> tuple[_BodyPart, ...]:
        """The complement of what most moves of a role make true: the role makes such a move, and none of the others.

        This is right because no role makes two moves in one step.
        """
        move = _only_move(parts)
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
        if None in triggers or not _worth_complement(cost, parts, rows):
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
        return (matching, guard, _BodyPart(wrongs, frozenset(keys.names), 1, None))

    def _framed(self, parts: tuple[_BodyPart, ...], head: _Variables) -> tuple[_BodyPart, ...]:
        """With the conditions on a move alone taken out, before the whole is joined."""
        for move in parts:
            local = move.names - head
            if move.key is None or not local:
                continue
            touched = _names_of([part for part in parts if part.names & local])
            inner = tuple(p for p in parts if p.names & local or (not p.weight and p.names <= touched))
            outer = tuple(part for part in parts if part not in inner)
            if _only_move(inner) is None:
                continue
            shared = touched & (head | _names_of(outer))
            unbound = touched - _bound_names(inner)
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

    def _shrunk(self, parts: tuple[_BodyPart, ...], head: _Variables) -> tuple[_BodyPart, ...]:
        """Variables taken out of a body whose join is too large, cheapest first, until it can be counted."""
        while self._bodies.joined(parts, _MAX_ROWS) is None:
            best: tuple[Table, tuple[_BodyPart, ...], _Variables] | None = None
            for name in sorted(_names_of(parts) - head):
                bucket = tuple(part for part in parts if name in part.names)
                if len(bucket) < len(parts) and _names_of(bucket) <= _bound_names(bucket):
                    rows = self._bodies.joined(bucket, len(best[0]) if best else _MAX_ROWS)
                    shared = _names_of(bucket) & (head | _names_of([part for part in parts if part not in bucket]))
                    if rows is not None and (
                        best is None or (len(rows), rows.count(shared)) < (len(best[0]), best[0].count(best[2]))
                    ):
                        best = (rows, bucket, shared)
            if best is None:
                return parts
            rows, bucket, shared = best
            parts = (*(part for part in parts if part not in bucket), self._part_of(bucket, shared, rows))
        return parts
