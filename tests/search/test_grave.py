"""AMAF tables of GRAVE count the visits below their node, whenever the move was made."""

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.selection import GRAVE_REFERENCE
from ggp.search.mcts.tree import AMAF, NONE, ROOT
from tests.circuit.agreement import make_pair
from tests.search.books import check_statistics, check_structure, nodes_of

pytestmark = pytest.mark.kernels

ORDERS = """
(role one) (role two)
(colour red) (colour green) (colour blue) (colour white)
(init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal ?r (pick ?c)) (role ?r) (colour ?c) (not (true (used ?r ?c))))
(<= (next (used ?r ?c)) (does ?r (pick ?c)))
(<= (next (used ?r ?c)) (true (used ?r ?c)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next early) (true (step 0)) (does one (pick red)))
(<= (next early) (true early))
(<= terminal (true (step 3)))
(<= (goal one 100) (true early) (true (used two blue)))
(<= (goal one 0) (not (true early)))
(<= (goal one 40) (true early) (not (true (used two blue))))
(<= (goal two 100) (not (true early)))
(<= (goal two 0) (true early))
"""


@pytest.mark.parametrize("visits", [GRAVE_REFERENCE // 2, 500, 3000])
def test_tables_add_up_what_is_below(visits: int) -> None:
    machine = make_pair(parse_rulesheet(ORDERS)).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22, grave_equivalence=20.0, lookahead_moves=0), 1)
    search.run(lambda: False, visits)
    tree = search.tree
    nodes = check_structure(tree)
    check_statistics(tree, nodes)
    root = int(tree.numbers[ROOT])
    table = int(tree.nodes[root, AMAF])
    if visits < GRAVE_REFERENCE:
        assert table == NONE
        return
    made = np.zeros(tree.amaf.shape[2])
    first = search.parameters.first_move
    for node in nodes_of(tree).values():
        for role in node.choosers:
            for slot in node.slots_of(role):
                made[first[role] + tree.move[slot]] += tree.visits[slot]
    counted = tree.amaf[table, 0]
    early = len(machine.roles) * 3 * (GRAVE_REFERENCE + 512)  # before there was a table, a batch at most
    assert (counted <= made + 1e-9).all()
    assert made.sum() - counted.sum() <= early
    assert counted.sum() > 0


def test_nothing_is_counted_when_it_is_not_wanted() -> None:
    machine = make_pair(parse_rulesheet(ORDERS)).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22), 1)
    search.run(lambda: False, 1000)
    assert (search.tree.amaf_owner == NONE).all()
    assert not search.tree.amaf.any()
