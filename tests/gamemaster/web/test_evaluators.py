"""Processes that evaluate rules: bounded in time and memory, and replaced when they had to be ended."""

import asyncio
import os
import signal
from itertools import pairwise
from typing import Any

import pytest

from gamemaster.evaluator import RulesheetSource, load_rules
from gamemaster.referee import Outcome
from gamemaster.settings import make_settings
from gamemaster.web.evaluators.pool import START, Course, DrawnStates, Pool, evaluator_of
from gamemaster.web.settings import Limits, Problem
from ggp.errors import EvaluationError, GgpError
from ggp.gdl.reader import read_term
from ggp.library import find_rulesheet

LOOK = {"do": "draw", **START}
_NAMES = [f"?x{number}" for number in range(14)]
SLOW = f"""
(role a) (init s) (legal a go) (<= (next s) (true s)) (goal a 0)
(n 0) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (n 9)
(<= (ok ?x ?y) (n ?x) (n ?y))
(<= terminal {" ".join(f"(n {name})" for name in _NAMES)} (not (ok {_NAMES[0]} {_NAMES[-1]}))
  {" ".join(f"(distinct {one} {other})" for one, other in pairwise(_NAMES))})
"""  # a join without end


def source(name: str) -> RulesheetSource:
    return RulesheetSource(name, find_rulesheet(name).read_text(encoding="utf-8"))


async def test_a_state_is_seen_and_drawn() -> None:
    pool = Pool(1, Limits(), 4)
    look = await pool.ask(source("tictactoe"), LOOK, 20)
    await pool.close()
    assert len(look["facts"]) == 10
    assert look["legal"]["oplayer"] == [{"move": "noop", "clicks": []}]
    assert {"move": "(mark 2 3)", "clicks": [[["", "2 3"]]]} in look["legal"]["xplayer"]
    assert look["svg"].startswith("<svg")
    assert "<style" not in look["svg"]  # the policy of pages would not have it


