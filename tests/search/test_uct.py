"""Stage 6, search: the plain UCT finds forced wins, keeps its books, and minds the clock."""

from collections.abc import Callable
from random import Random

import pytest

from ggp.errors import EvaluationError, SettingsError
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.search.uct import UCT, UNKNOWN_VALUE, UctResult, UctSettings
from tests.search.machines import Nim, Table

SEED = 11


def never() -> bool:
    return False


def after(count: int) -> Callable[[], bool]:
    """A stop that is true from the given question on."""
    left = iter(range(count))
    return lambda: next(left, None) is None


def move_of(result: UctResult) -> Term:
    assert result.best is not None
    return result.best


class CountingNim(Nim):
    """Counts how often the machine is asked."""

    def __init__(self, heap: int) -> None:
        super().__init__(heap)
        self.calls = 0

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        self.calls += 1
        return super().next_state(state, joint_move)

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        self.calls += 1
        return super().legal_moves(state, role)

    def is_terminal(self, state: Facts) -> bool:
        self.calls += 1
        return super().is_terminal(state)

    def goal(self, state: Facts, role: str) -> int | None:
        self.calls += 1
        return super().goal(state, role)


@pytest.mark.parametrize("heap", [1, 2, 3, 5, 6, 7, 9, 10, 11])
def test_finds_the_only_winning_move(heap: int) -> None:
    machine = Nim(heap)
    result = UCT(machine, "left", Random(SEED), UctSettings()).search(machine.initial_state, never, 600)
    assert result.best == ("take", str(heap % 4))


def test_books_are_kept() -> None:
    machine = Nim(10)
    result = UCT(machine, "left", Random(SEED)).search(machine.initial_state, never, 200)
    assert result.playouts == 200
    assert result.undecided == 0
    assert sum(entry.visits for entry in result.moves) == 200
    assert [entry.move for entry in result.moves] == [("take", "1"), ("take", "2"), ("take", "3")]
    assert all(entry.value is not None and 0 <= entry.value <= 1 for entry in result.moves)
    assert max(result.moves, key=lambda entry: entry.visits).move == result.best


def test_same_seed_same_search() -> None:
    machine = Nim(20)
    first, second, other = (
        UCT(machine, "left", Random(seed)).search(machine.initial_state, never, 50) for seed in (1, 1, 2)
    )
    assert first == second
    assert first.moves != other.moves


def test_tree_is_kept_below_the_joint_move_that_was_played() -> None:
    machine = Nim(9)
    uct = UCT(machine, "left", Random(SEED))
    before = uct.search(machine.initial_state, never, 300)
    played: JointMove = (move_of(before), "wait")
    visits = next(entry.visits for entry in before.moves if entry.move == played[0])
    state = machine.next_state(machine.initial_state, played)
    nodes = uct.nodes
    uct.advance(played)
    assert 0 < uct.nodes < nodes
    kept = uct.search(state, never, 0)
    assert sum(entry.visits for entry in kept.moves) == visits - 1  # the first visit made the node


def test_tree_starts_anew_for_a_state_that_it_does_not_know() -> None:
    machine = Nim(9)
    uct = UCT(machine, "left", Random(SEED))
    uct.search(machine.initial_state, never, 100)
    uct.advance((("take", "9"), "wait"))
    result = uct.search(Nim(3).initial_state, never, 50)
    assert sum(entry.visits for entry in result.moves) == 50
    assert result.best == ("take", "3")


def test_node_limit_is_kept_and_search_goes_on() -> None:
    machine = Nim(11)
    uct = UCT(machine, "left", Random(SEED), UctSettings(max_nodes=10))
    result = uct.search(machine.initial_state, never, 400)
    assert uct.nodes == 10
    assert result.playouts == 400


def test_stops_between_two_calls_of_the_machine() -> None:
    machine = CountingNim(1000)
    uct = UCT(machine, "left", Random(SEED), UctSettings(max_steps=10_000))
    result = uct.search(machine.initial_state, after(40))
    assert machine.calls <= 40
    assert result.playouts == 0
    assert result.best in machine.legal_moves(machine.initial_state, "left")


@pytest.mark.parametrize("questions", range(12))
def test_stopping_at_any_moment_leaves_the_books_right(questions: int) -> None:
    machine = Nim(4)
    uct = UCT(machine, "left", Random(SEED))
    stopped = uct.search(machine.initial_state, after(questions))
    assert sum(entry.visits for entry in stopped.moves) == stopped.playouts
    assert sum(entry.visits for entry in uct.search(machine.initial_state, never, 5).moves) == stopped.playouts + 5


def test_stopped_before_anything_is_known_there_is_no_move() -> None:
    assert UCT(Nim(), "left", Random(SEED)).search(Nim().initial_state, lambda: True) == UctResult(None, (), 0, 0)


