"""A specification as a TOML file: read, with the line of every mistake, checked, and written."""

import asyncio
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from gamemaster.evaluator import RULES_BYTES, Evaluator, find_source, load_rules
from gamemaster.record import MatchRecord
from gamemaster.referee import Outcome, check_opening
from gamemaster.settings import MatchSettings
from gamemaster.tournament.spec import (
    GameSpec,
    LimitsSpec,
    MatchOverrides,
    MatchSpec,
    PlayerSpec,
    ResultsSpec,
    SprtSpec,
    TournamentSpec,
    game_name,
    shown,
)
from ggp.errors import GgpError, SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.library import game_names
from ggp.plugins import parse_plugin, placed_plugin

Place: TypeAlias = tuple[str | int, ...]  # of a field: keys and indices from the outside in

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
    "too_short": "there is none, and at least one is needed",
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
    """The same with absolute paths, and with a store; rulesheets and bots' files may be relative to another folder."""
    base = base.absolute()
    rules = rules_base.absolute() if rules_base is not None else base
    shipped = game_names()
    games = tuple(
        game.model_copy(
            update={
                "rules": game.rules if game.rules in shipped else str(rules / game.rules),
                "openings": str(rules / game.openings) if game.openings else "",
            }
        )
        for game in spec.games
    )
    players = tuple(
        player.model_copy(update={"bot": None if player.bot is None else placed_plugin(player.bot, rules)})
        for player in spec.players
    )
    store, folder = spec.results.store, spec.results.folder
    if "://" not in store:
        store = str(base / (store or f"{spec.name}.sqlite"))
    results = ResultsSpec(store=store, folder=str(base / folder) if folder else "")
    return spec.model_copy(update={"games": games, "players": players, "results": results})


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not a text in UTF-8") from None


def mistake_at(where: str, text: str | None, place: Place, message: str) -> SettingsError:
    """`FILE, line N: players[2].url: message`; without a line where there is no text to look it up in."""
    line = None if text is None else line_of(text, place)
    at = where if line is None else f"{where}, line {line}"
    return SettingsError(": ".join(part for part in (at, field_text(place), message) if part))


