"""Standings → the numbers that a store keeps of them."""

from gamemaster.tournament.ratings import Estimate
from gamemaster.tournament.standings.values import Standings
from gamemaster.tournament.store import StoredRating

ELO = "elo"
SKILL = "skill"  # Elo points with the advantage of each role taken out
ADVANTAGE = "advantage"  # of a role over the average one of its game, in Elo points
GOAL = "goal"  # the mean goal value in a game for one role
BAYESIAN = "openskill"


def stored_ratings(standings: Standings) -> tuple[StoredRating, ...]:
    """Everything that has an interval; the scope is the name of a game, or empty for all matches."""
    found = []
    for scope, lines in (("", standings.lines), *((table.game, table.lines) for table in standings.games)):
        for line in lines:
            for scale, estimate in ((ELO, line.rating), (SKILL, line.skill), (GOAL, line.goal)):
                if estimate is not None:
                    found.append(_stored(scale, scope, line.player, estimate, line.tally.matches))
    found += [
        _stored(ADVANTAGE, table.game, role.role, role.advantage, role.tally.matches)
        for table in standings.games
        for role in table.roles
        if role.advantage is not None
    ]
    matches = {line.player: line.tally.matches for line in standings.lines}
    found += [_stored(BAYESIAN, "", each.player, each.strength, matches[each.player]) for each in standings.bayesian]
    return tuple(found)


def _stored(scale: str, scope: str, subject: str, estimate: Estimate, matches: int) -> StoredRating:
    return StoredRating(scale, scope, subject, estimate.value, estimate.low, estimate.high, matches)
