"""From the root to a leaf: each role chooses by upper confidence bounds on its own value.

UCB1 and UCB1-Tuned: Auer, Cesa-Bianchi and Fischer, 2002. PUCT with a prior of the moves: Rosin, 2011, in the form of
AlphaZero (Silver et al., 2018). Descents in flight count for the bonus (Liu et al., 2020)
and, as far as `virtual_loss` says, as lost visits for the value (Chaslot, Winands and van den Herik, 2008). Where
several roles choose at once, each does so by its own statistics: decoupled UCT. Where chance chooses alone, its
outcomes have turns, so that the mean of a state is the expectation over them and not that of a sample.

GRAVE (generalized rapid action value estimation: Cazenave, 2015): what a move was worth in all visits below a node,
whenever it was made there (all moves as first, AMAF). Such values are many long before a node has tried its moves
often. Nodes with enough visits have a table of them; nodes below use the table of the closest one above. Only moves in
the tree count: those of playouts are made in 512 lanes at once and are not known one by one.
"""

import numpy as np

from ggp.circuit.network import Ids
from ggp.kernel import Int, draw, inner, lean
from ggp.search.mcts.tree import (
    AMAF,
    BLOCKED,
    COUNT,
    END,
    EXACT,
    EXPANDING,
    EXPANDING_NODES,
    FIRST,
    FRESH,
    FRESH_NODES,
    IN_FLIGHT,
    KIND,
    LAST_MARK,
    LEAF,
    MARK,
    NEXT_AMAF,
    NONE,
    PENDING,
    READY,
    REFERENCES,
    ROOT,
    VISITS,
    WANTED,
    Batch,
    Parameters,
    Tree,
    add_edge,
    find_edge,
    free_node,
    joint_code,
    new_node,
)

GRAVE_REFERENCE = 64  # visits of a node before it has a table ("ref" in the paper)
_ATTEMPTS = 8  # to find a free table


@inner
def update_amaf(tree: Tree, batch: Batch, first_move: Ids, descent: Int, at: Int) -> None:
    """Add a descent's values to the table of the node at one depth of its path, for all moves from there on."""
    nodes, depth, node = tree.nodes, batch.depth[descent], batch.path[descent, at]
    if nodes[node, AMAF] == NONE:
        if tree.values[node, VISITS] < GRAVE_REFERENCE:
            return
        _take_table(tree, node)
        if nodes[node, AMAF] == NONE:
            return
    table = nodes[node, AMAF]
    for below in range(at, depth):
        for role in range(nodes.shape[1] - COUNT):
            if nodes[batch.path[descent, below], COUNT + role] > 1:
                move = first_move[role] + tree.move[batch.slots[descent, below, role]]
                tree.amaf[table, 0, move] += 1.0
                tree.amaf[table, 1, move] += batch.values[descent, role]


@inner
def _take_table(tree: Tree, node: Int) -> None:
    """Give a node a table, empty, if one is found quickly."""
    for _ in range(min(_ATTEMPTS, len(tree.amaf_owner))):
        table = tree.numbers[NEXT_AMAF] % len(tree.amaf_owner)
        tree.numbers[NEXT_AMAF] += 1
        if tree.amaf_owner[table] == NONE:
            tree.amaf_owner[table] = node
            tree.nodes[node, AMAF] = table
            tree.amaf[table] = 0.0
            break


@inner
def amaf_value(tree: Tree, table: Int, move: Int, otherwise: float) -> tuple[float, float]:
    """The mean value of a move in a table, `otherwise` counting as one more visit; and how many visits there were."""
    visits = tree.amaf[table, 0, move]
    return (tree.amaf[table, 1, move] + otherwise) / (visits + 1.0), visits


_AMAF_PRIOR = 10.0  # visits of a move in an AMAF table before it counts half as much as it might


@lean
def descend(tree: Tree, batch: Batch, parameters: Parameters, count: Int) -> None:
    """Bring the first `count` descents that are WANTED or BLOCKED to leaves."""
    nodes = tree.nodes
    for descent in range(count):
        was = batch.status[descent]
        if was == WANTED:
            node = tree.numbers[ROOT]
            batch.depth[descent] = 0
            nodes[node, IN_FLIGHT] += 1
        elif was == BLOCKED:
            node = np.int64(batch.leaf[descent])
        else:
            continue
        table: Int = np.int64(NONE)
        tree.numbers[LAST_MARK] = (tree.numbers[LAST_MARK] + 1) % (1 << 30)
        while True:
            status = _status_in(tree, batch, descent, node)
            if status != WANTED:
                break
            nodes[node, MARK] = tree.numbers[LAST_MARK]
            if nodes[node, AMAF] != NONE:
                table = np.int64(nodes[node, AMAF])
            child = _step_down(tree, batch, parameters, descent, node, table)
            if child == NONE:  # no room for another node
                status = READY
                break
            nodes[child, IN_FLIGHT] += 1
            node = child
        batch.leaf[descent] = node
        batch.status[descent] = status


