"""Tournaments and matches in a database: what was asked for, what is going on, what came of it."""

from gamemaster.tournament.store.reads import (
    Counts,
    Listing,
    ManagedBy,
    MatchRow,
    MatchStatus,
    RoleStatistics,
    StoredTournament,
    TournamentStatus,
)
from gamemaster.tournament.store.store import Manager, Store, open_store

__all__ = [
    "Counts",
    "Listing",
    "ManagedBy",
    "Manager",
    "MatchRow",
    "MatchStatus",
    "RoleStatistics",
    "Store",
    "StoredTournament",
    "TournamentStatus",
    "open_store",
]
