"""What a store tells about tournaments and matches, as values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gamemaster.referee import Ending
from gamemaster.tournament.spec import TournamentSpec

MatchStatus = Literal["running", "finished", "failed", "given up"]
TournamentStatus = Literal["new", "running", "interrupted", "complete"]


@dataclass(frozen=True, slots=True)
class ManagedBy:
    """The process that holds the right to run a tournament."""

    host: str
    pid: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """How many matches of a tournament are in which status; those that nobody began are not in the store."""

    running: int = 0
    finished: int = 0
    failed: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """A tournament of the store."""

    spec: TournamentSpec
    status: TournamentStatus  # interrupted: some matches were begun, and nobody goes on with it
    manager: ManagedBy | None  # while it is running
    counts: Counts
    note: str  # why it is complete, where its manager gave a reason
    created: datetime
    revision: int  # when it last changed, its matches aside


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match without its record; tuples have an entry for each role but `random`, in the rulesheet's order."""

    tournament: str  # empty where it belongs to none
    pairing: str  # names the match within its tournament
    round: int
    game: str
    players: tuple[str, ...]
    attempt: int  # from 1; the rest is about this one
    failures: int  # attempts that failed by our own fault, of all
    status: MatchStatus
    ending: Ending | None  # None until its record is complete
    reason: str  # why it failed or was given up; empty otherwise
    steps: int  # so far
    roles: tuple[str, ...]  # empty until it is finished, like the goals
    goals: tuple[int | None, ...]
    faults: int  # of all players; 0 until it is finished
    started: datetime
    finished: datetime | None
    revision: int  # when the match last changed


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of the matches that were asked for, the one that was begun last first."""

    total: int  # how many there are in all
    rows: tuple[MatchRow, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is new since a revision, the oldest change first.

    A `revision` below the one that was asked about means that the store is another one: everything is to be read anew.
    """

    revision: int  # to ask about next
    matches: tuple[MatchRow, ...]
    tournaments: tuple[str, ...]  # names of those that began, ended, changed hands or got ratings
    is_all: bool  # False: there is more, to be asked for with the new revision


@dataclass(frozen=True, slots=True)
class RoleStatistics:
    """What came of the finished matches of a game, for one of its roles."""

    game: str
    role: str
    matches: int
    mean_goal: float | None  # None where no match gave the role a goal value
    mean_steps: float


@dataclass(frozen=True, slots=True)
class StoredRating:
    """One number about one player or role, with its 95 % interval."""

    scale: str  # of what kind it is, such as `elo`
    scope: str  # of which matches: the name of a game, or empty for all
    subject: str  # whose it is
    value: float
    low: float
    high: float
    matches: int
