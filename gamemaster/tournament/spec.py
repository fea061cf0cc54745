"""What a tournament is made of: games, players, clocks, format, limits, and where its results go."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, NoReturn, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from gamemaster.bots import THOUGHTLESS
from gamemaster.player import LONGEST_NAME, PlayerAddress, host_of, is_name, parse_player
from gamemaster.settings import (
    Clock,
    EvaluatedSteps,
    FaultsInARow,
    GoalValue,
    MatchSettings,
    Replacement,
    RulesWait,
    Seconds,
    Steps,
)
from ggp.errors import SettingsError
from ggp.plugins import parse_plugin
from ggp.protocol.messages import Dialect
from ggp.settings import declared

Format = Literal["round robin", "gauntlet", "swiss", "knock-out"]
MOST_THREADS = 1024
MOST_AT_A_TIME = 10_000

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_OF_THE_TOURNAMENT = ("name", "seed")  # settings of a bot that follow from the specification
_OF_A_MATCH = {setting.name: setting for setting in declared(MatchSettings)}


def _word(text: str) -> str:
    if len(text) > LONGEST_NAME or not _WORD.fullmatch(text):
        raise mistake(f"a name is one word of at most {LONGEST_NAME} letters, digits, - and _, not {shown(text)}")
    return text


def _player_name(text: str) -> str:
    if not text or not is_name(text):
        raise mistake(f"a name is one line of at most {LONGEST_NAME} printable characters, not {shown(text)}")
    return text


def _bot(text: str) -> str:
    address = _address(text)
    if not address.is_bot or address.place != text:
        raise mistake(f"no bot has such a name: {shown(text)}")
    return text


def _url(text: str) -> str:
    if "#" in text:
        raise mistake('the dialect is a field of its own, as in dialect = "dresden"')
    address = _address(text)
    if address.is_bot or address.name:
        raise mistake(f"neither http://host:port nor host:port: {shown(text)}")
    return address.place


def _setting(value: object) -> bool | int | float | str:
    if isinstance(value, bool | int | str) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    raise mistake(f"a setting is text, a number, true or false, not {shown(value)}")


Word: TypeAlias = Annotated[str, AfterValidator(_word)]
PlayerName: TypeAlias = Annotated[str, AfterValidator(_player_name)]
Bot: TypeAlias = Annotated[str, AfterValidator(_bot)]
Url: TypeAlias = Annotated[str, AfterValidator(_url)]
Setting: TypeAlias = Annotated[bool | int | float | str, PlainValidator(_setting)]
AtATime: TypeAlias = Annotated[int, Field(ge=1, le=MOST_AT_A_TIME)]
Chance: TypeAlias = Annotated[float, Field(gt=0, lt=0.5)]
Elo: TypeAlias = Annotated[float, Field(ge=-2000, le=2000, allow_inf_nan=False)]


class _Part(BaseModel):
    """`spec_text` writes the description of a field after its value."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _declared(name: str, *, is_optional: bool = False) -> Any:  # noqa: ANN401 - a field of any type
    """A setting of a match as a field here, with its default and description."""
    setting = _OF_A_MATCH[name]
    about = setting.about.text + (f", in {setting.about.unit}" if setting.about.unit else "")
    return Field(
        None if is_optional else setting.default,
        description=f"{about}: {setting.shown_range}" if setting.choices else about,
    )


class MatchSpec(_Part):
    """Those settings of `MatchSettings` that a tournament chooses for all its matches."""

    startclock: Clock = _declared("startclock")
    playclock: Clock = _declared("playclock")
    grace: Seconds = _declared("grace")
    scramble: bool = _declared("scramble")
    replacement: Replacement = _declared("replacement")
    max_steps: Steps = _declared("max_steps")
    rules_wait: RulesWait = _declared("rules_wait")
    forfeit_after: FaultsInARow = _declared("forfeit_after")
    resign_steps: EvaluatedSteps = _declared("resign_steps")
    resign_value: GoalValue = _declared("resign_value")
    draw_steps: EvaluatedSteps = _declared("draw_steps")
    draw_value: GoalValue = _declared("draw_value")
    draw_from: EvaluatedSteps = _declared("draw_from")


