"""Rules in a process of their own: the same referee, and a limit to how long and how much they may work."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gamemaster.evaluator import RULES_BYTES, Evaluator, RemoteRules, RulesheetSource, load_rules
from gamemaster.faults import make_fault
from gamemaster.match import run_match
from gamemaster.player import Player, TellEvaluation
from gamemaster.record import RecordWriter, read_record
from gamemaster.referee import GoesOn, Outcome, Verdict
from gamemaster.replay import replay
from gamemaster.settings import make_settings
from ggp.errors import GgpError
from ggp.protocol.messages import Abort, Message
from tests.gamemaster import games

SETTINGS = make_settings(seed=1, startclock=10, playclock=10)
HURRIED = make_settings(seed=1, startclock=10, playclock=10, rules_wait=0.5)


@pytest.fixture
async def evaluator() -> AsyncIterator[Evaluator]:
    made = Evaluator(RULES_BYTES)
    yield made
    await made.close()


class Goes:
    """A player that always answers the same."""

    def __init__(self) -> None:
        self.heard: list[Message] = []

    async def answer(self, message: Message, *, tell: "TellEvaluation | None" = None) -> str:
        self.heard.append(message)
        return "go"


async def rules_of(evaluator: Evaluator, text: str) -> RemoteRules:
    return await load_rules(evaluator, RulesheetSource("game", text))


async def test_a_match_cannot_tell_where_its_referee_is(evaluator: Evaluator) -> None:
    rules = await rules_of(evaluator, games.SECRET)
    rules.wants_states, rules.width = True, 80
    assert rules.game.roles == ("asker", "keeper")
    assert rules.game.rulesheet.has_percepts
    first = await rules.begin(SETTINGS)
    assert isinstance(first, GoesOn)
    assert first.state
    assert first.picture
    executed, second = await rules.execute({"asker": ("ask", "1"), "keeper": ("hide", "1")})
    assert executed is not None
    assert executed.joint_move == (("ask", "1"), ("hide", "1"))
    assert executed.percepts == {"asker": ("warm",), "keeper": (("asked", "1"),)}
    assert isinstance(second, GoesOn)
    executed, end = await rules.execute({"asker": ("fly",), "keeper": make_fault("timeout", "late")})
    assert executed is not None
    assert {role: fault.kind for role, fault in executed.faults.items()} == {"asker": "illegal", "keeper": "timeout"}
    assert isinstance(end, Outcome)
    assert end.ending == "terminal"
    assert end.goals is not None
    forfeit = await rules.conclude(Verdict("forfeit", "late", ("keeper",)))
    assert (forfeit.ending, forfeit.state) == ("forfeit", end.state)


async def test_states_are_told_only_where_they_are_wanted(evaluator: Evaluator) -> None:
    rules = await rules_of(evaluator, games.COUNTDOWN)
    assert await rules.begin(SETTINGS) == GoesOn(0, None)
    assert isinstance(await rules.conclude(Verdict("forfeit", "why not", ("lonely",))), Outcome)


async def test_a_referee_serves_match_after_match_and_game_after_game(evaluator: Evaluator) -> None:
    for text in (games.COUNTDOWN, games.GUESSING, games.COUNTDOWN):
        rules = await rules_of(evaluator, text)
        assert isinstance(await rules.begin(SETTINGS), GoesOn)


async def test_rules_that_cannot_be_loaded_say_why(evaluator: Evaluator) -> None:
    with pytest.raises(GgpError, match="never closed"):
        await rules_of(evaluator, "(role a")


@pytest.mark.parametrize("name", games.UNANSWERED)
async def test_rules_that_never_answer_break_the_match(name: str, evaluator: Evaluator, tmp_path: Path) -> None:
    """At the beginning or later, whatever makes them run on; the record says so, and can be replayed."""
    rules = await rules_of(evaluator, games.UNANSWERED[name])
    writer = RecordWriter(tmp_path / "record.json")
    player = Goes()
    record = await run_match(rules, {"a": Player("a", "a", local=player)}, HURRIED, "m", writer.write, lambda _: None)
    begun = bool(record.start)
    assert (record.status, record.is_exhausted, record.goals) == ("broken", True, None)
    assert record.reason is not None
    assert record.reason.startswith("the rules give no answer")
    assert "no answer within 0.5 s" in record.reason
    assert begun == (name != "at the beginning")
    assert player.heard[-1:] == ([Abort("m")] if begun else [])
    assert read_record(writer.path) == record
    assert len(list(replay(record))) == len(record.steps) + 1


async def test_a_process_that_others_keep_from_its_processor_has_the_time_it_lacks(evaluator: Evaluator) -> None:
    """Stopped by a signal for longer than it may work."""
    rules = await rules_of(evaluator, games.COUNTDOWN)
    process = evaluator._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    asyncio.get_running_loop().call_later(2.5, process.send_signal, signal.SIGCONT)
    assert isinstance(await rules.begin(make_settings(seed=1, rules_wait=2.0)), GoesOn)


async def test_a_process_that_never_has_its_processor_breaks_the_match(evaluator: Evaluator) -> None:
    rules = await rules_of(evaluator, games.COUNTDOWN)
    assert evaluator._process is not None
    evaluator._process.send_signal(signal.SIGSTOP)
    outcome = await rules.begin(HURRIED)
    assert isinstance(outcome, Outcome)
    assert (outcome.ending, outcome.is_exhausted) == ("broken", True)


async def test_rules_that_need_too_much_memory_break_the_match(tmp_path: Path) -> None:
    evaluator = Evaluator(2**28)
    rules = await rules_of(evaluator, games.HUGE)
    outcome = await rules.begin(make_settings(seed=1, rules_wait=60.0))
    await evaluator.close()
    assert isinstance(outcome, Outcome)
    assert (outcome.ending, outcome.is_exhausted) == ("broken", True)


async def test_answers_are_bounded(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = await rules_of(evaluator, games.COUNTDOWN)
    monkeypatch.setattr("gamemaster.evaluator.LONGEST_ANSWER", 10)
    outcome = await rules.begin(SETTINGS)
    assert isinstance(outcome, Outcome)
    assert (outcome.ending, outcome.is_exhausted) == ("broken", True)
    monkeypatch.undo()
    assert isinstance(await rules.begin(SETTINGS), GoesOn)


async def test_a_match_whose_process_is_gone_is_broken_and_not_stuck(evaluator: Evaluator) -> None:
    rules = await rules_of(evaluator, games.COUNTDOWN)
    await rules.begin(SETTINGS)
    await evaluator.close()
    executed, end = await rules.execute({"lonely": "tick"})
    assert executed is None
    assert isinstance(end, Outcome)
    assert end.ending == "broken"


async def test_a_process_that_was_started_anew_does_not_know_the_match(evaluator: Evaluator) -> None:
    rules = await rules_of(evaluator, games.COUNTDOWN)
    await rules.begin(SETTINGS)
    await evaluator._end()
    executed, end = await rules.execute({"lonely": "tick"})
    assert executed is None
    assert isinstance(end, Outcome)
    assert end.reason == "the rules give no answer for a step: the process that knew the match was ended"
