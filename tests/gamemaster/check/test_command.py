"""The command `ggp player check`, and our own players under it, in real time."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gamemaster.check.commands import add_commands
from ggp.commands import main

IS_LATE = re.compile(r"no complete answer within|game masters wait")  # what a busy computer can do to any player
PATIENCE = 120.0  # seconds after which a process that should have ended has failed the test


@contextmanager
def own_player(strategy: str) -> Iterator[int]:
    """The port of one of our players, in a process of its own."""
    command = [sys.executable, "-m", "players", strategy, "--port", "0", "--announce", "--seed", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.kill()


def ggp(*words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from ggp.commands import main; main()"]
    return subprocess.run([*program, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_our_own_player_passes_its_own_check(tmp_path: Path) -> None:
    path = tmp_path / "dialogue.txt"
    words = ["--gdl2", "--seed", "3", "--startclock", "10", "--playclock", "10", "--json", "--dialogue", str(path)]
    with own_player("random") as port:
        done = ggp("player", "check", f"localhost:{port}", *words)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    flawed = [check for check in report["checks"] if check["verdict"] != "good"]
    assert [check for check in flawed if not IS_LATE.search(check["seen"])] == []
    assert (report["player"], report["name"]) == (f"http://localhost:{port}/", "random")
    assert len(report["checks"]) > 50
    text = path.read_text(encoding="utf-8")
    assert "> ( PLAY check-3-1 NIL )\n< HTTP/1.0 200 OK\n" in text
    assert "> (START check-3-2 OPLAYER ((ROLE XPLAYER) " in text


def test_what_is_bad_gives_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with own_player("random") as port:
        pass
    monkeypatch.setattr(sys, "argv", ["ggp", "player", "check", f"localhost:{port}", "--seed", "5"])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"http://localhost:{port}/, tictactoe, clocks 2 s and 2 s, seed 5"
    assert lines[1].startswith("bad              connection                no connection: ")
    assert lines[2].strip().startswith("A game master that cannot connect")
    assert lines[3].startswith("1 bad, 5")
    assert lines[3].endswith(" not tried")
    assert len(lines) == 5


MISTAKES = {
    "player check random": "player 'random': no address; run it first (ggp player random), then check host:port",
    "player check ftp://x": "player 'ftp://x': neither http://host:port nor host:port nor the name of a bot",
    "player check x:1 --game nosuch": "no game or file is called 'nosuch'",
    "player check x:1 --game over.kif": "over has no step to play: it is over from the beginning",
    "player check x:1 --game nature.kif": "nature has no role that a player could take",
    "player check x:1 --playclock 0": "--playclock: input should be greater than or equal to 1, not 0",
    "player check x:1 --dialect latin": "--dialect: no dialect is called 'latin'; there are ggp-base, dresden and both",
    "player check x:1 --dialogue nosuch/file.txt": "nosuch/file.txt: No such file or directory",
    "player check": "ggp player check: Missing argument 'URL'",
    "player --port 1 check x:1": "ggp player: No player is run by check, so its options stand after it",
    "player deepblue": "ggp player: No such command 'deepblue'",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_gets_one_clear_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("over.kif").write_text("(role r) (init a) (legal r m) (<= terminal (true a)) (goal r 1)", encoding="utf-8")
    nature = "(role random) (init a) (legal random m) (<= terminal (true b)) (goal random 1)"
    Path("nature.kif").write_text(nature, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["ggp", *words.split()])
    with pytest.raises(SystemExit) as exited:
        main()
    printed = capsys.readouterr()
    assert exited.value.code == 2
    assert MISTAKES[words] in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_the_check_is_there_without_the_players() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    text = CliRunner().invoke(app, ["player", "check", "--help"], env={"COLUMNS": "200"}).output
    assert "Put a player through its paces" in text
