"""Perfect play agrees with plain minimax over the rules."""

from functools import cache
from random import Random

import pytest

from ggp.errors import SettingsError
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.alphabeta import joint_move, role_on_turn
from tests.bench.perfect import LINES_LEFT, ConnectFour, DotsAndBoxes, PerfectPlay
from tests.bench.positions import position
from tests.bench.refutations import machine_of

pytestmark = pytest.mark.kernels


def _minimax(machine: StateMachine, state: Facts, role: str) -> int:
    """The goal value of a role, which has the only other role against it."""

    @cache
    def value(state: Facts) -> int:
        if machine.is_terminal(state):
            return machine.goal(state, role) or 0
        on_turn = role_on_turn(state)
        values = [
            value(machine.next_state(state, joint_move(machine, state, move)))
            for move in machine.legal_moves(state, on_turn)
        ]
        return max(values) if on_turn == role else min(values)

    return value(state)


def _states(machine: CircuitMachine, steps: int, count: int) -> list[tuple[Facts, str]]:
    rng = Random(7)
    found = [position(machine, steps, rng) for _ in range(count)]
    return [(state, role_on_turn(state)) for state in found]


def test_connect_four_is_solved() -> None:
    machine = machine_of("connectfour")
    solver, seen = ConnectFour(machine), set()
    for state, role in _states(machine, 34, 10):
        for move, value in solver.values(state).items():
            after = machine.next_state(state, joint_move(machine, state, move))
            assert 50 + 50 * round(value) == _minimax(machine, after, role)
            seen.add(round(value))
    assert seen == {-1, 0, 1}


@pytest.mark.unchecked
def test_a_state_and_its_mirror_image_have_equal_values() -> None:
    machine = machine_of("connectfour")
    solver, rng = ConnectFour(machine), Random(3)
    for _ in range(3):
        state, image = machine.initial_state, machine.initial_state
        for _ in range(14):  # so few discs that both share an entry of the table
            on_turn = role_on_turn(state)
            legal = [move for move in machine.legal_moves(state, on_turn) if not _ends(machine, state, move)]
            move = rng.choice(legal)
            state = machine.next_state(state, joint_move(machine, state, move))
            image = machine.next_state(image, joint_move(machine, image, _mirrored(move)))
        values = solver.values(state)
        assert solver.values(image) == {_mirrored(move): value for move, value in values.items()}
        assert ConnectFour(machine).values(image) == solver.values(image)


def test_perfect_play_does_one_of_the_best_moves() -> None:
    machine = machine_of("connectfour")
    solver = ConnectFour(machine)
    perfect, differing = PerfectPlay(machine, solver, 1), 0
    for state, _ in _states(machine, 26, 8):
        values = solver.values(state)
        best = {move for move, value in values.items() if value == max(values.values())}
        assert set(perfect.best(state)) == best
        assert perfect.choose(state) in best
        differing += len(best) < len(values)
    assert differing


def _mirrored(move: Term) -> Term:
    """A move of connect four, in a mirror."""
    assert isinstance(move, tuple)
    return ("drop", str(8 - int(str(move[1]))))


def _ends(machine: StateMachine, state: Facts, move: Term) -> bool:
    return machine.is_terminal(machine.next_state(state, joint_move(machine, state, move)))


def test_endings_of_dots_and_boxes_are_solved() -> None:
    machine = machine_of("dotsandboxes")
    solver, seen = DotsAndBoxes(machine), set()
    for state, role in _states(machine, 53, 4):
        for move, value in solver.values(state).items():
            after = machine.next_state(state, joint_move(machine, state, move))
            assert (100 if value > 0 else 0) == _minimax(machine, after, role)
            seen.add(value > 0)
    assert seen == {False, True}


def test_values_after_a_move_go_on_from_those_before_it() -> None:
    machine = machine_of("dotsandboxes")
    (state, role), *_ = _states(machine, 46, 1)
    solver = DotsAndBoxes(machine)
    values = solver.values(state)
    for move, value in values.items():
        after = machine.next_state(state, joint_move(machine, state, move))
        sign = 1 if role_on_turn(after) == role else -1
        assert value == sign * max(DotsAndBoxes(machine).values(after).values())
        assert value == sign * max(solver.values(after).values())


def test_only_the_last_lines_are_worked_out() -> None:
    machine = machine_of("dotsandboxes")
    with pytest.raises(ValueError, match=f"60 lines are left, and {LINES_LEFT} at most"):
        DotsAndBoxes(machine).values(machine.initial_state)


def test_other_games_are_refused() -> None:
    machine = machine_of("tictactoe")
    with pytest.raises(SettingsError, match="in connect four only"):
        ConnectFour(machine)
    with pytest.raises(SettingsError, match="in dots and boxes only"):
        DotsAndBoxes(machine)
