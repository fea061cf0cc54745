"""Leaves become nodes: their states, whether they are ends, their moves; in batches of 512 on the circuit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, Words, inner, lean, lowest
from ggp.search.mcts.backup import tighten
from ggp.search.mcts.selection import count_choosers, is_exact
from ggp.search.mcts.tree import (
    COUNT,
    EDGES,
    END,
    EXACT,
    EXPANDING_NODES,
    FIRST,
    FRESH,
    FRESH_NODES,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    NONE,
    PENDING,
    PHASE,
    READY,
    REFERENCES,
    Batch,
    Parameters,
    Tree,
    find_state,
    free_node,
    hold,
    keep_state,
    new_node,
    new_slots,
)
from ggp.simulation.evaluate import GOALS, LOOK, NEXT, UNKNOWN, Rows, copy_state, evaluate_rows, single_values


class Rules(NamedTuple):
    """A game's rules for batches, with words of their own."""

    rows: Rows
    words: Words
    first_goal: Ids
    goal_values: NDArray[np.int16]


@lean
def expand(tree: Tree, batch: Batch, rules: Rules, parameters: Parameters) -> None:
    """Give slots to all nodes in `batch.expanding`."""
    count = batch.numbers[EXPANDING_NODES]
    if count == 0:
        return
    nodes, first_move = tree.nodes, rules.rows.first_move
    roles = nodes.shape[1] - COUNT
    for at in range(count):
        copy_state(batch.states, at, tree.states, batch.expanding[at])
    evaluate_rows(rules.rows, rules.words, np.int64(LOOK), batch.states, batch.fresh_joint, batch.legal, count)
    for at in range(count):
        node, total = batch.expanding[at], np.int64(0)
        for role in range(roles):
            for word in range(first_move[role] >> 6, (first_move[role + 1] + 63) >> 6):
                bits = part_between(batch.legal[at, word], word, first_move[role], first_move[role + 1])
                while bits:
                    bits &= bits - np.uint64(1)
                    nodes[node, COUNT + role] += 1
            total += nodes[node, COUNT + role]
        first = new_slots(tree, total)
        nodes[node, FIRST] = first
        nodes[node, KIND] = INNER
        if first == NONE:
            nodes[node, KIND] = LEAF
            nodes[node, COUNT:] = 0
            continue
        slot = first
        for role in range(roles):
            for word in range(first_move[role] >> 6, (first_move[role + 1] + 63) >> 6):
                bits = part_between(batch.legal[at, word], word, first_move[role], first_move[role + 1])
                while bits:
                    tree.move[slot] = 64 * word + lowest(bits) - first_move[role]
                    bits &= bits - np.uint64(1)
                    slot += 1
    _look_ahead(tree, batch, rules, parameters, count)
    batch.numbers[EXPANDING_NODES] = 0


@inner
def part_between(bits: np.uint64, word: Int, first: Int, last: Int) -> np.uint64:
    """The bits of a word that stand for numbers from `first` to before `last`."""
    start = 64 * word
    if first > start:
        bits = bits >> np.uint64(first - start) << np.uint64(first - start)
    if last < start + 64:
        bits = bits & ((np.uint64(1) << np.uint64(last - start)) - np.uint64(1))
    return bits


