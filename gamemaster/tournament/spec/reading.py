"""TOML → a specification, or one clear line with file, line and field."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gamemaster.tournament.spec import lines
from gamemaster.tournament.spec.models import (
    GameSpec,
    LimitsSpec,
    MatchOverrides,
    MatchSpec,
    PlayerSpec,
    ResultsSpec,
    SprtSpec,
    TournamentSpec,
    shown,
)
from ggp.errors import SettingsError
from ggp.library import game_names

_TABLES: Mapping[tuple[str, ...], type[BaseModel]] = {
    (): TournamentSpec,
    ("games",): GameSpec,
    ("games", "match"): MatchOverrides,
    ("players",): PlayerSpec,
    ("match",): MatchSpec,
    ("limits",): LimitsSpec,
    ("results",): ResultsSpec,
    ("sprt",): SprtSpec,
}
_PLAIN = {
    "missing": "it is missing",
    "model_type": "a table is expected",
    "model_attributes_type": "a table is expected",
    "dict_type": "a table is expected",
    "tuple_type": "an array is expected",
}
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_AT_END = " (at end of document)"


def read_spec(path: Path) -> TournamentSpec:
    """The specification in a file; paths in it are relative to its folder. SettingsError for anything wrong."""
    return parse_spec(read_text(path), str(path), path.absolute().parent)


def parse_spec(text: str, where: str, base: Path) -> TournamentSpec:
    """The specification that a text in TOML is; relative paths are below `base`, `where` names the text in errors."""
    try:
        data = tomllib.loads(text)
    except ValueError as error:  # not TOML, or a number that Python does not read
        raise _not_toml(str(error), where, text) from None
    except RecursionError:
        raise SettingsError(f"{where}: nested too deeply") from None
    try:
        spec = TournamentSpec.model_validate(data)
    except ValidationError as error:
        place, message = first_mistake(error, text)
        raise mistake_at(where, text, place, message) from None
    return placed(spec, base)


def placed(spec: TournamentSpec, base: Path, rules_base: Path | None = None) -> TournamentSpec:
    """The same with absolute paths, and with a store; rulesheets may be relative to another folder."""
    base = base.absolute()
    rules = rules_base.absolute() if rules_base is not None else base
    shipped = game_names()
    games = tuple(
        game if game.rules in shipped else game.model_copy(update={"rules": str(rules / game.rules)})
        for game in spec.games
    )
    store, folder = spec.results.store, spec.results.folder
    if "://" not in store:
        store = str(base / (store or f"{spec.name}.sqlite"))
    results = ResultsSpec(store=store, folder=str(base / folder) if folder else "")
    return spec.model_copy(update={"games": games, "results": results})


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not a text in UTF-8") from None


def mistake_at(where: str, text: str | None, place: lines.Path, message: str) -> SettingsError:
    """`FILE, line N: players[2].url: message`; without a line where there is no text to look it up in."""
    line = None if text is None else lines.line_of(text, place)
    at = where if line is None else f"{where}, line {line}"
    return SettingsError(": ".join(part for part in (at, field_text(place), message) if part))


def field_text(place: lines.Path) -> str:
    """`players[2].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def first_mistake(error: ValidationError, text: str | None = None) -> tuple[lines.Path, str]:
    """The first mistake by its line, as place and message; what is missing comes last."""

    def order(details: Any) -> tuple[bool, int]:  # noqa: ANN401 - ErrorDetails is no type of pydantic's own
        line = lines.line_of(text, details["loc"]) if text is not None else None
        return details["type"] == "missing", line or 0

    first = min(error.errors(include_url=False), key=order)
    return first["loc"], _message(first["type"], first["loc"], first["msg"], first["input"])


def _message(kind: str, place: lines.Path, message: str, given: object) -> str:
    if kind == "extra_forbidden":
        table = tuple(part for part in place[:-1] if isinstance(part, str))
        return f"there is no such field; the fields are {', '.join(_TABLES[table].model_fields)}"
    if kind == "mistake":
        return message
    plain = _PLAIN.get(kind, message[:1].lower() + message[1:])
    return plain if kind == "missing" else f"{plain}, not {shown(given)}"


def _not_toml(message: str, where: str, text: str) -> SettingsError:
    message = message[:1].lower() + message[1:]
    if message.endswith(_AT_END):
        last = text.rstrip().count("\n") + 1
        return SettingsError(f"{where}, line {last}: {message.removesuffix(_AT_END)}, at the end")
    found = _TOML_PLACE.fullmatch(message)
    if found is None:
        return SettingsError(f"{where}: {message}")
    return SettingsError(f"{where}, line {found[2]}, column {found[3]}: {found[1]}")
