"""What a role can know of a state that it is not told; the states are worked out by hand."""

import pytest

import ggp
from gamemaster.web.evaluators import derivation
from gamemaster.web.evaluators.derivation import agreed_goal, choices, following, going_on
from ggp.gdl.reader import read_term
from ggp.gdl.state_machine import Facts

HIDING = """
(role guesser) (role keeper) (role random)
(init (turn 0)) (succ 0 1) (succ 1 2) (n 1) (n 2) (n 3)
(<= (legal keeper (hide ?n)) (true (turn 0)) (n ?n))
(<= (legal guesser wait) (true (turn 0)))
(<= (legal random (roll ?n)) (true (turn 0)) (n ?n))
(<= (legal guesser (take ?n)) (true (hidden ?n)))
(<= (legal ?r wait) (role ?r) (distinct ?r guesser) (true (turn 1)))
(<= (next (turn ?m)) (true (turn ?n)) (succ ?n ?m))
(<= (next (hidden ?n)) (does keeper (hide ?n)))
(<= (next (hidden ?n)) (true (hidden ?n)))
(<= (sees guesser odd) (does keeper (hide 1)))
(<= (sees guesser odd) (does keeper (hide 3)))
(<= terminal (true (turn 2)))
(<= (goal guesser 100) (true (hidden 1)))
(<= (goal guesser 30) (true (hidden ?n)) (distinct ?n 1))
(<= (goal ?r 0) (role ?r) (distinct ?r guesser))
"""
MACHINE = ggp.load_text(HIDING, "hiding", "interpreter").machine
START = [MACHINE.initial_state]


def hidden(*numbers: int, turn: int = 1) -> list[Facts]:
    return [frozenset((("turn", str(turn)), ("hidden", str(number)))) for number in numbers]


def test_what_was_told_narrows_down_what_can_be() -> None:
    found, is_all = following(MACHINE, START, "guesser", "wait", ["odd"])
    assert (set(found), is_all) == (set(hidden(1, 3)), True)
    found, is_all = following(MACHINE, START, "guesser", "wait", [])
    assert (found, is_all) == (hidden(2), True)


def test_a_move_says_something_too() -> None:
    move = read_term("(take 3)")
    assert following(MACHINE, hidden(1, 3), "guesser", move, []) == (hidden(3, turn=2), True)
    found, is_all = following(MACHINE, hidden(1, 3), "guesser", None, [])  # any move
    assert (set(found), is_all) == (set(hidden(1, 3, turn=2)), True)


def test_what_cannot_be_is_told_from_what_is_not_known() -> None:
    for states, move, percepts in ((START, "wait", ["even"]), (START, "go", []), ([], "wait", [])):
        assert following(MACHINE, states, "guesser", move, percepts) == ([], False)


def test_choices_and_ends_in_several_states() -> None:
    assert choices(MACHINE, hidden(1, 3), "guesser") == [("take", "1"), ("take", "3")]
    assert going_on(MACHINE, hidden(1) + hidden(2, turn=2), is_over=False) == hidden(1)
    assert going_on(MACHINE, hidden(1) + hidden(2, turn=2), is_over=True) == hidden(2, turn=2)
    assert agreed_goal(MACHINE, hidden(2, 3, turn=2), "guesser") == 30
    assert agreed_goal(MACHINE, hidden(1, 3, turn=2), "guesser") is None
    assert agreed_goal(MACHINE, [], "guesser") is None


@pytest.mark.parametrize(("name", "value"), [("MOST", 2), ("_TRIES", 8)])
def test_what_is_tried_and_kept_has_bounds(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    monkeypatch.setattr(derivation, name, value)
    found, is_all = following(MACHINE, START * 2, "keeper", ("hide", "2"), [])
    assert (found, is_all) == (hidden(2), True)  # three joint moves from each
    found, is_all = following(MACHINE, START, "random", ("roll", "1"), [])
    assert is_all == (name == "_TRIES")
    found, is_all = following(MACHINE, START, "guesser", "wait", ["odd"])
    assert not is_all
    assert set(found) <= set(hidden(1, 3))
