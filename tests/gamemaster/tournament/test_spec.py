"""Specifications: what a file says, what is refused and where, and TOML that reads back the same."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gamemaster.player import PlayerAddress
from gamemaster.settings import MatchSettings
from gamemaster.tournament.spec import (
    GameSpec,
    LimitsSpec,
    MatchSpec,
    PlayerSpec,
    ResultsSpec,
    SprtSpec,
    TournamentSpec,
)
from gamemaster.tournament.spec_files import check_spec, parse_spec, placed, read_spec, spec_text
from gamemaster.tournament.spec_options import new_spec, parse_sprt
from ggp.errors import SettingsError
from ggp.protocol.messages import Dialect
from tests.gamemaster import games

BASE = Path("/folder")
SMALL = """\
name = "small"

[[games]]
rules = "breakthrough"

[[players]]
bot = "random"

[[players]]
name = "far"
url = "192.0.2.7:80"
dialect = "dresden"
"""
WHOLE = """\
name = "whole"
seed = 5
format = "round robin"
rounds = 3
games = [{rules = "breakthrough"}, {rules = "rules/mine.kif", name = "own", match = {playclock = 7, scramble = false}}]

[match]
startclock = 20
grace = 2
scramble = true
replacement = "first"

[[players]]
name = "Thinker"
bot = "mcts"
[players.settings]
threads = 2
exploration = 0.5
ponder = false

[[players]]
name = "Anna Ü."
url = "http://localhost:8080/seat"
human = true

[limits]
matches = 3
per_host = 2
pin = false

[results]
store = "postgresql+psycopg://somewhere/event"
folder = "report"

