"""What a body of conditions costs, and which of its conditions are best taken out as a relation of their own.

Costs are counted from the rows of a body: all values that its variables can have together. A ground rule with N dynamic
conditions counts N, and each atom that they give counts -1: about the gates of a circuit. Conditions that are the same
in all states leave no trace in ground rules, and cost nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import TypeAlias

from ggp.gdl.logic_program import Literal
from ggp.grounding.tables import Table

Variables: TypeAlias = frozenset[str]

GAIN = 0.9  # a split must cost at most this share of what it replaces


@dataclass(frozen=True, slots=True, eq=False)
class BodyPart:
    """A condition; `weight` is the share of ground rules in which it stays: 0 if it is static."""

    literal: Literal
    names: Variables
    weight: float
    table: Table | None  # of a condition that holds for few values; None for those that only test
    key: Variables | None = None  # of what a role does: for any values of these variables, at most one row holds

    @property
    def binds(self) -> bool:
        """Whether it gives its variables values."""
        return self.literal.positive and self.table is not None


@dataclass(frozen=True, slots=True)
class Split:
    """A way to take some parts out of a body.

    With `copied`, this part stays in both: as no role makes two moves in one step, conditions
    on its move can be in both.
    """

    inner: tuple[BodyPart, ...]
    outer: tuple[BodyPart, ...]
    shared: Variables  # the variables of the new relation
    cost: float  # of both
    copied: BodyPart | None = None


def names_of(parts: Sequence[BodyPart]) -> Variables:
    return frozenset().union(*(part.names for part in parts))


def bound_names(parts: Sequence[BodyPart]) -> Variables:
    """The variables that the parts give values."""
    return frozenset().union(*(part.names for part in parts if part.binds))


def cost_of(parts: Sequence[BodyPart], head: Variables, rows: Table) -> float:
    """What a body costs."""
    weight = sum(part.weight for part in parts)
    return rows.count(head | names_of(parts)) * weight - rows.count(head) if weight else 0


def complement_cost(parts: Sequence[BodyPart], shared: Variables, rows: Table) -> float:
    """About what the complement costs, which names the other moves; infinite where there is none."""
    move = only_move(parts)
    if move is None or move.key is None or move.table is None or shared & move.names - move.key or len(parts) == 1:
        return inf
    keys = rows.count(shared | move.key)
    given = rows.count(names_of(parts))
    possible = keys * len(move.table) / max(1, rows.count(move.key))
    against = sum(part.weight for part in parts) - move.weight
    return len(move.table) + max(0, possible - given) + 2 * keys + 2 * against * given


def only_move(parts: Sequence[BodyPart]) -> BodyPart | None:
    """The part of a single move, if it is the only condition that something dynamic holds."""
    positive = [part for part in parts if part.weight and part.literal.positive]
    return positive[0] if len(positive) == 1 and positive[0].key is not None else None


@dataclass(frozen=True, slots=True)
class Body:
    """What is known of a body when it is split."""

    head: Variables
    rows: Table  # all values that its variables can have together
    check: Callable[[], None]  # is called now and then, to raise an exception when it takes too long


def cheapest_split(parts: tuple[BodyPart, ...], body: Body, cost: float) -> Split | None:
    """The split that costs least, or None when none is worth it."""
    best: Split | None = None
    moves = [part for part in parts if part.key is not None]
    for chosen in _candidates(parts, body.head):
        body.check()
        splits = [_priced(chosen, parts, body, best.cost if best else GAIN * cost)]
        splits += (_priced_copy(chosen, move, parts, body) for move in moves)
        for split in splits:
            if split and split.cost <= GAIN * cost and (best is None or split.cost < best.cost):
                best = split
    return best


def worth_complement(cost: float, parts: Sequence[BodyPart], rows: Table) -> bool:
    return cost <= GAIN * len(rows) * sum(part.weight for part in parts)


def _candidates(parts: tuple[BodyPart, ...], head: Variables) -> Iterator[frozenset[int]]:
    """Sets of parts that may be worth a relation of their own."""
    local = names_of(parts) - head
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


def _priced(chosen: frozenset[int], parts: tuple[BodyPart, ...], body: Body, most: float) -> Split | None:
    """The split that takes these parts out, and all static ones that go with them; None where it surely costs more."""
    head, rows = body.head, body.rows
    names = names_of([parts[index] for index in chosen])
    inner = tuple(p for i, p in enumerate(parts) if i in chosen or (p.weight == 0 and p.names <= names))
    outer = tuple(part for part in parts if part not in inner)
    if not outer:
        return None
    outside = head | names_of(outer)
    shared = names & outside
    inner_weight = sum(part.weight for part in inner)
    weight = sum(part.weight for part in outer) + (1 if inner_weight else 0)
    outer_cost = rows.count(outside) * weight - rows.count(head)
    if outer_cost > most and not 0 < inner_weight < 1:  # the inner parts cost 0 at least
        return None
    inner_cost = min(cost_of(inner, shared, rows), complement_cost(inner, shared, rows))
    return Split(inner, outer, shared, inner_cost + outer_cost)


def _priced_copy(chosen: frozenset[int], move: BodyPart, parts: tuple[BodyPart, ...], body: Body) -> Split | None:
    """The split that takes these parts out and keeps the condition on the move in both bodies."""
    head, rows = body.head, body.rows
    assert move.key is not None
    assert move.table is not None
    core = [parts[index] for index in chosen if parts[index] is not move]
    names = names_of(core)
    if not core or not names & move.names - move.key:
        return None
    core += [p for p in parts if p not in core and p is not move and not p.weight and p.names <= names]
    outer = tuple(part for part in parts if part is not move and part not in core)
    inside = names | move.key
    outside = head | move.key | names_of(outer)
    shared = (names & outside) - move.names | move.key
    inner_cost = min(
        rows.count(inside) * (1 + sum(part.weight for part in core)) - rows.count(shared),
        complement_cost((*core, BodyPart(move.literal, move.names & inside, 1, move.table, move.key)), shared, rows),
    )
    if not outer and head & move.names - move.key:  # the rest of the move may be split further
        inner = (*core, move)
        nested = cheapest_split(inner, replace(body, head=shared), inner_cost)
        inner_cost = nested.cost if nested else inner_cost
    dropped = sum(len(move.table) for kept in (inside, outside) if not move.names <= kept)
    common = shared & outside
    outer_rows = rows.count(shared) * rows.count(outside) / max(1, rows.count(common))
    total = inner_cost + dropped + outer_rows * (2 + sum(part.weight for part in outer)) - rows.count(head)
    return Split(tuple(core), outer, shared, total, move)
