"""Stage 7, protocol: what a player concludes from the news in PLAY, repeated and odd news included."""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from ggp.engines import make_machine
from ggp.errors import GgpError, UnknownRoleError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import PlayPercepts
from players.settings import PlayerSettings
from players.strategies import find_strategy
from players.strategy import RoleTask, Strategy, Thought
from players.thinker import News, Surroundings, Thinker, joint_move_of
from tests.players.doubles import RULES, maker, play, start, terms
from tests.search.machines import Nim, Table

SEES = """
(role guesser) (role random)
(init (stage hide))
(<= (legal random (hide 1)) (true (stage hide)))
(<= (legal random (hide 2)) (true (stage hide)))
(<= (legal guesser (stand left)) (true (stage hide)))
(<= (legal guesser (stand right)) (true (stage hide)))
(<= (next (side ?s)) (does guesser (stand ?s)))
(<= (next (hidden ?n)) (does random (hide ?n)))
(<= (next (stage guess)) (true (stage hide)))
(<= (sees guesser (hint ?n)) (does random (hide ?n)))
(<= (legal guesser (guess ?s ?n)) (true (side ?s)) (true (hidden ?n)))
(<= (legal random wait) (true (stage guess)))
(<= terminal (true (stage over)))
(<= (next (stage over)) (true (stage guess)))
(goal guesser 50) (goal random 50)
"""


class Told:
    """A thinker as its player uses it: each answer is remembered."""

    def __init__(self, machine: StateMachine, role: str, strategy: str = "legal", rules: str = RULES) -> None:
        self.thinker = Thinker(start(role=role, rules=rules), PlayerSettings(strategy, seed=3), maker(machine))
        self.answered: Term | None = None

    def hear(self, news: News) -> str | None:
        thought = Thought(lambda: 0.0, 1.0)
        self.thinker.choose(news, self.answered, thought)
        self.answered = thought.move
        return None if thought.move is None else to_text(thought.move)


class LockedNim(Nim):
    """Locked while it evaluates, as the interpreter is."""

    def __init__(self) -> None:
        super().__init__(5)
        self.lock = Lock()

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        with self.lock:
            return super().legal_moves(state, role)


def turn(number: int, last_move: str | None = None, percepts: str = "") -> PlayPercepts:
    return PlayPercepts("m", number, None if last_move is None else terms(last_move)[0], terms(percepts))


def test_follows_the_joint_moves_that_it_is_told() -> None:
    told = Told(Nim(5), "left")
    assert told.hear(play()) == "(take 1)"
    assert told.hear(play("(take 1) wait")) == "wait"
    assert told.hear(play("wait (take 3)")) == "(take 1)"  # one left: no other move


def test_follows_while_the_strategy_evaluates() -> None:
    machines: list[StateMachine] = []

    def make_strategy(task: RoleTask) -> Strategy:
        machines.append(task.machine)
        return find_strategy("legal")(task)

    around = Surroundings(make_strategy=make_strategy)
    thinker = Thinker(start(), PlayerSettings("legal"), lambda _: LockedNim(), around)
    (machine,) = machines
    assert isinstance(machine, LockedNim)
    with ThreadPoolExecutor(1) as pool, machine.lock:
        assert pool.submit(thinker.follow, play(), None).result(timeout=10).first_move == ("take", "1")


def test_what_was_executed_counts_not_what_was_answered() -> None:
    told = Told(Nim(5), "left")
    assert told.hear(play()) == "(take 1)"
    told.hear(play("(take 3) wait"))
    told.hear(play("wait (take 1)"))
    assert told.thinker.state == Nim(1).initial_state


def test_repeated_first_play_is_answered_again() -> None:
    told = Told(Nim(30), "left", "random")
    first = told.hear(play())
    assert [told.hear(play()) for _ in range(5)] == [first] * 5