class MatchOverrides(_Part):
    """The same for one game; None is as for all."""

    startclock: Clock | None = _declared("startclock", is_optional=True)
    playclock: Clock | None = _declared("playclock", is_optional=True)
    grace: Seconds | None = _declared("grace", is_optional=True)
    scramble: bool | None = _declared("scramble", is_optional=True)
    replacement: Replacement | None = _declared("replacement", is_optional=True)
    max_steps: Steps | None = _declared("max_steps", is_optional=True)
    rules_wait: RulesWait | None = _declared("rules_wait", is_optional=True)
    forfeit_after: FaultsInARow | None = _declared("forfeit_after", is_optional=True)
    resign_steps: EvaluatedSteps | None = _declared("resign_steps", is_optional=True)
    resign_value: GoalValue | None = _declared("resign_value", is_optional=True)
    draw_steps: EvaluatedSteps | None = _declared("draw_steps", is_optional=True)
    draw_value: GoalValue | None = _declared("draw_value", is_optional=True)
    draw_from: EvaluatedSteps | None = _declared("draw_from", is_optional=True)


class GameSpec(_Part):
    """A game; its name is never empty: where none was given it is that of the rulesheet."""

    rules: str = Field(min_length=1, description="a shipped game by its name, or a rulesheet file")
    name: Word = Field("", description="instead of that of the rules")
    openings: str = Field("", description="a file with moves, one opening a line; not set: the rules' own state")
    match: MatchOverrides = MatchOverrides()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:  # noqa: ANN401 - what a file says may be anything
        rules = given.get("rules") if isinstance(given, Mapping) else None
        if isinstance(rules, str) and given.get("name", "") == "":
            return {**given, "name": game_name(rules)}
        return given


class PlayerSpec(_Part):
    """A player: a bot that is started here, or an external program or a human at a URL."""

    name: PlayerName = Field("", description="in tables and reports")
    bot: Bot | None = Field(None, description="mcts, random, legal, montecarlo or FILE.py:NAME, started here")
    url: Url | None = Field(None, description="in place of bot: a player that is running somewhere")
    human: bool = Field(False, description="the player at the URL is a human")
    dialect: Annotated[Dialect, Field(strict=False)] = Field(Dialect.GGP_BASE, description="or dresden")
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)] = Field(1, description="processors of a bot while it thinks")
    settings: dict[str, Setting] = Field({}, description="of a bot, as in its settings file")

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:  # noqa: ANN401 - what a file says may be anything
        if not isinstance(given, Mapping):
            return given
        name = _name_of(given.get("bot"), given.get("url"))
        filled = {**given, "name": name} if name and given.get("name", "") == "" else dict(given)
        settings = given.get("settings")
        if isinstance(settings, Mapping) and isinstance(settings.get("threads"), int):
            filled.setdefault("threads", settings["threads"])
        return filled

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.bot is None) == (self.url is None):
            problem = "neither bot nor url is given" if self.bot is None else "both bot and url are given"
            wrong((), f"{problem}; a player has exactly one of them")
        if self.url is None and (self.human or self.dialect != Dialect.GGP_BASE):
            wrong(("human" if self.human else "dialect",), "only a player with a url has it")
        if self.bot is None and (self.settings or self.threads != 1):
            wrong(("settings" if self.settings else "threads",), "only a bot has it; a url is started by others")
        for name in _OF_THE_TOURNAMENT:
            if name in self.settings:
                wrong(("settings", name), "it follows from the tournament and cannot be set")
        if self.settings.get("threads", self.threads) != self.threads:
            wrong(("threads",), f"{self.threads}, but settings.threads is {self.settings['threads']}")
        return self

    @property
    def processors(self) -> int:
        """That it takes while it thinks; none of an external player, or a bot that does not think."""
        return 0 if self.bot is None or self.bot in THOUGHTLESS else self.threads

    @property
    def address(self) -> PlayerAddress:
        """Where the player is to be found."""
        if self.bot is not None:
            return PlayerAddress(self.name, self.bot, is_bot=True)
        assert self.url is not None
        return PlayerAddress(self.name, self.url, is_bot=False, dialect=self.dialect)


class LimitsSpec(_Part):
    """How much is done at a time."""

    matches: AtATime | None = Field(None, description="at a time; not set: as many as the processors allow")
    processors: AtATime | None = Field(None, description="for players; not set: all of this computer")
    per_host: AtATime = Field(1, description="matches at a time for all external players of one host")
    per_player: AtATime = Field(1, description="matches at a time for an external player")
    rest: Seconds = Field(0.0, description="of an external player between two matches, in seconds")
    available_wait: Seconds = Field(
        30.0, description="for an external player to be available before a match, in seconds at most"
    )
    attempts: AtATime = Field(3, description="of a match with a player that cannot be reached, until it counts as void")
    pin: bool = Field(True, description="keep bots to their own processors where the system can")


