"""Values where outcomes are mixed, by chance or by roles that choose at once: bounds hold for means only."""

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from tests.circuit.agreement import make_pair

pytestmark = pytest.mark.kernels

# Role a may take 60 at once, or guess a side of b's coin: worth 50 to it, of which it can be sure of 40.
COIN = """
(role a) (role b) (init (at start)) (side heads) (side tails)
(<= (legal a leave) (true (at start))) (<= (legal a stay) (true (at start))) (<= (legal b wait) (true (at start)))
(<= (legal ?r ?s) (role ?r) (side ?s) (true (at coin))) (<= (legal a neither) (true (at coin)))
(<= (next (at over)) (does a leave)) (<= (next (at coin)) (does a stay))
(<= (next (at right)) (does a ?s) (does b ?s)) (<= (next (at sure)) (does a neither))
(<= (next (at wrong)) (does a ?s) (does b ?t) (side ?s) (side ?t) (distinct ?s ?t))
(value over 60 40) (value right 100 0) (value wrong 0 100) (value sure 40 60)
(<= terminal (true (at ?x)) (value ?x ?a ?b))
(<= (goal a ?a) (true (at ?x)) (value ?x ?a ?b)) (<= (goal b ?b) (true (at ?x)) (value ?x ?a ?b))
"""


def searched(text: str, visits: int, seed: int = 1) -> BatchedMcts:
    search = BatchedMcts(make_pair(parse_rulesheet(text)).circuit, SearchSettings(memory_bytes=2**24), seed)
    search.run(lambda: False, visits)
    return search


def test_the_value_of_a_game_of_dice_is_its_expectation() -> None:
    """Pig, as backward induction has it; roles can be sure of a part of that."""
    search = searched(find_rulesheet("pig").read_text(encoding="utf-8"), 10_000)
    first, second = search.result("first"), search.result("second")
    assert first.value == pytest.approx(0.6156, abs=0.03)
    assert second.value == pytest.approx(1 - 0.6156, abs=0.03)
    assert first.lower > 0


def test_a_role_is_not_worth_more_by_what_it_can_be_sure_of() -> None:
    """Where roles choose at once, values vary around those of an equilibrium; so the mean of several searches."""
    found = [searched(COIN, 20_000, seed).result("a") for seed in range(8)]
    stays = [report for result in found for report in result.moves if report.move == "stay"]
    assert sum(stay.value or 0.0 for stay in stays) / len(stays) == pytest.approx(0.5, abs=0.07)
    assert all(stay.lower == pytest.approx(0.4) for stay in stays)
    assert sum(result.best == "leave" for result in found) > len(found) / 2
