"""From leaves back to the root: visits, values and proven bounds.

Bounds say what a node is worth at least and at most, exact where the game was searched to its end: MCTS-Solver with
score bounds (Cazenave and Saffidine, 2010), for any number of roles. Each role is assumed to choose what is best for
itself and, once that is proven, a move of which it is proven. Where several roles choose at once, a bound is what a
role can be sure of whatever the others do. Where chance chooses, bounds are expectations.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, lean, numba_inner
from ggp.learning.net import QuantizedNet
from ggp.locks import lock, unlock
from ggp.row_sums import prefetch
from ggp.search.mcts.minimax import uses_minimax, value_node
from ggp.search.mcts.selection import count_choosers, is_exact
from ggp.search.mcts.tree import (
    BACKED_UP,
    BELOW,
    BELOW_END,
    BLOCKED_GROUPS,
    COUNT,
    EDGES,
    EXACT,
    FIRST,
    FRESH_NODES,
    GROUP_NODE,
    GROUPS,
    HEAD,
    IDLE,
    IN_FLIGHT,
    LENGTH,
    LOCK,
    LONG,
    NARROWED,
    NONE,
    PHASE,
    PLAYING,
    READY,
    SIZE,
    SLOT,
    TAIL,
    UNVALUED,
    VISITS,
    Batch,
    Parameters,
    Tree,
    counts_joint_moves,
    is_marked,
)
from ggp.search.retrograde import TINY
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.playout import Lanes, PlayoutPlan, load_lanes

_Totals: TypeAlias = NDArray[np.float64]
_AHEAD = 4  # groups whose nodes and slots are fetched before their turn


@lean
def start_playouts(  # noqa: PLR0913, PLR0917 - kernel
    tree: Tree, batch: Batch, plan: PlayoutPlan, leaves: Lanes, starts: Bits, count: Int, rounds: Int
) -> None:
    """Load the leaves of descents that are READY into lanes: descent d has the lanes d, d + count, d + 2 count …"""
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
    load_lanes(plan, leaves, starts)


@lean
def back_up(tree: Tree, batch: Batch, parameters: Parameters, net: QuantizedNet, leaves: Lanes, count: Int) -> None:
    """Back up all descents, whose playouts are over or whose leaves' values are known, and tighten bounds."""
    for descent in range(count):
        if batch.status[descent] == PLAYING:
            _value_played(batch, parameters, net, leaves, np.int64(descent), count)
        elif batch.status[descent] == EXACT:
            for role in range(batch.values.shape[1]):
                batch.values[descent, role] = tree.values[batch.leaf[descent], batch.values.shape[1] + role]
        batch.status[descent] = IDLE
    for number in range(batch.numbers[GROUPS] - 1, -1, -1):
        _fetch(tree, batch, np.int64(number) - _AHEAD)
        if batch.groups[number, SIZE]:
            _back_up_group(tree, batch, parameters, net, np.int64(number))
    batch.numbers[GROUPS] = 0
    batch.numbers[BACKED_UP] += count