class ResultsSpec(_Part):
    """Where results go; both are absolute once a specification has been read."""

    store: str = Field("", description="an SQLite file, or the URL of a database; not set: NAME.sqlite")
    folder: str = Field("", description="for reports and exports; not set: none are written unasked")


class SprtSpec(_Part):
    """A sequential test whether the first player is stronger than the second by elo1 rather than by elo0."""

    elo0: Elo = Field(description="of the first player above the second, if it is no better")
    elo1: Elo = Field(description="the same, if it is better")
    alpha: Chance = Field(0.05, description="chance to accept elo1 though elo0 holds")
    beta: Chance = Field(0.05, description="chance to accept elo0 though elo1 holds")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.elo0 >= self.elo1:
            wrong(("elo1",), f"it must be greater than elo0, which is {self.elo0:g}")
        return self


class TournamentSpec(_Part):
    """A tournament; with the same results so far it always has the same schedule."""

    name: Word = Field(description="of the tournament: one word")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="decides all chance")
    format: Format = Field("round robin", description="or gauntlet, swiss, knock-out")
    rounds: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1, description="in each, those who meet play every game with every assignment of roles"
    )
    best_of: Annotated[int, Field(ge=1, le=1001)] = Field(1, description="matches of a pairing in a knock-out")
    games: Annotated[tuple[GameSpec, ...], Field(strict=False, min_length=1)]
    players: Annotated[tuple[PlayerSpec, ...], Field(strict=False, min_length=1)]
    match: MatchSpec = MatchSpec()
    limits: LimitsSpec = LimitsSpec()
    results: ResultsSpec = ResultsSpec()
    sprt: SprtSpec | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _all_differ("games", "name", (game.name for game in self.games))
        _all_differ("players", "name", (player.name for player in self.players))
        _all_differ("players", "url", (player.url for player in self.players))
        count = len(self.players)
        if count < 2 and self.format != "round robin":
            wrong(("players",), f"a {self.format} takes at least two players")
        if self.format == "knock-out" and self.rounds != 1:
            wrong(("rounds",), "a knock-out has as many as it takes; best_of says how many matches a pairing has")
        if self.format != "knock-out" and self.best_of != 1:
            wrong(("best_of",), f"only a knock-out has it; the format is {self.format}")
        if self.sprt is not None and (count != 2 or self.format not in ("round robin", "gauntlet")):
            wrong(("sprt",), "it compares two players in a round robin" + (f", not {count}" if count != 2 else ""))
        return self

    def game(self, name: str) -> GameSpec:
        return next(game for game in self.games if game.name == name)

    def player(self, name: str) -> PlayerSpec:
        return next(player for player in self.players if player.name == name)

    def settings_of(self, game: str, seed: int) -> MatchSettings:
        """The settings of a match of a game; durations in seconds."""
        overrides = self.game(game).match.model_dump(exclude_none=True)
        return MatchSettings(**{**self.match.model_dump(), **overrides, "seed": seed})


def game_name(rules: str) -> str:
    """The name of a game that was given none: that of its rulesheet as one word."""
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(rules).stem).lstrip("-_").rstrip("-")
    return word[:LONGEST_NAME] or "game"


def mistake(message: str) -> PydanticCustomError:
    return PydanticCustomError("mistake", "{message}", {"message": message})


def wrong(place: tuple[str | int, ...], message: str) -> NoReturn:
    """Refuses the field at a place below the model that is being validated."""
    details = InitErrorDetails(type=mistake(message), loc=place, input=None)
    raise ValidationError.from_exception_data("specification", [details])


def shown(value: object) -> str:
    """A value that was given, as one short line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _address(text: str) -> PlayerAddress:
    try:
        return parse_player(text)
    except SettingsError as error:
        message = str(error).removeprefix(f"player {text!r}: ")
        raise mistake(message if repr(text) in message else f"{message}: {shown(text)}") from None


def _name_of(bot: object, url: object) -> str | None:
    if isinstance(bot, str):
        plugin = parse_plugin(bot)
        return (bot if plugin is None else plugin.name)[:LONGEST_NAME]
    return host_of(url)[:LONGEST_NAME] if isinstance(url, str) else None


def _all_differ(table: str, field: str, values: Iterable[str | None]) -> None:
    seen: Counter[str] = Counter()
    for number, value in enumerate(values):
        if value is not None:
            seen[value] += 1
            if seen[value] > 1:
                wrong((table, number, field), f"another one has it already: {shown(value)}")
