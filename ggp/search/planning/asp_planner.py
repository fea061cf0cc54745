"""A state → moves that reach a goal, planned by clingo: several encodings take turns, each round with more time."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import Rulesheet
from ggp.grounding import Budget, ground
from ggp.grounding.clingo import ClaspRun, Clingo
from ggp.grounding.rules import restricted
from ggp.search.planning.encodings import (
    Effects,
    PlanQuery,
    StepEncoder,
    find_effects,
    order_free_text,
    read_moves,
)
from ggp.search.planning.paths import Path, Sample, arrange, follow
from ggp.simulation.evaluate import Batches, Bits, unpack

_ORDER_FREE_SECONDS = 20.0
_FIRST_SECONDS = 2.0  # of the first attempts; each round has twice that of the round before
_LONGEST_SECONDS = 600.0
_MOST_LITERALS = 20_000_000  # of a program
_MOST_HORIZON = 1000
_OFTEN_COMMUTING = 0.8
_SOME_HORIZONS = (16, 64)  # where playouts did not end
_WAIT_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class _Attempt:
    seconds: float
    query: PlanQuery


@dataclass(frozen=True, slots=True, eq=False)
class PlanningTask:
    """A state to plan for, and its game."""

    rulesheet: Rulesheet
    batches: Batches
    state: Bits  # (1, words)


class AspPlanner:
    """Plans for one state in a thread and a process of its own, until it is closed.

    Only the thread writes `best`, one reference at a time, so that others may read it without a lock.
    """

    def __init__(self, task: PlanningTask, shown: Sample, memory_bytes: int, seed: int) -> None:
        self._task = task
        self._game = task.batches.game
        self._shown = shown
        self._memory_bytes = memory_bytes
        self._rng = np.random.default_rng(seed)
        self.best = shown.best
        self.found = Event()  # set when `best` has become better, or nothing is left to try
        self._closed = Event()
        self._running = Event()
        self._refuted: set[tuple[int, bool]] = set()  # horizon, ordered: of the highest goal
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def resume(self) -> None:
        self._running.set()

    def pause(self) -> None:
        """Suspends the process within a hundredth of a second."""
        self._running.clear()

    def close(self) -> None:
        self._closed.set()
        self._running.set()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to try."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def _run(self) -> None:
        with Clingo() as self._clingo:
            self._plan()
        self.found.set()

    def _plan(self) -> None:
        effects = find_effects(self._game.circuit)
        if effects is not None and effects.plain.any():
            self._plan_order_free(effects)
        encoder = None if self._closed.is_set() else self._encoder()
        if encoder is not None:
            for attempt in self._attempts(min(_MOST_LITERALS // max(1, encoder.literals), _MOST_HORIZON)):
                self._solve(encoder.text(self._flags, attempt.query), attempt)
                if self._closed.wait(_WAIT_SECONDS):  # a moment, as runs may fail at once
                    break

    @property
    def _flags(self) -> NDArray[np.bool_]:
        """(F,) the state."""
        flags: NDArray[np.bool_] = unpack(self._task.state, len(self._game.facts))[0]
        return flags

    def _plan_order_free(self, effects: Effects) -> None:
        goals = np.array([len(self._game.goals[0]) - 1], np.int64)
        try:
            program = order_free_text(self._game.circuit, effects, self._flags, goals)
        except GroundingError:
            return
        answer = self._run_solver(program, _ORDER_FREE_SECONDS).answer
        if answer is not None:
            self._note(arrange(self._task.batches, self._task.state, read_moves(answer), self._rng))

    def _encoder(self) -> StepEncoder | None:
        """None where the rules cannot be written out again as they were."""
        try:
            program = make_logic_program(self._task.rulesheet)
            rules = ground(program, Budget(memory=self._memory_bytes), clingo=self._clingo)
        except GroundingError:
            return None
        own = restricted(rules, self._game.facts, self._game.moves)
        return None if own is None else StepEncoder(own)

    def _attempts(self, most: int) -> Iterator[_Attempt]:
        """Until no horizon is left that is worth it; most: the longest."""
        highest = frozenset({max(self._game.goals[0], default=0)})
        orders = (True, False) if self._shown.commuting > _OFTEN_COMMUTING else (False, True)
        seconds = _FIRST_SECONDS
        horizons = [horizon for horizon in _horizons(self._shown) if horizon <= most]
        while horizons and not self._closed.is_set():
            known = -1 if self.best is None else self.best.value
            better = frozenset(value for value in self._game.goals[0] if value > known)
            for goals in (highest,) if better == highest else (highest, better):
                for horizon in horizons:
                    for ordered in orders:
                        if goals != highest or not self._is_refuted(horizon, ordered=ordered):
                            yield _Attempt(seconds, PlanQuery(horizon, goals, ordered))
            if self._is_refuted(max(horizons), ordered=False):
                horizons = [2 * max(horizons)] if 2 * max(horizons) <= most else []
            else:
                seconds = min(2 * seconds, _LONGEST_SECONDS)

    def _is_refuted(self, horizon: int, *, ordered: bool) -> bool:
        """What is refuted for a horizon is so for shorter ones; what is refuted in any order is in one."""
        return any(known >= horizon and (ordered or not strict) for known, strict in self._refuted)

    def _solve(self, program: bytes, attempt: _Attempt) -> None:
        solver = self._run_solver(program, attempt.seconds)
        query = attempt.query
        if solver.answer is not None:
            self._note(follow(self._task.batches, self._task.state, read_moves(solver.answer)))
        elif solver.is_refuted and query.goals == {max(self._game.goals[0], default=0)}:
            self._refuted.add((query.horizon, query.ordered))

    def _run_solver(self, program: bytes, seconds: float) -> ClaspRun:
        """One run, over; seconds while this was not paused."""
        solver = ClaspRun(self._clingo, program, self._memory_bytes)
        waited = 0.0
        while not self._closed.is_set() and waited < seconds and not solver.wait(_WAIT_SECONDS):
            if self._running.is_set():
                waited += _WAIT_SECONDS
            else:
                self._clingo.pause()
                self._running.wait()
                self._clingo.resume()
        solver.close()
        return solver

    def _note(self, path: Path | None) -> None:
        if path is not None and (self.best is None or path.value > self.best.value):
            self.best = path
            self.found.set()


def _horizons(shown: Sample) -> list[int]:
    """Longest first, but for what is beyond all playouts."""
    if not shown.lengths:
        return list(_SOME_HORIZONS)
    longest, middle = shown.lengths[-1], shown.lengths[len(shown.lengths) // 2]
    if shown.lengths[0] == longest:
        return [max(1, longest)]
    return [max(1, longest), 2 * longest, max(1, middle)]
