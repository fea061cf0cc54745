"""What a match tells whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gamemaster.record import MatchRecord
from ggp.gdl.state_machine import Facts


@dataclass(frozen=True, slots=True)
class Began:
    """START is about to be sent."""

    record: MatchRecord
    state: Facts


@dataclass(frozen=True, slots=True)
class Started:
    """All players have answered START, or have run out of time."""

    record: MatchRecord


@dataclass(frozen=True, slots=True)
class Stepped:
    """The last step of the record was executed; no state where the rules give none.

    What players said that they thought is in the step.
    """

    record: MatchRecord
    state: Facts | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The record is complete; the players are about to be told."""

    record: MatchRecord


Event: TypeAlias = Began | Started | Stepped | Ended
Listener: TypeAlias = Callable[[Event], None]
