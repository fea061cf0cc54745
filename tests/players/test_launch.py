"""Stage 9, services: bots as a game master starts them, whose fork server is forked from their service."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gamemaster.bots import _command
from players.launch import run_bot
from tests.players.test_command import (
    PATIENCE,
    RULES,
    children_of,
    end_of,
    match_processes,
    player,
    say,
    wait_until_gone,
)

WORDS = _command("legal", 1)[4:]  # after `python -P -m players`


def test_a_bot_starts_without_what_it_does_not_need() -> None:
    """In both of its processes; the first is told to stop as soon as it listens."""
    interpreter, *arguments = _command("legal", 1)
    command = [interpreter, "-X", "importtime", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert done.returncode == 0
    assert "aiohttp" in loaded
    assert not loaded & {"typer", "rich", "ggp.commands", "numpy", "numba", "clingo"}


@pytest.mark.parametrize(
    "words",
    [
        WORDS[:-1],
        WORDS[1:],
        ["--help", *WORDS[1:]],
        [*WORDS, "--quiet"],
        [*WORDS, "--settings"],
        [*WORDS, "--memory", "64"],
        [*WORDS[:-1], "-1"],
        [*WORDS[:-1], "²"],
        ["legal", "--host", "127.0.0.1", "--port", "65536", *WORDS[5:]],
    ],
)
def test_anything_but_a_bot_is_left_to_the_command(words: list[str]) -> None:
    assert not run_bot(words)


def test_the_fork_server_of_a_bot_has_only_its_own_files() -> None:
    with player("legal") as (process, port):
        assert "legal" in say(port, "(INFO)")
        [server] = children_of(process.pid)
        assert _words_of(server) == _words_of(process.pid)
        assert os.getpgid(server) == server
        files = {int(file.name): str(file.readlink()) for file in Path(f"/proc/{server}/fd").iterdir()}
        assert files[0] == files[1] == os.devnull
        [channel] = files.keys() - {0, 1, 2}
        assert files[channel].startswith("socket:")


def test_another_fork_server_takes_the_place_of_one_that_ends() -> None:
    with player("random") as (process, port):
        assert say(port, f"( START m one ({RULES}) 60 60)") == "ready"
        [server], thinking = children_of(process.pid), match_processes(process.pid)
        os.kill(server, signal.SIGKILL)
        wait_until_gone(server)
        assert say(port, "( PLAY m NIL )") in {"(wait a)", "(wait b)"}
        [other] = children_of(process.pid)
        assert other != server
        assert "players.process" in _words_of(other)
        assert match_processes(process.pid) != thinking
        assert process.stdin is not None
        process.stdin.close()
        code, log = end_of(process)
    assert code == 0
    assert "Traceback" not in log


def test_a_mistake_of_a_bot_is_told_in_one_line() -> None:
    command = [sys.executable, "-P", "-m", "players", "deepblue", *WORDS[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert done.stderr == "players: no player is called 'deepblue'; the players are mcts, legal, random, montecarlo\n"


def _words_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").split("\0")
