"""Finding and reading shipped games and other rulesheet files, with the metadata in the `.toml` file next to each."""

import errno
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from ggp.errors import SettingsError, UnknownGameError, did_you_mean

SUFFIX = ".kif"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What people want to know about a game besides its rules; every field can be empty."""

    title: str = ""
    description: str = ""
    roles: dict[str, str] = field(default_factory=dict)  # role → description
    source: str = ""  # where the rules were published
    readings: tuple[str, ...] = ()  # how ambiguous sentences of the source were interpreted
    drawing: dict[str, Any] = field(default_factory=dict)  # how to draw a state; see `ggp.boards.hints`


_FIELDS = {"title": str, "description": str, "roles": dict, "source": str, "readings": list, "drawing": dict}
_TOML_NAMES = {str: "a string", dict: "a table", list: "an array"}
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)  # no file has a path that is too long
_SHOWN = 80  # characters of a name in a message


def rules_folder() -> Path:
    """The folder of the shipped rulesheets: in the installed package, or next to it in a checkout."""
    package = Path(__file__).parent
    installed = package / "rules"
    return installed if installed.is_dir() else package.parent / "rules"


def game_names() -> tuple[str, ...]:
    """The names of the shipped games, sorted."""
    return tuple(sorted(path.stem for path in rules_folder().glob(f"*{SUFFIX}")))


def find_rulesheet(game: str) -> Path:
    """The path of a shipped game, a file or a pipe; UnknownGameError if there is none."""
    if game in game_names():
        return rules_folder() / f"{game}{SUFFIX}"
    path = Path(game)
    try:
        mode = path.stat().st_mode if game else None
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no path holds a null character
        mode = None
    except OSError as error:
        raise UnknownGameError(f"{_shown(game)}: {_reason(error)}") from None
    if mode is None:
        names = game_names()
        meant = did_you_mean(path.stem[:_SHOWN], names)
        raise UnknownGameError(f"no game or file is called {_shown(game)}{meant}; the games are {', '.join(names)}")
    if S_ISDIR(mode):
        raise UnknownGameError(f"{_shown(game)} is a folder")
    return path


def _shown(game: str) -> str:
    """The name as one short line: users may pass a whole rulesheet as its name."""
    return repr(game if len(game) <= _SHOWN else f"{game[:_SHOWN]}…")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def read_bytes(path: Path) -> bytes:
    """The content of a rulesheet file; UnknownGameError, with the reason, if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownGameError(f"{path}: {_reason(error)}") from None


def read_metadata(rulesheet: Path) -> Metadata:
    """The metadata in the `.toml` file next to a rulesheet; empty if there is none, or if it is about something else.

    SettingsError, with the path, if the file cannot be read or has unknown fields or wrong types.
    """
    path = rulesheet.with_suffix(".toml")
    try:
        if not S_ISREG(path.stat().st_mode):
            return Metadata()
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        if error.errno in _ABSENT:
            return Metadata()
        raise SettingsError(f"{path}: {_reason(error)}") from None
    except ValueError as error:  # neither TOML nor UTF-8, or a number that Python does not read
        raise SettingsError(f"{path}: {error}") from None
    if rulesheet.parent != rules_folder() and not data.keys() & _FIELDS.keys():
        return Metadata()
    for name, value in data.items():
        expected = _FIELDS.get(name)
        if expected is None:
            raise SettingsError(f"{path}: no field is called {name!r}; the fields are {', '.join(_FIELDS)}")
        if not isinstance(value, expected):
            raise SettingsError(f"{path}: the field {name!r} is not {_TOML_NAMES[expected]}")
    return Metadata(**{**data, "readings": tuple(data.get("readings", ()))})
