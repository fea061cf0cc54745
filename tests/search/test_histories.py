"""Histories that clingo finds: they agree with what a role was told, as the interpreter sees it."""

from random import Random

import numpy as np
import pytest

import ggp
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.search.histories import HistorySearch, Told
from ggp.simulation.belief import Belief
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair

pytestmark = [pytest.mark.kernels]

MEMORY = 1 << 30
HIDDEN_PAIR = (
    "(role guesser) (role random) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) "
    + " ".join(f"(d {digit})" for digit in range(90))
    + """
(<= (legal random (hide ?x ?y)) (true (at 0)) (d ?x) (d ?y)) (<= (legal random wait) (not (true (at 0))))
(legal guesser wait)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next (first ?x)) (does random (hide ?x ?y))) (<= (next (second ?y)) (does random (hide ?x ?y)))
(<= (next (first ?x)) (true (first ?x))) (<= (next (second ?x)) (true (second ?x)))
(<= (sees guesser (first ?x)) (true (first ?x)) (true (at 1)))
(<= (sees guesser (second ?x)) (true (second ?x)) (true (at 1)))
(<= terminal (true (at 3))) (goal guesser 100) (goal random 0)
"""
)


def random_match(machine: StateMachine, role: str, steps: int, seed: int) -> list[Told]:
    """What a role does and is told in the first steps of a random match that is not over by then."""
    random, number, told = Random(seed), machine.roles.index(role), list[Told]()
    state = machine.initial_state
    for _ in range(steps):
        joint = tuple(random.choice(machine.legal_moves(state, each)) for each in machine.roles)
        told.append((joint[number], tuple(machine.percepts(state, joint, role))))
        state = machine.next_state(state, joint)
    assert not machine.is_terminal(state)
    return told


def joint_moves(machine: CircuitMachine, history: np.ndarray) -> list[JointMove]:
    moves = machine.compiled.moves
    return [tuple(moves[role][number] for role, number in enumerate(joint)) for joint in history.tolist()]


def follow(machine: StateMachine, role: str, history: list[JointMove], heard: list[Told]) -> frozenset[Term]:
    """The state that it leads to."""
    state, number = machine.initial_state, machine.roles.index(role)
    for joint, (move, told) in zip(history, heard, strict=True):
        assert not machine.is_terminal(state)
        assert all(made in machine.legal_moves(state, each) for made, each in zip(joint, machine.roles, strict=True))
        assert joint[number] == move
        assert set(machine.percepts(state, joint, role)) == set(told)
        state = machine.next_state(state, joint)
    assert not machine.is_terminal(state)
    return frozenset(state)


@pytest.mark.parametrize(
    ("name", "role", "steps"),
    [
        ("phantomtictactoe", "o", 6),
        ("battleship", "left", 4),
        ("kuhnpoker", "second", 2),
        ("blindbreakthrough", "white", 7),
    ],
)
def test_histories_agree_with_what_was_told(name: str, role: str, steps: int) -> None:
    machine, oracle = ggp.load(name, "circuit").machine, ggp.load(name, "interpreter").machine
    assert isinstance(machine, CircuitMachine)
    with HistorySearch(machine, role, MEMORY, seed=5) as search:
        for seed in range(2):
            heard = random_match(oracle, role, steps, seed)
            found = search.find(heard, 8, lambda: False)
            assert 1 <= len(found) <= 8
            assert len({history.tobytes() for history in found}) == len(found)
            states = {follow(oracle, role, joint_moves(machine, history), heard) for history in found}
            belief = Belief(machine, role)
            for move, told in heard:
                belief.advance(move, told)
            assert belief.take_up(found)
            assert {frozenset(machine.unpacked(row[None])) for row in belief.states} == states
            assert belief.weights.sum() == pytest.approx(1)
            assert not belief.is_exact


def test_what_cannot_have_been_has_no_history() -> None:
    machine = ggp.load("montyhall", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    with HistorySearch(machine, "candidate", MEMORY) as search:
        assert len(search.find([("noop", ()), (("choose", "1"), (("opened", "1"),))], 4, lambda: False)) == 0
        assert len(search.find([("noop", ("rumour",))], 4, lambda: False)) == 0
        assert len(search.find([("noop", ())], 4, lambda: True)) == 0
        belief = Belief(machine, "candidate")
        assert belief.advance("noop", ())
        assert not belief.take_up(np.zeros((0, 1, 2), np.int32))
        assert len(belief.weights) == 3, "nothing has changed"


def test_a_world_that_drawing_does_not_find_is_found() -> None:
    """One of 8,100 pairs was hidden; then the role is told which, after drawing has lost it."""
    machine = make_pair(parse_rulesheet(HIDDEN_PAIR)).circuit
    belief = Belief(machine, "guesser", most_worlds=4)
    heard: list[Told] = [("wait", ()), ("wait", (("first", "17"), ("second", "71")))]
    assert belief.advance(*heard[0])
    assert not belief.advance(*heard[1])
    with HistorySearch(machine, "guesser", MEMORY) as search:
        found = search.find(heard, 4, lambda: False)
    assert joint_moves(machine, found[0])[0] == ("wait", ("hide", "17", "71"))
    assert belief.take_up(found)
    assert ("second", "71") in machine.unpacked(belief.states)
