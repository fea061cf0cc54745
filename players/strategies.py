"""How players choose: the strategies by their names, and the plain ones among them."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from time import perf_counter
from typing import TypeAlias

from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.search.uct import UCT
from players.mcts import Mcts, uct_evaluation
from players.strategy import Strategy, Task
from players.thought import Thought

_BATCH = 8  # playouts between two looks at the best move


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

    def __init__(self, task: Task) -> None:
        self._uct = UCT(task.machine, task.role, task.rng)

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        best = legal[0]
        playouts, began = 0, perf_counter()
        while len(legal) > 1 and not thought.stop():
            result = self._uct.search(state, thought.stop, _BATCH)
            playouts += result.playouts
            best = best if result.best is None else result.best
            thought.move = best
            thought.note = f"{playouts} playouts"
            thought.evaluate(partial(uct_evaluation, result, playouts, perf_counter() - began))
            if result.playouts == 0:
                break
        return best

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """A baseline thinks on its own time only."""

    def advance(self, joint_move: JointMove) -> None:
        self._uct.advance(joint_move)

    def forget(self) -> None:
        self._uct.forget()


MakeStrategy: TypeAlias = Callable[[Task], Strategy]

STRATEGIES: dict[str, MakeStrategy] = {
    "mcts": Mcts,
    "legal": lambda _task: Memoryless(itemgetter(0)),
    "random": lambda task: Memoryless(task.rng.choice),
    "montecarlo": MonteCarlo,
}  # by the name that a user gives
