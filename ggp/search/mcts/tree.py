"""The search tree as arrays: nodes, their moves and what is known of both, within a fixed number of bytes.

A node is a state; states that are reached on several ways are one node. Nodes and blocks of slots are counted by those
who hold them; what nobody holds is taken apart when room is needed, and then, in turn, nodes with few visits lose what
is below them (a clock as in page replacement: Corbató, 1968).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, inner, lean
from ggp.simulation.evaluate import Bits

# what a node is
FREE, PENDING, LEAF, GROWING, INNER, END = range(6)  # PENDING: its state is not worked out; GROWING: getting slots

# columns of Tree.nodes
KIND, PHASE, VISITS, FLYING, FIRST, HOLDERS, LINK, PAIRS, MARK, LENGTH, TABLE, COUNT = range(12)

# indices of Tree.numbers
(NODE_TOP, SLOT_TOP, PAIR_TOP, FREE_NODE, FREE_PAIR, GARBAGE, NODES, SLOTS, ROOT, HAND, THRESHOLD, STAMP,
 COLLAPSED, PAIRED, RETURNED, TABLES) = range(16)  # fmt: skip

GRAIN = 4  # blocks of slots have multiples of this
NONE = -1
LOOSE = -2  # the link of a node that is in no list
LONG = 1 << 24  # a length that is not known
_ROUNDS = 64  # of making room for one block; one that needs more has to wait
_MOST_TABLES = 4096
_SHARE = 16  # blocks are joined when one in so many slots came back since the last time


class Tree(NamedTuple):
    """R roles; N nodes, S slots (one for each legal move of each role of a node), P pairs."""

    states: Bits  # (N, words)
    nodes: Ids  # (N, 10 + R) see above; from COUNT on the number of slots of each role
    values: NDArray[np.float64]  # (N, 3 R) sums over visits, lower bounds, upper bounds, of each role
    move: Ids  # (S,) its number within the role
    tries: Ids  # (S,) visits that were backed up
    aloft: Ids  # (S,) visits under way
    gain: NDArray[np.float64]  # (S,) the sum of the role's values
    square: NDArray[np.float64]  # (S,) the sum of their squares
    low: NDArray[np.float64]  # (S,) bounds of what the move is worth to its role
    high: NDArray[np.float64]
    child: Ids  # (S,) where only one role has a choice: the node below; in free blocks: the next block
    code: NDArray[np.int64]  # (P,) where several roles choose: which joint move
    target: Ids  # (P,) the node below
    onward: Ids  # (P,) the node's next pair
    elsewhere: NDArray[np.float64]  # (A, 2, M) visits and values of all moves below some nodes
    owner: Ids  # (A,) whose they are, or NONE
    table: Ids  # (T,) nodes by the hash of their states, T a power of 2 above N
    scratch: NDArray[np.float64]  # (3, most moves) for whoever works on the tree
    heads: Ids  # free blocks by their size / GRAIN
    numbers: NDArray[np.int64]


def make_tree(words: int, roles: int, most_moves: int, budget_bytes: int) -> Tree:
    """An empty tree that takes at most so many bytes; `most_moves` is the most slots that a node may need."""
    node_bytes = 8 * words + 4 * (COUNT + roles) + 24 * roles + 8
    slot_bytes, pair_bytes = 48, 16
    share = max(budget_bytes, 2**20) // 16
    nodes = max(2048, 7 * share // node_bytes)
    nodes = min(nodes, 1 << (nodes.bit_length() - 1)) if nodes > 2048 else nodes
    slots = max(8 * share // slot_bytes, 4 * (most_moves + GRAIN))
    pairs = max(share // pair_bytes // 2, 1024) if roles > 1 else 1
    tables = min(max(share // (32 * most_moves + 8), 1), _MOST_TABLES)
    numbers = np.zeros(16, np.int64)
    numbers[[FREE_NODE, FREE_PAIR, GARBAGE, ROOT]] = NONE
    numbers[THRESHOLD] = 2
    ints = (np.zeros(slots, np.int32) for _ in range(4))
    floats = (np.zeros(slots, np.float64) for _ in range(4))
    move, tries, aloft, child = ints
    gain, square, low, high = floats
    return Tree(
        np.zeros((nodes, words), np.uint64), np.zeros((nodes, COUNT + roles), np.int32),
        np.zeros((nodes, 3 * roles), np.float64), move, tries, aloft, gain, square, low, high, child,
        np.zeros(pairs, np.int64), np.zeros(pairs, np.int32), np.zeros(pairs, np.int32),
        np.zeros((tables, 2, most_moves)), np.full(tables, NONE, np.int32),
        np.full(1 << (2 * nodes - 1).bit_length(), NONE, np.int32),
        np.zeros((3, most_moves + 1)), np.full(most_moves // GRAIN + 2, NONE, np.int32), numbers,
    )  # fmt: skip


@lean
def new_node(tree: Tree) -> Int:
    """A node that is PENDING and held by nobody; NONE when there is no room at all."""
    numbers, nodes = tree.numbers, tree.nodes
    while True:
        node = numbers[FREE_NODE]
        if node != NONE:
            numbers[FREE_NODE] = nodes[node, LINK]
            break
        if numbers[NODE_TOP] < nodes.shape[0]:
            node = numbers[NODE_TOP]
            numbers[NODE_TOP] += 1
            break
        if not make_room(tree):
            return NONE
    roles = nodes.shape[1] - COUNT
    nodes[node] = 0
    nodes[node, KIND] = PENDING
    nodes[node, FIRST] = nodes[node, PAIRS] = NONE
    nodes[node, LENGTH] = LONG
    nodes[node, TABLE] = NONE
    nodes[node, LINK] = LOOSE
    tree.values[node, : 2 * roles] = 0.0
    tree.values[node, 2 * roles :] = 1.0
    numbers[NODES] += 1
    return np.int64(node)


@lean
def new_slots(tree: Tree, count: Int) -> Int:
    """A block of so many slots, all unknown, or NONE."""
    size, numbers = (count + GRAIN - 1) // GRAIN, tree.numbers
    first: Int = _take_block(tree, size)
    for _ in range(_ROUNDS):
        if first != NONE:
            break
        if numbers[RETURNED] * _SHARE >= len(tree.move) or not make_room(tree):
            if numbers[RETURNED] == 0:
                break
            _join_blocks(tree)
        first = _take_block(tree, size)
    if first != NONE:
        numbers[SLOTS] += GRAIN * size
        for slot in range(first, first + count):
            tree.tries[slot] = tree.aloft[slot] = 0
            tree.gain[slot] = tree.square[slot] = tree.low[slot] = 0.0
            tree.high[slot] = 1.0
            tree.child[slot] = NONE
    return first


@inner
def _take_block(tree: Tree, size: Int) -> Int:
    heads = tree.heads
    first = np.int64(NONE)
    if heads[size] != NONE:
        first = np.int64(heads[size])
        heads[size] = tree.child[first]
    elif tree.numbers[SLOT_TOP] + GRAIN * size <= len(tree.move):
        first = tree.numbers[SLOT_TOP]
        tree.numbers[SLOT_TOP] += GRAIN * size
    else:
        for larger in range(size + 1, len(heads)):
            if heads[larger] != NONE:
                first = np.int64(heads[larger])
                heads[larger] = tree.child[first]
                _give_block(tree, first + GRAIN * size, larger - size)
                break
    return first


@inner
def _give_block(tree: Tree, first: Int, size: Int) -> None:
    tree.child[first] = tree.heads[size]
    tree.heads[size] = first


@lean
def _join_blocks(tree: Tree) -> None:
    """Make one of free blocks that are neighbours, as long as it is not larger than a node may need."""
    heads, child, tries, numbers = tree.heads, tree.child, tree.tries, tree.numbers
    chain: Int = np.int64(NONE)
    first: Int = np.int64(NONE)
    for size in range(1, len(heads)):
        while heads[size] != NONE:
            first = np.int64(heads[size])
            heads[size] = child[first]
            child[first], chain = chain, first
            tries[first] = -size  # below 0: a free block begins here
    first = chain
    while first != NONE:
        while tries[first] < 0:
            behind = first - GRAIN * tries[first]
            if behind >= numbers[SLOT_TOP] or tries[behind] >= 0 or -tries[first] - tries[behind] >= len(heads):
                break
            tries[first] += tries[behind]
            tries[behind] = 0
        first = np.int64(child[first])
    while chain != NONE:
        first, chain = chain, np.int64(child[chain])
        if tries[first] < 0:
            _give_block(tree, first, -tries[first])
        tries[first] = 0
    numbers[RETURNED] = 0


@lean
def hold(tree: Tree, node: Int) -> None:
    tree.nodes[node, HOLDERS] += 1


@lean
def release(tree: Tree, node: Int) -> None:
    """One holder less; a node without any is taken apart when room is needed."""
    nodes, numbers = tree.nodes, tree.numbers
    nodes[node, HOLDERS] -= 1
    if nodes[node, HOLDERS] == 0 and nodes[node, LINK] == LOOSE:
        nodes[node, LINK] = numbers[GARBAGE]
        numbers[GARBAGE] = node


@lean
def make_room(tree: Tree) -> bool:
    """Free something; False when nothing is left that could be freed."""
    nodes, numbers = tree.nodes, tree.numbers
    if numbers[GARBAGE] == NONE and not _sweep(tree):
        return False
    for _ in range(256):
        node = numbers[GARBAGE]
        if node == NONE:
            break
        numbers[GARBAGE] = nodes[node, LINK]
        nodes[node, LINK] = LOOSE
        if nodes[node, HOLDERS]:
            continue  # found again by its state in the meantime
        if nodes[node, KIND] != PENDING:
            forget_state(tree, node)
        collapse(tree, node)
        free_node(tree, node)
    return True


@lean
def free_node(tree: Tree, node: Int) -> None:
    """Give back a node that has neither holders nor slots and is not found by its state."""
    tree.nodes[node, KIND] = FREE
    tree.nodes[node, LINK] = tree.numbers[FREE_NODE]
    tree.numbers[FREE_NODE] = node
    tree.numbers[NODES] -= 1


@inner
def _sweep(tree: Tree) -> bool:
    """Take what is below some node with few visits; the hand of the clock goes on from where it was."""
    nodes, numbers = tree.nodes, tree.numbers
    top = numbers[NODE_TOP]
    some = True
    while some:
        some = False
        for _ in range(top):
            node = numbers[HAND]
            numbers[HAND] = (node + 1) % top
            if nodes[node, KIND] == INNER and nodes[node, FLYING] == 0 and node != numbers[ROOT]:
                some = True
                if nodes[node, VISITS] < numbers[THRESHOLD]:
                    collapse(tree, node)
                    nodes[node, KIND] = LEAF
                    numbers[COLLAPSED] += 1
                    return True
        if some:
            numbers[THRESHOLD] *= 2
    return False


@lean
def collapse(tree: Tree, node: Int) -> None:
    """Give up a node's slots, pairs and table, and its hold on the nodes below."""
    nodes, numbers = tree.nodes, tree.numbers
    if nodes[node, TABLE] != NONE:
        tree.owner[nodes[node, TABLE]] = NONE
        nodes[node, TABLE] = NONE
    first = nodes[node, FIRST]
    if first == NONE:
        return
    count = np.int64(0)
    for column in range(COUNT, nodes.shape[1]):
        count += nodes[node, column]
        nodes[node, column] = 0
    for slot in range(first, first + count):
        if tree.child[slot] != NONE:
            release(tree, tree.child[slot])
    pair = nodes[node, PAIRS]
    while pair != NONE:
        release(tree, tree.target[pair])
        following = tree.onward[pair]
        tree.onward[pair] = numbers[FREE_PAIR]
        numbers[FREE_PAIR] = pair
        numbers[PAIRED] -= 1
        pair = following
    size = (count + GRAIN - 1) // GRAIN
    _give_block(tree, first, size)
    numbers[SLOTS] -= GRAIN * size
    numbers[RETURNED] += GRAIN * size
    nodes[node, FIRST] = nodes[node, PAIRS] = NONE


