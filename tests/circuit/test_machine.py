"""The circuit as a state machine: what it answers itself, and what it leaves to the interpreter."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit.compile import Names, compile_game
from ggp.circuit.network import Circuit
from ggp.errors import UnknownRoleError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.interpreter import Interpreter
from ggp.simulation import state_machine
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.steps import Steps, make_steps
from tests.circuit.agreement import Pair, Sample, differences, make_pair, some_samples

WALK = """
(role walker) (role guide) (init (at 1)) (init fixed)
(succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal walker go) (true (at ?n)) (succ ?n ?m)) (legal walker stay)
(<= (legal guide (call ?n)) (true (at ?n)))
(<= (next (at ?m)) (does walker go) (true (at ?n)) (succ ?n ?m))
(<= (next (at ?n)) (does walker stay) (true (at ?n)))
(<= (next fixed) (true fixed))
(<= (next late) (true (at 3)))
(<= terminal (true (at 4)))
(<= (goal walker 100) (true (at 4)) (true fixed)) (<= (goal walker 20) (not (true fixed))) (goal guide 50)
(<= (goal walker 50) (not (true (at 4)))) (<= (goal walker 60) (true (at 2)))
"""


def pair_of(text: str) -> Pair:
    return make_pair(parse_rulesheet(text))


def agree(pair: Pair, *samples: Sample) -> bool:
    return [found for sample in samples for found in differences(pair.circuit, pair.interpreter, sample)] == []


def used_interpreter(machine: CircuitMachine) -> bool:
    return "_interpreter" in vars(machine)


def test_matches_need_no_interpreter() -> None:
    pair = pair_of(WALK)
    assert agree(pair, *some_samples(pair.interpreter, 1, 50))
    assert not used_interpreter(pair.circuit)
    assert pair.circuit.engine == "circuit"


def test_goal_values_none_one_and_several() -> None:
    machine = pair_of(WALK).circuit
    state = machine.initial_state
    assert (machine.goal_values(state, "walker"), machine.goal(state, "walker")) == ((50,), 50)
    state = machine.next_state(state, ("go", ("call", "1")))
    assert (machine.goal_values(state, "walker"), machine.goal(state, "walker")) == ((50, 60), None)
    empty = pair_of(
        "(role r) (role s) (legal r a) (legal s a) (init x) (next x) (<= terminal (true y)) (goal s 7)"
    ).circuit
    assert (empty.goal_values(empty.initial_state, "r"), empty.goal(empty.initial_state, "r")) == ((), None)
    assert empty.goal(empty.initial_state, "s") == 7


@pytest.mark.parametrize(
    "state",
    [
        frozenset({("at", "9"), "fixed"}),  # a fact that no match has
        frozenset({("at", "4")}),  # without one that all states have
        frozenset({"strange"}),
        frozenset(),
        frozenset({"fixed"}),  # all known, though no match comes here
        frozenset({"fixed", ("at", "1"), ("at", "3"), "late"}),
    ],
)
def test_states_that_no_match_reaches(state: Facts) -> None:
    pair = pair_of(WALK)
    assert agree(pair, Sample(state, ("stay", ("call", "1"))), Sample(state, ("go", "nothing")))


@pytest.mark.parametrize(
    "joint_move",
    [
        ("go", ("call", "2")),  # known, not legal here
        ("fly", ("call", "1")),
        (("call", "1"), "go"),
        ("stay", ("call", "1")),
    ],
)
def test_moves_that_are_not_legal(joint_move: tuple[str, str]) -> None:
    pair = pair_of(WALK)
    assert agree(pair, Sample(pair.interpreter.initial_state, joint_move))


def test_a_joint_move_of_the_wrong_length() -> None:
    pair = pair_of(WALK)
    for machine in (pair.circuit, pair.interpreter):
        with pytest.raises(ValueError, match="zip"):
            machine.next_state(pair.interpreter.initial_state, ("go",))


def test_roles_that_do_not_exist() -> None:
    pair = pair_of(SEES)
    machines: list[StateMachine] = [pair.circuit, pair.interpreter]
    asked: list[Callable[[StateMachine, Facts], object]] = [
        lambda machine, state: machine.legal_moves(state, "x"),
        lambda machine, state: machine.goal(state, "x"),
        lambda machine, state: machine.goal_values(state, "x"),
        lambda machine, state: machine.percepts(state, ("one", "noise"), "x"),
    ]
    messages = []
    for machine in machines:
        for ask in asked:
            with pytest.raises(UnknownRoleError) as caught:
                ask(machine, machine.initial_state)
            messages.append(str(caught.value))
    assert messages == ["no role is called 'x'; the roles are r, random"] * 8


SEES = """
(role r) (role random) (init (n 0)) (legal r one) (legal r two) (legal random noise) (legal random silence)
(<= (next (n 0)) (true (n 0))) (<= (next (n 1)) (does r two)) (<= (next (n 1)) (true (n 1)))
(<= (sees r (heard ?m)) (does random ?m)) (<= (sees r first) (not (true (n 1))))
(<= (sees random (saw ?m)) (does r ?m) (true (n 1)))
(<= terminal (true (n 2))) (goal r 0) (goal random 0)
"""


def test_percepts() -> None:
    pair = pair_of(SEES)
    machine, state = pair.circuit, pair.circuit.initial_state
    assert machine.percepts(state, ("one", "noise"), "r") == (("heard", "noise"), "first")
    assert machine.percepts(state, ("one", "noise"), "random") == ()
    assert agree(pair, *some_samples(pair.interpreter, 1, 40))
    assert machine.percepts(state, ("one", "shout"), "r") == pair.interpreter.percepts(state, ("one", "shout"), "r")
    plain = pair_of(WALK).circuit
    assert plain.percepts(plain.initial_state, ("go", ("call", "1")), "guide") == ("go", ("call", "1"))


def test_several_threads_ask_one_machine() -> None:
    pair = pair_of(WALK)
    found = some_samples(pair.interpreter, 4, 60)

    def check(_: int) -> list[str]:
        own = Interpreter(parse_rulesheet(WALK))
        return [each for sample in found for each in differences(pair.circuit, own, sample)]

    with ThreadPoolExecutor(4) as pool:
        assert [each for wrong in pool.map(check, range(8)) for each in wrong] == []


def test_playouts_start_from_the_machine() -> None:
    rulesheet = parse_rulesheet(WALK)
    machine = CircuitMachine(rulesheet, compile_game(rulesheet))
    assert machine.simulator() is machine.simulator()
    tally = machine.simulator().playouts(200, seed=1)
    assert tally.playouts == 200
    assert tally.steps >= 600


def test_threads_share_the_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_late(circuit: Circuit, phases: NDArray[np.int8], moves: Names) -> Steps:
        sleep(0.02)
        return make_steps(circuit, phases, moves)

    monkeypatch.setattr(state_machine, "make_steps", make_late)
    machine = pair_of(WALK).circuit
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: machine.simulator(), range(4)))
    assert all(simulator is made[0] for simulator in made)  # machine code of another one would go with it
