"""A specification → TOML that reads back as the same one."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gamemaster.tournament.spec.models import (
    GameSpec,
    LimitsSpec,
    MatchOverrides,
    MatchSpec,
    PlayerSpec,
    ResultsSpec,
    SprtSpec,
    TournamentSpec,
    game_name,
)
from ggp.library import game_names

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_EXAMPLES: Mapping[str, object] = {
    "name": "another-name",
    "bot": "mcts",
    "url": "http://192.0.2.7:9147",
    "settings": {"memory": 2048},
    "matches": 2,
    "processors": 2,
    "startclock": 30,
    "playclock": 10,
    "max_steps": 200,
    "store": "results.sqlite",
    "folder": "report",
    "elo0": 0.0,
    "elo1": 20.0,
}
_NO_EXAMPLE: tuple[object, ...] = (None, "", {}, PydanticUndefined)  # values of fields that are usually empty
_HEAD = """\
# A tournament, for `ggp tournament run FILE`. Paths are relative to the folder of this file.
# A field behind a # has the value that counts when it is not set, or where it is usually not set, an example.
"""


def spec_text(spec: TournamentSpec, base: Path | None = None, *, commented: bool = False) -> str:
    """The specification in TOML: all that is not as usual, and when commented, all that there is to say.

    Paths below `base` are written relative to it: `parse_spec` of the text with the same base gives an equal
    specification, if this one was read or made, so that its paths are absolute.
    """
    return "\n".join(_Writer(spec, base, commented=commented).lines()) + "\n"


class _Writer:
    def __init__(self, spec: TournamentSpec, base: Path | None, *, commented: bool) -> None:
        self._spec = spec
        self._base = None if base is None else base.absolute()
        self._commented = commented

    def lines(self) -> Iterator[str]:
        spec = self._spec
        if self._commented:
            yield _HEAD
        yield from self._fields(TournamentSpec, {"name": spec.name, "seed": spec.seed, **_unusual(spec)})
        for number, game in enumerate(spec.games):
            yield from ("", "[[games]]")
            yield from self._fields(GameSpec, self._game(game), remarks=number == 0)
            yield from self._table("games.match", MatchOverrides, _unusual(game.match), remarks=number == 0)
        for number, player in enumerate(spec.players):
            yield from ("", "[[players]]")
            yield from self._fields(PlayerSpec, {"name": player.name, **_unusual(player)}, remarks=number == 0)
            yield from self._table("players.settings", None, player.settings)
        yield from self._table("match", MatchSpec, _unusual(spec.match))
        yield from self._table("limits", LimitsSpec, _unusual(spec.limits))
        yield from self._table("results", ResultsSpec, self._results())
        if spec.sprt is not None or self._commented:
            yield from self._table("sprt", SprtSpec, {} if spec.sprt is None else spec.sprt.model_dump())

    def _game(self, game: GameSpec) -> dict[str, object]:
        written: dict[str, object] = {"rules": game.rules}
        if game.rules not in game_names():
            written["rules"] = self._relative(game.rules)
        if game.name != game_name(game.rules):
            written["name"] = game.name
        return written

    def _results(self) -> dict[str, object]:
        store, folder = self._spec.results.store, self._spec.results.folder
        usual = None if self._base is None else str(self._base / f"{self._spec.name}.sqlite")
        written: dict[str, object] = {}
        if store not in ("", usual):
            written["store"] = store if "://" in store else self._relative(store)
        if folder:
            written["folder"] = self._relative(folder)
        return written

    def _relative(self, path: str) -> str:
        """The same path from the base when it is below it; never the name of a shipped game."""
        if self._base is None or not Path(path).is_relative_to(self._base):
            return path
        below = Path(path).relative_to(self._base).as_posix()
        return f"./{below}" if below in game_names() else below

    def _table(
        self, name: str, model: type[BaseModel] | None, written: Mapping[str, object], *, remarks: bool = True
    ) -> Iterator[str]:
        """A table with its header; an example as a whole where it could not be empty."""
        lines = list(self._fields(model, written, remarks=remarks))
        if lines:
            example = not written and model is SprtSpec
            yield from ("", f"# [{name}]" if example else f"[{name}]", *lines)

    def _fields(
        self, model: type[BaseModel] | None, written: Mapping[str, object], *, remarks: bool = True
    ) -> Iterator[str]:
        """What is written, and as comments what else there is."""
        fields = {} if model is None else model.model_fields
        for name in [*fields, *(name for name in written if name not in fields)]:
            about = fields[name].description if name in fields and self._commented and remarks else None
            remark = f"  # {about}" if about else ""
            if name in written:
                yield f"{_key(name)} = {_value(written[name])}{remark}"
            elif remark:
                usual = fields[name].default
                yield f"# {name} = {_value(_EXAMPLES[name] if usual in _NO_EXAMPLE else usual)}{remark}"


def _unusual(model: BaseModel) -> dict[str, object]:
    """The fields that are text, numbers or true or false, and not what they usually are."""
    fields = type(model).model_fields
    return {
        name: value
        for name, value in model
        if isinstance(value, str | bool | int | float | Enum) and value != fields[name].default
    }


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Enum():
            return _text(str(value.value))
        case int() | float():
            return repr(value)
        case dict():
            return "{" + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items()) + "}"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    """A basic string of TOML: as in JSON, but that it may not hold DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