@lean
def find_pair(tree: Tree, node: Int, code: Int) -> Int:
    """The node below a joint move, or NONE; what is looked for comes to the front."""
    nodes = tree.nodes
    previous: Int = NONE
    pair = np.int64(nodes[node, PAIRS])
    while pair != NONE and tree.code[pair] != code:
        previous = pair
        pair = np.int64(tree.onward[pair])
    if pair == NONE:
        return NONE
    if previous != NONE:
        tree.onward[previous] = tree.onward[pair]
        tree.onward[pair] = nodes[node, PAIRS]
        nodes[node, PAIRS] = pair
    return np.int64(tree.target[pair])


@lean
def add_pair(tree: Tree, node: Int, code: Int, target: Int) -> bool:
    """Put a node below a joint move and hold it; False when there is no room."""
    numbers = tree.numbers
    if numbers[FREE_PAIR] == NONE and numbers[PAIR_TOP] >= len(tree.code):
        make_room(tree)
    pair = numbers[FREE_PAIR]
    if pair != NONE:
        numbers[FREE_PAIR] = tree.onward[pair]
    elif numbers[PAIR_TOP] < len(tree.code):
        pair = numbers[PAIR_TOP]
        numbers[PAIR_TOP] += 1
    else:
        return False
    numbers[PAIRED] += 1
    tree.code[pair] = code
    tree.target[pair] = target
    tree.onward[pair] = tree.nodes[node, PAIRS]
    tree.nodes[node, PAIRS] = pair
    hold(tree, target)
    return True


