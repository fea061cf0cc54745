"""Equilibria: histories, information sets, values and strategies against the naive twin, and against known games."""

from itertools import product
from statistics import fmean

import numpy as np
import pytest

import ggp
from ggp.equilibrium.backward_induction import BackwardInduction
from ggp.equilibrium.game_tree import GameTree, Roots, Values
from ggp.equilibrium.policy import Follower, Policy
from ggp.equilibrium.regret import iterate, make_regrets, uniform
from ggp.equilibrium.settings import SolveSettings
from ggp.equilibrium.solving import EquilibriumSolver, best_response, values_of
from ggp.equilibrium.tree_size import estimate_histories
from ggp.errors import EquilibriumError, NoGoalError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import to_text
from ggp.simulation.belief import Belief
from ggp.simulation.evaluate import Bits
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import MANY, UNKNOWABLE, random_game
from tests.equilibrium.naive import Key, NaiveGame, Strategy, enumerate_naively, iterations

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

GAMES = {f"told, {seed}": random_game(seed) for seed in range(6)}
GAMES |= {f"joint moves, {seed}": random_game(seed, told=False) for seed in range(6, 9)}
GAMES |= {f"three roles, {seed}": random_game(seed, roles=3) for seed in range(9, 11)}


def tree_of(machine: CircuitMachine) -> GameTree:
    solver = EquilibriumSolver(machine)
    solver.run(lambda: solver.tree is not None)
    assert solver.tree is not None
    return solver.tree


def circuit_of(name: str) -> CircuitMachine:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    return machine


def solved(name: str, iterations: int, algorithm: str = "pcfr+") -> EquilibriumSolver:
    machine = circuit_of(name)
    solver = EquilibriumSolver(machine, SolveSettings(algorithm=algorithm))  # type: ignore[arg-type]
    solver.run(lambda: False, iterations)
    return solver


def as_naive(policy: Policy) -> Strategy:
    """Information sets as the naive twin names them."""
    found: Strategy = {}
    for decision in policy.decisions():
        key: Key = (decision.role,)
        for move, told in decision.known:
            key += (to_text(move), " ".join(map(to_text, told)))
        found[key] = decision.moves
    return found


def choices_of(game: NaiveGame) -> dict[Key, set[object]]:
    return {key: set(moves) for key, moves in game.legal.items() if len(moves) > 1}


@pytest.mark.parametrize("name", GAMES)
def test_histories_and_values_are_those_of_the_naive_twin(name: str) -> None:
    pair = make_pair(parse_rulesheet(GAMES[name]))
    game, tree = enumerate_naively(pair.interpreter), tree_of(pair.circuit)
    assert tree.histories == game.histories
    assert len(tree.form.payoffs) == len(game.ends)
    strategy = as_naive(Policy(tree, uniform(tree.form)))
    assert {key: set(moves) for key, moves in strategy.items()} == choices_of(game)
    values, best = values_of(tree.form, uniform(tree.form))
    for number, role in enumerate(tree.roles):
        assert values[number] == pytest.approx(game.value(role, game.uniform()), abs=1e-9)
        assert best[number] == pytest.approx(game.best(role, game.uniform()), abs=1e-9)
        assert best_response(tree.form, number, uniform(tree.form))[0] == pytest.approx(best[number])


def uniform_values(machine: StateMachine, state: Facts) -> list[float]:
    """What a state is worth to each role when all choose uniformly, by recursion."""
    if machine.is_terminal(state):
        return [float(machine.goal(state, role) or 0) for role in machine.roles]
    joint_moves = list(product(*(machine.legal_moves(state, role) for role in machine.roles)))
    after = [uniform_values(machine, machine.next_state(state, joint)) for joint in joint_moves]
    return [fmean(values) for values in zip(*after, strict=True)]


