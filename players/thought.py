"""One choice that is being made: written by the thread that thinks, read by the event loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from ggp.errors import GgpError
from ggp.gdl.terms import Term
from ggp.protocol.evaluation import Evaluation

_MOMENT = 0.01  # seconds, too few to tell a speed


@dataclass(slots=True)
class Thought:
    """When to stop thinking, the best move so far, and what it is worth if anybody wants to know that."""

    now: Callable[[], float]
    stop_at: float
    move: Term | None = None  # always a legal one; None while nothing is known
    note: str = ""  # for the log
    wants_evaluation: bool = False
    evaluation: Evaluation | None = None
    failure: str = ""  # why there is no evaluation, where that is a fault of this program
    _cancelled: Event = field(default_factory=Event)

    def stop(self) -> bool:
        """Whether to stop; asked between any two calls of the state machine."""
        return self._cancelled.is_set() or self.now() >= self.stop_at

    def evaluate(self, make: Callable[[], Evaluation | None]) -> None:
        """Keeps an evaluation if one is wanted. A failure to make it costs nothing else, least of all the move."""
        if not self.wants_evaluation:
            return
        try:
            self.evaluation = make()
        except (GgpError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            self.failure = f"{type(error).__name__}: {error}"

    def cancel(self) -> None:
        self._cancelled.set()


def per_second(playouts: int, seconds: float) -> float | None:
    """None where there was no time to speak of."""
    return playouts / seconds if playouts and seconds > _MOMENT else None
