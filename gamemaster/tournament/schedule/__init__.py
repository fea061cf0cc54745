"""The schedule of a tournament: a specification and the results so far in, pairings out; no input or output."""

from gamemaster.tournament.schedule.knock_out import EXTRA_PAIRS
from gamemaster.tournament.schedule.schedule import MOST_MATCHES, Schedule, is_complete, next_pairings

__all__ = ["EXTRA_PAIRS", "MOST_MATCHES", "Schedule", "is_complete", "next_pairings"]
