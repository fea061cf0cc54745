"""What the others are expected to concede below a proven node of the tree, by `search.opponent_model`.

Where a role chooses it takes the most of the moves that keep what is sure. Another role's moves seem to it as much
worth as the tree thought before they were proven; what is not proven is worth to the role what the tree says.
"""

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, lean, numba_inner
from ggp.search.mcts.tree import (
    COUNT,
    FIRST,
    INNER,
    KIND,
    LENGTH,
    MOST_DEPTH,
    NONE,
    VISITS,
    Parameters,
    Tree,
    is_marked,
)
from ggp.search.opponent_model import SPREAD, awareness

_UNKNOWN = -1.0
_UNTRIED = 0.5  # what a move without visits seems to be worth
_TINY = 1e-9


def expected_values(tree: Tree, parameters: Parameters, role: int, node: int) -> NDArray[np.float32]:
    """(N,) what nodes below a proven one are worth to a role where others err, 0 to 1; below 0: it was not needed."""
    found = np.full(len(tree.nodes), _UNKNOWN, np.float32)
    expect(tree, parameters, role, node, np.zeros((MOST_DEPTH, 2), np.int32), found)
    return found


@lean
def expect(tree: Tree, parameters: Parameters, role: Int, root: Int, path: Ids, found: NDArray[np.float32]) -> None:
    """Depth first; path: (depth, 2) nodes and how many of their moves were looked at. A cycle is as the tree says."""
    depth = 0
    path[0, 0], path[0, 1] = root, 0
    found[root] = _seen_value(tree, role, root)
    while depth >= 0:
        node = np.int64(path[depth, 0])
        chooser, start, count = _choice(tree, node)
        if path[depth, 1] == count:
            found[node] = _value(tree, parameters, role, node, chooser, start, count, found)
            depth -= 1
            continue
        child = np.int64(tree.child[start + path[depth, 1]])
        path[depth, 1] += 1
        if child == NONE or found[child] != _UNKNOWN:
            continue
        found[child] = _seen_value(tree, role, child)
        if _is_conceded_below(tree, role, child) and depth + 1 < len(path):
            depth += 1
            path[depth, 0], path[depth, 1] = child, 0


@numba_inner
def _seen_value(tree: Tree, role: Int, node: Int) -> float:
    """The mean of the visits, within the bounds."""
    roles, values = tree.nodes.shape[1] - COUNT, tree.values
    visits = values[node, VISITS]
    mean = values[node, role] / visits if visits > 0 else _UNTRIED
    return float(min(max(mean, values[node, roles + role]), values[node, 2 * roles + role]))


@numba_inner
def _is_conceded_below(tree: Tree, role: Int, node: Int) -> bool:
    """Whether the value of an inner node is proven, and there could be more."""
    roles, values = tree.nodes.shape[1] - COUNT, tree.values
    low, high = values[node, roles + role], values[node, 2 * roles + role]
    is_proven = tree.nodes[node, KIND] == INNER and low == high < 1.0
    choosers = 0
    for column in range(COUNT, tree.nodes.shape[1]):
        choosers += tree.nodes[node, column] > 1
    return is_proven and choosers <= 1


@numba_inner
def _choice(tree: Tree, node: Int) -> tuple[Int, Int, Int]:
    """The role that chooses, else 0; its first slot, and how many it has."""
    chooser, first = np.int64(0), np.int64(tree.nodes[node, FIRST])
    start, count = first, np.int64(1)
    for role in range(tree.nodes.shape[1] - COUNT):
        if tree.nodes[node, COUNT + role] > 1:
            chooser, start, count = np.int64(role), first, np.int64(tree.nodes[node, COUNT + role])
        first += tree.nodes[node, COUNT + role]
    return chooser, start, count


@numba_inner
def _value(  # noqa: PLR0913, PLR0917 - kernel: one node and its moves
    tree: Tree, parameters: Parameters, role: Int, node: Int, chooser: Int, start: Int, count: Int,
    found: NDArray[np.float32],
) -> float:  # fmt: skip
    """Of a node whose moves were looked at."""
    sure = tree.values[node, tree.nodes.shape[1] - COUNT + chooser]
    otherwise = np.float64(found[node])
    most, least, total, weights = -1.0, 2.0, 0.0, 0.0
    best_seen = 0.0
    for slot in range(start, start + count):
        best_seen = max(best_seen, _seen_worth(tree, slot))
    for slot in range(start, start + count):
        child = tree.child[slot]
        value, is_known = _UNTRIED, child != NONE
        if child != NONE:
            value = np.float64(found[child])
        elif is_marked(tree, np.int64(slot)):
            value = tree.lower[slot] if chooser == role else 1.0 - tree.lower[slot]
            is_known = True
        weight = 1.0
        if chooser != role and not parameters.nature[chooser]:
            weight = tree.prior[slot] * np.exp((_seen_worth(tree, slot) - best_seen) / SPREAD)
        total += weight * value
        weights += weight
        if count == 1 or (is_known and tree.lower[slot] >= sure - _TINY):
            most, least = max(most, value), min(least, value)
    if chooser == role or count == 1:
        return float(most if most >= 0.0 else otherwise)
    mean = total / weights if weights > 0.0 else otherwise
    if parameters.nature[chooser] or least > 1.0 or sure < 1.0 - _TINY:
        return float(mean)
    share = awareness(tree.nodes[node, LENGTH])
    return float(share * least + (1.0 - share) * mean)


@numba_inner
def _seen_worth(tree: Tree, slot: Int) -> float:
    """What a move seems to be worth to its role without what is proven."""
    return float(tree.value_sum[slot] / tree.visits[slot] if tree.visits[slot] > 0 else _UNTRIED)
