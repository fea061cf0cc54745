"""From leaves back to the root: visits, values and proven bounds.

Bounds say what a node is worth at least and at most, exact where the game was searched to its end: MCTS-Solver with
score bounds (Cazenave and Saffidine, 2010), for any number of roles. Each role is assumed to choose what is best for
itself and, once that is proven, a move of which it is proven. Where several roles choose at once, a bound is what a
role can be sure of whatever the others do. Where chance chooses, bounds are expectations.
"""

import numpy as np

from ggp.kernel import Int, inner, lean
from ggp.learning.net import Net
from ggp.search.mcts.minimax import carry_up, uses_minimax
from ggp.search.mcts.selection import count_choosers, update_amaf
from ggp.search.mcts.tree import (
    BACKED_UP,
    COUNT,
    DEPTHS,
    EDGES,
    EXACT,
    EXACT_BACKED_UP,
    FIRST,
    IDLE,
    IN_FLIGHT,
    INNER,
    KIND,
    LENGTH,
    LONG,
    NONE,
    PHASE,
    PLAYING,
    READY,
    UNVALUED,
    VISITS,
    Batch,
    Parameters,
    Tree,
    counts_joint_moves,
)
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.playout import Lanes


@lean
def back_up_exact(tree: Tree, batch: Batch, parameters: Parameters, net: Net, count: Int) -> None:
    """Back up the descents whose leaves' values are known, and tighten the bounds above them."""
    roles = tree.nodes.shape[1] - COUNT
    for descent in range(count):
        if batch.status[descent] == EXACT:
            for role in range(roles):
                batch.values[descent, role] = tree.values[batch.leaf[descent], roles + role]
            _tighten_path(tree, batch, parameters, descent)
            if uses_minimax(parameters, net):
                tree.minimax[batch.leaf[descent]] = batch.values[descent, 0]
                carry_up(tree, batch, parameters, descent)
            _back_up(tree, batch, parameters, descent)
            batch.numbers[EXACT_BACKED_UP] += 1


@lean
def start_playouts(tree: Tree, batch: Batch, leaves: Lanes, starts: Bits, count: Int, rounds: Int) -> None:
    """Put the leaves of descents that are READY into lanes: descent d has the lanes d, d + count, d + 2 count …"""
    copies = len(leaves.quota) // count
    for descent in range(count):
        if batch.status[descent] != READY:
            continue
        batch.status[descent] = PLAYING
        leaf = batch.leaf[descent]
        for copy in range(copies):
            lane = descent + copy * count
            copy_state(starts, lane, tree.table.states, leaf)
            leaves.phase[lane] = tree.nodes[leaf, PHASE]
            leaves.quota[lane] = rounds


@lean
def back_up_played(tree: Tree, batch: Batch, parameters: Parameters, net: Net, leaves: Lanes, count: Int) -> None:
    """Back up the descents whose playouts are all over, mixed with the learned values of the leaves."""
    copies, roles = len(leaves.quota) // count, batch.values.shape[1]
    for descent in range(count):
        if batch.status[descent] != PLAYING:
            continue
        batch.values[descent] = 0.0
        done = 0
        for copy in range(copies):
            lane = descent + copy * count
            done += leaves.done[lane]
            leaves.done[lane] = 0
            for role in range(roles):
                batch.values[descent, role] += leaves.values[lane, role]
                leaves.values[lane, role] = 0.0
        for role in range(roles):
            batch.values[descent, role] = min(max(batch.values[descent, role] / max(done, 1), 0.0), 1.0)
        if parameters.value_weight > 0.0 and len(net.policy) > 0:
            for role in range(roles):
                learned = batch.learned[descent, role]
                batch.values[descent, role] += parameters.value_weight * (learned - batch.values[descent, role])
        if uses_minimax(parameters, net):
            leaf = batch.leaf[descent]
            if tree.minimax[leaf] == UNVALUED:
                tree.minimax[leaf] = 0.5 * (batch.learned[descent, 0] + 1.0 - batch.learned[descent, 1])
            carry_up(tree, batch, parameters, descent)
        _back_up(tree, batch, parameters, descent)


@lean
def value_by_net(batch: Batch, count: Int) -> None:
    """Leaves of descents that are READY are not played out: only what was learned counts."""
    for descent in range(count):
        if batch.status[descent] == READY:
            batch.status[descent] = PLAYING


