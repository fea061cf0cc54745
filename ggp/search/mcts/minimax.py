"""Implicit minimax: a move has two values, the mean of its visits and the minimax of the learned values below it.

Lanctot, Winands, Pepels and Sturtevant, 2014. Where two roles are opposed and one of them chooses; as soon as a state
gets its moves, the states right below it are valued (one-ply lookahead), so that no move is unknown.
"""

import numpy as np

from ggp.kernel import Int, numba_inner
from ggp.learning.net import Activations, QuantizedNet, role_value
from ggp.search.mcts.tree import COUNT, FIRST, NONE, UNVALUED, VISITS, Parameters, Tree

_OPPOSED = 2  # roles


@numba_inner
def uses_minimax(parameters: Parameters, net: QuantizedNet) -> bool:
    """Whether minimax values are kept."""
    return parameters.minimax_weight > 0.0 and bool(parameters.zero_sum[0]) and len(net.policy) > 0


@numba_inner
def first_role_value(net: QuantizedNet, found: Activations) -> float:
    """What the state that was valued last is worth to role 0, where two roles are opposed."""
    own, other = role_value(net, found, np.int64(0)), role_value(net, found, np.int64(1))
    return 0.5 * (own + 1.0 - other)


@numba_inner
def value_node(tree: Tree, parameters: Parameters, node: Int) -> None:
    """The minimax value of a node with slots, from those of its moves; as it was where there are none."""
    nodes, values = tree.nodes, tree.values
    first, start, count, chooser = np.int64(nodes[node, FIRST]), np.int64(NONE), np.int64(0), np.int64(0)
    for role in range(_OPPOSED):
        if nodes[node, COUNT + role] > 1:
            start = first if start == NONE else np.int64(-2)
            count, chooser = np.int64(nodes[node, COUNT + role]), np.int64(role)
        first += nodes[node, COUNT + role]
    if start == NONE:
        child = tree.child[nodes[node, FIRST]]
        if child != NONE and tree.minimax[child] != UNVALUED:
            tree.minimax[node] = tree.minimax[child]
    elif start < 0 or parameters.nature[chooser]:  # several roles choose, or chance
        if values[node, VISITS] > 0:
            tree.minimax[node] = values[node, 0] / values[node, VISITS]
    else:
        best = np.float32(UNVALUED)
        for slot in range(start, start + count):
            value = tree.move_minimax[slot]
            if value == UNVALUED and tree.visits[slot] > 0:
                value = np.float32(tree.value_sum[slot] / tree.visits[slot])
            best = max(best, value)
        if best != UNVALUED:
            best = min(max(best, values[node, 2 + chooser]), values[node, 4 + chooser])
            tree.minimax[node] = best if chooser == 0 else np.float32(1.0) - best
