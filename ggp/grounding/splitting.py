"""Clauses → clauses that say the same and become fewer ground rules: bodies are split where joins are larger than needed.

A body is a set of parts. `{p(x, y), q(y, z)}` may become `part(y) :- q(y, z)` and `{p(x, y), part(y)}`: what a split
costs is counted from all values that the variables can have together, found by joining the extents of the relations.
A ground rule with N dynamic conditions counts N, and each atom that they give counts -1: the gates of a circuit.
Conditions that are the same in all states cost nothing: they leave no trace in ground rules.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ggp.grounding.extents import Extents
from ggp.grounding.joins import Table, join, make_table
from ggp.grounding.preparation import Prepared
from ggp.program import DISTINCT, DOES, Clause, Literal, Relation
from ggp.terms import Term, is_variable, substitute, variables

PART_PREFIX = "PART"
GUARD_PREFIX = "GUARD"
_MAX_ROWS = 3_000_000  # of a join that is made to count it
_SMALL = 24  # a body that costs no more is left as it is
_GAIN = 0.9  # a split must cost at most this share of what it replaces


@dataclass(frozen=True, slots=True)
class Part:
    """A condition; `weight` is the share of ground rules in which it stays: 0 if it is static."""

    literal: Literal
    names: frozenset[str]
    weight: float
    table: Table | None  # of a condition that holds for few values; None for those that only test

    @property
    def binds(self) -> bool:
        """Whether it gives its variables values."""
        return self.literal.positive and self.table is not None


@dataclass(frozen=True, slots=True)
class _Split:
    """A way to take some parts out of a body."""

    inner: tuple[Part, ...]
    outer: tuple[Part, ...]
    shared: frozenset[str]
    cost: float


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The clauses and tables to be grounded, and how often each rewriting was applied."""

    clauses: tuple[Clause, ...]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]
    rewritings: tuple[tuple[str, int], ...]


def split_clauses(prepared: Prepared, extents: Extents) -> Rewritten:
    """The same relations by cheaper clauses."""
    splitter = _Splitter(prepared, extents)
    clauses = [part for clause in prepared.clauses for part in splitter.split(clause)]
    return Rewritten(
        tuple(clauses), {**prepared.tables, **splitter.guards}, tuple(splitter.counts.items())
    )


