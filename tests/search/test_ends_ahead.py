"""Moves that end the match at once, or let another role do so: what a search knows before it does them."""

from dataclasses import replace

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COUNT, FIRST, INNER, KIND, LEAF, NONE, ROOT, ROWS
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair

pytestmark = pytest.mark.kernels

QUIET = SearchSettings(memory_bytes=2**22, retrograde=False, proof=False, lookahead_moves=0)


def machine_of(name: str) -> CircuitMachine:
    return make_pair(parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8"))).circuit


def after(machine: CircuitMachine, columns: str) -> Facts:
    """The state after the roles of connect four dropped discs in turn."""
    state = machine.initial_state
    for step, column in enumerate(columns):
        joint: list[Term] = ["noop", "noop"]
        joint[step % 2] = ("drop", column)
        state = machine.next_state(state, tuple(joint))
    return state


def search_from(machine: CircuitMachine, state: Facts, settings: SearchSettings, visits: int) -> BatchedMcts:
    search = BatchedMcts(machine, settings, 1)
    search.go_to(state)
    search.run(lambda: False, visits)
    return search


def test_a_win_is_known_as_soon_as_a_state_has_moves() -> None:
    machine = machine_of("connectfour")
    state = after(machine, "717273")
    search = search_from(machine, state, QUIET, 8)
    assert search.is_solved
    result = search.result(machine.roles[0])
    assert (result.best, result.lower) == (("drop", "7"), 1.0)
    (line,) = search.variations(machine.roles[0], 1)
    assert [step[0] for step in line.steps] == [("drop", "7")]
    search.close()


def test_a_move_that_lets_the_other_role_win_is_never_done() -> None:
    machine = machine_of("connectfour")
    state = after(machine, "71727")  # the first role has three discs in column 7
    search = search_from(machine, state, QUIET, 2000)
    reports = {report.move: report for report in search.result(machine.roles[1]).moves}
    assert reports[("drop", "7")].visits > 0
    for column in "13456":
        report = reports[("drop", column)]
        assert (report.visits, report.upper) == (0, 0)
    search.close()


def test_a_root_that_is_lost_is_searched_for_what_is_hardest_to_refute() -> None:
    machine = machine_of("connectfour")
    state = after(machine, "44556")  # discs of the first role in 4 5 6 of the lowest row: 3 and 7 win
    search = BatchedMcts(machine, QUIET, 1)
    search.go_to(state)
    search.run(lambda: False, 4)
    assert not search.is_solved
    search.run(lambda: False, 3000)
    assert search.is_solved
    result = search.result(machine.roles[1])
    assert result.upper == 0
    assert sum(report.visits > 0 for report in result.moves) == len(result.moves)
    search.close()


def test_a_lost_state_that_becomes_the_root_is_looked_at_anew() -> None:
    machine = machine_of("connectfour")
    before = after(machine, "4455")
    search = BatchedMcts(machine, QUIET, 1)
    search.go_to(before)
    search.run(lambda: False, 400)
    lost = after(machine, "44556")
    tree = search.tree
    search.go_to(lost)
    root = int(tree.numbers[ROOT])
    assert tree.nodes[root, KIND] == LEAF
    assert tree.nodes[root, FIRST] == NONE
    search.run(lambda: False, 3000)
    slots = slice(int(tree.nodes[root, FIRST]), int(tree.nodes[root, FIRST] + tree.nodes[root, COUNT:].sum()))
    assert tree.nodes[root, KIND] == INNER
    assert np.count_nonzero(tree.visits[slots]) > 1
    search.close()


def test_without_it_only_visits_show_that() -> None:
    machine = machine_of("connectfour")
    search = search_from(machine, after(machine, "71727"), replace(QUIET, decisive_lookahead=False), 2000)
    assert all(report.visits > 0 for report in search.result(machine.roles[1]).moves)
    search.close()


@pytest.mark.parametrize(("name", "is_looked_for"), [("connectfour", False), ("dotsandboxes", True)])
def test_other_ends_are_looked_for_where_goals_have_many_values(name: str, is_looked_for: bool) -> None:
    machine = machine_of(name)
    search = search_from(machine, machine.initial_state, replace(QUIET, lookahead_moves=100), 2)
    assert search.tree.nodes[search.tree.numbers[ROOT], KIND] == INNER
    assert (search.workers[0].batch.numbers[ROWS] > 0) == is_looked_for
    search.close()
