"""Values and strategies by backward induction, against matrix games by hand and against CFR+ on all histories."""

from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ggp
from ggp.equilibrium.backward_induction import BackwardInduction, Tableau, choose_together, solve_matrix
from ggp.equilibrium.solving import EquilibriumSolver
from ggp.errors import EquilibriumError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.learning.symmetries import find_symmetries, images_of
from ggp.simulation.state_graph import Images
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import random_game

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

CIRCLE = """
(role one) (role two) (init (at a)) (<= (legal ?r go) (role ?r)) (<= (legal one stop) (true (at b)))
(<= (next (at b)) (true (at a))) (<= (next (at a)) (true (at b)) (does one go))
(<= (next (at c)) (does one stop)) (<= terminal (true (at c))) (goal one 100) (goal two 0)
"""
COIN = """
(role one) (role random) (init s) (legal one a) (legal random x) (<= (legal random y) (true s))
(<= (next x) (does random x)) (<= (next o) (true s)) (<= terminal (not (true s)))
(<= (goal one 100) (true x)) (<= (goal one 0) (not (true x))) (goal random 0)
"""
SHARED = random_game(1, told=False).replace("(goal r0 20)", "(goal r0 30)")


def solved(machine: CircuitMachine, images: Images | None = None) -> BackwardInduction:
    found = BackwardInduction(machine, images=images)
    while not found.is_solved:
        assert found.why_failed == ""
        found.advance()
    return found


def circuit(text: str) -> CircuitMachine:
    return make_pair(parse_rulesheet(text)).circuit


def shipped(name: str) -> CircuitMachine:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    return machine


def tableau(payoffs: NDArray[Any]) -> Tableau:
    rows, columns = payoffs.shape
    return Tableau(
        payoffs.astype(np.float64), np.zeros((rows + 1, rows + columns + 1)), np.zeros(rows, np.int32), np.zeros(rows),
        np.zeros(columns),
    )  # fmt: skip


def test_matrix_games_by_hand() -> None:
    # value (ad - bc) / (a + d - b - c) where no entry is a saddle point
    table = tableau(np.array([[3.0, 1.0], [0.0, 2.0]]))
    assert solve_matrix(table, 2, 2) == pytest.approx(1.5)
    assert table.row == pytest.approx([0.5, 0.5])
    assert table.column == pytest.approx([0.25, 0.75])
    table = tableau(np.array([[4.0, 2.0, 3.0], [1.0, 0.0, 9.0]]))
    assert solve_matrix(table, 2, 3) == 2.0
    assert table.row.tolist() == [1, 0]
    assert table.column.tolist() == [0, 1, 0]


@pytest.mark.parametrize("seed", range(4))
def test_no_role_gains_in_random_matrix_games(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(100):
        rows, columns = random.integers(1, 12, 2)
        payoffs = random.integers(0, 6, (rows, columns)) * 20.0 if seed % 2 else random.random((rows, columns)) * 100
        table = tableau(payoffs)
        value = solve_matrix(table, int(rows), int(columns))
        for strategy in (table.row, table.column):
            assert strategy.min() >= 0
            assert strategy.sum() == pytest.approx(1)
        assert (table.row @ payoffs).min() == pytest.approx(value, abs=1e-8)
        assert (payoffs @ table.column).max() == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_the_sequence_form(seed: int) -> None:
    machine = circuit(random_game(seed, told=False, positions=12 if seed % 2 else 4))
    found = solved(machine)
    other = EquilibriumSolver(machine)
    other.run(lambda: False, 2000)
    report = other.report()
    assert report.nash_conv is not None
    assert found.values(0) == pytest.approx(report.values, abs=report.nash_conv + 1e-9)
    assert found.gains(0) == pytest.approx((0, 0), abs=1e-8)
    assert found.states < report.histories


def test_strategies_of_states() -> None:
    machine = shipped("rockpaperscissors")
    assert choose_together(machine)
    found = solved(machine)
    assert found.values(0) == pytest.approx((50, 50))
    for moves in found.strategies(0):
        assert moves == pytest.approx(dict.fromkeys(("paper", "rock", "scissors"), 1 / 3))
    assert len(set(found.likely_joint_moves(0))) == 9
    assert found.can_choose(0, machine.roles[0])
    state = machine.packed(machine.next_state(machine.initial_state, found.likely_joint_moves(0)[0]))
    assert state is not None
    after = found.find(state)
    assert after is not None
    assert found.likely_joint_moves(after) == []
    assert not found.can_choose(after, machine.roles[0])


@pytest.mark.parametrize(("name", "share"), [("tictactoe", 7), ("boxes2", 2.5), ("goofspiel", 1)])
def test_images_are_solved_once(name: str, share: float) -> None:
    """Every state that random matches meet has the value and the legal moves that it has without symmetries."""
    machine = shipped(name)
    symmetries = find_symmetries(machine.rulesheet, machine.batches)
    assert symmetries is not None
    plain, found = solved(machine), solved(machine, images_of(symmetries, same_roles=True))
    assert found.states <= plain.states / share
    assert found.gains(0) == pytest.approx((0, 0), abs=1e-9)
    seen = set()
    for seed in range(30):
        random, state = Random(seed), machine.initial_state
        while not machine.is_terminal(state):
            packed = machine.packed(state)
            assert packed is not None
            number, least = plain.find(packed), found.find_image(packed)
            assert number is not None
            assert least is not None
            seen.add(least[1])
            assert found.values(least[0]) == pytest.approx(plain.values(number), abs=1e-9)
            legal = tuple(set(machine.legal_moves(state, role)) for role in found.roles)
            assert tuple(set(moves) for moves in found.strategies(*least)) == legal
            after = [machine.packed(machine.next_state(state, joint)) for joint in found.likely_joint_moves(*least)]
            assert after
            if "random" not in machine.roles:  # what is likely keeps the value, where nothing has to be mixed
                worth = [plain.values(plain.find(each) or 0)[0] for each in after if each is not None]
                if len(worth) == 1:
                    assert worth == pytest.approx(plain.values(number)[:1])
            state = machine.next_state(
                state, tuple(map(random.choice, (machine.legal_moves(state, r) for r in machine.roles)))
            )
    assert (len(seen) > 1) == (share > 1)


def test_one_role_and_chance() -> None:
    found = solved(shipped("pig"))
    assert found.states == 255_025
    assert sum(found.values(0)) == 100
    assert not choose_together(shipped("pig"))
    assert not choose_together(shipped("tictactoe"))
    alone = solved(circuit(COIN))
    assert alone.values(0) == (50,)
    assert alone.gains(0) == (0,)
    assert alone.strategies(0) == ({"a": 1},)
    assert sorted(alone.likely_joint_moves(0)) == [("a", "x"), ("a", "y")]


def test_where_there_is_no_answer() -> None:
    with pytest.raises(EquilibriumError, match="roles do not see the state"):
        BackwardInduction(shipped("kuhnpoker"))
    assert not choose_together(shipped("kuhnpoker"))
    for machine, reason in (
        (circuit(CIRCLE), "states can come again"),
        (circuit(SHARED), "the goal values of the roles are not opposed"),
    ):
        found = BackwardInduction(machine)
        while not found.why_failed:
            assert not found.is_solved
            found.advance()
        assert found.why_failed == reason
        found.advance()
        assert not found.is_full
    found = BackwardInduction(shipped("tictactoe"), memory_bytes=2**16)
    while not found.why_failed:
        found.advance()
    assert found.is_full
    assert found.why_failed.startswith("there is no room for more than")
