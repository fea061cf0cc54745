"""Tournaments and matches in a database: what was asked for, what is going on, what came of it."""

from gamemaster.tournament.store.manager import Manager
from gamemaster.tournament.store.store import Store, open_store
from gamemaster.tournament.store.values import (
    Changes,
    Counts,
    Listing,
    ManagedBy,
    MatchRow,
    MatchStatus,
    RoleStatistics,
    Stored,
    StoredRating,
    TournamentStatus,
)

__all__ = [
    "Changes",
    "Counts",
    "Listing",
    "ManagedBy",
    "Manager",
    "MatchRow",
    "MatchStatus",
    "RoleStatistics",
    "Store",
    "Stored",
    "StoredRating",
    "TournamentStatus",
    "open_store",
]
