"""What the API says of tournaments, as values."""

from typing import Literal

from pydantic import AwareDatetime, Field

from gamemaster.faults import FaultKind
from gamemaster.web.models import MatchHead, Part


class Rated(Part):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


class StandingLine(Part):
    """A player of a tournament."""

    rank: int
    player: str
    matches: int
    wins: int
    draws: int
    losses: int
    points: float
    mean_goal: float | None
    rating: Rated | None = Field(description="Elo points; null for who has met nobody.")


class MeetingLine(Part):
    """What came of the matches between two players, seen from the first."""

    player: str
    opponent: str
    wins: int
    draws: int
    losses: int
    planned: int | None = Field(description="How many matches there will be, where that is known.")


class RoleLine(Part):
    """What a role of a game was worth."""

    game: str
    role: str
    matches: int
    wins: int
    draws: int
    losses: int
    mean_goal: float | None
    advantage: Rated | None = Field(description="Elo points over the average role.")


class GameStandings(Part):
    """The standings in one game."""

    game: str
    matches: int
    mean_steps: float
    lines: tuple[StandingLine, ...]


class ConductLine(Part):
    """How a player behaved; seconds."""

    player: str
    moves: int
    seconds: float
    longest: float
    faults: dict[FaultKind, int]


class SequentialTest(Part):
    """How the test stands whether the first player is better."""

    player: str
    opponent: str
    llr: float = Field(description="The logarithm of the likelihood ratio.")
    lower: float
    upper: float
    decision: Literal["H0", "H1", "open"]
    pairs: int
    elo: Rated


class TournamentHead(Part):
    """A tournament in a list."""

    name: str
    status: Literal["new", "running", "interrupted", "complete"]
    url: str
    format: str
    games: tuple[str, ...]
    players: tuple[str, ...]
    finished: int = Field(description="Matches with a result.")
    running: int
    failed: int
    total: int | None = Field(description="All matches, where the schedule knows them.")
    created: AwareDatetime
    note: str


class Tournament(TournamentHead):
    """A tournament with its standings."""

    lines: tuple[StandingLine, ...]
    meetings: tuple[MeetingLine, ...]
    roles: tuple[RoleLine, ...]
    tables: tuple[GameStandings, ...]
    conduct: tuple[ConductLine, ...]
    test: SequentialTest | None
    under_way: tuple[MatchHead, ...] = Field(description="Matches that are being played.")


class Tournaments(Part):
    """All tournaments."""

    tournaments: tuple[TournamentHead, ...]
