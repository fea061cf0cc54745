"""Matches of the search side by side: their books, what their samples say, and that a net learns it."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.kernel import LANES
from ggp.learning.contest import random_states
from ggp.learning.fitting import MATCHES, MOVES, SAMPLES, Samples, joined, samples_problem
from ggp.learning.inputs import find_inputs
from ggp.learning.learner import Learner
from ggp.learning.net import Net, make_net
from ggp.search import expert_iteration
from ggp.search.expert_iteration import ExpertMatches
from ggp.search.mcts.search import BatchedMcts
from ggp.search.mcts.tree import IN_FLIGHT, NODES, ROOT, VISITS
from ggp.simulation.evaluate import Bits, unpack
from tests.search.books import check_statistics, check_structure
from tests.search.test_mcts import after, never, pair_of, search_of
from tests.search.truth import World, explore

pytestmark = pytest.mark.kernels

SMALL = 2**20


def net_of(name: str, *, reads_moves: bool = False) -> Net:
    game = pair_of(name).circuit.compiled
    moves = sum(map(len, game.moves))
    return make_net(find_inputs(game), len(game.roles), moves, 1, reads_moves=reads_moves)


def states_of(name: str, count: int) -> Bits:
    return random_states(pair_of(name).circuit.batches, net_of(name), 3)[:count]


def plain(name: str) -> BatchedMcts:
    """A search that knows how many playouts its leaves get."""
    search = search_of(name, retrograde=False, proof=False)
    search.run(never, 1)
    return search


def check_books(search: BatchedMcts) -> None:
    check_statistics(search.tree, check_structure(search.tree))


@pytest.mark.parametrize("name", ["connectfour", "dotsandboxes"])
@pytest.mark.parametrize("count", [1, 3, 64])
def test_all_states_get_their_visits(name: str, count: int) -> None:
    search, states = plain(name), states_of(name, count)
    for _ in range(2):
        before = search.workers[0].visits
        nodes = search.run_side_by_side(states, 48, never)
        assert nodes is not None
        assert (search.tree.table.states[nodes] == states).all()
        different = len(np.unique(states, axis=0))
        assert len(np.unique(nodes)) == different
        assert search.workers[0].visits - before >= 40 * count
        assert (search.tree.values[nodes, VISITS] >= 30).all()
        assert not search.tree.nodes[:, IN_FLIGHT].any()
        check_books(search)


def test_a_tree_that_is_half_full_begins_anew() -> None:
    search, renewed = plain("connectfour"), 0
    for seed in range(12):
        states = random_states(pair_of("connectfour").circuit.batches, net_of("connectfour"), seed)[:64]
        tree = search.tree
        is_crowded = bool(tree.numbers[NODES] > len(tree.nodes) // 2)
        assert search.run_side_by_side(states, 32, never) is not None
        assert (search.tree is not tree) == is_crowded
        renewed += is_crowded
        check_books(search)
    assert renewed


def test_a_stop_takes_all_descents_back() -> None:
    search, states = plain("connectfour"), states_of("connectfour", 16)
    assert search.run_side_by_side(states, 200, after(2)) is None
    assert not search.tree.nodes[:, IN_FLIGHT].any()
    assert not search.tree.in_flight.any()
    check_books(search)


def test_the_search_goes_on_from_one_state_afterwards() -> None:
    search, machine = plain("tictactoe"), pair_of("tictactoe").circuit
    assert search.run_side_by_side(states_of("tictactoe", 8), 16, never) is not None
    search.go_to(machine.initial_state)
    root = int(search.tree.numbers[ROOT])
    before = search.tree.values[root, VISITS]
    search.run(never, 100)
    assert search.tree.values[root, VISITS] >= before + 100
    check_books(search)


@pytest.fixture(autouse=True)
def few_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_iteration, "_VISITS", 64)


@cache
def played(name: str, seed: int = 0, *, reads_moves: bool = False) -> Samples:
    found = ExpertMatches(pair_of(name).circuit, 2**24).play(net_of(name, reads_moves=reads_moves), seed, never)
    assert found is not None
    return found


@cache
def world_of(name: str) -> World:
    circuit = pair_of(name).circuit
    found = explore(circuit, circuit, 6000)
    assert found is not None
    return found


def test_the_moves_of_the_expert_are_optimal() -> None:
    machine, samples, world = pair_of("tictactoe").circuit, played("tictactoe"), world_of("tictactoe")
    offsets = np.cumsum([0, *map(len, machine.compiled.moves)])
    sure, right, near = [world.assured(role) for role in (0, 1)], 0, 0
    assert len(samples.values) > 40
    for at in range(len(samples.values)):
        state = machine.unpacked(samples.states[at : at + 1])
        policy = slice(samples.policy_start[at], samples.policy_start[at] + samples.policy_count[at])
        best = int(samples.moves[policy][samples.shares[policy].argmax()])
        role = int(np.searchsorted(offsets, best, "right")) - 1
        move = machine.compiled.moves[role][best - offsets[role]]
        legal = [machine.legal_moves(state, name) for name in machine.roles]
        assert move in legal[role]
        assert samples.shares[policy].sum() == pytest.approx(1.0, abs=1e-5)
        joint = tuple(move if number == role else moves[0] for number, moves in enumerate(legal))
        right += sure[role][machine.next_state(state, joint)] == sure[role][state]
        near += abs(samples.values[at, role] - sure[role][state]) < 0.3
        assert samples.values[at].sum() == pytest.approx(1.0, abs=1e-5)
    assert right >= 0.97 * len(samples.values)
    assert near >= 0.9 * len(samples.values)


def test_equal_seeds_give_equal_samples() -> None:
    again = ExpertMatches(pair_of("connectfour").circuit, 2**24).play(net_of("connectfour"), 0, never)
    assert again is not None
    for one, other in zip(played("connectfour"), again, strict=True):
        np.testing.assert_array_equal(one, other)
    another = played("connectfour", 1)
    assert another.states.shape != again.states.shape or (another.states != again.states).any()


def test_samples_have_the_legal_moves_of_their_states() -> None:
    machine, samples = pair_of("dotsandboxes").circuit, played("dotsandboxes", reads_moves=True)
    moves = sum(map(len, machine.compiled.moves))
    flags = unpack(samples.legal, moves)
    assert len(flags) > LANES  # more than one batch of them
    for at in (0, LANES, len(flags) - 1):
        state = machine.unpacked(samples.states[at : at + 1])
        legal = [
            move in machine.legal_moves(state, role)
            for role, known in zip(machine.roles, machine.compiled.moves, strict=True)
            for move in known
        ]
        assert flags[at].tolist() == legal


def test_matches_that_are_stopped_give_nothing() -> None:
    expert = ExpertMatches(pair_of("connectfour").circuit, 2**24)
    for questions in (0, 5, 40):
        assert expert.play(net_of("connectfour"), 0, after(questions)) is None


def test_states_in_which_several_roles_choose_give_no_samples() -> None:
    machine, samples = pair_of("biddingtictactoe").circuit, played("biddingtictactoe")
    for at in range(len(samples.values)):
        state = machine.unpacked(samples.states[at : at + 1])
        assert sum(len(machine.legal_moves(state, role)) > 1 for role in machine.roles) == 1
    assert samples.numbers[[SAMPLES, MOVES]].tolist() == [len(samples.values), len(samples.moves)]


def test_games_without_such_states_give_none() -> None:
    found = played("rockpaperscissors")
    assert not len(found.values)
    assert found.numbers[[SAMPLES, MOVES]].tolist() == [0, 0]


def test_chance_draws_its_moves_and_teaches_nothing() -> None:
    machine, samples = pair_of("pig").circuit, played("pig")
    nature = machine.roles.index("random")
    offsets = np.cumsum([0, *map(len, machine.compiled.moves)])
    assert len(samples.values)
    assert not ((samples.moves >= offsets[nature]) & (samples.moves < offsets[nature + 1])).any()


def test_a_match_ends_at_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_iteration, "_MOST_STEPS", 3)
    found = ExpertMatches(pair_of("connectfour").circuit, 2**24).play(net_of("connectfour"), 0, never)
    assert found is not None
    assert 0 < len(found.values) <= 3 * expert_iteration.SIDE_BY_SIDE


def test_the_latest_samples_are_kept_with_their_policies() -> None:
    one, two = played("connectfour"), played("connectfour", 1)
    most = len(two.values) + 10
    both = joined(one, two, most)
    moves = sum(map(len, pair_of("connectfour").circuit.compiled.moves))
    assert samples_problem(both._asdict(), one, moves) == ""
    assert len(both.values) == most
    np.testing.assert_array_equal(both.states[10:], two.states)
    np.testing.assert_array_equal(both.states[:10], one.states[-10:])
    np.testing.assert_array_equal(both.moves[-len(two.moves) :], two.moves)
    for at in (0, 9, 10, most - 1):
        source, place = (one, len(one.values) - 10 + at) if at < 10 else (two, at - 10)
        for name in ("moves", "shares"):
            kept, known = getattr(both, name), getattr(source, name)
            np.testing.assert_array_equal(
                kept[both.policy_start[at] :][: both.policy_count[at]],
                known[source.policy_start[place] :][: source.policy_count[place]],
            )
    assert both.numbers[MATCHES] == one.numbers[MATCHES] + two.numbers[MATCHES]
    np.testing.assert_array_equal(joined(one, two, 10**6).values, np.concatenate([one.values, two.values]))


def test_arrays_that_are_no_samples_are_refused() -> None:
    samples = played("connectfour")
    moves = sum(map(len, pair_of("connectfour").circuit.compiled.moves))
    whole: dict[str, NDArray[Any]] = samples._asdict()
    assert samples_problem(whole, samples, moves) == ""
    wrong: dict[str, NDArray[Any]] = {
        "states": samples.states[:, :0], "values": samples.values[1:], "policy_start": samples.policy_start + 1,
        "policy_count": -samples.policy_count, "moves": samples.moves + moves, "shares": samples.shares[1:],
        "numbers": samples.numbers + 1, "is_complete": samples.is_complete.astype(np.int8),
        "legal": np.zeros((), np.uint64),
    }  # fmt: skip
    for name, array in wrong.items():
        assert samples_problem({**whole, name: array}, samples, moves)
        assert samples_problem({other: whole[other] for other in whole if other != name}, samples, moves)


def test_a_net_learns_what_the_expert_does() -> None:
    machine, samples = pair_of("connectfour").circuit, played("connectfour")
    learner = Learner(machine.batches, 1, memory_bytes=SMALL)
    before = learner.progress()
    entropies = [_cross_entropy(learner.net, samples)]
    for _ in range(2):
        learner.imitate(samples, 20 * len(samples.values))
        entropies.append(_cross_entropy(learner.net, samples))
    assert entropies[0] - 0.05 > entropies[1] > entropies[2]
    later = learner.progress()
    assert (later.samples, later.matches) == (before.samples, before.matches)
    assert np.isnan(later.policy_loss)


def _cross_entropy(net: Net, samples: Samples) -> float:
    """Of the policy, in float64."""
    flags = unpack(samples.states, len(net.input_of_fact)) ^ unpack(
        net.complemented[np.newaxis], len(net.input_of_fact)
    )
    inputs = np.zeros((len(flags), len(net.first)))
    read = net.input_of_fact >= 0
    inputs[:, net.input_of_fact[read]] = flags[:, read]
    logits = np.maximum(inputs @ net.first + net.first_bias, 0.0) @ net.policy.T + net.policy_bias
    total = 0.0
    for at, row in enumerate(logits):
        policy = slice(samples.policy_start[at], samples.policy_start[at] + samples.policy_count[at])
        own = row[samples.moves[policy]]
        total += np.log(np.exp(own).sum()) - samples.shares[policy] @ own
    return total / len(logits)
