"""How players choose: the strategies by their names."""

import logging
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import itemgetter
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from ggp.cache import is_warm
from ggp.engines import make_faster
from ggp.errors import EvaluationError, GgpError
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter
from ggp.plugins import parse_plugin
from ggp.protocol.evaluation import Evaluation
from ggp.search.uct import UCT, UctResult
from players.custom import load_custom, uses_circuit
from players.strategy import Heard, RoleTask, SearchEngine, Strategy, Thought, per_second

if TYPE_CHECKING:
    from players.information import InformationSearch

_BATCH = 8  # playouts of the reference between two looks at the best move
_WAIT = 0.005  # seconds between two looks at whether to stop, while the circuit is being made

log = logging.getLogger(__name__)


def prepare(strategy: str, tell_long: Callable[[], None]) -> None:
    """Imports what the strategy needs, and compiles what was never compiled, so that no match waits for it.

    `tell_long` is called first where that takes minutes. SettingsError where a user's strategy cannot be used.
    """
    plugin = parse_plugin(strategy)
    if plugin is not None:
        if not uses_circuit(plugin):  # which imports the user's module
            return
    elif strategy != "mcts":
        return
    began, was_warm = time.monotonic(), is_warm()
    if not was_warm:
        tell_long()
    import_module("players.engines").load_kernels()  # not above: numba is slow to load, and others need none
    if not was_warm:
        log.info("the kernels are there after %.0f s", time.monotonic() - began)


