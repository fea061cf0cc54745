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
from ggp.row_sums import prefetch
from ggp.search.mcts.tree import (
    AMAF,
    ASSURED,
    BLOCKED,
    BLOCKED_GROUPS,
    COUNT,
    END,
    EXACT,
    EXPANDING,
    EXPANDING_NODES,
    FIRST,
    FRESH,
    FRESH_NODES,
    GROUP_NODE,
    GROWTH,
    HEAD,
    IN_FLIGHT,
    KIND,
    LEAF,
    MARK,
    NEXT_AMAF,
    NONE,
    OWNER,
    PENDING,
    READY,
    REFERENCES,
    ROOT,
    SIZE,
    TABLE,
    TAIL,
    USUAL,
    VISITS,
    WANTED,
    WORKER,
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
_AHEAD = 4  # groups whose slots are fetched before their turn


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
    """Bring the first `count` descents from the root to leaves, or to nodes that are to get slots first."""
    root = np.int64(tree.numbers[ROOT])
    for descent in range(count):
        batch.depth[descent] = 0
        batch.following[descent] = descent + 1
    tree.nodes[root, IN_FLIGHT] += count
    group = batch.groups[0, 0]
    group[GROUP_NODE], group[HEAD], group[TAIL], group[SIZE], group[TABLE] = root, 0, count - 1, count, NONE
    batch.numbers[BLOCKED_GROUPS] = 0
    _descend_groups(tree, batch, parameters, np.int64(1), WANTED)


@lean
def descend_further(tree: Tree, batch: Batch, parameters: Parameters) -> None:
    """Bring the descents that are BLOCKED to leaves, once what they waited for has its slots."""
    groups = np.int64(batch.numbers[BLOCKED_GROUPS])
    for number in range(groups):
        for column in range(batch.groups.shape[2]):
            batch.groups[0, number, column] = batch.groups[2, number, column]
    batch.numbers[BLOCKED_GROUPS] = 0
    _descend_groups(tree, batch, parameters, groups, BLOCKED)


@inner
def _descend_groups(tree: Tree, batch: Batch, parameters: Parameters, count: Int, was: int) -> None:
    """Descents that are in the same node after the same path go down as a group, level by level.

    So what a node's moves are worth is worked out once for all of them, and what a group reads is fetched while others
    are worked on.
    """
    this = 0
    while count:
        below: Int = np.int64(0)
        for number in range(min(count, _AHEAD)):
            _fetch_slots(tree, parameters, np.int64(batch.groups[this, number, GROUP_NODE]))
        for number in range(count):
            if number + _AHEAD < count:
                _fetch_slots(tree, parameters, np.int64(batch.groups[this, number + _AHEAD, GROUP_NODE]))
            group = batch.groups[this, number]
            status = _status_in(tree, batch, group, was)
            if status == WANTED:
                below = _spread(tree, batch, parameters, group, batch.groups[1 - this], below)
                continue
            if status == BLOCKED:
                for column in range(len(group)):
                    batch.groups[2, batch.numbers[BLOCKED_GROUPS], column] = group[column]
                batch.numbers[BLOCKED_GROUPS] += 1
            descent = group[HEAD]
            for _ in range(group[SIZE]):
                batch.leaf[descent], batch.status[descent] = group[GROUP_NODE], status
                descent = batch.following[descent]
        this = 1 - this
        count = below


@inner
def _fetch_slots(tree: Tree, parameters: Parameters, node: Int) -> None:
    """Have the processor fetch what `_spread` reads of a node."""
    first = np.int64(tree.nodes[node, FIRST])
    if first != NONE:
        prefetch(tree.visits, first)
        prefetch(tree.in_flight, first)
        prefetch(tree.value_sum, first)
        prefetch(tree.lower, first)
        prefetch(tree.upper, first)
        prefetch(tree.child, first)
        if parameters.prior_weight > 0.0:
            prefetch(tree.prior, first)
        else:
            prefetch(tree.square_sum, first)


@inner
def _status_in(tree: Tree, batch: Batch, group: Ids, was: int) -> int:
    """What a group of descents does in its node; WANTED: it goes on."""
    nodes, node = tree.nodes, np.int64(group[GROUP_NODE])
    kind = nodes[node, KIND]
    status = WANTED
    if kind == END or is_exact(tree, node):
        status = EXACT
    elif kind == PENDING:
        status = FRESH
    elif kind == EXPANDING:
        status = BLOCKED if nodes[node, OWNER] == batch.numbers[WORKER] else READY
    elif kind == LEAF:
        is_new = tree.values[node, VISITS] == 0.0 and node != tree.numbers[ROOT]
        if is_new or was == BLOCKED or batch.numbers[EXPANDING_NODES] == len(batch.expanding):
            status = READY
        else:
            nodes[node, KIND], nodes[node, OWNER] = EXPANDING, batch.numbers[WORKER]
            batch.expanding[batch.numbers[EXPANDING_NODES]] = node
            batch.numbers[EXPANDING_NODES] += 1
            status = BLOCKED
    else:
        descent, depth, met = group[HEAD], batch.depth[group[HEAD]], 0
        for at in range(depth):
            met += batch.path[descent, at] == node
        if met or depth == batch.path.shape[1]:
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
def _spread(tree: Tree, batch: Batch, parameters: Parameters, group: Ids, targets: Ids, below: Int) -> Int:
    """Choose a joint move for each descent of a group, with the AMAF table of a node above if there is one.

    Those with the same joint move become a group of the next level, behind the first `below` of `targets`; returns how
    many there are then. Descents for which there is no room, or whose next state another worker works out, are READY.
    """
    nodes, node, descent = tree.nodes, np.int64(group[GROUP_NODE]), np.int64(group[HEAD])
    table = np.int64(group[TABLE] if nodes[node, AMAF] == NONE else nodes[node, AMAF])
    roles, depth, earlier = nodes.shape[1] - COUNT, batch.depth[group[HEAD]], below
    first = np.int64(nodes[node, FIRST])
    choosers = count_choosers(tree, node)
    start: Int = first
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        if count > 1 and not parameters.nature[role]:
            _weigh_bounds(tree, batch, parameters, node, role)
            _score(tree, batch, parameters, role, first, start, start + count, table)
        start += count
    for left in range(group[SIZE], 0, -1):
        deciding = _choose_slots(tree, batch, parameters, node, descent, choosers)
        code = joint_code(tree, node, batch.slots[descent, depth]) if choosers > 1 else np.int64(0)
        child = find_edge(tree, node, code) if choosers > 1 else np.int64(tree.child[deciding])
        if child == NONE:
            child = _add_child(tree, batch, descent, node, np.int64(NONE) if choosers > 1 else deciding, code)
        elif nodes[child, KIND] == PENDING and nodes[child, OWNER] != batch.numbers[WORKER]:
            child = np.int64(NONE)
        after = np.int64(batch.following[descent])
        if child == NONE:
            batch.leaf[descent], batch.status[descent] = node, READY
        else:
            batch.path[descent, depth] = node
            batch.depth[descent] = depth + 1
            nodes[child, IN_FLIGHT] += 1
            below = _join_group(tree, batch, targets, earlier, below, child, descent, table)
            start = first
            for role in range(roles):
                slot, count = np.int64(batch.slots[descent, depth, role]), np.int64(nodes[node, COUNT + role])
                tree.in_flight[slot] += 1
                if left > 1 and count > 1 and not parameters.nature[role]:
                    _score(tree, batch, parameters, role, first, slot, slot + 1, table)
                start += count
        descent = after
    return below


@inner
def _choose_slots(tree: Tree, batch: Batch, parameters: Parameters, node: Int, descent: Int, choosers: int) -> Int:
    """A slot of each role for a descent, by the scores; returns that of the last role which has a choice."""
    nodes, first, depth = tree.nodes, np.int64(tree.nodes[node, FIRST]), batch.depth[descent]
    margin = parameters.tie_margin if choosers > 1 else 0.0
    start: Int = first
    deciding: Int = first
    for role in range(nodes.shape[1] - COUNT):
        count = np.int64(nodes[node, COUNT + role])
        slot: Int = start
        if node == tree.numbers[ROOT] and parameters.forced[role] != NONE:
            for at in range(start, start + count):
                if tree.move[at] == parameters.forced[role]:
                    slot = np.int64(at)
        elif count > 1 and parameters.nature[role]:
            slot = _rarest_slot(tree, batch, start, count) if choosers == 1 else start + draw(batch.random, count)
        elif count > 1:
            slot = start + _best_place(batch, start - first, count, margin)
        if count > 1:
            deciding = slot
        batch.slots[descent, depth, role] = slot
        start += count
    return deciding


@inner
def _join_group(  # noqa: PLR0913, PLR0917 - kernel: as `_spread`
    tree: Tree, batch: Batch, targets: Ids, earlier: Int, below: Int, child: Int, descent: Int, table: Int
) -> Int:
    """Put a descent into the group of its new node; those before number `earlier` came there in another way."""
    number = np.int64(tree.nodes[child, MARK])
    if earlier <= number < below and targets[number, GROUP_NODE] == child:
        batch.following[targets[number, TAIL]] = descent
        targets[number, TAIL] = descent
        targets[number, SIZE] += 1
        return below
    tree.nodes[child, MARK] = below
    target = targets[below]
    target[GROUP_NODE], target[HEAD], target[TAIL], target[SIZE], target[TABLE] = child, descent, descent, 1, table
    prefetch(tree.nodes, child)
    prefetch(tree.values, child)
    return below + 1


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
    tree.nodes[child, OWNER] = batch.numbers[WORKER]
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
    return first + _draw_close(batch, np.int64(0), count, fewest)


@inner
def _weigh_bounds(tree: Tree, batch: Batch, parameters: Parameters, node: Int, role: Int) -> None:
    """What the bounds of a role's moves have in common, with all descents that are in the node: `batch.terms`."""
    roles, visits = tree.nodes.shape[1] - COUNT, tree.values[node, VISITS]
    terms, seen = batch.terms[role], 1.0 + visits + tree.nodes[node, IN_FLIGHT]
    terms[ASSURED] = tree.values[node, roles + role]
    terms[USUAL] = tree.values[node, role] / visits if visits else 0.5
    has_priors = parameters.prior_weight > 0.0
    terms[GROWTH] = parameters.prior_weight * np.sqrt(seen) if has_priors else np.log(seen)


@inner
def _score(  # noqa: PLR0913, PLR0917 - kernel: the innermost choice, its values stay in registers
    tree: Tree, batch: Batch, parameters: Parameters, role: Int, first: Int, start: Int, end: Int, table: Int
) -> None:
    """The upper bounds of some slots of a role, in `batch.scores` from the node's slot `first` on."""
    if parameters.prior_weight > 0.0:
        _score_by_priors(tree, batch, parameters, role, first, start, end)
    else:
        _score_by_bounds(tree, batch, parameters, role, first, start, end, table)


@inner
def _best_place(batch: Batch, start: Int, count: Int, margin: float) -> Int:
    """The place from `start` on with the highest upper bound; at random among those within `margin` of it."""
    best = np.float64(-10.0)
    for at in range(start, start + count):
        best = max(best, batch.scores[at])
    return _draw_close(batch, start, count, best - margin if best > -1.0 else best)


@inner
def _score_by_priors(  # noqa: PLR0913, PLR0917 - as above
    tree: Tree, batch: Batch, parameters: Parameters, role: Int, first: Int, start: Int, end: Int
) -> None:
    """PUCT; moves that are proven or refuted as in UCB1."""
    assured, usual, spread = batch.terms[role, ASSURED], batch.terms[role, USUAL], batch.terms[role, GROWTH]
    visits, in_flight, value_sum = tree.visits[start:end], tree.in_flight[start:end], tree.value_sum[start:end]
    lower, upper, prior = tree.lower[start:end], tree.upper[start:end], tree.prior[start:end]
    minimax, minimax_weight = tree.move_minimax[start:end], parameters.minimax_weight
    scores = batch.scores[start - first : end - first]
    for at in range(end - start):
        value = value_sum[at] / max(visits[at] + parameters.virtual_loss * in_flight[at], 1.0)
        value = value if visits[at] > 0 else usual / (1.0 + parameters.virtual_loss * in_flight[at])
        if minimax_weight > 0.0 and minimax[at] >= 0.0:
            seen = max(visits[at], 1.0)
            share = minimax_weight if visits[at] > 0 else 1.0
            value += share * (minimax[at] * seen / (seen + parameters.virtual_loss * in_flight[at]) - value)
        value = min(max(value, lower[at]), upper[at])
        score = value + spread * prior[at] / (1.0 + visits[at] + in_flight[at])
        scores[at] = score if lower[at] < upper[at] and upper[at] > assured else lower[at] - 2.0


@inner
def _score_by_bounds(  # noqa: PLR0913, PLR0917 - as above
    tree: Tree, batch: Batch, parameters: Parameters, role: Int, first: Int, start: Int, end: Int, table: Int
) -> None:
    """UCB1 or UCB1-Tuned, with GRAVE where there is a table."""
    assured, usual, growth = batch.terms[role, ASSURED], batch.terms[role, USUAL], batch.terms[role, GROWTH]
    untried = min(1.0, usual + parameters.first_play_urgency)
    visits, in_flight = tree.visits[start:end], tree.in_flight[start:end]
    value_sum, square_sum = tree.value_sum[start:end], tree.square_sum[start:end]
    lower, upper = tree.lower[start:end], tree.upper[start:end]
    scores = batch.scores[start - first : end - first]
    for at in range(end - start):
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
            move = parameters.first_move[role] + tree.move[start + at]
            amaf, seen = amaf_value(tree, table, move, usual)
            amaf += parameters.first_play_urgency if visits[at] == 0 else 0.0
            weight = parameters.grave_equivalence / (parameters.grave_equivalence + visits[at])
            weight *= seen / (seen + _AMAF_PRIOR)
            value = min(max((1.0 - weight) * value + weight * amaf, lower[at]), upper[at])
        score = value + parameters.exploration * np.sqrt(rate * (cut if parameters.ucb1_tuned else 1.0))
        scores[at] = score if lower[at] < upper[at] and upper[at] > assured else lower[at] - 2.0


@inner
def _draw_close(batch: Batch, start: Int, count: Int, enough: float) -> Int:
    """One of the `count` places from `start` on whose score is enough, at random, counted from `start`."""
    equal = 0
    for at in range(start, start + count):
        equal += batch.scores[at] >= enough
    chosen = draw(batch.random, equal) if equal > 1 else 0
    for at in range(count):
        if batch.scores[start + at] >= enough:
            if chosen == 0:
                return np.int64(at)
            chosen -= 1
    return np.int64(0)