class _Splitter:
    """Splits one clause after the other; equal parts of different clauses become one relation."""

    def __init__(self, prepared: Prepared, extents: Extents) -> None:
        self._prepared = prepared
        self._extents = extents
        self._known: dict[Term, str] = {}  # what a part says, and the name of its relation
        self.guards: dict[Relation, tuple[tuple[Term, ...], ...]] = {}
        self.counts = {"split": 0, "shared": 0, "guard": 0, "complement": 0, "unbounded": 0}

    def split(self, clause: Clause) -> list[Clause]:
        """Clauses for the same head."""
        parts = tuple(map(self._part, clause.body))
        if not any(part.weight for part in parts) or len(clause.body) < 2:
            return [clause]
        head = frozenset(variables(clause.head))
        found: list[Clause] = []
        parts = self._framed(parts, head, clause.offset, found)
        rows = self._joined(parts, _MAX_ROWS)
        if rows is None:
            parts = self._shrunk(parts, head, clause.offset, found)
            rows = self._joined(parts, _MAX_ROWS)
        if rows is None:
            return [*found, replace(clause, body=tuple(part.literal for part in parts))]
        parts = self._reduced(self._weighed(parts, rows), head, rows, clause.offset, found)
        return [*found, replace(clause, body=tuple(part.literal for part in parts))]

    def _part(self, literal: Literal) -> Part:
        names = frozenset(variables(literal.atom))
        if literal.relation == DISTINCT:
            return Part(literal, names, 0, None)
        weight = 0 if self._prepared.is_static(literal.relation) else 1
        if not literal.positive and weight:
            return Part(literal, names, weight, None)
        return Part(literal, names, weight, self._extents.table(literal))

    def _weighed(self, parts: tuple[Part, ...], rows: Table) -> tuple[Part, ...]:
        """With the weights of negative conditions: where the atom can never hold, they leave no trace."""

        def weighed(part: Part) -> Part:
            if not part.weight or part.literal.positive:
                return part
            return replace(part, weight=1 - len(rows.without(self._extents.table(part.literal))) / max(1, len(rows)))

        return tuple(map(weighed, parts))

    # Joins.

    def _joined(self, parts: Sequence[Part], limit: int) -> Table | None:
        """All values that the variables of the parts can have together; None when there are too many."""
        waiting = [part for part in parts if part.binds]
        tests = [part for part in parts if not part.binds]
        result = make_table((), [], 1)
        while waiting:
            known = set(result.names)
            best = min(waiting, key=lambda part: (_spread(part, known), len(part.table or ())))
            waiting.remove(best)
            assert best.table is not None
            joined = join(result, best.table, limit)
            if joined is None:
                return None
            result = joined
            done = [test for test in tests if test.names <= set(result.names)]
            tests = [test for test in tests if test not in done]
            for test in done:
                result = self._tested(result, test)
        return result

    def _tested(self, table: Table, test: Part) -> Table:
        if test.literal.relation == DISTINCT:
            sides = test.literal.arguments
            if all(isinstance(side, str) for side in sides):
                values = [
                    table.columns([str(side)])[:, 0] if is_variable(side) else self._extents.number(side) for side in sides
                ]
                return Table(table.names, table.rows[values[0] != values[1]])
            return table
        return table.without(test.table) if test.table is not None else table

    # Splits.

    def _reduced(
        self, parts: tuple[Part, ...], head: frozenset[str], rows: Table, offset: int, found: list[Clause]
    ) -> tuple[Part, ...]:
        """The parts that remain in the clause once the cheapest splits are made, one after the other."""
        while True:
            cost = _cost(parts, rows, head)
            if cost <= _SMALL:
                return parts
            splits = [s for inner in _candidates(parts, head) if (s := _priced(inner, parts, head, rows, cost))]
            if not splits:
                return parts
            best = min(splits, key=lambda split: split.cost)
            part = self._extracted(best, rows, offset, found)
            parts = (*best.outer, part)
            rows = rows.project(head.union(*(p.names for p in parts)))

    def _extracted(self, split: _Split, rows: Table, offset: int, found: list[Clause]) -> Part:
        """A new relation for the inner parts."""
        names = frozenset().union(*(part.names for part in split.inner))
        inside = rows.project(names)
        inner = self._bound(split.inner, inside)
        inner = self._reduced(inner, split.shared, inside, offset, found)
        inner = self._complemented(inner, split.shared, inside, offset, found)
        return self._named(inner, split.shared, inside.project(split.shared), offset, found)

    def _bound(self, parts: tuple[Part, ...], rows: Table) -> tuple[Part, ...]:
        """With a guard for the variables that no part gives a value."""
        bound = frozenset().union(*(p.names for p in parts if p.binds))
        open_names = sorted(frozenset().union(*(p.names for p in parts)) - bound)
        if open_names:
            parts = (*parts, self._guard(rows.project(open_names)))
        if self._joined(parts, 4 * len(rows) + 1_000) is None:
            parts = (*parts, self._guard(rows.project(self._unsure(parts))))
        return parts

    def _unsure(self, parts: tuple[Part, ...]) -> Iterable[str]:
        return frozenset().union(*(p.names for p in parts))

    def _guard(self, rows: Table) -> Part:
        """A static relation that holds for these rows."""
        values = tuple(sorted(tuple(row) for row in rows.rows.tolist()))
        key: Term = (GUARD_PREFIX, str(len(rows.names)), str(values))
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"{GUARD_PREFIX}{len(self._known)}"
            term = self._extents.term
            self.guards[name, len(rows.names)] = tuple(tuple(map(term, row)) for row in values)
            self.counts["guard"] += 1
        return Part(Literal((name, *rows.names), positive=True), frozenset(rows.names), 0, rows)

    def _framed(
        self, parts: tuple[Part, ...], head: frozenset[str], offset: int, found: list[Clause]
    ) -> tuple[Part, ...]:
        """With what is asked of a move alone put by its complement, before the whole is joined."""
        for move in parts:
            if move.literal.relation != DOES or not move.literal.positive:
                continue
            local = move.names - head
            touched = frozenset().union(*(part.names for part in parts if part.names & local))
            inner = tuple(p for p in parts if p.names & local or (not p.weight and p.names <= touched))
            outer = tuple(part for part in parts if part not in inner)
            if any(part.weight and part.literal.positive and part is not move for part in inner):
                continue
            shared = touched & head.union(*(part.names for part in outer))
            unbound = touched.difference(*(part.names for part in inner if part.binds))
            around = self._joined([part for part in outer if part.binds and part.names & unbound], _MAX_ROWS)
            if around is None or not unbound <= frozenset(around.names):
                continue
            if unbound:
                inner = (*inner, self._guard(around.project(unbound)))
            rows = self._joined(inner, _MAX_ROWS)
            if rows is None:
                continue
            changed = self._complemented(self._weighed(inner, rows), shared, rows, offset, found)
            if move not in changed:
                part = self._named(changed, shared, rows.project(shared), offset, found)
                return self._framed((*outer, part), head, offset, found)
        return parts

    def _complemented(
        self, parts: tuple[Part, ...], shared: frozenset[str], rows: Table, offset: int, found: list[Clause]
    ) -> tuple[Part, ...]:
        """What most moves of a role make true, put as: it makes such a move, and none of the others.

        Right because no role makes two moves in one step.
        """
        moves = [part for part in parts if part.literal.relation == DOES and part.literal.positive]
        others = [part for part in parts if part not in moves]
        if len(moves) != 1 or any(part.weight and part.literal.positive for part in others):
            return parts
        move, against = moves[0], [part for part in others if part.weight]
        assert move.table is not None
        role = frozenset(variables(move.literal.arguments[0]))
        keys = rows.project(shared | role)
        possible = join(keys, move.table, _MAX_ROWS)
        if possible is None or role - move.names:
            return parts
        wrong = possible.without(rows.project(possible.names))
        triggers = [join(possible, self._extents.table(part.literal), _MAX_ROWS) for part in against]
        price = len(move.table) + len(wrong) + 2 * len(keys) + sum(2 * len(rows) for rows in triggers if rows)
        if price > _GAIN * len(rows) * sum(part.weight for part in parts) or None in triggers:
            return parts
        self.counts["complement"] += 1
        guard = self._guard(keys)
        matching = self._named((move,), role, keys.project(role), offset, found)
        wrongs = self._relation(sorted(keys.names))
        if len(wrong):
            self._add(wrongs, (move, self._guard(wrong)), offset, found)
        for part in against:
            self._add(wrongs, (move, _opposite(part), guard), offset, found)
        none_wrong = Part(Literal(wrongs, positive=False), frozenset(keys.names), 1, None)
        return (matching, guard, none_wrong)

    def _relation(self, names: Sequence[str]) -> Term:
        """The atom of a new relation."""
        name = f"{PART_PREFIX}{len(self._known)}"
        self._known[name] = name
        return (name, *names) if names else name

    def _add(self, head: Term, parts: Iterable[Part], offset: int, found: list[Clause]) -> None:
        found.append(Clause(head, tuple(part.literal for part in parts), offset))

    def _named(
        self, parts: tuple[Part, ...], shared: frozenset[str], rows: Table, offset: int, found: list[Clause]
    ) -> Part:
        """The atom of a relation that holds where all parts do; an existing one if it says the same."""
        ordered = sorted(parts, key=lambda part: _anonymous(part.literal, shared))
        order = dict.fromkeys(name for part in ordered for name in variables(part.literal.atom))
        canonical: dict[str, Term] = {name: f"?{index}" for index, name in enumerate(order)}
        head = [name for name in order if name in shared]
        body = tuple(Literal(substitute(p.literal.atom, canonical), p.literal.positive) for p in ordered)
        key: Term = (
            PART_PREFIX,
            *(canonical[name] for name in head),
            *(("+" if literal.positive else "-", literal.atom) for literal in body),
        )
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"{PART_PREFIX}{len(self._known)}"
            atom: Term = (name, *(canonical[variable] for variable in head)) if head else name
            found.append(Clause(atom, body, offset))
            self.counts["split"] += 1
        else:
            self.counts["shared"] += 1
        weight = 1 if any(part.weight for part in parts) else 0
        return Part(Literal((name, *head) if head else name, positive=True), shared, weight, rows)

    def _shrunk(
        self, parts: tuple[Part, ...], head: frozenset[str], offset: int, found: list[Clause]
    ) -> tuple[Part, ...]:
        """Variables taken out of a body whose join is too large, cheapest first, until it can be counted."""
        self.counts["unbounded"] += 1
        while self._joined(parts, _MAX_ROWS) is None:
            names = sorted(frozenset().union(*(part.names for part in parts)) - head)
            best: tuple[int, str, Table] | None = None
            for name in names:
                bucket = [part for part in parts if name in part.names]
                if len(bucket) == len(parts) or not _is_bound(bucket):
                    continue
                rows = self._joined(bucket, best[0] if best else _MAX_ROWS)
                if rows is not None and (best is None or len(rows) < best[0]):
                    best = (len(rows), name, rows)
            if best is None:
                return parts
            bucket = [part for part in parts if best[1] in part.names]
            rest = [part for part in parts if best[1] not in part.names]
            outside = head.union(*(part.names for part in rest))
            shared = best[2].project(outside)
            inner = self._reduced(tuple(bucket), frozenset(shared.names), best[2], offset, found)
            parts = (*rest, self._named(inner, frozenset(shared.names), shared, offset, found))
        return parts


