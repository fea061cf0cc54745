"""A game with one role → the best sequence of moves, by several searches that share the time.

`Planner` is the search for one game; the searches of one state are a portfolio: random playouts, breadth-first search,
beams and pattern databases take turns, and clingo plans in a process of its own at the same time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.kernel import LANES
from ggp.search.planning.asp_planner import AspPlanner, PlanningTask
from ggp.search.planning.beam import Beam, BreadthFirst
from ggp.search.planning.paths import Path, Sampling
from ggp.search.planning.pattern_databases import PatternSearch
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import Expansion, make_expansion
from ggp.simulation.state_machine import CircuitMachine

_ASP_SHARE = 0.5  # of the memory, for clingo
_BREADTH_SHARE = 0.375
_BEAM_SHARE = 0.125
_LONGEST_PATH = 200  # where no playout came to an end
_PATTERNS_WEIGHT = 3  # how much more time than the others they have, where they apply at all
_ALONE_SECONDS = 0.05  # of breadth-first search before anything else begins
_SLICE_SECONDS = (0.002, 0.005)  # what one call of a kernel should take
_TURN_SECONDS = 0.1  # with one thread: how long clingo runs, and then the others


@dataclass(frozen=True, slots=True)
class Solution:
    """Moves to the end of a match."""

    moves: tuple[Term, ...]  # from the state that was searched, one per step, of the only role
    value: int  # goal value 0..100 at its end
    is_best: bool  # proven that no other solution gives more


@dataclass(frozen=True, slots=True, eq=False)
class _Resources:
    """What a search may use."""

    expansion: Expansion
    budget_bytes: int
    threads: int
    seed: int


class _Portfolio:
    """The searches of one state."""

    def __init__(self, task: PlanningTask, resources: _Resources) -> None:
        self._task = task
        self._resources = resources
        self._highest = max(task.batches.game.goals[0], default=0)
        self._sampling = Sampling(task.batches, task.state, np.random.default_rng(resources.seed))
        self._breadth: BreadthFirst | None = self._make_breadth()
        self._beam: Beam | None = None
        self._asp_planner: AspPlanner | None = None
        self._patterns: PatternSearch | None = None
        self._seconds = {"breadth": 0.0, "beam": 0.0, "patterns": 0.0}
        self._states = LANES // 8  # in one call of a kernel
        self._turn_ends = 0.0
        self._is_planning = True
        self._is_complete = False
        self.best: Path | None = None

    @property
    def is_done(self) -> bool:
        """Whether no path is better than the best."""
        return self._is_complete or (self.best is not None and self.best.value >= self._highest)

    def go(self) -> None:
        """Begin, or go on after `rest`."""
        if self._asp_planner is not None:
            self._asp_planner.resume()

    def rest(self) -> None:
        if self._asp_planner is not None:
            self._asp_planner.pause()

    def close(self) -> None:
        """End the process; `join` waits for it."""
        if self._asp_planner is not None:
            self._asp_planner.close()

    def join(self) -> None:
        if self._asp_planner is not None:
            self._asp_planner.join()

    def advance(self) -> None:
        """Some milliseconds of work."""
        began = monotonic()
        if self._breadth is not None and self._seconds["breadth"] < _ALONE_SECONDS:
            self._advance_breadth(self._breadth)
        elif not self._sampling.is_done:
            self._sampling.advance()
            self._note(self._sampling.best)
            return
        elif self._asp_planner is None or self._beam is None:
            self._begin_rest()
            return
        elif self._resources.threads < 2 and self._is_asp_planners_turn(self._asp_planner, began):
            self._asp_planner.found.wait(_SLICE_SECONDS[1])
            self._asp_planner.found.clear()
            self._note(self._asp_planner.best)
            return
        else:
            self._advance_next(self._beam)
        if self._asp_planner is not None:
            self._note(self._asp_planner.best)

    def _advance_next(self, beam: Beam) -> None:
        """The search that has had the least time, for its weight."""
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

    def _advance_breadth(self, breadth: BreadthFirst) -> None:
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
        longest = max(self._sampling.sample.lengths, default=_LONGEST_PATH)
        self._patterns = PatternSearch(self._task.batches, self._task.state, longest, self._resources.seed)
        memory_bytes = int(self._resources.budget_bytes * _ASP_SHARE)
        self._asp_planner = AspPlanner(self._task, self._sampling.sample, memory_bytes, self._resources.seed)
        self._asp_planner.resume()

    def _make_breadth(self) -> BreadthFirst:
        size = int(self._resources.budget_bytes * _BREADTH_SHARE)
        return BreadthFirst(self._resources.expansion, self._task.state, size)

    def _make_beam(self, share: float) -> Beam:
        size = int(self._resources.budget_bytes * share)
        return Beam(self._task.batches, self._resources.expansion, self._task.state, size, self._resources.seed)

    def _is_asp_planners_turn(self, planner: AspPlanner, now: float) -> bool:
        """With one thread: clingo's process is paused while the other searches run, and they wait while it runs."""
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


class Planner:
    """The search for one game; ValueError unless there is exactly one role."""

    def __init__(self, machine: CircuitMachine, seed: int = 0, budget_bytes: int = 2**30, threads: int = 2) -> None:
        if len(machine.roles) != 1:
            raise ValueError(f"planning is for games with one role, not {len(machine.roles)}")
        self._machine = machine
        self._batches = machine.batches
        self._budget_bytes = budget_bytes
        self._threads = threads
        self._seed = seed
        self._begun = 0  # how many states were searched
        self._expansion = make_expansion(machine.batches)
        self._root: Bits | None = None
        self._best: Solution | None = None
        self._portfolio: _Portfolio | None = None

    @property
    def best(self) -> Solution | None:
        """The best solution so far from the state last searched, or to which `advance` led."""
        return self._best

    def search(self, state: Facts, stop: Callable[[], bool]) -> Solution | None:
        """Search until told to stop, or until a solution is proven best; again with the same state, it goes on.

        None while no solution to the end of a match is known, or where the circuit does not know the state.
        """
        root = self._machine.packed(state)
        if root is None:
            return None
        if self._root is None or (root != self._root).any():
            self._forget()
            self._root, self._best = root, None
        if self._best is not None and self._best.is_best:
            return self._best
        if self._portfolio is None:
            self._portfolio = self._begin(root)
        portfolio = self._portfolio
        portfolio.go()
        while not stop() and not portfolio.is_done:
            portfolio.advance()
            self._note(portfolio)
        portfolio.rest()
        self._note(portfolio)
        if portfolio.is_done:
            self._forget()
        return self._best

    def advance(self, move: Term) -> None:
        """The move was done; if the best solution starts with it, its tail is the best solution from here."""
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
        portfolio = self._portfolio
        self._forget()
        if portfolio is not None:
            portfolio.join()

    def _forget(self) -> None:
        if self._portfolio is not None:
            self._portfolio.close()
        self._portfolio = None

    def _begin(self, root: Bits) -> _Portfolio:
        self._begun += 1
        resources = _Resources(self._expansion, self._budget_bytes, self._threads, self._seed + self._begun)
        return _Portfolio(PlanningTask(self._machine.rulesheet, self._batches, root), resources)

    def _note(self, portfolio: _Portfolio) -> None:
        path, known = portfolio.best, self._best
        if path is None:
            return
        better = known is None or path.value > known.value
        if better or (portfolio.is_done and known is not None and not known.is_best):
            if not better and known is not None:
                self._best = replace(known, is_best=True)
                return
            names = self._machine.compiled.moves[0]
            self._best = Solution(tuple(names[move] for move in path.moves), path.value, portfolio.is_done)
