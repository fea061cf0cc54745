"""What others are expected to concede below proven nodes: the kernel, its slow twin, and the move that is chosen."""

from math import exp

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.mcts.concessions import expected_values
from ggp.search.mcts.result import first_slots
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COUNT, FIRST, INNER, KIND, LENGTH, NONE, ROOT, VISITS, Tree
from ggp.search.opponent_model import SPREAD, awareness
from tests.circuit.agreement import make_pair
from tests.search.graphs import Shape, random_graph

SHAPES = {
    "turns": Shape(positions=20, ends=6, beats=2),
    "chance": Shape(positions=16, chance=True, values=(0, 30, 100)),
    "three roles": Shape(roles=3, positions=16, ends=6, beats=3, values=(0, 20, 50, 60, 100)),
}

LOST = """
(role one) (role two) (init start) (reply a) (reply b) (reply c)
(<= (legal one fair) (true start)) (<= (legal one trap) (true start)) (<= (legal one hope) (true start))
(<= (legal two wait) (true start)) (<= (legal one wait) (not (true start)))
(<= (legal two ?r) (reply ?r) (not (true start)) (not (true late))) (<= (legal two wait) (true late))
(<= (next (after ?m)) (does one ?m) (true start)) (<= (next late) (not (true start)))
(<= (next saved) (saves ?m ?r) (true (after ?m)) (does two ?r))
(saves fair c) (saves trap a) (saves trap b) (saves hope b)
(<= terminal (true late))
(<= (goal one VALUE) (true saved)) (<= (goal two REST) (true saved))
(<= (goal one KEPT) (true late) (not (true saved))) (<= (goal two TAKEN) (true late) (not (true saved)))
(<= (goal one 100) (true never)) (<= (goal two 100) (true never)) (<= (goal one 0) (true never))
(<= (goal two 0) (true never)) (<= (next never) (true never))
"""


def solved(text: str, *, retrograde: bool) -> BatchedMcts:
    machine = make_pair(parse_rulesheet(text)).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22, retrograde=retrograde, proof=False), 1)
    search.run(lambda: False, 3000)
    assert search.is_solved
    assert (search.solver.solution is not None) == retrograde
    return search


@pytest.mark.parametrize("retrograde", [False, True])
@pytest.mark.parametrize(("kept", "saved"), [(0, 50), (0, 100), (50, 100), (20, 60)])
def test_of_moves_that_are_worth_the_same_the_one_after_which_most_replies_err(
    kept: int, saved: int, *, retrograde: bool
) -> None:
    text = LOST.replace("VALUE", str(saved)).replace("REST", str(100 - saved))
    search = solved(text.replace("KEPT", str(kept)).replace("TAKEN", str(100 - kept)), retrograde=retrograde)
    result = search.result("one")
    assert {report.lower for report in result.moves} == {report.upper for report in result.moves} == {kept / 100}
    assert result.best == "trap"


def twin(tree: Tree, nature: list[bool], role: int, node: int, known: dict[int, float]) -> float:
    """The same by recursion; graphs without cycles."""
    if node in known:
        return known[node]
    roles = tree.nodes.shape[1] - COUNT
    low, high = (float(tree.values[node, part * roles + role]) for part in (1, 2))
    visits = float(tree.values[node, VISITS])
    known[node] = min(max(float(tree.values[node, role]) / visits if visits else 0.5, low), high)
    choosers = [each for each in range(roles) if tree.nodes[node, COUNT + each] > 1]
    if tree.nodes[node, KIND] != INNER or not low == high < 1 or len(choosers) > 1:
        return known[node]
    firsts = first_slots(tree, node)
    slots = range(firsts[choosers[0]], firsts[choosers[0] + 1]) if choosers else [int(tree.nodes[node, FIRST])]
    below = [int(tree.child[slot]) for slot in slots]
    marked = [child == NONE and tree.lower[at] == tree.upper[at] for child, at in zip(below, slots, strict=True)]
    values = [0.5 if child == NONE else twin(tree, nature, role, child, known) for child in below]
    if not choosers:
        known[node] = values[0]
        return values[0]
    chooser = choosers[0]
    for at, slot in enumerate(slots):
        if marked[at]:
            values[at] = float(tree.lower[slot]) if chooser == role else 1 - float(tree.lower[slot])
    sure = float(tree.values[node, roles + chooser])
    keeping = [
        value
        for value, slot, child, is_marked in zip(values, slots, below, marked, strict=True)
        if (child != NONE or is_marked) and tree.lower[slot] >= sure - 1e-9
    ]
    if chooser == role:
        known[node] = max(keeping, default=known[node])
        return known[node]
    seen = [float(tree.value_sum[slot] / tree.visits[slot]) if tree.visits[slot] else 0.5 for slot in slots]
    weights = [1.0 if nature[chooser] else float(tree.prior[slot]) * exp(worth / SPREAD)
               for slot, worth in zip(slots, seen, strict=True)]  # fmt: skip
    mean = sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
    known[node] = mean
    if keeping and sure >= 1 and not nature[chooser]:
        share = awareness(int(tree.nodes[node, LENGTH]))
        known[node] = share * min(keeping) + (1 - share) * mean
    return known[node]


@pytest.mark.parametrize("name", SHAPES)
def test_kernel_and_twin_agree_on_random_graphs(name: str) -> None:
    seen = 0
    for seed in range(6):
        machine = make_pair(parse_rulesheet(random_graph(SHAPES[name], seed))).circuit
        settings = SearchSettings(memory_bytes=2**20, retrograde=False, proof=False, lookahead_moves=0, playouts=1)
        search = BatchedMcts(machine, settings, seed)
        search.run(lambda: False, 500)
        tree, root = search.tree, int(search.tree.numbers[ROOT])
        roles = len(machine.roles)
        for role in range(roles):
            if (
                tree.nodes[root, FIRST] == NONE
                or not tree.values[root, roles + role] == tree.values[root, 2 * roles + role] < 1
            ):
                continue
            known: dict[int, float] = {}
            found = expected_values(tree, search.parameters, role, root)
            expected = twin(tree, search.parameters.nature.tolist(), role, root, known)
            assert found[root] == pytest.approx(expected, abs=1e-5)
            for node, value in known.items():
                assert found[node] == pytest.approx(value, abs=1e-5)
            seen += 1
    assert seen > 0


def test_a_near_win_is_found_more_often_than_a_far_one() -> None:
    chances = [awareness(length) for length in (1, 3, 9)]
    assert 1 > chances[0] > chances[1] > chances[2] > 0
