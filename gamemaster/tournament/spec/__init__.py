"""The specification of a tournament: one TOML file in, a `TournamentSpec` out, and back."""

from gamemaster.tournament.spec.checking import check_spec, unsuitable
from gamemaster.tournament.spec.making import new_spec, parse_sprt
from gamemaster.tournament.spec.models import (
    Format,
    GameSpec,
    LimitsSpec,
    MatchOverrides,
    MatchSpec,
    PlayerSpec,
    ResultsSpec,
    SprtSpec,
    TournamentSpec,
)
from gamemaster.tournament.spec.reading import parse_spec, read_spec
from gamemaster.tournament.spec.writing import spec_text

__all__ = [
    "Format",
    "GameSpec",
    "LimitsSpec",
    "MatchOverrides",
    "MatchSpec",
    "PlayerSpec",
    "ResultsSpec",
    "SprtSpec",
    "TournamentSpec",
    "check_spec",
    "new_spec",
    "parse_spec",
    "parse_sprt",
    "read_spec",
    "spec_text",
    "unsuitable",
]
