"""Finding and reading shipped games and other rulesheet files, with the metadata in the `.toml` file next to each."""

import errno
import tomllib
from collections.abc import Iterable
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
    tags: tuple[str, ...] = ()  # kinds of games that this is one of; `TAGS` has those of the shipped games
    truths: dict[str, Any] = field(default_factory=dict)  # what is known of the game: names in `TRUTHS`
    family: dict[str, Any] = field(default_factory=dict)  # `name`, and the `parameters`, of `ggp.families`


TAGS = {
    "one-role": "puzzles and other games for one",
    "two-roles": "for two",
    "many-roles": "for three or more",
    "puzzle": "one role looks for a way to a goal",
    "classic": "played by many for long",
    "small": "can be solved within seconds",
    "simultaneous": "several roles choose at the same step",
    "chance": "dice or shuffled cards: a role `random`",
    "hidden": "roles see a part of the state only (GDL-II)",
    "connection": "join sides, or own a region without a gap",
    "line": "several in a row win",
    "capture": "pieces of others are taken",
    "race": "who arrives first",
    "territory": "who owns more of the board",
    "blocking": "who cannot move loses, or wins",
    "counting": "who has more at the end",
    "sowing": "seeds are sown round a board (mancala)",
    "placement": "what is put on the board stays where it is",
    "movement": "pieces move from place to place",
    "bidding": "roles offer, pay or allot what they have",
    "cooperation": "roles can gain together",
}

TRUTHS: dict[str, type | tuple[type, ...]] = {
    "value": str,  # who wins, or what the best play is worth, in words
    "perft": list,  # number of paths of 1, 2, … steps
    "perft_source": str,  # where these numbers come from
    "longest": int,  # steps that no match exceeds
    "length": (int, float),  # mean number of steps of random matches
    "branching": (int, float),  # mean number of legal moves of a role that has more than one, in random matches
    "shortest": int,  # steps of the shortest way to the highest goal value, for one role
}  # name → type

_FIELDS: dict[str, type] = {
    "title": str, "description": str, "roles": dict, "source": str, "readings": list, "drawing": dict, "tags": list,
    "truths": dict, "family": dict,
}  # fmt: skip
_TOML_NAMES: dict[type, str] = {str: "a string", dict: "a table", list: "an array"}
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)  # no file has a path that is too long
_SHOWN = 80  # characters of a name in a message


def rules_folder() -> Path:
    """The folder of the shipped rulesheets: in the installed package, or next to it in a checkout."""
    package = Path(__file__).parent
    installed = package / "rules"
    return installed if installed.is_dir() else package.parent / "rules"


def shipped_rulesheets() -> dict[str, Path]:
    """The files of the shipped games by name, sorted; the folders that they are in say what kind of game it is."""
    return {path.stem: path for path in sorted(rules_folder().rglob(f"*{SUFFIX}"), key=lambda path: path.stem)}


def game_names() -> tuple[str, ...]:
    """The names of the shipped games, sorted."""
    return tuple(shipped_rulesheets())


def find_rulesheet(game: str) -> Path:
    """The path of a shipped game, a file or a pipe; UnknownGameError if there is none."""
    shipped = shipped_rulesheets()
    if game in shipped:
        return shipped[game]
    path = Path(game)
    try:
        mode = path.stat().st_mode if game else None
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no path holds a null character
        mode = None
    except OSError as error:
        raise UnknownGameError(f"{_shown(game)}: {_reason(error)}") from None
    if mode is None:
        meant = did_you_mean(path.stem[:_SHOWN], shipped)
        raise UnknownGameError(f"no game or file is called {_shown(game)}{meant}; `ggp games` lists the games")
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
    if rules_folder() not in rulesheet.parents and not data.keys() & _FIELDS.keys():
        return Metadata()
    for name, value in data.items():
        expected = _FIELDS.get(name)
        if expected is None:
            raise SettingsError(f"{path}: no field is called {name!r}; the fields are {', '.join(_FIELDS)}")
        if not isinstance(value, expected):
            raise SettingsError(f"{path}: the field {name!r} is not {_TOML_NAMES[expected]}")
    _check_texts(path, data)
    return Metadata(**{**data, "readings": tuple(data.get("readings", ())), "tags": tuple(data.get("tags", ()))})


def _check_texts(path: Path, data: dict[str, Any]) -> None:
    """SettingsError if a tag is no text, or if what is known of the game has an unknown name or a wrong type."""
    if not all(isinstance(tag, str) for tag in data.get("tags", ())):
        raise SettingsError(f"{path}: the field 'tags' is not an array of strings")
    for name, value in data.get("truths", {}).items():
        if name not in TRUTHS:
            raise SettingsError(f"{path}: the table 'truths' has no field {name!r}; its fields are {', '.join(TRUTHS)}")
        if not isinstance(value, TRUTHS[name]):
            raise SettingsError(f"{path}: truths.{name} has the wrong type")


def is_match(words: Iterable[str], tags: Iterable[str], name: str, roles: Iterable[str], metadata: Metadata) -> bool:
    """Whether a game has all the words in its name, title, description, roles or tags, and all the tags."""
    own = (name, metadata.title, metadata.description, *roles, *metadata.tags)
    text = " ".join(own).lower()
    return all(word.lower() in text for word in words) and set(tags) <= set(metadata.tags)