async def test_what_takes_too_long_is_ended_and_the_next_request_is_served() -> None:
    evaluator = evaluator_of(Limits())
    await evaluator.prepare()
    with pytest.raises(EvaluationError, match=r"no answer within 0\.5 s"):
        await evaluator.ask(RulesheetSource("slow", SLOW), LOOK, 0.5)
    assert len((await evaluator.ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    await evaluator.close()


async def test_memory_is_bounded() -> None:
    evaluator = evaluator_of(Limits(), memory_bytes=3 * 2**26)
    names = " ".join(f"?y{number}" for number in range(8))
    numbers = " ".join(f"(n ?y{number})" for number in range(8))
    huge = f"{SLOW} (<= (legal a (m {names})) {numbers})"  # 100 million moves
    huge = huge.replace("(<= terminal", "(<= (slow)") + "(<= terminal (true t))"
    with pytest.raises(EvaluationError):
        await evaluator.ask(RulesheetSource("huge", huge), LOOK, 30)
    assert len((await evaluator.ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    await evaluator.close()


async def test_mistakes_are_told_in_their_words() -> None:
    evaluator = evaluator_of(Limits())
    with pytest.raises(GgpError, match="never closed"):
        await evaluator.ask(RulesheetSource("broken", "(role a"), LOOK, 20)
    await evaluator.close()


async def test_a_request_that_is_cancelled_ends_the_process() -> None:
    evaluator = evaluator_of(Limits())
    await evaluator.prepare()
    task = asyncio.create_task(evaluator.ask(RulesheetSource("slow", SLOW), LOOK, 60))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not evaluator.is_free
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await evaluator.ask(source("tictactoe"), LOOK, 20))["terminal"] is False
    await evaluator.close()


async def test_what_is_closed_answers_no_more() -> None:
    evaluator = evaluator_of(Limits())
    await evaluator.close()
    with pytest.raises(EvaluationError, match="any more"):
        await evaluator.ask(source("tictactoe"), LOOK, 5)


async def test_a_process_that_is_being_started_has_ended_when_its_evaluator_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would outlive the event loop, where that is closed next."""
    create, begun = asyncio.create_subprocess_exec, asyncio.Event()
    started: list[asyncio.subprocess.Process] = []

    async def create_slowly(*command: Any, **settings: Any) -> asyncio.subprocess.Process:  # noqa: ANN401
        started.append(await create(*command, **settings))
        begun.set()
        await asyncio.sleep(0.1)
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", create_slowly)
    evaluator = evaluator_of(Limits())
    asking = asyncio.create_task(evaluator.ask(source("tictactoe"), LOOK, 20))
    await begun.wait()
    await evaluator.close()
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    with pytest.raises(EvaluationError, match="any more"):
        await asking


async def test_a_pool_turns_away_whom_it_could_not_serve_soon() -> None:
    pool = Pool(1, Limits(), 1)
    first = asyncio.create_task(pool.ask(RulesheetSource("slow", SLOW), LOOK, 0.5))
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


async def test_who_asks_much_waits_behind_those_who_ask_little() -> None:
    pool, answered = Pool(1, Limits(visitor_waiting=2), 4), list[str]()

    async def ask(visitor: str) -> None:
        await pool.of(visitor).ask(source("tictactoe"), LOOK, 20)
        answered.append(visitor)

    async with asyncio.TaskGroup() as group:
        for visitor in ("greedy", "greedy", "greedy", "modest"):
            group.create_task(ask(visitor))
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="2 requests of yours wait already") as refused:
            await ask("greedy")
        assert refused.value.status == 503
    assert answered == ["greedy", "modest", "greedy", "greedy"]
    await pool.close()


async def test_a_visitor_leaves_a_process_to_others() -> None:
    pool = Pool(2, Limits(), 8)
    slow = [asyncio.create_task(pool.of("greedy").ask(RulesheetSource("slow", SLOW), LOOK, 1)) for _ in range(3)]
    await asyncio.sleep(0)
    assert len((await pool.of("modest").ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    assert not any(task.done() for task in slow[1:])
    for found in await asyncio.gather(*slow, return_exceptions=True):
        assert isinstance(found, EvaluationError)
    await pool.close()


async def test_a_visitor_who_goes_waits_no_longer_and_ends_no_process() -> None:
    pool = Pool(1, Limits(), 4)
    await pool.prepare()
    process = pool._evaluators[0]._process
    asked = [asyncio.create_task(pool.of("visitor").ask(source("tictactoe"), LOOK, 20)) for _ in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert pool._waiting == {"visitor": 2}
    for task in asked:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not pool._waiting
    assert len((await pool.ask(source("tictactoe"), LOOK, 20))["facts"]) == 10
    assert pool._evaluators[0]._process is process
    await pool.close()


async def test_processes_end_with_the_pool() -> None:
    pool = Pool(2, Limits(), 4)
    await pool.prepare()
    processes = [evaluator._process for evaluator in pool._evaluators]
    await pool.close()
    for process in processes:
        assert process is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


LONG = 300 * "x"
GROWING = f"""
(role a) (init (s 0)) (n 0) (n 1) (n 2) (n 3) (n 4) (n 5) (n 6) (n 7) (n 8) (n 9)
(legal a wide) (legal a (long word)) (legal a many)
(<= (next (c ?w ?x ?y ?z)) (does a wide) (n ?w) (n ?x) (n ?y) (n ?z))
(<= (next (m {LONG})) (does a (long word)))
(<= (next choose) (does a many))
(<= (legal a (pick ?w ?x ?y ?z)) (true choose) (n ?w) (n ?x) (n ?y) (n ?z))
(<= (next (s 0)) (true (s 0)))
(<= terminal (true never)) (goal a 0)
"""


def course(*moves: str) -> Course:
    return Course(" ".join(moves), RulesheetSource("growing", GROWING), [(move,) for move in moves])


@pytest.mark.parametrize(
    ("move", "limits", "reason"),
    [
        ("wide", Limits(facts=5_000), "a state of 10,001 facts; the limit here is 5,000"),
        ("(long word)", Limits(term_bytes=200), "a fact of 304 letters; the limit here is 200"),
        ("many", Limits(state_bytes=50_000), "10,003 moves of 140,019 letters together; the limit here is 50,000"),
    ],
)
async def test_a_state_is_bounded(move: str, limits: Limits, reason: str) -> None:
    """For the referee, whose match is broken then; and for readers, who are told why nothing is shown."""
    evaluator = evaluator_of(limits)
    source = course().source
    rules = await load_rules(evaluator, source, 20)
    await rules.begin(make_settings(seed=1))
    _, outcome = await rules.execute({"a": read_term(move)})
    assert isinstance(outcome, Outcome)
    assert outcome.ending == "broken"
    assert reason in (outcome.reason or "")
    request = {"do": "draw", **course(move).at(1)}
    if move == "many":  # the state itself can be shown
        assert reason in (await evaluator.ask(source, request, 20))["problem"]
    else:
        with pytest.raises(EvaluationError, match=reason):
            await evaluator.ask(source, request, 20)
    await evaluator.close()


async def test_states_follow_from_moves_also_where_the_process_forgot_them() -> None:
    pool, states = Pool(1, Limits(), 4), DrawnStates(10_000_000)
    way = course(*["many", "(pick 1 2 3 4)"] * 20)
    last = await states.draw(pool, way, 40, 20)
    assert last.facts == ("(s 0)",)
    (evaluator,) = pool._evaluators
    await evaluator._end()  # as when another rulesheet took too long
    assert (await states.draw(pool, way, 39, 20)).facts == ("(s 0)", "choose")
    assert states.known(way, 40) == last
    with pytest.raises(Problem, match="no state 41"):
        await states.draw(pool, way, 41, 20)
    await pool.close()


async def test_drawn_states_take_a_bounded_number_of_bytes() -> None:
    pool, states = Pool(1, Limits(), 4), DrawnStates(1)
    way = course("many", "wide")
    for step in range(3):
        await states.draw(pool, way, step, 20)
    assert [states.known(way, step) is None for step in range(3)] == [True, True, False]
    await pool.close()
