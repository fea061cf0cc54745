"""The arrays of the search tree, against nodes in a dictionary."""

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from ggp.search.mcts.tree import (
    COLLAPSED,
    COUNT,
    FIRST,
    FREE,
    GARBAGE,
    GRAIN,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    NODES,
    NONE,
    ROOT,
    SLOTS,
    VISITS,
    Tree,
    add_edge,
    clear_slots,
    collapse,
    find_edge,
    hold,
    make_tree,
    new_node,
    new_slots,
    release,
)
from ggp.simulation.state_table import find_state, keep_state, make_state_table
from tests.search.books import arrays_of, below, check_structure, nodes_of

pytestmark = pytest.mark.kernels

ROLES = 2
MOST_MOVES = 21


def small_tree(nodes: int, slots: int, edges: int, most_moves: int = MOST_MOVES) -> Tree:
    """Smaller than the smallest that is made for a search, so that it is soon full."""
    tree = make_tree(1, ROLES, most_moves, 2**20)
    by_slot = ("move", "visits", "in_flight", "value_sum", "square_sum", "lower", "upper", "child")
    by_edge = ("edge_code", "edge_child", "edge_next")
    return tree._replace(
        table=make_state_table(1, nodes), nodes=tree.nodes[:nodes], values=tree.values[:nodes],
        **{name: getattr(tree, name)[:slots] for name in by_slot},
        **{name: getattr(tree, name)[:edges] for name in by_edge},
    )  # fmt: skip


@dataclass(slots=True)
class Plain:
    """What a node should be."""

    state: int
    counts: tuple[int, ...] = ()
    marks: list[float] = field(default_factory=list)  # what was written in its slots, different everywhere
    children: dict[int, int] = field(default_factory=dict)  # by the place of the slot in the node
    edges: dict[int, int] = field(default_factory=dict)

    @property
    def below(self) -> list[int]:
        return [*self.children.values(), *self.edges.values()]

    @property
    def choosers(self) -> int:
        return sum(count > 1 for count in self.counts)


