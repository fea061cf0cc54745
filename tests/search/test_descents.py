"""Descents of one batch, and of two batches that take turns in one tree."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, kernel
from ggp.learning.patterns import Floats
from ggp.row_sums import (
    BLOCK,
    add_multiples,
    add_multiples_to_rows,
    add_rows,
    add_to_rows,
    plain_additions,
    plain_differences,
    plain_multiples,
    plain_multiples_to_rows,
    plain_rows,
    subtract_rows,
)
from ggp.search.mcts.backup import back_up, cancel, value_by_net
from ggp.search.mcts.expansion import (
    evaluate_fresh,
    find_leaves,
    give_slots,
    link_ends,
    look_ahead,
    look_at_expanding,
    mark_ends,
    select,
    select_further,
    settle_fresh,
)
from ggp.search.mcts.search import BatchedMcts, SearchSettings, Worker
from ggp.search.mcts.tree import (
    ABOVE,
    COUNT,
    DEPTH,
    EXACT,
    FIRST,
    GROUP_NODE,
    GROUPS,
    IN_FLIGHT,
    NONE,
    READY,
    ROOT,
    SIZE,
    SLOT,
    VISITS,
)
from tests.search.books import check_flow, check_statistics, check_structure
from tests.search.test_mcts import never, pair_of

pytestmark = pytest.mark.kernels

DESCENTS = 64


def search_of(name: str, settings: SearchSettings) -> BatchedMcts:
    search = BatchedMcts(pair_of(name).circuit, settings, 3)
    search.run(never, 3000)
    return search


@pytest.mark.parametrize("virtual_loss", [0.0, 0.3])
def test_descents_of_a_batch_are_spread_by_the_bounds_of_those_before(virtual_loss: float) -> None:
    settings = SearchSettings(prior_weight=2.0, virtual_loss=virtual_loss, retrograde=False, proof=False)
    search = search_of("connectfour", settings)
    tree, worker, root = search.tree, search.workers[0], int(search.tree.numbers[ROOT])
    first, count = int(tree.nodes[root, FIRST]), int(tree.nodes[root, COUNT])
    slots = slice(first, first + count)
    tree.prior[slots] = tree.visits[slots] / tree.visits[slots].sum() * (1.0 + 0.001 * np.arange(count))
    tree.value_sum[slots] = 0.5 * tree.visits[slots]
    visits, sums, prior = tree.visits[slots].copy(), tree.value_sum[slots].copy(), tree.prior[slots].astype(float)
    spread = 2.0 * np.sqrt(1.0 + tree.values[root, VISITS] + DESCENTS)
    flights = np.zeros(count)
    for _ in range(DESCENTS):
        values = sums / np.maximum(visits + virtual_loss * flights, 1.0)
        flights[np.argmax(values + spread * prior / (1.0 + visits + flights))] += 1
    select(tree, worker.batch, worker.expansion, search.parameters, DESCENTS)
    assert tree.in_flight[slots].tolist() == flights.tolist()
    assert np.count_nonzero(flights) > 1
    groups = worker.batch.groups[: worker.batch.numbers[GROUPS]]
    after_root = groups[groups[:, DEPTH] == 1]
    assert np.bincount(after_root[:, SLOT] - first, after_root[:, SIZE], count).tolist() == flights.tolist()
    assert groups[0, GROUP_NODE] == root
    _check_flights(search, worker)
    cancel(tree, worker.batch)
    assert not tree.nodes[:, IN_FLIGHT].any()


def _check_flights(search: BatchedMcts, worker: Worker) -> None:
    """Each node knows how many descents are in it; none is met twice on a way down."""
    batch, expected = worker.batch, np.zeros(len(search.tree.nodes), int)
    groups = batch.groups[: batch.numbers[GROUPS]]
    for group in groups:
        expected[group[GROUP_NODE]] += group[SIZE] if group[GROUP_NODE] != NONE else 0
        above, met = group[ABOVE], [group[GROUP_NODE]]
        while above != NONE:
            met.append(groups[above, GROUP_NODE])
            above = groups[above, ABOVE]
        assert len(set(met)) == len(met)
    assert (search.tree.nodes[:, IN_FLIGHT] == expected).all()


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "biddingtictactoe"])
def test_workers_keep_out_of_what_others_work_on(name: str) -> None:
    search = search_of(name, SearchSettings(threads=2, memory_bytes=2**23, retrograde=False, proof=False))
    tree, parameters, net = search.tree, search.parameters, search.quantized
    one, other = search.workers
    for stage in range(6):
        parts: list[Callable[[], object]] = [
            partial(select, tree, one.batch, one.expansion, parameters, DESCENTS),
            partial(look_at_expanding, one.batch, one.expansion),
            partial(give_slots, tree, one.batch, one.expansion),
            partial(mark_ends, tree, one.batch, one.expansion, parameters, one.ends(search)),
            partial(_look_ahead, search, one),
            partial(select_further, tree, one.batch, one.expansion, parameters),
        ]
        for part in parts[: stage + 1]:
            part()
        find_leaves(tree, other.batch, other.expansion, other.ends(search), parameters, net, DESCENTS)
        assert set(other.batch.status[:DESCENTS].tolist()) <= {0, READY, EXACT}
        for part in parts[stage + 1 :]:
            part()
        evaluate_fresh(one.batch, one.expansion)
        settle_fresh(tree, one.batch, one.expansion, parameters)
        for worker in (one, other):
            value_by_net(worker.batch, DESCENTS)
            back_up(tree, worker.batch, parameters, net, worker.leaves, DESCENTS)
        nodes = check_structure(tree)
        check_statistics(tree, nodes)
        check_flow(tree, nodes, sum(worker.visits for worker in search.workers))
    search.close()


def _look_ahead(search: BatchedMcts, worker: Worker) -> None:
    tree, batch, expansion, parameters = search.tree, worker.batch, worker.expansion, search.parameters
    while look_ahead(tree, batch, expansion, worker.ends(search), parameters, search.quantized):
        link_ends(tree, batch, expansion, parameters, search.quantized)


@pytest.mark.parametrize("width", [BLOCK, 3 * BLOCK])
def test_rows_are_added_as_by_the_plain_twins(width: int) -> None:
    random = np.random.default_rng(5)
    rows, places = random.standard_normal((9, width)).astype(np.float32), random.integers(0, 9, 40).astype(np.int32)
    for count in (0, 1, 40):
        for plain, generated in ((plain_rows, _add), (plain_differences, _subtract), (plain_additions, _add_to)):
            made, expected = ((rows.copy(), random.standard_normal(width).astype(np.float32)) for _ in range(2))
            made[1][:] = expected[1]
            plain(expected[0], places, count, expected[1], width)
            generated(made[0], places, count, made[1], width)
            assert all((one == other).all() for one, other in zip(made, expected, strict=True))


@pytest.mark.parametrize("width", [BLOCK, 3 * BLOCK])
def test_multiples_of_rows_are_added_as_by_the_plain_twins(width: int) -> None:
    random = np.random.default_rng(7)
    rows, places = random.standard_normal((9, width)).astype(np.float32), random.integers(0, 9, 40).astype(np.int32)
    factors = random.choice(np.array([-2.0, 0.25, 0.5, 1.0], np.float32), 40)  # products that need no rounding
    for count in (0, 1, 40):
        for plain, generated in (
            (plain_multiples, _add_multiples),
            (plain_multiples_to_rows, _add_multiples_to_rows),
        ):
            made, expected = ((rows.copy(), random.standard_normal(width).astype(np.float32)) for _ in range(2))
            made[1][:] = expected[1]
            plain(expected[0], places, factors, count, expected[1], width)
            generated(made[0], places, factors, count, made[1], width)
            assert all((one == other).all() for one, other in zip(made, expected, strict=True))
            assert count == 0 or (made[0] != rows).any() or generated is _add_multiples


@pytest.mark.parametrize("width", [BLOCK, 3 * BLOCK])
def test_short_rows_are_added_to_integers_as_by_the_plain_twins(width: int) -> None:
    random = np.random.default_rng(6)
    rows, places = (
        random.integers(-32767, 32768, (9, width)).astype(np.int16),
        random.integers(0, 9, 40).astype(np.int32),
    )
    for count in (0, 1, 40):
        for plain, generated in ((plain_rows, _add), (plain_differences, _subtract)):
            expected = random.integers(-1000, 1000, width).astype(np.int32)
            made = expected.copy()
            plain(rows.astype(np.int32), places, count, expected, width)
            generated(rows, places, count, made, width)
            np.testing.assert_array_equal(made, expected)


@kernel
def _add(rows: NDArray[Any], places: Ids, count: Int, sums: NDArray[Any], width: Int) -> None:
    add_rows(rows, places, count, sums, width)


@kernel
def _subtract(rows: NDArray[Any], places: Ids, count: Int, sums: NDArray[Any], width: Int) -> None:
    subtract_rows(rows, places, count, sums, width)


@kernel
def _add_to(rows: Floats, places: Ids, count: Int, added: Floats, width: Int) -> None:
    add_to_rows(rows, places, count, added, width)


@kernel
def _add_multiples(rows: Floats, places: Ids, factors: Floats, count: Int, sums: Floats, width: Int) -> None:
    add_multiples(rows, places, factors, count, sums, width)


@kernel
def _add_multiples_to_rows(rows: Floats, places: Ids, factors: Floats, count: Int, added: Floats, width: Int) -> None:
    add_multiples_to_rows(rows, places, factors, count, added, width)
