"""Leaves become nodes: their states, whether they are ends, their moves; in batches, by `simulation.expansion`."""

import numpy as np

from ggp.kernel import LANES, Int, fused, lean
from ggp.learning.net import (
    Net,
    add_move,
    hidden_units,
    move_logit,
    rectify,
    rectify_changed,
    role_value,
    sum_inputs,
)
from ggp.search.mcts.backup import back_up_exact, tighten
from ggp.search.mcts.minimax import first_role_value, uses_minimax, value_node
from ggp.search.mcts.selection import count_choosers, descend, descend_further, is_exact
from ggp.search.mcts.tree import (
    COUNT,
    EDGES,
    END,
    EXACT,
    EXPANDING,
    EXPANDING_NODES,
    FIRST,
    FRESH,
    FRESH_NODES,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LISTED,
    NONE,
    PENDING,
    PHASE,
    PLAYING,
    READY,
    REFERENCES,
    ROWS,
    UNVALUED,
    Batch,
    Parameters,
    Tree,
    free_node,
    hold,
    new_node,
    new_slots,
)
from ggp.simulation.evaluate import copy_state
from ggp.simulation.expansion import OVER, Expansion, count_legal, evaluate_steps, look, next_legal
from ggp.simulation.state_table import find_state, keep_state


@lean
def select(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, count: Int) -> None:
    """Descend; the states of nodes that are to get slots are in `expansion.before` then."""
    descend(tree, batch, parameters, count)
    for row in range(batch.numbers[EXPANDING_NODES]):
        copy_state(expansion.before, row, tree.table.states, batch.expanding[row])
    batch.numbers[LISTED] = 0


@lean
def look_at_expanding(batch: Batch, expansion: Expansion) -> None:
    """Which moves are legal there; without the lock."""
    look(expansion, expansion.before, batch.numbers[EXPANDING_NODES])


@lean
def give_slots(tree: Tree, batch: Batch, expansion: Expansion) -> None:
    """The nodes in `batch.expanding` get slots with moves, and are EXPANDING still; LEAF where there is no room."""
    nodes = tree.nodes
    roles = nodes.shape[1] - COUNT
    for row in range(batch.numbers[EXPANDING_NODES]):
        node, total = batch.expanding[row], np.int64(0)
        for role in range(roles):
            total += count_legal(expansion, row, role)
        slot = new_slots(tree, total)
        nodes[node, FIRST] = slot
        if slot == NONE:
            nodes[node, KIND] = LEAF
            continue
        for role in range(roles):
            nodes[node, COUNT + role] = count_legal(expansion, row, role)
            move: Int = np.int64(-1)
            for _ in range(nodes[node, COUNT + role]):
                move = next_legal(expansion, np.int64(row), np.int64(role), move + 1)
                tree.move[slot] = move
                slot += 1


@lean
def look_ahead(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: Net) -> bool:
    """Priors of the nodes that are EXPANDING; one-ply lookahead where one role chooses among few moves.

    As many nodes as there are lanes for their successors; False, with nothing done, once there are no more. Without
    the lock.
    """
    nodes = tree.nodes
    roles, rows, expanding = nodes.shape[1] - COUNT, np.int64(0), batch.numbers[EXPANDING_NODES]
    most = LANES if uses_minimax(parameters, net) else min(parameters.lookahead_moves, LANES)
    if batch.numbers[LISTED] == expanding:
        return False
    while batch.numbers[LISTED] < expanding:
        node, total = np.int64(batch.expanding[batch.numbers[LISTED]]), np.int64(0)
        has_slots = nodes[node, FIRST] != NONE
        if has_slots and count_choosers(tree, node) == 1:
            for role in range(roles):
                total = max(total, np.int64(nodes[node, COUNT + role]))
        total = total if 1 < total <= most else np.int64(0)
        if rows + total > LANES:
            break
        batch.numbers[LISTED] += 1
        if has_slots:
            set_priors(tree, batch, parameters, net, node)
        for slot in range(_choosing(tree, node), _choosing(tree, node) + total):
            copy_state(expansion.before, rows, tree.table.states, node)
            batch.lookahead_slot[rows], batch.lookahead_parent[rows] = slot, node
            first = nodes[node, FIRST]
            for role in range(roles):
                expansion.joint[rows, role] = tree.move[slot if nodes[node, COUNT + role] > 1 else first]
                first += nodes[node, COUNT + role]
            rows += 1
    batch.numbers[ROWS] = rows
    if rows:
        evaluate_steps(expansion, expansion.joint, rows)
        if uses_minimax(parameters, net):
            _value_successors(tree, batch, expansion, net, rows)
    return True


