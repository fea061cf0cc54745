"""How players choose: a state and its legal moves → a move."""

from collections.abc import Callable
from operator import itemgetter
from random import Random
from typing import Protocol, TypeAlias

from ggp.machine import Facts, JointMove, StateMachine
from ggp.search.uct import UCT
from ggp.terms import Term
from players.thought import Thought

_BATCH = 8  # playouts between two looks at the best move


class Strategy(Protocol):
    """One way to choose, for one match; used by one thread."""

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        """One of the legal moves, of which there is at least one; better ones found on the way go into the thought."""

    def advance(self, joint_move: JointMove) -> None:
        """Told of each step."""

    def forget(self) -> None:
        """Told that the match is over."""


class Memoryless:
    """Chooses by a function of the legal moves alone."""

    def __init__(self, pick: Callable[[tuple[Term, ...]], Term]) -> None:
        self._pick = pick

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:  # noqa: ARG002
        return self._pick(legal)

    def advance(self, joint_move: JointMove) -> None:
        """Nothing to remember."""

    def forget(self) -> None:
        """Nothing to forget."""


class MonteCarlo:
    """UCT until the time is up; a single legal move needs no thought."""

    def __init__(self, machine: StateMachine, role: str, rng: Random) -> None:
        self._uct = UCT(machine, role, rng)

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        best = legal[0]
        playouts = 0
        while len(legal) > 1 and not thought.stop():
            result = self._uct.search(state, thought.stop, _BATCH)
            playouts += result.playouts
            best = best if result.best is None else result.best
            thought.move = best
            thought.note = f"{playouts} playouts"
            if result.playouts == 0:
                break
        return best

    def advance(self, joint_move: JointMove) -> None:
        self._uct.advance(joint_move)

    def forget(self) -> None:
        self._uct.forget()


MakeStrategy: TypeAlias = Callable[[StateMachine, str, Random], Strategy]

STRATEGIES: dict[str, MakeStrategy] = {
    "legal": lambda _machine, _role, _rng: Memoryless(itemgetter(0)),
    "random": lambda _machine, _role, rng: Memoryless(rng.choice),
    "montecarlo": MonteCarlo,
}  # by the name that a user gives
