"""From leaves back to the root: visits, values and bounds."""

import numpy as np

from ggp.kernel import Int, inner, lean
from ggp.search.mcts.batch import DEPTHS, EXACT, EXACT_LANDED, IDLE, LANDED, PLAYING, READY, Flights, Parameters
from ggp.search.mcts.bounds import tighten
from ggp.search.mcts.grave import note_moves
from ggp.search.mcts.selection import count_choosers
from ggp.search.mcts.tree import COUNT, FLYING, PHASE, VISITS, Tree
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.leaves import Leaves


@lean
def land_exact(tree: Tree, flights: Flights, parameters: Parameters, count: Int) -> None:
    """Back up the flights whose leaves' values are known, and tighten the bounds above them."""
    roles = tree.nodes.shape[1] - COUNT
    for flight in range(count):
        if flights.status[flight] == EXACT:
            for role in range(roles):
                flights.values[flight, role] = tree.values[flights.leaf[flight], roles + role]
            _tighten_path(tree, flights, parameters, flight)
            _land(tree, flights, parameters, flight)
            flights.numbers[EXACT_LANDED] += 1


@lean
def take_off(tree: Tree, flights: Flights, leaves: Leaves, starts: Bits, count: Int, rounds: Int) -> None:
    """Put the states of flights that are READY into lanes: flight f has the lanes f, f + count, f + 2 count …"""
    copies = len(leaves.left) // count
    for flight in range(count):
        if flights.status[flight] != READY:
            continue
        flights.status[flight] = PLAYING
        leaf = flights.leaf[flight]
        for copy in range(copies):
            lane = flight + copy * count
            copy_state(starts, lane, tree.states, leaf)
            leaves.phase[lane] = tree.nodes[leaf, PHASE]
            leaves.left[lane] = rounds


@lean
def land_played(tree: Tree, flights: Flights, parameters: Parameters, leaves: Leaves, count: Int) -> None:
    """Back up the flights whose playouts are all over."""
    copies, roles = len(leaves.left) // count, flights.values.shape[1]
    for flight in range(count):
        if flights.status[flight] != PLAYING:
            continue
        flights.values[flight] = 0.0
        done = 0
        for copy in range(copies):
            lane = flight + copy * count
            done += leaves.done[lane]
            leaves.done[lane] = 0
            for role in range(roles):
                flights.values[flight, role] += leaves.values[lane, role]
                leaves.values[lane, role] = 0.0
        for role in range(roles):
            flights.values[flight, role] = min(max(flights.values[flight, role] / max(done, 1), 0.0), 1.0)
        _land(tree, flights, parameters, flight)


@lean
def cancel(tree: Tree, flights: Flights) -> None:
    """Take all flights back as if they had never begun."""
    for flight in range(len(flights.status)):
        if flights.status[flight] == IDLE:
            continue
        flights.status[flight] = IDLE
        tree.nodes[flights.leaf[flight], FLYING] -= 1
        for at in range(flights.depth[flight]):
            tree.nodes[flights.path[flight, at], FLYING] -= 1
            for role in range(flights.values.shape[1]):
                tree.aloft[flights.slots[flight, at, role]] -= 1


@inner
def _land(tree: Tree, flights: Flights, parameters: Parameters, flight: Int) -> None:
    """Add the values of a flight along its path, from each node on within the node's bounds."""
    nodes, roles = tree.nodes, flights.values.shape[1]
    flights.status[flight] = IDLE
    depth = flights.depth[flight]
    flights.numbers[LANDED] += 1
    flights.numbers[DEPTHS] += depth
    for at in range(depth, -1, -1):
        node = flights.path[flight, at] if at < depth else flights.leaf[flight]
        nodes[node, FLYING] -= 1
        nodes[node, VISITS] += 1
        if at < depth:
            if parameters.grave_equivalence > 0.0:
                note_moves(tree, flights, parameters.first_move, flight, np.int64(at))
            for role in range(roles):
                slot, value = flights.slots[flight, at, role], flights.values[flight, role]
                tree.aloft[slot] -= 1
                tree.tries[slot] += 1
                tree.gain[slot] += value
                tree.square[slot] += value * value
                if parameters.mast_temperature > 0.0 and nodes[node, COUNT + role] > 1:
                    move = parameters.first_move[role] + tree.move[slot]
                    parameters.credit[0, move] += 1.0
                    parameters.credit[1, move] += value
        for role in range(roles):
            value = flights.values[flight, role]
            bounded = min(max(value, tree.values[node, roles + role]), tree.values[node, 2 * roles + role])
            if bounded != value:
                flights.values[flight, role] = bounded
                if parameters.opposed[0]:
                    flights.values[flight, 1 - role] = 1.0 - bounded
        for role in range(roles):
            tree.values[node, role] += flights.values[flight, role]


@inner
def _tighten_path(tree: Tree, flights: Flights, parameters: Parameters, flight: Int) -> None:
    """Carry a leaf's bounds upwards as far as they change something."""
    nodes, values, roles = tree.nodes, tree.values, flights.values.shape[1]
    child = np.int64(flights.leaf[flight])
    changed = False
    for role in range(roles):
        changed = changed or values[child, roles + role] > 0.0 or values[child, 2 * roles + role] < 1.0
    at = np.int64(flights.depth[flight]) - 1
    while changed and at >= 0:
        node = np.int64(flights.path[flight, at])
        choosers = count_choosers(tree, node)
        for role in range(roles):
            slot = flights.slots[flight, at, role]
            if (choosers == 1 and nodes[node, COUNT + role] > 1) or (choosers == 0 and role == 0):
                tree.low[slot] = max(tree.low[slot], values[child, roles + role])
                tree.high[slot] = min(tree.high[slot], values[child, 2 * roles + role])
        changed = tighten(tree, parameters, node)
        child = node
        at -= 1
