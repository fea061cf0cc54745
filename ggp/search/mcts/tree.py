"""A search as arrays: the tree within a fixed number of bytes, the batch of descents through it, and its parameters.

A node is a state; states that are reached in several ways are one node. References to nodes are counted; a node
without any is freed when room is needed, and then nodes with few visits, in turn, lose what is below them (the clock
algorithm of page replacement: Corbató, 1968).

Where at most one role has a choice, the nodes below hang on the slots of that role (`child`); where several roles
choose at once, on joint-move edges, a list for each node.

What is read together lies together: all fields of a slot are one line of the cache, those of a node one or two
(`_make_records`).

Locking, while workers run. Each node has a lock (column LOCK) for its kind, its row of `values` and `minimax`, its
slots and its edges. `Tree.locks` has one for what is in use (STRUCTURE: the table, lists of free nodes, slots and
edges, references, `numbers`). Who holds both takes STRUCTURE first, then a node's; of two nodes at once, the
second one only if it is free. No lock is needed for what no other thread can reach: a node that is not linked yet, and
the slots of one that is EXPANDING, by the worker that expands it. Nodes in flight are not freed and keep their slots.
Bounds and minimax values of a node below, and the root's row of `values`, are read without a lock: each number is read
whole, and one that is a moment old does no harm. A `Batch` belongs to one worker and is used by its thread alone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, Int, lean, numba_inner
from ggp.learning.net import Activations, make_activations
from ggp.locks import try_lock, unlock
from ggp.search.mcts.settings import SearchSettings
from ggp.simulation.expansion import goal_range
from ggp.simulation.state_table import StateTable, forget_state, make_state_table

# what a node is
FREE, PENDING, LEAF, EXPANDING, INNER, END = range(6)  # PENDING: its state is not worked out; EXPANDING: getting slots

# columns of Tree.nodes
KIND, PHASE, IN_FLIGHT, FIRST, REFERENCES, LINK, EDGES, LOCK, LENGTH, OWNER, COUNT = range(11)
# OWNER: the number of the worker that works on it, while it is EXPANDING

VISITS = -1  # column of Tree.values

# indices of Tree.numbers
(NODE_TOP, SLOT_TOP, EDGE_TOP, FREE_NODE, FREE_EDGE, GARBAGE, NODES, SLOTS, ROOT, CLOCK_HAND, THRESHOLD, COLLAPSED,
 EDGE_COUNT, RETURNED) = range(14)  # fmt: skip

STRUCTURE = 0  # row of Tree.locks

GRAIN = 4  # blocks of slots have multiples of this
NONE = -1
UNVALUED = -1.0  # a minimax value that is not known
LOOSE = -2  # the link of a node that is in no list
LONG = 1 << 24  # a length that is not known
_ROUNDS = 64  # of making room for one block; one that needs more has to wait
_SHARE = 16  # blocks are joined when one in so many slots came back since the last time
_MOST_CODES = 2.0**62  # joint moves of a node; where there are more, their codes are hashes

# what a descent is doing
IDLE, WANTED, BLOCKED, FRESH, READY, EXACT, PLAYING = range(7)
# BLOCKED: its leaf gets slots first; FRESH: its leaf's state is not known yet; EXACT: no need to play out

MOST_DEPTH = 400  # a longer descent plays out from where it is

# indices of Batch.numbers
EXPANDING_NODES, FRESH_NODES, BACKED_UP, GROUPS, BLOCKED_GROUPS, LISTED, ROWS, WORKER, ROOTS = range(9)
# LISTED: expanding nodes that were looked ahead from; ROWS: states after them that were looked at; WORKER: its number;
# ROOTS: nodes where descents begin; 0: all at the tree's root

# columns of Batch.groups: the node, or NONE while it is FRESH; the descents that end there, as a list (HEAD, TAIL) or
# NONE; how many came there (SIZE); the group that they came from (ABOVE), and the steps
# from the root; the groups that follow are those from BELOW to before BELOW_END; another one with the same last slot
# (TWIN); whether bounds became closer (NARROWED); from SLOT on the slot of each role that led there
GROUP_NODE, HEAD, TAIL, SIZE, ABOVE, DEPTH, BELOW, BELOW_END, TWIN, NARROWED, SLOT = range(11)
ASSURED, USUAL, GROWTH = range(3)  # columns of Batch.terms: a lower bound, the mean, the term of exploration


class Tree(NamedTuple):
    """R roles; N nodes, S slots (one for each legal move of each role of a node), E joint-move edges."""

    table: StateTable  # finds nodes by their states; the numbers of states are those of nodes
    nodes: Ids  # (N, 11 + R) see above; from COUNT on the number of slots of each role
    values: NDArray[np.float64]  # (N, 3 R + 1) sums over visits, lower bounds, upper bounds, of each role; visits
    move: Ids  # (S,) its number within the role
    visits: NDArray[np.float64]  # (S,) that were backed up; floats count to 2 ** 53, and are not converted in selection
    in_flight: Ids  # (S,) descents that have not been backed up
    value_sum: NDArray[np.float64]  # (S,) of the role's values
    square_sum: NDArray[np.float64]  # (S,) of their squares
    lower: NDArray[np.float64]  # (S,) bounds of what the move is worth to its role
    upper: NDArray[np.float64]
    prior: NDArray[np.float32]  # (S,) how probable the move is thought to be, while priors are used
    minimax: NDArray[np.float32]  # (N,) what the node is worth to role 0 by implicit minimax, or UNVALUED
    move_minimax: NDArray[np.float32]  # (S,) what the move is worth to its role by implicit minimax, or UNVALUED
    child: Ids  # (S,) the node below, where at most one role has a choice; in free blocks: the next block
    edge_code: NDArray[np.int64]  # (E,) which joint move, see `joint_code`
    edge_child: Ids  # (E,) the node below
    edge_next: Ids  # (E,) the node's next edge
    heads: Ids  # free blocks by their size / GRAIN
    numbers: NDArray[np.int64]
    locks: Ids  # (1, 16) the first column


class Batch(NamedTuple):
    """Up to 512 descents whose leaves are worked out and played out together; a row for each, unless said otherwise."""

    status: Ids  # (512,)
    leaf: Ids  # (512,)
    following: Ids  # (512,) the next descent of the same group, but for the TAIL
    groups: Ids  # (G, 11 + roles) descents that came to the same node in the same way, those of the root first
    totals: NDArray[np.float64]  # (G, 2 roles) what is backed up from a group: sums of values, and of their squares
    places: Ids  # (most moves,) by the place of a slot in its node: a group that it leads to
    chosen: Ids  # (roles,) slots
    blocked: Ids  # (512,) a list of groups that are BLOCKED
    roots: Ids  # (512,) a list of nodes where descents begin
    values: NDArray[np.float64]  # (512, roles) of the leaf
    learned: NDArray[np.float64]  # (512, roles) what the net says of the leaf
    expanding: Ids  # (512,) a list of nodes that are to get slots
    fresh: Ids  # (512,) a list of groups whose nodes' states are to be worked out
    fresh_joint: Ids  # (512, roles) numbers of moves that lead there
    lookahead_parent: Ids  # (512,) one-ply lookahead: the node, and its slot
    lookahead_slot: Ids  # (512,)
    lookahead_value: NDArray[np.float64]  # (512,) what the net says of it, where minimax values are kept
    scores: NDArray[np.float64]  # (most moves,)
    scratch: NDArray[np.float64]  # (3, most moves)
    terms: NDArray[np.float64]  # (roles, 3) of the scores of a role's moves
    activations: Activations  # of the learned net
    random: NDArray[np.uint64]  # (1,)
    numbers: NDArray[np.int64]


class Parameters(NamedTuple):
    """How the tree grows: settings by the same names, and what the game adds; made by `make_parameters`."""

    exploration: float
    ucb1_tuned: bool
    first_play_urgency: float
    virtual_loss: float
    tie_margin: float
    lookahead_moves: int
    prior_weight: float
    prior_floor: float
    value_weight: float  # of the learned value; 0 where nothing was learned
    minimax_weight: float
    phases: int
    zero_sum: NDArray[np.bool_]  # (1,) whether there are two roles whose values added up to 1 wherever a match ended
    nature: NDArray[np.bool_]  # (roles,) whether the role is played by chance
    is_mixed: NDArray[np.bool_]  # (1,) whether outcomes are: by chance, or since roles were seen to choose at once
    forced: Ids  # (roles,) the only move that is considered at the root, or NONE
    lowest: NDArray[np.float64]  # (roles,) the goal value that counts as 0
    span: NDArray[np.float64]  # (roles,) what is added to it for 1
    first_move: Ids  # (roles,) where each role's moves start


def make_parameters(settings: SearchSettings, game: CompiledGame) -> Parameters:
    """The settings, and what the game adds."""
    counts = list(map(len, game.moves))
    lowest, span = goal_range(game.goals)
    empty = Parameters(
        0.0, False, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0,
        phases=len(game.phases),
        zero_sum=np.zeros(1, np.bool_),
        nature=np.array([role == NATURE for role in game.roles]),
        is_mixed=np.array([NATURE in game.roles]),
        forced=np.full(len(counts), NONE, np.int32),
        lowest=lowest,
        span=span,
        first_move=np.cumsum([0, *counts])[:-1].astype(np.int32),
    )  # fmt: skip
    return with_settings(empty, settings)


def with_settings(parameters: Parameters, settings: SearchSettings) -> Parameters:
    """The parameters of the same search by other settings."""
    return parameters._replace(
        exploration=settings.exploration,
        ucb1_tuned=settings.ucb1_tuned,
        first_play_urgency=settings.first_play_urgency,
        virtual_loss=settings.virtual_loss,
        tie_margin=settings.tie_margin,
        lookahead_moves=settings.lookahead_moves,
        prior_weight=settings.prior_weight,
        prior_floor=settings.prior_floor,
        value_weight=settings.value_weight,
        minimax_weight=settings.minimax_weight,
    )


_SLOT_FIELDS: Mapping[str, Any] = {  # in 64 bytes
    "visits": np.float64, "value_sum": np.float64, "square_sum": np.float64, "lower": np.float64, "upper": np.float64,
    "in_flight": np.int32, "child": np.int32, "move": np.int32, "prior": np.float32, "move_minimax": np.float32,
}  # fmt: skip
_LINE = 64  # bytes of the cache


def make_tree(words: int, roles: int, most_moves: int, budget_bytes: int) -> Tree:
    """An empty tree that takes at most so many bytes; `most_moves` is the most slots that a node may need."""
    node_fields = {"values": (np.float64, 3 * roles + 1), "nodes": (np.int32, COUNT + roles), "minimax": np.float32}
    node_bytes = _record_bytes(node_fields) + 8 * words + 8
    slot_bytes, edge_bytes = _record_bytes(_SLOT_FIELDS), 16
    share = max(budget_bytes, 2**20) // 16
    nodes = max(2048, 7 * share // node_bytes)
    nodes = min(nodes, 1 << (nodes.bit_length() - 1)) if nodes > 2048 else nodes
    slots = max((15 * share - nodes * node_bytes) // slot_bytes, 4 * (most_moves + GRAIN))
    edges = max(share // edge_bytes // 2, 1024) if roles > 1 else 1
    numbers = np.zeros(16, np.int64)
    numbers[[FREE_NODE, FREE_EDGE, GARBAGE, ROOT]] = NONE
    numbers[THRESHOLD] = 2
    return Tree(
        table=make_state_table(words, nodes),
        **_make_records(nodes, node_fields),
        **_make_records(slots, _SLOT_FIELDS),
        edge_code=np.zeros(edges, np.int64),
        edge_child=np.zeros(edges, np.int32),
        edge_next=np.zeros(edges, np.int32),
        heads=np.full(most_moves // GRAIN + 2, NONE, np.int32),
        numbers=numbers,
        locks=np.zeros((1, _LINE // 4), np.int32),
    )


def _record_bytes(fields: Mapping[str, Any]) -> int:
    """How many bytes a record takes: whole lines of the cache."""
    return -(-np.dtype(list(fields.items())).itemsize // _LINE) * _LINE


def _make_records(count: int, fields: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """So many records, each aligned to lines of the cache; for each field by name the array of its values."""
    size = _record_bytes(fields)
    raw = np.zeros(count * size + _LINE, np.uint8)
    skip = -raw.ctypes.data % _LINE
    kind = np.dtype([*fields.items(), ("rest", np.uint8, size - np.dtype(list(fields.items())).itemsize)])
    records = raw[skip : skip + count * size].view(kind)
    return {name: records[name] for name in fields}


@numba_inner
def new_node(tree: Tree) -> Int:
    """A node that is PENDING and without references; NONE when there is no room at all."""
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
    nodes[node, FIRST] = nodes[node, EDGES] = NONE
    nodes[node, LENGTH] = LONG
    nodes[node, LINK] = LOOSE
    tree.values[node, : 2 * roles] = 0.0
    tree.values[node, 2 * roles : 3 * roles] = 1.0
    tree.values[node, VISITS] = 0.0
    tree.minimax[node] = UNVALUED
    numbers[NODES] += 1
    return np.int64(node)


@lean
def new_slots(tree: Tree, count: Int) -> Int:
    """A block of so many slots, for `clear_slots` to begin with, or NONE."""
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
    return first


@numba_inner
def clear_slots(tree: Tree, first: Int, count: Int) -> None:
    """Nothing is known of so many slots."""
    for slot in range(first, first + count):
        tree.in_flight[slot] = 0
        tree.visits[slot] = tree.value_sum[slot] = tree.square_sum[slot] = tree.lower[slot] = 0.0
        tree.upper[slot] = 1.0
        tree.move_minimax[slot] = UNVALUED
        tree.child[slot] = NONE


@numba_inner
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


@numba_inner
def _give_block(tree: Tree, first: Int, size: Int) -> None:
    tree.child[first] = tree.heads[size]
    tree.heads[size] = first


@lean
def _join_blocks(tree: Tree) -> None:
    """Join free blocks that are neighbours, as long as the result is not larger than a node may need."""
    heads, child, mark, numbers = tree.heads, tree.child, tree.in_flight, tree.numbers
    chain: Int = np.int64(NONE)
    first: Int = np.int64(NONE)
    for size in range(1, len(heads)):
        while heads[size] != NONE:
            first = np.int64(heads[size])
            heads[size] = child[first]
            child[first], chain = chain, first
            mark[first] = -size  # below 0: a free block begins here
    first = chain
    while first != NONE:
        while mark[first] < 0:
            behind = first - GRAIN * mark[first]
            if behind >= numbers[SLOT_TOP] or mark[behind] >= 0 or -mark[first] - mark[behind] >= len(heads):
                break
            mark[first] += mark[behind]
            mark[behind] = 0
        first = np.int64(child[first])
    while chain != NONE:
        first, chain = chain, np.int64(child[chain])
        if mark[first] < 0:
            _give_block(tree, first, -mark[first])
        mark[first] = 0
    numbers[RETURNED] = 0


@numba_inner
def hold(tree: Tree, node: Int) -> None:
    tree.nodes[node, REFERENCES] += 1


@numba_inner
def release(tree: Tree, node: Int) -> None:
    """One reference less; a node without any is freed when room is needed."""
    nodes, numbers = tree.nodes, tree.numbers
    nodes[node, REFERENCES] -= 1
    if nodes[node, REFERENCES] == 0 and nodes[node, LINK] == LOOSE:
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
        if nodes[node, REFERENCES]:
            continue  # found again by its state in the meantime
        if nodes[node, KIND] != PENDING:
            forget_state(tree.table, node)
        collapse(tree, node)
        free_node(tree, node)
    return True


@lean
def free_node(tree: Tree, node: Int) -> None:
    """Give back a node that has neither references nor slots and is not found by its state."""
    tree.nodes[node, KIND] = FREE
    tree.nodes[node, LINK] = tree.numbers[FREE_NODE]
    tree.numbers[FREE_NODE] = node
    tree.numbers[NODES] -= 1


@numba_inner
def _sweep(tree: Tree) -> bool:
    """Free what is below some node with few visits; the hand of the clock goes on from where it was.

    Nodes that another thread has locked are left out: it may have to wait for its processor, or for this one.
    """
    nodes, numbers = tree.nodes, tree.numbers
    top = numbers[NODE_TOP]
    is_more = True
    while is_more:
        is_more = False
        for _ in range(top):
            node = numbers[CLOCK_HAND]
            numbers[CLOCK_HAND] = (node + 1) % top
            if nodes[node, KIND] == INNER and nodes[node, IN_FLIGHT] == 0 and node != numbers[ROOT]:
                if tree.values[node, VISITS] >= numbers[THRESHOLD]:
                    is_more = True
                elif try_lock(nodes, node, LOCK):
                    is_free = nodes[node, KIND] == INNER and nodes[node, IN_FLIGHT] == 0
                    if is_free:
                        collapse(tree, node)
                        nodes[node, KIND] = LEAF
                        numbers[COLLAPSED] += 1
                    unlock(nodes, node, LOCK)
                    if is_free:
                        return True
        if is_more:
            numbers[THRESHOLD] *= 2
    return False


@lean
def collapse(tree: Tree, node: Int) -> None:
    """Give up a node's slots and edges, and its references to the nodes below."""
    nodes, numbers = tree.nodes, tree.numbers
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
    edge = nodes[node, EDGES]
    while edge != NONE:
        release(tree, tree.edge_child[edge])
        following = tree.edge_next[edge]
        tree.edge_next[edge] = numbers[FREE_EDGE]
        numbers[FREE_EDGE] = edge
        numbers[EDGE_COUNT] -= 1
        edge = following
    size = (count + GRAIN - 1) // GRAIN
    _give_block(tree, first, size)
    numbers[SLOTS] -= GRAIN * size
    numbers[RETURNED] += GRAIN * size
    nodes[node, FIRST] = nodes[node, EDGES] = NONE


