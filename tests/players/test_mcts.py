"""Stage 6 and 7: the strategy `mcts`, on the circuit, and what it does until there is one or where there is none."""

import logging
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import ggp
import players.engines
from ggp.engines import make_machine
from ggp.errors import GroundingError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.learning.inputs import find_inputs
from ggp.learning.knowledge import Knowledge, TrainingSummary, automatic_path, save_knowledge
from ggp.learning.net import make_net
from ggp.search.mcts.search import BatchedMcts, MoveReport, SearchResult
from ggp.search.mcts.settings import SearchSettings
from ggp.simulation.state_machine import CircuitMachine
from players.engines import LineSearch, TreeSearch, is_settled, make_engine
from players.settings import PlayerSettings
from players.strategies import STRATEGIES, HiddenMcts, Mcts
from players.strategy import RoleTask, Thought
from players.thinker import Thinker, make_interpreter
from tests.players.doubles import NIM, play, start
from tests.players.test_thinker import SEES
from tests.search.machines import Nim

CLIMB = """
(role robot)
(init (at 0)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(legal robot up) (legal robot stay)
(<= (next (at ?y)) (does robot up) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does robot stay) (true (at ?x)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 6)))
(<= (goal robot 100) (true (at 5)))
(<= (goal robot 50) (true (at 6)))
(<= (goal robot 0) (not (true (at 5))) (not (true (at 6))))
"""  # six steps; all but one of them up are best
MANY = 100_000


