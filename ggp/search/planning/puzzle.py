"""A game with one role → the best line of moves, by several searches beside each other while the clock runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.kernel import aligned_words
from ggp.search.planning.asp_planner import Task
from ggp.search.planning.store import Scratch, make_scratch
from ggp.search.planning.work import Means, Work
from ggp.simulation.evaluate import Bits
from ggp.simulation.state_machine import CircuitMachine


@dataclass(frozen=True, slots=True)
class Line:
    """Moves to the end of a match."""

    moves: tuple[Term, ...]  # from the state that was searched, one per step, of the only role
    value: int  # goal value 0..100 at its end
    is_best: bool  # proven that no other line gives more


class Puzzle:
    """The search for one game; ValueError unless there is exactly one role."""

    def __init__(self, machine: CircuitMachine, seed: int = 0, budget_bytes: int = 2**30, threads: int = 2) -> None:
        if len(machine.roles) != 1:
            raise ValueError(f"a puzzle has one role, not {len(machine.roles)}")
        self._machine = machine
        self._batches = machine.batches
        self._budget_bytes = budget_bytes
        self._threads = threads
        self._seed = seed
        self._begun = 0  # how many states were searched
        self._scratch: Scratch = make_scratch(self._batches, aligned_words(self._batches.size))
        self._root: Bits | None = None
        self._best: Line | None = None
        self._work: Work | None = None

    @property
    def best(self) -> Line | None:
        """The best line so far from the state last searched, or to which `advance` led."""
        return self._best

    def search(self, state: Facts, stop: Callable[[], bool]) -> Line | None:
        """Search until told to stop, or until a line is proven best; again with the same state, it goes on.

        None while no line to the end of a match is known, or where the circuit does not know the state.
        """
        root = self._machine.packed(state)
        if root is None:
            return None
        if self._root is None or (root != self._root).any():
            self._forget()
            self._root, self._best = root, None
        if self._best is not None and self._best.is_best:
            return self._best
        if self._work is None:
            self._work = self._begin(root)
        work = self._work
        work.go()
        while not stop() and not work.is_done:
            work.advance()
            self._note(work)
        work.rest()
        self._note(work)
        if work.is_done:
            self._forget()
        return self._best

    def advance(self, move: Term) -> None:
        """The move was done; if the best line starts with it, its tail is the best line from here."""
        best, root = self._best, self._root
        self._forget()
        self._best = self._root = None
        if root is None or move not in self._machine.compiled.moves[0]:
            return
        number = self._machine.compiled.moves[0].index(move)
        self._root = self._batches.next_states(root, np.array([[number]], np.int32))
        if best is not None and best.moves and best.moves[0] == move:
            self._best = replace(best, moves=best.moves[1:])

    def close(self) -> None:
        """End the process and the threads."""
        work = self._work
        self._forget()
        if work is not None:
            work.join()

    def _forget(self) -> None:
        if self._work is not None:
            self._work.close()
        self._work = None

    def _begin(self, root: Bits) -> Work:
        self._begun += 1
        means = Means(self._scratch, self._budget_bytes, self._threads, self._seed + self._begun)
        return Work(Task(self._machine.rulesheet, self._batches, root), means)

    def _note(self, work: Work) -> None:
        path, known = work.best, self._best
        if path is None:
            return
        better = known is None or path.value > known.value
        if better or (work.is_done and known is not None and not known.is_best):
            if not better and known is not None:
                self._best = replace(known, is_best=True)
                return
            names = self._machine.compiled.moves[0]
            self._best = Line(tuple(names[move] for move in path.moves), path.value, work.is_done)
