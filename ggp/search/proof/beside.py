"""A proof beside a tree: some work for each visit of the root, and more once the tree has grown for long.

Then one more visit tells little. A thread that is not the only one proves all the time from then on.
"""

from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ggp.search.mcts.batch import Parameters
from ggp.search.mcts.tree import END, KIND, LONG, ROOT, VISITS, Tree
from ggp.search.proof.prover import Prover
from ggp.simulation.state_machine import CircuitMachine

_PER_VISIT, _MORE_PER_VISIT = 0.1, 4.0  # states that are worked out for each visit of the root, and for later ones
_FROM, _FULLY_FROM = 500_000, 1_500_000  # visits of the root between which the later ones begin
_AT_ONCE = 2048  # between two looks at the clock, where another thread visits


class ProofBeside:
    """What is proven of the root of a tree; nothing as long as no work was done."""

    def __init__(self, machine: CircuitMachine, parameters: Parameters, budget_bytes: int) -> None:
        self._prover = Prover(machine, parameters.lowest, parameters.span, budget_bytes)
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
                prover.teach(tree, int(tree.numbers[ROOT]))
        return has_worked

    def longer(self, lengths: list[int], role: int) -> list[int]:
        """How far from the end a role's moves are, those that the tree does not know with those of the proof."""
        chooser, known = self._lengths
        if chooser != role or len(known) != len(lengths):
            return lengths
        return [mine if 0 < mine < LONG else other for mine, other in zip(lengths, known, strict=True)]

    def _take_note(self) -> None:
        """Of what is known now: other threads read it, and must not look into work that is under way."""
        at_root, prover = self._is_at_root, self._prover
        self._bounds = prover.bounds if at_root else (np.zeros(2), np.ones(2))
        self._lengths: tuple[int, list[int]] = prover.lengths if at_root else (0, [])


def _wanted(tree: Tree) -> float:
    """How many states the visits of the root ask for."""
    visits = int(tree.nodes[tree.numbers[ROOT], VISITS])
    growing, later = min(max(visits - _FROM, 0), _FULLY_FROM - _FROM), max(visits - _FULLY_FROM, 0)
    return _PER_VISIT * visits + _MORE_PER_VISIT * (growing**2 / (2 * (_FULLY_FROM - _FROM)) + later)


def _mean(tree: Tree) -> float:
    """What the root seems to be worth to the first role."""
    root = int(tree.numbers[ROOT])
    return float(tree.values[root, 0]) / max(int(tree.nodes[root, VISITS]), 1)