def field_text(place: Place) -> str:
    """`players[2].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def first_mistake(error: ValidationError, text: str | None = None) -> tuple[Place, str]:
    """The first mistake by its line, as place and message; what is missing comes last."""

    def order(details: Any) -> tuple[bool, int]:  # noqa: ANN401 - ErrorDetails is no type of pydantic's own
        line = line_of(text, details["loc"]) if text is not None else None
        return details["type"] == "missing", line or 0

    first = min(error.errors(include_url=False), key=order)
    return first["loc"], _message(first["type"], first["loc"], first["msg"], first["input"])


def _message(kind: str, place: Place, message: str, given: object) -> str:
    if kind == "extra_forbidden":
        table = tuple(part for part in place[:-1] if isinstance(part, str))
        return f"there is no such field; the fields are {', '.join(_TABLES[table].model_fields)}"
    if kind == "mistake":
        return message
    plain = _PLAIN.get(kind, message[:1].lower() + message[1:])
    return plain if kind in ("missing", "too_short") else f"{plain}, not {shown(given)}"


def _not_toml(message: str, where: str, text: str) -> SettingsError:
    message = message[:1].lower() + message[1:]
    if message.endswith(_AT_END):
        last = text.rstrip().count("\n") + 1
        return SettingsError(f"{where}, line {last}: {message.removesuffix(_AT_END)}, at the end")
    found = _TOML_PLACE.fullmatch(message)
    if found is None:
        return SettingsError(f"{where}: {message}")
    return SettingsError(f"{where}, line {found[2]}, column {found[3]}: {found[1]}")


RULES_WAIT = 10.0  # seconds for the initial state of a game
_FOR_TWO = ("swiss", "knock-out")


def check_spec(spec: TournamentSpec, path: Path | None = None, option: str = "") -> dict[str, int]:
    """Game → how many players it takes; loads every game, by the interpreter, which is quick.

    SettingsError where a game cannot be loaded or does not suit the format or the players; it names the line when
    `path` is the file that the specification was read from, or the option that games were named by.
    """
    roles: dict[str, int] = {}
    with ThreadPoolExecutor(1) as thread:  # there may be an event loop in this one
        counts = thread.submit(asyncio.run, _players_of(spec.games)).result()
    for number, (game, count) in enumerate(zip(spec.games, counts, strict=True)):
        if isinstance(count, GgpError):
            problem: str | None = str(count)
        else:
            roles[game.name] = count
            problem = unsuitable(spec, count)
        if problem and option:
            raise SettingsError(f"{option}: {problem}")
        if problem:
            raise mistake_at(_where(path), _text_of(path), ("games", number, "rules"), problem)
    return roles


def unsuitable(spec: TournamentSpec, roles: int) -> str | None:
    """What is wrong with a game for so many players in this tournament; None when nothing is."""
    players = len(spec.players)
    if roles == 0:
        return "the game takes no players"
    if spec.format in _FOR_TWO and roles != 2:
        return f"a {spec.format} takes games for two players, and this one takes {roles}"
    if spec.sprt is not None and roles != 2:
        return f"an SPRT takes games for two players, and this one takes {roles}"
    if roles > players:
        return f"the game takes {roles} players, and there {'is' if players == 1 else 'are'} {players}"
    return None


async def _players_of(games: Sequence[GameSpec]) -> list[int | GgpError]:
    """How many players each game takes, or what is wrong with it."""
    evaluator = Evaluator(RULES_BYTES)
    try:
        return [await _count_of(evaluator, game) for game in games]
    finally:
        await evaluator.close()


async def check_same_rules(spec: TournamentSpec, records: Mapping[str, MatchRecord]) -> None:
    """SettingsError where the rules of a game are not those of its record: results of two games do not mix.

    records: game → the record of a match of it; not of games that were not played yet.
    """
    evaluator = Evaluator(RULES_BYTES)
    try:
        for number, game in enumerate(spec.games):
            if game.name in records and not await _has_rules(evaluator, game, records[game.name]):
                reason = f"{game.rules} has other rules than the matches that have results; restore them, or begin anew"
                raise SettingsError(f"games[{number}].rules: {reason}")
    finally:
        await evaluator.close()


async def _has_rules(evaluator: Evaluator, game: GameSpec, record: MatchRecord) -> bool:
    opening = " ".join(f"({' '.join(moves)})" for moves in record.opening)
    try:
        source = await asyncio.to_thread(find_source, game.rules)
        rules = await load_rules(evaluator, replace(source, opening=opening))
    except GgpError:  # as of an opening that cannot be played any more
        return False
    return rules.game.rulesheet.sha256 == record.rulesheet_sha256


async def _count_of(evaluator: Evaluator, game: GameSpec) -> int | GgpError:
    try:
        source = find_source(game.rules)
        rules = await load_rules(evaluator, source)
        rules.wants_states = True
        begun = await rules.begin(MatchSettings(rules_wait=RULES_WAIT))
        if isinstance(begun, Outcome) and begun.state is None:
            return GgpError(begun.reason or "")
        for line, opening in read_openings(Path(game.openings)) if game.openings else ():
            try:
                await load_rules(evaluator, replace(source, opening=opening))
            except GgpError as error:
                return GgpError(f"{game.openings}, line {line}: {error}")
    except GgpError as error:
        return error
    return sum(role != NATURE for role in rules.game.roles)


def openings_of(spec: TournamentSpec) -> dict[str, tuple[str, ...]]:
    """Game → its openings, in the order of their file; SettingsError where one cannot be read."""
    return {
        game.name: tuple(opening for _, opening in read_openings(Path(game.openings))) if game.openings else ()
        for game in spec.games
    }


def read_openings(path: Path) -> list[tuple[int, str]]:
    """The openings in a file with their lines, from 1: moves as `ggp match --opening` takes them."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        opening = line.partition(";")[0].strip()
        if opening:
            try:
                found.append((number, check_opening(opening)))
            except GgpError as error:
                raise SettingsError(f"{path}, line {number}: {error}") from None
    if not found:
        raise SettingsError(f"{path}: there is no opening in it")
    return found


def _where(path: Path | None) -> str:
    return "" if path is None else str(path)


def _text_of(path: Path | None) -> str | None:
    """The text that the line is looked up in; it may be gone by now."""
    try:
        return None if path is None else read_text(path)
    except SettingsError:
        return None


_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")  # comments are blank, and so are ends of lines
_KEY = re.compile(r'[ \t]*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))[ \t]*')
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_BARE = re.compile(r"[^,\]}\n#]*")  # numbers, times, true and false


