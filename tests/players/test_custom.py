"""Stage 9, services: strategies of users, sound ones and all kinds of others, in processes of their own."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from ggp.errors import SettingsError
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Play, Stop
from players.commands import write_skeleton
from players.custom import check_shape, make_custom
from players.player import GamePlayer, MonotonicClock
from players.settings import PlayerSettings
from players.strategies import find_strategy
from players.strategy import RoleTask, Thought
from players.thinker import Surroundings, Thinker, make_interpreter
from players.threads import in_threads
from players.worker import ForkServer
from tests.players.doubles import NIM, PATIENCE, maker, play, start
from tests.search.machines import Nim

BOTS = '''
import ctypes, os, pathlib, sys, time

def last(state, role, clock):
    return state.legal_moves(role)[-1]

class Keeping:
    """Writes down what it hears."""
    def __init__(self, task):
        self.role, self.heard = task.role, [f"{task.startclock:g} {task.playclock:g} {task.seed}"]
    def choose(self, state, clock):
        move = state.legal_moves(self.role)[1]
        clock.offer(move, 61.5, bounds=(50, 100), visits=7, variation=[{"left": move, "right": "wait"}] * 20)
        return None
    def ponder(self, state, move, clock):
        self.heard.append(f"ponder {move}")
    def advance(self, moves):
        self.heard.append(f"advance {moves}")
    def close(self):
        self.heard.append("close")

def raises(state, role, clock):
    clock.offer(state.legal_moves(role)[1])
    return 1 / 0

def nonsense(state, role, clock):
    return ["(take 2)"]

def leaves(state, role, clock):
    sys.exit(3)

def sleeps(state, role, clock):
    time.sleep(1e6)

def hangs(state, role, clock):
    ctypes.PyDLL(None).sleep(10**6)  # with Python's lock held

class HangsLater(Keeping):
    def ponder(self, state, move, clock):
        if move:
            pathlib.Path(__file__).with_name("hangs").touch(); ctypes.PyDLL(None).sleep(10**6)

class Dies(Keeping):
    def choose(self, state, clock):
        os._exit(3)

class CannotBeMade:
    def __init__(self, task):
        raise ValueError("not today")
    def choose(self, state, clock): ...

class NoChoose: ...
async def waits(state, role, clock): ...
class Waits(Keeping):
    async def choose(self, state, clock): ...
class ChoosesAlone(CannotBeMade):
    def choose(self): ...
class NeedsMore(Keeping):
    def __init__(self, task, more): ...
class AdvancesOddly(Keeping):
    def advance(self): ...
def cancelled(state, role, clock):
    import asyncio
    raise asyncio.CancelledError("too late")
number = 3
'''


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bots.py"
    path.write_text(BOTS)
    return path


@asynccontextmanager
async def playing(strategy: str, *, playclock: int) -> AsyncIterator[GamePlayer]:
    server = ForkServer(strategy)
    await server.prepare()
    player = GamePlayer(PlayerSettings(strategy, seed=1), MonotonicClock(), server.worker)
    try:
        assert await ask(player, start("m", rules=NIM.format(heap=9), startclock=5, playclock=playclock)) == "ready"
        yield player
    finally:
        player.close()
        server.close()
        await asyncio.sleep(0)


async def ask(player: GamePlayer, message: object) -> str:
    async with asyncio.timeout(PATIENCE):
        return await player.answer(message)  # type: ignore[arg-type]


FOLLOWING = play("(take 1) wait"), play("wait (take 1)")


async def test_a_function_plays_in_a_process_of_its_own(bots: Path) -> None:
    async with playing("bots.py:last", playclock=60) as player:
        assert await ask(player, play()) == "(take 3)"
        assert await ask(player, play("(take 3) wait")) == "wait"
        assert await ask(player, play("wait (take 1)")) == "(take 3)"
        assert await ask(player, Stop("m", None)) == "done"


@pytest.mark.parametrize("strategy", ["sleeps", "hangs", "HangsLater", "Dies"])
async def test_what_hangs_or_dies_costs_no_answer(strategy: str, bots: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A legal move is told before the strategy is asked; what cannot be interrupted is ended, and another plays on."""
    async with playing(f"bots.py:{strategy}", playclock=1) as player:
        assert await ask(player, play()) in ("(take 1)", "(take 2)")
        for news, answer in zip(FOLLOWING, ("wait", "(take 1)"), strict=True):
            found = await ask(player, news)
            assert found == answer or (strategy == "sleeps" and found in ("wait", "(take 1)")), strategy
            while strategy == "HangsLater" and answer == "wait" and not bots.with_name("hangs").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # until it ponders; another process has no event to wait for
    said = " ".join(caplog.messages)
    assert {
        "sleeps": "bots.py:sleeps gave no answer in time, so (take 1) is",
        "hangs": "bots.py:hangs does not stop thinking; legal plays on in another one",
        "HangsLater": "bots.py:HangsLater does not stop thinking; legal plays on in another one",
        "Dies": "its process ended with exit code 3; legal plays on in another one",
    }[strategy] in said


