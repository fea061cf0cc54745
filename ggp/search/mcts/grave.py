"""GRAVE: what a move was worth in all visits below a node, whenever it was made there (all moves as first, AMAF).

Such values are many long before a node has tried its moves often (generalized rapid action value estimation: Cazenave,
2015). Nodes with enough visits have a table of them; nodes below use the table of the closest one above. Only moves in
the tree count: those of playouts are made in 512 lanes at once and are not known one by one.
"""

from ggp.circuit.network import Ids
from ggp.kernel import Int, inner
from ggp.search.mcts.tree import AMAF, COUNT, NEXT_AMAF, NONE, VISITS, Batch, Tree

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