def test_repeated_joint_move_that_is_not_legal_now_is_answered_again() -> None:
    told = Told(Nim(30), "left", "random")
    told.hear(play())
    told.hear(play("(take 1) wait"))
    first = told.hear(play("wait (take 3)"))
    assert [told.hear(play("wait (take 3)")) for _ in range(5)] == [first] * 5
    assert told.thinker.state == Nim(26).initial_state


def test_same_joint_move_that_is_legal_again_is_a_new_step() -> None:
    machine = Table(
        ("one", "two"),
        {name: {"one": "a b", "two": "a b"} for name in ("start", "next", "last")},
        {"start a a": "next", "next a a": "last"},
    )
    told = Told(machine, "one")
    for news in (play(), play("a a"), play("a a")):
        told.hear(news)
    assert told.thinker.state == {"last"}


def test_repeated_last_joint_move_in_a_terminal_state_changes_nothing() -> None:
    told = Told(Nim(1), "right")
    told.hear(play())
    told.hear(play("(take 1) wait"))
    told.hear(play("(take 1) wait"))
    assert told.thinker.state == Nim(0).next_state(Nim(1).initial_state, terms("(take 1) wait"))


def test_terminal_state_is_never_left() -> None:
    machine = Table(
        ("one",), {"start": {"one": "a"}, "end": {"one": "a"}}, {"start a": "end", "end a": "beyond"}, {"end": (50,)}
    )
    told = Told(machine, "one")
    for news in (play(), play("a"), play("a")):
        told.hear(news)
    assert told.thinker.state == {"end"}


def test_no_moves_yet_begins_again_whatever_was_played() -> None:
    told = Told(Nim(9), "left")
    for news in (play(), play("(take 1) wait"), play("wait (take 1)"), play()):
        told.hear(news)
    assert told.thinker.state == Nim(9).initial_state


def test_joint_move_of_the_wrong_length_is_reported_and_the_player_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    told = Told(Nim(9), "left")
    with caplog.at_level(logging.WARNING):
        assert told.hear(play("(take 1)")) == "(take 1)"
    assert caplog.messages == ["m: step 1 cannot be followed from 1 moves"]


def test_turns_are_counted() -> None:
    told = Told(Nim(9), "left", "random")
    assert told.hear(turn(0)) == told.hear(turn(0))
    first = told.hear(turn(1, "(take 1)", "(take 1) wait"))
    assert told.hear(turn(1, "(take 1)", "(take 1) wait")) == first == "wait"
    told.hear(turn(2, "wait", "(does right (take 2)) (does left wait)"))
    assert told.thinker.state == Nim(6).initial_state
    told.hear(turn(1, "(take 1)", "(take 1) wait"))  # late
    assert told.thinker.state == Nim(6).initial_state
    told.hear(turn(0))
    assert told.thinker.state == Nim(9).initial_state


def test_turns_that_were_never_told_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    told = Told(Nim(9), "left")
    with caplog.at_level(logging.WARNING):
        told.hear(turn(3, "(take 1)", "(take 1) wait"))
    assert caplog.messages == ["m: 2 steps were never told"]


@pytest.mark.parametrize("hidden", ["1", "2"])
@pytest.mark.parametrize("has_turns", [True, False])
def test_guesses_a_state_that_agrees_with_the_percepts(hidden: str, has_turns: bool) -> None:
    machine = make_machine(parse_rulesheet(SEES))
    told = Told(machine, "guesser", "random", SEES)
    answer = told.hear(turn(0) if has_turns else play())
    executed = "(stand right)" if has_turns else answer  # only with turns is the player told
    assert executed is not None
    side = executed.strip("()").split()[1]
    percepts = f"(hint {hidden})"
    assert told.hear(turn(1, executed, percepts) if has_turns else play(percepts)) == f"(guess {side} {hidden})"


