"""Results → standings, and these as text, JSON and CSV."""

from gamemaster.tournaments.standings.standings import KINDS, standings
from gamemaster.tournaments.standings.stored import stored_ratings
from gamemaster.tournaments.standings.texts import as_csv, as_json, as_text
from gamemaster.tournaments.standings.values import (
    Conduct,
    GameTable,
    Line,
    Meeting,
    PlayerRole,
    RoleLine,
    Standings,
    Tally,
)

__all__ = [
    "KINDS",
    "Conduct",
    "GameTable",
    "Line",
    "Meeting",
    "PlayerRole",
    "RoleLine",
    "Standings",
    "Tally",
    "as_csv",
    "as_json",
    "as_text",
    "standings",
    "stored_ratings",
]