@lean
def cancel(tree: Tree, batch: Batch) -> None:
    """Take all descents back as if they had never begun."""
    for descent in range(len(batch.status)):
        if batch.status[descent] == IDLE:
            continue
        batch.status[descent] = IDLE
        tree.nodes[batch.leaf[descent], IN_FLIGHT] -= 1
        for at in range(batch.depth[descent]):
            tree.nodes[batch.path[descent, at], IN_FLIGHT] -= 1
            for role in range(batch.values.shape[1]):
                tree.in_flight[batch.slots[descent, at, role]] -= 1


@inner
def _back_up(tree: Tree, batch: Batch, parameters: Parameters, descent: Int) -> None:
    """Add the values of a descent along its path, from each node on within the node's bounds."""
    nodes, roles = tree.nodes, batch.values.shape[1]
    batch.status[descent] = IDLE
    depth = batch.depth[descent]
    batch.numbers[BACKED_UP] += 1
    batch.numbers[DEPTHS] += depth
    for at in range(depth, -1, -1):
        node = batch.path[descent, at] if at < depth else batch.leaf[descent]
        nodes[node, IN_FLIGHT] -= 1
        tree.values[node, VISITS] += 1.0
        if at < depth:
            if parameters.grave_equivalence > 0.0:
                update_amaf(tree, batch, parameters.first_move, descent, np.int64(at))
            for role in range(roles):
                slot, value = batch.slots[descent, at, role], batch.values[descent, role]
                tree.in_flight[slot] -= 1
                tree.visits[slot] += 1.0
                tree.value_sum[slot] += value
                tree.square_sum[slot] += value * value
                if parameters.mast_temperature > 0.0 and nodes[node, COUNT + role] > 1:
                    move = parameters.first_move[role] + tree.move[slot]
                    parameters.mast[0, move] += 1.0
                    parameters.mast[1, move] += value
        for role in range(roles):
            value = batch.values[descent, role]
            bounded = min(max(value, tree.values[node, roles + role]), tree.values[node, 2 * roles + role])
            if bounded != value:
                batch.values[descent, role] = bounded
                if parameters.zero_sum[0]:
                    batch.values[descent, 1 - role] = 1.0 - bounded
        for role in range(roles):
            tree.values[node, role] += batch.values[descent, role]


@inner
def _tighten_path(tree: Tree, batch: Batch, parameters: Parameters, descent: Int) -> None:
    """Carry a leaf's bounds upwards as far as they change something."""
    nodes, values, roles = tree.nodes, tree.values, batch.values.shape[1]
    child = np.int64(batch.leaf[descent])
    changed = False
    for role in range(roles):
        changed = changed or values[child, roles + role] > 0.0 or values[child, 2 * roles + role] < 1.0
    at = np.int64(batch.depth[descent]) - 1
    while changed and at >= 0:
        node = np.int64(batch.path[descent, at])
        choosers = count_choosers(tree, node)
        for role in range(roles):
            slot = batch.slots[descent, at, role]
            if (choosers == 1 and nodes[node, COUNT + role] > 1) or (choosers == 0 and role == 0):
                tree.lower[slot] = max(tree.lower[slot], values[child, roles + role])
                tree.upper[slot] = min(tree.upper[slot], values[child, 2 * roles + role])
        changed = tighten(tree, parameters, node)
        child = node
        at -= 1


@lean
def tighten(tree: Tree, parameters: Parameters, node: Int) -> bool:
    """Work out the bounds of a node anew; whether they became closer."""
    if tree.nodes[node, KIND] != INNER:
        return False
    choosers = count_choosers(tree, node)
    changed = _from_edges(tree, parameters, node) if choosers > 1 else _from_slots(tree, parameters, node)
    if changed:
        _measure(tree, node)
    return changed


@inner
def _narrow(tree: Tree, node: Int, role: Int, low: float, high: float) -> bool:
    roles = tree.nodes.shape[1] - COUNT
    values = tree.values
    changed = False
    if low > values[node, roles + role]:
        values[node, roles + role] = min(low, values[node, 2 * roles + role])
        changed = True
    if high < values[node, 2 * roles + role]:
        values[node, 2 * roles + role] = max(high, values[node, roles + role])
        changed = True
    return changed


