"""Stage 9, services: the command that runs a player, as a process of its own."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import typer
from typer.testing import CliRunner

from ggp.errors import SettingsError
from players.__main__ import main
from players.commands import add_commands
from players.settings import PlayerSettings

PATIENCE = 30.0  # seconds after which a process that should have ended has failed the test
RULES = """
(role one) (init (left 3)) (succ 1 0) (succ 2 1) (succ 3 2)
(legal one (wait a)) (legal one (wait b))
(<= (next (left ?n)) (true (left ?m)) (succ ?m ?n))
(<= terminal (true (left 0)))
(goal one 50)
"""


@contextmanager
def player(strategy: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A player on a free port, and that port."""
    command = [sys.executable, "-m", "players", strategy, "--port", "0", "--announce", "--seed", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["port"]
        finally:
            process.kill()


def say(port: int, message: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/", message)
    reply = connection.getresponse().read().decode()
    connection.close()
    return reply


def end_of(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code, and what was written to standard error."""
    assert process.stderr is not None
    code = process.wait(PATIENCE)
    return code, process.stderr.read()


def test_a_match_until_standard_input_ends() -> None:
    with player("random") as (process, port):
        assert "( name random ) ( status available )" in say(port, "( INFO )")
        assert say(port, f"( START m one ({RULES}) 60 60)") == "ready"
        assert say(port, "( PLAY m NIL )") in {"(wait a)", "(wait b)"}
        assert say(port, "(ABORT \x1b[31mred)") == "busy"
        assert say(port, "( STOP m ((wait a)) )") == "done"
        assert process.stdin is not None
        process.stdin.close()
        code, log = end_of(process)
    assert code == 0
    assert "Traceback" not in log
    assert "\x1b" not in log
    assert "ABORT \\x1b[31mred: busy" in log
    assert re.search(r"^\d\d:\d\d:\d\d PLAY m: \(wait [ab]\) in \d+\.\d\d s$", log, re.MULTILINE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_it_cleanly_while_it_thinks(number: signal.Signals) -> None:
    with player("montecarlo") as (process, port):
        assert say(port, f"( START m one ({RULES}) 60 60)") == "ready"
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as asking:
            asking.sendall(b"POST / HTTP/1.0\r\n\r\n( PLAY m NIL )")
            say(port, "( INFO )")  # when this is answered, PLAY has been heard
            process.send_signal(number)
            reply = asking.makefile("rb").read()
        code, log = end_of(process)
    assert code == 0
    assert "Traceback" not in log
    assert log.endswith(" stopped\n")
    assert re.search(rb"\r\n\r\n(\(wait [ab]\)|nil)$", reply)  # nil when it had hardly begun


def run(*arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command that is a mistake writes to standard error."""
    monkeypatch.setattr(sys, "argv", ["players", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    return capsys.readouterr().err


def test_mistakes_get_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("deepblue", capsys=capsys, monkeypatch=monkeypatch) == (
        "players: no player is called 'deepblue'; the players are mcts, legal, random, montecarlo\n"
    )


def test_port_that_is_taken_is_a_mistake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "players", "legal", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert done.stderr == f"players: cannot listen on 127.0.0.1, port {port}: address already in use\n"


def test_every_option_is_explained() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    text = CliRunner().invoke(app, ["player", "--help"], env={"COLUMNS": "200"}).output
    for option in (
        "--port",
        "--host",
        "--name",
        "--seed",
        "--margin",
        "--abandon",
        "--max-message-bytes",
        "--announce",
    ):
        assert re.search(rf"{option}\s+\S.*[a-z]", text), option


@pytest.mark.parametrize("settings", [{"strategy": "x"}, {"margin": -1}, {"abandon": -0.1}, {"max_message_bytes": 0}])
def test_settings_out_of_range(settings: dict[str, str | float]) -> None:
    with pytest.raises(SettingsError):
        PlayerSettings(**{"strategy": "legal", **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize(("clock", "margin"), [(60, 0.2), (1, 0.125), (0.4, 0.05), (0, 0)])
def test_margin_is_at_most_an_eighth_of_the_clock(clock: float, margin: float) -> None:
    assert PlayerSettings("legal").margin_of(clock) == pytest.approx(margin)
