"""What standings say; all of it follows from the results, whatever order they came in."""

from collections.abc import Mapping
from dataclasses import dataclass

from gamemaster.faults import FaultKind
from gamemaster.referee import Ending
from gamemaster.tournament.ratings import BayesianRating, Estimate, Ratings


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of some matches for one side.

    A match is decided when it has two players or more and all goal values are there: won by who has a higher goal value
    than all others, drawn by several who have the highest, lost by the rest.
    """

    matches: int
    wins: int
    draws: int
    losses: int
    mean_goal: float | None  # from 0 to 100, of the matches that gave a goal value

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def decided(self) -> int:
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class Line:
    """A player in a table."""

    rank: int  # from 1; those who are equal share one
    player: str
    tally: Tally
    rating: Estimate | None  # Elo points, by all comparisons of the table; None for who has met nobody
    skill: Estimate | None  # the same, with the advantage of each role taken out
    goal: Estimate | None  # in the table of a game for one role: the mean goal value, in place of a rating


@dataclass(frozen=True, slots=True)
class RoleLine:
    """What a role of a game was worth to those who took it."""

    game: str
    role: str
    tally: Tally
    advantage: Estimate | None  # Elo points over the average role of the game; None in games for one role
    share: float | None  # of the goal values, from 0 to 1, that it is worth among equal players


@dataclass(frozen=True, slots=True)
class PlayerRole:
    """What came of the matches in which a player took a role."""

    player: str
    game: str
    role: str
    tally: Tally


@dataclass(frozen=True, slots=True)
class GameTable:
    """The standings in one game."""

    game: str
    players: int  # that a match takes
    matches: int
    mean_steps: float
    lines: tuple[Line, ...]
    roles: tuple[RoleLine, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """What came of the matches of a player with another one, seen from the player; goal values are compared."""

    player: str
    opponent: str
    wins: int
    draws: int
    losses: int

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a player behaved."""

    player: str
    steps: int  # in which it was asked for a move
    seconds: float  # that it took for its moves, summed
    longest: float  # seconds of its slowest move
    faults: Mapping[FaultKind, int]  # how many of each kind, START included; those that there were
    faulty: int  # matches with a fault


@dataclass(frozen=True, slots=True)
class Standings:
    """Everything that the results of an event say about its players; players are in the order of the ranks."""

    matches: int
    decided: int
    endings: Mapping[Ending, int]  # how many matches ended how
    lines: tuple[Line, ...]
    games: tuple[GameTable, ...]
    meetings: tuple[Meeting, ...]  # both ways, of those who met
    player_roles: tuple[PlayerRole, ...]
    conduct: tuple[Conduct, ...]
    ratings: Ratings  # with the covariance; of those who met somebody
    bayesian: tuple[BayesianRating, ...]  # where there are games for more than two players

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(line.player for line in self.lines)