def _opposite(part: Part) -> Part:
    return replace(part, literal=Literal(part.literal.atom, not part.literal.positive))


def _is_bound(parts: Sequence[Part]) -> bool:
    bound = frozenset().union(*(p.names for p in parts if p.binds))
    return all(part.names <= bound for part in parts)


def _spread(part: Part, known: set[str]) -> float:
    """About how many rows of a table go with each row that is known."""
    rows = part.table
    assert rows is not None
    shared = [name for name in rows.names if name in known]
    return len(rows) / max(1, rows.count(shared))


def _cost(parts: Iterable[Part], rows: Table, head: frozenset[str]) -> float:
    weight = sum(part.weight for part in parts)
    return rows.count(head.union(*(p.names for p in parts))) * weight - rows.count(head) if weight else 0


def _candidates(parts: tuple[Part, ...], head: frozenset[str]) -> Iterator[frozenset[int]]:
    """Sets of parts that may be worth a relation of their own."""
    local = frozenset().union(*(part.names for part in parts)) - head
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
    chosen: frozenset[int], parts: tuple[Part, ...], head: frozenset[str], rows: Table, cost: float
) -> _Split | None:
    """The split that takes these parts out, and all static ones that go with them; None when it is not worth it."""
    names = frozenset().union(*(parts[index].names for index in chosen))
    inner = tuple(p for i, p in enumerate(parts) if i in chosen or (p.weight == 0 and p.names <= names))
    outer = tuple(part for part in parts if part not in inner)
    if not outer:
        return None
    outside = head.union(*(part.names for part in outer))
    shared = names & outside
    inner_cost = _cost(inner, rows, shared)
    weight = sum(part.weight for part in outer) + (1 if any(part.weight for part in inner) else 0)
    outer_cost = rows.count(outside) * weight - rows.count(head)
    if inner_cost + outer_cost > _GAIN * cost:
        return None
    return _Split(inner, outer, shared, inner_cost + outer_cost)


def _anonymous(literal: Literal, shared: frozenset[str]) -> str:
    """A text that does not depend on the names of variables, to sort by."""
    names = variables(literal.atom)
    hidden: dict[str, Term] = {name: "!" if name in shared else "?" for name in names}
    return f"{substitute(literal.atom, hidden)}{literal.positive}"
