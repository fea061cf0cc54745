"""Results → standings."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gamemaster.faults import FaultKind
from gamemaster.tournament.ratings import (
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
from gamemaster.tournament.ratings.entries import Flags
from gamemaster.tournament.results import Result
from gamemaster.tournament.standings.tallies import Outcomes, outcomes_of, tallies_of
from gamemaster.tournament.standings.values import (
    Conduct,
    GameTable,
    Line,
    Meeting,
    PlayerRole,
    RoleLine,
    Standings,
    Tally,
)

DIGITS = 6  # to which numbers are compared for the ranks
KINDS: tuple[FaultKind, ...] = ("timeout", "unreachable", "malformed", "illegal")


def standings(players: Sequence[str], results: Collection[Result]) -> Standings:
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
) -> tuple[Line, ...]:
    rated = set(ratings.players)
    lines = [
        Line(
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


def _key(line: Line) -> tuple[float, float, float]:
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


def _role_lines(entries: Entries, outcomes: Outcomes, ratings: RoleRatings, game: str) -> tuple[RoleLine, ...]:
    everything = np.ones(len(entries.player), dtype=np.bool_)
    tallies = tallies_of(entries, outcomes, entries.role, len(entries.roles), everything)
    worth = {(role.game, role.role): role for role in ratings.roles}
    found = []
    for (name, role), tally in zip(entries.roles, tallies, strict=True):
        if name == game:
            known = worth.get((name, role))
            advantage, share = (known.advantage, known.share) if known else (None, None)
            found.append(RoleLine(game, role, tally, advantage, share))
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
    for result in entries.matches:
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