@numba_inner
def is_marked(tree: Tree, slot: Int) -> bool:
    """Whether what a move is worth was known before it was ever done (`expansion.mark_ends`)."""
    return bool(tree.child[slot] == NONE and tree.lower[slot] == tree.upper[slot])


@numba_inner
def counts_joint_moves(tree: Tree, node: Int) -> bool:
    """Whether the joint moves of a node are few enough for their codes to be numbers from 0 on."""
    combinations = 1.0
    for column in range(COUNT, tree.nodes.shape[1]):
        combinations *= tree.nodes[node, column]
    return combinations <= _MOST_CODES


@numba_inner
def joint_code(tree: Tree, node: Int, slots: Ids) -> np.int64:
    """Which joint move so many slots, one of each role, are: its number in mixed radix, the last role's place first.

    Where numbers would not fit into 64 bits, it is a hash. Two joint moves of one node then get the same code with a
    probability of 2 ** -64, so that the second would lead to the first one's state.
    """
    first = np.int64(tree.nodes[node, FIRST])
    if not counts_joint_moves(tree, node):
        mixed = np.uint64(0x9E3779B97F4A7C15)
        for role in range(len(slots)):
            mixed = (mixed ^ np.uint64(slots[role] - first)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        return np.int64((mixed * np.uint64(0x94D049BB133111EB)) >> np.uint64(1))
    code = np.int64(0)
    for role in range(len(slots)):
        count = np.int64(tree.nodes[node, COUNT + role])
        code = code * count + (slots[role] - first)
        first += count
    return np.int64(code)


@numba_inner
def find_edge(tree: Tree, node: Int, code: Int) -> Int:
    """The node below a joint move, or NONE; what is looked for comes to the front."""
    nodes = tree.nodes
    previous: Int = NONE
    edge = np.int64(nodes[node, EDGES])
    while edge != NONE and tree.edge_code[edge] != code:
        previous = edge
        edge = np.int64(tree.edge_next[edge])
    if edge == NONE:
        return NONE
    if previous != NONE:
        tree.edge_next[previous] = tree.edge_next[edge]
        tree.edge_next[edge] = nodes[node, EDGES]
        nodes[node, EDGES] = edge
    return np.int64(tree.edge_child[edge])


@lean
def see_edge(tree: Tree, node: Int, code: Int) -> Int:
    """The same, and nothing is changed; NONE also while a worker changes the order."""
    edge = np.int64(tree.nodes[node, EDGES])
    while edge != NONE and tree.edge_code[edge] != code:
        edge = np.int64(tree.edge_next[edge])
    return edge if edge == NONE else np.int64(tree.edge_child[edge])


@lean
def add_edge(tree: Tree, node: Int, code: Int, target: Int) -> bool:
    """Put a node below a joint move, as one more reference to it; False when there is no room."""
    numbers = tree.numbers
    if numbers[FREE_EDGE] == NONE and numbers[EDGE_TOP] >= len(tree.edge_code):
        make_room(tree)
    edge = numbers[FREE_EDGE]
    if edge != NONE:
        numbers[FREE_EDGE] = tree.edge_next[edge]
    elif numbers[EDGE_TOP] < len(tree.edge_code):
        edge = numbers[EDGE_TOP]
        numbers[EDGE_TOP] += 1
    else:
        return False
    numbers[EDGE_COUNT] += 1
    tree.edge_code[edge] = code
    tree.edge_child[edge] = target
    tree.edge_next[edge] = tree.nodes[node, EDGES]
    tree.nodes[node, EDGES] = edge
    hold(tree, target)
    return True


def make_batch(roles: int, most_moves: int, seed: int, worker: int = 0) -> Batch:
    """All idle; worker: its number, another one for each batch of a tree."""

    def ids(*shape: int) -> Ids:
        return np.zeros((LANES, *shape), np.int32)

    groups = LANES * (MOST_DEPTH + 1)
    made = Batch(
        status=ids(),
        leaf=ids(),
        following=ids(),
        groups=np.zeros((groups, SLOT + roles), np.int32),
        totals=np.zeros((groups, 2 * roles), np.float64),
        places=np.zeros(max(1, most_moves), np.int32),
        chosen=np.zeros(roles, np.int32),
        blocked=ids(),
        roots=ids(),
        values=np.zeros((LANES, roles), np.float64),
        learned=np.zeros((LANES, roles), np.float64),
        expanding=ids(),
        fresh=ids(),
        fresh_joint=ids(roles),
        lookahead_parent=ids(),
        lookahead_slot=ids(),
        lookahead_value=np.zeros(LANES, np.float64),
        scores=np.zeros(max(1, most_moves), np.float64),
        scratch=np.zeros((3, most_moves + 1), np.float64),
        terms=np.zeros((roles, 3), np.float64),
        activations=make_activations(),
        random=np.array([2 * seed + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        numbers=np.zeros(9, np.int64),
    )
    made.numbers[WORKER] = worker
    return made
