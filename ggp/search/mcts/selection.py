"""From the root to a leaf: each role chooses by upper confidence bounds on its own value.

UCB1 and UCB1-Tuned: Auer, Cesa-Bianchi and Fischer, 2002. PUCT with a prior of the moves: Rosin, 2011, in the form of
AlphaZero (Silver et al., 2018). Descents in flight count for the bonus (Liu et al., 2020)
and, as far as `virtual_loss` says, as lost visits for the value (Chaslot, Winands and van den Herik, 2008). Where
several roles choose at once, each does so by its own statistics: decoupled UCT. Where chance chooses alone, its
outcomes have turns, so that the mean of a state is the expectation over them and not that of a sample.
"""

import numpy as np

from ggp.circuit.network import Ids
from ggp.kernel import Int, draw, lean, numba_inner
from ggp.locks import lock, unlock
from ggp.row_sums import prefetch
from ggp.search.mcts.tree import (
    ABOVE,
    ASSURED,
    BELOW,
    BELOW_END,
    BLOCKED,
    BLOCKED_GROUPS,
    COUNT,
    DEPTH,
    END,
    EXACT,
    EXPANDING,
    EXPANDING_NODES,
    FIRST,
    FRESH,
    FRESH_NODES,
    GROUP_NODE,
    GROUPS,
    GROWTH,
    HEAD,
    IN_FLIGHT,
    KIND,
    LEAF,
    LOCK,
    MOST_DEPTH,
    NARROWED,
    NONE,
    OWNER,
    READY,
    ROOT,
    ROOTS,
    SIZE,
    SLOT,
    TAIL,
    TWIN,
    USUAL,
    VISITS,
    WANTED,
    WORKER,
    Batch,
    Parameters,
    Tree,
    find_edge,
    joint_code,
)

_AHEAD = 4  # groups whose slots are fetched before their turn
_FETCHED = 16  # slots of a node that are


@lean
def descend(tree: Tree, batch: Batch, parameters: Parameters, count: Int) -> None:
    """Bring the first `count` descents to leaves, or to nodes that are to get slots first.

    From the root, or in equal parts from the batch's ROOTS.
    """
    for descent in range(count):
        batch.following[descent] = descent + 1
    roots = max(np.int64(batch.numbers[ROOTS]), np.int64(1))
    for number in range(roots):
        group = batch.groups[number]
        group[:] = NONE
        first, end = number * count // roots, (number + 1) * count // roots
        group[GROUP_NODE] = batch.roots[number] if batch.numbers[ROOTS] else tree.numbers[ROOT]
        group[HEAD], group[TAIL], group[SIZE] = first, end - 1, end - first
        group[DEPTH] = group[BELOW] = group[BELOW_END] = 0
    batch.numbers[GROUPS], batch.numbers[BLOCKED_GROUPS] = roots, 0
    _descend_groups(tree, batch, parameters, np.int64(0), WANTED)


@lean
def descend_further(tree: Tree, batch: Batch, parameters: Parameters) -> None:
    """Bring the descents that are BLOCKED to leaves, once what they waited for has its slots."""
    _descend_groups(tree, batch, parameters, np.int64(batch.numbers[GROUPS]), BLOCKED)
    batch.numbers[BLOCKED_GROUPS] = 0


@lean
def _descend_groups(tree: Tree, batch: Batch, parameters: Parameters, first: Int, was: int) -> None:
    """Bring groups to leaves, and those that follow from them, level by level.

    was: BLOCKED, for those that are, in `batch.blocked`; else WANTED, for those from number `first` on.
    """
    blocked = batch.numbers[BLOCKED_GROUPS]
    at, number = np.int64(0), np.int64(first)
    while at < blocked or number < batch.numbers[GROUPS]:
        is_blocked = at < blocked
        if number + _AHEAD < batch.numbers[GROUPS]:
            _fetch_slots(tree, np.int64(batch.groups[number + _AHEAD, GROUP_NODE]))
        _enter(tree, batch, parameters, np.int64(batch.blocked[at]) if is_blocked else number, was, is_blocked)
        if is_blocked:
            at += 1
        else:
            number += 1