class Counted:
    """Time that goes on by a second with each look at it."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> float:
        self.looks += 1
        return float(self.looks)

    def thought(self, looks: int = MANY) -> Thought:
        return Thought(self.now, self.looks + looks)


def thinker_of(rules: str, role: str, threads: int = 1) -> Thinker:
    """With its circuit, when this returns."""
    settings = PlayerSettings("mcts", seed=1, memory=16, search=SearchSettings(threads=threads))
    return Thinker(start(role=role, rules=rules), settings, make_interpreter)


@pytest.mark.parametrize("rules", [NIM.format(heap=6), CLIMB])
def test_any_seed_will_do(rules: str) -> None:
    """A game master gives its bots seeds of up to 63 bits."""
    settings = PlayerSettings("mcts", seed=2**63 - 1, memory=16)
    role = "robot" if rules == CLIMB else "left"
    thinker, thought = Thinker(start(role=role, rules=rules), settings, make_interpreter), Counted().thought()
    thinker.choose(play(), None, thought)
    thinker.forget()
    assert "proven" in thought.note or "the best there is" in thought.note


def task_of(
    rules: str, in_background: Callable[[Callable[[], None]], None], warn: Callable[[str], None] = print
) -> RoleTask:
    rulesheet = parse_rulesheet(rules)
    machine = make_interpreter(rulesheet)
    settings = PlayerSettings("mcts", seed=1, memory=16)
    return RoleTask(start(), rulesheet, machine, machine.roles[0], settings, Random(1), warn, in_background)


def test_proven_move_needs_no_more_thought() -> None:
    """From a heap of six, taking two wins; the clock would allow for far more."""
    thinker, clock = thinker_of(NIM.format(heap=6), "left"), Counted()
    thought = clock.thought()
    thinker.choose(play(), None, thought)
    assert thought.move == ("take", "2")
    assert clock.looks < MANY
    assert "proven" in thought.note


def test_state_that_was_worked_out_but_never_visited_is_played_best() -> None:
    """All states of tic-tac-toe are known after the first search, so in the others there is nothing to search."""
    game, rng = ggp.load("tictactoe"), Random(1)
    machine = game.machine
    task = task_of(game.rulesheet.text, lambda job: job())
    engine = make_engine(task)
    engine.think(machine.initial_state, Counted().thought())
    seen = 0
    for _ in range(60):
        state = machine.initial_state
        for _ in range(4):
            state = machine.next_state(
                state, tuple(rng.choice(machine.legal_moves(state, role)) for role in machine.roles)
            )
        thought = Counted().thought()
        thought.move, *_ = machine.legal_moves(state, "xplayer")
        thought.wants_evaluation = True
        engine.think(state, thought)
        assert isinstance(engine, TreeSearch)
        result = engine._search.result("xplayer")
        worth = {report.move: report.lower for report in result.moves}
        assert thought.move is not None
        assert worth[thought.move] == max(worth.values())
        assert thought.evaluation is not None
        assert thought.evaluation.value == 100 * worth[thought.move]
        seen += result.visits == 0
    assert seen > 10


def test_solved_state_without_moves_in_the_tree_is_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(NIM.format(heap=6), lambda job: job())
    strategy = Mcts(task)
    nothing = SearchResult("wait", (MoveReport("wait", 0, None, 0.0, 1.0),), 1.0, 1.0, 1.0, 0, 0, 1)
    monkeypatch.setattr(BatchedMcts, "result", lambda *_: nothing)
    monkeypatch.setattr(BatchedMcts, "is_solved", True)
    thought = Counted().thought(looks=3000)
    state = task.machine.initial_state
    assert strategy.choose(state, task.machine.legal_moves(state, "left"), thought) == ("take", "2")
    assert "by bytecode" in thought.note


def test_only_move_needs_no_thought() -> None:
    thinker, clock = thinker_of(NIM.format(heap=6), "right"), Counted()
    thought = clock.thought()
    thinker.choose(play(), None, thought)
    assert thought.move == "wait"
    assert clock.looks == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_plays_a_match_to_its_win(threads: int) -> None:
    """Right takes one each time; left wins from a heap of 14, whatever right does."""
    machine = make_machine(parse_rulesheet(NIM.format(heap=14)), "interpreter")
    thinker, state = thinker_of(NIM.format(heap=14), "left", threads=threads), machine.initial_state
    news, answered = play(), None
    while not machine.is_terminal(state):
        thought = Counted().thought()
        thinker.choose(news, answered, thought)
        answered = thought.move
        assert answered is not None
        thinker.ponder(thinker.state, answered, Counted().thought(looks=20))
        joint_move = (answered, machine.legal_moves(state, "right")[0])
        state = machine.next_state(state, joint_move)
        news = play(" ".join(map(to_text, joint_move)))
    assert machine.goal(state, "left") == 100


def test_pondering_keeps_what_it_found_and_frees_all_moves_again() -> None:
    thinker = thinker_of(NIM.format(heap=14), "left")
    thinker.ponder(thinker.state, ("take", "1"), Counted().thought(looks=200))  # a poor one
    thought = Counted().thought()
    thinker.choose(play(), None, thought)
    assert thought.move == ("take", "2")


def test_pondering_ends_when_the_answered_move_is_proven() -> None:
    thinker, clock = thinker_of(NIM.format(heap=6), "left"), Counted()
    thinker.ponder(thinker.state, ("take", "1"), clock.thought())
    assert clock.looks < MANY


def test_puzzle_is_played_along_its_best_line() -> None:
    machine = make_machine(parse_rulesheet(CLIMB), "interpreter")
    thinker, state = thinker_of(CLIMB, "robot"), machine.initial_state
    news, answered = play(), None
    while not machine.is_terminal(state):
        thought = Counted().thought()
        thinker.choose(news, answered, thought)
        assert thought.move is not None
        answered = thought.move
        thinker.ponder(thinker.state, answered, Counted().thought())
        state = machine.next_state(state, (answered,))
        news = play(to_text(answered))
    thinker.forget()
    assert machine.goal(state, "robot") == 100


def test_puzzle_takes_another_way_when_another_move_was_executed() -> None:
    """Staying twice instead of climbing leaves four steps: the end is 50 short of everything, but all are tried."""
    thinker = thinker_of(CLIMB.replace("(true (at 5))", "(true (at 4))"), "robot")
    thought = Counted().thought()
    thinker.choose(play(), None, thought)
    thinker.ponder(thinker.state, thought.move, Counted().thought())
    for told in ("stay", "stay"):
        thought = Counted().thought()
        thinker.choose(play(told), ("up"), thought)
    thinker.forget()
    assert thought.move == "up"
    assert "to 100" in thought.note


def test_reference_plays_until_the_circuit_is_there() -> None:
    jobs: list[Callable[[], None]] = []
    task = task_of(NIM.format(heap=13), jobs.append)
    strategy = Mcts(task)
    machine, notes = task.machine, list[str]()
    state = machine.initial_state
    clock = Counted()

    def now() -> float:
        notes.append(thought.note)
        if clock.looks == 3000:
            jobs.pop()()  # done while the reference searches
        return clock.now()

    thought = Thought(now, float(MANY))
    assert strategy.choose(state, machine.legal_moves(state, "left"), thought) == ("take", "1")
    assert any("by the interpreter" in note for note in notes)
    assert "visits" in thought.note
    assert clock.looks < MANY  # it ended because nothing was left to find out


def test_no_pondering_while_the_circuit_is_made() -> None:
    task = task_of(NIM.format(heap=13), lambda _job: None)
    strategy, clock = Mcts(task), Counted()
    strategy.ponder(task.machine.initial_state, None, clock.thought(looks=5))
    assert clock.looks == 5


def test_the_log_says_which_engine_plays(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []

    def make(_: RoleTask) -> None:
        lines.extend(caplog.messages)

    monkeypatch.setattr(players.engines, "make_engine", make)
    with caplog.at_level(logging.INFO):
        Mcts(task_of(NIM.format(heap=6), lambda job: job()))
    assert lines == ["m: bytecode plays, the circuit is being made"]
    assert [line.split(" after ")[0] for line in caplog.messages[1:]] == ["m: the circuit plays"]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (GroundingError("too many rules"), "played by bytecode: too many rules"),
        (MemoryError(), "played by bytecode: the circuit needs too much: MemoryError"),
    ],
)
def test_without_a_circuit_the_reference_plays(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: RoleTask) -> None:
        raise error

    monkeypatch.setattr(players.engines, "make_engine", fail)
    with caplog.at_level(logging.WARNING):
        thinker = thinker_of(NIM.format(heap=6), "left")
    assert caplog.messages == [line]
    thought = Counted().thought(looks=9000)
    thinker.choose(play(), None, thought)
    assert thought.move == ("take", "2")
    assert "by bytecode" in thought.note
    thinker.ponder(thinker.state, thought.move, Counted().thought(looks=100))


def test_state_beyond_the_circuit_is_played_by_the_reference() -> None:
    """Here the state comes from a machine of other rules."""
    task = task_of(NIM.format(heap=6), lambda job: job())
    machine = Nim(6)
    strategy = Mcts(replace(task, machine=machine, role="left", rng=Random(1)))
    state: Facts = frozenset({("heap", "30"), ("mover", "left")})
    thought = Counted().thought(looks=3000)
    legal: tuple[Term, ...] = machine.legal_moves(state, "left")
    assert strategy.choose(state, legal, thought) in legal
    assert "by the interpreter" in thought.note
    clock = Counted()
    strategy.ponder(state, None, clock.thought(looks=50))
    assert clock.looks >= 50


def test_hidden_states_have_a_search_of_their_own() -> None:
    """Without a circuit it is the reference on the guessed state, as everywhere."""
    assert type(STRATEGIES["mcts"](task_of(NIM.format(heap=13), lambda _job: None))) is Mcts
    task = task_of(SEES, lambda _job: None)
    strategy = STRATEGIES["mcts"](task)
    assert isinstance(strategy, HiddenMcts)
    state = task.machine.initial_state
    legal = task.machine.legal_moves(state, task.role)
    thought = Counted().thought(looks=30)
    assert strategy.choose(state, legal, thought) in legal
    assert "by the interpreter" in thought.note


@pytest.mark.parametrize("rules", [NIM.format(heap=13), CLIMB])
def test_memory_of_a_match_is_free_for_the_next(rules: str) -> None:
    """At once, not when cycles of objects are collected."""
    task = task_of(rules, lambda job: job())
    strategy, state = Mcts(task), task.machine.initial_state
    move = strategy.choose(state, task.machine.legal_moves(state, task.role), Counted().thought())
    strategy.ponder(state, move, Counted().thought(looks=50))
    engine = strategy._engine
    assert isinstance(engine, LineSearch | TreeSearch)
    tree = engine._tree if isinstance(engine, LineSearch) else engine
    search = weakref.ref(tree._search)
    del engine, tree
    strategy.forget()
    assert search() is None


@pytest.mark.parametrize(
    ("bounds", "best", "expected"),
    [
        ([(1.0, 1.0), (0.0, 1.0)], 0, True),  # a sure win
        ([(0.5, 0.5), (0.0, 1.0)], 0, False),
        ([(0.5, 0.5), (0.0, 0.5)], 0, True),
        ([(0.2, 0.6), (0.0, 0.2)], 0, True),  # better than the other, whatever it is worth
        ([(0.0, 0.0), (0.0, 0.0)], 1, True),
        ([(0.0, 1.0), (0.0, 0.0)], 0, True),  # the only one that is not lost
    ],
)
def test_what_is_settled(bounds: list[tuple[float, float]], best: int, expected: bool) -> None:
    reports = tuple(MoveReport(str(at), 1, low, low, high) for at, (low, high) in enumerate(bounds))
    assert is_settled(SearchResult(str(best), reports, None, 0.0, 1.0, 1, 1, 1)) is expected


def test_circuit_of_the_rules_of_these_tests() -> None:
    """They say the same as the machine by hand."""
    rulesheet = parse_rulesheet(NIM.format(heap=6))
    circuit, by_hand = make_machine(rulesheet, "circuit"), Nim(6)
    assert isinstance(circuit, CircuitMachine)
    assert circuit.initial_state == by_hand.initial_state
    assert set(circuit.legal_moves(circuit.initial_state, "left")) == set(
        by_hand.legal_moves(by_hand.initial_state, "left")
    )


def known_task(choice: str, warn: Callable[[str], None], *, tune: bool) -> RoleTask:
    game = ggp.load("connectfour")
    settings = PlayerSettings("mcts", seed=1, memory=64, knowledge=choice, tune=tune, learn=False)
    machine = make_interpreter(game.rulesheet)
    return RoleTask(start(), game.rulesheet, machine, machine.roles[0], settings, Random(1), warn, lambda job: job())


def save_net(path: Path, name: str) -> None:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    net = make_net(find_inputs(machine.compiled), len(machine.roles), sum(map(len, machine.compiled.moves)), 1)
    known = Knowledge(net, TrainingSummary(name, 1_200.0, 1, 100_000, 0.0, 1))
    save_knowledge(path, known, machine.rulesheet, machine.compiled)


@pytest.mark.parametrize("tune", [True, False])
def test_what_was_learned_before_is_used_and_told(tune: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGP_CACHE", str(tmp_path))
    warned: list[str] = []
    own, other = tmp_path / "own", tmp_path / "other"
    save_net(own, "connectfour")
    save_net(other, "tictactoe")
    automatic = automatic_path(ggp.load("connectfour").rulesheet)
    assert automatic is not None
    found: dict[str, tuple[float | None, bool]] = {}
    for choice in ("auto", str(own), str(other), "none", "automatic"):
        if choice == "automatic":
            own.replace(automatic)
        task = known_task("auto" if choice == "automatic" else choice, warned.append, tune=tune)
        engine, thought = make_engine(task), Counted().thought(40)
        thought.wants_evaluation = True
        engine.think(task.machine.initial_state, thought)
        engine.close()
        assert thought.evaluation is not None
        found[choice] = thought.evaluation.trained_seconds, thought.evaluation.prior is not None
    assert found == {
        "auto": (0.0, False),
        str(own): (1_200.0, True),
        str(other): (0.0, False),
        "none": (0.0, False),
        "automatic": (1_200.0, True),
    }
    assert len(warned) == 1
    assert f"played without knowledge: {other}: it was learned for other rules" in warned[0]
