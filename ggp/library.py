"""The shipped games: where their rulesheets are, and what the metadata beside each says."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ggp.errors import SettingsError, UnknownGameError

SUFFIX = ".kif"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a person wants to know of a game beside its rules; every field may be empty."""

    title: str = ""
    description: str = ""
    roles: dict[str, str] = field(default_factory=dict)  # role → who that is, in words
    source: str = ""  # where the rules come from
    readings: tuple[str, ...] = ()  # how ambiguous sentences of the source were read
    drawing: dict[str, Any] = field(default_factory=dict)  # how to draw a state; see `ggp.drawing`


_FIELDS = {"title": str, "description": str, "roles": dict, "source": str, "readings": list, "drawing": dict}
_TOML_NAMES = {str: "string", dict: "table", list: "array"}


def rules_folder() -> Path:
    """The folder of the shipped rulesheets: in the package when installed, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "rules"
    return installed if installed.is_dir() else package.parent / "rules"


def game_names() -> tuple[str, ...]:
    """The names of the shipped games, sorted."""
    return tuple(sorted(path.stem for path in rules_folder().glob(f"*{SUFFIX}")))


def find_rulesheet(game: str) -> Path:
    """The path of a shipped game or of a file; UnknownGameError when it is neither."""
    if game in game_names():
        return rules_folder() / f"{game}{SUFFIX}"
    path = Path(game)
    if path.is_file():
        return path
    raise UnknownGameError(f"no game or file is called {game!r}; the games are {', '.join(game_names())}")


def read_bytes(path: Path) -> bytes:
    """The content of a rulesheet file; UnknownGameError, with the reason, when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownGameError(f"{path}: {error.strerror}") from None


def read_metadata(rulesheet: Path) -> Metadata:
    """The metadata of the `.toml` file beside a rulesheet; empty when there is none."""
    path = rulesheet.with_suffix(".toml")
    if not path.is_file():
        return Metadata()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    for name, value in data.items():
        expected = _FIELDS.get(name)
        if expected is None:
            raise SettingsError(f"{path}: no field is called {name!r}; the fields are {', '.join(_FIELDS)}")
        if not isinstance(value, expected):
            raise SettingsError(f"{path}: the field {name!r} is no {_TOML_NAMES[expected]}")
    return Metadata(**{**data, "readings": tuple(data.get("readings", ()))})
