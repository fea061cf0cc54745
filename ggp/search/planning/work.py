"""The searches of one state, taking turns: playouts, breadth first, beams; and clingo beside them."""

from dataclasses import dataclass
from time import monotonic

import numpy as np

from ggp.kernel import LANES
from ggp.search.planning.asp_planner import AspPlanner, Task
from ggp.search.planning.beam import Beam
from ggp.search.planning.breadth import Breadth
from ggp.search.planning.lines import Path, Sampling
from ggp.search.planning.patterns import Patterns
from ggp.search.planning.store import Scratch

_PLANNER_SHARE = 0.5  # of the memory, for clingo
_BREADTH_SHARE = 0.375
_BEAM_SHARE = 0.125
_LONGEST_LINE = 200  # where no playout came to an end
_PATTERNS_WEIGHT = 3  # how much more time than the others they have, where they apply at all
_ALONE_SECONDS = 0.05  # of breadth-first search before anything else begins
_SLICE_SECONDS = (0.002, 0.005)  # what one call of a kernel should take
_TURN_SECONDS = 0.1  # where clingo and the others may not run beside each other


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """What a search may use."""

    scratch: Scratch
    budget_bytes: int
    threads: int
    seed: int


class Work:
    """All that is under way for one state."""

    def __init__(self, task: Task, means: Means) -> None:
        self._task = task
        self._means = means
        self._highest = max(task.batches.game.goals[0], default=0)
        self._sampling = Sampling(task.batches, task.state, np.random.default_rng(means.seed))
        self._breadth: Breadth | None = self._make_breadth()
        self._beam: Beam | None = None
        self._planner: AspPlanner | None = None
        self._patterns: Patterns | None = None
        self._seconds = {"breadth": 0.0, "beam": 0.0, "patterns": 0.0}
        self._states = LANES // 8  # in one call of a kernel
        self._turn_ends = 0.0
        self._is_planning = True
        self._is_complete = False
        self.best: Path | None = None

    @property
    def is_done(self) -> bool:
        """Whether no line is better than the best."""
        return self._is_complete or (self.best is not None and self.best.value >= self._highest)

    def go(self) -> None:
        """Begin, or go on after `rest`."""
        if self._planner is not None:
            self._planner.resume()

    def rest(self) -> None:
        if self._planner is not None:
            self._planner.pause()

    def close(self) -> None:
        """End the process; `join` waits for it."""
        if self._planner is not None:
            self._planner.close()

    def join(self) -> None:
        if self._planner is not None:
            self._planner.join()

    def advance(self) -> None:
        """Some milliseconds of work."""
        began = monotonic()
        if self._breadth is not None and self._seconds["breadth"] < _ALONE_SECONDS:
            self._advance_breadth(self._breadth)
        elif not self._sampling.is_done:
            self._sampling.advance()
            self._note(self._sampling.best)
            return
        elif self._planner is None or self._beam is None:
            self._begin_rest()
            return
        elif self._means.threads < 2 and self._is_planners_turn(self._planner, began):
            self._planner.found.wait(_SLICE_SECONDS[1])
            self._planner.found.clear()
            self._note(self._planner.best)
            return
        else:
            self._advance_next(self._beam)
        if self._planner is not None:
            self._note(self._planner.best)

    def _advance_next(self, beam: Beam) -> None:
        """The one that has had the least time, for its weight."""
        used = {"beam": self._seconds["beam"]}
        if self._breadth is not None:
            used["breadth"] = self._seconds["breadth"]
        if self._patterns is not None:
            used["patterns"] = self._seconds["patterns"] / _PATTERNS_WEIGHT
        began = monotonic()
        match min(used, key=used.__getitem__):
            case "breadth" if self._breadth is not None:
                self._advance_breadth(self._breadth)
            case "patterns" if self._patterns is not None:
                self._patterns.advance()
                self._note(self._patterns.best)
                self._patterns = None if self._patterns.is_over else self._patterns
                self._seconds["patterns"] += monotonic() - began
            case _:
                beam.advance(self._states)
                self._note(beam.best)
                self._seconds["beam"] += monotonic() - began
                self._adapt(monotonic() - began)

    def _advance_breadth(self, breadth: Breadth) -> None:
        began = monotonic()
        breadth.advance(self._states)
        self._note(breadth.best)
        self._is_complete = breadth.is_complete
        self._seconds["breadth"] += monotonic() - began
        self._adapt(monotonic() - began)
        if breadth.is_full:
            self._breadth = None
            if self._beam is not None:
                self._beam = self._make_beam(_BREADTH_SHARE + _BEAM_SHARE)

    def _begin_rest(self) -> None:
        share = _BEAM_SHARE if self._breadth is not None else _BREADTH_SHARE + _BEAM_SHARE
        self._beam = self._make_beam(share)
        longest = max(self._sampling.sample.lengths, default=_LONGEST_LINE)
        self._patterns = Patterns(self._task.batches, self._task.state, longest, self._means.seed)
        memory_bytes = int(self._means.budget_bytes * _PLANNER_SHARE)
        self._planner = AspPlanner(self._task, self._sampling.sample, memory_bytes, self._means.seed)
        self._planner.resume()

    def _make_breadth(self) -> Breadth:
        size = int(self._means.budget_bytes * _BREADTH_SHARE)
        return Breadth(self._task.batches, self._means.scratch, self._task.state, size)

    def _make_beam(self, share: float) -> Beam:
        size = int(self._means.budget_bytes * share)
        return Beam(self._task.batches, self._means.scratch, self._task.state, size, self._means.seed)

    def _is_planners_turn(self, planner: AspPlanner, now: float) -> bool:
        """On one thread: the process stands still while the others run, and they while it does."""
        if now >= self._turn_ends:
            self._is_planning = not self._is_planning and not planner.is_over
            self._turn_ends = now + _TURN_SECONDS
            if self._is_planning:
                planner.resume()
            else:
                planner.pause()
        return self._is_planning

    def _note(self, path: Path | None) -> None:
        if path is not None and (self.best is None or path.value > self.best.value):
            self.best = path

    def _adapt(self, seconds: float) -> None:
        """Keep calls short, and long enough to fill lanes."""
        least, most = _SLICE_SECONDS
        if seconds > most:
            self._states = max(1, self._states // 2)
        elif seconds < least:
            self._states = min(LANES, 2 * self._states)
