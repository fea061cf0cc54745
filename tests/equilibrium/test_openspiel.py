"""Our games are those of OpenSpiel: as many histories and information sets, the same values and best responses.

OpenSpiel is no dependency; without it these tests are skipped.
"""

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import ggp
from ggp.equilibrium.regret import uniform
from ggp.equilibrium.solving import EquilibriumSolver, values_of
from ggp.errors import SettingsError
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.bridge import load_openspiel

GAMES = {
    "kuhnpoker": ("kuhn_poker", 25),
    "leducpoker": ("leduc_poker", 3),
    "goofspiel": ("turn_based_simultaneous_game(game=goofspiel(num_cards=4,returns_type=win_loss))", 50),
    "hiddengoofspiel": (
        "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,returns_type=win_loss))",
        50,
    ),
    "liarsdice": ("liars_dice", 50),
}  # ours → theirs, and how many goal points one of their points is

FORGETFUL = ("goofspiel",)  # there an information set is a state, whatever bids have led to it


@pytest.fixture(scope="module")
def openspiel() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own making
        try:
            yield load_openspiel()
        except SettingsError as error:
            pytest.skip(str(error))


def walk(state: Any, chance: float, found: dict[str, Any]) -> None:  # noqa: ANN401 - OpenSpiel is not annotated
    """All of their histories: ends with their probability under uniform play, information sets with a choice."""
    if state.is_terminal():
        found["ends"] += 1
        for player, value in enumerate(state.returns()):
            found["values"][player] += chance * value
    elif state.is_chance_node():
        for action, share in state.chance_outcomes():
            walk(state.child(action), chance * share, found)
    else:
        actions = state.legal_actions()
        if len(actions) > 1:
            found["sets"].add((state.current_player(), state.information_state_string()))
        for action in actions:
            walk(state.child(action), chance / len(actions), found)


def check(name: str, openspiel: Any) -> None:  # noqa: ANN401
    theirs, points = GAMES[name]
    found: dict[str, Any] = {"ends": 0, "sets": set(), "values": [0.0, 0.0]}
    walk(openspiel.load_game(theirs).new_initial_state(), 1.0, found)
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    solver = EquilibriumSolver(machine)
    solver.run(lambda: solver.tree is not None)
    tree = solver.tree
    assert tree is not None
    assert len(tree.form.payoffs) == found["ends"]
    if name not in FORGETFUL:
        assert len(tree.form.parent) == len(found["sets"])
    values, _ = values_of(tree.form, uniform(tree.form))
    assert values == pytest.approx([50 + points * value for value in found["values"]], abs=1e-6)


@pytest.mark.parametrize("name", ["kuhnpoker", "leducpoker"])
def test_it_is_the_same_game(name: str, openspiel: Any) -> None:  # noqa: ANN401
    check(name, openspiel)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["goofspiel", "hiddengoofspiel", "liarsdice"])
def test_larger_games_are_the_same(name: str, openspiel: Any) -> None:  # noqa: ANN401
    check(name, openspiel)


@pytest.mark.parametrize("name", ["kuhnpoker", "leducpoker"])
def test_best_responses_to_uniform_play_are_worth_the_same(name: str, openspiel: Any) -> None:  # noqa: ANN401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = import_module("open_spiel.python.policy")
        exploitability = import_module("open_spiel.python.algorithms.exploitability")
    theirs, points = GAMES[name]
    game = openspiel.load_game(theirs)
    expected = exploitability.nash_conv(game, policy.UniformRandomPolicy(game))
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    solver = EquilibriumSolver(machine)
    solver.run(lambda: solver.tree is not None)
    assert solver.tree is not None
    values, best = values_of(solver.tree.form, uniform(solver.tree.form))
    assert (best - values).sum() == pytest.approx(points * expected, abs=1e-6)