@inner
def _status_in(tree: Tree, batch: Batch, descent: Int, node: Int) -> int:
    """What a descent does in a node; WANTED: it goes on."""
    nodes = tree.nodes
    kind = nodes[node, KIND]
    status = WANTED
    if kind == END or is_exact(tree, node):
        status = EXACT
    elif kind == PENDING:
        status = FRESH
    elif kind == EXPANDING:
        status = BLOCKED
    elif kind == LEAF:
        is_new = tree.values[node, VISITS] == 0.0 and node != tree.numbers[ROOT]
        if is_new or batch.status[descent] == BLOCKED or batch.numbers[EXPANDING_NODES] == len(batch.expanding):
            status = READY
        else:
            nodes[node, KIND] = EXPANDING
            batch.expanding[batch.numbers[EXPANDING_NODES]] = node
            batch.numbers[EXPANDING_NODES] += 1
            status = BLOCKED
    elif nodes[node, MARK] == tree.numbers[LAST_MARK] or batch.depth[descent] == batch.path.shape[1]:
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
def _step_down(tree: Tree, batch: Batch, parameters: Parameters, descent: Int, node: Int, table: Int) -> Int:
    """Choose a joint move, with the AMAF table of a node above if there is one; the node below it, which may be new.

    NONE, with nothing done, when there is no room.
    """
    nodes, depth = tree.nodes, batch.depth[descent]
    roles = nodes.shape[1] - COUNT
    first: Int = np.int64(nodes[node, FIRST])
    deciding = first
    choosers = count_choosers(tree, node)
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        slot: Int = first
        if node == tree.numbers[ROOT] and parameters.forced[role] != NONE:
            for at in range(first, first + count):
                if tree.move[at] == parameters.forced[role]:
                    slot = np.int64(at)
        elif count > 1 and parameters.nature[role]:
            is_alone = choosers == 1
            slot = _rarest_slot(tree, batch, first, count) if is_alone else first + draw(batch.random, count)
        elif count > 1:
            margin = parameters.tie_margin if choosers > 1 else 0.0
            slot = _best_slot(tree, batch, parameters, node, role, first, margin, table)
        if count > 1:
            deciding = slot
        batch.slots[descent, depth, role] = slot
        first += count
    code = joint_code(tree, node, batch.slots[descent, depth]) if choosers > 1 else np.int64(0)
    child = find_edge(tree, node, code) if choosers > 1 else np.int64(tree.child[deciding])
    if child == NONE:
        child = _add_child(tree, batch, descent, node, np.int64(NONE) if choosers > 1 else deciding, code)
        if child == NONE:
            return NONE
    for role in range(roles):
        tree.in_flight[batch.slots[descent, depth, role]] += 1
    batch.path[descent, depth] = node
    batch.depth[descent] += 1
    return child


@inner
def _add_child(tree: Tree, batch: Batch, descent: Int, node: Int, slot: Int, code: Int) -> Int:
    """A new node below a slot or, where that is NONE, a joint-move edge; its state is wanted. NONE without room."""
    child: Int = new_node(tree)
    if child == NONE:
        return NONE
    if slot != NONE:
        tree.child[slot] = child
        tree.nodes[child, REFERENCES] += 1
    elif not add_edge(tree, node, code, child):
        free_node(tree, child)
        return NONE
    fresh = batch.numbers[FRESH_NODES]
    batch.fresh[fresh], batch.fresh_parent[fresh] = child, node
    batch.fresh_slot[fresh], batch.fresh_code[fresh] = slot, code
    for role in range(tree.nodes.shape[1] - COUNT):
        batch.fresh_joint[fresh, role] = tree.move[batch.slots[descent, batch.depth[descent], role]]
    batch.numbers[FRESH_NODES] += 1
    return child


@inner
def _rarest_slot(tree: Tree, batch: Batch, first: Int, count: Int) -> Int:
    """One of those with the fewest visits, at random."""
    for at in range(count):
        batch.scores[at] = -tree.visits[first + at] - tree.in_flight[first + at]
    fewest = np.float64(batch.scores[0])
    for at in range(count):
        fewest = max(fewest, batch.scores[at])
    return first + _draw_close(batch, count, fewest)


@inner
def _best_slot(  # noqa: PLR0913, PLR0917 - kernel: the innermost choice, its values stay in registers
    tree: Tree, batch: Batch, parameters: Parameters, node: Int, role: Int, first: Int, margin: float, table: Int
) -> Int:
    """The slot with the highest upper bound; at random among those whose score is within `margin` of it."""
    count = np.int64(tree.nodes[node, COUNT + role])
    if parameters.prior_weight > 0.0:
        _score_by_priors(tree, batch, parameters, node, role, first)
    else:
        _score_by_bounds(tree, batch, parameters, node, role, first, table)
    best = np.float64(-10.0)
    for at in range(count):
        best = max(best, batch.scores[at])
    return first + _draw_close(batch, count, best - margin if best > -1.0 else best)


