"""Standings → the ratings that a store keeps."""

from collections.abc import Iterator

from gamemaster.tournament.ratings import Estimate
from gamemaster.tournament.standings import Standings
from gamemaster.tournament.store import StoredRating

ELO = "elo"  # of players, by all their comparisons
SKILL = "skill"  # of players in Elo points, with the advantage of each role taken out
GOAL = "goal"  # of players in a game for one role: the mean goal value
ADVANTAGE = "advantage"  # of roles in Elo points, over the average role of the game


def stored_ratings(standings: Standings) -> tuple[StoredRating, ...]:
    """Everything that has an interval; of players overall and in each game, of roles in their games."""
    return tuple(_all(standings))


def _all(standings: Standings) -> Iterator[StoredRating]:
    tables = [("", standings.lines), *((table.game, table.lines) for table in standings.games)]
    for scope, lines in tables:
        for line in lines:
            matches = line.tally.matches
            yield from _one(ELO, scope, line.player, line.rating, matches)
            yield from _one(SKILL, scope, line.player, line.skill, matches)
            yield from _one(GOAL, scope, line.player, line.goal, matches)
    for table in standings.games:
        for role in table.roles:
            yield from _one(ADVANTAGE, table.game, role.role, role.advantage, role.tally.matches)


def _one(scale: str, scope: str, subject: str, estimate: Estimate | None, matches: int) -> Iterator[StoredRating]:
    if estimate is not None:
        yield StoredRating(scale, scope, subject, estimate.value, estimate.low, estimate.high, matches)