@numba_inner
def _value_played(
    batch: Batch, parameters: Parameters, net: QuantizedNet, leaves: Lanes, descent: Int, count: Int
) -> None:
    """The values of a descent: the mean of the playouts of its leaf, mixed with what was learned of it."""
    done = np.int64(0)
    batch.values[descent] = 0.0
    for copy in range(len(leaves.quota) // count):
        lane = descent + copy * count
        done += np.int64(leaves.done[lane])
        leaves.done[lane] = 0
        for role in range(batch.values.shape[1]):
            batch.values[descent, role] += leaves.values[lane, role]
            leaves.values[lane, role] = 0.0
    if batch.values.shape[1] == 2 and abs(batch.values[descent, 0] + batch.values[descent, 1] - done) > TINY * done:
        parameters.zero_sum[0] = False
    for role in range(batch.values.shape[1]):
        value = min(max(batch.values[descent, role] / max(done, 1), 0.0), 1.0)
        if parameters.value_weight > 0.0 and len(net.policy) > 0:
            value += parameters.value_weight * (batch.learned[descent, role] - value)
        batch.values[descent, role] = value


@numba_inner
def _fetch(tree: Tree, batch: Batch, number: Int) -> None:
    """Have the processor fetch what a group's turn changes, here and in the node above."""
    if number >= 0 and batch.groups[number, GROUP_NODE] != NONE:
        prefetch(tree.nodes, np.int64(batch.groups[number, GROUP_NODE]))
        prefetch(tree.values, np.int64(batch.groups[number, GROUP_NODE]))
        if number > 0:
            for role in range(batch.values.shape[1]):
                prefetch(tree.visits, np.int64(batch.groups[number, SLOT + role]))


@lean
def value_by_net(batch: Batch, count: Int) -> None:
    """Leaves of descents that are READY are not played out: only what was learned counts."""
    for descent in range(count):
        if batch.status[descent] == READY:
            batch.status[descent] = PLAYING


@lean
def cancel(tree: Tree, batch: Batch) -> None:
    """Take all descents back as if they had never begun."""
    for number in range(batch.numbers[GROUPS] - 1, -1, -1):
        group = batch.groups[number]
        node = np.int64(group[GROUP_NODE])
        if node == NONE or group[SIZE] == 0:
            continue
        lock(tree.nodes, node, LOCK)
        tree.nodes[node, IN_FLIGHT] -= group[SIZE]
        for below in range(group[BELOW], group[BELOW_END]):
            for role in range(batch.values.shape[1]):
                tree.in_flight[batch.groups[below, SLOT + role]] -= batch.groups[below, SIZE]
        unlock(tree.nodes, node, LOCK)
    batch.numbers[GROUPS] = batch.numbers[BLOCKED_GROUPS] = batch.numbers[FRESH_NODES] = 0
    batch.status[:] = IDLE


@numba_inner
def _back_up_group(tree: Tree, batch: Batch, parameters: Parameters, net: QuantizedNet, number: Int) -> None:
    """What the descents of a group bring to its node and to the slots by which they went on."""
    nodes, values, group, roles = tree.nodes, tree.values, batch.groups[number], batch.values.shape[1]
    node, totals, is_bounded = np.int64(group[GROUP_NODE]), batch.totals[number], False
    lock(nodes, node, LOCK)
    for role in range(roles):
        totals[role] = totals[roles + role] = 0.0
    _sum_up(batch, group, totals)
    if uses_minimax(parameters, net) and group[HEAD] != NONE:
        _value_leaf(tree, batch, node, np.int64(group[HEAD]))
    is_closer = group[BELOW] == group[BELOW_END]
    if not is_closer:
        is_closer = _gather(tree, batch, parameters, net, number)
    for role in range(roles):
        is_bounded = is_bounded or values[node, roles + role] > 0.0 or values[node, 2 * roles + role] < 1.0
    group[NARROWED] = 1 if is_closer and is_bounded else 0
    if is_bounded:
        _keep_within(tree, batch, parameters, node, group)
        for role in range(roles):
            totals[role] = totals[roles + role] = 0.0
        _sum_up(batch, group, totals)
    nodes[node, IN_FLIGHT] -= group[SIZE]
    values[node, VISITS] += group[SIZE]
    for role in range(roles):
        values[node, role] += totals[role]
    unlock(nodes, node, LOCK)


@numba_inner
def _gather(tree: Tree, batch: Batch, parameters: Parameters, net: QuantizedNet, number: Int) -> bool:
    """Take what the groups below bring to a group's node, its slots and its list; whether its bounds became closer."""
    group, totals = batch.groups[number], batch.totals[number]
    node = np.int64(group[GROUP_NODE])
    choosers, is_closer = count_choosers(tree, node), False
    if choosers > 1:
        parameters.is_mixed[0] = True
    for below in range(group[BELOW], group[BELOW_END]):
        if batch.groups[below, SIZE]:
            _back_up_slots(tree, batch, np.int64(below))
            for column in range(len(totals)):
                totals[column] += batch.totals[below, column]
            if batch.groups[below, NARROWED]:
                _narrow_slots(tree, batch, node, np.int64(below), choosers)
                is_closer = True
            if uses_minimax(parameters, net):
                _carry_minimax(tree, batch, node, np.int64(below))
            _join(batch, group, batch.groups[below])
    if is_closer:
        is_closer = tighten(tree, batch, parameters, node)
    if uses_minimax(parameters, net):
        value_node(tree, parameters, node)
    return is_closer


@numba_inner
def _sum_up(batch: Batch, group: Ids, totals: _Totals) -> None:
    """Add the values of the descents that are listed in a group, and their squares."""
    descent, roles = np.int64(group[HEAD]), batch.values.shape[1]
    while descent != NONE:
        for role in range(roles):
            value = batch.values[descent, role]
            totals[role] += value
            totals[roles + role] += value * value
        descent = np.int64(batch.following[descent]) if descent != group[TAIL] else np.int64(NONE)


@numba_inner
def _join(batch: Batch, group: Ids, below: Ids) -> None:
    """The descents of a group below are listed in the one above, too."""
    if group[HEAD] == NONE:
        group[HEAD] = below[HEAD]
    else:
        batch.following[group[TAIL]] = below[HEAD]
    group[TAIL] = below[TAIL]


@numba_inner
def _back_up_slots(tree: Tree, batch: Batch, number: Int) -> None:
    """Add what a group brings to the slots that led to it from a node above, whose lock is held."""
    group, totals, roles = batch.groups[number], batch.totals[number], batch.values.shape[1]
    size = np.int64(group[SIZE])
    for role in range(roles):
        slot = np.int64(group[SLOT + role])
        tree.in_flight[slot] -= size
        tree.visits[slot] += size
        tree.value_sum[slot] += totals[role]
        tree.square_sum[slot] += totals[roles + role]


@numba_inner
def _narrow_slots(tree: Tree, batch: Batch, node: Int, number: Int, choosers: int) -> None:
    """Carry the bounds of the node of a group to the slot that led there from a node above, whose lock is held."""
    group, roles = batch.groups[number], batch.values.shape[1]
    child = np.int64(group[GROUP_NODE])
    for role in range(roles):
        slot = np.int64(group[SLOT + role])
        if (choosers == 1 and tree.nodes[node, COUNT + role] > 1) or (choosers == 0 and role == 0):
            tree.lower[slot] = max(tree.lower[slot], tree.values[child, roles + role])
            tree.upper[slot] = min(tree.upper[slot], tree.values[child, 2 * roles + role])


@numba_inner
def _keep_within(tree: Tree, batch: Batch, parameters: Parameters, node: Int, group: Ids) -> None:
    """From a node on the values of descents are within its bounds.

    Where outcomes are mixed bounds hold for their mean, and single ones may be beyond them: to keep these within would
    raise the mean for all roles at once. There only an exact value takes the place of outcomes.
    """
    descent, roles = np.int64(group[HEAD]), batch.values.shape[1]
    while descent != NONE:
        for role in range(roles):
            value = batch.values[descent, role]
            low, high = tree.values[node, roles + role], tree.values[node, 2 * roles + role]
            bounded = value if parameters.is_mixed[0] and low < high else min(max(value, low), high)
            if bounded != value:
                batch.values[descent, role] = bounded
                if parameters.zero_sum[0]:
                    batch.values[descent, 1 - role] = 1.0 - bounded
        descent = np.int64(batch.following[descent]) if descent != group[TAIL] else np.int64(NONE)


@numba_inner
def _value_leaf(tree: Tree, batch: Batch, node: Int, descent: Int) -> None:
    """The minimax value of a node where descents ended."""
    if is_exact(tree, node):
        tree.minimax[node] = batch.values[descent, 0]
    elif tree.minimax[node] == UNVALUED:
        tree.minimax[node] = 0.5 * (batch.learned[descent, 0] + 1.0 - batch.learned[descent, 1])


@numba_inner
def _carry_minimax(tree: Tree, batch: Batch, node: Int, number: Int) -> None:
    """The minimax value of the node of a group becomes that of the move that led there."""
    value = tree.minimax[batch.groups[number, GROUP_NODE]]
    if value != UNVALUED:
        for role in range(batch.values.shape[1]):
            if tree.nodes[node, COUNT + role] > 1:
                slot = batch.groups[number, SLOT + role]
                own = value if role == 0 else np.float32(1.0) - value
                tree.move_minimax[slot] = min(max(own, tree.lower[slot]), tree.upper[slot])


@lean
def tighten(tree: Tree, batch: Batch, parameters: Parameters, node: Int) -> bool:
    """Work out the bounds of a node with slots anew; whether they became closer. Its lock is held."""
    choosers = count_choosers(tree, node)
    changed = _from_edges(tree, batch, parameters, node) if choosers > 1 else _from_slots(tree, parameters, node)
    if changed:
        _measure(tree, node)
    return changed


@numba_inner
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


@numba_inner
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
                if child == NONE and roles == 2 and parameters.zero_sum[0]:
                    below, above = 1.0 - tree.upper[slot], 1.0 - tree.lower[slot]
                if by_chance:
                    low += below / count
                    high += above / count
                elif tree.upper[slot] > sure or tree.lower[slot] == sure:
                    low, high = min(low, below), max(high, above)
        changed = _narrow(tree, node, role, low, high) or changed
    return changed


@lean
def _from_edges(tree: Tree, batch: Batch, parameters: Parameters, node: Int) -> bool:
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
        low, high, seen = batch.scratch[0, :count], batch.scratch[1, :count], batch.scratch[2, :count]
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


@numba_inner
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
            if (child != NONE and (count > 1 or role == 0)) or is_marked(tree, slot):
                length = np.int64(nodes[child, LENGTH]) if child != NONE else np.int64(tree.upper[slot] == 0.0)
                value = values[node, roles + role]
                best = best or bool(count > 1 and value >= 1.0)
                if count < 2 or tree.lower[slot] >= value:
                    shortest = min(shortest, length)
                    longest = max(longest, length if length < LONG else np.int64(0))
        first += count
    length_here = (shortest if best else longest) + 1
    nodes[node, LENGTH] = min(np.int64(LONG), np.int64(length_here))
