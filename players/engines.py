"""The searches of a player on the circuit: a tree for any game, lines of moves where there is only one role."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter

from ggp.engines import make_machine
from ggp.errors import EvaluationError
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import MOST_STEPS, Evaluation
from ggp.search.loading import load_kernels
from ggp.search.mcts.search import MoveReport, Search, SearchResult, SearchSettings
from ggp.search.mcts.tuning import Tuner
from ggp.search.planning.planner import Planner
from ggp.simulation.state_machine import CircuitMachine
from players.strategy import Engine, Task, Thought, per_second

_SLICE_SECONDS = 0.05  # between two looks at the best move
_SEEDS = 2**32  # the searches take smaller ones than a game master gives
_TUNING = (0.4, 0.2)  # of the time while nothing is asked goes into tuning: before the first step, and later
_PREPARE_SECONDS = 4.0  # that have to be left before the first step for guided playouts to be made
_QUICK_SECONDS = 0.5  # matches that take longer are only played before the first step
_TREE_SHARE = 8  # of the memory, where lines are what is searched for: one part in so many is the tree's


def make_engine(task: Task) -> Engine:
    """Takes up to a minute; GroundingError where the rules have no circuit."""
    load_kernels()
    machine = make_machine(task.rulesheet, "circuit")
    assert isinstance(machine, CircuitMachine)
    settings, seed = task.settings.search_settings, task.settings.seed % _SEEDS
    if len(machine.roles) > 1:
        tuner = Tuner(machine, settings, seed) if task.settings.tune else None
        return TreeSearch(machine, task.role, settings, seed, tuner)
    tree_bytes = max(settings.memory_bytes // _TREE_SHARE, 2**20)
    tree = TreeSearch(machine, task.role, replace(settings, memory_bytes=tree_bytes), seed)
    return LineSearch(machine, Planner(machine, seed, settings.memory_bytes - tree_bytes, settings.threads), tree)


class TreeSearch:
    """A search tree that is kept from move to move."""

    def __init__(
        self, machine: CircuitMachine, role: str, settings: SearchSettings, seed: int, tuner: Tuner | None = None
    ) -> None:
        self._search = Search(machine, settings, seed)
        self._role = role
        self._tuner = tuner
        self._moves = frozenset(machine.compiled.moves[machine.roles.index(role)])
        self._search.run(lambda: False, 1)  # here, where no answer is due: the first visits take longest

    def think(self, state: Facts, thought: Thought) -> None:
        search = self._search
        search.force(self._role, None)
        search.go_to(state)
        playouts, began = search.playouts, perf_counter()

        def look() -> bool:
            result = search.result(self._role)
            if is_informed(result):
                thought.move = result.best
            made, seconds = search.playouts - playouts, perf_counter() - began
            thought.note = _note(result, made, seconds)
            thought.evaluate(partial(_evaluation, result, made, seconds))
            return is_settled(result)

        self._run(thought, look)
        if search.is_solved and not is_informed(search.result(self._role)):
            raise EvaluationError("what the state is worth is proven, but not which move is")
        thought.evaluate(partial(self._with_line, thought.evaluation, thought.move))

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        search = self._search
        search.force(self._role, None)
        search.go_to(state)
        if move is not None and move not in self._moves:
            return
        search.force(self._role, move)
        began, before = perf_counter(), self._tuner.seconds if self._tuner else 0.0

        def look() -> bool:
            if self._tuner is not None and not search.is_solved:
                spent, passed = self._tuner.seconds - before, perf_counter() - began
                self._tune(
                    self._tuner, state, thought, spent < _TUNING[move is not None] * passed, at_start=move is None
                )
            reports = search.result(self._role).moves if move is not None else ()
            return any(report.move == move and report.lower == report.upper for report in reports)

        self._run(thought, look)

    def advance(self, move: Term) -> None:
        """The state itself tells where to search."""

    def close(self) -> None:
        self._search.close()

    def _with_line(self, evaluation: Evaluation | None, move: Term | None) -> Evaluation | None:
        if evaluation is None:
            return None
        steps = self._search.principal_variation(self._role, move, MOST_STEPS)
        return evaluation.model_copy(update={"principal_variation": tuple(tuple(map(to_text, step)) for step in steps)})

    def _tune(self, tuner: Tuner, state: Facts, thought: Thought, is_due: bool, *, at_start: bool) -> None:
        """Quick matches for better settings, where there is time for them."""
        if at_start and not tuner.can_guide and thought.stop_at - thought.now() > _PREPARE_SECONDS:
            tuner.prepare()
        quick = at_start or 0 < tuner.last_seconds < _QUICK_SECONDS
        if is_due and quick and not tuner.is_done and tuner.play(state, thought.stop):
            self._search.adopt(tuner.best)

    def _run(self, thought: Thought, look: Callable[[], bool]) -> None:
        """Searches in slices; after each, `look` tells whether there is nothing left to find out."""
        search, visits = self._search, 1
        while not look() and not search.is_solved and not thought.stop():
            before, began = search.visits, perf_counter()
            search.run(thought.stop, visits)
            seconds = perf_counter() - began
            if search.visits == before and not thought.stop():
                break  # a terminal state, or no room at all
            visits = 2 * visits if seconds < _SLICE_SECONDS else max(1, visits // 2)
        look()


class LineSearch:
    """The best line of moves found so far is played; the tree chooses only while there is none."""

    def __init__(self, machine: CircuitMachine, planner: Planner, tree: TreeSearch) -> None:
        self._machine = machine
        self._planner = planner
        self._tree = tree
        self._ahead: Term | None = None  # the move that pondering has made already

    def think(self, state: Facts, thought: Thought) -> None:
        self._ahead = None
        half = (thought.now() + thought.stop_at) / 2  # without a line by then, the tree has the rest

        def stop() -> bool:
            line = self._planner.best
            if line is not None and line.moves:
                thought.move = line.moves[0]
                proven = "the best there is" if line.is_best else "the best so far"
                thought.note = f"a line of {len(line.moves)} moves to {line.value}, {proven}"
            return thought.stop() or (line is None and thought.now() >= half)

        self._planner.search(state, stop)
        stop()
        thought.evaluate(self._evaluation)
        if self._planner.best is None and not thought.stop():
            self._tree.think(state, thought)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        if move is not None:
            if self._ahead is None:
                self._planner.advance(move)
                self._ahead = move
            state = self._machine.next_state(state, (move,))
        if not self._machine.is_terminal(state):
            self._planner.search(state, thought.stop)

    def advance(self, move: Term) -> None:
        if self._ahead != move:
            self._planner.advance(move)
        self._ahead = None

    def close(self) -> None:
        self._planner.close()
        self._tree.close()

    def _evaluation(self) -> Evaluation | None:
        """A line that is known can be played to its end: what it reaches is sure."""
        line = self._planner.best
        if line is None:
            return None
        value = float(line.value)
        highest = value if line.is_best else float(max(self._machine.compiled.goals[0], default=100))
        steps = tuple((to_text(move),) for move in line.moves[:MOST_STEPS])
        return Evaluation(value=value, lower=value, upper=max(value, highest), principal_variation=steps)


def is_settled(result: SearchResult) -> bool:
    """Whether the best move is proven to be no worse than any other."""
    best = _best(result)
    return best is not None and all(best.lower >= report.upper for report in result.moves if report is not best)


def is_informed(result: SearchResult) -> bool:
    """Whether the best move is more than the first of many: it was visited, or what it is worth is known otherwise."""
    best = _best(result)
    return best is not None and (result.visits > 0 or best.value is not None)


def _best(result: SearchResult) -> MoveReport | None:
    return next((report for report in result.moves if report.move == result.best), None)


def _evaluation(result: SearchResult, playouts: int, seconds: float) -> Evaluation | None:
    """What the best move is worth; None where nothing is known of it."""
    best = _best(result)
    if best is None or not is_informed(result):
        return None
    lower, upper = 100 * best.lower, 100 * best.upper
    value = None if best.value is None else min(max(100 * best.value, lower), upper)
    rate = per_second(playouts, seconds)
    if (lower, upper) == (0, 100):
        return Evaluation(value=value, visits=result.visits, playouts_per_second=rate)
    return Evaluation(value=value, lower=lower, upper=upper, visits=result.visits, playouts_per_second=rate)


def _note(result: SearchResult, playouts: int, seconds: float) -> str:
    best = _best(result)
    value = "" if best is None or best.value is None else f", value {100 * best.value:.1f}"
    proven = " proven" if best is not None and best.lower == best.upper else ""
    return f"{result.visits:,} visits, {playouts:,} playouts in {seconds:.2f} s{value}{proven}"
