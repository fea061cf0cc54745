"""Merged histories: with all order remembered they are those of the sequence form, with less the policy is weaker."""

from random import Random

import numpy as np
import pytest

import ggp
from ggp.equilibrium.merged import MergedFollower, MergedSolver
from ggp.equilibrium.regret import uniform
from ggp.equilibrium.solving import EquilibriumSolver, values_of
from ggp.errors import EquilibriumError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import random_game

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

MEMORY = 2**26
ERRORS = """
(role one) (role two) (init (step 0)) (succ 0 1) (succ 1 2)
(<= (legal one right) (true (step 0))) (<= (legal one wrong) (true (step 0))) (<= (legal one wait) (true (step 1)))
(<= (legal two wait) (true (step 0))) (<= (legal two punish) (true (step 1))) (<= (legal two pass) (true (step 1)))
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next erred) (does one wrong)) (<= (next erred) (true erred))
(<= (next punished) (does two punish) (true erred)) (<= terminal (true (step 2)))
(<= (sees two erred) (does one wrong))
(<= (goal one 50) (not (true erred))) (<= (goal two 50) (not (true erred)))
(<= (goal one 0) (true punished)) (<= (goal two 100) (true punished))
(<= (goal one 30) (true erred) (not (true punished))) (<= (goal two 70) (true erred) (not (true punished)))
"""


def shipped(name: str) -> CircuitMachine:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    return machine


def merged(
    machine: CircuitMachine, recall: int, iterations: int, memory_bytes: int = MEMORY, few: int = 0
) -> MergedSolver:
    solver = MergedSolver(machine, recall, memory_bytes, few)
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


def test_order_is_remembered_while_nodes_are_few() -> None:
    """Of the first steps all of it, until a step has many nodes; then it is forgotten, with what was known before."""
    game = shipped("hiddengoofspiel")
    forgetful, some, all_order, every = (
        merged(game, recall, 100, few=few) for recall, few in ((0, 0), (0, 3000), (99, 0), (0, 1 << 20))
    )
    assert every.nodes == all_order.nodes
    assert responses(every) == pytest.approx(responses(all_order))
    widths = [np.diff(solver.enumeration.steps).tolist() for solver in (forgetful, some, all_order)]
    assert widths[1][:6] == widths[2][:6] != widths[0][:6]
    assert widths[1][6:] == widths[0][6:] != widths[2][6:]
    assert sum(responses(some)) < sum(responses(forgetful)) - 0.5
    assert sum(responses(some)) == pytest.approx(sum(responses(all_order)), abs=0.01)
    rng, state = Random(1), game.initial_state
    followers = [MergedFollower(game, some, role) for role in some.roles]
    while not game.is_terminal(state):
        joint = tuple(rng.choice(game.legal_moves(state, role)) for role in game.roles)
        for follower in followers:
            role = some.roles[followers.index(follower)]
            number = follower.information_set
            assert number is not None
            assert some.moves(number).keys() <= set(game.legal_moves(state, role))
            follower.advance(joint[game.roles.index(role)], game.percepts(state, joint, role))
        state = game.next_state(state, joint)


def test_a_role_knows_what_to_do_after_errors() -> None:
    """Who trembles loses no more than that; and what only an error leads to has been thought of."""
    machine = make_pair(parse_rulesheet(ERRORS)).circuit
    answers = {}
    for tremble in (0.0, 0.1):
        solver = MergedSolver(machine, 99, MEMORY, tremble=tremble)
        while solver.form is None or solver.iterations < 200:
            solver.advance()
        follower = MergedFollower(machine, solver, "two")
        follower.advance("wait", ("erred",))
        number = follower.information_set
        assert number is not None
        answers[tremble] = solver.moves(number)
        assert sum(responses(solver)) - 100 < 0.1
    assert answers[0.1]["punish"] > 0.99
    assert answers[0.0]["punish"] < answers[0.1]["punish"]


def test_where_histories_cannot_be_merged() -> None:
    for name in ("goofspiel", "montyhall"):
        with pytest.raises(EquilibriumError, match="histories are merged for two roles with `sees` only"):
            MergedSolver(shipped(name))
    with pytest.raises(EquilibriumError, match="roles forget what is legal"):
        merged(shipped("leducpoker"), 0, 1)
    with pytest.raises(EquilibriumError, match="there is no room for all nodes"):
        merged(shipped("phantomtictactoe"), 1, 1, 2**16)
    rules = """
(role a) (role b) (init (s 1)) (<= (legal ?r x) (role ?r)) (<= (next (s ?n)) (true (s ?n)))
(<= (sees ?r ?m) (role ?r) (does a ?m)) (<= terminal (true (s ?n))) (<= (goal ?r 50) (role ?r))
"""
    with pytest.raises(EquilibriumError, match="the match is over when it begins"):
        MergedSolver(make_pair(parse_rulesheet(rules)).circuit)


def test_no_end_counts_as_a_way_to_an_information_set() -> None:
    form = merged(shipped("kuhnpoker"), 99, 1).form
    assert form is not None
    assert len(form.transitions) > 0
    assert set(form.transitions[:, 1].tolist()).isdisjoint({0})  # the first one of the first role
