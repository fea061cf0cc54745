"""Signals end every command at every moment: exit code 128 + the signal, and nothing that looks like a fault.

A moment is given by what the program does then, not by a time: a child of the test signals itself when it imports a
module, or calls a function, and the parent signals it when it has said something.
"""

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

SECONDS = 120.0  # until a child counts as one that goes on
_RUN = """
import os, signal, sys
sys.argv = ["ggp", *{arguments!r}]
{before}
from ggp.__main__ import main
main()
"""
_AT_IMPORT = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Finder())
"""
_AT_CALL = """
import importlib
owner = importlib.import_module({module!r})
*path, last = {name!r}.split(".")
for part in path:
    owner = getattr(owner, part)
plain = owner.__dict__[last]
function = plain.__func__ if isinstance(plain, classmethod) else plain

def signalled(*arguments, **named):
    os.kill(os.getpid(), {number})
    return function(*arguments, **named)

setattr(owner, last, classmethod(signalled) if isinstance(plain, classmethod) else signalled)
"""


def program(arguments: list[str], before: str = "") -> list[str]:
    return [sys.executable, "-c", _RUN.format(arguments=arguments, before=before)]


@contextmanager
def running(command: list[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def check_end(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert "KeyboardInterrupt" not in said


MATCH = ["match", "tictactoe", "random", "legal", "--playclock", "1"]
EVENT = ["tournament", "run", "--games", "tictactoe", "--players", "random,legal", "--playclock", "1"]
IMPORTS = [
    (["games"], "typer"),
    (["games"], "ggp.commands"),
    (["games", "--json"], "rich.console"),
    (["validate", "tictactoe"], "numpy"),
    (["perft", "tictactoe", "--depth", "1"], "numba"),
    (["perft", "tictactoe", "--depth", "1"], "numba.core.types"),
    (["inspect", "tictactoe"], "llvmlite.binding"),
    (["bench", "tictactoe"], "ggp.kernel"),
    (["analyse", "tictactoe"], "ggp.search.mcts.search"),
    (["draw", "tictactoe"], "ggp.boards"),
    (["cache", "show"], "ggp.commands.cache"),
    (["play", "tictactoe", "me", "random"], "ggp.commands.session"),
    (MATCH, "aiohttp"),
    (["replay", "nothing"], "gamemaster.console"),
    (["serve", "--port", "0"], "aiohttp.web"),
    (["player", "mcts", "--port", "0"], "players.service"),
    (EVENT, "sqlalchemy"),
    (["tournament", "status", "nothing"], "gamemaster.tournament.console"),
]


QUICK = (
    "ggp.commands",
    "numpy",
    "numba.core.types",
    "ggp.search.mcts.search",
    "aiohttp",
    "players.service",
    "sqlalchemy",
)
"""One of each kind; the others are slow tests."""


@pytest.mark.parametrize(
    ("arguments", "module"),
    [pytest.param(*each, marks=() if each[1] in QUICK else pytest.mark.slow) for each in IMPORTS],
    ids=[f"{arguments[0]}-{module}" for arguments, module in IMPORTS],
)
def test_while_a_module_is_imported(arguments: list[str], module: str, tmp_path: Path) -> None:
    number = random.Random(module).choice((signal.SIGINT, signal.SIGTERM))
    before = _AT_IMPORT.format(module=module, number=int(number))
    with running(program(arguments, before), tmp_path) as process:
        check_end(process, number)


CALLS = [
    ("perft", "numba.core.codegen", "CPUCodeLibrary._object_getbuffer_hook"),  # C calls it: a kernel is being loaded
    ("perft", "numba.core.codegen", "CPUCodeLibrary._finalize_final_module"),
    ("perft", "ggp.grounding.clingo", "Run.write"),
    ("perft", "ggp.circuit.compile", "compile_game"),
    ("bench", "ggp.simulation.playout", "Simulator.block"),
    ("validate", "ggp.simulation.playout", "Simulator.single_playouts"),
    ("analyse", "ggp.search.loading", "load_kernels"),
    ("analyse", "ggp.search.mcts.search", "BatchedMcts.go_to"),
]


def each_with_a_signal() -> list[Any]:
    """In turns with either signal, as both take the same way; with the other one they are slow ones."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    return [
        pytest.param(*call, numbers[(place + turn) % 2], marks=[pytest.mark.slow] if turn else [])
        for turn in range(2)
        for place, call in enumerate(CALLS)
    ]


