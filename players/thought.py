"""One choice that is being made: written by the thread that thinks, read by the event loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from ggp.terms import Term


@dataclass(slots=True)
class Thought:
    """When to stop thinking, and the best move so far."""

    now: Callable[[], float]
    stop_at: float
    move: Term | None = None  # always a legal one; None while nothing is known
    note: str = ""  # for the log
    _cancelled: Event = field(default_factory=Event)

    def stop(self) -> bool:
        """Whether to stop; asked between any two calls of the state machine."""
        return self._cancelled.is_set() or self.now() >= self.stop_at

    def cancel(self) -> None:
        self._cancelled.set()
