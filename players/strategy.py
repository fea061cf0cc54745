"""What a strategy is: a state and its legal moves → a move; what it is made from, and how it tells what it finds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import Protocol, TypeAlias, runtime_checkable

from ggp.errors import GgpError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Start
from players.settings import PlayerSettings

Warn: TypeAlias = Callable[[str], None]  # logs one line
InBackground: TypeAlias = Callable[[Callable[[], None]], None]  # does a job in a thread that ends with the match
Heard: TypeAlias = tuple[Term | None, tuple[Term, ...]]  # a step: the own move, None if unknown, and what was told
MakeEvaluation: TypeAlias = Callable[[], Evaluation | None]

_MOMENT = 0.01  # seconds, too few to tell a speed
_TELL_AGAIN = 0.1  # seconds after which what is thought of the same move is told once more


def keep_to_itself(_: "Thought") -> None:
    """Where nobody listens."""


@dataclass(slots=True)
class Thought:
    """One choice that is being made: written by the thread that thinks, told to the service as it grows."""

    now: Callable[[], float]
    stop_at: float  # on the clock of `now`
    move: Term | None = None  # always a legal one; None while nothing is known
    note: str = ""  # for the log
    wants_evaluation: bool = False
    evaluation: Evaluation | None = None
    failure: str = ""  # why there is no evaluation, where that is a fault of this program
    tell: Callable[["Thought"], None] = keep_to_itself
    _told_at: float = 0.0
    _cancelled: Event = field(default_factory=Event)

    def stop(self) -> bool:
        """Whether to stop; asked between any two calls of the state machine."""
        return self._cancelled.is_set() or self.now() >= self.stop_at

    def offer(self, move: Term | None, note: str = "", evaluate: MakeEvaluation | None = None) -> None:
        """The best move so far, with what is thought of it. A new move is told at once, the same one now and then."""
        is_new = move != self.move
        self.move, self.note = move, note
        if evaluate is not None:
            self.evaluate(evaluate)
        if is_new or time.monotonic() >= self._told_at + _TELL_AGAIN:
            self._told_at = time.monotonic()
            self.tell(self)

    def evaluate(self, make: MakeEvaluation) -> None:
        """Keeps an evaluation if one is wanted. A failure to make it costs nothing else, least of all the move."""
        if not self.wants_evaluation:
            return
        try:
            self.evaluation = make()
        except (GgpError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            self.failure = f"{type(error).__name__}: {error}"

    def cancel(self) -> None:
        self._cancelled.set()


@dataclass(frozen=True, slots=True)
class RoleTask:
    """One role of one match, and the means to play it."""

    start: Start
    rulesheet: Rulesheet
    machine: StateMachine
    role: str
    settings: PlayerSettings
    rng: Random
    warn: Warn
    in_background: InBackground


class Strategy(Protocol):
    """One way to choose, for one match; used by one thread."""

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        """One of the legal moves, of which there is at least one; better ones found on the way go into the thought."""

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """Goes on while nothing is asked; `move`, unless None, is what this role has just answered in the state.

        Returns when there is nothing left to find out, or `thought.stop()`.
        """

    def advance(self, joint_move: JointMove) -> None:
        """Told of each step."""

    def forget(self) -> None:
        """Told that the match is over."""


@runtime_checkable
class Perceiving(Protocol):
    """A strategy that knows how to use percepts; others have a guessed state only in games with `sees`."""

    def perceive(self, heard: Heard) -> None:
        """Told of each step, and of nothing else: what the role did and was told."""


class SearchEngine(Protocol):
    """A search on the circuit, for one match and role; used by one thread."""

    def think(self, state: Facts, thought: Thought) -> None:
        """Writes better and better moves, until told to stop or nothing is left to find out.

        EvaluationError for a state that the circuit does not know.
        """

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """As `Strategy.ponder`; EvaluationError likewise."""

    def advance(self, move: Term) -> None:
        """Told what its role did in each step."""

    def close(self) -> None:
        """Ends its processes."""


def per_second(playouts: int, seconds: float) -> float | None:
    """None where there was no time to speak of."""
    return playouts / seconds if playouts and seconds > _MOMENT else None