@pytest.mark.parametrize(("command", "module", "name", "number"), each_with_a_signal())
def test_while_something_is_done(
    command: str, module: str, name: str, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GGP_NOTHING", raising=False)
    rules = tmp_path / "new.kif"  # not in the cache, so that it is grounded
    rules.write_text(
        f"(role r) (init (at {random.randrange(10**9)})) (<= (next ?f) (true ?f)) (legal r a) (legal r b)"
        "(<= (next b) (does r b)) (<= terminal (true b)) (goal r 1)"
    )
    before = _AT_CALL.format(module=module, name=name, number=int(number))
    with running(program([command, str(rules)], before), tmp_path) as process:
        check_end(process, number)


SLOW = partial(pytest.param, marks=pytest.mark.slow)
SAYINGS = [
    (["play", "tictactoe", "me", "random"], "1 ", signal.SIGINT),
    (["play", "tictactoe", "me", "random"], "1 ", signal.SIGTERM),
    (["analyse", "fiveinarow", "--seconds", "1000", "--json"], "visits", signal.SIGINT),
    SLOW(["analyse", "fiveinarow", "--seconds", "1000", "--json"], "visits", signal.SIGTERM),
    (["perft", "reversi", "--depth", "99"], " 1 ", signal.SIGINT),
    SLOW(["match", "tictactoe", "random", "legal", "--startclock", "600"], "tictactoe", signal.SIGINT),
    (["match", "tictactoe", "random", "legal", "--startclock", "600"], "tictactoe", signal.SIGTERM),
    (["serve", "--port", "0"], "http", signal.SIGINT),
    (["cache", "warm"], "compiling", signal.SIGINT),
]


@pytest.mark.parametrize(("arguments", "said", "number"), SAYINGS)
def test_after_it_said_something(
    arguments: list[str], said: str, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arguments == ["cache", "warm"]:
        monkeypatch.setenv("GGP_CACHE", str(tmp_path / "cold"))
    with running(program(arguments), tmp_path) as process:
        assert process.stdout is not None
        assert any(said in line for line in process.stdout)
        process.send_signal(number)
        if arguments[0] == "serve":  # an orderly end is the end that it is for
            process.communicate(timeout=SECONDS)
            assert process.returncode in (0, 128 + number)
        else:
            check_end(process, number)


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As for what a shell runs in the background."""
    before = "signal.signal(signal.SIGINT, signal.SIG_IGN); os.kill(os.getpid(), signal.SIGINT)"
    command = program(["games"], before + _AT_IMPORT.format(module="rich.console", number=int(signal.SIGINT)))
    with running(command, tmp_path) as process:
        shown, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said) == (0, "")
    assert "tictactoe" in shown


def test_a_kernel_whose_loading_is_interrupted_never_runs_without_code(tmp_path: Path) -> None:
    """What an exception in numba's callback leads to: LLVM gets no code, and the process ends by signal 11."""
    raising = """
import numba.core.codegen as codegen
def raising(library, module):
    raise KeyboardInterrupt
codegen.CPUCodeLibrary._object_getbuffer_hook = classmethod(raising)
"""
    with running(program(["perft", "tictactoe", "--depth", "2"], raising), tmp_path) as process:
        process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGSEGV  # if this fails, numba has changed, and ggp.signals may be simpler


def listens(process: "subprocess.Popen[str]") -> bool:
    """Whether the program has set its handlers; before that it is Python that ends, by the signal itself."""
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text("ascii"), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
@pytest.mark.parametrize(
    "arguments", [["perft", "reversi"], ["analyse", "reversi"], MATCH, EVENT, ["bench", "reversi"]]
)
def test_at_any_time(arguments: list[str], tmp_path: Path) -> None:
    rng = random.Random(str(arguments))
    slowest = 0.0
    for _ in range(40):
        with running([sys.executable, "-m", "ggp", *arguments], tmp_path) as process:
            while not listens(process):
                time.sleep(0.001)
            time.sleep(4 * rng.random() ** 3)
            number = rng.choice((signal.SIGINT, signal.SIGTERM))
            began = time.monotonic()
            process.send_signal(number)
            _, said = process.communicate(timeout=SECONDS)
            slowest = max(slowest, time.monotonic() - began)
        assert process.returncode in (0, 128 + number, -number), said  # the last: Python was at its end
        assert "Traceback" not in said
    print(f"{arguments[0]}: ended within {slowest:.2f} s")
