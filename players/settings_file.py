"""A settings file in TOML, and what the command line says → the settings of a player."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ggp.errors import SettingsError
from players.settings import PlayerSettings
from players.strategy import SearchSettings

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]

_SEARCH_FIELDS = frozenset(each.name for each in fields(SearchSettings))


class SettingsFile(BaseModel):
    """Every field may be left out; they are the options of `ggp player`, with _ for -."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = ""
    seed: Count = 0
    margin: NotNegative = 0.0
    abandon: NotNegative = 0.0
    max_message_bytes: Positive = 1
    ponder: bool = True
    exploration: NotNegative = 0.0
    ucb1_tuned: bool = True
    first_play_urgency: NotNegative = 0.0
    virtual_loss: Annotated[float, Field(ge=0, le=1)] = 0.0
    tie_margin: NotNegative = 0.0
    mast_temperature: NotNegative = 0.0
    grave_equivalence: NotNegative = 0.0
    tune: bool = True
    retrograde: bool = True
    proof: bool = True
    playouts: Count = 0
    lookahead_moves: Count = 0
    most_steps: Positive = 1
    visits_per_descent: Positive = 1
    batch: Literal[8, 16, 32, 64, 128, 256, 512] = 8
    memory: Positive = 1
    threads: Positive = 1


def read_settings(path: Path) -> dict[str, Any]:
    """What a file sets, checked; SettingsError with the file, the field and the reason."""
    try:
        text = path.read_bytes().decode("utf-8")
        given = SettingsFile.model_validate(tomllib.loads(text))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{path}: {_first_of(error)}") from None
    return given.model_dump(exclude_unset=True)


def make_settings(strategy: str, given: Mapping[str, Any]) -> PlayerSettings:
    """From fields by their names in a file; what is left out is as usual."""
    search = SearchSettings(**{name: value for name, value in given.items() if name in _SEARCH_FIELDS})
    rest = {name: value for name, value in given.items() if name not in _SEARCH_FIELDS}
    return PlayerSettings(strategy, **rest, search=search)


def _first_of(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"{field}: there is no such setting; the settings are {', '.join(SettingsFile.model_fields)}"
    return f"{field}: {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}"
