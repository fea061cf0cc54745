"""Information set MCTS: what it finds in games whose best moves are known, and that its counts add up."""

import pytest

import ggp
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.kernel import LANES
from ggp.search.ismcts import InformationSetSearch
from ggp.simulation.belief import Belief
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import UNKNOWABLE

pytestmark = pytest.mark.kernels


def machine_of(name: str) -> CircuitMachine:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    return machine


def test_the_candidate_switches() -> None:
    machine = machine_of("montyhall")
    belief = Belief(machine, "candidate")
    for move, told in (("noop", ()), (("choose", "2"), ()), ("noop", (("opened", "3"),))):
        assert belief.advance(move, told)
    search = InformationSetSearch(machine, "candidate", 2**20, 1)
    search.run(belief, lambda: False, 10_000)
    switch, stay = search.result(belief)
    assert (switch.move, stay.move) == ("switch", "stay")
    assert switch.value == pytest.approx(2 / 3, abs=0.02)
    assert switch.visits + stay.visits == search.descents >= 10_000


def test_a_king_bets_on_and_a_jack_folds() -> None:
    machine = machine_of("kuhnpoker")
    for card, best in (("king", "bet"), ("jack", "pass")):
        belief = Belief(machine, "second")
        assert belief.advance("noop", (("dealt", card),))
        assert belief.advance("noop", (("did", "first", "bet"),))
        search = InformationSetSearch(machine, "second", 2**20, 1)
        search.run(belief, lambda: False, 5000)
        assert search.result(belief)[0].move == best


def test_roles_that_choose_at_once_and_what_is_not_searched() -> None:
    machine = machine_of("hiddengoofspiel")
    belief = Belief(machine, "left")
    search = InformationSetSearch(machine, "left", 2**20)
    assert search.result(belief) == ()
    assert belief.advance("noop", (("prize", "4"),))
    search.run(belief, lambda: False, 5000)
    found = search.result(belief)
    assert {each.move for each in found} == {("bid", str(card)) for card in range(1, 5)}
    assert sum(each.visits for each in found) == search.descents


def test_without_room_descents_are_random() -> None:
    machine = machine_of("phantomtictactoe")
    belief = Belief(machine, "x")
    search = InformationSetSearch(machine, "x", 1)
    search.run(belief, lambda: False, 5000)
    assert sum(each.visits for each in search.result(belief)) == search.descents


@pytest.mark.parametrize("memory_bytes", [1, 2**17])
def test_what_was_searched_before_leaves_room_for_the_next_choice(memory_bytes: int) -> None:
    """A tree that earlier choices have filled has no node for what came after them: all of it is forgotten then."""
    machine = machine_of("phantomtictactoe")
    belief = Belief(machine, "x")
    search = InformationSetSearch(machine, "x", memory_bytes)
    for move in (("mark", "2", "2"), "noop", ("mark", "1", "1"), "noop"):
        before = search.descents
        search.run(belief, lambda: False, 5000)
        found = search.result(belief)
        if move != "noop":
            assert sum(each.visits for each in found) == search.descents - before
        assert belief.advance(move, (("turn", "o"),) if move != "noop" else (("turn", "x"),))


def test_moves_that_a_role_cannot_know_are_legal_in_each_world() -> None:
    machine = make_pair(parse_rulesheet(UNKNOWABLE)).circuit
    belief = Belief(machine, "one")
    assert belief.advance("wait", ())
    search = InformationSetSearch(machine, "one", 2**20)
    search.run(belief, lambda: False, 1000)
    assert {each.move for each in search.result(belief)} <= {"a", "b", "c"}


def test_what_is_stopped_within_a_batch_counts_nothing() -> None:
    """Only descents that came to an end of the match by themselves do."""
    machine = machine_of("phantomtictactoe")
    belief = Belief(machine, "x")
    search = InformationSetSearch(machine, "x", 2**20)
    answers = iter([False, True])
    search.run(belief, lambda: next(answers))
    assert search.descents == 0
    over = sum(each.visits for each in search.result(belief))
    assert over < LANES
    search.run(belief, lambda: False, seconds=0.1)
    assert sum(each.visits for each in search.result(belief)) == search.descents + over > LANES
