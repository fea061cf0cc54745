"""The clock of a player, as a part that tests can exchange."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Monotonic time."""

    def now(self) -> float:
        """Seconds since some moment; may be asked from any thread."""

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back in the event loop at a moment; the result takes that back."""


class MonotonicClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.monotonic()

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(moment - self.now(), callback).cancel