[sprt]
elo0 = 0
elo1 = 20.5
"""


def parsed(text: str) -> TournamentSpec:
    return parse_spec(text, "event.toml", BASE)


def test_what_is_not_said_is_as_usual() -> None:
    spec = parsed(SMALL)
    assert (spec.seed, spec.format, spec.rounds, spec.best_of, spec.sprt) == (0, "round robin", 1, 1, None)
    assert [game.name for game in spec.games] == ["breakthrough"]
    assert [player.address for player in spec.players] == [
        PlayerAddress("random", "random", is_bot=True),
        PlayerAddress("far", "http://192.0.2.7:80/", is_bot=False, dialect=Dialect.DRESDEN),
    ]
    assert spec.results.store == "/folder/small.sqlite"
    assert spec.results.folder == ""
    assert spec.settings_of("breakthrough", 3) == MatchSettings(seed=3)


def test_a_player_without_a_name_is_called_after_its_host() -> None:
    text = SMALL + '[[players]]\nurl = "http://ann:word@192.0.2.8:9147/secret/"\n'
    assert parsed(text).players[-1].name == "192.0.2.8:9147"


def test_everything_can_be_said() -> None:
    spec = parsed(WHOLE)
    assert [game.rules for game in spec.games] == ["breakthrough", "/folder/rules/mine.kif"]
    own = spec.settings_of("own", 1)
    assert (own.startclock, own.playclock, own.grace, own.scramble, own.replacement) == (20, 7, 2.0, False, "first")
    assert spec.settings_of("breakthrough", 1).scramble
    assert spec.player("Thinker").threads == 2
    assert spec.player("Thinker").settings == {"threads": 2, "exploration": 0.5, "ponder": False}
    assert spec.player("Anna Ü.").human
    assert spec.results.store == "postgresql+psycopg://somewhere/event"
    assert spec.results.folder == "/folder/report"
    assert spec.sprt == SprtSpec(elo0=0, elo1=20.5)
    assert TournamentSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_file_is_read_with_paths_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "event.toml").write_bytes(b"\xef\xbb\xbf" + SMALL.encode())  # as some editors begin a text
    monkeypatch.chdir(tmp_path)
    assert read_spec(Path("event.toml")).results.store == str(tmp_path / "small.sqlite")


def with_(change: str) -> str:
    """A small specification; NAME = VALUE stands in line 2, what is to follow a table after a blank line at the end."""
    return SMALL.replace("\n\n", f"\n{change}\n", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_("rounds = 0"), "event.toml, line 2: rounds: input should be greater than or equal to 1, not 0"),
        (with_("rounds = 2.0"), "event.toml, line 2: rounds: input should be a valid integer, not 2.0"),
        (with_("seed = -1"), "event.toml, line 2: seed: input should be greater than or equal to 0, not -1"),
        (
            with_("seed = 9223372036854775808"),
            "event.toml, line 2: seed: input should be less than 9223372036854775808",
        ),
        (with_("format = 'cup'"), "event.toml, line 2: format: input should be 'round robin', 'gauntlet', 'swiss' or"),
        (with_("format = 'knock-out'\nrounds = 2"), "event.toml, line 3: rounds: a knock-out has as many as it takes"),
        (with_("best_of = 3"), "event.toml, line 2: best_of: only a knock-out has it; the format is round robin"),
        (
            with_("round = 1"),
            "event.toml, line 2: round: there is no such field; the fields are name, seed, format, rounds, best_of, ",
        ),
        (with_("match = 3"), "event.toml, line 2: match: a table is expected, not 3"),
        (with_("match.playclock = 0"), "event.toml, line 2: match.playclock: input should be greater than or equal"),
        (
            with_("[match]\nplayclok = 5"),
            "event.toml, line 3: match.playclok: there is no such field; the fields are s",
        ),
        (with_("[limits]\n\n# few\nper_host = 0"), "event.toml, line 5: limits.per_host: input should be greater"),
        (with_("[limits]\nmatches = true"), "event.toml, line 3: limits.matches: input should be a valid integer"),
        (with_("[results]\nstore = 1979-05-27"), "event.toml, line 3: results.store: input should be a valid string"),
        (
            with_("[sprt]\nelo0 = 5\nelo1 = 5"),
            "event.toml, line 4: sprt.elo1: it must be greater than elo0, which is 5",
        ),
        (with_("[sprt]\nelo0 = 5"), "event.toml, line 2: sprt.elo1: it is missing"),
        (with_("[sprt]\nelo0 = inf\nelo1 = 1"), "event.toml, line 3: sprt.elo0: input should be "),
        (SMALL[: SMALL.index("[[players")], "event.toml, line 1: players: it is missing"),
        (SMALL + "name = 'b'\n", "event.toml, line 13, column 11: cannot overwrite a value"),
        (SMALL + "name = 'b'", "event.toml, line 13: cannot overwrite a value, at the end"),
        ("name = \nseed", "event.toml, line 1, column 8: invalid value"),
        ("\nname = ", "event.toml, line 2: invalid value, at the end"),
        (
            "players = 3\n" + SMALL[: SMALL.index("[[players")],
            "event.toml, line 1: players: an array is expected, not 3",
        ),
        ("players = []\n" + SMALL[: SMALL.index("[[players")], "event.toml, line 1: players: there is none, and at le"),
        (SMALL.replace('"small"', '"a b"'), "event.toml, line 1: name: a name is one word of at most 60 letters, digi"),
        (SMALL.replace('"small"', '"-x"'), "event.toml, line 1: name: a name is one word"),
        (SMALL.replace('"small"', f'"{"x" * 61}"'), "event.toml, line 1: name: a name is one word"),
    ],
)
def test_a_mistake_is_told_in_a_line_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("", "line 14: players[2]: neither bot nor url is given; a player has exactly one of them"),
        ("bot = 'mcts'\nurl = 'host:1'", "line 14: players[2]: both bot and url are given"),
        ("bot = 'random'", "line 14: players[2].name: another one has it already: 'random'"),
        (
            "name = 'b'\nurl = 'http://192.0.2.7:80'",
            "line 16: players[2].url: another one has it already: 'http://192.0",
        ),
        ("bot = 'a b'", "line 15: players[2].bot: neither http://host:port nor host:port nor the name of a bot: 'a b'"),
        ("bot = 'host:1'", "line 15: players[2].bot: no bot has such a name: 'host:1'"),
        ("bot = 'x=mcts'", "line 15: players[2].bot: no bot has such a name: 'x=mcts'"),
        ("url = 'mcts'", "line 15: players[2].url: neither http://host:port nor host:port: 'mcts'"),
        ("url = 'x=host:1'", "line 15: players[2].url: neither http://host:port nor host:port: 'x=host:1'"),
        ("url = 'https://host'", "line 15: players[2].url: neither http://host:port nor host:port nor the name of a"),
        ("url = 'host:1#dresden'", 'line 15: players[2].url: the dialect is a field of its own, as in dialect = "dre'),
        ("url = 'host:99999'", "line 15: players[2].url: Port out of range 0-65535: 'host:99999'"),
        ("url = 5", "line 15: players[2].url: input should be a valid string, not 5"),
        ("name = 'b'\nbot = 'mcts'\nhuman = true", "line 17: players[2].human: only a player with a url has it"),
        ("bot = 'mcts'\ndialect = 'dresden'", "line 16: players[2].dialect: only a player with a url has it"),
        ("url = 'h:1'\ndialect = 'x'", "line 16: players[2].dialect: input should be 'ggp-base' or 'dresden', not 'x'"),
        ("url = 'h:1'\nthreads = 2", "line 16: players[2].threads: only a bot has it; a url is started by others"),
        ("url = 'h:1'\nsettings.memory = 2", "line 16: players[2].settings: only a bot has it"),
        ("bot = 'mcts'\nthreads = 0", "line 16: players[2].threads: input should be greater than or equal to 1"),
        (
            "bot = 'mcts'\nthreads = 1\nsettings.threads = 2",
            "line 16: players[2].threads: 1, but settings.threads is 2",
        ),
        ("bot = 'mcts'\n[players.settings]\nseed = 1", "line 17: players[2].settings.seed: it follows from the tourna"),
        ("bot = 'mcts'\nsettings = {a = 1, b = [1]}", "line 16: players[2].settings.b: a setting is text, a number, t"),
        ("bot = 'mcts'\nsettings = {'a b' = nan}", "line 16: players[2].settings.a b: a setting is text, a number, "),
        ("bot = 'mcts'\nname = ''' '''", "line 16: players[2].name: a name is one line of at most 60 printable char"),
        (
            "bot = 'mcts'\nname = 'x\u202ey'",
            "line 16: players[2].name: a name is one line of at most 60 printable char",
        ),
        ("bot = 'mcts'\nname = 7", "line 16: players[2].name: input should be a valid string, not 7"),
    ],
)
def test_a_player_that_is_none_is_refused(player: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(f"{SMALL}\n[[players]]\n{player}\n")
    assert str(caught.value).startswith(f"event.toml, {message}")


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("rules = ''", "line 15: games[1].rules: string should have at least 1 character"),
        ("rules = 'breakthrough'", "line 14: games[1].name: another one has it already: 'breakthrough'"),
        ("name = 'x'", "line 14: games[1].rules: it is missing"),
        ("rules = 'x'\nname = 'x y'", "line 16: games[1].name: a name is one word"),
        ("rules = 'x'\n[games.match]\nstartclock = 0", "line 17: games[1].match.startclock: input should be greater"),
        ("rules = 'x'\nmatch = {clock = 1}", "line 16: games[1].match.clock: there is no such field; the fields are s"),
        (
            "rules = 'x'\nclock = 1",
            "line 16: games[1].clock: there is no such field; the fields are rules, name, openings, match",
        ),
    ],
)
def test_a_game_that_is_none_is_refused(game: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(f"{SMALL}\n[[games]]\n{game}\n")
    assert str(caught.value).startswith(f"event.toml, {message}")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sprt": {"elo0": 0, "elo1": 1}, "players": 3}, "sprt: it compares two players in a round robin, not 3"),
        ({"sprt": {"elo0": 0, "elo1": 1}, "format": "swiss"}, "sprt: it compares two players in a round robin"),
        ({"players": 1, "format": "gauntlet"}, "players: a gauntlet takes at least two players"),
        ({"players": 1, "format": "swiss"}, "players: a swiss takes at least two players"),
        ({"players": 1, "format": "knock-out"}, "players: a knock-out takes at least two players"),
    ],
)
def test_a_format_wants_enough_players(fields: dict[str, Any], message: str) -> None:
    players = ["random"] * fields.pop("players", 2)
    with pytest.raises(SettingsError, match=f"^--{message}$"):
        new_spec(["breakthrough"], players, BASE, **fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, r"No such file"), (b"name = '\xff'", "not a text in UTF-8"), (b"x = " + b"[" * 5000, "nested too deeply")],
)
def test_a_file_that_cannot_be_read_is_told(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "event.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=rf"event\.toml: {message}"):
        read_spec(path)
    with pytest.raises(SettingsError, match="directory"):
        read_spec(tmp_path)


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,10}", fullmatch=True)
LINES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
SETTINGS = st.dictionaries(
    LINES.filter(lambda name: name not in ("name", "seed", "threads")),
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | LINES,
    max_size=3,
)
BOTS = st.builds(
    lambda threads, options: {"bot": "mcts", "threads": threads, "settings": options}, st.integers(1, 9), SETTINGS
)
URLS = st.builds(
    lambda port, dialect, person: {"url": f"host:{port}", "dialect": dialect, "human": person},
    st.integers(1, 60_000),
    st.sampled_from(["ggp-base", "dresden"]),
    st.booleans(),
)
RULES = st.sampled_from(["breakthrough", "a.kif", "./breakthrough", 'rules/ä "b"\\n.kif', "/elsewhere/x y.kif", "../z"])
MATCHES = st.fixed_dictionaries(
    {},
    optional={
        "startclock": st.integers(1, 86_400),
        "playclock": st.integers(1, 86_400),
        "grace": st.floats(0, 3600),
        "scramble": st.booleans(),
        "replacement": st.sampled_from(["random", "first"]),
        "max_steps": st.integers(1, 1_000_000),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(
        st.lists(LINES.map(str.strip).filter(str.isprintable).filter(bool), min_size=2, max_size=4, unique=True)
    )
    rules = draw(st.lists(RULES, min_size=1, max_size=3))
    players = [{"name": name, **draw(BOTS | URLS)} for name in names]
    urls = [player["url"] for player in players if "url" in player]
    format_ = draw(st.sampled_from(["round robin", "gauntlet", "swiss", "knock-out"]))
    return {
        "name": draw(NAMES),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "format": format_,
        "rounds": 1 if format_ == "knock-out" else draw(st.integers(1, 99)),
        "best_of": draw(st.integers(1, 9)) if format_ == "knock-out" else 1,
        "games": [{"rules": text, "name": f"g{number}", "match": draw(MATCHES)} for number, text in enumerate(rules)],
        "players": [player for player in players if urls.count(player.get("url", "")) <= 1] or [{"bot": "random"}],
        "match": draw(MATCHES),
        "limits": draw(st.fixed_dictionaries({}, optional={"matches": st.integers(1, 99), "pin": st.booleans()})),
        "results": draw(
            st.fixed_dictionaries(
                {},
                optional={"store": LINES | st.just("postgresql://h/x"), "folder": st.sampled_from(["f", "/f", "ü/x"])},
            )
        ),
    }


@settings(max_examples=60)
@given(document=documents(), commented=st.booleans())
def test_a_specification_reads_back_from_its_text(document: dict[str, Any], commented: bool) -> None:
    assume(len(document["players"]) > 1 or document["format"] == "round robin")
    spec = placed(TournamentSpec.model_validate(document), BASE)
    assert parse_spec(spec_text(spec, BASE, commented=commented), "event.toml", BASE) == spec
    assert parse_spec(spec_text(spec, commented=commented), "event.toml", Path("/elsewhere")) == spec
    assert TournamentSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_commented_text_says_everything() -> None:
    text = spec_text(parsed(SMALL), BASE, commented=True)
    for model in (TournamentSpec, GameSpec, PlayerSpec, MatchSpec, LimitsSpec, ResultsSpec, SprtSpec):
        for name, field in model.model_fields.items():
            if field.description is not None:
                assert f"{name} = " in text, name
                assert f"# {field.description}" in text, name
    examples = [line for line in text.splitlines() if " = " in line and line.startswith("# ")]
    assert len(examples) > 20
    for example in examples:
        if not example.startswith("# url"):  # in place of a bot
            text = text.replace(example, example[2:])
    assert parsed(text.replace("# [sprt]", "[sprt]")).sprt == SprtSpec(elo0=0, elo1=20)


def test_a_new_specification_names_everybody() -> None:
    far = ["192.0.2.7:80#dresden", "http://ann:word@192.0.2.7/secret/", "http://192.0.2.7/other"]
    players = ["random", "random", "x=legal", "random-2=mcts", *far]
    spec = new_spec(["breakthrough", " connectfour", "breakthrough"], players, BASE, rounds=3, format="swiss")
    assert spec.name == "breakthrough-connectfour"
    assert [(game.rules, game.name) for game in spec.games] == [
        ("breakthrough", "breakthrough"),
        ("connectfour", "connectfour"),
        ("breakthrough", "breakthrough-2"),
    ]
    assert [player.name for player in spec.players] == [
        "random", "random-3", "x", "random-2", "192.0.2.7:80", "192.0.2.7:9147", "192.0.2.7:9147-2",
    ]  # fmt: skip
    assert [player.bot for player in spec.players] == ["random", "random", "legal", "mcts", None, None, None]
    assert spec.players[4].dialect == Dialect.DRESDEN
    assert (spec.rounds, spec.format) == (3, "swiss")
    assert spec.results.store == "/folder/breakthrough-connectfour.sqlite"


def test_a_new_specification_draws_its_seed_and_takes_rules_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = (new_spec(["a/b.kif"], ["random"], BASE) for _ in range(2))
    assert one.seed != other.seed
    assert one.games[0].rules == str(tmp_path / "a/b.kif")
    assert one.games[0].name == "b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": ["a b"]}, "player 'a b': neither"),
        ({"players": ["host:1", "host:1"]}, "--players: another one has it already: 'http://host:1/'"),
        ({"players": ["x=legal", "x=host:1"]}, "--players: another one has it already: 'x'"),
        ({"players": ["legal", "legal=host:1"]}, "--players: another one has it already: 'legal'"),
        ({"players": []}, "--players: there is none, and at least one is"),
        ({"games": []}, "--games: there is none, and at least one is"),
        ({"games": [""]}, "--games: string should have at least 1 character"),
        ({"rounds": 0}, "--rounds: input should be greater than or equal to 1, not 0"),
        ({"best_of": 0}, "--best-of: input should be greater than or equal to 1, not 0"),
        ({"name": "a b"}, "--name: a name is one word"),
        ({"match": {"playclock": 0}}, "--playclock: input should be greater than or equal to 1, not 0"),
    ],
)
def test_a_new_specification_is_refused_by_the_name_of_the_option(arguments: dict[str, Any], message: str) -> None:
    given_ = {"games": ["breakthrough"], "players": ["random", "legal"], "base": BASE, **arguments}
    with pytest.raises(SettingsError) as caught:
        new_spec(**given_)
    assert str(caught.value).startswith(message)


def test_an_sprt_is_read() -> None:
    assert parse_sprt("elo0=-2.5, elo1=20") == SprtSpec(elo0=-2.5, elo1=20)
    assert parse_sprt("elo1=20,elo0=0,alpha=0.1,beta=0.01") == SprtSpec(elo0=0, elo1=20, alpha=0.1, beta=0.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--sprt : '' is no NAME=NUMBER"),
        ("elo0=0,elo1=x", "--sprt elo0=0,elo1=x: 'elo1=x' is no NAME=NUMBER"),
        ("elo0=0,elo1", "--sprt elo0=0,elo1: 'elo1' is no NAME=NUMBER"),
        ("elo0=0,elo2=1", "--sprt elo0=0,elo2=1: elo2: there is no such field; the fields are elo0, elo1, alpha, beta"),
        ("elo0=0", "--sprt elo0=0: elo1: it is missing"),
        ("elo0=3,elo1=2", "--sprt elo0=3,elo1=2: elo1: it must be greater than elo0, which is 3"),
        ("elo0=0,elo1=2,beta=0.5", "--sprt elo0=0,elo1=2,beta=0.5: beta: input should be less than 0.5, not 0.5"),
        ("elo0=0,elo1=nan", "--sprt elo0=0,elo1=nan: elo1: input should be a finite number, not nan"),
    ],
)
def test_an_sprt_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_sprt(text)
    assert str(caught.value) == message


THREE = games.GUESSING.replace("(role", "(role third) (role", 1)


def event(tmp_path: Path, rules: str, head: str = "") -> Path:
    (tmp_path / "rules.kif").write_text(rules, encoding="utf-8")
    path = tmp_path / "event.toml"
    path.write_text(f"{head}\n{SMALL.replace('breakthrough', 'rules.kif')}", encoding="utf-8")
    return path


@pytest.mark.parametrize(("rules", "count"), [(games.COUNTDOWN, 1), (games.GUESSING, 2), (games.DICE, 1)])
def test_a_game_takes_as_many_players_as_its_rules_say(rules: str, count: int, tmp_path: Path) -> None:
    path = event(tmp_path, rules)
    assert check_spec(read_spec(path), path) == {"rules": count}


@pytest.mark.parametrize(
    ("rules", "head", "message"),
    [
        ("(role", "", "rules.kif:1:1: "),
        (
            "(role random) (init a) (legal random b) (<= terminal (true c)) (goal random 1)",
            "",
            "the game takes no players",
        ),
        (games.COUNTDOWN, "format = 'swiss'", "a swiss takes games for two players, and this one takes 1"),
        (games.COUNTDOWN, "format = 'knock-out'", "a knock-out takes games for two players, and this one takes 1"),
        (games.COUNTDOWN, "sprt = {elo0 = 0, elo1 = 1}", "an SPRT takes games for two players, and this one takes 1"),
        (THREE, "", "the game takes 3 players, and there are 2"),
    ],
)
def test_a_game_that_does_not_suit_is_told_with_its_line(rules: str, head: str, message: str, tmp_path: Path) -> None:
    path = event(tmp_path, rules, head)
    spec = read_spec(path)
    with pytest.raises(SettingsError) as caught:
        check_spec(spec, path)
    assert str(caught.value).startswith(f"{path}, line 5: games[0].rules: ")
    assert message in str(caught.value)
    with pytest.raises(SettingsError, match=r"^games\[0\]\.rules: "):
        check_spec(spec)


def test_a_game_that_is_not_there_is_told_even_when_the_file_is_gone_too(tmp_path: Path) -> None:
    path = event(tmp_path, games.COUNTDOWN)
    spec = read_spec(path)
    (tmp_path / "rules.kif").unlink()
    with pytest.raises(
        SettingsError, match=r"event\.toml, line 5: games\[0\]\.rules: no game or file is called .*/rules"
    ):
        check_spec(spec, path)
    path.unlink()
    with pytest.raises(SettingsError, match=r"event\.toml: games\[0\]\.rules: no game or file is called"):
        check_spec(spec, path)


def test_the_example_of_the_documents_is_one() -> None:
    text = (Path(__file__).parents[3] / "docs" / "tournaments.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"(?m)(?:^(?: {4}.*)?\n)+", text) if "[[players]]" in block]
    assert len(blocks) == 1
    spec = parsed(textwrap.dedent(blocks[0]))
    assert [player.name for player in spec.players] == ["mcts", "guest"]
    assert spec.settings_of("mine", 1).playclock == 10
