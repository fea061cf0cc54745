"""Leaves become nodes: their states, whether they are ends, their moves; in batches, by `simulation.expansion`."""

import numpy as np

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, fused, lean, numba_inner
from ggp.learning.net import (
    QuantizedNet,
    activate,
    activate_changed,
    add_common_moves,
    flush_if_full,
    move_logit,
    rectify,
    role_value,
    sum_inputs,
)
from ggp.locks import lock, unlock
from ggp.row_sums import add_rows, make_list, prefetch
from ggp.search.mcts.backup import tighten
from ggp.search.mcts.minimax import first_role_value, uses_minimax, value_node
from ggp.search.mcts.selection import append, count_choosers, descend, descend_further, is_exact
from ggp.search.mcts.tree import (
    ABOVE,
    COUNT,
    END,
    EXACT,
    EXPANDING_NODES,
    FIRST,
    FRESH_NODES,
    GROUP_NODE,
    HEAD,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LISTED,
    LOCK,
    NODE_TOP,
    NONE,
    PHASE,
    PLAYING,
    READY,
    ROOT,
    ROWS,
    SIZE,
    SLOT,
    STRUCTURE,
    UNVALUED,
    Batch,
    Parameters,
    Tree,
    add_edge,
    clear_slots,
    find_edge,
    hold,
    joint_code,
    new_node,
    new_slots,
    release,
)
from ggp.search.retrograde import TINY
from ggp.simulation.evaluate import copy_state
from ggp.simulation.expansion import (
    ALLOWS,
    BEST,
    OVER,
    WORST,
    Ends,
    Expansion,
    count_legal,
    evaluate_ends,
    evaluate_steps,
    has_end,
    is_end,
    look,
    next_legal,
)
from ggp.simulation.state_table import fetch_state, find_state, keep_state

_AHEAD = 4  # states whose nodes are fetched before their turn


@lean
def select(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, count: Int) -> None:
    """Descend; the states of nodes that are to get slots are in `expansion.before` then."""
    descend(tree, batch, parameters, count)
    for row in range(batch.numbers[EXPANDING_NODES]):
        copy_state(expansion.before, row, tree.table.states, batch.expanding[row])
    batch.numbers[LISTED] = 0


@lean
def look_at_expanding(batch: Batch, expansion: Expansion) -> None:
    """Which moves are legal there."""
    look(expansion, expansion.before, batch.numbers[EXPANDING_NODES])


@lean
def give_slots(tree: Tree, batch: Batch, expansion: Expansion) -> None:
    """The nodes in `batch.expanding` get slots with moves, and are EXPANDING still; LEAF where there is no room."""
    nodes, expanding = tree.nodes, batch.numbers[EXPANDING_NODES]
    roles = nodes.shape[1] - COUNT
    lock(tree.locks, STRUCTURE, 0)
    for row in range(expanding):
        total = np.int64(0)
        for role in range(roles):
            total += count_legal(expansion, row, role)
        batch.lookahead_slot[row] = new_slots(tree, total)
    unlock(tree.locks, STRUCTURE, 0)
    for row in range(expanding):
        slot = np.int64(batch.lookahead_slot[row])
        for role in range(roles if slot != NONE else 0):
            count = np.int64(count_legal(expansion, row, role))
            clear_slots(tree, slot, count)
            move: Int = np.int64(-1)
            for _ in range(count):
                move = next_legal(expansion, np.int64(row), np.int64(role), move + 1)
                tree.move[slot] = move
                slot += 1
    lock(tree.locks, STRUCTURE, 0)
    for row in range(expanding):
        node = np.int64(batch.expanding[row])
        nodes[node, FIRST] = batch.lookahead_slot[row]
        for role in range(roles if nodes[node, FIRST] != NONE else 0):
            nodes[node, COUNT + role] = count_legal(expansion, row, role)
    unlock(tree.locks, STRUCTURE, 0)


