"""The conditions of a body, and what it costs to put some of them into a relation of their own.

`{p(x, y), q(y, z)}` may become `part(y) :- q(y, z)` and `{p(x, y), part(y)}`. Costs are counted from the rows of a
body: all values that its variables can have together. A ground rule with N dynamic conditions counts N, and each atom
that they give counts -1: about the gates of a circuit. Conditions that are the same in all states leave no trace in
ground rules, and cost nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from ggp.gdl.logic_program import Literal
from ggp.gdl.terms import Term, substitute, variables
from ggp.grounding.joins import Table

Names = frozenset[str]

_GAIN = 0.9  # a split must cost at most this share of what it replaces


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A condition; `weight` is the share of ground rules in which it stays: 0 if it is static."""

    literal: Literal
    names: Names
    weight: float
    table: Table | None  # of a condition that holds for few values; None for those that only test
    key: Names | None = None  # of what a role does: for any values of these variables, at most one row holds

    @property
    def binds(self) -> bool:
        """Whether it gives its variables values."""
        return self.literal.positive and self.table is not None


@dataclass(frozen=True, slots=True)
class Split:
    """A way to take some parts out of a body.

    With `copied`, this part stays in both: as no role makes two moves in one step, what is asked of its move can be
    asked in two places.
    """

    inner: tuple[Part, ...]
    outer: tuple[Part, ...]
    shared: Names  # the variables of the new relation
    cost: float  # of both
    copied: Part | None = None


def names_of(parts: Sequence[Part]) -> Names:
    return frozenset().union(*(part.names for part in parts))


def bound_names(parts: Sequence[Part]) -> Names:
    """The variables that the parts give values."""
    return frozenset().union(*(part.names for part in parts if part.binds))


def cost_of(parts: Sequence[Part], head: Names, rows: Table) -> float:
    """What a body costs."""
    weight = sum(part.weight for part in parts)
    return rows.count(head | names_of(parts)) * weight - rows.count(head) if weight else 0


def complement_cost(parts: Sequence[Part], shared: Names, rows: Table) -> float:
    """About what it costs to say instead which moves do not; infinite where that cannot be said."""
    move = only_move(parts)
    if move is None or move.key is None or move.table is None or shared & move.names - move.key or len(parts) == 1:
        return inf
    keys = rows.count(shared | move.key)
    given = rows.count(names_of(parts))
    possible = keys * len(move.table) / max(1, rows.count(move.key))
    against = sum(part.weight for part in parts) - move.weight
    return len(move.table) + max(0, possible - given) + 2 * keys + 2 * against * given


def only_move(parts: Sequence[Part]) -> Part | None:
    """The part of a single move, if it is the only condition that something dynamic holds."""
    positive = [part for part in parts if part.weight and part.literal.positive]
    return positive[0] if len(positive) == 1 and positive[0].key is not None else None


def cheapest_split(parts: tuple[Part, ...], head: Names, rows: Table, cost: float) -> Split | None:
    """The split that costs least, or None when none is worth it."""
    best: Split | None = None
    moves = [part for part in parts if part.key is not None]
    for chosen in _candidates(parts, head):
        splits = [_priced(chosen, parts, head, rows)]
        splits += (_priced_copy(chosen, move, parts, head, rows) for move in moves)
        for split in splits:
            if split and split.cost <= _GAIN * cost and (best is None or split.cost < best.cost):
                best = split
    return best


def worth_complement(cost: float, parts: Sequence[Part], rows: Table) -> bool:
    return cost <= _GAIN * len(rows) * sum(part.weight for part in parts)


def sorting_text(literal: Literal, shared: Names) -> str:
    """A text that does not depend on the names of variables, to sort by."""
    names = variables(literal.atom)
    hidden: dict[str, Term] = {name: "!" if name in shared else "?" for name in names}
    return f"{substitute(literal.atom, hidden)}{literal.positive}"


def _candidates(parts: tuple[Part, ...], head: Names) -> Iterator[frozenset[int]]:
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


def _priced(chosen: frozenset[int], parts: tuple[Part, ...], head: Names, rows: Table) -> Split | None:
    """The split that takes these parts out, and all static ones that go with them."""
    names = names_of([parts[index] for index in chosen])
    inner = tuple(p for i, p in enumerate(parts) if i in chosen or (p.weight == 0 and p.names <= names))
    outer = tuple(part for part in parts if part not in inner)
    if not outer:
        return None
    outside = head | names_of(outer)
    shared = names & outside
    inner_cost = min(cost_of(inner, shared, rows), complement_cost(inner, shared, rows))
    weight = sum(part.weight for part in outer) + (1 if any(part.weight for part in inner) else 0)
    return Split(inner, outer, shared, inner_cost + rows.count(outside) * weight - rows.count(head))


def _priced_copy(chosen: frozenset[int], move: Part, parts: tuple[Part, ...], head: Names, rows: Table) -> Split | None:
    """The split that takes these parts out and asks both them and the others of the same move."""
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
        complement_cost((*core, Part(move.literal, move.names & inside, 1, move.table, move.key)), shared, rows),
    )
    if not outer and head & move.names - move.key:  # what does not concern the head's share of the move is looked into
        inner = (*core, move)
        nested = cheapest_split(inner, shared, rows, inner_cost)
        inner_cost = nested.cost if nested else inner_cost
    dropped = sum(len(move.table) for kept in (inside, outside) if not move.names <= kept)
    common = shared & outside
    outer_rows = rows.count(shared) * rows.count(outside) / max(1, rows.count(common))
    total = inner_cost + dropped + outer_rows * (2 + sum(part.weight for part in outer)) - rows.count(head)
    return Split(tuple(core), outer, shared, total, move)
