"""Everything that can be wrong with the input of a user, as one tree of exceptions.

    GgpError
    ├── ReadError            text that is not KIF; with source, line and column
    │   └── RulesheetError   terms that are not a rulesheet; also with the name of the check
    ├── UnknownGameError     no shipped game and no readable file has this name
    ├── UnknownRoleError     the rulesheet has no such role
    ├── EvaluationError      rules that have no meaning in some state, or exceed a bound
    ├── GroundingError       rules that cannot be grounded within the budget, so there is no circuit
    ├── EquilibriumError     a game that is too large to be solved, or whose percepts say too little
    │   ├── AmbiguousMovesError   a role cannot know its legal moves from what it is told
    │   └── NoGoalError   an end that can be reached has no single goal value for a role
    ├── HiddenStateError     rules by which a role does not see the state, where the whole state would be used or shown
    ├── IllegalMoveError     a move that is not legal, with the reason
    │   └── IllegalActionError  an integer that an environment takes for no legal move; also with its environment
    ├── MessageError         text that is no message of the protocol
    ├── KnowledgeError       a file of what was learned that is damaged, or about other rules
    ├── RecordError          a match record that cannot be read, or whose moves contradict it
    ├── StoreError           a tournament store that cannot be used, or that another manager holds
    │   ├── NotStoredError   a tournament or match that the store does not have
    │   └── DamagedStoreError   a value in a store that this program does not write
    └── SettingsError        a setting that is unknown, of the wrong type, or out of range

Mistakes of others during a match (a player that is late) are data, not exceptions: see `gamemaster.faults`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """` (did you mean tictactoe?)` for the end of a message; nothing where no word is like this one."""
    found = get_close_matches(word.lower(), words, 1)
    return f" (did you mean {found[0]}?)" if found else ""


class GgpError(Exception):
    """A mistake of the user; the text of the exception is one line for people."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text; line and column count from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class ReadError(GgpError):
    """Text that cannot be read as KIF."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(f"{place}: {message}")
        self.message = message
        self.place = place


class RulesheetError(ReadError):
    """Terms that are not a rulesheet; `check` is the name of the rule of GDL that they break."""

    def __init__(self, message: str, place: Place, check: str) -> None:
        super().__init__(f"{message} [{check}]", place)
        self.check = check


class UnknownGameError(GgpError):
    """No shipped game and no readable file has this name."""


class UnknownRoleError(GgpError):
    """The rulesheet has no such role."""


class EvaluationError(GgpError):
    """The rules have no meaning in this state, or evaluating them exceeds a bound."""


class GroundingError(GgpError):
    """The rules cannot be grounded (written without variables) in the budget; bytecode can still play them.

    `is_lasting`: it would come again with the same budget, however busy the computer is.
    """

    def __init__(self, message: str, *, is_lasting: bool = True) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class EquilibriumError(GgpError):
    """The game has more histories than are allowed, or rules that give it no equilibrium to look for."""


class AmbiguousMovesError(EquilibriumError):
    """The rules do not tell a role its legal moves: two histories that look the same to it differ in them."""


class NoGoalError(EquilibriumError):
    """A state can be reached in which the match ends without a single goal value for a role."""

    def __init__(self, game: str, role: str) -> None:
        self.reason = f"the rules give {role} no single goal value, or there a role has no legal move"
        super().__init__(f"{game}: at an end that can be reached {self.reason}")


class HiddenStateError(GgpError):
    """The rules hide the state from their roles (`sees`), and what was asked for would use or show all of it."""


class KnowledgeError(GgpError):
    """What was learned of a game cannot be read, or belongs to other rules."""


class IllegalMoveError(GgpError):
    """A move that is not legal; `reason` says why in the words of the rulesheet."""

    def __init__(self, role: str, move: str, reason: str) -> None:
        super().__init__(f"{move} is not legal for {role}: {reason}")
        self.role = role
        self.move = move
        self.reason = reason


class IllegalActionError(IllegalMoveError):
    """An integer that stands for no legal move of a role in one environment of many; both count from 0."""

    def __init__(self, environment: int, role: str, action: int, reason: str) -> None:
        super().__init__(role, f"environment {environment}: move {action}", reason)
        self.environment = environment
        self.action = action


class MessageError(GgpError):
    """Text that is no message of the protocol."""


class RecordError(GgpError):
    """A match record that cannot be read, or whose moves contradict it."""


class StoreError(GgpError):
    """A tournament store that cannot be read or written, or that another manager holds."""


class NotStoredError(StoreError):
    """A tournament or match that the store does not have."""


class DamagedStoreError(StoreError):
    """A value in a store is none that this program writes."""


class SettingsError(GgpError):
    """A setting that is unknown, of the wrong type, or out of range."""


def cannot_listen(host: str, port: int, error: OSError) -> SettingsError:
    """What asyncio says of a socket without the address, which it repeats, and the number, as from Python 3.13 on."""
    said = error.strerror or str(error)
    return SettingsError(f"cannot listen on {host}, port {port}: {said.rpartition(': ')[2].rpartition('] ')[2]}")
