"""Stage 9, services: the command that runs a player, as a process of its own."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Thread

import pytest
import typer
from typer.testing import CliRunner

from ggp.errors import KnowledgeError, SettingsError
from ggp.gdl.reader import read
from ggp.gdl.terms import to_text
from ggp.library import find_rulesheet
from players.__main__ import main
from players.commands import add_commands
from players.settings import PlayerSettings

PATIENCE = 120.0  # seconds after which a process that should have ended has failed the test
RULES = """
(role one) (init (left 3)) (succ 1 0) (succ 2 1) (succ 3 2)
(legal one (wait a)) (legal one (wait b))
(<= (next (left ?n)) (true (left ?m)) (succ ?m ?n))
(<= terminal (true (left 0)))
(goal one 50)
"""


@contextmanager
def player(strategy: str, *options: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A player on a free port, as a game master starts it, and that port."""
    command = [sys.executable, "-P", "-m", "players", strategy, "--host", "127.0.0.1", "--port", "0"]
    command += ["--announce", "--seed", "1", *options]
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
    assert re.search(rb"\r\n\r\n\(wait [ab]\)$", reply)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_whatever_its_processes_do(number: signal.Signals) -> None:
    """The one that thinks is stopped; somebody sends half a message; somebody else is not answered yet."""
    with player("montecarlo") as (process, port):
        assert say(port, f"( START m one ({RULES}) 60 60)") == "ready"
        [thinking] = match_processes(process.pid)
        os.kill(thinking, signal.SIGSTOP)
        address = ("127.0.0.1", port)
        with socket.create_connection(address) as silent, socket.create_connection(address) as half:
            half.sendall(b"POST / HTTP/1.0\r\nContent-Length: 100000\r\n\r\n( START x")
            say(port, "( INFO )")
            process.send_signal(number)
            code, log = end_of(process)
            silent.close()
    assert code == 0
    assert "Traceback" not in log
    wait_until_gone(thinking)


_AS_A_BOT = ["--host", "127.0.0.1", "--port", "0", "--announce", "--seed", "1"]


@pytest.mark.parametrize(
    ("module", "options"),
    [
        *((module, ["--port", "0"]) for module in ("typer", "players.commands", "aiohttp", "players.service")),
        *((module, _AS_A_BOT) for module in ("players.launch", "aiohttp", "players.service")),
    ],
)
def test_signal_ends_it_while_it_is_loaded(module: str, options: list[str]) -> None:
    program = f"""
import os, runpy, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {signal.SIGINT.value})
sys.meta_path.insert(0, Finder())
sys.argv = ["players", "legal", *{options!r}]
runpy.run_module("players", run_name="__main__")
"""
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_before_it_listens(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "players", "mcts", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not children_of(process.pid):
            assert process.poll() is None
        process.send_signal(number)
        code, log = end_of(process)
    assert code == 0
    assert "Traceback" not in log


def test_many_large_messages_take_a_bounded_memory() -> None:
    """Eight at once, of eight MiB each: rules without an end, and what is no START at all."""
    rules = b"(role a) (init (p " + b"x " * 100 + b")) "
    start = b"( START m a (" + rules * (2**23 // len(rules) - 1)
    other = b"( PLAY m (" + b"(f x) " * (2**23 // 6)
    with player("legal") as (process, port):
        before = peak_mebibytes(process.pid)
        for message in (start, other):
            threads = [Thread(target=say_in_vain, args=(port, message)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
        say(port, "( ABORT m )")
        assert "available" in say(port, "( INFO )")
        assert peak_mebibytes(process.pid) - before < 200
        process.terminate()
        code, log = end_of(process)
    assert code == 0
    assert "Traceback" not in log


@pytest.mark.unchecked
@pytest.mark.kernels
def test_matches_that_end_early_leave_the_search_as_it_was() -> None:
    """START and soon STOP or ABORT, again and again; then a match is played by the tree search, not the reference."""
    rng = Random(1)
    rules = " ".join(to_text(node.term) for node in read(find_rulesheet("connectfour").read_text(encoding="utf-8")))
    with player("mcts", "--memory", "32") as (process, port):
        for number in range(20):
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as starting:
                starting.sendall(f"POST / HTTP/1.0\r\n\r\n( START m{number} red ({rules}) 20 5)".encode())
                while "busy" not in say(port, "( INFO )"):
                    pass
                for _ in range(rng.randrange(20)):
                    say(port, "( INFO )")  # takes a moment
                word = rng.choice(["STOP", "ABORT"])
                assert say(port, f"( {word} m{number} )") in {"done", "aborted"}
        assert say(port, f"( START m red ({rules}) 3 2)") == "ready"
        assert say(port, "( PLAY m NIL )").startswith("(drop")
        process.terminate()
        _, log = end_of(process)
    assert re.search(r" m: [\d,]+ visits, [\d,]+ playouts in ", log), log
    assert "by the interpreter" not in log


def match_processes(service: int) -> list[int]:
    """Those that think for a service."""
    return [number for fork_server in children_of(service) for number in children_of(fork_server)]


def children_of(parent: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text(encoding="ascii").split())
    return found


def wait_until_gone(number: int) -> None:
    until = time.monotonic() + PATIENCE
    with suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(number, 0)
        pytest.fail("the process is still there")


def peak_mebibytes(number: int) -> int:
    """The most memory that a process ever had."""
    status = Path(f"/proc/{number}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) >> 10


def say_in_vain(port: int, message: bytes) -> None:
    """Whatever is answered, if anything is."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (len(message) + 20) + message)
        connection.sendall(b") 1 1)".rjust(20))
        connection.recv(100)


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
        "--overhead",
        "--allow-origin",
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


def test_a_file_of_knowledge_that_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_bytes(b"anything else")
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    for problem in ("no knowledge file, or a damaged one", "No such file or directory"):
        done = CliRunner().invoke(app, ["player", "mcts", "--knowledge", str(path)])
        assert isinstance(done.exception, KnowledgeError)
        assert str(done.exception) == f"{path}: {problem}"
        path.unlink(missing_ok=True)