@lean
def mark_ends(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, ends: Ends) -> None:
    """Moves of nodes that are EXPANDING get bounds where they end the match at once, or let another role do so.

    All moves of a root may be lost: then nothing is said, since the tree is to find out which are hardest to refute.
    """
    nodes, expanding = tree.nodes, batch.numbers[EXPANDING_NODES]
    for row in range(expanding):
        expansion.owner[row] = nodes[batch.expanding[row], PHASE]
    if not evaluate_ends(ends, expansion.before, expansion.owner, expanding):
        return
    is_opposed = nodes.shape[1] - COUNT == 2 and bool(parameters.zero_sum[0])
    for row in range(expanding):
        node = np.int64(batch.expanding[row])
        if expansion.moves[row] < 2 or nodes[node, FIRST] == NONE or not has_end(ends, row):
            continue
        first_move, start = parameters.first_move[expansion.chooser[row]], _choosing(tree, node)
        lost = np.int64(0)
        for slot in range(start, start + expansion.moves[row]):
            move = first_move + np.int64(tree.move[slot])
            if is_end(ends, row, np.int64(BEST), move):
                tree.lower[slot] = 1.0
            elif is_end(ends, row, np.int64(WORST), move) or (is_opposed and is_end(ends, row, np.int64(ALLOWS), move)):
                tree.upper[slot] = 0.0
                lost += 1
        if lost == expansion.moves[row] and node == tree.numbers[ROOT]:
            for slot in range(start, start + expansion.moves[row]):
                tree.upper[slot] = 1.0
        else:
            lock(nodes, node, LOCK)
            tighten(tree, batch, parameters, node)
            unlock(nodes, node, LOCK)


@fused
def look_ahead(
    tree: Tree, batch: Batch, expansion: Expansion, ends: Ends, parameters: Parameters, net: QuantizedNet
) -> bool:
    """Priors of the nodes that are EXPANDING; one-ply lookahead where one role chooses among few moves.

    Where `mark_ends` finds all ends but draws, successors are looked at for minimax values only.

    As many nodes as there are lanes for their successors; False, with nothing done, once there are no more.
    """
    nodes = tree.nodes
    roles, rows, expanding = nodes.shape[1] - COUNT, np.int64(0), batch.numbers[EXPANDING_NODES]
    most = min(0 if ends.is_complete and parameters.zero_sum[0] else parameters.lookahead_moves, LANES)
    most = LANES if uses_minimax(parameters, net) else most
    first = np.int64(batch.numbers[LISTED])
    if first == expanding:
        return False
    while batch.numbers[LISTED] < expanding:
        node, total = np.int64(batch.expanding[batch.numbers[LISTED]]), np.int64(0)
        if nodes[node, FIRST] != NONE and count_choosers(tree, node) == 1 and not is_exact(tree, node):
            for role in range(roles):
                total = max(total, np.int64(nodes[node, COUNT + role]))
        total = total if 1 < total <= most else np.int64(0)
        if rows + total > LANES:
            break
        batch.numbers[LISTED] += 1
        for slot in range(_choosing(tree, node), _choosing(tree, node) + total):
            copy_state(expansion.before, rows, tree.table.states, node)
            batch.lookahead_slot[rows], batch.lookahead_parent[rows] = slot, node
            start = nodes[node, FIRST]
            for role in range(roles):
                expansion.joint[rows, role] = tree.move[slot if nodes[node, COUNT + role] > 1 else start]
                start += nodes[node, COUNT + role]
            rows += 1
    batch.numbers[ROWS] = rows
    if rows:
        evaluate_steps(expansion, expansion.joint, rows)
    row = np.int64(0)
    for at in range(first, batch.numbers[LISTED]):
        node = np.int64(batch.expanding[at])
        if nodes[node, FIRST] != NONE:
            _set_priors(tree, batch, parameters, net, node)
        if uses_minimax(parameters, net) and row < rows and batch.lookahead_parent[row] == node:
            row = _value_successors(tree, batch, expansion, net, row)
    return True


@numba_inner
def _value_successors(tree: Tree, batch: Batch, expansion: Expansion, net: QuantizedNet, first: Int) -> np.int64:
    """`lookahead_value` from this row on of all with the same node above, whose sums are there; the row after them."""
    node, row = np.int64(batch.lookahead_parent[first]), first
    common = add_common_moves(net, expansion.legal, first, batch.activations.sums)
    while row < batch.numbers[ROWS] and batch.lookahead_parent[row] == node:
        activate_changed(net, expansion.after, row, expansion.legal, common, tree.table.states, node, batch.activations)
        batch.lookahead_value[row] = first_role_value(net, batch.activations)
        row += 1
    return np.int64(row)


@fused
def set_priors(tree: Tree, batch: Batch, parameters: Parameters, net: QuantizedNet, node: Int) -> None:
    """The priors of all moves of a node with slots, from Python."""
    _set_priors(tree, batch, parameters, net, node)


