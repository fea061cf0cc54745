"""Breadth-first search on packed states: all of them, each once, as long as there is room."""

from ggp.search.planning.lines import Path
from ggp.search.planning.store import (
    AT,
    BEST_STATE,
    BEST_VALUE,
    FULL,
    SIZE,
    Scratch,
    expand,
    make_store,
    path_to,
)
from ggp.simulation.evaluate import Batches, Bits


class Breadth:
    """All states from one on, nearest first."""

    def __init__(self, batches: Batches, scratch: Scratch, state: Bits, budget_bytes: int) -> None:
        self._batches = batches
        self._scratch = scratch
        self._store = make_store(state.shape[1], budget_bytes, state)
        self.best: Path | None = None

    @property
    def is_full(self) -> bool:
        """Whether there is no more room, so that it goes no further."""
        return bool(self._store.counters[FULL])

    @property
    def is_complete(self) -> bool:
        """Whether all states are known, so that no line is better than the best."""
        counters = self._store.counters
        return bool(counters[AT] == counters[SIZE]) and not self.is_full

    def advance(self, states: int) -> None:
        """Expand up to so many states."""
        expand(self._batches.rows, self._scratch, self._store, states)
        value, state = self._store.counters[[BEST_VALUE, BEST_STATE]].tolist()
        if value >= 0 and (self.best is None or value > self.best.value):
            self.best = Path(tuple(path_to(self._store, state)), value)
