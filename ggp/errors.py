"""Everything that can be wrong with what a user gives us, as one tree of exceptions.

    GgpError
    ├── ReadError            text that is not KIF: source, line, column
    │   └── RulesheetError   terms that are not a rulesheet: the same, and the name of the check
    ├── UnknownGameError     a name that no shipped game and no file has
    ├── UnknownRoleError     a role that the rulesheet does not name
    ├── EvaluationError      rules that have no meaning or no end in some state
    ├── GroundingError       rules that cannot be written out without variables within their budget
    ├── IllegalMoveError     a move that is not legal, with the reason
    ├── MessageError         text that is no message of the protocol
    ├── RecordError          a match record that is not one, or does not replay
    ├── StoreError           a store of tournaments that cannot be used, or that another manager holds
    └── SettingsError        a setting out of its range

What *others* do wrong during a match (a player that is late) is data, not an exception.
"""

from dataclasses import dataclass


class GgpError(Exception):
    """A mistake in what was given; its text is one clear line for a person."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands; line and column count from 1."""

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
    """Terms that are not a rulesheet; `check` names the rule of GDL that they break."""

    def __init__(self, message: str, place: Place, check: str) -> None:
        super().__init__(f"{message} [{check}]", place)
        self.check = check


class UnknownGameError(GgpError):
    """Neither a shipped game nor a file has this name."""


class UnknownRoleError(GgpError):
    """The rulesheet names no such role."""


class EvaluationError(GgpError):
    """The rules have no meaning in this state, or reach a bound before they end."""


class GroundingError(GgpError):
    """The rules cannot be written out without variables, or not within their budget; evaluation can still play them."""


class IllegalMoveError(GgpError):
    """A move that is not legal; `reason` says why in the words of the rulesheet."""

    def __init__(self, role: str, move: str, reason: str) -> None:
        super().__init__(f"{move} is not legal for {role}: {reason}")
        self.role = role
        self.move = move
        self.reason = reason


class MessageError(GgpError):
    """Text that is no message of the protocol."""


class RecordError(GgpError):
    """A match record that cannot be read, or that its own moves contradict."""


class StoreError(GgpError):
    """A store of tournaments that cannot be read or written, or that another manager holds."""


class SettingsError(GgpError):
    """A setting that is out of its range."""