@numba_inner
def _enter(tree: Tree, batch: Batch, parameters: Parameters, number: Int, was: int, is_blocked: bool) -> None:
    """What the descents of a group do in its node; is_blocked: they are in it already."""
    group = batch.groups[number]
    node, status = np.int64(group[GROUP_NODE]), FRESH
    if node != NONE:
        lock(tree.nodes, node, LOCK)
        if not is_blocked:
            tree.nodes[node, IN_FLIGHT] += group[SIZE]
        status = _status_in(tree, batch, group, was)
        if status == WANTED:
            _spread(tree, batch, parameters, number)
        unlock(tree.nodes, node, LOCK)
    if status == BLOCKED:
        batch.blocked[batch.numbers[BLOCKED_GROUPS]] = number
        batch.numbers[BLOCKED_GROUPS] += 1
    if status != WANTED:
        descent = group[HEAD]
        for _ in range(group[SIZE]):
            batch.leaf[descent], batch.status[descent] = node, status
            descent = batch.following[descent]


@numba_inner
def _fetch_slots(tree: Tree, node: Int) -> None:
    """Have the processor fetch what `_spread` reads of a node."""
    if node != NONE:
        first = np.int64(tree.nodes[node, FIRST])
        if first != NONE:
            end = first
            for column in range(COUNT, tree.nodes.shape[1]):
                end += np.int64(tree.nodes[node, column])
            for slot in range(first, min(end, first + _FETCHED)):
                prefetch(tree.visits, slot)


@numba_inner
def _status_in(tree: Tree, batch: Batch, group: Ids, was: int) -> int:
    """What a group of descents does in its node, whose lock is held; WANTED: it goes on."""
    nodes, node = tree.nodes, np.int64(group[GROUP_NODE])
    kind = nodes[node, KIND]
    status = WANTED
    if kind == END or is_exact(tree, node):
        status = EXACT
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
        above, met = group[ABOVE], 0
        while above != NONE:
            met += batch.groups[above, GROUP_NODE] == node
            above = batch.groups[above, ABOVE]
        if met or group[DEPTH] == MOST_DEPTH:
            status = READY
    return status


@numba_inner
def count_choosers(tree: Tree, node: Int) -> int:
    """How many roles have more than one move."""
    choosers = 0
    for column in range(COUNT, tree.nodes.shape[1]):
        choosers += tree.nodes[node, column] > 1
    return choosers


@numba_inner
def is_exact(tree: Tree, node: Int) -> bool:
    """Whether the value of a node is known for all roles."""
    roles = tree.nodes.shape[1] - COUNT
    exact = True
    for role in range(roles):
        exact = exact and tree.values[node, roles + role] == tree.values[node, 2 * roles + role]
    return exact