async def test_what_cannot_be_used_is_told_before_anything_is_served(bots: Path) -> None:
    for name, reason in (
        ("nosuch", "bots.py: nothing there is called 'nosuch'"),
        ("NoChoose", r"bots.py:NoChoose has no method `choose\(self, state, clock\)`"),
    ):
        server = ForkServer(f"bots.py:{name}")
        with pytest.raises(SettingsError, match=f"^{reason}$"):
            await server.prepare()
        server.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ChoosesAlone", r"bots.py:ChoosesAlone.choose \(line \d+\) does not take \(self, state, clock\)"),
        ("NeedsMore", r"bots.py:NeedsMore \(line \d+\) does not take \(task\)"),
        ("AdvancesOddly", r"bots.py:AdvancesOddly.advance \(line \d+\) does not take \(self, moves\)"),
        ("waits", r"bots.py:waits \(line \d+\) is an `async def`; a bot is called in a thread, by plain `def`"),
        ("Waits", r"bots.py:Waits.choose \(line \d+\) is an `async def`; a bot is called in a thread, by plain `def`"),
        ("number", "bots.py:number is neither a function nor a class, but of type int"),
    ],
)
def test_a_wrong_shape_is_told_with_its_line(name: str, reason: str, bots: Path) -> None:
    with pytest.raises(SettingsError, match=f"^{reason}$"):
        find_strategy(f"bots.py:{name}")


def test_a_builtin_cannot_be_looked_into() -> None:
    check_shape(max, "builtins:max")


class Stage:
    """A strategy of a file on a machine by hand, asked in the thread of the test."""

    def __init__(self, strategy: str) -> None:
        self.warned: list[str] = []
        self.thinker = Thinker(start(), PlayerSettings(f"bots.py:{strategy}", seed=3), maker(Nim(9)), self.around)

    @property
    def around(self) -> Surroundings:
        return Surroundings(warn=self.warned.append)

    def choose(self, news: Play) -> Thought:
        thought = Thought(lambda: 0.0, 1.0, wants_evaluation=True)
        self.thinker.choose(news, None, thought)
        return thought


def shown(move: Term | None) -> str:
    return "" if move is None else to_text(move)


@pytest.mark.parametrize(
    ("strategy", "move", "warning"),
    [
        ("raises", "(take 2)", "bots.py:raises failed: bots.py, line 24: ZeroDivisionError: division by zero"),
        ("nonsense", "(take 1)", "bots.py:nonsense answered no legal move: ['(take 2)'] is not legal for"),
        ("leaves", "(take 1)", "bots.py:leaves failed: bots.py, line 30: SystemExit: 3"),
        ("cancelled", "(take 1)", "bots.py:cancelled failed: bots.py, line 64: CancelledError: too late"),
        ("CannotBeMade", "(take 1)", "bots.py:CannotBeMade failed: bots.py, line 49: ValueError: not today"),
    ],
)
def test_what_goes_wrong_costs_a_line_and_the_best_that_is_known_is_played(
    strategy: str, move: str, warning: str, bots: Path
) -> None:
    stage = Stage(strategy)
    assert shown(stage.choose(play()).move) == move
    [line] = stage.warned
    assert line.startswith(warning)