class Model:
    """The same operations on the arrays and on the dictionary; after each both say the same."""

    def __init__(self, tree: Tree, seed: int, states: int) -> None:
        self.tree, self.random, self.states = tree, Random(seed), states
        self.nodes: dict[int, Plain] = {}
        self.pins: dict[int, int] = {}
        self.marks = 0
        self.root = self.add_node()
        tree.numbers[ROOT] = self.root
        self.done: set[str] = set()

    def add_node(self) -> int:
        """A node of a new state, or the one that there is, pinned; NONE without room."""
        tree, state = self.tree, self.random.randrange(self.states)
        known = int(find_state(tree.table, np.array([[state]], np.uint64), 0))
        assert known == next((number for number, plain in self.nodes.items() if plain.state == state), NONE)
        if known != NONE:
            self.pin(known)
            return known
        number = int(new_node(tree))
        self.settle(gone=number)
        if number != NONE:
            assert number not in self.nodes
            tree.table.states[number] = state
            tree.nodes[number, KIND] = LEAF
            tree.values[number, VISITS] = self.random.randrange(20)
            keep_state(tree.table, number)
            self.nodes[number] = Plain(state)
            self.pin(number)
        return number

    def pin(self, number: int) -> None:
        hold(self.tree, number)
        self.pins[number] = self.pins.get(number, 0) + 1

    def unpin(self, number: int) -> None:
        release(self.tree, number)
        self.pins[number] -= 1

    def grow(self, number: int) -> None:
        tree, plain = self.tree, self.nodes[number]
        if plain.counts:
            return
        counts = self.random.choice([(1, 1), (1, 2), (3, 1), (5, 1), (1, 20), (2, 2), (4, 5), (10, 11)])
        tree.nodes[number, IN_FLIGHT] += 1  # as in a search: what is being worked on is not taken
        first = int(new_slots(tree, sum(counts)))
        tree.nodes[number, IN_FLIGHT] -= 1
        self.settle()
        if first == NONE:
            self.done.add("no room for slots")
            return
        clear_slots(tree, first, sum(counts))
        tree.nodes[number, COUNT:], tree.nodes[number, FIRST], tree.nodes[number, KIND] = counts, first, INNER
        plain.counts = counts
        for slot in range(first, first + sum(counts)):
            assert (
                tree.visits[slot]
                == tree.in_flight[slot]
                == tree.value_sum[slot]
                == tree.square_sum[slot]
                == tree.lower[slot]
                == 0
            )
            assert tree.upper[slot] == 1
            assert tree.child[slot] == NONE
            self.marks += 1
            tree.value_sum[slot] = self.marks
            plain.marks.append(self.marks)

    def link(self, number: int) -> None:
        tree, plain = self.tree, self.nodes[number]
        if not plain.counts:
            return
        tree.nodes[number, IN_FLIGHT] += 1
        child = self.add_node()
        if child != NONE and plain.choosers < 2:
            chooser = max(range(ROLES), key=lambda role: plain.counts[role])
            at = sum(plain.counts[:chooser]) + self.random.randrange(plain.counts[chooser])
            if at not in plain.children:
                hold(tree, child)
                tree.child[int(tree.nodes[number, FIRST]) + at] = child
                plain.children[at] = child
        elif child != NONE:
            self.join(number, child)
        if child != NONE:
            self.unpin(child)
        tree.nodes[number, IN_FLIGHT] -= 1

    def join(self, number: int, child: int) -> None:
        tree, plain = self.tree, self.nodes[number]
        code = self.random.randrange(plain.counts[0] * plain.counts[1])
        assert find_edge(tree, number, code) == plain.edges.get(code, NONE)
        if code not in plain.edges:
            added = add_edge(tree, number, code, child)
            self.settle()
            if added:
                plain.edges[code] = child
            else:
                self.done.add("no room for edges")

    def cut(self, number: int) -> None:
        if self.nodes[number].counts and number != self.root:
            collapse(self.tree, number)
            self.tree.nodes[number, KIND] = LEAF
            self.nodes[number] = Plain(self.nodes[number].state)
            self.done.add("collapsed")

    def settle(self, gone: int = NONE) -> None:
        """Follow what was taken to make room: nodes without references, and what is below others."""
        tree = self.tree
        free = {number for number in self.nodes if tree.nodes[number, KIND] == FREE or number == gone}
        for number, plain in self.nodes.items():
            if number not in free and plain.counts and tree.nodes[number, FIRST] == NONE:
                assert number != self.root
                assert tree.nodes[number, IN_FLIGHT] == 0
                self.nodes[number] = Plain(plain.state)
                self.done.add("swept")
        for number in free:
            del self.nodes[number]
            assert not self.pins.get(number)
            self.done.add("freed")
        assert not free & {child for plain in self.nodes.values() for child in plain.below}

    def check(self) -> None:
        tree = self.tree
        found = check_structure(tree, {number: count for number, count in self.pins.items() if count})
        assert set(found) == set(self.nodes)
        for number, plain in self.nodes.items():
            node = found[number]
            assert int(tree.table.states[number, 0]) == plain.state
            assert sum(plain.counts) == sum(node.counts)
            assert tree.value_sum[list(node.slots)].tolist() == plain.marks
            assert node.edges == plain.edges
            assert sorted(below(tree, node)) == sorted(plain.below)
            assert all(tree.child[node.first + at] == child for at, child in plain.children.items())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("nodes", "slots", "edges"), [(40, 1000, 200), (200, 160, 200), (200, 1000, 12), (30, 120, 20)]
)
def test_arrays_are_what_the_dictionary_is(nodes: int, slots: int, edges: int, seed: int) -> None:
    tree = small_tree(nodes, slots, edges)
    model = Model(tree, seed, states=2 * nodes)
    random = model.random
    actions = [model.link] * 6 + [model.grow] * 3 + [model.cut]
    for turn in range(1200):
        number = random.choice(list(model.nodes))
        if random.random() < 0.05:
            model.pin(number)
        pinned = [number for number, count in model.pins.items() if count > (number == model.root)]
        if pinned and random.random() < 0.08:
            model.unpin(random.choice(pinned))
        model.pin(number)
        random.choice(actions)(number)
        model.unpin(number)
        if turn % 7 == 0:
            model.check()
    model.check()
    assert model.done >= {"collapsed", "freed", "swept"}


