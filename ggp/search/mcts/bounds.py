"""What a node is worth at least and at most, from what is below it: exact where the game was searched to its end.

MCTS-Solver with score bounds (Cazenave and Saffidine, 2010), for any number of roles: who chooses is taken to choose
what is best for itself, and once that is proven, a move of which it is proven. Where several roles choose at once a
bound is what a role can be sure of whatever the others do. Where chance chooses, bounds are expectations.
"""

import numpy as np

from ggp.kernel import Int, inner, lean
from ggp.search.mcts.batch import Parameters
from ggp.search.mcts.selection import count_choosers
from ggp.search.mcts.tree import COUNT, FIRST, INNER, KIND, LENGTH, LONG, NONE, PAIRS, Tree


@lean
def tighten(tree: Tree, parameters: Parameters, node: Int) -> bool:
    """Work out the bounds of a node anew; whether they became closer."""
    if tree.nodes[node, KIND] != INNER:
        return False
    choosers = count_choosers(tree, node)
    changed = _from_pairs(tree, parameters, node) if choosers > 1 else _from_slots(tree, parameters, node)
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
        sure, most = max(sure, tree.low[slot]), max(most, tree.high[slot])
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
                elif tree.high[slot] > sure or tree.low[slot] == sure:
                    low, high = min(low, below), max(high, above)
        changed = _narrow(tree, node, role, low, high) or changed
    return changed


@lean
def _from_pairs(tree: Tree, parameters: Parameters, node: Int) -> bool:
    """Where several roles choose at once: what each can be sure of."""
    nodes, values = tree.nodes, tree.values
    roles = nodes.shape[1] - COUNT
    combinations: Int = np.int64(1)
    for role in range(roles):
        combinations *= np.int64(nodes[node, COUNT + role])
    first, stride, changed = np.int64(nodes[node, FIRST]), combinations, False
    for role in range(roles):
        count = np.int64(nodes[node, COUNT + role])
        stride //= count
        low, high, seen = tree.scratch[0, :count], tree.scratch[1, :count], tree.scratch[2, :count]
        low[:], high[:], seen[:] = 1.0, 0.0, 0.0
        pair = nodes[node, PAIRS]
        while pair != NONE:
            at = (tree.code[pair] // stride) % count
            child = tree.target[pair]
            seen[at] += 1.0
            low[at] = min(low[at], values[child, roles + role])
            high[at] = max(high[at], values[child, 2 * roles + role])
            pair = tree.onward[pair]
        best, most, sum_low, sum_high = 0.0, 0.0, 0.0, 0.0
        for at in range(count):
            whole = seen[at] == combinations // count
            tree.low[first + at] = max(tree.low[first + at], low[at] if whole else 0.0)
            tree.high[first + at] = min(tree.high[first + at], high[at] if whole else 1.0)
            best, most = max(best, float(tree.low[first + at])), max(most, float(tree.high[first + at]))
            sum_low, sum_high = sum_low + float(tree.low[first + at]), sum_high + float(tree.high[first + at])
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
                if count < 2 or tree.low[slot] >= value:
                    shortest = min(shortest, length)
                    longest = max(longest, length if length < LONG else np.int64(0))
        first += count
    length_here = (shortest if best else longest) + 1
    nodes[node, LENGTH] = min(np.int64(LONG), np.int64(length_here))
