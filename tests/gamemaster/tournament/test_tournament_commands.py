"""The commands `ggp tournament …`, from the words of the user to the exit code; whole tournaments in real processes."""

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gamemaster.tournament.commands import add_commands
from gamemaster.tournament.console import COMMAND_VARIABLE, resume_command
from gamemaster.tournament.spec_files import read_spec
from gamemaster.tournament.store import open_store
from ggp.commands import make_app
from ggp.errors import GgpError
from ggp.protocol.messages import Abort, Start
from tests.gamemaster.lifeline import Lifeline
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, silent
from tests.gamemaster.test_commands import GGP, ggp_command, in_folder
from tests.gamemaster.tournament.events import rules

__all__ = ["in_folder"]

SPEC = """
name = "cup"
seed = 7
[[games]]
rules = "guessing.kif"
[[players]]
bot = "legal"
[[players]]
name = "other"
bot = "random"
[match]
startclock = 2
playclock = 2
[results]
store = "there/cup.sqlite"
"""


@pytest.fixture
def cup(in_folder: Path) -> Path:
    """A specification of two matches."""
    rules(in_folder, "guessing")
    path = in_folder / "cup.toml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def outcome(*words: str | Path) -> tuple[int, str]:
    """The exit code of `ggp tournament WORDS` in this process, and what it printed; of a mistake its text."""
    result = CliRunner().invoke(make_app(), ["tournament", *map(str, words)])
    if isinstance(result.exception, GgpError):
        return 2, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


