"""The settings of a match: clocks, limits and what replaces a bad answer."""

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le, Lt

from ggp.settings import About, Settings, make, option_name

Replacement = Literal["random", "first"]

CLOCK_POLICY = (
    "A player's clock starts when the game master begins to connect and stops when the last byte of the answer is "
    "read; connecting counts. START, PLAY and STOP are sent to all players at once and end for each on its own, at the "
    "latest its clock plus the grace after they began. An answer that is complete by then counts in full, however much "
    "of the grace it used. Seconds in which the game master itself was held up do not count; where these were more "
    "than the grace, a timeout is not counted against the player. While the clock allows, START is tried again every "
    "start_retry seconds until it is answered, and PLAY until there is a connection; nothing that a player may have "
    "heard is sent twice but START. The game master evaluates the rules and writes the record between steps, while no "
    "clock runs."
)
LONGEST_CLOCK = 86_400  # seconds

Seconds: TypeAlias = Annotated[float, Ge(0), Le(3600)]
Clock: TypeAlias = Annotated[int, Ge(1), Le(LONGEST_CLOCK)]  # whole seconds, as the protocol has them
RulesWait: TypeAlias = Annotated[float, Gt(0), Le(3600)]
FaultsInARow: TypeAlias = Annotated[int, Ge(0), Le(1_000_000)]
GoalValue: TypeAlias = Annotated[float, Ge(0), Le(50)]
EvaluatedSteps: TypeAlias = Annotated[int, Ge(0), Le(1_000_000)]
Steps: TypeAlias = Annotated[int, Ge(1), Le(1_000_000)]


def draw_seed() -> int:
    """A seed that nobody finds by trying all; whole numbers of JSON are exact up to there in a browser."""
    return secrets.randbits(53)


@dataclass(frozen=True, slots=True)
class MatchSettings(Settings):
    """Everything that a match depends on apart from its rulesheet and its players."""

    startclock: Annotated[Clock, About("before the first step", "seconds")] = 10
    playclock: Annotated[Clock, About("for each move", "seconds")] = 5
    grace: Annotated[Seconds, About("beyond either clock, for the network", "seconds")] = 1.0
    clock_policy: str = CLOCK_POLICY
    start_retry: Annotated[
        float, Gt(0), Le(3600), About("between attempts to connect for START and PLAY", "seconds")
    ] = 0.25
    info_wait: Annotated[Seconds, About("for the answer to INFO, which many players do not give", "seconds")] = 1.0
    abort_wait: Annotated[Seconds, About("for the answer to ABORT, likewise", "seconds")] = 1.0
    replacement: Annotated[Replacement, About("which legal move is executed in place of a fault")] = "random"
    seed: Annotated[
        int, Ge(0), Lt(2**63), About("decides all chance: replacements, `random`, scrambling, bots", default="drawn")
    ] = field(default_factory=draw_seed)
    scramble: Annotated[bool, About("tell each player the rules in words that mean nothing")] = False
    max_steps: Annotated[Steps, About("after which the match ends")] = 1000
    rules_wait: Annotated[
        RulesWait, About("for the rules to answer, in each step; then the match is broken", "seconds")
    ] = 10.0
    forfeit_after: Annotated[
        FaultsInARow, About("faults in a row with which a player forfeits the match; 0: never")
    ] = 3
    resign_steps: Annotated[
        EvaluatedSteps, About("in a row in which both players expect the same one to lose, to end it; 0: never")
    ] = 0
    resign_value: Annotated[GoalValue, About("that the loser expects at most, and the winner this less than 100")] = 5.0
    draw_steps: Annotated[
        EvaluatedSteps, About("in a row in which both players expect a draw, to end it; 0: never")
    ] = 0
    draw_value: Annotated[GoalValue, About("by which the value that a player expects differs from 50 at most")] = 2.0
    draw_from: Annotated[EvaluatedSteps, About("steps before which no match ends as a draw")] = 0
    max_answer_bytes: Annotated[
        int, Ge(1), Le(2**30), About("of an answer; a longer one is malformed, and the connection is closed", "bytes")
    ] = 65_536


def make_settings(**fields: Any) -> MatchSettings:  # noqa: ANN401 - judged by their declaration
    """Settings from loose values; SettingsError that names the option of the first one that is wrong."""
    return make(MatchSettings, fields, option_name)


def derived(seed: int, *purpose: str | int) -> int:
    """A number below 2⁶⁴ for one purpose of a match: the first 8 bytes of SHA-256 of the words joined by blanks."""
    words = " ".join(map(str, (seed, *purpose)))
    return int.from_bytes(sha256(words.encode()).digest()[:8], "big")
