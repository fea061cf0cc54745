"""Tournaments and matches in a database: specifications, progress, results and records.

In reading order: `store` (the front door, and the manager of a tournament), `schema` (tables, versions, records as
bytes), `leases` (which process may write), `writes`, `reads`, `database` (transactions on SQLite or PostgreSQL).
"""

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