def line_of(text: str, place: Place) -> int | None:
    """The line, counted from 1, of the innermost part of a place that the text has; None where the text is no TOML."""
    try:
        lines = key_lines(text)
    except (ValueError, RecursionError):
        return None
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def key_lines(text: str) -> Mapping[Place, int]:
    """Every place in a text that is known to be TOML, with its line; ValueError at the latest where it is not."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._at = 0
        self._lines: dict[Place, int] = {}
        self._sizes: dict[Place, int] = {}  # of arrays of tables

    def scan(self) -> Mapping[Place, int]:
        table: Place = ()
        while self._skip():
            if self._text.startswith("[[", self._at):
                table = self._array_header()
            elif self._text[self._at] == "[":
                self._at += 1
                line = self._line()
                table = self._resolved(self._keys())
                self._lines.setdefault(table, line)
                self._expect("]")
            else:
                self._pair(table)
        return self._lines

    def _array_header(self) -> Place:
        line = self._line()
        self._at += 2
        *outer, last = self._keys()
        array = (*self._resolved(tuple(outer)), last)
        number = self._sizes.get(array, 0)
        self._sizes[array] = number + 1
        self._lines.setdefault(array, line)
        self._lines[*array, number] = line
        self._expect("]]")
        return (*array, number)

    def _resolved(self, keys: tuple[str, ...]) -> Place:
        """The table that a header names: in an array of tables its last element."""
        path: Place = ()
        for key in keys:
            path = (*path, key)
            if path in self._sizes:
                path = (*path, self._sizes[path] - 1)
        return path

    def _pair(self, table: Place) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._expect("=")
        self._value(path)

    def _value(self, path: Place) -> None:
        self._skip()
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        elif opening in ('"', "'"):
            self._match(_TEXT)
        else:
            self._match(_BARE)

    def _array(self, path: Place) -> None:
        self._expect("[")
        number = 0
        while self._skip() and self._text[self._at] != "]":
            self._lines[*path, number] = self._line()
            self._value((*path, number))
            number += 1
            if self._skip() and self._text[self._at] != "]":
                self._expect(",")
        self._expect("]")

    def _inline_table(self, path: Place) -> None:
        self._expect("{")
        while self._skip() and self._text[self._at] != "}":
            self._pair(path)
            if self._skip() and self._text[self._at] != "}":
                self._expect(",")
        self._expect("}")

    def _keys(self) -> tuple[str, ...]:
        keys = [self._key()]
        while self._text.startswith(".", self._at):
            self._at += 1
            keys.append(self._key())
        return tuple(keys)

    def _key(self) -> str:
        quoted, literal, bare = self._match(_KEY).groups()
        if quoted is None:
            return literal or bare or ""
        return quoted if "\\" not in quoted else str(tomllib.loads(f'key = "{quoted}"')["key"])

    def _line(self) -> int:
        return bisect_right(self._ends, self._at - 1) + 1 if self._at else 1

    def _skip(self) -> bool:
        """Goes to what is not blank; False at the end."""
        self._match(_BLANK)
        return self._at < len(self._text)

    def _expect(self, mark: str) -> None:
        self._skip()
        if not self._text.startswith(mark, self._at):
            raise ValueError(f"line {self._line()}: no {mark}")
        self._at += len(mark)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"line {self._line()}: not TOML")
        self._at = found.end()
        return found


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
    "grace": 2.0,
    "scramble": True,
    "replacement": "first",
    "store": "results.sqlite",
    "folder": "report",
    "openings": "openings.txt",
    "rules_wait": 30.0,
    "forfeit_after": 5,
    "resign_steps": 3,
    "resign_value": 2.0,
    "draw_steps": 6,
    "draw_value": 1.0,
    "draw_from": 20,
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
            yield from self._fields(PlayerSpec, self._player(player), remarks=number == 0)
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
        if game.openings:
            written["openings"] = self._relative(game.openings)
        return written

    def _player(self, player: PlayerSpec) -> dict[str, object]:
        written = {"name": player.name, **_unusual(player)}
        plugin = None if player.bot is None else parse_plugin(player.bot)
        if plugin is not None and plugin.is_file:
            written["bot"] = str(replace(plugin, home=self._relative(plugin.home)))
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
                yield _assignment(name, written[name]) + remark
            elif remark:
                usual = fields[name].default
                yield f"# {_assignment(name, _EXAMPLES[name] if usual in _NO_EXAMPLE else usual)}{remark}"


def _unusual(model: BaseModel) -> dict[str, object]:
    """The fields that are text, numbers or true or false, and not what they usually are."""
    fields = type(model).model_fields
    return {
        name: value
        for name, value in model
        if isinstance(value, str | bool | int | float | Enum) and value != fields[name].default
    }


def _assignment(name: str, value: object) -> str:
    """`name = value` in TOML."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        value = table
    item = tomlkit.item(value.value if isinstance(value, Enum) else value)
    return f"{tomlkit.key(name).as_string()} = {item.as_string()}"
