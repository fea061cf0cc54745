"""Multiple-observer information set MCTS, 512 descents at a time (Cowling, Powley and Whitehouse, 2012).

A simulation begins in a state drawn from a belief. Each role has a tree of its own, whose nodes are its information
sets: it selects by UCB1 from what it knows there, whatever the state is, and uniformly below its tree. Once all roles
are below theirs, a playout in lanes goes on to the end. Nodes are found by the hash of what a role knows since the
start of the match, so they serve later searches as well, as long as there is room for what these add.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.terms import Term
from ggp.kernel import LANES, Int, draw, lean, numba_inner
from ggp.simulation.belief import Belief, Knowing, Policies, Weights, key_after, make_knowing, set_key, tell
from ggp.simulation.evaluate import UNKNOWN, Bits, copy_state
from ggp.simulation.expansion import (
    OVER,
    Expansion,
    count_legal,
    do_steps,
    look,
    make_expansion,
    next_legal,
    value_ends,
)
from ggp.simulation.playout import (
    Lanes,
    PlayoutPlan,
    drop_lanes,
    load_lanes,
    make_lanes,
    play_values,
    with_cap,
    worth_of,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, find_state, make_state_table

EXPLORATION = 0.7  # c in mean value + c · √(log(visits of the node) / visits of the move)
_MOST_STEPS = 2000  # of a descent, which then is worth UNKNOWN
_DEEPEST = 64  # moves of a descent that are remembered
_EDGE_BYTES, _NODE_BYTES = 20, 24
_EDGES_PER_NODE = 6  # there is room for
_PLAYOUTS = 8  # of a descent: next to the trees they cost nearly nothing
_DECISIVE = 2  # steps that playouts see ahead, where that is affordable
_STEPS_AT_ONCE = 64  # of playouts
NONE = -1


class _Trees(NamedTuple):
    """Of all roles: N nodes, E edges. Locking: none, one thread works on them."""

    table: StateTable  # numbers the nodes by their key
    first: Ids  # (N,) node n has the edges first[n] … first[n] + edge_count[n] - 1
    edge_count: Ids  # (N,) 0 where there was no room
    visits: NDArray[np.int64]  # (N,)
    move: Ids  # (E,) numbered within the role
    tried: Ids  # (E,) visits, those under way included
    total: Weights  # (E,) sum of values, 0 to 1
    edges: NDArray[np.int64]  # (1,) that are taken


class _Descents(NamedTuple):
    """Of one batch."""

    expansion: Expansion
    knowing: Knowing
    lane: Ids  # (512,) the descent in each row
    path: Ids  # (512, ·) edges, by descent
    path_role: Ids  # (512, ·)
    length: Ids  # (512,)
    is_inside: NDArray[np.bool_]  # (512, R) whether a role is in its tree still
    leaf: Bits  # (512, words) the state from which a playout goes on, by descent
    leaf_steps: Ids  # (512,) how many steps from the world that is, or NONE
    key: Bits  # (1, 1)
    random: NDArray[np.uint64]  # (1,)


@dataclass(frozen=True, slots=True)
class MoveValue:
    """What is known of a move of the role in its information set."""

    move: Term
    visits: int
    value: float  # mean, 0 to 1


class InformationSetSearch:
    """A search for one role, by its belief; used by one thread."""

    def __init__(self, machine: CircuitMachine, role: str, memory_bytes: int, seed: int = 0) -> None:
        self._machine = machine
        self._role = machine.roles.index(role)
        batches, roles = machine.batches, len(machine.roles)
        nodes = max(64, memory_bytes // (_NODE_BYTES + 16 + _EDGES_PER_NODE * _EDGE_BYTES))
        edges = nodes * _EDGES_PER_NODE
        self._trees = _Trees(
            make_state_table(1, nodes), np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.int64),
            np.zeros(edges, np.int32), np.zeros(edges, np.int32), np.zeros(edges), np.zeros(1, np.int64),
        )  # fmt: skip
        self._descents = _Descents(
            make_expansion(batches), make_knowing(batches), np.zeros(LANES, np.int32),
            np.zeros((LANES, _DEEPEST), np.int32), np.zeros((LANES, _DEEPEST), np.int32), np.zeros(LANES, np.int32),
            np.zeros((LANES, roles), np.bool_), np.zeros((LANES, batches.initial.shape[1]), np.uint64),
            np.zeros(LANES, np.int32), np.zeros((1, 1), np.uint64), np.array([2 * seed + 1], np.uint64),
        )  # fmt: skip
        simulator = machine.simulator(decisive=_DECISIVE)
        self._plan, self._worth = with_cap(simulator.plan, _MOST_STEPS), worth_of(machine.compiled)
        self._lanes = make_lanes(self._plan, simulator.steps.rows, roles, seed)
        machine.compile_in_background(decisive=_DECISIVE)
        self._root = np.uint64(0)  # the key of the information set that was searched last
        self.descents = 0

    @property
    def policies(self) -> Policies:
        """What the roles do by what was found so far; it changes while the search runs."""
        trees = self._trees
        return Policies(trees.table, trees.first, trees.edge_count, trees.move, trees.tried)

    def run(self, belief: Belief, stop: Callable[[], bool], descents: float = inf, seconds: float = inf) -> None:
        """Makes so many descents, or as many as there are in so many seconds, in whole batches, or until told to stop.

        What is stopped before it has come to an end counts nothing. `belief` has a world at least.
        """
        self._begin_search(belief)
        states, keys, cumulative = belief.states, belief.keys, np.cumsum(belief.weights)
        phase = max(int(self._machine.phases_of(states[:1])[0]), 0)
        plan, lanes = self._plan, self._lanes
        end, last = perf_counter() + seconds, self.descents + descents
        while not stop() and perf_counter() < end and self.descents < last:
            descend(self._trees, self._descents, states, keys, cumulative)
            start_playouts(self._descents, plan, lanes, phase, _PLAYOUTS)
            while play_values(plan, lanes, self._worth, _STEPS_AT_ONCE):
                if stop():
                    self._take_back()
                    return
            back_up_playouts(self._trees, self._descents, lanes)
            self.descents += LANES

    def _begin_search(self, belief: Belief) -> None:
        """Forgets all nodes where the role has come to another information set and half of the room is taken."""
        root, trees = np.uint64(set_key(belief.keys[0, self._role], self._role)), self._trees
        is_half_full = 2 * trees.table.size[0] > len(trees.first) or 2 * trees.edges[0] > len(trees.move)
        if root != self._root and is_half_full:
            trees.table.slots[:] = EMPTY
            trees.table.size[0] = trees.edges[0] = 0
        self._root = root

    def _take_back(self) -> None:
        """Forgets the playouts under way, and the visits of the descents that wait for them."""
        drop_lanes(self._plan, self._lanes)
        descents = self._descents
        waits = (descents.leaf_steps != NONE)[:, np.newaxis] & (np.arange(_DEEPEST) < descents.length[:, np.newaxis])
        np.subtract.at(self._trees.tried, descents.path[waits], 1)

    def result(self, belief: Belief) -> tuple[MoveValue, ...]:
        """The moves of the role where it is now, those with most visits first; none where they were not searched."""
        trees = self._trees
        if not len(belief.weights):
            return ()
        self._descents.key[0, 0] = set_key(belief.keys[0, self._role], self._role)
        node = int(find_state(trees.table, self._descents.key, 0))
        if node == EMPTY:
            return ()
        names = self._machine.compiled.moves[self._role]
        edges = range(int(trees.first[node]), int(trees.first[node]) + int(trees.edge_count[node]))
        found = [
            MoveValue(names[trees.move[at]], int(trees.tried[at]), float(trees.total[at] / max(1, trees.tried[at])))
            for at in edges
        ]
        return tuple(sorted(found, key=lambda each: -each.visits))


@lean
def descend(trees: _Trees, descents: _Descents, states: Bits, keys: Bits, cumulative: Weights) -> None:
    """One batch from worlds with these cumulative probabilities, to ends, or to where no role is in its tree."""
    expansion, knowing = descents.expansion, descents.knowing
    _begin(descents, states, keys, cumulative)
    rows: Int = np.int64(LANES)
    for step in range(_MOST_STEPS):
        look(expansion, expansion.after, rows)
        value_ends(expansion, expansion.after, rows)
        rows = _choose(trees, descents, rows, np.int64(step))
        if rows == 0:
            return
        tell(expansion, knowing, rows)
        for row in range(rows):
            for role in range(len(knowing.nature)):
                key = knowing.keys[row, role]
                knowing.keys[row, role] = key_after(expansion, knowing, key, np.int64(row), np.int64(role))
        do_steps(expansion, expansion.joint, rows)
    for row in range(rows):
        for role in range(len(knowing.nature)):
            expansion.value[row, role] = UNKNOWN
        _back_up(trees, descents, np.int64(descents.lane[row]), expansion.value, np.int64(row))


@lean
def start_playouts(descents: _Descents, plan: PlayoutPlan, lanes: Lanes, phase: Int, playouts: Int) -> None:
    """Have lane d play out the leaf of descent d so often, if it has one; phase: of the worlds."""
    for lane in range(LANES):
        steps = descents.leaf_steps[lane]
        lanes.quota[lane] = 0 if steps == NONE else playouts
        lanes.phase[lane] = (phase + max(steps, 0)) % plan.phases
    load_lanes(plan, lanes, descents.leaf)


@lean
def back_up_playouts(trees: _Trees, descents: _Descents, lanes: Lanes) -> None:
    for lane in range(LANES):
        if lanes.done[lane] > 0:
            for role in range(lanes.values.shape[1]):
                lanes.values[lane, role] /= lanes.done[lane]
            _back_up(trees, descents, np.int64(lane), lanes.values, np.int64(lane))


@numba_inner
def _begin(descents: _Descents, states: Bits, keys: Bits, cumulative: Weights) -> None:
    expansion, knowing = descents.expansion, descents.knowing
    for row in range(LANES):
        place = (draw(descents.random, np.int64(1 << 30)) + 0.5) / (1 << 30) * cumulative[-1]
        world = min(np.int64(np.searchsorted(cumulative, place)), np.int64(len(states) - 1))
        for word in range(states.shape[1]):
            expansion.after[row, word] = states[world, word]
        for role in range(keys.shape[1]):
            knowing.keys[row, role] = keys[world, role]
            descents.is_inside[row, role] = not knowing.nature[role]
        descents.lane[row], descents.length[row], descents.leaf_steps[row] = row, 0, NONE


@lean
def _choose(trees: _Trees, descents: _Descents, rows: Int, step: Int) -> Int:
    """Back up what has come to its end, and put aside what is to be played out; moves of all roles for the rest.

    The rest moves up. How many rows are left.
    """
    expansion, knowing = descents.expansion, descents.knowing
    kept = np.int64(0)
    for row in range(rows):
        lane = np.int64(descents.lane[row])
        if expansion.chooser[row] == OVER:
            _back_up(trees, descents, lane, expansion.value, np.int64(row))
            continue
        is_inside = False
        for role in range(len(knowing.nature)):
            is_inside = is_inside or descents.is_inside[lane, role]
        if not is_inside:
            copy_state(descents.leaf, lane, expansion.after, np.int64(row))
            descents.leaf_steps[lane] = step
            continue
        for role in range(len(knowing.nature)):
            move = _choose_move(trees, descents, np.int64(row), np.int64(role))
            expansion.joint[kept, role] = move
            knowing.keys[kept, role] = knowing.keys[row, role]
        copy_state(expansion.before, kept, expansion.after, np.int64(row))
        descents.lane[kept] = lane
        kept += 1
    return np.int64(kept)


@numba_inner
def _choose_move(trees: _Trees, descents: _Descents, row: Int, role: Int) -> Int:
    expansion, lane = descents.expansion, np.int64(descents.lane[row])
    count = count_legal(expansion, row, role)
    move = next_legal(expansion, row, role, np.int64(0))
    if count == 1:
        return np.int64(move)
    if descents.is_inside[lane, role]:
        edge = _choose_edge(trees, descents, row, role)
        if edge >= 0:
            if descents.length[lane] < _DEEPEST:
                descents.path[lane, descents.length[lane]] = edge
                descents.path_role[lane, descents.length[lane]] = role
                descents.length[lane] += 1
                trees.tried[edge] += 1
            return np.int64(trees.move[edge])
        descents.is_inside[lane, role] = False
    for _ in range(draw(descents.random, count)):
        move = next_legal(expansion, row, role, move + 1)
    return np.int64(move)


@numba_inner
def _choose_edge(trees: _Trees, descents: _Descents, row: Int, role: Int) -> Int:
    """By UCB1, of those that are legal in the world; -1 where there is no node, and no room for one."""
    descents.key[0, 0] = set_key(descents.knowing.keys[row, role], role)
    size = trees.table.size[0]
    node = add_state(trees.table, descents.key, np.int64(0))
    if node == EMPTY:
        return np.int64(-1)
    if node == size:
        _add_edges(trees, descents.expansion, row, role, node)
        descents.is_inside[descents.lane[row], role] = False
    trees.visits[node] += 1
    most, best, ties = -1.0, np.int64(-1), np.int64(0)
    log = np.log(float(trees.visits[node]))
    for edge in range(trees.first[node], trees.first[node] + trees.edge_count[node]):
        move = np.int64(trees.move[edge])
        if next_legal(descents.expansion, row, role, move) != move:
            continue
        tried = trees.tried[edge]
        score = 1e9 if tried == 0 else trees.total[edge] / tried + EXPLORATION * np.sqrt(log / tried)
        if score > most:
            most, best, ties = score, np.int64(edge), np.int64(1)
        elif score == most:
            ties += 1
            if draw(descents.random, ties) == 0:
                best = np.int64(edge)
    return best


@numba_inner
def _add_edges(trees: _Trees, expansion: Expansion, row: Int, role: Int, node: Int) -> None:
    count = count_legal(expansion, row, role)
    trees.visits[node], trees.edge_count[node], trees.first[node] = 0, 0, trees.edges[0]
    if trees.edges[0] + count > len(trees.move):
        return
    move = next_legal(expansion, row, role, np.int64(0))
    for _ in range(count):
        edge = trees.edges[0]
        trees.move[edge], trees.tried[edge], trees.total[edge] = move, 0, 0.0
        trees.edges[0] += 1
        move = next_legal(expansion, row, role, move + 1)
    trees.edge_count[node] = count


@numba_inner
def _back_up(trees: _Trees, descents: _Descents, lane: Int, values: Weights, row: Int) -> None:
    """A descent is worth values[row] to the roles."""
    for at in range(descents.length[lane]):
        trees.total[descents.path[lane, at]] += values[row, descents.path_role[lane, at]]
