"""The settings of a match: clocks, limits and what replaces a bad answer."""

import secrets
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ggp.errors import SettingsError

Replacement = Literal["random", "first"]

CLOCK_POLICY = (
    "A player's clock starts when the game master begins to connect and stops when the last byte of the answer is "
    "read; connecting counts. START, PLAY and STOP are sent to all players at once and end for each on its own, at the "
    "latest its clock plus the grace after they began. An answer that is complete by then counts in full, however much "
    "of the grace it used. START is tried again every start_retry seconds while no connection can be made; nothing "
    "else is ever sent twice. The game master evaluates the rules and writes the record between steps, while no clock "
    "runs."
)
LONGEST_CLOCK = 86_400  # seconds

Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
Clock = Annotated[int, Field(ge=1, le=LONGEST_CLOCK)]  # whole seconds, as the protocol has them


class MatchSettings(BaseModel):
    """Everything that a match depends on beside its rulesheet and its players; durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    startclock: Clock = 10
    playclock: Clock = 5
    grace: Seconds = 1.0  # beyond either clock, for the network
    clock_policy: str = CLOCK_POLICY
    start_retry: Annotated[float, Field(gt=0, le=3600)] = 0.25
    info_wait: Seconds = 1.0  # for the answer to INFO, which many players do not give
    abort_wait: Seconds = 1.0  # for the answer to ABORT, likewise
    replacement: Replacement = "random"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default_factory=lambda: secrets.randbits(32))
    scramble: bool = False
    max_steps: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    max_answer_bytes: Annotated[int, Field(ge=1, le=2**30)] = 65_536


def make_settings(**fields: Any) -> MatchSettings:  # noqa: ANN401 - pydantic judges the types
    """Settings from loose values; SettingsError that names the first one out of its range."""
    try:
        return MatchSettings(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = "-".join(map(str, first["loc"])).replace("_", "-")
        raise SettingsError(f"--{name}: {_lower_first(first['msg'])}, not {first['input']!r}") from None


def derived(seed: int, *purpose: str | int) -> int:
    """A number below 2⁶⁴ for one purpose of a match: the first 8 bytes of SHA-256 of the words joined by blanks."""
    words = " ".join(map(str, (seed, *purpose)))
    return int.from_bytes(sha256(words.encode()).digest()[:8], "big")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