def linked(tree: Tree, state: int, above: int = NONE, count: int = 1) -> int:
    """A node with slots, held by the first free slot of another one."""
    number = int(new_node(tree))
    assert number != NONE
    tree.table.states[number] = state
    tree.nodes[number, KIND] = INNER
    keep_state(tree.table, number)
    hold(tree, number)
    if above == NONE:
        tree.numbers[ROOT] = number
    else:
        first, total = int(tree.nodes[above, FIRST]), int(tree.nodes[above, COUNT:].sum())
        tree.child[next(slot for slot in range(first, first + total) if tree.child[slot] == NONE)] = number
    tree.nodes[number, IN_FLIGHT] = 1
    first = int(new_slots(tree, count + 1))
    tree.nodes[number, IN_FLIGHT] = 0
    assert first != NONE
    clear_slots(tree, first, count + 1)
    tree.nodes[number, FIRST], tree.nodes[number, COUNT:] = first, (1, count)
    return number


def test_room_comes_back_when_nothing_is_under_way_any_more() -> None:
    tree = small_tree(12, 200, 1)
    root = linked(tree, 0, count=20)
    children = [linked(tree, state, root) for state in range(1, 12)]
    tree.nodes[children, IN_FLIGHT] = 1
    assert new_node(tree) == NONE
    assert new_node(tree) == NONE
    tree.nodes[children, IN_FLIGHT] = 0
    for child in children[:4]:
        collapse(tree, child)
        tree.nodes[child, KIND] = LEAF
    grandchild = int(new_node(tree))
    assert grandchild == NONE  # nothing is below the children
    below_child = children[5]
    tree.child[int(tree.nodes[root, FIRST]) + children.index(below_child)] = NONE
    release(tree, below_child)
    assert new_node(tree) == below_child


def test_what_is_swept_can_be_swept_after_a_time_without_room() -> None:
    tree = small_tree(12, 200, 1)
    root = linked(tree, 0, count=20)
    child = linked(tree, 1, root, count=20)
    for state in range(2, 12):
        linked(tree, state, child)
    everyone = list(nodes_of(tree))
    tree.nodes[everyone, IN_FLIGHT] = 1
    assert new_node(tree) == NONE
    tree.nodes[everyone, IN_FLIGHT] = 0
    assert new_node(tree) != NONE
    assert tree.numbers[COLLAPSED] > 0


def test_a_large_block_is_made_of_small_ones() -> None:
    tree = small_tree(200, 40 * GRAIN, 1, most_moves=80)
    root = linked(tree, 0, count=38)  # 10 grains
    children = [linked(tree, state, root, count=3) for state in range(1, 31)]  # 1 grain each
    assert tree.numbers[SLOTS] == 40 * GRAIN
    tree.values[children, VISITS] = [100 if at < 10 else 1 for at in range(30)]
    for size in (5, 9, 12):
        first = int(new_slots(tree, GRAIN * size))
        assert first != NONE, size
        # given back at once, so that the next one has to find its own
        tree.child[first] = tree.heads[size]
        tree.heads[size] = first
        tree.numbers[SLOTS] -= GRAIN * size
    check_structure(tree)
    assert (tree.nodes[children[:10], KIND] == INNER).all()


@pytest.mark.parametrize("words", [1, 3, 40])
@pytest.mark.parametrize("roles", [1, 2, 6])
@pytest.mark.parametrize("budget_bytes", [2**22, 10**7, 2**25])
def test_a_tree_takes_what_it_may(words: int, roles: int, budget_bytes: int) -> None:
    tree = make_tree(words, roles, 60, budget_bytes)
    taken = sum(part.nbytes for part in arrays_of(tree))
    assert taken <= budget_bytes + 2**13
    assert taken > 0.7 * budget_bytes
    assert tree.numbers[NODES] == 0
    assert tree.numbers[GARBAGE] == NONE
    assert len(tree.table.slots) > len(tree.table.states)
