"""Faults: why a player's answer was not used, as values."""

from dataclasses import dataclass
from typing import ClassVar, Literal

FaultKind = Literal["timeout", "unreachable", "malformed", "illegal"]
Cause = Literal["player", "game master"]

LONGEST_TEXT = 200  # characters that are kept of what a player sent


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a player's answer was not used.

    timeout: connected, but no complete answer in time. unreachable: no connection, or one that broke (to START, which
    is tried again, no connection at all). malformed: an answer that is no move. illegal: a move that is not legal. A
    fault whose cause is the game master, which was itself held up, is not counted against the player.
    """

    kind: FaultKind
    detail: str  # one line for a person; for an illegal move why it is not legal
    answer: str | None = None  # what was answered, as `shown` gives it; None where nothing came
    cause: Cause = "player"

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}


def make_fault(kind: FaultKind, detail: str, answer: str | None = None) -> Fault:
    """A fault whose texts are safe to print and to store, whatever a player put into them."""
    return Fault(kind, shown(detail), None if answer is None else shown(answer))


def shown(text: str) -> str:
    """The text on one line, cut to `LONGEST_TEXT` characters, with escapes for what a terminal would obey."""
    kept = text[:LONGEST_TEXT].strip()
    line = escaped(kept)
    return line if len(text) <= LONGEST_TEXT else f"{line}… ({len(text)} characters)"


def escaped(text: str) -> str:
    """The text on one line, with escapes for what a terminal would obey."""
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
