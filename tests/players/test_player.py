"""Stage 9, services: the replies of a player and when they leave, on a clock that stands still. No HTTP here."""

import asyncio
import errno
import logging
from operator import itemgetter
from threading import Event

import pytest

from ggp.errors import EvaluationError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.protocol.messages import (
    Abort,
    Info,
    Message,
    Ping,
    PlayPercepts,
    Preview,
    Start,
    Stop,
    StopPercepts,
    parse_info,
)
from players.player import GamePlayer
from players.settings import PlayerSettings
from players.strategies import STRATEGIES, Memoryless
from players.strategy import RoleTask, Strategy
from players.thinker import make_interpreter
from players.worker import MatchWorker
from tests.players.doubles import (
    PATIENCE,
    RULES,
    FakeClock,
    StuckNim,
    ThreadWorker,
    in_threads,
    maker,
    play,
    seen,
    start,
)
from tests.search.machines import Nim


class Stage:
    """A player, its clock, and its machine."""

    def __init__(self, machine: StateMachine, strategy: str = "legal", move_time: float = 0.0) -> None:
        self.clock = FakeClock()
        settings = PlayerSettings(strategy, seed=1, margin=0.5, move_time=move_time, abandon=30)
        make = machine.make if isinstance(machine, StuckNim) else maker(machine)
        self.player = GamePlayer(settings, self.clock, in_threads(self.clock, make))

    def ask(self, message: Message) -> asyncio.Task[str]:
        return asyncio.create_task(asyncio.wait_for(self.player.answer(message, self.clock.now()), PATIENCE))

    async def status(self) -> str:
        return parse_info(await self.ask(Info())).status


def player_of(settings: PlayerSettings) -> GamePlayer:
    clock = FakeClock()
    return GamePlayer(settings, clock, in_threads(clock, maker(Nim(5))))


