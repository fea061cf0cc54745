"""Text ⇄ a player's own evaluation: JSON in a header beside the move, only for a game master that asks for it.

A game master asks by the header `GGP-Evaluation: 1` of its PLAY. A player that knows something answers with a header of
the same name. It is no part of the protocol that others speak: who does not know it neither asks nor answers.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NoReturn

from ggp.errors import MessageError, ReadError
from ggp.gdl.reader import read
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import to_text
from ggp.protocol.messages import term_of

HEADER = "GGP-Evaluation"
WANTED = "1"  # what the header of a request says; other forms may have other numbers
MOST_CHARACTERS = 2000  # of an evaluation as text
MOST_STEPS = 8  # of its line

_MOST_VISITS = 2**53
_MOST_PER_SECOND = 1e12
_MOST_SECONDS = 86_400.0
_DIGITS = {"value": 2, "low": 2, "high": 2, "playouts_per_second": 0, "seconds": 3}  # after the point
_LINE = "line"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a player thinks of the state in which it was asked, and of its own role; MessageError for nonsense.

    None is not known. Goal values are 0 to 100.
    """

    value: float | None = None  # expected goal value of its role
    low: float | None = None  # proven bounds of that, both or none
    high: float | None = None
    visits: int | None = None  # of the state in a search tree
    playouts_per_second: float | None = None
    seconds: float | None = None  # used for this move
    line: tuple[JointMove, ...] = ()  # what it expects to happen, from the state on

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            _check(name, getattr(self, name), 100)
        _check("visits", self.visits, _MOST_VISITS)
        _check("playouts_per_second", self.playouts_per_second, _MOST_PER_SECOND)
        _check("seconds", self.seconds, _MOST_SECONDS)
        low, high = self.low, self.high
        if (low is None) != (high is None):
            raise MessageError("low and high belong together")
        if low is not None and high is not None and not low <= (low if self.value is None else self.value) <= high:
            raise MessageError("the value is not between low and high")
        if len(self.line) > MOST_STEPS:
            raise MessageError(f"a line of more than {MOST_STEPS} steps")
        if self.value is None and low is None and not self.line:
            raise MessageError("nothing is said")

    @property
    def is_proven(self) -> bool:
        return self.low is not None and self.low == self.high


def format_evaluation(evaluation: Evaluation) -> str:
    """ASCII without line ends, of at most `MOST_CHARACTERS`: the end of a long line is left out."""
    steps = evaluation.line
    text = _format(evaluation, steps)
    while len(text) > MOST_CHARACTERS and steps:
        steps = steps[:-1]
        text = _format(evaluation, steps)
    return text


def parse_evaluation(text: str) -> Evaluation:
    """Of what anybody may have sent; MessageError for all but numbers in their ranges and a line that can be read."""
    if len(text) > MOST_CHARACTERS:
        raise MessageError(f"more than {MOST_CHARACTERS} characters")
    if not text.isascii():
        raise MessageError("not ASCII")
    try:
        said = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MessageError("not JSON") from None
    if not isinstance(said, dict):
        raise MessageError("not a JSON object")
    unknown = said.keys() - {field.name for field in fields(Evaluation)}
    if unknown:
        raise MessageError(f"no field is called {min(unknown)!r}")
    line = _line(said.pop(_LINE, ""))
    numbers: dict[str, Any] = {name: _number(name, value) for name, value in said.items()}
    return Evaluation(**numbers, line=line)


def rounded(evaluation: Evaluation) -> Evaluation:
    """With as many digits as are sent."""
    given = {name: getattr(evaluation, name) for name in _DIGITS}
    return replace(
        evaluation, **{name: round(value, _DIGITS[name]) for name, value in given.items() if value is not None}
    )


def _format(evaluation: Evaluation, steps: Sequence[JointMove]) -> str:
    said: dict[str, Any] = asdict(rounded(evaluation)) | {_LINE: " ".join(map(_joint_text, steps))}
    return json.dumps({name: value for name, value in said.items() if value not in (None, "")}, separators=(",", ":"))


def _joint_text(joint_move: JointMove) -> str:
    return f"({' '.join(map(to_text, joint_move))})"


def _line(text: object) -> tuple[JointMove, ...]:
    if not isinstance(text, str) or not text.isprintable():
        raise MessageError("the line is not printable text")
    try:
        nodes = read(text, _LINE)
    except ReadError as error:
        raise MessageError(str(error)) from None
    if not all(node.items for node in nodes):
        raise MessageError("a step of the line is no list of moves")
    return tuple(tuple(term_of(move) for move in node.items) for node in nodes)


def _number(name: str, value: object) -> float | int:
    is_whole = name == "visits"
    if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
        raise MessageError(f"{name} is no {'whole ' if is_whole else ''}number")
    return value


def _check(name: str, value: float | None, most: float) -> None:
    if value is not None and not 0 <= value <= most:
        raise MessageError(f"{name} is not between 0 and {most:g}")


def _refuse(_: str) -> NoReturn:
    raise ValueError
