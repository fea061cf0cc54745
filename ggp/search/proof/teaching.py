"""What was proven goes into a search tree."""

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import Int, lean
from ggp.search.mcts.tree import COUNT, FIRST, NONE, Tree
from ggp.search.proof.walks import TOP, Walks, bounds_of
from ggp.simulation.evaluate import Bits


@lean
def bounds_by_moves(table: Bits, walks: Walks) -> tuple[np.int64, np.int64]:
    """What the first role gets at the root, at least and at most, as far as its moves show it."""
    if walks.moves[0, 0] < 0:
        return np.int64(0), np.int64(walks.counters[TOP])
    own, first = walks.chooser[0, 0] == 0, walks.first[0, 0]
    low, high, _ = bounds_of(table, walks, np.int64(first))
    for child in range(first + 1, first + walks.moves[0, 0]):
        other_low, other_high, _ = bounds_of(table, walks, child)
        if own:
            low, high = max(low, other_low), max(high, other_high)
        else:
            low, high = min(low, other_low), min(high, other_high)
    return low, high


@lean
def teach(table: Bits, walks: Walks, worth: NDArray[np.float64], tree: Tree, node: Int) -> None:
    """Give a node of a search tree, the root, the bounds that are known of its moves, and by these its own.

    Where it is lost, what was said of its moves is taken back: the tree itself looks for those that are hardest to
    refute, or lose latest. Nodes below get none: they would be solved without a move of which that is known.
    """
    chooser, slot = walks.chooser[0, 0], np.int64(tree.nodes[node, FIRST])
    low, high = bounds_by_moves(table, walks)
    if slot == NONE or walks.moves[0, 0] < 0:
        return
    is_lost = high == 0 if chooser == 0 else low == walks.counters[TOP]
    values = tree.values
    if not is_lost:
        values[node, 2] = max(values[node, 2], worth[low])
        values[node, 3] = max(values[node, 3], 1.0 - worth[high])
        values[node, 4] = min(values[node, 4], worth[high])
        values[node, 5] = min(values[node, 5], 1.0 - worth[low])
    if chooser == 1:
        slot += tree.nodes[node, COUNT]
    for move in range(walks.first[0, 0], walks.first[0, 0] + walks.moves[0, 0]):  # both in the order of the moves
        low, high, _ = bounds_of(table, walks, move)
        least, most, child = worth[low], worth[high], tree.child[slot]
        if chooser == 1:
            least, most = 1.0 - most, 1.0 - least
        if not is_lost:
            tree.low[slot] = max(tree.low[slot], least)
            tree.high[slot] = min(tree.high[slot], most)
        elif child != NONE:
            tree.low[slot], tree.high[slot] = values[child, 2 + chooser], values[child, 4 + chooser]
        else:
            tree.low[slot], tree.high[slot] = 0.0, 1.0
        slot += 1
