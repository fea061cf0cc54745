"""What a player thinks of a state: told beside its move, only to those who ask, and never in the way of the move."""

import asyncio
from dataclasses import replace
from threading import Event
from typing import NoReturn

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from pytest_aiohttp.plugin import AiohttpClient

import ggp
import players.engines
import players.service
import players.strategies
from ggp.engines import make_machine
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import to_text
from ggp.protocol.evaluation import HEADER, MOST_STEPS, Evaluation, parse_evaluation
from ggp.protocol.messages import Message, format_message
from ggp.search.loading import load_kernels
from ggp.search.mcts.result import Variations
from ggp.search.mcts.search import BatchedMcts, SearchResult
from players.player import GamePlayer
from players.service import listening
from players.settings import PlayerSettings
from players.strategy import Thought
from players.tolerant import RequestReader
from tests.gamemaster.games import GUESSING
from tests.players.doubles import NIM, PATIENCE, FakeClock, StuckNim, app_with, in_threads, maker, play, seen, start
from tests.players.test_mcts import CLIMB, Counted, thinker_of
from tests.search.machines import Nim

Client = TestClient[Request, Application]


async def ask(client: Client, message: Message, wanted: str | None = "1") -> tuple[str, str | None]:
    """The answer and what is told beside it."""
    headers = {} if wanted is None else {HEADER: wanted}
    async with asyncio.timeout(PATIENCE):
        async with client.post("/", data=format_message(message).encode(), headers=headers) as response:
            assert response.status == 200
            return await response.text(), response.headers.get(HEADER)


async def player(aiohttp_client: AiohttpClient, strategy: str, machine: StateMachine | None = None) -> Client:
    settings = PlayerSettings(strategy, seed=1)
    return await aiohttp_client(app_with(settings, HastyClock(), machine or Nim(5)))


class HastyClock(FakeClock):
    """A hundredth of a second passes with each look, so that every search ends by itself; no timer ever rings."""

    def now(self) -> float:
        self._now += 0.01
        return self._now


async def test_it_is_told_to_whoever_asks(aiohttp_client: AiohttpClient) -> None:
    client = await player(aiohttp_client, "montecarlo")
    assert await ask(client, start()) == ("ready", None)
    move, told = await ask(client, play())
    assert move.startswith("(take")
    assert told is not None
    evaluation = parse_evaluation(told)
    assert evaluation.value is not None
    assert evaluation.visits
    assert evaluation.seconds == pytest.approx(10 - 1 / 8, abs=1.5)  # by the player's own clock


@pytest.mark.parametrize("wanted", [None, "", "0", "2", "yes", "1, 1"])
async def test_nobody_else_hears_of_it(aiohttp_client: AiohttpClient, wanted: str | None) -> None:
    client = await player(aiohttp_client, "montecarlo")
    await ask(client, start(), wanted)
    move, told = await ask(client, play(), wanted)
    assert move.startswith("(take")
    assert told is None


@pytest.mark.parametrize("strategy", ["legal", "random"])
async def test_those_who_do_not_think_say_nothing(aiohttp_client: AiohttpClient, strategy: str) -> None:
    client = await player(aiohttp_client, strategy)
    await ask(client, start())
    assert (await ask(client, play()))[1] is None


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.0\r\nggp-evaluation:1\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.0\nGGP-EVALUATION:   1  \nContent-Length: 6\n\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nGGP-Evaluation: 1\r\n\r\n",
    ],
)
def test_the_question_gets_through_whatever_the_request_looks_like(head: bytes) -> None:
    request = RequestReader(1000).feed(head + b"(INFO)")
    assert request is not None
    assert f"\r\n{HEADER}: 1\r\n".encode() in request


@pytest.mark.parametrize("line", [b"", b"GGP-Evaluation: 2\r\n", b"X-GGP-Evaluation: 1\r\n"])
def test_no_question_is_made_up(line: bytes) -> None:
    request = RequestReader(1000).feed(b"POST / HTTP/1.0\r\n" + line + b"\r\n(INFO)")
    assert request is not None
    assert HEADER.encode() not in request


