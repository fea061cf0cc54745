"""Running a tournament: pairings in, matches played and stored, and news of it to whoever listens."""

from gamemaster.tournament.runner.news import (
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
from gamemaster.tournament.runner.runner import (
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
