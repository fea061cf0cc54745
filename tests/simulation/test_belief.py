"""Beliefs against brute force: every history enumerated by the interpreter."""

from collections import defaultdict
from itertools import product
from random import Random

import numpy as np
import pytest

import ggp
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.simulation.belief import Belief, Policies, set_key
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import add_state, make_state_table
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import random_game

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

Known = tuple[tuple[Term, tuple[Term, ...]], ...]  # what a role did and was told

WIDE = (
    "(role one) (role two) (role random) (init (n 0)) "
    + " ".join(f"(d {digit})" for digit in range(40))
    + """
(<= (legal ?r (say ?x)) (role ?r) (d ?x)) (<= (next (said ?r ?x)) (does ?r (say ?x))) (<= (next (n 0)) (true (n 0)))
(<= terminal (true (n never))) (goal one 0) (goal two 0) (goal random 0)
(<= (sees one (sum ?x)) (does two (say ?x)))
"""
)


def worlds(machine: StateMachine, role: str, known: Known) -> dict[tuple[Facts, tuple[Known, ...]], float]:
    """What is possible, by all histories: states with what every role knows there → their probability."""
    number = machine.roles.index(role)
    found: dict[tuple[Facts, tuple[Known, ...]], float] = {
        (machine.initial_state, tuple(() for _ in machine.roles)): 1.0
    }
    for own, wanted in known:
        after: dict[tuple[Facts, tuple[Known, ...]], float] = defaultdict(float)
        for (state, before), chance in found.items():
            legal = [machine.legal_moves(state, each) for each in machine.roles]
            if own not in legal[number]:
                continue
            legal[number] = (own,)
            joint_moves = list(product(*legal))
            for joint in joint_moves:
                told = tuple(machine.percepts(state, joint, each) for each in machine.roles)
                following = machine.next_state(state, joint)
                if told[number] == wanted and not machine.is_terminal(following):
                    now = tuple(
                        () if each == "random" else (*old, (move, heard))
                        for each, old, move, heard in zip(machine.roles, before, joint, told, strict=True)
                    )
                    after[following, now] += chance / len(joint_moves)
        found = after
    total = sum(found.values())
    return {key: chance / total for key, chance in found.items()}


def random_steps(machine: StateMachine, seed: int, role: str) -> list[tuple[JointMove, tuple[Term, ...]]]:
    """Joint moves of a random match with what the role is told, without the step into the end."""
    random, state = Random(seed), machine.initial_state
    found: list[tuple[JointMove, tuple[Term, ...]]] = []
    while True:
        joint = tuple(random.choice(machine.legal_moves(state, each)) for each in machine.roles)
        told = machine.percepts(state, joint, role)
        state = machine.next_state(state, joint)
        if machine.is_terminal(state):
            return found
        found.append((joint, told))


def check(circuit: CircuitMachine, belief: Belief, expected: dict[tuple[Facts, tuple[Known, ...]], float]) -> None:
    """The same worlds with the same probabilities; equal keys for equal knowledge only."""
    by_state: dict[Facts, list[float]] = defaultdict(list)
    for (state, _), chance in expected.items():
        by_state[state].append(chance)
    found: dict[Facts, list[float]] = defaultdict(list)
    for at, weight in enumerate(belief.weights):
        found[circuit.unpacked(belief.states[at : at + 1])].append(weight)
    assert found.keys() == by_state.keys()
    for state, chances in by_state.items():
        assert sorted(found[state]) == pytest.approx(sorted(chances), abs=1e-12)
    for number in range(len(circuit.roles)):
        assert len(set(belief.keys[:, number].tolist())) == len({known[number] for _, known in expected})


@pytest.mark.parametrize("seed", range(8))
def test_an_exact_belief_has_what_is_possible_with_its_probability(seed: int) -> None:
    pair = make_pair(parse_rulesheet(random_game(seed, roles=2 + seed % 2)))
    role = "r0"
    steps = random_steps(pair.interpreter, seed, role)
    belief = Belief(pair.circuit, role)
    known: Known = ()
    for joint, told in steps:
        known = (*known, (joint[0], told))
        assert belief.advance(joint[0], told)
        assert belief.is_exact
        check(pair.circuit, belief, worlds(pair.interpreter, role, known))