async def test_over_a_real_socket() -> None:
    """With the part in front that mends what game masters send."""
    app = app_with(PlayerSettings("montecarlo", seed=1), HastyClock(), Nim(5))
    async with listening(app, "127.0.0.1", 0, 10_000) as port:
        for message in (start(), play()):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = format_message(message).encode()
            writer.write(b"POST / HTTP/1.0\r\nGGP-Evaluation: 1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            async with asyncio.timeout(PATIENCE):
                answer = (await reader.read()).decode()
            writer.close()
    head, _, move = answer.partition("\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    assert move.startswith("(take")
    assert parse_evaluation(fields[HEADER]).value is not None


class WatchedNim(StuckNim):
    """Tells when so many states were worked out that the search has seen something."""

    def __init__(self) -> None:
        super().__init__(12, "next_state")
        self.is_known = Event()
        self._states = 0

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        self._states += 1
        if self._states == 1000:  # a playout takes at most twelve
            self.is_known.set()
        return super().next_state(state, joint_move)


async def test_a_repeated_question_hears_the_same(aiohttp_client: AiohttpClient, machines: list[StuckNim]) -> None:
    machine = WatchedNim()
    machines.append(machine)
    clock = FakeClock()
    client = await aiohttp_client(app_with(PlayerSettings("montecarlo"), clock, machine))
    await ask(client, start())
    first, second = (asyncio.create_task(ask(client, play())) for _ in range(2))
    await seen(machine.is_stuck)
    machine.released.set()
    await seen(machine.is_known)
    while not (first.done() and second.done()):
        clock.advance(0.1)
        await asyncio.sleep(0)
    assert first.result() == second.result()
    assert first.result()[1] is not None


def fail(*_: object) -> NoReturn:
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("module", "name"), [(players.strategies, "uct_evaluation"), (players.service, "format_evaluation")]
)
async def test_a_failure_costs_no_move(
    aiohttp_client: AiohttpClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: object,
    name: str,
) -> None:
    monkeypatch.setattr(module, name, fail)
    client = await player(aiohttp_client, "montecarlo", Nim(6))
    await ask(client, start())
    move, told = await ask(client, play())
    assert move == "(take 2)"  # found by the whole search, which went on
    assert told is None
    assert [line for line in caplog.messages if "no evaluation, by a fault of this program: ValueError: broken" in line]


async def test_the_move_does_not_wait_for_it() -> None:
    """What is known when the move leaves is told, though the thread that searches is stuck."""
    machine = StuckNim(5, "next_state")
    clock = FakeClock()
    agent = GamePlayer(PlayerSettings("montecarlo"), clock, in_threads(clock, maker(machine)))
    told: list[Evaluation] = []
    await agent.answer(start(), clock.now())
    asking = asyncio.create_task(agent.answer(play(), clock.now(), told.append))
    await seen(machine.is_stuck)
    clock.advance(10)
    assert await asyncio.wait_for(asking, PATIENCE) == "(take 1)"
    assert told == []
    machine.released.set()
    agent.close()


def wanting(looks: int = 100_000) -> Thought:
    thought = Counted().thought(looks)
    thought.wants_evaluation = True
    return thought


def test_nothing_is_made_unless_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    load_kernels()  # which makes all that there is
    monkeypatch.setattr(players.engines, "_evaluation", fail)
    monkeypatch.setattr(BatchedMcts, "principal_variation", fail)
    thinker, thought = thinker_of(NIM.format(heap=6), "left"), Counted().thought()
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert thought.move == ("take", "2")
    assert (thought.evaluation, thought.failure) == (None, "")


def test_a_tree_proves_what_it_is_worth() -> None:
    thinker, thought = thinker_of(NIM.format(heap=6), "left"), wanting()
    thinker.choose(play(), None, thought)
    thinker.forget()
    evaluation = thought.evaluation
    assert evaluation is not None
    assert (evaluation.value, evaluation.lower, evaluation.upper) == (100, 100, 100)
    assert evaluation.visits
    assert evaluation.principal_variation[0] == ("(take 2)", "wait")


def test_no_evaluation_of_an_unvisited_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a game of many moves the best one may have no visit that is backed up yet."""
    found = BatchedMcts.result

    def unvisited(search: BatchedMcts, role: str) -> SearchResult:
        result = found(search, role)
        moves = (replace(report, visits=0, value=None, lower=0.0, upper=1.0) for report in result.moves)
        return replace(result, moves=tuple(moves))

    monkeypatch.setattr(BatchedMcts, "result", unvisited)
    thinker, thought = thinker_of(ggp.load("connectfour").rulesheet.text, "red"), wanting(600)
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert thought.move is not None
    assert (thought.evaluation, thought.failure) == (None, "")


@pytest.mark.parametrize(("owner", "stage"), [(players.engines, "_evaluation"), (BatchedMcts, "principal_variation")])
def test_a_tree_plays_on_where_it_fails(monkeypatch: pytest.MonkeyPatch, owner: object, stage: str) -> None:
    monkeypatch.setattr(owner, stage, fail)
    thinker, thought = thinker_of(NIM.format(heap=6), "left"), wanting()
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert thought.move == ("take", "2")
    assert thought.failure == "ValueError: broken"


@pytest.mark.parametrize(
    ("rules", "role"),
    [
        (NIM.format(heap=14), "left"),
        (ggp.load("connectfour").rulesheet.text, "red"),
        (GUESSING, "right"),  # both choose at once
    ],
)
def test_a_line_can_be_played(rules: str, role: str) -> None:
    thinker, thought = thinker_of(rules, role), wanting(600)
    thinker.choose(play(), None, thought)
    thinker.forget()
    machine = make_machine(parse_rulesheet(rules), "interpreter")
    own, state = machine.roles.index(role), machine.initial_state
    assert thought.evaluation is not None
    line = thought.evaluation.principal_variation
    assert 1 <= len(line) <= MOST_STEPS
    assert line[0][own] == to_text(thought.move or "")
    for step in (tuple(map(read_term, texts)) for texts in line):
        assert all(move in machine.legal_moves(state, name) for move, name in zip(step, machine.roles, strict=True))
        state = machine.next_state(state, step)


def test_a_line_of_a_large_tree_goes_on() -> None:
    thinker, thought = thinker_of(ggp.load("connectfour").rulesheet.text, "red"), wanting(600)
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert thought.evaluation is not None
    assert len(thought.evaluation.principal_variation) >= 3
    assert thought.evaluation.value is not None
    assert 0 < thought.evaluation.value < 100
    assert thought.evaluation.playouts_per_second


def test_a_puzzle_tells_its_line_and_what_is_sure() -> None:
    thinker, thought = thinker_of(CLIMB, "robot"), wanting()
    thinker.choose(play(), None, thought)
    thinker.forget()
    evaluation = thought.evaluation
    assert evaluation is not None
    assert (evaluation.value, evaluation.lower, evaluation.upper) == (100, 100, 100)
    assert len(evaluation.principal_variation) == 6
    assert evaluation.principal_variation[0] == (to_text(thought.move or ""),)


def test_the_reference_tells_what_it_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players.strategies.Mcts, "_prepare", lambda strategy: strategy._prepared.set())
    thinker, thought = thinker_of(NIM.format(heap=6), "left"), wanting(9000)
    thinker.choose(play(), None, thought)
    evaluation = thought.evaluation
    assert evaluation is not None
    assert evaluation.value is not None
    assert evaluation.value > 60
    assert (evaluation.lower, evaluation.upper, evaluation.principal_variation) == (None, None, ())


def test_a_move_without_a_choice_is_not_thought_about() -> None:
    thinker, thought = thinker_of(NIM.format(heap=6), "right"), wanting()
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert (thought.move, thought.evaluation) == ("wait", None)


def test_a_line_takes_no_work_that_grows_with_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look at the moves of each role for each of its few steps."""
    thinker, thought = thinker_of(ggp.load("connectfour").rulesheet.text, "red"), wanting(2000)
    looks: list[int] = []
    real = Variations._ranking

    def counted(reader: Variations, node: int, role: int) -> list[int]:
        looks.append(node)
        return real(reader, node, role)

    monkeypatch.setattr(Variations, "_ranking", counted)
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert thought.evaluation is not None
    assert len(looks) == 2 * len(thought.evaluation.principal_variation)