def test_no_percepts_are_a_step_too() -> None:
    """In the form of 2011, NIL is also what a player hears that perceived nothing."""
    rules = SEES.replace("(sees guesser (hint ?n))", "(sees random (hint ?n))")
    told = Told(make_machine(parse_rulesheet(rules)), "guesser", "random", rules)
    answer = told.hear(play())
    assert answer is not None
    side = answer.strip("()").split()[1]
    assert told.hear(play()) in {f"(guess {side} 1)", f"(guess {side} 2)"}
    told.hear(play())
    assert told.thinker.state == {("stage", "over")}


def test_percepts_that_fit_nothing_still_give_a_legal_guess() -> None:
    told = Told(make_machine(parse_rulesheet(SEES)), "guesser", "random", SEES)
    told.hear(turn(0))
    assert told.hear(turn(1, "(stand left)", "(hint 7)")) in {"(guess left 1)", "(guess left 2)"}


def test_without_a_legal_move_there_is_no_answer() -> None:
    assert Told(Table(("one", "two"), {}), "one").hear(play()) is None


@pytest.mark.parametrize(
    ("rules", "role", "kind"),
    [
        ("(role left)", "white", UnknownRoleError),
        ("(<= (p) (not))", "left", GgpError),
        ("(role left) (<= p (not p)", "left", GgpError),
    ],
)
def test_match_that_cannot_be_played_is_refused(rules: str, role: str, kind: type[GgpError]) -> None:
    with pytest.raises(kind):
        Thinker(start(role=role, rules=rules), PlayerSettings("legal"), make_machine)


def test_control_characters_in_names_keep_no_player_from_a_match() -> None:
    """A game master that reads UTF-8 as Latin-1 sends them."""
    move = "größe".encode().decode("latin-1")
    rules = f"(role left) (legal left {move}) (goal left 100) (<= terminal (true done)) (init begun)"
    told = Told(make_machine(parse_rulesheet(rules, allow_control=True)), "left", "legal", rules)
    assert told.hear(play()) == move.lower()


@pytest.mark.parametrize("strategy", ["legal", "random", "montecarlo"])
def test_every_strategy_finds_the_only_move(strategy: str) -> None:
    assert Told(Nim(5), "right", strategy).hear(play()) == "wait"


def test_random_player_chooses_any_move_and_by_its_seed() -> None:
    def choice(seed: int) -> Term | None:
        thinker = Thinker(start(), PlayerSettings("random", seed=seed), maker(Nim(5)))
        thought = Thought(lambda: 0.0, 1.0)
        thinker.choose(play(), None, thought)
        return thought.move

    assert {choice(seed) for seed in range(30)} == {("take", "1"), ("take", "2"), ("take", "3")}
    assert choice(7) == choice(7)


def test_searching_player_thinks_until_it_must_stop() -> None:
    thinker = Thinker(start(), PlayerSettings("montecarlo", seed=1), maker(Nim(6)))
    questions = iter(range(10_000))
    thought = Thought(lambda: float(next(questions)), 9_000.0)
    thinker.choose(play(), None, thought)
    assert thought.move == ("take", "2")
    assert thought.note.endswith(" playouts")
    assert next(questions) in range(9_000, 9_010)


def test_better_moves_are_known_while_the_search_goes_on() -> None:
    thinker = Thinker(start(), PlayerSettings("montecarlo", seed=1), maker(Nim(6)))
    known: list[Term | None] = []
    questions = iter(range(10_000))

    def now() -> float:
        known.append(thought.move)
        return float(next(questions))

    thought = Thought(now, 5_000.0)
    thinker.choose(play(), None, thought)
    assert known[0] == ("take", "1")
    assert ("take", "2") in known


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("a b", "a b"),
        ("(does two b) (does one a)", "a b"),
        ("(does one a) (does one b)", "(does one a) (does one b)"),
        ("(mark 1 1) (noop)", "(mark 1 1) noop"),
        ("", None),
        ("a", None),
        ("a b c", None),
    ],
)
def test_joint_move_in_either_form(told: str, expected: str | None) -> None:
    assert joint_move_of(terms(told), ("one", "two")) == (None if expected is None else terms(expected))