def test_simultaneous_moves_each_role_for_itself() -> None:
    """`b` is better for each role whatever the other does."""
    machine = Table(
        ("row", "column"),
        {"start": {"row": "a b", "column": "a b"}},
        {"start a a": "aa", "start a b": "ab", "start b a": "ba", "start b b": "bb"},
        {"aa": (20, 20), "ab": (0, 60), "ba": (60, 0), "bb": (40, 40)},
    )
    for role in machine.roles:
        assert UCT(machine, role, Random(SEED)).search(machine.initial_state, never, 500).best == "b"


def test_three_roles_maximise_their_own_value() -> None:
    machine = Table(
        ("one", "two", "three"),
        {
            "start": {"one": "x y", "two": "w", "three": "w"},
            "second": {"one": "w", "two": "x y", "three": "w"},
        },
        {"start x w w": "second", "start y w w": "safe", "second w x w": "low", "second w y w": "high"},
        {"safe": (50, 0, 0), "low": (100, 10, 0), "high": (0, 20, 100)},
    )
    assert UCT(machine, "one", Random(SEED)).search(machine.initial_state, never, 500).best == "y"


def test_nature_is_uniform_not_an_opponent() -> None:
    """The bet wins 90 in two of three cases; an opponent would always choose the third."""
    machine = Table(
        ("player", "random"),
        {"start": {"player": "bet pass", "random": "a b c"}},
        {f"start {move} {card}": f"{move}-{card}" for move in ("bet", "pass") for card in "abc"},
        {f"{move}-{card}": (value, 0) for move, value in (("bet", 90), ("pass", 40)) for card in "ab"}
        | {"bet-c": (0, 100), "pass-c": (40, 100)},
    )
    result = UCT(machine, "player", Random(SEED)).search(machine.initial_state, never, 600)
    assert result.best == "bet"
    bet = next(entry for entry in result.moves if entry.move == "bet")
    assert bet.value == pytest.approx(0.6, abs=0.05)


def test_missing_goal_counts_as_a_half() -> None:
    machine = Table(
        ("alone",),
        {"start": {"alone": "a b c"}},
        {"start a": "low", "start b": "none", "start c": "stuck"},
        {"low": (40,), "none": (None,)},
    )
    result = UCT(machine, "alone", Random(SEED)).search(machine.initial_state, never, 90)
    assert [entry.value for entry in result.moves] == [pytest.approx(0.4), UNKNOWN_VALUE, UNKNOWN_VALUE]
    assert result.undecided == sum(entry.visits for entry in result.moves[1:])


def test_state_without_moves_for_some_role_is_an_end() -> None:
    machine = Table(("one", "two"), {"start": {"one": "a"}}, early_goals={"start": (100, 0)})
    result = UCT(machine, "one", Random(SEED)).search(machine.initial_state, never)
    assert result.best == "a"
    assert UCT(machine, "two", Random(SEED)).search(machine.initial_state, never).best is None


def test_terminal_state_has_no_move() -> None:
    machine = Table(("alone",), {}, goals={"start": (100,)})
    assert UCT(machine, "alone", Random(SEED)).search(machine.initial_state, never) == UctResult(None, (), 0, 0)


def test_state_without_meaning_is_an_end_of_unknown_value() -> None:
    machine = Table(("alone",), {"start": {"alone": "a b"}}, {"start a": "broken", "start b": "low"}, {"low": (10,)})
    result = UCT(machine, "alone", Random(SEED)).search(machine.initial_state, never, 20)
    assert result.best == "a"
    assert result.moves[0].value == UNKNOWN_VALUE
    with pytest.raises(EvaluationError):
        UCT(machine, "alone", Random(SEED)).search(frozenset({"broken"}), never, 1)


@pytest.mark.parametrize(("early", "value", "undecided"), [({}, 0.5, 30), ({"start": (80,)}, 0.8, 0)])
def test_at_the_cap_the_goal_there_counts_if_there_is_one(
    early: dict[str, tuple[int]], value: float, undecided: int
) -> None:
    machine = Table(("alone",), {"start": {"alone": "a b"}}, early_goals=early)
    result = UCT(machine, "alone", Random(SEED), UctSettings(max_steps=5)).search(machine.initial_state, never, 30)
    assert [entry.value for entry in result.moves] == [pytest.approx(value)] * 2
    assert result.undecided == undecided


@pytest.mark.parametrize("settings", [{"exploration": -1}, {"max_steps": -1}, {"max_nodes": 0}])
def test_settings_out_of_range(settings: dict[str, int]) -> None:
    with pytest.raises(SettingsError):
        UctSettings(**settings)
