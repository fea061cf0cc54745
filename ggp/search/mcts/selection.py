"""From the root to a leaf: each role chooses by upper confidence bounds on its own value.

UCB1 and UCB1-Tuned: Auer, Cesa-Bianchi and Fischer, 2002. Visits under way count for the bonus, not for the value: Liu
et al., 2020. Where several roles choose, each does so by its own statistics: decoupled UCT.
"""

import numpy as np

from ggp.kernel import Int, inner, lean
from ggp.search.mcts.batch import (
    BLOCKED,
    EXACT,
    FRESH,
    FRESH_NODES,
    GROWING_NODES,
    READY,
    WANTED,
    Flights,
    Parameters,
    draw,
)
from ggp.search.mcts.grave import worth_elsewhere
from ggp.search.mcts.tree import (
    COUNT,
    END,
    FIRST,
    FLYING,
    GROWING,
    HOLDERS,
    KIND,
    LEAF,
    MARK,
    NONE,
    PENDING,
    ROOT,
    STAMP,
    TABLE,
    VISITS,
    Tree,
    add_pair,
    find_pair,
    free_node,
    new_node,
)

PRIOR = 10.0  # visits elsewhere before they count half as much as they might


@lean
def descend(tree: Tree, flights: Flights, parameters: Parameters, count: Int) -> None:
    """Bring the first `count` flights that are WANTED or BLOCKED to leaves."""
    nodes = tree.nodes
    for flight in range(count):
        was = flights.status[flight]
        if was == WANTED:
            node = tree.numbers[ROOT]
            flights.depth[flight] = 0
            nodes[node, FLYING] += 1
        elif was == BLOCKED:
            node = np.int64(flights.leaf[flight])
        else:
            continue
        table: Int = np.int64(NONE)
        tree.numbers[STAMP] = (tree.numbers[STAMP] + 1) % (1 << 30)
        while True:
            status = _arrival(tree, flights, parameters, flight, node)
            if status != WANTED:
                break
            nodes[node, MARK] = tree.numbers[STAMP]
            if nodes[node, TABLE] != NONE:
                table = np.int64(nodes[node, TABLE])
            child = _step_down(tree, flights, parameters, flight, node, table)
            if child == NONE:  # no room for another node
                status = READY
                break
            nodes[child, FLYING] += 1
            node = child
        flights.leaf[flight] = node
        flights.status[flight] = status


@inner
def _arrival(tree: Tree, flights: Flights, parameters: Parameters, flight: Int, node: Int) -> int:
    """What a flight does in a node; WANTED: it goes on."""
    nodes = tree.nodes
    kind = nodes[node, KIND]
    status = WANTED
    if kind == END or is_exact(tree, node):
        status = EXACT
    elif kind == PENDING:
        status = FRESH
    elif kind == GROWING:
        status = BLOCKED
    elif kind == LEAF:
        young = nodes[node, VISITS] < parameters.expand_after and node != tree.numbers[ROOT]
        if young or flights.status[flight] == BLOCKED or flights.numbers[GROWING_NODES] == len(flights.growing):
            status = READY
        else:
            nodes[node, KIND] = GROWING
            flights.growing[flights.numbers[GROWING_NODES]] = node
            flights.numbers[GROWING_NODES] += 1
            status = BLOCKED
    elif nodes[node, MARK] == tree.numbers[STAMP] or flights.depth[flight] == flights.path.shape[1]:
        status = READY
    return status


@inner
def count_choosers(tree: Tree, node: Int) -> int:
    """How many roles have more than one move."""
    choosers = 0
    for column in range(COUNT, tree.nodes.shape[1]):
        choosers += tree.nodes[node, column] > 1
    return choosers


@inner
def is_exact(tree: Tree, node: Int) -> bool:
    """Whether the value of a node is known for all roles."""
    roles = tree.nodes.shape[1] - COUNT
    exact = True
    for role in range(roles):
        exact = exact and tree.values[node, roles + role] == tree.values[node, 2 * roles + role]
    return exact