@lean
def find_state(tree: Tree, state: Bits, row: Int) -> Int:
    """The node of the state in a row, or NONE."""
    mask = len(tree.table) - 1
    at = hash_state(state, row) & mask
    while tree.table[at] != NONE:
        node = np.int64(tree.table[at])
        same = True
        for word in range(state.shape[1]):
            same = same and tree.states[node, word] == state[row, word]
        if same:
            return node
        at = (at + 1) & mask
    return NONE


@lean
def keep_state(tree: Tree, node: Int) -> None:
    """Make a node findable by its state; no other node may have it."""
    mask = len(tree.table) - 1
    at = hash_state(tree.states, node) & mask
    while tree.table[at] != NONE:
        at = (at + 1) & mask
    tree.table[at] = node


@lean
def forget_state(tree: Tree, node: Int) -> None:
    """The reverse of `keep_state` (linear probing: those behind move up; Knuth 6.4, algorithm R)."""
    table, mask = tree.table, len(tree.table) - 1
    at = hash_state(tree.states, node) & mask
    while table[at] != node:
        if table[at] == NONE:
            return
        at = (at + 1) & mask
    hole = at
    while True:
        at = (at + 1) & mask
        if table[at] == NONE:
            break
        home = hash_state(tree.states, np.int64(table[at])) & mask
        if (at - home) & mask >= (at - hole) & mask:
            table[hole] = table[at]
            hole = at
    table[hole] = NONE


@inner
def hash_state(states: Bits, row: Int) -> Int:
    """The words of a state mixed into a number that is not negative."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in range(states.shape[1]):
        mixed = (mixed ^ states[row, word]) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * np.uint64(0x94D049BB133111EB)) >> np.uint64(16))