class Mcts:
    """A search on the circuit, which is made in the background from START on; without one the reference UCT."""

    def __init__(self, task: RoleTask) -> None:
        self._task = task
        self._own = task.machine.roles.index(task.role)
        self._uct = UCT(task.machine, task.role, task.rng)
        self._engine: SearchEngine | None = None  # written once, by the thread that prepares it
        self._plain = "the interpreter"  # what evaluates the rules for the reference
        self._prepared = Event()  # with or without success
        self._is_over = False
        task.in_background(self._prepare)

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        if len(legal) > 1 and not self._think(state, thought):
            self._think_plainly(state, thought, thought.stop)
        return thought.move or legal[0]

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        while not self._prepared.wait(_WAIT):  # the interpreter at work would only delay the circuit
            if thought.stop():
                return
        engine = self._engine
        try:
            if engine is not None and not thought.stop():
                engine.ponder(state, move, thought)
                return
        except EvaluationError:
            pass
        self._uct.search(state, thought.stop)

    def advance(self, joint_move: JointMove) -> None:
        self._uct.advance(joint_move)
        if self._engine is not None:
            self._engine.advance(joint_move[self._own])

    def forget(self) -> None:
        self._is_over = True
        self._uct.forget()
        self._drop_engine()

    def _think(self, state: Facts, thought: Thought) -> bool:
        """By the reference until there is a circuit, then on it; False where the circuit does not know the state."""
        if self._engine is None:
            self._think_plainly(state, thought, lambda: self._engine is not None or thought.stop())
        if self._engine is not None:
            try:
                self._engine.think(state, thought)
            except EvaluationError:
                return False
        return True

    def _think_plainly(self, state: Facts, thought: Thought, stop: Callable[[], bool]) -> None:
        playouts, began = 0, time.perf_counter()
        while not stop():
            result = self._uct.search(state, stop, _BATCH)
            playouts += result.playouts
            if result.playouts == 0:
                break
            evaluate = partial(uct_evaluation, result, playouts, time.perf_counter() - began)
            thought.offer(result.best or thought.move, f"{playouts} playouts by {self._plain}", evaluate)

    def _prepare(self) -> None:
        """In a thread of its own."""
        task, began = self._task, time.perf_counter()
        try:
            if isinstance(task.machine, Interpreter) and is_warm():
                self._uct.use(machine := make_faster(task.machine))
                self._plain = "bytecode" if machine.engine == "bytecode" else self._plain
            log.info("%s: %s plays, the circuit is being made", task.start.match, self._plain)
            self._engine = self._make_engine(task)
            log.info(
                "%s: the circuit plays after %.2f s; machine code is being made unless it is kept or too large",
                task.start.match, time.perf_counter() - began,
            )  # fmt: skip
        except GgpError as error:
            task.warn(f"played by {self._plain}: {error}")
        except (RecursionError, MemoryError) as error:
            task.warn(f"played by {self._plain}: the circuit needs too much: {type(error).__name__}")
        finally:
            self._prepared.set()
            if self._is_over:
                self._drop_engine()

    def _make_engine(self, task: RoleTask) -> SearchEngine:
        from players.engines import make_engine  # noqa: PLC0415 - numba is slow to load

        return make_engine(task)

    def _drop_engine(self) -> None:
        """Its memory is wanted for the next match; cycles of objects are collected much later."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


class HiddenMcts(Mcts):
    """In games with `sees`: by what the role did and was told. Until there is a circuit, on a guessed state."""

    def __init__(self, task: RoleTask) -> None:
        self._heard: list[Heard] = []
        self._information: InformationSearch | None = None
        super().__init__(task)

    def perceive(self, heard: Heard) -> None:
        self._heard.append(heard)

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        if self._engine is None and len(legal) == 1:
            return legal[0]
        if not self._think(state, thought) and len(legal) > 1:
            self._think_plainly(state, thought, thought.stop)
        move = thought.move or next(iter(legal), None)
        if move is None:
            raise EvaluationError("no legal move is known: no world was found that agrees with what was told")
        return move

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        try:
            if self._information is not None:
                self._information.hear(self._heard, thought)
        except EvaluationError:
            return
        super().ponder(state, move, thought)

    def _think(self, state: Facts, thought: Thought) -> bool:
        if self._engine is None:
            self._think_plainly(state, thought, lambda: self._engine is not None or thought.stop())
        if self._information is not None:
            try:
                self._information.hear(self._heard, thought)
            except EvaluationError as error:
                self._task.warn(f"{self._task.start.match}: {error}")
                return False
        return super()._think(state, thought)

    def _make_engine(self, task: RoleTask) -> SearchEngine:
        from players.engines import make_information_search  # noqa: PLC0415 - numba is slow to load

        self._information = make_information_search(task)
        return self._information


class Memoryless:
    """Chooses by a function of the legal moves alone."""

    def __init__(self, pick: Callable[[tuple[Term, ...]], Term]) -> None:
        self._pick = pick

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:  # noqa: ARG002
        return self._pick(legal)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """Nothing to find out."""

    def advance(self, joint_move: JointMove) -> None:
        """Nothing to remember."""

    def forget(self) -> None:
        """Nothing to forget."""


class MonteCarlo:
    """The reference UCT until the time is up; a single legal move needs no thought."""

    def __init__(self, task: RoleTask) -> None:
        self._uct = UCT(task.machine, task.role, task.rng)

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        best = legal[0]
        playouts, began = 0, time.perf_counter()
        while len(legal) > 1 and not thought.stop():
            result = self._uct.search(state, thought.stop, _BATCH)
            playouts += result.playouts
            best = best if result.best is None else result.best
            evaluate = partial(uct_evaluation, result, playouts, time.perf_counter() - began)
            thought.offer(best, f"{playouts} playouts", evaluate)
            if result.playouts == 0:
                break
        return best

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """A baseline thinks on its own time only."""

    def advance(self, joint_move: JointMove) -> None:
        self._uct.advance(joint_move)

    def forget(self) -> None:
        self._uct.forget()


MakeStrategy: TypeAlias = Callable[[RoleTask], Strategy]

STRATEGIES: dict[str, MakeStrategy] = {
    "mcts": lambda task: HiddenMcts(task) if task.rulesheet.has_percepts else Mcts(task),
    "legal": lambda _task: Memoryless(itemgetter(0)),
    "random": lambda task: Memoryless(task.rng.choice),
    "montecarlo": MonteCarlo,
}  # by the keys of `PLAYERS`


def find_strategy(name: str) -> MakeStrategy:
    """By its name, or a user's own (`ggp.plugins`); SettingsError where that cannot be used."""
    plugin = parse_plugin(name)
    return STRATEGIES[name] if plugin is None else load_custom(plugin)


def uct_evaluation(result: UctResult, playouts: int, seconds: float) -> Evaluation | None:
    """What the reference thinks of its best move; it proves nothing."""
    value = next((report.value for report in result.moves if report.move == result.best), None)
    if value is None:
        return None
    visits = sum(report.visits for report in result.moves)
    return Evaluation(value=100 * value, visits=visits, playouts_per_second=per_second(playouts, seconds))
