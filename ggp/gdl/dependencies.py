"""Logic program → how its relations depend on each other: components, tiers, and which clauses recurse."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, LogicProgram, Relation
from ggp.gdl.terms import Term, may_be_same

Node = TypeVar("Node")

_MANY_CLAUSES = 500  # of one component, beyond which they are not compared


class Tier(IntEnum):
    """What a relation depends on, directly or not."""

    STATIC = 0  # on nothing that changes in a match
    STATE = 1  # on `true`
    STEP = 2  # on `does`


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The order in which the relations of a program can be evaluated."""

    components: tuple[tuple[Relation, ...], ...]  # each after all those that it reads
    component: dict[Relation, int]  # index of the component of each relation
    tiers: dict[Relation, Tier]
    recursive: frozenset[Relation]  # those that read themselves, directly or not
    negative_cycles: frozenset[Relation]  # those that read their own negation, directly or not


def find_dependencies(program: LogicProgram) -> Dependencies:
    """The dependencies of all relations of a program; those that no rule produces are static."""
    reads: dict[Relation, dict[Relation, None]] = {relation: {} for relation in (*program.tables, *program.clauses)}
    for relation, clauses in program.clauses.items():
        for clause in clauses:
            for literal in clause.body:
                if literal.relation != DISTINCT:
                    reads[relation][literal.relation] = None
    for found in list(reads.values()):
        for relation in found:
            reads.setdefault(relation, {})
    components = strong_components(reads)
    component = {relation: number for number, members in enumerate(components) for relation in members}
    tiers: dict[Relation, Tier] = {}
    for members in components:
        tier = max(
            (_own_tier(relation, tiers) for member in members for relation in (member, *reads[member])),
            default=Tier.STATIC,
        )
        tiers.update(dict.fromkeys(members, tier))
    recursive = frozenset(
        relation for relation, found in reads.items() if any(component[r] == component[relation] for r in found)
    )
    return Dependencies(components, component, tiers, recursive, _negative_cycles(program, components, component))


def find_ground_cycles(program: LogicProgram, dependencies: Dependencies) -> frozenset[int]:
    """The offsets of the rules by which an atom may depend on its own negation; rules are told apart by constants.

    `(<= (goal ?r 0) (not (goal ?r 100)))` is no such rule where no rule for 100 reads 0. This is local stratification
    (Przymusinski 1988), as far as the constants in the rules show it.
    """
    found: set[int] = set()
    for members in dependencies.components:
        if not dependencies.negative_cycles.issuperset(members):
            continue
        clauses = [clause for relation in members for clause in program.clauses.get(relation, ())]
        if len(clauses) > _MANY_CLAUSES:
            found.update(clause.offset for clause in clauses)
            continue
        heads: dict[Relation, list[tuple[int, Term]]] = {}
        for number, clause in enumerate(clauses):
            heads.setdefault(clause.relation, []).append((number, clause.head))
        reads = {number: dict.fromkeys(_read_clauses(clause, heads)) for number, clause in enumerate(clauses)}
        for cycle in strong_components(reads):
            negated = {target for number in cycle for target in _read_clauses(clauses[number], heads, negated=True)}
            if negated.intersection(cycle):
                found.update(clauses[number].offset for number in cycle)
    return frozenset(found)


def _read_clauses(
    clause: Clause, heads: dict[Relation, list[tuple[int, Term]]], *, negated: bool = False
) -> Iterator[int]:
    """The numbers of the clauses whose heads a condition of this clause may be; of its negated conditions only."""
    for literal in clause.body:
        if not (negated and literal.positive):
            yield from (n for n, head in heads.get(literal.relation, ()) if may_be_same(literal.atom, head))


def _own_tier(relation: Relation, known: dict[Relation, Tier]) -> Tier:
    if relation == TRUE:
        return Tier.STATE
    return Tier.STEP if relation == DOES else known.get(relation, Tier.STATIC)


def _negative_cycles(
    program: LogicProgram, components: tuple[tuple[Relation, ...], ...], component: dict[Relation, int]
) -> frozenset[Relation]:
    found = {
        component[relation]
        for relation, clauses in program.clauses.items()
        for clause in clauses
        for literal in clause.body
        if not literal.positive and component.get(literal.relation) == component[relation]
    }
    return frozenset(relation for number in found for relation in components[number])


def strong_components(reads: dict[Node, dict[Node, None]]) -> tuple[tuple[Node, ...], ...]:
    """The strongly connected components of a graph, each after those that it reads (Tarjan 1972, without recursion)."""
    order: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    components: list[tuple[Node, ...]] = []
    for start, neighbours in reads.items():
        if start in order:
            continue
        stack = [(start, iter(neighbours))]
        while stack:
            node, rest = stack[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
                on_path.add(node)
            for neighbour in rest:
                if neighbour not in order:
                    stack.append((neighbour, iter(reads[neighbour])))
                    break
                if neighbour in on_path:
                    lowest[node] = min(lowest[node], order[neighbour])
            else:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    members = [path.pop()]
                    while members[-1] != node:
                        members.append(path.pop())
                    on_path.difference_update(members)
                    components.append(tuple(reversed(members)))
    return tuple(components)