@inner
def _score_by_priors(tree: Tree, batch: Batch, parameters: Parameters, node: Int, role: Int, first: Int) -> None:
    """PUCT; moves that are proven or refuted as in UCB1."""
    roles = tree.nodes.shape[1] - COUNT
    count, node_visits = np.int64(tree.nodes[node, COUNT + role]), tree.values[node, VISITS]
    assured = tree.values[node, roles + role]
    usual = tree.values[node, role] / node_visits if node_visits else 0.5
    spread = parameters.prior_weight * np.sqrt(1.0 + node_visits + tree.nodes[node, IN_FLIGHT])
    last = first + count
    visits, in_flight, value_sum = tree.visits[first:last], tree.in_flight[first:last], tree.value_sum[first:last]
    lower, upper, prior = tree.lower[first:last], tree.upper[first:last], tree.prior[first:last]
    minimax, minimax_weight = tree.move_minimax[first:last], parameters.minimax_weight
    for at in range(count):
        value = value_sum[at] / max(visits[at] + parameters.virtual_loss * in_flight[at], 1.0)
        value = value if visits[at] > 0 else usual / (1.0 + parameters.virtual_loss * in_flight[at])
        if minimax_weight > 0.0 and minimax[at] >= 0.0:
            seen = max(visits[at], 1.0)
            share = minimax_weight if visits[at] > 0 else 1.0
            value += share * (minimax[at] * seen / (seen + parameters.virtual_loss * in_flight[at]) - value)
        value = min(max(value, lower[at]), upper[at])
        score = value + spread * prior[at] / (1.0 + visits[at] + in_flight[at])
        batch.scores[at] = score if lower[at] < upper[at] and upper[at] > assured else lower[at] - 2.0


@inner
def _score_by_bounds(  # noqa: PLR0913, PLR0917 - kernel: the innermost choice, its values stay in registers
    tree: Tree, batch: Batch, parameters: Parameters, node: Int, role: Int, first: Int, table: Int
) -> None:
    """UCB1 or UCB1-Tuned, with GRAVE where there is a table."""
    nodes, scores = tree.nodes, batch.scores
    roles = nodes.shape[1] - COUNT
    count, node_visits = np.int64(nodes[node, COUNT + role]), tree.values[node, VISITS]
    assured = tree.values[node, roles + role]
    growth = np.log(1.0 + node_visits + nodes[node, IN_FLIGHT])
    usual = tree.values[node, role] / node_visits if node_visits else 0.5
    untried = min(1.0, usual + parameters.first_play_urgency)
    last = first + count
    visits, in_flight = tree.visits[first:last], tree.in_flight[first:last]
    value_sum, square_sum = tree.value_sum[first:last], tree.square_sum[first:last]
    lower, upper = tree.lower[first:last], tree.upper[first:last]
    for at in range(count):
        share = 1.0 / max(visits[at], 1.0)
        value = value_sum[at] / max(visits[at] + parameters.virtual_loss * in_flight[at], 1.0)
        mean = value_sum[at] * share
        variance = max(square_sum[at] * share - mean * mean, 0.0)
        value = value if visits[at] > 0 else untried / (1.0 + parameters.virtual_loss * in_flight[at])
        variance = variance if visits[at] > 0 else 0.25
        value = min(max(value, lower[at]), upper[at])
        rate = growth / max(visits[at] + in_flight[at], 0.5)
        cut = min(1.0, 4.0 * (variance + np.sqrt(2.0 * rate)))
        if table != NONE:
            move = parameters.first_move[role] + tree.move[first + at]
            amaf, seen = amaf_value(tree, table, move, usual)
            amaf += parameters.first_play_urgency if visits[at] == 0 else 0.0
            weight = parameters.grave_equivalence / (parameters.grave_equivalence + visits[at])
            weight *= seen / (seen + _AMAF_PRIOR)
            value = min(max((1.0 - weight) * value + weight * amaf, lower[at]), upper[at])
        score = value + parameters.exploration * np.sqrt(rate * (cut if parameters.ucb1_tuned else 1.0))
        scores[at] = score if lower[at] < upper[at] and upper[at] > assured else lower[at] - 2.0


@inner
def _draw_close(batch: Batch, count: Int, enough: float) -> Int:
    """One of the first `count` places whose score is enough, at random."""
    equal = 0
    for at in range(count):
        equal += batch.scores[at] >= enough
    chosen = draw(batch.random, equal) if equal > 1 else 0
    for at in range(count):
        if batch.scores[at] >= enough:
            if chosen == 0:
                return np.int64(at)
            chosen -= 1
    return np.int64(0)
