"""Why is this move not legal? A move as text and a state → a reason in the words of the rulesheet."""

from dataclasses import dataclass
from typing import Literal

from ggp.machine import Facts, StateMachine
from ggp.rulesheet import Rulesheet

Kind = Literal["unreadable", "unknown", "over", "turn", "condition"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a move was refused."""

    kind: Kind
    reason: str


def refusal(rulesheet: Rulesheet, machine: StateMachine, state: Facts, role: str, text: str) -> Refusal | None:
    """None for a legal move; else the reason: unreadable, no move of this game, match over, not its turn, or the first
    condition that fails of the `legal` rule that comes closest."""
    raise NotImplementedError