@numba_inner
def _set_priors(tree: Tree, batch: Batch, parameters: Parameters, net: QuantizedNet, node: Int) -> None:
    """Of all moves of a node with slots: by the net, or all alike where none is used.

    Leaves what `sum_inputs` says of the node in `batch.activations`, where the net gives priors or minimax values.
    """
    roles = tree.nodes.shape[1] - COUNT
    is_learned = len(net.policy) > 0 and parameters.prior_weight > 0.0
    first = np.int64(tree.nodes[node, FIRST])
    if is_learned or uses_minimax(parameters, net):
        sum_inputs(net, tree.table.states, node, batch.activations)
    if is_learned:
        places, sums, listed, slot, units = make_list(), make_list(), np.int64(0), first, len(net.first_bias)
        for unit in range(units):
            sums[unit] = batch.activations.sums[unit]
        for role in range(roles if len(net.input_of_move) > 0 else 0):
            for _ in range(tree.nodes[node, COUNT + role]):
                places[listed] = net.input_of_move[parameters.first_move[role] + tree.move[slot]]
                listed = flush_if_full(net, places, listed + 1, sums, units)
                slot += 1
        add_rows(net.first, places, listed, sums, units)
        rectify(net, sums, batch.activations.hidden, units)
    for role in range(roles):
        count = np.int64(tree.nodes[node, COUNT + role])
        highest, total = -1e300, 0.0
        for at in range(count if is_learned and count > 1 else 0):
            batch.scores[at] = move_logit(net, batch.activations, parameters.first_move[role] + tree.move[first + at])
            highest = max(highest, batch.scores[at])
        for at in range(count):
            batch.scores[at] = np.exp(batch.scores[at] - highest) if is_learned and count > 1 else 1.0
            total += batch.scores[at]
        even = parameters.prior_floor / count
        for at in range(count):
            tree.prior[first + at] = even + (1.0 - parameters.prior_floor) * batch.scores[at] / total
        first += count


@numba_inner
def _choosing(tree: Tree, node: Int) -> Int:
    """The first slot of the role that has a choice."""
    first = np.int64(tree.nodes[node, FIRST])
    found = first
    for column in range(COUNT, tree.nodes.shape[1]):
        if tree.nodes[node, column] > 1:
            found = first
        first += tree.nodes[node, column]
    return np.int64(found)


@lean
def link_ends(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: QuantizedNet) -> None:
    """Of the states that were looked at those that are ends become nodes; then bounds, and minimax values."""
    rows, ends = batch.numbers[ROWS], 0
    for row in range(rows):
        ends += expansion.chooser[row] == OVER
    if ends:
        lock(tree.locks, STRUCTURE, 0)
        for row in range(rows):
            if expansion.chooser[row] != OVER:
                continue
            child = find_state(tree.table, expansion.after, row)
            if child == NONE:
                child = new_node(tree)
                if child == NONE:
                    continue
                _settle_state(tree, expansion, parameters, child, batch.lookahead_parent[row], row)
            hold(tree, child)
            tree.child[batch.lookahead_slot[row]] = child
        unlock(tree.locks, STRUCTURE, 0)
    is_closer = False
    for row in range(rows if ends else 0):
        parent, slot = np.int64(batch.lookahead_parent[row]), np.int64(batch.lookahead_slot[row])
        if tree.child[slot] != NONE:
            _bound_slot(tree, parent, slot)
            is_closer = True
        if row == rows - 1 or batch.lookahead_parent[row + 1] != parent:
            if is_closer:
                lock(tree.nodes, parent, LOCK)
                tighten(tree, batch, parameters, parent)
                unlock(tree.nodes, parent, LOCK)
            is_closer = False
    if uses_minimax(parameters, net):
        _set_minimax(tree, batch, parameters, rows)


@numba_inner
def _bound_slot(tree: Tree, parent: Int, slot: Int) -> None:
    """Give a slot the bounds of the node that it leads to."""
    child, roles = np.int64(tree.child[slot]), tree.nodes.shape[1] - COUNT
    role, first = 0, tree.nodes[parent, FIRST]
    while first + tree.nodes[parent, COUNT + role] <= slot:
        first += tree.nodes[parent, COUNT + role]
        role += 1
    tree.lower[slot] = tree.values[child, roles + role]
    tree.upper[slot] = tree.values[child, 2 * roles + role]


@lean
def _set_minimax(tree: Tree, batch: Batch, parameters: Parameters, rows: Int) -> None:
    """The minimax values of the states after so many joint moves, then those of the states before."""
    nodes = tree.nodes
    for row in range(rows):
        parent, slot = np.int64(batch.lookahead_parent[row]), batch.lookahead_slot[row]
        child, value = tree.child[slot], batch.lookahead_value[row]
        if child != NONE and is_exact(tree, np.int64(child)):
            value = tree.values[child, 2]
        elif child != NONE and tree.minimax[child] != UNVALUED:
            value = np.float64(tree.minimax[child])
        is_first = slot < nodes[parent, FIRST] + nodes[parent, COUNT]
        tree.move_minimax[slot] = value if is_first else 1.0 - value
        if row == rows - 1 or batch.lookahead_parent[row + 1] != parent:
            lock(nodes, parent, LOCK)
            value_node(tree, parameters, parent)
            unlock(nodes, parent, LOCK)


