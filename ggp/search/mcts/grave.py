"""What a move was worth elsewhere: in all visits below a node, whenever it was made there.

Such values are many long before a node has tried its moves often (generalized rapid action value estimation: Cazenave,
2015). Nodes with enough visits have a table of them; those below use the table of the closest one above. Only the moves
in the tree count: those of playouts are made in 512 lanes at once and not told apart.
"""

import numpy as np

from ggp.circuit.network import Ids
from ggp.kernel import Int, inner
from ggp.search.mcts.batch import Flights
from ggp.search.mcts.tree import COUNT, NONE, TABLE, TABLES, VISITS, Tree

REFERENCE = 64  # visits of a node before it has a table
_LOOKS = 8  # for a free table


@inner
def note_moves(tree: Tree, flights: Flights, first_move: Ids, flight: Int, at: Int) -> None:
    """Add a flight's values to the table of the node at one depth of its path, for all moves from there on."""
    nodes, depth, node = tree.nodes, flights.depth[flight], flights.path[flight, at]
    if nodes[node, TABLE] == NONE:
        if nodes[node, VISITS] < REFERENCE:
            return
        _take_table(tree, node)
        if nodes[node, TABLE] == NONE:
            return
    table = nodes[node, TABLE]
    for below in range(at, depth):
        for role in range(nodes.shape[1] - COUNT):
            if nodes[flights.path[flight, below], COUNT + role] > 1:
                move = first_move[role] + tree.move[flights.slots[flight, below, role]]
                tree.elsewhere[table, 0, move] += 1.0
                tree.elsewhere[table, 1, move] += flights.values[flight, role]


@inner
def _take_table(tree: Tree, node: Int) -> None:
    """Give a node a table, empty, if one is found quickly."""
    for _ in range(min(_LOOKS, len(tree.owner))):
        table = tree.numbers[TABLES] % len(tree.owner)
        tree.numbers[TABLES] += 1
        if tree.owner[table] == NONE:
            tree.owner[table] = node
            tree.nodes[node, TABLE] = table
            tree.elsewhere[table] = 0.0
            break


@inner
def worth_elsewhere(tree: Tree, table: Int, move: Int, otherwise: float) -> tuple[float, float]:
    """The mean that a table has for a move, or as good as `otherwise`; and in how many visits it was made."""
    tries = tree.elsewhere[table, 0, move]
    return (tree.elsewhere[table, 1, move] + otherwise) / (tries + 1.0), np.float64(tries)
