"""Players in this process: the same matches, clocks and faults as over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gamemaster.match import MatchRunner
from gamemaster.player import LocalPlayer, Player, TellEvaluation
from gamemaster.record import MatchRecord
from gamemaster.replay import replay
from gamemaster.settings import make_settings
from gamemaster.transport import InProcessTransport, whole_body
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Abort, Info, Message, Play, PlayPercepts, Start, Stop
from tests.gamemaster import games
from tests.gamemaster.matches import ThreadRules
from tests.gamemaster.virtual_time import run

Answer = Callable[[int], Awaitable[str]]  # the step → the move


class Local:
    """Answers PLAY by a function, and everything else as expected; to PLAY it says what it thinks, if it is asked."""

    def __init__(self, choose: Answer, thinks: Evaluation | None = None) -> None:
        self._choose = choose
        self._thinks = thinks
        self._steps = 0
        self.heard: list[Message] = []

    async def answer(self, message: Message, *, tell: "TellEvaluation | None" = None) -> str:
        self.heard.append(message)
        if tell is not None and self._thinks is not None:
            tell(self._thinks)
        match message:
            case Info():
                return "( ( name ann ) )"
            case Play() | PlayPercepts():
                self._steps += 1
                return await self._choose(self._steps - 1)
        return "ready"


async def shows_one(_: int) -> str:
    return "(show 1)"


def runner(left: LocalPlayer, right: LocalPlayer, kept: list[MatchRecord]) -> MatchRunner:
    players = {"left": Player("left", "", is_human=True, local=left), "right": Player("right", "bob", local=right)}
    settings = make_settings(seed=3, playclock=5, grace=1.0)
    return MatchRunner(ThreadRules(games.game(games.GUESSING)), players, settings, "m", kept.append, lambda _: None)


def test_a_match_between_players_of_this_process() -> None:
    left, right, kept = Local(shows_one), Local(shows_one), list[MatchRecord]()
    record = run(runner(left, right, kept).run())
    assert (record.status, record.goals, record.faults) == ("terminal", {"left": 100, "right": 100}, ())
    assert [type(message) for message in left.heard] == [Info, Start, Play, Play, Stop]
    assert left.heard[-1] == Stop("m", (("show", "1"), ("show", "1")))
    assert [(player.name, player.kind, player.url) for player in record.players.values()] == [
        ("ann", "human", ""),
        ("bob", "external", ""),
    ]
    assert len(list(replay(kept[-1]))) == 3


def test_one_that_does_not_answer_has_a_timeout_and_is_cancelled() -> None:
    cancelled: list[int] = []

    async def hesitates(step: int) -> str:
        if step == 0:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(step)
                raise
        return "(show 9)"

    record = run(runner(Local(shows_one), Local(hesitates), []).run())
    assert cancelled == [0]
    first, second = (step.faults["right"] for step in record.steps)
    assert (first.kind, first.detail) == ("timeout", "no complete answer within 6 s")
    assert record.steps[0].seconds == {"left": 0.0, "right": pytest.approx(6.0)}
    assert (second.kind, second.answer) == ("illegal", "(show 9)")


async def test_an_answer_without_end_is_malformed() -> None:
    async def says_much(_: int) -> str:
        return "x" * 2000

    reply = await InProcessTransport(Local(says_much), 1000).ask(Play("m", None), 1.0)
    assert not isinstance(reply.answer, str)
    assert (reply.answer.kind, reply.answer.detail) == ("malformed", "an answer of more than 1000 bytes")


def test_a_player_resigns() -> None:
    """The match ends at once, everybody is told, and the record says who it was."""
    kept: list[MatchRecord] = []
    left = Local(shows_one)

    async def resigns(step: int) -> str:
        if step == 1:
            match.give_up("right resigned", resigned="right")
            await asyncio.Event().wait()
        return "(show 2)"

    match = runner(left, Local(resigns), kept)
    record = run(match.run())
    assert (record.status, record.reason, record.resigned) == ("aborted", "right resigned", "right")
    assert (len(record.steps), kept[-1]) == (1, record)
    assert left.heard[-1] == Abort("m")
    assert len(list(replay(record))) == 2
    match.give_up("too late")
    assert record.reason == "right resigned"


def test_a_match_that_is_given_up_and_cancelled_is_cancelled() -> None:
    async def whole() -> None:
        async def waits(_: int) -> str:
            await asyncio.Event().wait()
            return ""

        match = runner(Local(waits), Local(shows_one), [])
        task = asyncio.create_task(match.run())
        await asyncio.sleep(1.0)
        match.give_up("enough")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(whole())


def test_what_a_player_thinks_is_recorded() -> None:
    """In its own role's view; what makes no sense is left out, as over HTTP."""
    sound = Evaluation(value=61.237, seconds=0.25, principal_variation=(("(show 1)", "(show 2)"),))
    strange = Evaluation(value=50.0, principal_variation=(("(show 1)",),))  # two roles choose
    record = run(runner(Local(shows_one, sound), Local(shows_one, strange), []).run())
    for step in record.steps:
        assert step.evaluations == {"left": sound.model_copy(update={"value": 61.24})}


async def test_what_comes_with_no_answer_is_no_evaluation() -> None:
    async def never(_: int) -> str:
        await asyncio.Event().wait()
        return ""

    transport = InProcessTransport(Local(never, Evaluation(value=50.0)), 1000)
    reply = await transport.ask(Play("m", None), 0.01, wants_evaluation=True)
    assert not isinstance(reply.answer, str)
    assert reply.evaluation is None


def test_the_record_says_that_a_bot_keeps_shorter_clocks() -> None:
    """It is told those of the match: START is the same for all."""
    hurried, kept = Local(shows_one), list[MatchRecord]()
    players = {
        "left": Player("left", "ann", local=hurried, clocks=(2, 1)),
        "right": Player("right", "bob", local=Local(shows_one)),
    }
    settings = make_settings(seed=3, startclock=20, playclock=10)
    game = games.game(games.GUESSING)
    record = run(MatchRunner(ThreadRules(game), players, settings, "m", kept.append, lambda _: None).run())
    start = hurried.heard[0]
    assert isinstance(start, Start)
    assert (start.startclock, start.playclock) == (20, 10)
    assert record.players["left"].clocks == (2, 1)
    assert record.players["right"].clocks is None


@pytest.mark.parametrize(
    ("received", "length", "whole"),
    [
        ("(mark 1 1)", 11, None),
        ("(mark 1 1)", 10, "(mark 1 1)"),
        ("(mark 1 1) noise", 10, "(mark 1 1)"),
        ("(märk 1 1)", 11, "(märk 1 1)"),
        ("(märk 1 1)noise", 11, "(märk 1 1)"),
        ("(märk 1 1)", 10, "(märk 1 1)"),
        ("(märk 1 1", 10, None),
        ("märk", 4, "märk"),
        ("märk", 5, "märk"),
        ("noop é", 6, "noop é"),
        ("", 0, ""),
    ],
)
def test_a_length_counts_bytes_or_characters(received: str, length: int, whole: str | None) -> None:
    assert whole_body(received.encode(), length) == (None if whole is None else whole.encode())
