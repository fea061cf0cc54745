"""Invariants of a search tree: what is true of its arrays while no worker runs, checked the slow way."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.search.mcts.tree import (
    COUNT,
    EDGE_COUNT,
    EDGE_TOP,
    EDGES,
    END,
    FIRST,
    FREE,
    FREE_EDGE,
    FREE_NODE,
    GARBAGE,
    GRAIN,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LINK,
    LOOSE,
    NODE_TOP,
    NODES,
    NONE,
    REFERENCES,
    ROOT,
    SLOT_TOP,
    SLOTS,
    VISITS,
    Tree,
)
from ggp.simulation.state_table import find_state

TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it stands in the arrays."""

    number: int
    kind: int
    visits: int
    first: int
    counts: tuple[int, ...]  # slots of each role
    edges: Mapping[int, int] = field(default_factory=dict)  # code → node below

    @property
    def slots(self) -> range:
        return range(self.first, self.first + sum(self.counts))

    @property
    def choosers(self) -> list[int]:
        """The roles that have a choice."""
        return [role for role, count in enumerate(self.counts) if count > 1]

    @property
    def block(self) -> range:
        """With what is there to fill up the last grain."""
        return range(self.first, self.first + -(-sum(self.counts) // GRAIN) * GRAIN)

    def slots_of(self, role: int) -> range:
        first = self.first + sum(self.counts[:role])
        return range(first, first + self.counts[role])

    def joint_slots(self, code: int) -> list[int]:
        """One slot of each role."""
        places = []
        for role in reversed(range(len(self.counts))):
            code, at = divmod(code, self.counts[role])
            places.append(self.slots_of(role)[at])
        assert code == 0
        return places[::-1]


def arrays_of(tree: Tree) -> list[NDArray[Any]]:
    """All that a tree consists of."""
    return [*tree.table, *(field for field in tree if isinstance(field, np.ndarray))]


def nodes_of(tree: Tree) -> dict[int, Node]:
    """All nodes that are in use."""
    found = {}
    for number, row in enumerate(tree.nodes[: tree.numbers[NODE_TOP]].tolist()):
        if row[KIND] == FREE:
            continue
        edges: dict[int, int] = {}
        for edge in chain_of(tree, row[EDGES]):
            assert int(tree.edge_code[edge]) not in edges, f"node {number} has a joint move twice"
            edges[int(tree.edge_code[edge])] = int(tree.edge_child[edge])
        found[number] = Node(number, row[KIND], int(tree.values[number, VISITS]), row[FIRST], tuple(row[COUNT:]), edges)
    return found


def chain_of(tree: Tree, edge: int) -> Iterator[int]:
    for _ in range(len(tree.edge_code) + 1):
        if edge == NONE:
            return
        yield edge
        edge = int(tree.edge_next[edge])
    raise AssertionError("a list of edges goes round")


def below(tree: Tree, node: Node) -> list[int]:
    """The nodes below, each as often as it is held."""
    return [int(tree.child[slot]) for slot in node.slots if tree.child[slot] != NONE] + list(node.edges.values())


def check_structure(tree: Tree, pins: Mapping[int, int] | None = None) -> dict[int, Node]:
    """Nothing is lost, nothing used twice; `pins` are holders that are not nodes (else: of the root, once)."""
    numbers, nodes = tree.numbers, nodes_of(tree)
    assert int(numbers[NODES]) == len(nodes)
    held = Counter(pins if pins is not None else {int(numbers[ROOT]): 1})
    for node in nodes.values():
        held.update(below(tree, node))
    for number in nodes:
        assert int(tree.nodes[number, REFERENCES]) == held[number], f"holders of node {number}"
    assert set(held) <= set(nodes), "a node that is free is held"
    _check_lists(tree, nodes)
    _check_blocks(tree, nodes)
    _check_edges(tree, nodes)
    known = {int(entry) for entry in tree.table.slots if entry != NONE}
    assert known == set(nodes)
    assert np.count_nonzero(tree.table.slots != NONE) == len(nodes)
    for number in nodes:
        assert int(find_state(tree.table, tree.table.states, number)) == number
    return nodes


def _check_lists(tree: Tree, nodes: Mapping[int, Node]) -> None:
    numbers, links = tree.numbers, tree.nodes[:, LINK]
    lists: list[list[int]] = [[], []]
    for found, head in zip(lists, (FREE_NODE, GARBAGE), strict=True):
        at = int(numbers[head])
        while at != NONE:
            found.append(at)
            assert len(found) <= numbers[NODE_TOP], "a list goes round"
            at = int(links[at])
    free, garbage = lists
    assert sorted([*free, *nodes]) == list(range(int(numbers[NODE_TOP])))
    assert len(garbage) == len(set(garbage))
    assert set(garbage) <= set(nodes)
    for number in nodes:
        assert (int(links[number]) == LOOSE) == (number not in set(garbage))
        assert tree.nodes[number, REFERENCES] > 0 or number in set(garbage), "a node without references is lost"


def free_blocks(tree: Tree) -> list[range]:
    found = []
    for size, head in enumerate(tree.heads.tolist()):
        first = head
        while first != NONE:
            found.append(range(first, first + size * GRAIN))
            assert len(found) <= len(tree.move), "a list of blocks goes round"
            first = int(tree.child[first])
    return found


def _check_blocks(tree: Tree, nodes: Mapping[int, Node]) -> None:
    used = [node.block for node in nodes.values() if node.first != NONE]
    assert sum(map(len, used)) == tree.numbers[SLOTS]
    blocks = sorted(used + free_blocks(tree), key=lambda block: block.start)
    assert all(len(block) > 0 for block in blocks)
    assert all(one.stop == other.start for one, other in pairwise(blocks)), "slots overlap or are lost"
    assert sum(map(len, blocks)) == tree.numbers[SLOT_TOP] <= len(tree.move)
    assert not blocks or blocks[0].start == 0


def _check_edges(tree: Tree, nodes: Mapping[int, Node]) -> None:
    free = list(chain_of(tree, int(tree.numbers[FREE_EDGE])))
    used = [edge for number in nodes for edge in chain_of(tree, int(tree.nodes[number, EDGES]))]
    assert sorted(free + used) == list(range(int(tree.numbers[EDGE_TOP])))
    assert len(used) == tree.numbers[EDGE_COUNT]
    for node in nodes.values():
        most = prod(node.counts)
        assert all(0 <= code < (most if most <= 2**62 else 2**63) for code in node.edges)


def check_statistics(tree: Tree, nodes: Mapping[int, Node]) -> None:
    """What is counted adds up and stays in its range; no descent is in flight."""
    roles = tree.nodes.shape[1] - COUNT
    assert not tree.nodes[list(nodes), IN_FLIGHT].any()
    for node in nodes.values():
        low, high = tree.values[node.number, roles : 2 * roles], tree.values[node.number, 2 * roles : 3 * roles]
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
        sums = tree.values[node.number, :roles]
        assert ((sums >= -TINY) & (sums <= node.visits + TINY)).all()
        assert node.kind in (LEAF, INNER, END)
        assert (node.kind == INNER) == (node.first != NONE)
        if node.kind == INNER:
            _check_slots(tree, node)
        else:
            assert not any(node.counts)
            assert not node.edges
        if node.kind == END:
            assert (low == high).all()
            assert tree.nodes[node.number, LENGTH] == 0


def _check_slots(tree: Tree, node: Node) -> None:
    assert all(node.counts), "a role without a move"
    tries = {int(tree.visits[list(node.slots_of(role))].sum()) for role in range(len(node.counts))}
    assert len(tries) == 1
    assert tries.pop() <= node.visits
    places = list(node.slots)
    tried, gain, square = tree.visits[places], tree.value_sum[places], tree.square_sum[places]
    assert not tree.in_flight[places].any()
    assert (tried >= 0).all()
    assert ((gain >= -TINY) & (gain <= tried + TINY)).all()
    assert ((square <= gain + TINY) & (gain * gain <= tried * square + TINY * (1 + tried))).all()
    assert ((tree.lower[places] >= 0) & (tree.lower[places] <= tree.upper[places]) & (tree.upper[places] <= 1)).all()
    linked = {slot for slot in places if tree.child[slot] != NONE}
    if len(node.choosers) > 1:
        assert not linked
    else:
        assert not node.edges
        assert linked <= set(node.slots_of(node.choosers[0] if node.choosers else 0))
    for role in range(len(node.counts)):
        moves = tree.move[list(node.slots_of(role))]
        assert (np.diff(moves) > 0).all()


def check_flow(tree: Tree, nodes: Mapping[int, Node], backed_up: int) -> None:
    """Every visit ended somewhere, and came there by the slots above; for trees that nothing was taken from."""
    ended = sum(node.visits - _through(tree, node) for node in nodes.values())
    assert ended == backed_up
    for node in nodes.values():
        if len(node.choosers) > 1:
            continue
        chooser = node.choosers[0] if node.choosers else 0
        for slot in node.slots_of(chooser) if node.kind == INNER else ():
            child = int(tree.child[slot])
            assert child != NONE or tree.visits[slot] == 0
            if child != NONE and tree.nodes[child, REFERENCES] == 1:
                assert nodes[child].visits == tree.visits[slot]
                assert abs(tree.value_sum[slot] - tree.values[child, chooser]) < TINY * (1 + tree.visits[slot])


def _through(tree: Tree, node: Node) -> int:
    return int(tree.visits[list(node.slots_of(0))].sum()) if node.kind == INNER else 0