def test_a_class_hears_of_everything_and_tells_what_it_thinks(bots: Path) -> None:
    stage, thought = Stage("Keeping"), Thought(lambda: 0.0, 1.0)
    stage.thinker.ponder(stage.thinker.state, None, thought)
    made = stage.choose(play())
    assert shown(made.move) == "(take 2)"
    assert made.evaluation == Evaluation(
        value=61.5, lower=50.0, upper=100.0, visits=7, principal_variation=(("(take 2)", "wait"),) * 8
    )
    stage.choose(play("(take 2) wait"))
    stage.thinker.forget()
    strategy = stage.thinker._strategy
    heard = strategy._player.heard  # type: ignore[attr-defined]
    advanced = "advance {'left': '(take 2)', 'right': 'wait'}"
    assert heard == ["20 10 3", "ponder None", advanced, "close"]


async def test_a_function_of_this_process_plays_in_threads(caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    def choose(state: object, role: str, clock: object) -> str:
        seen.append(role)
        return "(take 3)"

    caplog.set_level(logging.INFO)
    settings = PlayerSettings("notebook.py:choose", seed=1)
    player = GamePlayer(settings, MonotonicClock(), in_threads(make_custom(choose, settings.strategy)))
    assert await ask(player, start("m", rules=NIM.format(heap=9), startclock=20, playclock=60)) == "ready"
    assert await ask(player, play()) == "(take 3)"
    assert await ask(player, Stop("m", None)) == "done"
    assert seen == ["left"]


def test_a_task_is_what_a_class_may_use() -> None:
    tasks = []

    class Asking:
        def __init__(self, task: object) -> None:
            tasks.append(task)

        def choose(self, state: object, clock: object) -> None:
            """Nothing, as it has no idea."""

    machine = make_interpreter_of(NIM.format(heap=5))
    strategy = make_custom(Asking, "x.py:Asking")(machine)
    thought = Thought(lambda: 0.0, 1.0)
    legal = machine.machine.legal_moves(machine.machine.initial_state, "left")
    assert shown(strategy.choose(machine.machine.initial_state, legal, thought)) == "(take 1)"
    [task] = tasks
    assert task.game.initial_state.legal_moves("left") == ("(take 1)", "(take 2)", "(take 3)")  # type: ignore[attr-defined]


def make_interpreter_of(rules: str) -> RoleTask:
    from ggp.gdl.rulesheet import parse_rulesheet  # noqa: PLC0415

    rulesheet = parse_rulesheet(rules)
    settings = PlayerSettings("x.py:Asking", seed=3)
    return RoleTask(
        start(), rulesheet, make_interpreter(rulesheet), "left", settings, Random(1), print, lambda job: job()
    )


def test_a_new_strategy_passes_its_own_test(tmp_path: Path) -> None:
    """As its author runs it; it names no file twice, and overwrites none."""
    files = write_skeleton("MyBot", tmp_path)
    assert [file.name for file in files] == ["my_bot.py", "test_my_bot.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(files[1])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
    with pytest.raises(SettingsError, match=r"my_bot.py: it exists already"):
        write_skeleton("my-bot", tmp_path)
    for name in ("", "2b", "a b", "../x", "class"):
        with pytest.raises(SettingsError, match="a strategy is called by letters"):
            write_skeleton(name, tmp_path)
    with pytest.raises(SettingsError, match="No such file"):
        write_skeleton("other", tmp_path / "absent")
    with pytest.raises(SettingsError, match=r"^json.py would hide Python's own module json: "):
        write_skeleton("json", tmp_path)