@lean
def _from_slots(tree: Tree, parameters: Parameters, node: Int) -> bool:
    """Where one role has a choice, or none."""
    nodes, values = tree.nodes, tree.values
    roles = nodes.shape[1] - COUNT
    chooser, first, start, count = 0, np.int64(nodes[node, FIRST]), np.int64(nodes[node, FIRST]), np.int64(1)
    for role in range(roles):
        if nodes[node, COUNT + role] > 1:
            chooser, start, count = role, first, np.int64(nodes[node, COUNT + role])
        first += nodes[node, COUNT + role]
    by_chance = parameters.nature[chooser] and count > 1
    changed = False
    sure, most = np.float64(0.0), np.float64(0.0)
    for slot in range(start, start + count):
        sure, most = max(sure, tree.lower[slot]), max(most, tree.upper[slot])
    for role in range(roles):
        low, high = (0.0, 0.0) if by_chance else (1.0, 0.0)
        if role == chooser and not by_chance:
            low, high = sure, most
        else:
            for slot in range(start, start + count):
                child = tree.child[slot]
                below = values[child, roles + role] if child != NONE else 0.0
                above = values[child, 2 * roles + role] if child != NONE else 1.0
                if by_chance:
                    low += below / count
                    high += above / count
                elif tree.upper[slot] > sure or tree.lower[slot] == sure:
                    low, high = min(low, below), max(high, above)
        changed = _narrow(tree, node, role, low, high) or changed
    return changed


@lean
def _from_edges(tree: Tree, parameters: Parameters, node: Int) -> bool:
    """Where several roles choose at once: what each can be sure of."""
    nodes, values = tree.nodes, tree.values
    roles = nodes.shape[1] - COUNT
    if not counts_joint_moves(tree, node):
        return False  # so many that they are never all tried
    combinations: Int = np.int64(1)
    for role in range(roles):
        combinations *= np.int64(nodes[node, COUNT + role])
    first, stride, changed = np.int64(nodes[node, FIRST]), combinations, False
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        stride //= count
        low, high, seen = tree.scratch[0, :count], tree.scratch[1, :count], tree.scratch[2, :count]
        low[:], high[:], seen[:] = 1.0, 0.0, 0.0
        edge = nodes[node, EDGES]
        while edge != NONE:
            at = (tree.edge_code[edge] // stride) % count
            child = tree.edge_child[edge]
            seen[at] += 1.0
            low[at] = min(low[at], values[child, roles + role])
            high[at] = max(high[at], values[child, 2 * roles + role])
            edge = tree.edge_next[edge]
        best, most, sum_low, sum_high = 0.0, 0.0, 0.0, 0.0
        for at in range(count):
            whole = seen[at] == combinations // count
            tree.lower[first + at] = max(tree.lower[first + at], low[at] if whole else 0.0)
            tree.upper[first + at] = min(tree.upper[first + at], high[at] if whole else 1.0)
            best, most = max(best, float(tree.lower[first + at])), max(most, float(tree.upper[first + at]))
            sum_low, sum_high = sum_low + float(tree.lower[first + at]), sum_high + float(tree.upper[first + at])
        if parameters.nature[role] and count > 1:
            best, most = sum_low / count, sum_high / count
        changed = _narrow(tree, node, role, best, most) or changed
        first += count
    return changed


@lean
def _measure(tree: Tree, node: Int) -> None:
    """How many steps an exact node is from the end: the fewest for who gets the most, else the most."""
    nodes, values = tree.nodes, tree.values
    roles = nodes.shape[1] - COUNT
    first = np.int64(nodes[node, FIRST])
    shortest: Int = np.int64(LONG)
    longest: Int = np.int64(0)
    best = False
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        for slot in range(first, first + count):
            child = tree.child[slot]
            if child != NONE and (count > 1 or role == 0):
                length = np.int64(nodes[child, LENGTH])
                value = values[node, roles + role]
                best = best or bool(count > 1 and value >= 1.0)
                if count < 2 or tree.lower[slot] >= value:
                    shortest = min(shortest, length)
                    longest = max(longest, length if length < LONG else np.int64(0))
        first += count
    length_here = (shortest if best else longest) + 1
    nodes[node, LENGTH] = min(np.int64(LONG), np.int64(length_here))