@fused
def set_priors(tree: Tree, batch: Batch, parameters: Parameters, net: Net, node: Int) -> None:
    """Of all moves of a node with slots: by the net, or all alike where none is used."""
    roles = tree.nodes.shape[1] - COUNT
    is_learned = len(net.policy) > 0 and parameters.prior_weight > 0.0
    first = np.int64(tree.nodes[node, FIRST])
    if is_learned:
        sum_inputs(net, tree.table.states, node, batch.hidden)
        slot = first
        for role in range(roles if len(net.input_of_move) > 0 else 0):
            for _ in range(tree.nodes[node, COUNT + role]):
                add_move(net, parameters.first_move[role] + tree.move[slot], batch.hidden)
                slot += 1
        rectify(batch.hidden)
    for role in range(roles):
        count = np.int64(tree.nodes[node, COUNT + role])
        highest, total = -1e300, 0.0
        for at in range(count if is_learned and count > 1 else 0):
            batch.scores[at] = move_logit(net, batch.hidden, parameters.first_move[role] + tree.move[first + at])
            highest = max(highest, batch.scores[at])
        for at in range(count):
            batch.scores[at] = np.exp(batch.scores[at] - highest) if is_learned and count > 1 else 1.0
            total += batch.scores[at]
        even = parameters.prior_floor / count
        for at in range(count):
            tree.prior[first + at] = even + (1.0 - parameters.prior_floor) * batch.scores[at] / total
        first += count


@lean
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
def link_ends(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: Net) -> None:
    """Of the states that were looked at those that are ends become nodes; then bounds, and minimax values."""
    nodes, values, rows = tree.nodes, tree.values, batch.numbers[ROWS]
    roles = nodes.shape[1] - COUNT
    for row in range(rows):
        nodes[batch.lookahead_parent[row], KIND] = INNER
    for row in range(rows):
        parent, slot = batch.lookahead_parent[row], batch.lookahead_slot[row]
        if expansion.chooser[row] != OVER:
            continue
        child = find_state(tree.table, expansion.after, row)
        if child == NONE:
            child = new_node(tree)
            if child == NONE:
                continue
            _settle_state(tree, expansion, parameters, child, parent, row)
        hold(tree, child)
        tree.child[slot] = child
    for row in range(rows):
        parent, slot = batch.lookahead_parent[row], batch.lookahead_slot[row]
        child = tree.child[slot]
        if child != NONE:
            role, first = 0, nodes[parent, FIRST]
            while first + nodes[parent, COUNT + role] <= slot:
                first += nodes[parent, COUNT + role]
                role += 1
            tree.lower[slot] = values[child, roles + role]
            tree.upper[slot] = values[child, 2 * roles + role]
            tighten(tree, parameters, np.int64(parent))
    if uses_minimax(parameters, net):
        _set_minimax(tree, batch, parameters, rows)


@lean
def _value_successors(tree: Tree, batch: Batch, expansion: Expansion, net: Net, rows: Int) -> None:
    """What the net says of the states after so many joint moves, to role 0."""
    before: Int = np.int64(NONE)
    states = tree.table.states
    for row in range(rows):
        parent = np.int64(batch.lookahead_parent[row])
        if parent != before:
            sum_inputs(net, states, parent, batch.sums)
        rectify_changed(net, expansion.after, row, expansion.legal, states, parent, batch.sums, batch.hidden)
        batch.lookahead_value[row] = first_role_value(net, batch.hidden)
        before = parent


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
            value_node(tree, parameters, parent)


@lean
def finish_expanding(tree: Tree, batch: Batch) -> None:
    """Nodes that have got their slots are INNER from now on."""
    for row in range(batch.numbers[EXPANDING_NODES]):
        if tree.nodes[batch.expanding[row], KIND] == EXPANDING:
            tree.nodes[batch.expanding[row], KIND] = INNER
    batch.numbers[EXPANDING_NODES] = 0


