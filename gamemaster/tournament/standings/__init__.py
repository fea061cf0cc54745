"""Results → standings, and these as text, JSON and CSV."""

from gamemaster.tournament.standings.standings import KINDS, standings
from gamemaster.tournament.standings.stored import stored_ratings
from gamemaster.tournament.standings.texts import as_csv, as_json, as_text
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