@numba_inner
def _spread(tree: Tree, batch: Batch, parameters: Parameters, number: Int) -> None:
    """Choose a joint move for each descent of a group.

    Those with the same joint move become a group. Descents for which there is no room stay, and are READY.
    """
    nodes, group = tree.nodes, batch.groups[number]
    node, first = np.int64(group[GROUP_NODE]), np.int64(nodes[group[GROUP_NODE], FIRST])
    roles, choosers = nodes.shape[1] - COUNT, count_choosers(tree, node)
    start: Int = first
    decider, options, count, is_plain = 0, start, np.int64(1), choosers == 1
    for role in range(roles):
        moves = np.int64(nodes[node, COUNT + role])
        batch.chosen[role] = start
        if moves > 1:
            decider, options, count = role, start, moves
            is_forced = node == tree.numbers[ROOT] and parameters.forced[role] != NONE
            is_plain = is_plain and not parameters.nature[role] and not is_forced
            if not parameters.nature[role]:
                _weigh_bounds(tree, batch, parameters, node, role)
                _score(tree, batch, parameters, role, first, start, start + moves)
        start += moves
    descent = np.int64(group[HEAD])
    group[HEAD] = group[TAIL] = NONE
    group[BELOW] = group[BELOW_END] = batch.numbers[GROUPS]
    target: Int = np.int64(NONE)
    deciding: Int = first
    rival = np.inf
    for left in range(group[SIZE], 0, -1):
        after = np.int64(batch.following[descent])
        if target == NONE or not batch.scores[deciding - first] > rival:
            if is_plain:
                place, rival = _best_two(batch, options - first, count)
                deciding = options + place
                batch.chosen[decider] = deciding
            else:
                deciding = _choose_slots(tree, batch, parameters, node, choosers)
            target = _find_group(tree, batch, group, deciding, choosers)
            if target == NONE:
                target = _add_group(tree, batch, number, deciding, choosers)
        if target == NONE:
            batch.leaf[descent], batch.status[descent] = node, READY
            append(batch, group, descent)
        else:
            append(batch, batch.groups[target], descent)
            batch.groups[target, SIZE] += 1
            for role in range(roles):
                slot = np.int64(batch.chosen[role])
                tree.in_flight[slot] += 1
                if left > 1 and nodes[node, COUNT + role] > 1 and not parameters.nature[role]:
                    _score(tree, batch, parameters, role, first, slot, slot + 1)
        descent = after


@numba_inner
def _best_two(batch: Batch, start: Int, count: Int) -> tuple[Int, float]:
    """The place from `start` on with the highest score, counted from there, and the highest score of the others.

    At random among those with the same score.
    """
    best, second = -10.0, -10.0
    place: Int = np.int64(0)
    for at in range(count):
        score = float(batch.scores[start + at])
        second = max(second, min(score, best))
        place = np.int64(at) if score > best else place
        best = max(best, score)
    if second == best:
        place = _draw_close(batch, start, count, best)
    return place, second


@numba_inner
def append(batch: Batch, group: Ids, descent: Int) -> None:
    """A descent becomes the last one of a group."""
    if group[HEAD] == NONE:
        group[HEAD] = descent
    else:
        batch.following[group[TAIL]] = descent
    group[TAIL] = descent


@numba_inner
def _choose_slots(tree: Tree, batch: Batch, parameters: Parameters, node: Int, choosers: int) -> Int:
    """`batch.chosen`, a slot of each role, by the scores; returns that of the last role which has a choice."""
    nodes, first = tree.nodes, np.int64(tree.nodes[node, FIRST])
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
        batch.chosen[role] = slot
        start += count
    return deciding


@numba_inner
def _find_group(tree: Tree, batch: Batch, group: Ids, deciding: Int, choosers: int) -> Int:
    """The group of those that go on from a group by the slots that are chosen, or NONE."""
    found = np.int64(batch.places[deciding - tree.nodes[group[GROUP_NODE], FIRST]])
    if not group[BELOW] <= found < group[BELOW_END] or not _leads_by(batch, found, deciding):
        found = np.int64(NONE)
    while choosers > 1 and found != NONE:
        same = True
        for role in range(len(batch.chosen)):
            same = same and batch.groups[found, SLOT + role] == batch.chosen[role]
        if same:
            break
        found = np.int64(batch.groups[found, TWIN])
    return np.int64(found)


@numba_inner
def _leads_by(batch: Batch, number: Int, slot: Int) -> bool:
    """Whether a slot is among those that led to a group."""
    found = False
    for role in range(len(batch.chosen)):
        found = found or batch.groups[number, SLOT + role] == slot
    return found