@lean
def finish_expanding(tree: Tree, batch: Batch) -> None:
    """Nodes that have got their slots are INNER from now on, others LEAF again."""
    for row in range(batch.numbers[EXPANDING_NODES]):
        node = np.int64(batch.expanding[row])
        lock(tree.nodes, node, LOCK)
        tree.nodes[node, KIND] = LEAF if tree.nodes[node, FIRST] == NONE else INNER
        unlock(tree.nodes, node, LOCK)
    batch.numbers[EXPANDING_NODES] = 0


@lean
def select_further(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters) -> None:
    """Descend from nodes that have got their slots; `expansion.before` gets the states before new nodes."""
    finish_expanding(tree, batch)
    descend_further(tree, batch, parameters)
    for row in range(batch.numbers[FRESH_NODES]):
        above = batch.groups[batch.fresh[row], ABOVE]
        copy_state(expansion.before, row, tree.table.states, batch.groups[above, GROUP_NODE])


@lean
def evaluate_fresh(batch: Batch, expansion: Expansion) -> None:
    """Work out the states that the groups in `batch.fresh` lead to."""
    if batch.numbers[FRESH_NODES]:
        evaluate_steps(expansion, batch.fresh_joint, batch.numbers[FRESH_NODES])


@numba_inner
def _settle_state(tree: Tree, expansion: Expansion, parameters: Parameters, node: Int, parent: Int, row: Int) -> None:
    """A new node gets its state, and its values if it is an end."""
    nodes = tree.nodes
    roles = nodes.shape[1] - COUNT
    copy_state(tree.table.states, node, expansion.after, row)
    nodes[node, PHASE] = (nodes[parent, PHASE] + 1) % parameters.phases
    nodes[node, KIND] = LEAF
    keep_state(tree.table, node)
    if expansion.chooser[row] == OVER:
        nodes[node, KIND] = END
        nodes[node, LENGTH] = 0
        for role in range(roles):
            tree.values[node, roles + role] = tree.values[node, 2 * roles + role] = expansion.value[row, role]
        if roles == 2 and abs(expansion.value[row, 0] + expansion.value[row, 1] - 1.0) > TINY:
            parameters.zero_sum[0] = False


@lean
def settle_fresh(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters) -> None:
    """The groups in `batch.fresh` get their nodes, new or known ones; their descents become READY or EXACT."""
    nodes, fresh = tree.nodes, batch.numbers[FRESH_NODES]
    for row in range(fresh):
        fetch_state(tree.table, expansion.after, np.int64(row))
    lock(tree.locks, STRUCTURE, 0)
    for row in range(fresh):
        if row + _AHEAD < fresh:
            _fetch_parent(tree, batch, np.int64(batch.fresh[row + _AHEAD]))
        group = batch.groups[batch.fresh[row]]
        above = batch.groups[group[ABOVE]]
        parent = np.int64(above[GROUP_NODE])
        node = find_state(tree.table, expansion.after, row)
        if node == NONE:
            node = new_node(tree)
            if node != NONE:
                _settle_state(tree, expansion, parameters, node, parent, row)
        if node == NONE or not _link(tree, batch, group, parent, node):
            _stay_above(tree, batch, group, above)
            continue
        lock(nodes, node, LOCK)
        group[GROUP_NODE] = node
        nodes[node, IN_FLIGHT] += group[SIZE]
        if tree.minimax[node] == UNVALUED and count_choosers(tree, parent) == 1:  # one-ply lookahead may have valued it
            slot = _chosen(tree, batch, parent)
            value = tree.move_minimax[slot]
            is_first = slot < nodes[parent, FIRST] + nodes[parent, COUNT]
            tree.minimax[node] = value if is_first or value == UNVALUED else np.float32(1.0) - value
        status = EXACT if nodes[node, KIND] == END or is_exact(tree, node) else READY
        unlock(nodes, node, LOCK)
        descent = group[HEAD]
        for _ in range(group[SIZE]):
            batch.leaf[descent], batch.status[descent] = node, status
            descent = batch.following[descent]
    unlock(tree.locks, STRUCTURE, 0)
    batch.numbers[FRESH_NODES] = 0


