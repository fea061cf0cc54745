"""Stage 9, services: thinking while nothing is asked, on a clock that stands still."""

import asyncio
import time
from dataclasses import dataclass, field
from threading import Event

import pytest

from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.protocol.messages import Abort, Message, Stop
from players.player import GamePlayer
from players.settings import PLAYERS, PlayerSettings
from players.strategies import STRATEGIES
from players.strategy import RoleTask, Thought
from tests.players.doubles import PATIENCE, FakeClock, ThreadWorker, in_threads, maker, play, seen, start
from tests.search.machines import Nim


@dataclass
class Recording:
    """Chooses the first move; ponders until it is told to stop, or is released because nothing is left."""

    told: list[str] = field(default_factory=list)
    begun: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)
    overslept: bool = False

    def make(self, _: RoleTask) -> "Recording":
        return self

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        self.told.append("choose")
        return legal[0]

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        self.told.append(f"ponder {move}")
        self.begun.set()
        until = time.monotonic() + PATIENCE
        try:
            while not thought.stop() and not self.overslept and not self.released.wait(0.001):
                self.overslept = time.monotonic() > until
        finally:  # the end of a match may interrupt it
            self.told.append("end")
            self.ended.set()

    def advance(self, joint_move: JointMove) -> None:
        self.told.append("advance")

    def forget(self) -> None:
        self.told.append("forget")

    def again(self) -> None:
        self.begun.clear()
        self.ended.clear()


class Stage:
    """A player that records."""

    def __init__(self, strategy: Recording, *, ponder: bool = True) -> None:
        self.clock = FakeClock()
        settings = PlayerSettings("recording", margin=0.5, ponder=ponder)
        self.player = GamePlayer(settings, self.clock, in_threads(self.clock, maker(Nim(9))))
        self.strategy = strategy

    def ask(self, message: Message) -> asyncio.Task[str]:
        return asyncio.create_task(asyncio.wait_for(self.player.answer(message, self.clock.now()), PATIENCE))

    async def begin(self) -> None:
        """START is answered because nothing is left to find out."""
        self.strategy.released.set()
        assert await self.ask(start()) == "ready"
        self.strategy.released.clear()
        self.strategy.again()
        self.strategy.told.clear()


@pytest.fixture
def strategy(monkeypatch: pytest.MonkeyPatch) -> Recording:
    recording = Recording()
    monkeypatch.setitem(PLAYERS, "recording", "Records what it is told.")
    monkeypatch.setitem(STRATEGIES, "recording", recording.make)
    return recording


async def test_ready_leaves_at_the_end_of_the_clock_while_there_is_something_to_find_out(strategy: Recording) -> None:
    stage = Stage(strategy)
    task = stage.ask(start(startclock=20))
    await seen(strategy.begun)
    stage.clock.advance(19.4)
    await asyncio.sleep(0)
    assert not task.done()
    stage.clock.advance(0.1)
    assert await task == "ready"
    assert strategy.told == ["ponder None"]  # it goes on
    stage.player.close()
    await seen(strategy.ended)
    assert not strategy.overslept


async def test_ready_leaves_at_once_when_nothing_is_left(strategy: Recording) -> None:
    stage = Stage(strategy)
    task = stage.ask(start())
    await seen(strategy.begun)
    assert not task.done()
    strategy.released.set()
    assert await task == "ready"
    assert strategy.told == ["ponder None", "end"]


async def test_ponders_between_an_answer_and_the_next_question(strategy: Recording) -> None:
    stage = Stage(strategy)
    await stage.begin()
    assert await stage.ask(play()) == "(take 1)"
    await seen(strategy.begun)
    assert await stage.ask(play("(take 1) wait")) == "wait"
    assert strategy.told[:5] == ["choose", "ponder ('take', '1')", "end", "advance", "choose"]
    stage.player.close()
    assert not strategy.overslept


@pytest.mark.parametrize(("message", "word"), [(Stop("m", None), "done"), (Abort("m"), "aborted")])
async def test_the_end_of_the_match_ends_the_pondering(
    strategy: Recording, workers: list[ThreadWorker], message: Message, word: str
) -> None:
    stage = Stage(strategy)
    await stage.begin()
    await stage.ask(play())
    await seen(strategy.begun)
    assert await stage.ask(message) == word
    [worker] = workers
    await seen(worker.has_ended)
    assert strategy.told[-2:] == ["end", "forget"]
    assert not strategy.overslept


async def test_without_pondering_the_startclock_is_used_all_the_same(strategy: Recording) -> None:
    stage = Stage(strategy, ponder=False)
    task = stage.ask(start(startclock=20))
    await seen(strategy.begun)
    stage.clock.advance(19.5)
    assert await task == "ready"
    await seen(strategy.ended)
    assert await stage.ask(play()) == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "wait"
    assert strategy.told == ["ponder None", "end", "choose", "advance", "choose"]


async def test_a_repeated_question_is_answered_and_pondering_goes_on(strategy: Recording) -> None:
    stage = Stage(strategy)
    await stage.begin()
    assert await stage.ask(play()) == "(take 1)"
    await seen(strategy.begun)
    strategy.again()
    assert await stage.ask(play()) == "(take 1)"
    await seen(strategy.begun)
    assert strategy.told.count("choose") == 1
    stage.player.close()
    assert not strategy.overslept