@inner
def _step_down(tree: Tree, flights: Flights, parameters: Parameters, flight: Int, node: Int, table: Int) -> Int:
    """Choose a joint move, by the table of a node above too; the node below it, which may be new.

    NONE, with nothing done, when there is no room.
    """
    nodes, depth = tree.nodes, flights.depth[flight]
    roles = nodes.shape[1] - COUNT
    first: Int = np.int64(nodes[node, FIRST])
    place = first
    choosers, code = count_choosers(tree, node), np.int64(0)
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        slot: Int = first
        if node == tree.numbers[ROOT] and parameters.forced[role] != NONE:
            for at in range(first, first + count):
                if tree.move[at] == parameters.forced[role]:
                    slot = np.int64(at)
        elif count > 1 and parameters.nature[role]:
            slot = first + draw(flights.random, count)
        elif count > 1:
            slot = _best_slot(
                tree, flights, parameters, node, role, first, parameters.tie_margin if choosers > 1 else 0.0, table
            )
        if count > 1:
            place = slot
        code = code * count + (slot - first)
        flights.slots[flight, depth, role] = slot
        first += count
    child = np.int64(tree.child[place]) if choosers < 2 else find_pair(tree, node, code)
    if child == NONE:
        child = new_node(tree)
        if child == NONE:
            return NONE
        if choosers < 2:
            tree.child[place] = child
            nodes[child, HOLDERS] += 1
        elif not add_pair(tree, node, code, child):
            free_node(tree, child)
            return NONE
        fresh = flights.numbers[FRESH_NODES]
        flights.fresh[fresh], flights.parent[fresh], flights.code[fresh] = child, node, code
        flights.place[fresh] = place if choosers < 2 else NONE
        for role in range(roles):
            flights.joint[fresh, role] = tree.move[flights.slots[flight, depth, role]]
        flights.numbers[FRESH_NODES] += 1
    for role in range(roles):
        tree.aloft[flights.slots[flight, depth, role]] += 1
    flights.path[flight, depth] = node
    flights.depth[flight] += 1
    return child


@inner
def _best_slot(
    tree: Tree, flights: Flights, parameters: Parameters, node: Int, role: Int, first: Int, ties: float, table: Int
) -> Int:
    """The slot with the highest upper bound; at random among those that come as close to it as `ties`."""
    nodes, scores = tree.nodes, flights.scores
    roles = nodes.shape[1] - COUNT
    count, visits = np.int64(nodes[node, COUNT + role]), nodes[node, VISITS]
    known = tree.values[node, roles + role]
    growth = np.log(1.0 + visits + nodes[node, FLYING])
    mean = tree.values[node, role] / visits if visits else 0.5
    untried = min(1.0, mean + parameters.first_play_urgency)
    last = first + count
    tries, aloft, gain, square = (
        tree.tries[first:last],
        tree.aloft[first:last],
        tree.gain[first:last],
        tree.square[first:last],
    )
    low, high = tree.low[first:last], tree.high[first:last]
    usual = mean
    for at in range(count):
        share = 1.0 / max(np.float64(tries[at]), 1.0)
        value = gain[at] / max(tries[at] + parameters.virtual_loss * aloft[at], 1.0)
        mean = gain[at] * share
        variance = max(square[at] * share - mean * mean, 0.0)
        value = value if tries[at] > 0 else untried / (1.0 + parameters.virtual_loss * aloft[at])
        variance = variance if tries[at] > 0 else 0.25
        value = min(max(value, low[at]), high[at])
        rate = growth / max(np.float64(tries[at] + aloft[at]), 0.5)
        cut = min(1.0, 4.0 * (variance + np.sqrt(2.0 * rate)))
        if table != NONE:
            move = parameters.first_move[role] + tree.move[first + at]
            elsewhere, seen = worth_elsewhere(tree, table, move, usual)
            elsewhere += parameters.first_play_urgency if tries[at] == 0 else 0.0
            weight = parameters.grave_equivalence / (parameters.grave_equivalence + tries[at]) * seen / (seen + PRIOR)
            value = min(max((1.0 - weight) * value + weight * elsewhere, low[at]), high[at])
        score = value + parameters.exploration * np.sqrt(rate * (cut if parameters.ucb1_tuned else 1.0))
        scores[at] = score if low[at] < high[at] and high[at] > known else low[at] - 2.0
    best = np.float64(-10.0)
    for at in range(count):
        best = max(best, scores[at])
    enough = best - ties if best > -1.0 else best
    equal = 0
    for at in range(count):
        equal += scores[at] >= enough
    chosen = draw(flights.random, equal) if equal > 1 else 0
    slot = first
    for at in range(count):
        if scores[at] >= enough:
            if chosen == 0:
                slot = first + at
                break
            chosen -= 1
    return np.int64(slot)
