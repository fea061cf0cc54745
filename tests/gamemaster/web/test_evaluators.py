"""Processes that evaluate rules: bounded in time and memory, and replaced when they had to be ended."""

import asyncio
import os
from itertools import pairwise

import pytest

from gamemaster.referee import Choice, Outcome, Referee
from gamemaster.settings import make_settings
from gamemaster.web.evaluators.pool import Evaluator, Pool, Source
from gamemaster.web.live.runner import remote_game
from gamemaster.web.problems import Problem
from ggp.errors import EvaluationError, GgpError, UnknownRoleError
from ggp.library import rules_folder
from tests.gamemaster import games

BYTES = 2**31
LOOK = {"do": "draw", "state": None}
_NAMES = [f"?x{number}" for number in range(14)]
SLOW = f"""
(role a) (init s) (legal a go) (<= (next s) (true s)) (goal a 0)
(n 0) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (n 9)
(<= (ok ?x ?y) (n ?x) (n ?y))
(<= terminal {" ".join(f"(n {name})" for name in _NAMES)} (not (ok {_NAMES[0]} {_NAMES[-1]}))
  {" ".join(f"(distinct {one} {other})" for one, other in pairwise(_NAMES))})
"""  # a join without end


def source(name: str) -> Source:
    return Source(name, (rules_folder() / f"{name}.kif").read_text(encoding="utf-8"))


async def test_a_state_is_seen_and_drawn() -> None:
    pool = Pool(1, BYTES, 4)
    look = await pool.ask(source("tictactoe"), LOOK, 20)
    await pool.close()
    assert len(look["facts"]) == 10
    assert look["legal"]["oplayer"] == [{"move": "noop", "clicks": []}]
    assert {"move": "(mark 2 3)", "clicks": [[["", "2 3"]]]} in look["legal"]["xplayer"]
    assert look["svg"].startswith("<svg")
    assert "<style" not in look["svg"]  # the policy of pages would not have it


async def test_what_takes_too_long_is_ended_and_the_next_request_is_served() -> None:
    evaluator = Evaluator(BYTES)
    await evaluator.prepare()
    with pytest.raises(EvaluationError, match=r"no answer within 0\.5 s"):
        await evaluator.ask(Source("slow", SLOW), LOOK, 0.5)
    assert len((await evaluator.ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    await evaluator.close()


async def test_memory_is_bounded() -> None:
    evaluator = Evaluator(3 * 2**26)
    names = " ".join(f"?y{number}" for number in range(8))
    numbers = " ".join(f"(n ?y{number})" for number in range(8))
    huge = f"{SLOW} (<= (legal a (m {names})) {numbers})"  # 100 million moves
    huge = huge.replace("(<= terminal", "(<= (slow)") + "(<= terminal (true t))"
    with pytest.raises(EvaluationError):
        await evaluator.ask(Source("huge", huge), LOOK, 30)
    assert len((await evaluator.ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    await evaluator.close()


async def test_mistakes_are_told_in_their_words() -> None:
    evaluator = Evaluator(BYTES)
    with pytest.raises(GgpError, match="never closed"):
        await evaluator.ask(Source("broken", "(role a"), LOOK, 20)
    await evaluator.close()


async def test_a_request_that_is_cancelled_ends_the_process() -> None:
    evaluator = Evaluator(BYTES)
    await evaluator.prepare()
    task = asyncio.create_task(evaluator.ask(Source("slow", SLOW), LOOK, 60))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not evaluator.is_free
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await evaluator.ask(source("tictactoe"), LOOK, 20))["terminal"] is False
    await evaluator.close()


async def test_what_is_closed_answers_no_more() -> None:
    evaluator = Evaluator(BYTES)
    await evaluator.close()
    with pytest.raises(EvaluationError, match="any more"):
        await evaluator.ask(source("tictactoe"), LOOK, 5)


async def test_a_pool_turns_away_whom_it_could_not_serve_soon() -> None:
    pool = Pool(1, BYTES, 1)
    first = asyncio.create_task(pool.ask(Source("slow", SLOW), LOOK, 0.5))
    second = asyncio.create_task(pool.ask(source("tictactoe"), LOOK, 20))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(Problem, match="try again") as refused:
        await pool.ask(source("tictactoe"), LOOK, 20)
    assert refused.value.status == 503
    with pytest.raises(EvaluationError):
        await first
    assert len((await second)["facts"]) == 10
    await pool.close()


async def test_processes_end_with_the_pool() -> None:
    pool = Pool(2, BYTES, 4)
    await pool.prepare()
    processes = [evaluator._process for evaluator in pool._evaluators]
    await pool.close()
    for process in processes:
        assert process is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


async def test_a_referee_cannot_tell_the_difference() -> None:
    evaluator = Evaluator(BYTES)
    game = await remote_game(evaluator, Source("secret", games.SECRET), 20)
    referee = Referee(game.rulesheet, game.machine, make_settings(seed=1))
    choice = await asyncio.to_thread(referee.begin)
    assert isinstance(choice, Choice)
    assert choice.legal["asker"] == (("ask", "1"), ("ask", "2"))
    answers = {"asker": ("ask", "1"), "keeper": ("hide", "1")}
    executed, choice = await asyncio.to_thread(referee.execute, choice, answers)
    assert executed.percepts == {"asker": ("warm",), "keeper": (("asked", "1"),)}
    assert isinstance(choice, Choice)
    _, end = await asyncio.to_thread(referee.execute, choice, answers)
    assert isinstance(end, Outcome)
    assert end.goals == {"asker": 50, "keeper": 50}
    with pytest.raises(UnknownRoleError):
        await asyncio.to_thread(game.machine.legal_moves, choice.state, "nobody")
    assert await asyncio.to_thread(game.machine.goal_values, choice.state, "asker") == (50,)
    await evaluator.close()


async def test_a_match_whose_process_is_gone_is_broken_and_not_stuck() -> None:
    evaluator = Evaluator(BYTES)
    game = await remote_game(evaluator, Source("countdown", games.COUNTDOWN), 20)
    referee = Referee(game.rulesheet, game.machine, make_settings(seed=1))
    choice = await asyncio.to_thread(referee.begin)
    assert isinstance(choice, Choice)
    await evaluator.close()
    _, end = await asyncio.to_thread(referee.execute, choice, {"lonely": "tick"})
    assert isinstance(end, Outcome)
    assert end.ending == "broken"
