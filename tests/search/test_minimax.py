"""Implicit minimax: the values of moves are those of the net one step on, and from there the minimax of the tree."""

from functools import cache

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.learning.inputs import find_inputs
from ggp.learning.net import UNITS, Net, activate, make_activations, make_net, role_value
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COUNT, FIRST, INNER, KIND, LEAF, NODE_TOP, NONE, UNVALUED, VISITS
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import look, make_expansion
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.search.books import check_flow, check_statistics, check_structure

pytestmark = pytest.mark.kernels

WITH_MINIMAX = SearchSettings(
    memory_bytes=2**22, prior_weight=0.5, value_weight=1.0, minimax_weight=0.7, proof=False, retrograde=False
)


@cache
def machine_of(name: str) -> CircuitMachine:
    return make_pair(parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8"))).circuit


def net_of(machine: CircuitMachine) -> Net:
    """One whose values differ from state to state."""
    game, random = machine.compiled, np.random.default_rng(5)
    roles = len(game.roles)
    net = make_net(find_inputs(game), roles, sum(map(len, game.moves)), 5, reads_moves=True)
    net.first[-len(net.policy) :] = random.standard_normal(net.policy.shape) / 5
    net.value[:] = random.standard_normal((roles, UNITS)) / 5
    return net


def search_of(name: str, visits: int, settings: SearchSettings = WITH_MINIMAX) -> BatchedMcts:
    machine = machine_of(name)
    search = BatchedMcts(machine, settings, seed=2)
    search.adopt(settings, net_of(machine))
    search.run(lambda: False, visits)
    return search


def learned(search: BatchedMcts, states: Bits) -> float:
    """What the net says a state is worth to the first role."""
    found = make_activations()
    expansion = make_expansion(search.machine.batches)
    look(expansion, states, 1)
    activate(search.quantized, states, 0, expansion.legal, 0, found)
    own, other = (role_value(search.quantized, found, np.int64(role)) for role in (0, 1))
    return 0.5 * (own + 1.0 - other)


@pytest.mark.parametrize("name", ["connectfour", "breakthrough"])
def test_a_state_is_worth_what_its_best_move_is(name: str) -> None:
    search = search_of(name, 400)
    tree, inner = search.tree, 0
    for node in range(int(tree.numbers[NODE_TOP])):
        counts = tree.nodes[node, COUNT:]
        if tree.nodes[node, KIND] != INNER or counts.max() < 2:
            continue
        inner += 1
        chooser, first = int(counts.argmax()), int(tree.nodes[node, FIRST])
        start = first + int(counts[:chooser].sum())
        values = tree.move_minimax[start : start + counts[chooser]]
        assert (values != UNVALUED).all()
        best = values.max() if chooser == 0 else 1 - values.max()
        assert tree.minimax[node] == pytest.approx(best)
    assert inner > 20


def test_moves_without_visits_are_worth_what_the_net_says_of_the_states_after_them() -> None:
    search = search_of("breakthrough", 8)
    machine, tree, checked = search.machine, search.tree, 0
    state = machine.initial_state
    first, count = int(tree.nodes[search.reader.root, FIRST]), int(tree.nodes[search.reader.root, COUNT])
    for slot in range(first, first + count):
        move = machine.compiled.moves[0][int(tree.move[slot])]
        after = machine.packed(machine.next_state(state, (move, "noop")))
        child = int(tree.child[slot])
        if child == NONE or tree.nodes[child, KIND] != INNER:
            assert after is not None
            assert tree.move_minimax[slot] == pytest.approx(learned(search, after), abs=1e-5)
            checked += 1
    assert checked > 0


def test_only_the_net_counts_where_its_value_has_all_the_weight() -> None:
    search = search_of("connectfour", 200)
    looks = search.playouts  # by which the search saw that the roles are opposed
    search.run(lambda: False, 500)
    assert search.visits >= 700
    assert search.playouts == looks


def test_the_final_move_is_the_max_child_of_those_with_enough_visits() -> None:
    search = search_of("connectfour", 8)
    tree, first = search.tree, int(search.tree.nodes[search.reader.root, FIRST])
    visits = np.array([100, 31, 29, 90, 40, 5, 1])
    means = np.array([0.5, 0.5, 0.9, 0.6, 0.3, 0.9, 0.9])
    minimax = np.array([0.5, 0.8, 0.9, 0.6, 0.99, 0.9, 0.9])  # combined: 0.5, 0.71, 0.9, 0.6, 0.783, …
    own = slice(first, first + len(visits))
    tree.visits[own], tree.value_sum[own], tree.move_minimax[own] = visits, visits * means, minimax
    assert search.result("red").best == ("drop", "5")
    tree.upper[first + 4] = 0.4  # proven: at most 0.4
    assert search.result("red").best == ("drop", "2")
    tree.lower[first + 4] = tree.upper[first + 4] = 1.0
    assert search.result("red").best == ("drop", "5")
    tree.lower[first + 4], tree.move_minimax[own] = 0.0, UNVALUED
    assert search.result("red").best == ("drop", "1")  # the robust child, where no minimax values are kept


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "breakthrough", "biddingtictactoe", "reversi"])
def test_books_add_up(name: str) -> None:
    for weight in (0.5, 1.0):
        settings = SearchSettings(memory_bytes=2**22, prior_weight=0.5, value_weight=weight, minimax_weight=0.7)
        search = search_of(name, 600, settings)
        nodes = check_structure(search.tree)
        check_statistics(search.tree, nodes)
        check_flow(search.tree, nodes, search.workers[0].visits)


def test_games_of_three_roles_have_no_minimax() -> None:
    search = search_of("tictactoe3", 200)
    assert search.tree.values[search.reader.root, VISITS] >= 200
    assert (search.tree.minimax <= 0.0).all()
    assert (search.tree.move_minimax <= 0.0).all()


def test_leaves_are_worth_what_lookahead_found() -> None:
    search = search_of("breakthrough", 300)
    tree, checked = search.tree, 0
    for node in range(int(tree.numbers[NODE_TOP])):
        if tree.nodes[node, KIND] == LEAF and tree.values[node, VISITS] == 1.0:
            value = learned(search, tree.table.states[node : node + 1].copy())
            assert tree.values[node, 0] == pytest.approx(value, abs=1e-5)
            assert tree.values[node, 1] == pytest.approx(1.0 - value, abs=1e-5)
            checked += 1
    assert checked > 50