def test_what_others_are_known_to_do_makes_worlds_likelier() -> None:
    """By Bayes' rule, a quarter of the policy replaced by uniform choices."""
    machine = ggp.load("kuhnpoker", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    belief = Belief(machine, "second")
    assert belief.advance("noop", (("dealt", "queen"),))
    with_jack = [("holds", "first", "jack") in machine.unpacked(state[np.newaxis]) for state in belief.states]
    bets = {True: 1, False: 6}  # of 8, with the jack and with the king
    table, visits = make_state_table(1, 2), []
    for key, is_jack in zip(belief.keys[:, 0], with_jack, strict=True):
        add_state(table, np.array([[set_key(key, 0)]]), 0)
        visits += [bets[is_jack], 8 - bets[is_jack]]
    bet, wait = (machine.compiled.moves[0].index(move) for move in ("bet", "pass"))
    numbers = (np.array(each, np.int32) for each in ([0, 2], [2, 2], [bet, wait] * 2, visits))
    assert belief.advance("noop", (("did", "first", "bet"),), policies=Policies(table, *numbers))
    shares = {
        ("holds", "first", "jack") in machine.unpacked(state[np.newaxis]): weight
        for state, weight in zip(belief.states, belief.weights, strict=True)
    }
    jack, king = 0.75 * 1 / 8 + 0.25 / 2, 0.75 * 6 / 8 + 0.25 / 2
    assert shares == {True: pytest.approx(jack / (jack + king)), False: pytest.approx(king / (jack + king))}


def test_phantom_tic_tac_toe() -> None:
    game, oracle = ggp.load("phantomtictactoe", "circuit"), ggp.load("phantomtictactoe", "interpreter").machine
    assert isinstance(game.machine, CircuitMachine)
    belief = Belief(game.machine, "o")
    known: Known = ()
    for joint, told in random_steps(oracle, 3, "o")[:6]:
        known = (*known, (joint[1], told))
        assert belief.advance(joint[1], told)
    check(game.machine, belief, worlds(oracle, "o", known))


def test_what_was_not_possible_leaves_no_world() -> None:
    machine = ggp.load("montyhall", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    for move, told in (("noop", (("opened", "1"),)), ("noop", ("rumour",)), ("stay", ())):
        belief = Belief(machine, "candidate")
        assert not belief.advance(move, told)
        assert len(belief.weights) == len(belief.states) == 0
        assert belief.effective_size == 0
        assert not belief.advance("noop", ())


def test_particles_are_possible_worlds_and_no_more_than_wanted() -> None:
    game, oracle = ggp.load("phantomtictactoe", "circuit"), ggp.load("phantomtictactoe", "interpreter").machine
    assert isinstance(game.machine, CircuitMachine)
    for seed in range(3):
        belief = Belief(game.machine, "x", most_worlds=10, seed=seed)
        known: Known = ()
        for joint, told in random_steps(oracle, seed + 10, "x")[:7]:
            known = (*known, (joint[0], told))
            assert belief.advance(joint[0], told)
            possible = {state for state, _ in worlds(oracle, "x", known)}
            assert {game.machine.unpacked(row[None]) for row in belief.states} <= possible
            assert len(belief.weights) <= 10 * 256  # more only where none was left
            assert belief.weights.sum() == pytest.approx(1)
            assert 1 <= belief.effective_size <= len(belief.weights) + 1e-9


def test_resampling_keeps_the_mean() -> None:
    """Of forty hidden digits a few particles remain; each digit is kept equally often."""
    machine = make_pair(parse_rulesheet(WIDE)).circuit
    counts = [0.0] * 40
    for seed in range(60):
        belief = Belief(machine, "one", most_worlds=8, seed=seed)
        assert belief.advance(("say", "3"), (("sum", "5"),))
        assert not belief.is_exact
        assert 1 < len(belief.weights) <= 8
        for at, weight in enumerate(belief.weights):
            facts = machine.unpacked(belief.states[at : at + 1])
            (digit,) = (fact[2] for fact in facts if fact[0] == "said" and fact[1] == "random")
            counts[int(str(digit))] += weight
    assert sum(counts) == pytest.approx(60)
    assert max(counts) < 4.5
    assert min(counts) > 0.3


def test_a_belief_that_died_out_is_rebuilt_from_earlier_ones() -> None:
    """Four particles for forty digits: told which it was, the belief has to go back for it."""
    rules = WIDE.replace(
        "(<= (sees one (sum ?x)) (does two (say ?x)))", "(<= (sees one (was ?x)) (true (said random ?x)))"
    )
    machine = make_pair(parse_rulesheet(rules)).circuit
    rebuilt = 0
    for digit in ("7", "12", "20", "31"):
        belief = Belief(machine, "one", most_worlds=4)
        assert belief.advance(("say", "0"), ())
        assert belief.advance(("say", "0"), (("was", digit),))
        assert belief.advance(("say", "0"), (("was", "2"),))
        rebuilt += belief.rebuilt
    assert rebuilt > 0


def test_worlds_are_drawn_by_their_probabilities() -> None:
    machine = ggp.load("phantomtictactoe", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    belief = Belief(machine, "x", seed=1)
    assert belief.advance(("mark", "2", "2"), (("turn", "o"),))
    assert belief.advance("noop", (("turn", "x"),))
    states, keys, weights = belief.sample(3)
    assert (len(states), len(keys), weights.sum()) == (3, 3, pytest.approx(1))
    kept = {(state.tobytes(), key.tobytes()) for state, key in zip(belief.states, belief.keys, strict=True)}
    assert {(state.tobytes(), key.tobytes()) for state, key in zip(states, keys, strict=True)} < kept
    assert [len(part) for part in belief.sample(100)] == 3 * [len(belief.weights)]


def test_what_a_belief_remembers_is_bounded() -> None:
    """Also where it was followed again from the start."""
    machine = ggp.load("blindbreakthrough", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    role = machine.roles[0]
    belief = Belief(machine, role, seed=3, most_worlds=2)
    for joint, told in random_steps(machine, 7, role):
        if not belief.advance(joint[0], told):
            break
    assert belief.rebuilt > 0
    assert len(belief._moments) <= 17


def test_a_step_for_which_memory_is_short_costs_its_worlds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ggp.load("phantomtictactoe", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    belief = Belief(machine, "x")

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("ggp.simulation.belief.follow_worlds", fail)
        with pytest.raises(MemoryError):
            belief.advance(("mark", "2", "2"), (("turn", "o"),))
    assert len(belief.weights) == len(belief.states) == 0
    assert belief.advance("noop", (("turn", "x"),))  # followed again from the start