@lean
def _look_ahead(tree: Tree, batch: Batch, rules: Rules, parameters: Parameters, count: Int) -> None:
    """One-ply lookahead: find the ends right below expanded nodes where one role chooses among few moves."""
    nodes = tree.nodes
    roles = nodes.shape[1] - COUNT
    rows = np.int64(0)
    for at in range(count + 1):
        node = batch.expanding[at] if at < count else NONE
        total = np.int64(0)
        if node != NONE and nodes[node, FIRST] != NONE and count_choosers(tree, node) == 1:
            for role in range(roles):
                total = max(total, np.int64(nodes[node, COUNT + role]))
        if rows and (at == count or rows + total > len(batch.fresh)):
            _link_ends(tree, batch, rules, parameters, rows)
            rows = np.int64(0)
        if not 1 < total <= min(parameters.lookahead_moves, len(batch.fresh)):
            continue
        for slot in range(_choosing(tree, node), _choosing(tree, node) + total):
            copy_state(batch.states, rows, tree.states, node)
            batch.lookahead_slot[rows], batch.lookahead_parent[rows] = slot, node
            first = nodes[node, FIRST]
            for role in range(roles):
                batch.lookahead_joint[rows, role] = tree.move[slot if nodes[node, COUNT + role] > 1 else first]
                first += nodes[node, COUNT + role]
            rows += 1


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
def _link_ends(tree: Tree, batch: Batch, rules: Rules, parameters: Parameters, rows: Int) -> None:
    """Of the states after so many joint moves those that are ends become nodes; then bounds."""
    nodes, values = tree.nodes, tree.values
    roles = nodes.shape[1] - COUNT
    step_batch(batch, rules, parameters, batch.lookahead_joint, rows)
    for row in range(rows):
        parent, slot = batch.lookahead_parent[row], batch.lookahead_slot[row]
        if not batch.ended[row] or nodes[parent, KIND] != INNER:
            continue
        child = find_state(tree, batch.following, row)
        if child == NONE:
            child = new_node(tree)
            if child == NONE:
                continue
            settle_state(tree, batch, parameters, child, parent, row)
        hold(tree, child)
        tree.child[slot] = child
    for row in range(rows):
        parent, slot = batch.lookahead_parent[row], batch.lookahead_slot[row]
        child = tree.child[slot]
        if nodes[parent, KIND] == INNER and child != NONE:
            role, first = 0, nodes[parent, FIRST]
            while first + nodes[parent, COUNT + role] <= slot:
                first += nodes[parent, COUNT + role]
                role += 1
            tree.lower[slot] = values[child, roles + role]
            tree.upper[slot] = values[child, 2 * roles + role]
            tighten(tree, parameters, np.int64(parent))


@lean
def step_batch(batch: Batch, rules: Rules, parameters: Parameters, joint: Ids, rows: Int) -> None:
    """batch.states and joint moves → following; which of them are ends, and the values there."""
    rows_of, words, first_move = rules.rows, rules.words, rules.rows.first_move
    following, found = batch.following, batch.legal
    evaluate_rows(rows_of, words, np.int64(NEXT), batch.states, joint, following, rows)
    evaluate_rows(rows_of, words, np.int64(LOOK), following, joint, found, rows)
    ends = np.int64(0)
    bits = first_move[-1]
    for row in range(rows):
        over = (found[row, bits >> 6] >> np.uint64(bits & 63)) & np.uint64(1) != 0
        for role in range(len(first_move) - 1):
            able = np.uint64(0)
            for word in range(first_move[role] >> 6, (first_move[role + 1] + 63) >> 6):
                able |= part_between(found[row, word], word, first_move[role], first_move[role + 1])
            over = over or able == 0
        batch.ended[row] = over
        if over:
            copy_state(batch.states, ends, following, row)
            ends += 1
    if ends:
        evaluate_rows(rows_of, words, np.int64(GOALS), batch.states, joint, batch.goals, ends)
        single_values(batch.goals[:ends], rules.first_goal, rules.goal_values, batch.goal_values)
    ends = np.int64(0)
    for row in range(rows):
        if batch.ended[row]:
            for role in range(batch.end_values.shape[1]):
                goal = batch.goal_values[ends, role]
                worth = (goal - parameters.lowest[role]) / parameters.span[role]
                batch.end_values[row, role] = worth if goal >= 0 else UNKNOWN
            ends += 1


@lean
def settle_state(tree: Tree, batch: Batch, parameters: Parameters, node: Int, parent: Int, row: Int) -> None:
    """A new node gets its state, and its values if it is an end."""
    nodes = tree.nodes
    roles = nodes.shape[1] - COUNT
    copy_state(tree.states, node, batch.following, row)
    nodes[node, PHASE] = (nodes[parent, PHASE] + 1) % parameters.phases
    nodes[node, KIND] = LEAF
    keep_state(tree, node)
    if batch.ended[row]:
        nodes[node, KIND] = END
        nodes[node, LENGTH] = 0
        for role in range(roles):
            tree.values[node, roles + role] = tree.values[node, 2 * roles + role] = batch.end_values[row, role]


@lean
def evaluate_fresh(tree: Tree, batch: Batch, rules: Rules, parameters: Parameters, count: Int) -> None:
    """Work out the states of the nodes in `batch.fresh`; descents that wait for them become READY or EXACT."""
    fresh = batch.numbers[FRESH_NODES]
    for row in range(fresh):
        copy_state(batch.states, row, tree.states, batch.fresh_parent[row])
    if fresh:
        step_batch(batch, rules, parameters, batch.fresh_joint, fresh)
    for row in range(fresh):
        node, parent = np.int64(batch.fresh[row]), np.int64(batch.fresh_parent[row])
        known = find_state(tree, batch.following, row)
        if known == NONE:
            settle_state(tree, batch, parameters, node, parent, row)
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
