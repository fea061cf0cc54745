"""What a player thinks of a state: one value for the search, the header that comes with a move, the record and the API.

A game master asks by the header `GGP-Evaluation: 1` of its PLAY. A player that knows something answers with a header of
the same name, compact JSON. It is no part of the protocol that others speak: programs that do not know it neither ask
nor answer.
"""

import json
from typing import Annotated, Any, NoReturn, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ggp.errors import MessageError, ReadError
from ggp.gdl.reader import read
from ggp.gdl.terms import to_text
from ggp.protocol.messages import term_of
from ggp.settings import first_error

HEADER = "GGP-Evaluation"
WANTED = "1"  # what the header of a request says; other forms may have other numbers
MOST_CHARACTERS = 2000  # of an evaluation as text
MOST_STEPS = 8  # of its principal variation

_DIGITS = {
    "value": 2,
    "lower": 2,
    "upper": 2,
    "prior": 4,
    "playouts_per_second": 0,
    "seconds": 3,
    "trained_seconds": 1,
}  # after the point
_VARIATION = "principal_variation"
_LINE = "line"  # its name before 0.2, as `low` and `high` were those of the bounds

Goal = Annotated[float, Field(ge=0, le=100)]


class Evaluation(BaseModel):
    """What a player thinks of the state in which it was asked, for its own role; None is not known.

    Made from values out of range it raises pydantic's ValidationError, which is a ValueError.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
    )

    value: Goal | None = Field(None, description="The goal value that it expects, 0 to 100.")
    lower: Goal | None = Field(
        None,
        validation_alias=AliasChoices("lower", "low"),
        description="A proven bound of that; both bounds or none.",
    )
    upper: Goal | None = Field(None, validation_alias=AliasChoices("upper", "high"), description="The other one.")
    visits: Annotated[int, Field(ge=0, le=2**53)] | None = Field(None, description="Of the state, in a search tree.")
    prior: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="How probable its move was thought to be before any search, by what was learned."
    )
    playouts_per_second: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        None, description="While it thought about this move."
    )
    seconds: Annotated[float, Field(ge=0, le=86_400)] | None = Field(
        None, description="From the first byte of PLAY until the move was given."
    )
    trained_seconds: Annotated[float, Field(ge=0, le=1e9)] | None = Field(
        None, description="For how long the game had been learned before the match, where that is used; 0: not at all."
    )
    principal_variation: Annotated[tuple[tuple[str, ...], ...], Field(max_length=MOST_STEPS)] = Field(
        (),
        validation_alias=AliasChoices(_VARIATION, _LINE),
        description="Joint moves that it expects from the state on, each in the order of the roles.",
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        lower, upper = self.lower, self.upper
        if (lower is None) != (upper is None):
            raise ValueError("lower and upper belong together")
        if (
            lower is not None
            and upper is not None
            and not lower <= (lower if self.value is None else self.value) <= upper
        ):
            raise ValueError("the value is not between lower and upper")
        if self.value is None and lower is None and not self.principal_variation:
            raise ValueError("nothing is said")
        return self

    @property
    def is_proven(self) -> bool:
        return self.lower is not None and self.lower == self.upper


def format_evaluation(evaluation: Evaluation) -> str:
    """ASCII without line ends, of at most `MOST_CHARACTERS`: the end of a long variation is left out."""
    said = rounded(evaluation).model_dump(exclude_none=True)
    steps = [f"({' '.join(step)})" for step in said.pop(_VARIATION)]
    text = _format(said, steps)
    while len(text) > MOST_CHARACTERS and steps:
        steps.pop()
        text = _format(said, steps)
    return text


def parse_evaluation(text: str) -> Evaluation:
    """Of what anybody may have sent; MessageError for all but numbers in their ranges and moves that can be read."""
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
    said |= {name: _steps(said[name]) for name in (_VARIATION, _LINE) if name in said}
    try:
        return Evaluation.model_validate(said)
    except ValidationError as error:
        first, message = error.errors()[0], first_error(error)
    if first["type"] == "extra_forbidden":
        raise MessageError(f"no field is called {'.'.join(map(str, first['loc']))!r}")
    raise MessageError(message)


def rounded(evaluation: Evaluation) -> Evaluation:
    """With as many digits as are sent."""
    given = {name: getattr(evaluation, name) for name in _DIGITS}
    return evaluation.model_copy(
        update={name: round(value, _DIGITS[name]) for name, value in given.items() if value is not None}
    )


def _format(said: dict[str, Any], steps: list[str]) -> str:
    variation = {_VARIATION: " ".join(steps)} if steps else {}
    return json.dumps(said | variation, separators=(",", ":"))


def _steps(text: object) -> tuple[tuple[str, ...], ...]:
    """Joint moves as text, from lists of moves as KIF."""
    if not isinstance(text, str) or not text.isprintable():
        raise MessageError("the variation is not printable text")
    try:
        nodes = read(text, _VARIATION)
    except ReadError as error:
        raise MessageError(str(error)) from None
    if not all(node.items for node in nodes):
        raise MessageError("a step of the variation is no list of moves")
    return tuple(tuple(to_text(term_of(move)) for move in node.items) for node in nodes)


def _refuse(_: str) -> NoReturn:
    raise ValueError