@numba_inner
def _fetch_parent(tree: Tree, batch: Batch, number: Int) -> None:
    """Have the processor fetch what `_link` changes, and the next new node."""
    prefetch(tree.nodes, np.int64(batch.groups[batch.groups[number, ABOVE], GROUP_NODE]))
    for role in range(len(batch.chosen)):
        prefetch(tree.visits, np.int64(batch.groups[number, SLOT + role]))
    node = min(tree.numbers[NODE_TOP] + _AHEAD, len(tree.nodes) - 1)
    prefetch(tree.nodes, node)
    prefetch(tree.values, node)
    prefetch(tree.table.states, node)


@numba_inner
def _link(tree: Tree, batch: Batch, group: Ids, parent: Int, node: Int) -> bool:
    """Have what led a group away from a node lead to another one; whether there is room. STRUCTURE is held."""
    for role in range(len(batch.chosen)):
        batch.chosen[role] = group[SLOT + role]
    hold(tree, node)  # making room for an edge must not free it
    lock(tree.nodes, parent, LOCK)
    if count_choosers(tree, parent) > 1:
        code = joint_code(tree, parent, batch.chosen)
        is_linked = find_edge(tree, parent, code) != NONE or add_edge(tree, parent, code, node)
    else:
        slot = _chosen(tree, batch, parent)
        is_linked = True
        if tree.child[slot] == NONE:
            tree.child[slot] = node
            hold(tree, node)
    unlock(tree.nodes, parent, LOCK)
    release(tree, node)
    return is_linked


@numba_inner
def _chosen(tree: Tree, batch: Batch, parent: Int) -> Int:
    """The slot among `batch.chosen` of the role that has a choice; the first one where none has."""
    slot = np.int64(tree.nodes[parent, FIRST])
    for role in range(len(batch.chosen)):
        if tree.nodes[parent, COUNT + role] > 1:
            slot = np.int64(batch.chosen[role])
    return slot


@numba_inner
def _stay_above(tree: Tree, batch: Batch, group: Ids, above: Ids) -> None:
    """Where there is no room for their node, descents end where they came from."""
    parent = np.int64(above[GROUP_NODE])
    lock(tree.nodes, parent, LOCK)
    for role in range(len(batch.chosen)):
        tree.in_flight[group[SLOT + role]] -= group[SIZE]
    unlock(tree.nodes, parent, LOCK)
    descent = np.int64(group[HEAD])
    for _ in range(group[SIZE]):
        after = np.int64(batch.following[descent])
        batch.leaf[descent], batch.status[descent] = parent, READY
        append(batch, above, descent)
        descent = after
    group[SIZE] = 0


@fused
def evaluate_leaves(
    tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: QuantizedNet, count: Int
) -> None:
    """What the net says the leaves of descents that are PLAYING are worth, in `batch.learned`, where that is used.

    Where minimax values are kept, those that lookahead has found are taken instead.
    """
    if len(net.policy) == 0 or (parameters.value_weight == 0.0 and not uses_minimax(parameters, net)):
        return
    ready = np.int64(0)
    for descent in range(count):
        if batch.status[descent] != PLAYING:
            continue
        value = np.float64(tree.minimax[batch.leaf[descent]])
        if uses_minimax(parameters, net) and value != UNVALUED:
            batch.learned[descent, 0], batch.learned[descent, 1] = value, 1.0 - value
        else:
            copy_state(expansion.before, ready, tree.table.states, batch.leaf[descent])
            expansion.owner[ready] = descent
            ready += 1
    if len(net.input_of_move) > 0:
        look(expansion, expansion.before, ready)
    for row in range(ready):
        activate(net, expansion.before, row, expansion.legal, row, batch.activations)
        for role in range(batch.learned.shape[1]):
            batch.learned[expansion.owner[row], role] = role_value(net, batch.activations, np.int64(role))


@lean
def find_leaves(  # noqa: PLR0913, PLR0917 - kernel
    tree: Tree, batch: Batch, expansion: Expansion, ends: Ends, parameters: Parameters, net: QuantizedNet, count: Int
) -> None:
    """All of the above but `evaluate_leaves`: a call from Python costs as much as some visits."""
    select(tree, batch, expansion, parameters, count)
    look_at_expanding(batch, expansion)
    give_slots(tree, batch, expansion)
    mark_ends(tree, batch, expansion, parameters, ends)
    while look_ahead(tree, batch, expansion, ends, parameters, net):
        link_ends(tree, batch, expansion, parameters, net)
    select_further(tree, batch, expansion, parameters)
    evaluate_fresh(batch, expansion)
    settle_fresh(tree, batch, expansion, parameters)
