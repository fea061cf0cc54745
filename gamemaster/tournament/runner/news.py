"""What a tournament tells whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gamemaster.events import Event
from gamemaster.tournament.results import Result
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.workshop import Job


@dataclass(frozen=True, slots=True)
class Opened:
    """The right to run it was given; the first matches are about to begin."""

    spec: TournamentSpec
    results: tuple[Result, ...]  # of before
    expected: int  # matches in all, those with results included; of a knock-out an estimate


@dataclass(frozen=True, slots=True)
class Begun:
    """A match was given its place; its bots may have to be started first."""

    job: Job


@dataclass(frozen=True, slots=True)
class Watched:
    """Something happened in a match."""

    job: Job
    event: Event


@dataclass(frozen=True, slots=True)
class Finished:
    """A match has a result, and the store has it."""

    job: Job
    result: Result
    done: int  # matches with results
    expected: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A match could not be played by our own fault; it will be played again, or everything stops."""

    job: Job
    reason: str
    failures: int  # of this match, since the tournament was opened


@dataclass(frozen=True, slots=True)
class Compared:
    """How the sequential test stands."""

    pairs: int
    llr: float  # logarithm of the likelihood ratio
    lower: float  # at which the first player is no better
    upper: float  # at which it is better


@dataclass(frozen=True, slots=True)
class Told:
    """Something else that a person may want to know."""

    text: str


@dataclass(frozen=True, slots=True)
class Closed:
    """No match is under way any more, and no other will be begun."""

    note: str  # why not all was played; empty when it was


News: TypeAlias = Opened | Begun | Watched | Finished | Failed | Compared | Told | Closed
NewsListener: TypeAlias = Callable[[News], None]
