"""Merged histories: with all order remembered they are those of the sequence form, with less the policy is weaker."""

import pytest

import ggp
from ggp.equilibrium.merged import MergedSolver
from ggp.equilibrium.regret import uniform
from ggp.equilibrium.solving import EquilibriumSolver, values_of
from ggp.errors import EquilibriumError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import random_game

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

MEMORY = 2**26


def shipped(name: str) -> CircuitMachine:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    return machine


def merged(machine: CircuitMachine, recall: int, iterations: int, memory_bytes: int = MEMORY) -> MergedSolver:
    solver = MergedSolver(machine, recall, memory_bytes)
    while solver.form is None or solver.iterations < iterations:
        solver.advance()
    return solver


def responses(solver: MergedSolver) -> list[float]:
    return [value for role in solver.roles if (value := solver.best_response(role)) is not None]


@pytest.mark.parametrize("seed", range(8))
def test_who_remembers_all_order_plays_the_game_itself(seed: int) -> None:
    machine = make_pair(parse_rulesheet(random_game(seed))).circuit
    solver = EquilibriumSolver(machine)
    solver.run(lambda: False, 2000)
    assert solver.tree is not None
    start = merged(machine, 99, 0)
    values, best = values_of(solver.tree.form, uniform(solver.tree.form))
    assert start.nodes <= solver.tree.histories
    assert start.values() == pytest.approx(values)
    assert responses(start) == pytest.approx(best)
    found = merged(machine, 99, 1000)
    nash_conv = sum(responses(found)) - sum(found.values())
    assert 0 <= nash_conv + 1e-9 < 0.5
    assert found.values() == pytest.approx(solver.report().values, abs=0.5)


def test_known_games() -> None:
    found = merged(shipped("kuhnpoker"), 99, 2000)
    assert found.values()[0] == pytest.approx(50 - 25 / 18, abs=0.01)
    assert sum(responses(found)) - 100 < 0.1
    assert found.first_moves("first") == {"noop": 1}
    assert found.best_response("first", lambda: True) is None
    game = shipped("hiddengoofspiel")
    forgetful, all_order = (merged(game, recall, 100) for recall in (0, 99))
    assert forgetful.nodes < all_order.nodes
    assert sum(responses(all_order)) - 100 < sum(responses(forgetful)) - 100 + 1e-9


def test_where_histories_cannot_be_merged() -> None:
    for name in ("goofspiel", "montyhall"):
        with pytest.raises(EquilibriumError, match="histories are merged for two roles with `sees` only"):
            MergedSolver(shipped(name))
    with pytest.raises(EquilibriumError, match="roles forget what is legal"):
        merged(shipped("leducpoker"), 0, 1)
    with pytest.raises(EquilibriumError, match="there is no room for all nodes"):
        merged(shipped("phantomtictactoe"), 1, 1, 2**16)
