"""Results → standings: what the results of a tournament say about its players."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from gamemaster.faults import FaultKind
from gamemaster.referee import Ending
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.ratings import (
    BayesianRating,
    Comparisons,
    Entries,
    Estimate,
    Ratings,
    RoleRatings,
    bayesian_ratings,
    bradley_terry,
    comparisons_of,
    entries_of,
    mean_goal,
    role_ratings,
)
from gamemaster.tournament.ratings.entries import Flags, Ids


@dataclass(frozen=True, slots=True)
class Tally:
    """The outcomes of some matches, seen from one side.

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
class PlayerStanding:
    """A player in a table."""

    rank: int  # from 1; those who are equal share one
    player: str
    tally: Tally
    rating: Estimate | None  # Elo points, by all comparisons of the table; None for a player that met no other
    skill: Estimate | None  # the same, with the advantage of each role taken out
    goal: Estimate | None  # in the table of a game for one role: the mean goal value, in place of a rating


@dataclass(frozen=True, slots=True)
class RoleStanding:
    """What a role of a game was worth to its players."""

    game: str
    role: str
    tally: Tally
    advantage: Estimate | None  # Elo points over the average role of the game; None in games for one role
    share: float | None  # of the goal values, from 0 to 1, that it is worth among equal players


@dataclass(frozen=True, slots=True)
class PlayerRole:
    """The outcomes of the matches in which a player had a role."""

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
    lines: tuple[PlayerStanding, ...]
    roles: tuple[RoleStanding, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """The outcomes of the matches of two players, seen from the first; goal values are compared."""

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
    forfeits: int  # matches that it forfeited
    absences: int  # matches that were void because it was never reached


@dataclass(frozen=True, slots=True)
class Standings:
    """Everything that the results of an event say about its players; players are in the order of the ranks."""

    matches: int
    decided: int
    endings: Mapping[Ending, int]  # how many matches ended how
    lines: tuple[PlayerStanding, ...]
    games: tuple[GameTable, ...]
    meetings: tuple[Meeting, ...]  # both ways, of those who met
    player_roles: tuple[PlayerRole, ...]
    conduct: tuple[Conduct, ...]
    ratings: Ratings  # with the covariance; of the players that met another one
    bayesian: tuple[BayesianRating, ...]  # where there are games for more than two players

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(line.player for line in self.lines)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """(E,) what each entry's match was to its player; none of the three where it is not decided."""

    won: Flags
    drawn: Flags
    lost: Flags


def outcomes_of(entries: Entries) -> Outcomes:
    """By comparing the own goal value with the others' highest."""
    own = entries.goal
    others = np.full(len(own), -np.inf)
    sizes = np.diff(entries.first)
    for size in np.unique(sizes[entries.is_rated]).tolist():
        starts = entries.first[:-1][entries.is_rated & (sizes == size)]
        for one in range(size):
            for other in range(size):
                if one != other:
                    others[starts + one] = np.maximum(others[starts + one], own[starts + other])
    decided = entries.is_rated[entries.match]
    return Outcomes(decided & (own > others), decided & (own == others), decided & (own < others))


def tallies_of(entries: Entries, outcomes: Outcomes, side: Ids, count: int, chosen: Flags) -> tuple[Tally, ...]:
    """A tally for each number below `count`; `side` numbers the entries, of which only those chosen are taken."""
    goals = chosen & ~np.isnan(entries.goal)
    counted = [
        np.bincount(side[flags], minlength=count).tolist()
        for flags in (chosen, chosen & outcomes.won, chosen & outcomes.drawn, chosen & outcomes.lost, goals)
    ]
    sums = np.bincount(side[goals], entries.goal[goals], count)
    return tuple(
        Tally(matches, wins, draws, losses, total / number if number else None)
        for matches, wins, draws, losses, number, total in zip(*counted, sums.tolist(), strict=True)
    )


DIGITS = 6  # to which numbers are compared for the ranks
KINDS: tuple[FaultKind, ...] = ("timeout", "unreachable", "malformed", "illegal")


def standings(players: Sequence[str], results: Collection[MatchResult]) -> Standings:
    """The standings after all results; players are named in the order in which equal ones are to stand."""
    entries = entries_of(players, results)
    comparisons = comparisons_of(entries)
    outcomes = outcomes_of(entries)
    everything = np.ones(len(entries.player), dtype=np.bool_)
    tallies = tallies_of(entries, outcomes, entries.player, len(entries.players), everything)
    compared = comparisons.of_compared()
    ratings = bradley_terry(compared)
    roles = role_ratings(compared, entries.roles)
    goals = {} if ratings.players else _mean_goals(entries, everything)
    lines = _lines(entries.players, tallies, ratings, roles.players, goals)
    order = tuple(line.player for line in lines)
    has_many = bool((np.diff(entries.first) > 2).any())
    return Standings(
        matches=len(entries.matches),
        decided=int(entries.is_rated.sum()),
        endings=dict(sorted(Counter(result.ending for result in entries.matches).items())),
        lines=lines,
        games=tuple(_game_table(entries, comparisons, outcomes, roles, number) for number in range(len(entries.games))),
        meetings=_meetings(comparisons, order),
        player_roles=_player_roles(entries, outcomes, order),
        conduct=_conduct(entries, order),
        ratings=ratings,
        bayesian=bayesian_ratings(entries) if has_many else (),
    )


def _lines(
    players: Sequence[str],
    tallies: Sequence[Tally],
    ratings: Ratings,
    skills: Ratings | None,
    goals: Mapping[str, Estimate],
) -> tuple[PlayerStanding, ...]:
    rated = set(ratings.players)
    lines = [
        PlayerStanding(
            rank=0,
            player=player,
            tally=tally,
            rating=ratings.rating(player) if player in rated else None,
            skill=skills.rating(player) if skills is not None and player in rated else None,
            goal=goals.get(player),
        )
        for player, tally in zip(players, tallies, strict=True)
    ]
    lines.sort(key=_key, reverse=True)  # equal ones stay in their order
    places: dict[tuple[float, float, float], int] = {}
    return tuple(replace(line, rank=places.setdefault(_key(line), place)) for place, line in enumerate(lines, 1))


def _key(line: PlayerStanding) -> tuple[float, float, float]:
    """By rating, which is fair to who met stronger players; by points, and by goal values where nothing was decided."""
    rating = line.rating.value if line.rating else -np.inf
    goal = -np.inf if line.tally.mean_goal is None else line.tally.mean_goal
    return round(rating, DIGITS), line.tally.points, round(goal, DIGITS)


def _game_table(
    entries: Entries, comparisons: Comparisons, outcomes: Outcomes, roles: RoleRatings, number: int
) -> GameTable:
    game = entries.games[number]
    matches = np.flatnonzero(entries.game == number)
    chosen = entries.game[entries.match] == number
    of_game = comparisons.where(comparisons.game == number).of_compared()
    players = [entries.players[player] for player in np.unique(entries.player[chosen]).tolist()]
    is_for_one = sum(name == game for name, _ in entries.roles) == 1
    goals = _mean_goals(entries, chosen) if is_for_one else {}
    tallies = tallies_of(entries, outcomes, entries.player, len(entries.players), chosen)
    return GameTable(
        game=game,
        players=sum(name == game for name, _ in entries.roles),
        matches=len(matches),
        mean_steps=sum(entries.matches[match].steps for match in matches.tolist()) / len(matches),
        lines=_lines(players, [tally for tally in tallies if tally.matches], bradley_terry(of_game), None, goals),
        roles=_role_lines(entries, outcomes, roles, game),
    )


def _role_lines(entries: Entries, outcomes: Outcomes, ratings: RoleRatings, game: str) -> tuple[RoleStanding, ...]:
    everything = np.ones(len(entries.player), dtype=np.bool_)
    tallies = tallies_of(entries, outcomes, entries.role, len(entries.roles), everything)
    worth = {(role.game, role.role): role for role in ratings.roles}
    found = []
    for (name, role), tally in zip(entries.roles, tallies, strict=True):
        if name == game:
            known = worth.get((name, role))
            advantage, share = (known.advantage, known.share) if known else (None, None)
            found.append(RoleStanding(game, role, tally, advantage, share))
    return tuple(found)


def _mean_goals(entries: Entries, chosen: Flags) -> dict[str, Estimate]:
    goals = chosen & ~np.isnan(entries.goal)
    found = {
        player: mean_goal(entries.goal[goals & (entries.player == number)].tolist())
        for number, player in enumerate(entries.players)
    }
    return {player: estimate for player, estimate in found.items() if estimate is not None}


def _meetings(comparisons: Comparisons, order: Sequence[str]) -> tuple[Meeting, ...]:
    count = len(comparisons.players)
    pair = comparisons.first * count + comparisons.second
    wins, draws, losses = (
        np.bincount(pair[comparisons.outcome == outcome], minlength=count * count).tolist() for outcome in (1, 0.5, 0)
    )
    place = {player: number for number, player in enumerate(order)}
    found = []
    for number in np.unique(pair).tolist():
        first, second = (comparisons.players[index] for index in divmod(number, count))
        found.append(Meeting(first, second, wins[number], draws[number], losses[number]))
        found.append(Meeting(second, first, losses[number], draws[number], wins[number]))
    return tuple(sorted(found, key=lambda meeting: (place[meeting.player], place[meeting.opponent])))


def _player_roles(entries: Entries, outcomes: Outcomes, order: Sequence[str]) -> tuple[PlayerRole, ...]:
    count = len(entries.roles)
    everything = np.ones(len(entries.player), dtype=np.bool_)
    side = entries.player * count + entries.role
    tallies = tallies_of(entries, outcomes, side, len(entries.players) * count, everything)
    number = {player: index for index, player in enumerate(entries.players)}
    return tuple(
        PlayerRole(player, game, role, tally)
        for player in order
        for index, (game, role) in enumerate(entries.roles)
        if (tally := tallies[number[player] * count + index]).matches
    )


def _conduct(entries: Entries, order: Sequence[str]) -> tuple[Conduct, ...]:
    count = len(entries.players)
    seconds = np.array([taken for result in entries.matches for taken in result.seconds], dtype=np.float64)
    longest = np.array([slowest for result in entries.matches for slowest in result.longest], dtype=np.float64)
    steps = np.array([result.steps for result in entries.matches], dtype=np.float64)[entries.match]
    slowest = np.zeros(count)
    np.maximum.at(slowest, entries.player, longest)
    faults: dict[str, Counter[FaultKind]] = {player: Counter() for player in entries.players}
    faulty: Counter[str] = Counter()
    forfeits: Counter[str] = Counter()
    absences: Counter[str] = Counter()
    for result in entries.matches:
        forfeits.update(compress(result.pairing.players, (role in result.forfeited for role in result.roles)))
        absences.update(compress(result.pairing.players, result.absent))
        for player, kinds in zip(result.pairing.players, result.faults, strict=True):
            if kinds:
                faults[player].update(kinds)
                faulty[player] += 1
    found = {
        player: Conduct(
            player=player,
            steps=int(asked),
            seconds=round(taken, 4),
            longest=longest_move,
            faults={kind: faults[player][kind] for kind in KINDS if faults[player][kind]},
            faulty=faulty[player],
            forfeits=forfeits[player],
            absences=absences[player],
        )
        for player, asked, taken, longest_move in zip(
            entries.players,
            np.bincount(entries.player, steps, count).tolist(),
            np.bincount(entries.player, seconds, count).tolist(),
            slowest.tolist(),
            strict=True,
        )
    }
    return tuple(found[player] for player in order)