@numba_inner
def _add_group(tree: Tree, batch: Batch, above: Int, deciding: Int, choosers: int) -> Int:
    """A new group behind a group by the slots that are chosen; NONE where there is no room."""
    number, parent = np.int64(batch.numbers[GROUPS]), batch.groups[above]
    if number == len(batch.groups):
        return NONE
    batch.numbers[GROUPS] += 1
    node, group = np.int64(parent[GROUP_NODE]), batch.groups[number]
    place = deciding - np.int64(tree.nodes[node, FIRST])
    twin = np.int64(batch.places[place])
    group[HEAD] = group[TAIL] = NONE
    group[SIZE] = group[NARROWED] = group[BELOW] = group[BELOW_END] = 0
    group[ABOVE], group[DEPTH] = above, parent[DEPTH] + 1
    is_twin = parent[BELOW] <= twin < number and _leads_by(batch, twin, deciding)
    group[TWIN] = twin if is_twin else np.int64(NONE)
    batch.places[place] = number
    parent[BELOW_END] = number + 1
    for role in range(len(batch.chosen)):
        group[SLOT + role] = batch.chosen[role]
    if choosers > 1:
        group[GROUP_NODE] = find_edge(tree, node, joint_code(tree, node, batch.chosen))
    else:
        group[GROUP_NODE] = tree.child[deciding]
    if group[GROUP_NODE] == NONE:
        fresh = batch.numbers[FRESH_NODES]
        batch.fresh[fresh] = number
        for role in range(len(batch.chosen)):
            batch.fresh_joint[fresh, role] = tree.move[batch.chosen[role]]
        batch.numbers[FRESH_NODES] += 1
    else:
        prefetch(tree.nodes, np.int64(group[GROUP_NODE]))
        prefetch(tree.values, np.int64(group[GROUP_NODE]))
    return np.int64(number)


@numba_inner
def _rarest_slot(tree: Tree, batch: Batch, first: Int, count: Int) -> Int:
    """One of those with the fewest visits, at random."""
    for at in range(count):
        batch.scores[at] = -tree.visits[first + at] - tree.in_flight[first + at]
    fewest = np.float64(batch.scores[0])
    for at in range(count):
        fewest = max(fewest, batch.scores[at])
    return first + _draw_close(batch, np.int64(0), count, fewest)


@numba_inner
def _weigh_bounds(tree: Tree, batch: Batch, parameters: Parameters, node: Int, role: Int) -> None:
    """What the bounds of a role's moves have in common, with all descents that are in the node: `batch.terms`."""
    roles, visits = tree.nodes.shape[1] - COUNT, tree.values[node, VISITS]
    terms, seen = batch.terms[role], 1.0 + visits + tree.nodes[node, IN_FLIGHT]
    terms[ASSURED] = tree.values[node, roles + role]
    terms[USUAL] = tree.values[node, role] / visits if visits else 0.5
    has_priors = parameters.prior_weight > 0.0
    terms[GROWTH] = parameters.prior_weight * np.sqrt(seen) if has_priors else np.log(seen)


@numba_inner
def _score(  # noqa: PLR0913, PLR0917 - kernel: the innermost choice, its values stay in registers
    tree: Tree, batch: Batch, parameters: Parameters, role: Int, first: Int, start: Int, end: Int
) -> None:
    """The upper bounds of some slots of a role, in `batch.scores` from the node's slot `first` on."""
    if parameters.prior_weight > 0.0:
        _score_by_priors(tree, batch, parameters, role, first, start, end)
    else:
        _score_by_bounds(tree, batch, parameters, role, first, start, end)


@numba_inner
def _best_place(batch: Batch, start: Int, count: Int, margin: float) -> Int:
    """The place from `start` on with the highest upper bound; at random among those within `margin` of it."""
    best = np.float64(-10.0)
    for at in range(start, start + count):
        best = max(best, batch.scores[at])
    return _draw_close(batch, start, count, best - margin if best > -1.0 else best)


@numba_inner
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


@numba_inner
def _score_by_bounds(  # noqa: PLR0913, PLR0917 - as above
    tree: Tree, batch: Batch, parameters: Parameters, role: Int, first: Int, start: Int, end: Int
) -> None:
    """UCB1 or UCB1-Tuned."""
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
        score = value + parameters.exploration * np.sqrt(rate * (cut if parameters.ucb1_tuned else 1.0))
        scores[at] = score if lower[at] < upper[at] and upper[at] > assured else lower[at] - 2.0


@numba_inner
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
