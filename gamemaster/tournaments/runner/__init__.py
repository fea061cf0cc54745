"""Running a tournament: pairings in, matches played and stored, and news of it to whoever listens."""

from gamemaster.tournaments.runner.news import (
    Begun,
    Closed,
    Compared,
    Failed,
    Finished,
    News,
    NewsListener,
    Opened,
    Told,
    Watched,
)
from gamemaster.tournaments.runner.runner import (
    ATTEMPTS,
    MatchLostError,
    TournamentError,
    Venue,
    match_name,
    run_tournament,
)

__all__ = [
    "ATTEMPTS",
    "Begun",
    "Closed",
    "Compared",
    "Failed",
    "Finished",
    "MatchLostError",
    "News",
    "NewsListener",
    "Opened",
    "Told",
    "TournamentError",
    "Venue",
    "Watched",
    "match_name",
    "run_tournament",
]