async def settle() -> None:
    """Lets everything run that waits for nothing but the loop."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_match_from_start_to_stop() -> None:
    stage = Stage(Nim(5))
    assert await stage.status() == "available"
    assert await stage.ask(start()) == "ready"
    assert await stage.status() == "busy"
    assert await stage.ask(play()) == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "wait"
    assert await stage.ask(Stop("m", play("wait (take 3)").moves)) == "done"
    assert await stage.status() == "available"


async def test_info_tells_the_name() -> None:
    named = player_of(PlayerSettings("legal", name="Deep Thought"))
    assert await named.answer(Info(), 0) == "( ( name Deep_Thought ) ( status available ) ( species alien ) )"
    assert parse_info(await player_of(PlayerSettings("legal")).answer(Info(), 0)).name == "legal"


async def test_one_match_at_a_time() -> None:
    stage = Stage(Nim(5))
    messages: list[Message] = [play(), Stop("m", None), Abort("m"), PlayPercepts("m", 0, None, ())]
    for message in messages:
        assert await stage.ask(message) == "busy"
    await stage.ask(start("one"))
    messages = [start("two"), play(match="two"), Stop("two", None), Abort("two"), Ping(), Preview(RULES, 5)]
    for message in messages:
        assert await stage.ask(message) == "busy"
    assert await stage.ask(play(match="ONE")) == "(take 1)"  # the same match in another case
    assert await stage.ask(StopPercepts("One", 1, None, ())) == "done"
    assert await stage.ask(Ping()) == "ready"
    assert await stage.ask(Preview(RULES, 5)) == "ready"
    assert await stage.ask(start("two")) == "ready"


async def test_repeated_ends_are_answered_again() -> None:
    stage = Stage(Nim(5))
    await stage.ask(start())
    assert [await stage.ask(Stop("m", None)), await stage.ask(Stop("m", None))] == ["done", "done"]
    assert await stage.ask(Abort("m")) == "aborted"
    assert await stage.ask(Abort("other")) == "busy"


async def test_repeated_start_begins_nothing_anew() -> None:
    made = []

    def make(_: Rulesheet) -> StateMachine:
        made.append(Nim(5))
        return made[-1]

    clock = FakeClock()
    player = GamePlayer(PlayerSettings("legal"), clock, in_threads(clock, make))
    assert await player.answer(start(), clock.now()) == "ready"
    await player.answer(play("(take 1) wait"), clock.now())
    assert await player.answer(start("M"), clock.now()) == "ready"
    assert len(made) == 2  # one follows the match, the other is the strategy's
    assert await player.answer(play("wait (take 1)"), clock.now()) == "(take 1)"
    for other in (start(role="right"), start(rules="(role left)")):
        assert await player.answer(other, clock.now()) == "busy"
    player.close()


async def test_repeated_start_while_the_rules_are_read_waits_for_the_same(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "make")
    machines.append(stuck)
    stage = Stage(stuck)
    tasks = [stage.ask(start()), stage.ask(start())]
    await seen(stuck.is_stuck)
    assert not any(task.done() for task in tasks)
    stuck.released.set()
    assert await asyncio.gather(*tasks) == ["ready", "ready"]


async def test_ready_leaves_in_time_and_the_rules_are_read_on(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "make")
    machines.append(stuck)
    stage = Stage(stuck)
    task = stage.ask(start(startclock=20))
    await seen(stuck.is_stuck)
    stage.clock.advance(19.4)
    await settle()
    assert not task.done()
    stage.clock.advance(0.1)
    assert await task == "ready"
    first = stage.ask(play())
    stuck.released.set()
    assert await first == "(take 1)"


async def test_answer_leaves_before_the_deadline_whatever_the_search_does(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "next_state")
    machines.append(stuck)
    stage = Stage(stuck, "montecarlo")
    await stage.ask(start(playclock=10))
    task = stage.ask(play())
    await seen(stuck.is_stuck)
    stage.clock.advance(9.4)
    await settle()
    assert not task.done()
    stage.clock.advance(0.1)
    assert await task == "(take 1)"


async def test_before_any_legal_move_is_known_there_is_nothing_to_say(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "legal_moves")
    machines.append(stuck)
    stage = Stage(stuck)
    ready = stage.ask(start(startclock=20, playclock=10))
    await seen(stuck.is_stuck)
    stage.clock.advance(19.5)
    assert await ready == "ready"
    task = stage.ask(play())
    await settle()
    stage.clock.advance(9.5)
    assert await task == "nil"


async def test_a_legal_move_is_known_before_there_is_a_strategy(
    monkeypatch: pytest.MonkeyPatch, workers: list[ThreadWorker]
) -> None:
    """What a strategy does when it is made, such as compiling, costs no move."""
    is_made, released = Event(), Event()

    def make(_: RoleTask) -> Strategy:
        is_made.set()
        assert released.wait(PATIENCE)
        return Memoryless(itemgetter(-1))

    monkeypatch.setitem(STRATEGIES, "random", make)
    stage = Stage(Nim(5), "random")
    ready = stage.ask(start(startclock=20, playclock=10))
    await seen(is_made)
    stage.clock.advance(19.5)
    assert await ready == "ready"
    first = stage.ask(play())
    await settle()
    stage.clock.advance(9.5)
    assert await first == "(take 1)"
    released.set()
    assert await stage.ask(play("(take 1) wait")) == "wait"


@pytest.mark.parametrize("moment", ["before PLAY", "during PLAY"])
async def test_another_process_takes_the_place_of_one_that_ended(
    moment: str, workers: list[ThreadWorker], machines: list[StuckNim], caplog: pytest.LogCaptureFixture
) -> None:
    """It is told all that was told before, and plays on."""
    stuck = StuckNim(9, "next_state")
    machines.append(stuck)
    stuck.released.set()
    stage = Stage(stuck, "montecarlo")
    assert await stage.ask(start()) == "ready"
    stage.clock.advance(0.1)
    for told in (None, "(take 1) wait"):
        task = stage.ask(play(told))
        await settle()
        stage.clock.advance(9.5)
        await task
    news = play("wait (take 2)")
    if moment == "before PLAY":
        workers[0].lose("its process was ended by SIGKILL")
    task = stage.ask(news)
    await settle()
    if moment == "during PLAY":
        workers[0].lose("its process was ended by SIGKILL")
    move = await task
    assert caplog.messages == ["m: its process was ended by SIGKILL; legal plays on in another one"]
    assert move == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "wait"
    assert [type(request).__name__ for request in workers[1].asked][:4] == ["Begin", "Follow", "Follow", "Choose"]


async def test_a_match_is_given_up_when_its_processes_end_again_and_again(
    workers: list[ThreadWorker], caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(Nim(9))
    assert await stage.ask(start()) == "ready"
    for _ in range(3):
        assert await stage.status() == "busy"
        workers[-1].lose("its process ended with exit code 1")
        await settle()
    assert await stage.status() == "available"
    assert await stage.ask(play()) == "busy"
    assert caplog.messages[-1] == "m: its process ended with exit code 1; the match is given up"
    assert await stage.ask(start("next")) == "ready"
    assert await stage.ask(play(match="next")) == "(take 1)"


async def test_rules_that_end_the_process_are_declined(
    workers: list[ThreadWorker], machines: list[StuckNim], caplog: pytest.LogCaptureFixture
) -> None:
    stuck = StuckNim(5, "make")
    machines.append(stuck)
    stage = Stage(stuck)
    task = stage.ask(start())
    await seen(stuck.is_stuck)
    workers[0].lose("its process was ended by SIGKILL")
    assert await task == "busy"
    assert await stage.status() == "available"
    assert caplog.messages == ["m: its process was ended by SIGKILL; the match is given up"]


async def test_short_clocks_have_a_short_margin(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "next_state")
    machines.append(stuck)
    stage = Stage(stuck, "montecarlo")
    await stage.ask(start(playclock=1))
    task = stage.ask(play())
    await seen(stuck.is_stuck)
    stage.clock.advance(0.85)
    await settle()
    assert not task.done()
    stage.clock.advance(0.03)
    assert await task == "(take 1)"


async def test_no_answer_takes_longer_than_it_may(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "next_state")
    machines.append(stuck)
    stage = Stage(stuck, "montecarlo", move_time=4.0)
    assert await stage.ask(start(playclock=10)) == "ready"
    task = stage.ask(play())
    await seen(stuck.is_stuck)
    stage.clock.advance(3.45)
    await settle()
    assert not task.done()
    stage.clock.advance(0.1)
    assert await task == "(take 1)"


async def test_where_no_process_can_be_made_the_match_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    def none(*_: object) -> MatchWorker:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    stage = Stage(Nim(5))
    stage.player = GamePlayer(stage.player.settings, stage.clock, none)
    assert await stage.ask(start()) == "busy"
    assert await stage.ask(play()) == "busy"
    assert await stage.status() == "available"
    assert caplog.messages == ["m: no process to think in: Resource temporarily unavailable; the match is given up"]


async def test_slow_step_is_made_up_for_later(machines: list[StuckNim]) -> None:
    """A step that outlasts its playclock is still made, and the next answer knows it."""
    stuck = StuckNim(5, "next_state")
    machines.append(stuck)
    stage = Stage(stuck)
    await stage.ask(start(playclock=10))
    assert await stage.ask(play()) == "(take 1)"
    late = stage.ask(play("(take 1) wait"))
    await seen(stuck.is_stuck)
    stage.clock.advance(9.5)
    assert await late == "nil"
    task = stage.ask(play("wait (take 1)"))
    stuck.released.set()
    assert await task == "(take 1)"


async def test_play_repeated_while_it_is_thought_about_shares_the_answer(machines: list[StuckNim]) -> None:
    stuck = StuckNim(30, "next_state")
    machines.append(stuck)
    stage = Stage(stuck)
    await stage.ask(start())
    await stage.ask(play())
    tasks = [stage.ask(play("(take 1) wait")), stage.ask(play("(take 1) wait", match="M"))]
    await seen(stuck.is_stuck)
    stuck.released.set()
    assert await asyncio.gather(*tasks) == ["wait", "wait"]
    assert await stage.ask(play("wait (take 1)")) == "(take 1)"


async def test_newer_play_ends_the_older_thought(machines: list[StuckNim]) -> None:
    stuck = StuckNim(30, "next_state")
    machines.append(stuck)
    stage = Stage(stuck, "montecarlo")
    await stage.ask(start())
    older = stage.ask(play())
    await seen(stuck.is_stuck)
    newer = stage.ask(play("(take 1) wait"))
    assert await older == "(take 1)"
    stuck.released.set()
    assert await newer == "wait"


@pytest.mark.parametrize(("message", "word"), [(Stop("m", None), "done"), (Abort("m"), "aborted")])
async def test_the_end_stops_the_thinking_at_once(message: Message, word: str, machines: list[StuckNim]) -> None:
    stuck = StuckNim(1000, "next_state")
    machines.append(stuck)
    stage = Stage(stuck, "montecarlo")
    await stage.ask(start())
    thinking = stage.ask(play())
    await seen(stuck.is_stuck)
    assert await stage.ask(message) == word
    assert await stage.status() == "available"
    assert await thinking == "(take 1)"
    match = start("next")
    assert await stage.ask(match) == "ready"  # though the thread of the old match is stuck for good


async def test_abort_while_the_rules_are_read(machines: list[StuckNim]) -> None:
    stuck = StuckNim(5, "make")
    machines.append(stuck)
    stage = Stage(stuck)
    waiting = stage.ask(start())
    await seen(stuck.is_stuck)
    assert await stage.ask(Abort("m")) == "aborted"
    assert await waiting == "busy"
    stuck.released.set()
    await settle()
    assert await stage.status() == "available"


async def test_abandoned_match_frees_the_player_after_a_while() -> None:
    stage = Stage(Nim(9))
    await stage.ask(start("one", startclock=20, playclock=10))
    stage.clock.advance(20 + 30)
    assert await stage.status() == "busy"
    await stage.ask(play(match="one"))
    stage.clock.advance(10 + 30)
    assert await stage.status() == "busy"
    stage.clock.advance(0.1)
    assert await stage.status() == "available"
    assert await stage.ask(play("(take 1) wait", match="one")) == "wait"  # heard of again before anyone else came
    assert await stage.status() == "busy"
    stage.clock.advance(10 + 30.1)
    assert await stage.ask(start("two")) == "ready"
    assert await stage.ask(play(match="one")) == "busy"
    assert await stage.ask(play(match="two")) == "(take 1)"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (start(rules="(role left) (<= p"), "m:1:13: '(' is never closed"),
        (start(rules="(<= p (not))"), "m:1:7: 'not' takes one sentence"),
        (start(role="white"), "no role is called 'white'; the roles are left, right"),
    ],
)
async def test_match_that_cannot_be_played_is_answered_busy_and_logged_in_one_line(
    message: Start, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    player = GamePlayer(PlayerSettings("legal"), clock, in_threads(clock, make_interpreter))
    assert await player.answer(message, clock.now()) == "busy"
    assert len(caplog.messages) == 1
    assert line in caplog.messages[0]
    assert caplog.records[0].levelno == logging.WARNING
    assert not caplog.records[0].exc_info
    assert parse_info(await player.answer(Info(), clock.now())).status == "available"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (EvaluationError("a recursion does not end"), "m: a recursion does not end"),
        (RecursionError(), "m: the rules need too much: RecursionError"),
        (MemoryError(), "m: the rules need too much: MemoryError"),
    ],
)
async def test_rules_without_meaning_in_a_state_are_answered_nil(
    error: Exception, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Nim):
        def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
            if state != self.initial_state:
                raise error
            return super().legal_moves(state, role)

    stage = Stage(Broken(5))
    assert await stage.ask(start()) == "ready"
    assert await stage.ask(play()) == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "nil"
    assert caplog.messages == [line]
    assert not caplog.records[0].exc_info
    assert await stage.ask(Stop("m", None)) == "done"


async def test_a_fault_of_the_program_costs_a_move_but_not_the_service(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Nim):
        def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
            raise ZeroDivisionError

    stage = Stage(Faulty(5))
    await stage.ask(start())
    assert await stage.ask(play("(take 1) wait")) == "nil"
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert await stage.ask(play()) == "(take 1)"
