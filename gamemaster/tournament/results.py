"""What passes between the parts of a tournament: a match that is to be played, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gamemaster.faults import FaultKind
from gamemaster.record import MatchRecord
from gamemaster.referee import Ending
from ggp.gdl.rulesheet import NATURE


@dataclass(frozen=True, slots=True)
class Pairing:
    """A match of the schedule."""

    id: str  # the same whenever the schedule is worked out again
    round: int  # from 0
    game: str  # the name of a game of the specification
    players: tuple[str, ...]  # names of the specification, one for each role but `random`, in the rulesheet's order
    seed: int  # decides all chance of the match
    group: str = ""  # matches that count together, as a pairing of a knock-out does or a pair with roles exchanged


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What counts of a match; tuples have an entry for each role but `random`, in the rulesheet's order."""

    pairing: Pairing
    roles: tuple[str, ...]
    goals: tuple[int | None, ...]  # 0 to 100; None where the rules give no goal value
    ending: Ending
    steps: int
    seconds: tuple[float, ...]  # that the players took for their moves, summed
    longest: tuple[float, ...]  # seconds of the slowest move
    faults: tuple[Mapping[FaultKind, int], ...]  # how many of each kind, START included, not the game master's own
    started: datetime
    finished: datetime
    forfeited: tuple[str, ...] = ()  # roles

    @property
    def absent(self) -> tuple[bool, ...]:
        """Which players were never reached, in a void match."""
        return tuple(self.ending == "void" and "unreachable" in kinds for kinds in self.faults)


def result_of(pairing: Pairing, record: MatchRecord) -> MatchResult:
    """What counts of a record that is complete."""
    roles = tuple(role for role in record.roles if role != NATURE)
    seconds = {role: [step.seconds[role] for step in record.steps if role in step.seconds] for role in roles}
    faults: dict[str, dict[FaultKind, int]] = {role: {} for role in roles}
    for _, role, fault in record.faults:
        if fault.cause != "player":
            continue
        faults[role][fault.kind] = faults[role].get(fault.kind, 0) + 1
    assert record.status != "running"
    assert record.finished is not None
    goals = record.goals or {}
    return MatchResult(
        pairing=pairing,
        roles=roles,
        goals=tuple(goals.get(role) for role in roles),
        ending=record.status,
        steps=len(record.steps),
        seconds=tuple(round(sum(seconds[role]), 4) for role in roles),
        longest=tuple(max(seconds[role], default=0.0) for role in roles),
        faults=tuple(faults[role] for role in roles),
        started=record.started,
        finished=record.finished,
        forfeited=record.forfeited,
    )
