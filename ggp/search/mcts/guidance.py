"""A caller's own functions in the search: values of leaves in place of playouts, and priors of moves (PUCT).

They get whole batches, since each call from here into Python costs as much as hundreds of visits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.search.mcts.tree import (
    COUNT,
    FIRST,
    NONE,
    PLAYING,
    READY,
    Batch,
    Parameters,
    Tree,
)
from ggp.simulation.evaluate import Bits
from ggp.simulation.playout import Lanes

Evaluate: TypeAlias = Callable[[Bits], NDArray[np.float64]]
"""(n, words) states → (n, roles) what they are worth, from 0 for the lowest goal value of the rules to 1."""
Weigh: TypeAlias = Callable[[Bits], NDArray[np.float64]]
"""(n, words) states → (n, moves of all roles in a row) weights, not negative; those of illegal moves do not count."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What takes the place of playouts, and of even priors; None: nothing does."""

    evaluate: Evaluate | None = None
    weigh: Weigh | None = None


def value_leaves(tree: Tree, batch: Batch, leaves: Lanes, count: int, evaluate: Evaluate) -> None:
    """Gives the leaves of descents that are READY their values, as if each had been played out once."""
    ready = np.flatnonzero(batch.status[:count] == READY)
    if not len(ready):
        return
    nodes, which = np.unique(batch.leaf[ready], return_inverse=True)
    leaves.values[ready] = evaluate(tree.table.states[nodes])[which]
    leaves.done[ready] = 1
    batch.status[ready] = PLAYING


def weigh_moves(tree: Tree, parameters: Parameters, nodes: Ids, weigh: Weigh) -> None:
    """Gives the moves of nodes that have their slots priors by their weights; even ones where all weights are 0."""
    grown = nodes[tree.nodes[nodes, FIRST] != NONE]
    if not len(grown):
        return
    for node, weights in zip(grown, weigh(tree.table.states[grown]), strict=True):
        first = int(tree.nodes[node, FIRST])
        for role, count in enumerate(tree.nodes[node, COUNT:]):
            slots = slice(first, first + int(count))
            own = weights[parameters.first_move[role] + tree.move[slots]]
            total = own.sum()
            share = own / total if total > 0 else np.full(len(own), 1 / max(len(own), 1))
            tree.prior[slots] = parameters.prior_floor / max(len(own), 1) + (1 - parameters.prior_floor) * share
            first += int(count)