@pytest.mark.parametrize("name", GAMES)
def test_histories_that_are_cut_off_are_worth_what_the_edge_says(name: str) -> None:
    """With what uniform play comes to from there, uniform play before is worth what it is in the whole game."""
    pair = make_pair(parse_rulesheet(GAMES[name]))
    machine, whole = pair.circuit, tree_of(pair.circuit)
    cut_at: list[set[Facts]] = []

    def edge(states: Bits) -> Values:
        terms = [machine.unpacked(states[at : at + 1]) for at in range(len(states))]
        cut_at.append(set(terms))
        return np.array([uniform_values(pair.interpreter, each) for each in terms])

    expected, _ = values_of(whole.form, uniform(whole.form))
    for histories in (whole.histories, whole.histories - 1, whole.histories // 4):
        cut_at.clear()
        solver = EquilibriumSolver(machine, SolveSettings(histories=histories), edge=edge)
        solver.run(lambda solver=solver: solver.tree is not None)  # type: ignore[misc]
        tree = solver.tree
        assert tree is not None
        assert tree.histories <= histories
        values, _ = values_of(tree.form, uniform(tree.form))
        assert values == pytest.approx(expected, abs=1e-9)
        is_whole = histories == whole.histories
        assert len(cut_at) == (0 if is_whole else 1)
        assert (len(tree.item) == len(whole.item)) == is_whole
        assert not any(map(machine.is_terminal, set().union(*cut_at)))


@pytest.mark.parametrize("algorithm", ["cfr+", "pcfr+"])
def test_iterations_are_those_of_the_naive_twin(algorithm: str) -> None:
    for seed, told in ((1, True), (2, False)):
        pair = make_pair(parse_rulesheet(random_game(seed, told=told, steps=2, positions=20)))
        game, tree = enumerate_naively(pair.interpreter), tree_of(pair.circuit)
        regrets = make_regrets(tree.form)
        is_predictive = algorithm == "pcfr+"
        for number, expected in enumerate(iterations(game, 4, is_predictive=is_predictive), 1):
            iterate(tree.form, regrets, number, is_predictive)
            found = as_naive(Policy(tree, regrets.strategy))
            for key, moves in found.items():
                assert moves == pytest.approx(expected[key], abs=1e-9)


@pytest.mark.parametrize("name", [name for name in GAMES if not name.startswith("three")])
def test_an_average_is_an_equilibrium_by_the_naive_twin(name: str) -> None:
    pair = make_pair(parse_rulesheet(GAMES[name]))
    solver = EquilibriumSolver(pair.circuit)
    solver.run(lambda: False, 2000)
    policy, report = solver.policy(), solver.report()
    assert policy is not None
    assert report.nash_conv is not None
    assert -1e-9 <= report.nash_conv < 0.05
    game = enumerate_naively(pair.interpreter)
    strategy = game.uniform() | as_naive(policy)
    gains = [game.best(role, strategy) - game.value(role, strategy) for role in game.roles]
    assert sum(gains) == pytest.approx(report.nash_conv, abs=1e-6)


def test_known_values() -> None:
    """Kuhn (1950): a loss of 1/18 chips; OpenSpiel's Leduc poker: 0.0856; goal values are in the games' metadata."""
    kuhn, leduc = solved("kuhnpoker", 3000), solved("leducpoker", 400)
    assert kuhn.report().values[0] == pytest.approx(50 - 25 / 18, abs=0.025)
    assert kuhn.report().nash_conv == pytest.approx(0, abs=0.025)
    assert leduc.report().values[0] == pytest.approx(50 - 3 * 0.0856, abs=0.015)
    assert leduc.report().nash_conv == pytest.approx(0, abs=0.06)
    pennies, door = solved("matchingpennies", 10), solved("montyhall", 10)
    assert pennies.report().values == pytest.approx((50, 50))
    assert door.report().values == pytest.approx((200 / 3,))
    policy = door.policy()
    assert policy is not None
    assert all(each.moves["switch"] == pytest.approx(1) for each in policy.decisions() if "switch" in each.moves)


def test_cfr_plus_comes_to_the_same_value() -> None:
    solver = solved("kuhnpoker", 3000, "cfr+")
    assert solver.report().values[0] == pytest.approx(50 - 25 / 18, abs=0.025)
    assert solver.report().nash_conv == pytest.approx(0, abs=0.1)


def test_a_role_is_followed_to_its_information_set() -> None:
    """What a role does and is told leads to the set whose moves are legal then."""
    solver = solved("leducpoker", 1)
    policy = solver.policy()
    assert policy is not None
    machine = policy.tree.machine
    seen = 0
    for decision in policy.decisions():
        follower = Follower(policy.tree, decision.role)
        for move, told in decision.known:
            follower.advance(move, told)
        number = follower.information_set
        assert number is not None
        assert policy.decision(number) == decision
        seen += 1
    assert seen == 936  # as OpenSpiel counts them
    lost = Follower(policy.tree, machine.roles[0])
    lost.advance("raise", ())
    assert lost.information_set is None
    lost.advance("noop", ())
    assert lost.information_set is None


def test_what_a_role_cannot_know_is_told() -> None:
    machine = make_pair(parse_rulesheet(UNKNOWABLE, "unknowable")).circuit
    with pytest.raises(EquilibriumError, match="unknowable: after 1 steps one cannot know its legal moves"):
        EquilibriumSolver(machine).run(lambda: False, 1)


def test_what_is_too_large_is_told() -> None:
    machine = make_pair(parse_rulesheet(MANY, "many")).circuit
    with pytest.raises(EquilibriumError, match="many: there are more than 10,000 histories"):
        EquilibriumSolver(machine, SolveSettings(histories=10_000)).run(lambda: False, 1)
    with pytest.raises(EquilibriumError, match="histories need more than 3 MiB"):
        EquilibriumSolver(machine, SolveSettings(histories=10**9), memory_bytes=3 * 2**20).run(lambda: False, 1)
    stopped = EquilibriumSolver(machine)
    stopped.run(lambda: True, 1)
    assert stopped.policy() is None
    assert stopped.report().nash_conv is None


def test_a_subgame_begins_in_the_worlds_of_a_belief() -> None:
    """In Kuhn poker; as if both knew the belief: who holds the king bets, and a bet is not called."""
    machine = circuit_of("kuhnpoker")
    belief = Belief(machine, "second")
    assert belief.advance("noop", (("dealt", "king"),))
    roots = Roots(belief.states, belief.keys, belief.weights)
    solver = EquilibriumSolver(machine, memory_bytes=2**24, roots=roots)
    solver.run(lambda: False, 500)
    report, policy = solver.report(), solver.policy()
    assert report.histories == 2 * 9  # with a jack and with a queen
    assert report.nash_conv == pytest.approx(0, abs=0.01)
    assert report.values == pytest.approx((25, 75), abs=0.01)
    assert policy is not None
    second = [decision for decision in policy.decisions() if decision.role == "second"]
    assert [len(decision.known) for decision in second] == [1, 1]  # after a bet and after a pass
    assert len([decision for decision in policy.decisions() if not decision.known]) == 2  # the first knows its card


def test_a_subgame_from_the_start_is_the_game() -> None:
    machine = circuit_of("leducpoker")
    start = Belief(machine, "first")
    roots = Roots(start.states, start.keys, start.weights)
    reports = []
    for each in (None, roots):
        solver = EquilibriumSolver(machine, memory_bytes=2**26, roots=each)
        solver.run(lambda: False, 10)
        reports.append(solver.report())
    assert reports[0].histories == reports[1].histories
    assert reports[0].values == pytest.approx(reports[1].values)
    assert reports[0].gains == pytest.approx(reports[1].gains)


def test_random_matches_show_how_many_histories_there_are() -> None:
    """All matches of goofspiel have as many choices; those of Leduc poker have not."""
    assert estimate_histories(circuit_of("hiddengoofspiel")) == (46_917, 0)
    mean, error = estimate_histories(circuit_of("leducpoker"))
    assert 0 < error < 1000
    assert abs(mean - 9_451) < 4 * error


GOALLESS = """
(role a) (role b) (init (s 0)) (legal a x) (legal a y) (legal b x) (<= (next (w ?m)) (does a ?m))
(<= terminal (true (w ?m))) (<= (goal a 60) (true (w x))) (<= (goal b 40) (true (w ?m)))
"""
STUCK = """
(role a) (role b) (init (s 0)) (<= (legal a x) (true (s 0))) (<= (legal a y) (true (s 0))) (legal b x)
(<= (next (w ?m)) (does a ?m)) (<= terminal (true (w x))) (<= (goal a 60) (true (w x))) (<= (goal b 40) (true (w x)))
(<= (goal a 100) (true (w y))) (<= (goal b 0) (true (w y)))
"""


@pytest.mark.parametrize(("rules", "role"), [(GOALLESS, "a"), (STUCK, "b")])
def test_ends_without_a_single_goal_value_or_without_a_legal_move_are_refused(rules: str, role: str) -> None:
    machine = make_pair(parse_rulesheet(rules, "odd")).circuit
    with pytest.raises(NoGoalError, match=f"^odd: at an end that can be reached the rules give {role} no single goal"):
        EquilibriumSolver(machine).run(lambda: False, 1)
    states = BackwardInduction(machine)
    while not states.why_failed:
        states.advance()
    assert states.why_failed.startswith(f"at an end the rules give {role} no single goal value")
    assert not states.is_solved
