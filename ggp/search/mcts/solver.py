"""Exact values for the search tree: by a proof of its root in the background, or from all states of a small game.

The proof gets some work for each visit of the root, and more once the tree has grown for long: then one more visit
tells little. A thread that is not the only one proves all the time from then on.
"""

from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import Int, lean
from ggp.search.mcts.tree import (
    COUNT,
    END,
    FIRST,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LONG,
    NODE_TOP,
    NONE,
    ROOT,
    VISITS,
    Tree,
)
from ggp.search.proof.prover import Prover, RootMoves
from ggp.search.retrograde import StateGraph
from ggp.simulation.expansion import OVER
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, find_state

_PER_VISIT, _MORE_PER_VISIT = 0.1, 4.0  # states that are worked out for each visit of the root, and for later ones
_FROM, _FULLY_FROM = 500_000, 1_500_000  # visits of the root between which the later ones begin
_AT_ONCE = 2048  # between two looks at the clock, where another thread visits


class BackgroundProof:
    """What is proven of the root of a tree; nothing as long as no work was done."""

    def __init__(self, machine: CircuitMachine, budget_bytes: int) -> None:
        self._prover = Prover(machine, budget_bytes)
        self._ahead = 0.0  # of the work that visits so far ask for
        self._is_at_root = False
        self._take_note()

    @property
    def has_failed(self) -> bool:
        """Whether the values of two roles do not add up to 1, or roles choose at once."""
        return self._prover.has_failed

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(2,) the least and the most that the root is worth to each role."""
        return self._bounds

    def go_to_root(self, tree: Tree) -> None:
        """Start from the tree's root, which has changed."""
        root = int(tree.numbers[ROOT])
        self._is_at_root = tree.nodes[root, KIND] != END
        if self._is_at_root:
            self._prover.go_to(tree.states[root : root + 1], _mean(tree))
        self._ahead = self._prover.work_done - _wanted(tree)
        self._take_note()

    def work(self, tree: Tree, lock: Lock, stop: Callable[[], bool], *, is_alone: bool) -> bool:
        """Some of the work: as visits ask for or, by a thread that is alone with it, more; whether any was done.

        The tree gets to know what is proven.
        """
        prover, visits = self._prover, int(tree.nodes[tree.numbers[ROOT], VISITS])
        enough, has_worked = self._ahead + _wanted(tree), False
        if is_alone and visits >= _FROM:
            enough = prover.work_done + _AT_ONCE
        while self._is_at_root and not prover.is_idle and prover.work_done < enough and not stop():
            prover.advance(_mean(tree), enough)
            has_worked = True
        if has_worked:
            self._take_note()
            with lock:
                self._write(tree)
        return has_worked

    def longer(self, lengths: list[int], role: int) -> list[int]:
        """How far from the end a role's moves are, those that the tree does not know with those of the proof."""
        known = self._root_moves
        if known is None or known.chooser != role or len(known.length) != len(lengths):
            return lengths
        return [mine if 0 < mine < LONG else other for mine, other in zip(lengths, known.length.tolist(), strict=True)]

    def _write(self, tree: Tree) -> None:
        known = self._root_moves
        if known is not None:
            write_proof(tree, int(tree.numbers[ROOT]), known.chooser, known.low, known.high)

    def _take_note(self) -> None:
        """Of what is known now: other threads read it, and must not look into work that is under way."""
        at_root, prover = self._is_at_root, self._prover
        self._bounds = prover.bounds if at_root else (np.zeros(2), np.ones(2))
        self._root_moves: RootMoves | None = prover.root_moves if at_root else None


def _wanted(tree: Tree) -> float:
    """How many states the visits of the root ask for."""
    visits = int(tree.nodes[tree.numbers[ROOT], VISITS])
    growing, later = min(max(visits - _FROM, 0), _FULLY_FROM - _FROM), max(visits - _FULLY_FROM, 0)
    return _PER_VISIT * visits + _MORE_PER_VISIT * (growing**2 / (2 * (_FULLY_FROM - _FROM)) + later)


def _mean(tree: Tree) -> float:
    """What the root seems to be worth to the first role."""
    root = int(tree.numbers[ROOT])
    return float(tree.values[root, 0]) / max(int(tree.nodes[root, VISITS]), 1)


@lean
def write_proof(tree: Tree, node: Int, chooser: Int, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Give a node, the root, the bounds that are known of the chooser's moves, and by these its own.

    low, high: (moves,) for the first role. Where the state is lost, what was said of the moves is taken back: the tree
    itself looks for those that are hardest to refute, or lose latest. Nodes below get none: they would be solved
    without a move of which that is known.
    """
    slot, values = np.int64(tree.nodes[node, FIRST]), tree.values
    if slot == NONE:
        return
    least, most = low[0], high[0]
    for move in range(1, len(low)):
        if chooser == 0:
            least, most = max(least, low[move]), max(most, high[move])
        else:
            least, most = min(least, low[move]), min(most, high[move])
    is_lost = most == 0.0 if chooser == 0 else least == 1.0
    if not is_lost:
        values[node, 2], values[node, 4] = max(values[node, 2], least), min(values[node, 4], most)
        values[node, 3], values[node, 5] = max(values[node, 3], 1.0 - most), min(values[node, 5], 1.0 - least)
    if chooser == 1:
        slot += tree.nodes[node, COUNT]
    for move in range(len(low)):  # both in the order of the moves
        least, most, child = low[move], high[move], tree.child[slot]
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


@lean
def write_exact_values(tree: Tree, node: Int, graph: StateGraph) -> None:
    """Give a node, and its slots, the bounds and the length that the graph of all states has for it."""
    number = find_state(graph.table, tree.states, node)
    if number == EMPTY:
        return
    roles = graph.low.shape[1]
    for role in range(roles):
        low, high = roles + role, 2 * roles + role
        tree.values[node, low] = max(tree.values[node, low], graph.low[number, role])
        tree.values[node, high] = min(tree.values[node, high], graph.high[number, role])
    tree.nodes[node, LENGTH] = graph.length[number]
    slot, chooser = np.int64(tree.nodes[node, FIRST]), graph.chooser[number]
    if slot == NONE or chooser == OVER:
        return
    for role in range(chooser):
        slot += tree.nodes[node, COUNT + role]
    for edge in range(graph.first[number], graph.first[number + 1]):  # both are in the order of the moves
        target = graph.target[edge]
        tree.low[slot] = max(tree.low[slot], graph.low[target, chooser])
        tree.high[slot] = min(tree.high[slot], graph.high[target, chooser])
        slot += 1


@lean
def write_all_exact_values(tree: Tree, graph: StateGraph) -> None:
    """The same for all nodes whose states are known."""
    for node in range(tree.numbers[NODE_TOP]):
        kind = tree.nodes[node, KIND]
        if kind == LEAF or kind == INNER or kind == END:  # noqa: PLR1714, SIM109 - a kernel
            write_exact_values(tree, np.int64(node), graph)
