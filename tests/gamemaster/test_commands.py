"""The commands `ggp match` and `ggp replay`, from the words of the user to the exit code."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import ggp
from gamemaster.record import MatchRecord, read_record
from gamemaster.replay import replay
from ggp.commands import main
from ggp.protocol.messages import Abort
from tests.gamemaster import games
from tests.gamemaster.lifeline import Lifeline
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, says, silent

STARTING = "ggp: waiting for the players to start\n"  # on standard error, where standard output is a pipe
GGP = [sys.executable, "-c", "from ggp.commands import main; main()"]


def ggp_command(*words: str | Path) -> int:
    """The exit code of `ggp WORDS`."""
    sys.argv = ["ggp", *map(str, words)]
    with pytest.raises(SystemExit) as exited:
        main()
    return int(exited.value.code or 0)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    return tmp_path


@pytest.fixture
def record(in_folder: Path) -> MatchRecord:
    """Tic-tac-toe with an illegal answer in step 0; the file is `record.json`."""
    players = {"xplayer": ScriptedPlayer({0: says("(fly)")}), "oplayer": ScriptedPlayer()}
    return play_match(ggp.load("tictactoe"), players, in_folder)


MISTAKES = {
    "match tictactoe random": "tictactoe takes 2 players (xplayer, oplayer), not 1",
    "match tictactoe random random random": "tictactoe takes 2 players (xplayer, oplayer), not 3",
    "match nosuch random random": "no game or file is called 'nosuch'",
    "match tictactoe random ftp://x": "player 'ftp://x': neither http://host:port nor host:port nor the name of a bot",
    "match tictactoe x:1 x:1": "the player at http://x:1/ cannot take two roles of one match",
    "match tictactoe bob=legal bob=x:1": "player of oplayer: a bot of the match is called 'bob' already",
    "match tictactoe x:1 x:2 --playclock 0": "'--playclock': Input should be greater than or equal to 1",
    "match tictactoe x:1 x:2 --grace nan": "'--grace': Input should be less than or equal to 3600",
    "match tictactoe x:1 x:2 --max-steps 0": "'--max-steps': Input should be greater than or equal to 1",
    "match tictactoe x:1 x:2 --replacement best": "'best' is not one of 'random', 'first'",
    "match tictactoe x:1 x:2 --record nosuch/record.json": "nosuch/record.json: the record cannot be written: No such",
    "match dice.kif x:1 --record dice.kif": "dice.kif: it exists and is no match record, so --record does not",
    "match tictactoe x:1 bob=randm": "no bot is called 'randm' (did you mean random?)",
    "match tictactoe x:1 nosuch": "player 'nosuch': no bot is called 'nosuch'; the bots are mcts, ",
    "match bad.kif x:1 x:2": "bad.kif:1:1: '(' is never closed",
    "match dice.kif x:1 x:2": "dice takes 1 player (gambler), not 2",
    "match tictactoe legal legal --opening (mark": "opening: '(' is never closed",
    "match tictactoe legal legal --opening noop": "noop is not legal for xplayer",
    "replay nosuch.json": "nosuch.json: No such file or directory",
    "replay .": "Is a directory",
    "replay bad.kif": "bad.kif: Invalid JSON",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_gets_one_clear_line(words: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_folder / "bad.kif").write_text("(role x", encoding="utf-8")
    (in_folder / "dice.kif").write_text(games.DICE, encoding="utf-8")
    assert ggp_command(*words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(("ggp: ", "ggp match: ", "ggp replay: "))
    assert MISTAKES[words] in printed.err
    assert printed.err.count("\n") == 1
    assert not (in_folder / "records").exists() or not list((in_folder / "records").iterdir())


def test_replay_shows_and_verifies(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    assert ggp_command("replay", "record.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tictactoe  match match-1"
    assert "step 0" in lines
    assert any("illegal fly: fly is not a move of this game" in line for line in lines)
    assert f"  xplayer  player of xplayer     0.00 s  {record.steps[0].moves[0]}" in lines
    assert "1 fault" in lines
    assert lines[-1] == f"the record holds: {len(record.steps)} steps replayed with the {record.engine}"
    assert not any(line != line.rstrip() for line in lines)


def test_replay_refuses_a_record_that_does_not_hold(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("record.json")
    path.write_text(path.read_text(encoding="utf-8").replace(record.steps[2].moves[0], "(mark 9 9)"), encoding="utf-8")
    assert ggp_command("replay", path) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("ggp: the record does not replay: step 2: (mark 9 9) is not legal for xplayer: ")
    assert "step 1" in printed.out.splitlines()
    assert "the record holds" not in printed.out


def test_replay_as_json(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    assert ggp_command("replay", "record.json", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["moves"] == [list(step.moves) for step in record.steps]
    assert len(shown["states"]) == len(record.steps) + 1
    assert "(control xplayer)" in shown["states"][0]
    assert shown["faults"][0]["kind"] == "illegal"
    assert shown["goals"] == record.goals


def test_replay_exports(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    assert ggp_command("replay", "record.json", "--export", "other.json") == 0
    assert capsys.readouterr().out.endswith("exported to other.json\n")
    assert ggp_command("replay", "record.json", "--export", "-") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path("other.json").read_text(encoding="utf-8"))
    assert ggp_command("replay", "record.json", "--export", "nosuch/other.json") == 2
    assert capsys.readouterr() == ("", "ggp: nosuch/other.json: No such file or directory\n")
    assert ggp_command("replay", "record.json", "--export", ".") == 2
    assert capsys.readouterr() == ("", "ggp: .: Is a directory\n")
    assert json.loads(Path("other.json").read_text(encoding="utf-8"))["matchId"] == record.match
    Path("link.json").symlink_to("record.json")
    assert ggp_command("replay", "record.json", "--export", "link.json") == 2
    assert capsys.readouterr() == ("", "ggp: link.json: it is the record itself, which --export would replace\n")
    assert read_record(Path("record.json")) == record


def test_a_file_that_is_a_record_is_not_refused(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    assert ggp_command("match", "tictactoe", "x:1", "--record", "record.json") == 2
    assert capsys.readouterr().err == "ggp: tictactoe takes 2 players (xplayer, oplayer), not 1\n"
    assert read_record(Path("record.json")) == record


# Whole matches, with bots and signals, in processes of their own and in real time


async def finished(*words: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(*GGP, *map(str, words), stdin=PIPE, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_match_between_two_bots(in_folder: Path) -> None:
    code, out, err = await finished("match", "tictactoe", "legal", "eve=legal", "--playclock", "5", "--seed", "1")
    assert (code, err) == (0, STARTING)
    (path,) = (in_folder / "records").iterdir()
    record = read_record(path)
    assert record.status == "terminal"
    assert record.faults == ()
    assert len(list(replay(record))) == len(record.steps) + 1
    assert [player.bot for player in record.players.values()] == ["legal", "legal"]
    lines = out.splitlines()
    assert lines[0] == f"tictactoe  match {record.match}"
    assert "no faults" in lines
    assert lines[-1] == f"record: {path}"
    assert "\x1b" not in out


async def test_a_rulesheet_from_standard_input_and_a_summary_as_json(in_folder: Path) -> None:
    words = ("match", "-", "legal", "--json", "--record", "dice.json", "--scramble")
    code, out, err = await finished(*words, stdin=games.DICE.encode())
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["record"] == str(in_folder / "dice.json")
    assert (summary["game"], summary["status"], summary["faults"]) == ("<stdin>", "terminal", [])
    assert read_record(in_folder / "dice.json").goals == summary["goals"]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
async def test_a_signal_in_mid_match_leaves_a_readable_record_and_no_bot(
    number: signal.Signals, code: int, in_folder: Path
) -> None:
    reached = asyncio.Event()

    async def reach(exchange: Exchange) -> None:
        reached.set()
        await silent(exchange)

    async with AsyncExitStack() as stack:
        player = await stack.enter_async_context(ScriptedPlayer({2: reach}))
        words = ("match", "tictactoe", player.url, "legal", "--playclock", "600", "--record", "record.json")
        process = await asyncio.create_subprocess_exec(*GGP, *words, stdout=PIPE, stderr=PIPE)
        await asyncio.wait_for(reached.wait(), 120)
        record = read_record(in_folder / "record.json")
        assert (record.status, len(record.steps)) == ("running", 2)
        bot = await Lifeline.to(record.players["oplayer"].url)
        os.kill(process.pid, number)
        out, err = await process.communicate()
        await bot.has_ended()
        assert process.returncode == code
        assert err.decode() == STARTING
        record = read_record(in_folder / "record.json")
        assert len(record.steps) == 2
        assert len(list(replay(record))) == 3
        if number is signal.SIGKILL:
            assert record.status == "running"
        else:
            assert record.status == "aborted"
            assert len(player.told(Abort)) == 1
            assert "aborted: the game master gave the match up" in out.decode()
            assert out.decode().endswith(f"record: {in_folder / 'record.json'}\n")


SIX = "?a ?b ?c ?d ?e ?f"
ENDLESS = " ".join(
    (
        "(role r) (init a) (legal r go) (goal r 0) (<= terminal (true z))",
        *(f"(n {i})" for i in range(99)),
        f"(<= (all {SIX}) {' '.join(f'(n {name})' for name in SIX.split())})",
        f"(<= (next z) {' '.join(f'(n {name})' for name in SIX.split())} (not (all {SIX})))",
    )
)  # the next state needs 99 to the power of 6 steps


def endless_match(folder: Path, *words: str) -> list[str | Path]:
    path = folder / "endless.kif"
    path.write_text(ENDLESS, encoding="utf-8")
    clocks = ("--startclock", "1", "--playclock", "1", "--grace", "0", "--record", "record.json")
    return [*GGP, "match", path, "legal", *clocks, *words]


async def test_ctrl_c_ends_a_match_whose_rules_do_not(in_folder: Path) -> None:
    command = endless_match(in_folder, "--rules-wait", "600")
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=in_folder)
    assert process.stdout is not None
    async with asyncio.timeout(120):
        while not (await process.stdout.readline()).startswith(b"START"):
            pass
        process.send_signal(signal.SIGINT)
        await process.stdout.read()
        assert await process.wait() == 130
    assert read_record(in_folder / "record.json").status == "aborted"


async def test_rules_that_do_not_answer_break_the_match(in_folder: Path) -> None:
    command = endless_match(in_folder, "--rules-wait", "2")
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=in_folder)
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert b"end after no steps: broken: the rules give no answer for a step: no answer within 2 s" in output
    assert process.returncode == 1
    assert ggp_command("replay", "record.json") == 0


def test_a_record_in_the_form_of_ggp_base_is_shown(record: MatchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    assert ggp_command("replay", "record.json", "--export", "other.json") == 0
    capsys.readouterr()
    assert ggp_command("replay", "other.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tictactoe  match match-1"
    assert f"  player of xplayer  {record.steps[0].moves[0]}  IL fly" in lines
    assert f"end after {len(record.steps)} steps: completed" in lines
    assert lines[-1] == "a record in the form of ggp-base; it has no rules, so nothing was verified"
    assert ggp_command("replay", "other.json", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["form"], told["is_verified"]) == ("ggp-base", False)
    assert told["moves"] == [list(step.moves) for step in record.steps]
    assert told["goals"] == list((record.goals or {}).values())
    assert ggp_command("replay", "other.json", "--export", "third.json") == 2
    assert "it is in the form of ggp-base already" in capsys.readouterr().err


def test_the_least_that_another_program_writes_is_shown(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {"matchId": "m", "moves": [["( mark 1 1 )", "noop"]], "gameMetaURL": "http://games.ggp.org/base/games/ttt/"}
    (in_folder / "other.json").write_text(json.dumps(other), encoding="utf-8")
    assert ggp_command("replay", "other.json") == 0
    assert "  player 1  (mark 1 1)" in capsys.readouterr().out
    (in_folder / "other.json").write_text(json.dumps(other | {"moves": 7}), encoding="utf-8")
    assert ggp_command("replay", "other.json") == 2
    assert "other.json: a record in the form of ggp-base, but moves: " in capsys.readouterr().err


async def test_the_game_master_compiles_nothing(in_folder: Path) -> None:
    """With an empty cache, too: a referee needs no kernels, and processors are the players'."""
    words = ["match", "tictactoe", "legal", "legal", "--startclock", "1", "--playclock", "1", "--json"]
    cache = in_folder / "cache"
    environment = os.environ | {"GGP_CACHE": str(cache)}
    process = await asyncio.create_subprocess_exec(*GGP, *words, stdout=PIPE, cwd=in_folder, env=environment)
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert json.loads(output)["status"] == "terminal"
    assert not [path for path in cache.rglob("*") if path.suffix == ".kernel"]
    assert not (cache / "kernels").exists()


async def test_a_match_goes_on_when_nobody_looks(in_folder: Path) -> None:
    words = [
        "match",
        "tictactoe",
        "random",
        "random",
        "--startclock",
        "1",
        "--playclock",
        "1",
        "--record",
        "record.json",
    ]
    process = await asyncio.create_subprocess_exec(*GGP, *words, stdout=PIPE, stderr=PIPE, cwd=in_folder)
    assert process.stdout is not None
    assert process.stderr is not None
    await process.stdout.readline()
    transport = process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    transport.close()
    async with asyncio.timeout(120):
        assert b"Traceback" not in await process.stderr.read()
        await process.wait()
    assert read_record(in_folder / "record.json").status == "terminal"


async def test_a_scrambled_match_does_not_tell_its_game(in_folder: Path) -> None:
    words = ["match", "tictactoe", "legal", "legal", "--startclock", "1", "--playclock", "1", "--scramble", "--json"]
    process = await asyncio.create_subprocess_exec(*GGP, *words, stdout=PIPE, cwd=in_folder)
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert json.loads(output)["match"].startswith("match-")