MISTAKES = {
    "run": "either a FILE is needed, or both --games and --players",
    "run --games tictactoe": "either a FILE is needed, or both --games and --players",
    "run nosuch.toml": "nosuch.toml: No such file or directory",
    "run cup.toml --rounds 3": "--rounds: not together with a FILE, which says it",
    "run cup.toml --playclock 3": "--playclock: not together with a FILE",
    "run bad.toml": "bad.toml, line 3: seeed: there is no such field; the fields are ",
    "run --games nosuch --players legal,random": "--games: no game or file is called ",
    "run --games tictactoe --players legal": "--games: the game takes 2 players, and there is 1",
    "run --games tictactoe --players legal,random --format league": "--format: ",
    "run --games tictactoe --players legal,random --sprt elo0=1": "--sprt elo0=1: elo1",
    "run --games tictactoe --players legal,random --seed -1": "--seed: ",
    "run --games tictactoe --players legal,random --playclock 0": "--playclock: ",
    "status nosuch.toml": "nosuch.toml: No such file or directory",
    "status cup.toml": "cup was not begun yet: `ggp tournament run cup.toml` does it",
    "resume cup.toml": "cup was not begun yet: `ggp tournament run cup.toml` does it",
    "export cup.toml --to out": "cup was not begun yet",
    "resume postgresql://localhost:1/nosuch": "postgresql",
    "new cup.toml": "cup.toml: it exists already",
    "new other.toml --games nosuch": "--games: no game or file is called ",
    "new other.toml --games tictactow": "(did you mean tictactoe?)",
    "new other.toml --players mcts,randm": "player 'randm': no bot is called 'randm' (did you mean random?)",
    "new other.toml --players mcts": "--games: the game takes 2 players, and there is 1",
    "new a.b.toml": "a.b.toml: the tournament is called after the file, so --name is needed",
    "new other.toml --format best": "--format: input should be 'round robin'",
    "status record.json": "record.json: no specification and no store, but perhaps the record of a match: `ggp replay",
    "status empty.sqlite": "empty.sqlite: not a store of tournaments: it is empty",
    "export foreign.sqlite": "foreign.sqlite: not a store of tournaments: it is no database",
    "new nosuch/other.toml": "nosuch/other.toml: No such file or directory",
    "check nobot.toml": "nobot.toml, line 2: players[1].bot: no bot is called 'nosuch'; the bots are",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_gets_one_clear_line(words: str, cup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_text(SPEC.replace("seed = 7", "seeed = 7"), encoding="utf-8")
    Path("nobot.toml").write_text(
        'name = "nobot"\nplayers = [{name = "a", bot = "legal"}, {name = "b", bot = "nosuch"}]\n'
        '[[games]]\nrules = "guessing.kif"',
        encoding="utf-8",
    )
    Path("record.json").write_text('{"format": 1}', encoding="utf-8")
    Path("empty.sqlite").touch()
    Path("foreign.sqlite").write_text("what else", encoding="utf-8")
    assert ggp_command("tournament", *words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ggp: ")
    assert MISTAKES[words] in printed.err
    assert printed.err.count("\n") == 1
    assert not Path("there").exists()
    assert not Path("tournaments").exists()


def test_a_new_specification_is_one_to_check_and_run(in_folder: Path) -> None:
    words = "new my.toml --games tictactoe,connectfour --players legal,eve=random --rounds 3 --format gauntlet"
    assert outcome(*words.split()) == (0, "")
    spec = read_spec(Path("my.toml"))
    assert (spec.name, spec.rounds, spec.format) == ("my", 3, "gauntlet")
    assert [player.name for player in spec.players] == ["legal", "eve"]
    text = Path("my.toml").read_text(encoding="utf-8")
    assert "# pin = true" in text
    code, printed = outcome("check", "my.toml")
    assert code == 0
    assert printed.splitlines()[0] == "my: gauntlet, 2 players, 12 matches of tictactoe, connectfour"
    assert printed.splitlines()[2].startswith("  eve: random: starts within ")


def test_check_tells_of_a_player_that_does_not_answer(cup: Path) -> None:
    text = cup.read_text(encoding="utf-8") + '[[players]]\nname = "away"\nurl = "127.0.0.1:1"\n'
    cup.write_text(text, encoding="utf-8")
    code, printed = outcome("check", cup, "--json")
    assert code == 1
    told = json.loads(printed)
    assert (told["name"], told["matches"]) == ("cup", 6)
    assert [player["is_good"] for player in told["players"]] == [True, True, False]
    assert told["players"][2]["what"].startswith("does not answer: no connection: ")


# Whole tournaments, in processes of their own and in real time


def names_in(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def with_player(cup: Path, player: ScriptedPlayer) -> None:
    """Lets a player that has all the time take part in place of a bot."""
    text = cup.read_text(encoding="utf-8").replace('bot = "random"', f'url = "{player.url}"')
    cup.write_text(text.replace("playclock = 2", "playclock = 600"), encoding="utf-8")


async def until(event: asyncio.Event, process: asyncio.subprocess.Process) -> None:
    """Waits for something that happens while a process runs."""
    happened, ended = asyncio.create_task(event.wait()), asyncio.create_task(process.wait())
    await asyncio.wait({happened, ended}, timeout=120, return_when=asyncio.FIRST_COMPLETED)
    if not happened.done():
        if process.returncode is None:
            process.kill()
        pytest.fail(f"exit code {process.returncode}: {await process.communicate()}")
    ended.cancel()


async def finished(*words: str | Path) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(*GGP, "tournament", *map(str, words), stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def test_a_tournament_runs_once_and_is_shown_and_exported(cup: Path) -> None:
    code, printed = outcome("run", cup.name)
    assert code == 0
    lines = printed.splitlines()
    assert lines[0] == "cup: round robin, 2 players, guessing: 2 matches"
    assert [line[:5] for line in lines if line.startswith("[")] == ["[1/2]", "[2/2]"]
    assert "all matches have been played" in lines
    assert any(line.startswith("rank  player") for line in lines)
    assert "\x1b" not in printed
    with open_store("there/cup.sqlite") as store:
        results = store.results("cup")
        assert store.tournament("cup").status == "complete"

    assert outcome("run", cup.name) == (
        2,
        f"cup was begun already: {cup.parent}/there/cup.sqlite has 2 results; `ggp tournament resume cup.toml` goes on",
    )
    code, printed = outcome("status", "there/cup.sqlite")
    assert code == 0
    assert printed.startswith("cup: complete; 2 of 2 matches have results\n\nrank")
    code, printed = outcome("status", cup.name, "--json")
    told = json.loads(printed)
    assert (told["name"], told["status"], told["results"], told["expected"]) == ("cup", "complete", 2, 2)
    assert told["standings"]["matches"] == 2
    code, printed = outcome("export", cup.name, "--to", "out")
    assert (code, printed) == (0, "out: 2 matches written, 0 were there already\n")
    assert names_in("out/matches") == {f"{each.pairing.id}.json" for each in results}
    assert "report.html" in names_in("out")

    code, printed = outcome("run", cup.name, "--resume", "--json")
    assert code == 0
    assert json.loads(printed)["results"] == 2
    with open_store("there/cup.sqlite") as store:
        assert store.results("cup") == results


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_output_that_is_no_terminal_gets_lines(variable: str, cup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With these variables, which services of CI set, rich takes a pipe for a terminal."""
    monkeypatch.setenv(variable, "1")
    code, printed = outcome("run", cup.name)
    assert code == 0
    lines = printed.splitlines()
    assert lines[0] == "cup: round robin, 2 players, guessing: 2 matches"
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_tournament_in_one_line(in_folder: Path) -> None:
    path = rules(in_folder, "countdown")
    words = ["--games", path, "--players", "legal,eve=random", "--rounds", "1", "--playclock", "2", "--startclock", "2"]
    code, printed = outcome("run", *words, "--seed", "3", "--format", "round-robin", "--json")
    assert code == 0
    told = json.loads(printed)
    assert (told["name"], told["status"], told["results"]) == ("countdown", "complete", 2)
    assert told["store"] == str(in_folder / "tournaments/countdown.sqlite")
    assert "report.html" in names_in("tournaments/countdown")
    spec = read_spec(Path("tournaments/countdown.toml"))
    assert (spec.seed, spec.rounds, spec.match.playclock) == (3, 1, 2)
    code, message = outcome("run", *words, "--name", "countdown")
    assert (code, message.partition(":")[0]) == (2, "countdown was begun already")
    for name, earlier in (("countdown", ""), ("countdown-2", "countdown")):
        result = CliRunner().invoke(make_app(), ["tournament", "run", *map(str, words), "--results", "there", "--json"])
        assert result.exit_code == 0
        assert json.loads(result.stdout)["name"] == name
        again = f"ggp: there/{earlier}.toml was run before; this plays it again, as {name}."
        assert (again in result.stderr) == bool(earlier)
        assert (f"ggp tournament resume there/{earlier}.toml\n" in result.stderr) == bool(earlier)


def test_the_hint_in_a_container_is_what_works_outside(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "docker-compose run --rm tournament")
    assert resume_command("/containers/cup.toml") == (
        "docker-compose run --rm tournament tournament resume /containers/cup.toml"
    )
    monkeypatch.delenv(COMMAND_VARIABLE)
    assert resume_command("my cup.toml", "cup") == "ggp tournament resume 'my cup.toml' --name cup"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow)]
)
async def test_a_signal_in_mid_match_leaves_no_bot_and_it_goes_on(number: signal.Signals, code: int, cup: Path) -> None:
    reached = asyncio.Event()

    async def reach(exchange: Exchange) -> None:
        reached.set()
        await silent(exchange)

    async with ScriptedPlayer({1: reach}) as player:
        with_player(cup, player)
        process = await asyncio.create_subprocess_exec(*GGP, "tournament", "run", cup.name, stdout=PIPE, stderr=PIPE)
        await until(reached, process)
        with open_store("there/cup.sqlite") as store:
            first = player.told(Start)[0].match  # type: ignore[union-attr]
            record = store.record("cup", first)
        (url,) = (each.url for each in record.players.values() if each.bot)
        bot = await Lifeline.to(url)
        os.kill(process.pid, number)
        out, err = await process.communicate()
        await bot.has_ended()
        assert (process.returncode, err) == (code, b"")
        aborts = player.told(Abort)
        assert aborts == ([] if number is signal.SIGKILL else [Abort(first)])
        if number is not signal.SIGKILL:
            assert out.decode().endswith("0 matches have results; to go on: ggp tournament resume cup.toml\n")
        status, printed = outcome("status", cup.name)
        assert (status, printed.partition(";")[0]) == (0, "cup: interrupted")

        player.troubles = {}
        status, printed, complaint = await finished("resume", "there/cup.sqlite", "--json")
        assert (status, complaint) == (0, "")
        assert json.loads(printed)["results"] == 2
        assert player.told(Abort) == [Abort(first)]  # also where nobody could say so before
        names = [start.match for start in player.told(Start)]  # type: ignore[union-attr]
        assert names[:2] == [first, f"{first}-2"]


async def test_a_second_signal_waits_for_no_answer(cup: Path) -> None:
    reached, aborted = asyncio.Event(), asyncio.Event()

    async def reach(exchange: Exchange) -> None:
        reached.set()
        await silent(exchange)

    async def hear_abort(exchange: Exchange) -> None:
        aborted.set()
        await silent(exchange)

    async with ScriptedPlayer({0: reach, "abort": hear_abort}) as player:
        with_player(cup, player)
        process = await asyncio.create_subprocess_exec(*GGP, "tournament", "run", cup.name, stdout=PIPE, stderr=PIPE)
        await until(reached, process)
        process.send_signal(signal.SIGTERM)
        await until(aborted, process)
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, err) == (143, b"")
    assert b"0 matches have results" in out


def test_a_specification_that_changed_does_not_change_what_goes_on(
    cup: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there").mkdir()
    with open_store("there/cup.sqlite") as store:
        store.create(read_spec(cup))
    cup.write_text(SPEC.replace("seed = 7", "seed = 8").replace("[match]", "[limits]\npin = false\n[match]"), "utf-8")
    assert ggp_command("tournament", "resume", cup, "--json") == 0
    printed = capsys.readouterr()
    assert printed.err == f"ggp: {cup} has changed since the tournament began; it goes on as it was specified\n"
    assert json.loads(printed.out)["results"] == 2


def test_a_store_with_several_tournaments_asks_which(cup: Path) -> None:
    with open_store("store.sqlite") as store:
        store.create(read_spec(cup))
        assert outcome("status", "store.sqlite")[1].startswith("cup: new; 0 of 2 matches")
        store.create(read_spec(cup).model_copy(update={"name": "league"}))
    assert outcome("status", "store.sqlite") == (2, "store.sqlite: --name says which: there are cup, league")
    assert outcome("status", "store.sqlite", "--name", "league")[1].startswith("league: new; 0 of 2 matches")
    assert outcome("status", "store.sqlite", "--name", "x")[0] == 2
    assert outcome("status", cup, "--name", "league")[0] == 2


def test_commands_explain_themselves() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    for command in ("new", "check", "run", "status", "resume", "export"):
        result = CliRunner().invoke(app, ["tournament", command, "--help"], env={"COLUMNS": "200"})
        assert result.exit_code == 0