@lean
def select_further(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters) -> None:
    """Descend from nodes that have got their slots; `expansion.before` gets the states before new nodes."""
    finish_expanding(tree, batch)
    descend_further(tree, batch, parameters)
    for row in range(batch.numbers[FRESH_NODES]):
        copy_state(expansion.before, row, tree.table.states, batch.fresh_parent[row])


@lean
def evaluate_fresh(batch: Batch, expansion: Expansion) -> None:
    """Work out the states of the nodes in `batch.fresh`; without the lock."""
    if batch.numbers[FRESH_NODES]:
        evaluate_steps(expansion, batch.fresh_joint, batch.numbers[FRESH_NODES])


@lean
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


@lean
def settle_fresh(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, count: Int) -> None:
    """These nodes get their states; descents that wait for them become READY or EXACT."""
    fresh = batch.numbers[FRESH_NODES]
    for row in range(fresh):
        node, parent = np.int64(batch.fresh[row]), np.int64(batch.fresh_parent[row])
        known = find_state(tree.table, expansion.after, row)
        if known == NONE:
            _settle_state(tree, expansion, parameters, node, parent, row)
        else:
            _replace(tree, batch, node, known, row)
    for descent in range(count):
        if batch.status[descent] != FRESH:
            continue
        leaf = batch.leaf[descent]
        if tree.nodes[leaf, KIND] == PENDING:
            leaf = tree.nodes[leaf, LENGTH]  # written by `_replace`
            batch.leaf[descent] = leaf
        exact = tree.nodes[leaf, KIND] == END or is_exact(tree, np.int64(leaf))
        batch.status[descent] = EXACT if exact else READY
    for row in range(fresh):
        node = np.int64(batch.fresh[row])
        if tree.nodes[node, KIND] == PENDING:
            tree.nodes[node, IN_FLIGHT] = 0
            free_node(tree, node)
    batch.numbers[FRESH_NODES] = 0


@lean
def evaluate_leaves(
    tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: Net, count: Int
) -> None:
    """What the net says the leaves of descents that are PLAYING are worth, in `batch.learned`, where that is used.

    Without the lock.
    """
    if len(net.policy) == 0 or (parameters.value_weight == 0.0 and not uses_minimax(parameters, net)):
        return
    ready = np.int64(0)
    for descent in range(count):
        if batch.status[descent] == PLAYING:
            copy_state(expansion.before, ready, tree.table.states, batch.leaf[descent])
            expansion.owner[ready] = descent
            ready += 1
    if len(net.input_of_move) > 0:
        look(expansion, expansion.before, ready)
    for row in range(ready):
        hidden_units(net, expansion.before, row, expansion.legal, row, batch.hidden)
        for role in range(batch.learned.shape[1]):
            batch.learned[expansion.owner[row], role] = role_value(net, batch.hidden, np.int64(role))


@lean
def find_leaves(tree: Tree, batch: Batch, expansion: Expansion, parameters: Parameters, net: Net, count: Int) -> None:
    """All of the above, for a worker that has the tree for itself: a call from Python costs as much as some visits."""
    select(tree, batch, expansion, parameters, count)
    look_at_expanding(batch, expansion)
    give_slots(tree, batch, expansion)
    while look_ahead(tree, batch, expansion, parameters, net):
        link_ends(tree, batch, expansion, parameters, net)
    select_further(tree, batch, expansion, parameters)
    evaluate_fresh(batch, expansion)
    settle_fresh(tree, batch, expansion, parameters, count)
    back_up_exact(tree, batch, parameters, net, count)


@lean
def _replace(tree: Tree, batch: Batch, node: Int, known: Int, row: Int) -> None:
    """A state that has a node already: what led to the new one leads there."""
    nodes = tree.nodes
    parent, place = np.int64(batch.fresh_parent[row]), batch.fresh_slot[row]
    if place != NONE:
        tree.child[place] = known
    else:
        edge = nodes[parent, EDGES]
        while tree.edge_code[edge] != batch.fresh_code[row]:
            edge = tree.edge_next[edge]
        tree.edge_child[edge] = known
    hold(tree, known)
    nodes[node, REFERENCES] = 0
    nodes[known, IN_FLIGHT] += nodes[node, IN_FLIGHT]
    nodes[node, LENGTH] = known
