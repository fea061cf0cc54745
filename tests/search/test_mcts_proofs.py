"""What a search claims to have proven, against exhaustive search of random small games."""

from collections import Counter
from contextlib import closing
from random import Random
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from ggp.errors import GroundingError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COLLAPSED, ROOT
from tests.circuit.agreement import make_pair
from tests.circuit.test_random_rulesheets import games
from tests.search.books import check_flow, check_statistics, check_structure
from tests.search.graphs import Shape, random_graph
from tests.search.replay import (
    bounds_of,
    check_alone,
    check_ends,
    check_opposed,
    check_outcomes,
    check_replay,
    state_of,
    within,
)
from tests.search.truth import World, explore

SEEDS = 3
DECISIVE: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)  # moves in playouts
VISITS = (1, 10, 30, 1000)
SHAPES = {
    "turns": Shape(),
    "turns, many values": Shape(positions=16, ends=7, values=(0, 10, 30, 50, 60, 100), beats=2),
    "cycles": Shape(cycles=True, positions=14, values=(0, 100)),
    "cycles with draws": Shape(cycles=True, positions=14, ends=3),
    "chance": Shape(chance=True, values=(0, 30, 100)),
    "chance and cycles": Shape(chance=True, cycles=True),
    "together": Shape(together=True),
    "together, chance and cycles": Shape(together=True, chance=True, cycles=True),
    "one role": Shape(roles=1, positions=20, ends=8, values=(0, 20, 40, 70, 90)),
    "one role and cycles": Shape(roles=1, positions=20, ends=5, cycles=True),
    "two roles, each for itself": Shape(opposed=False, positions=16, ends=7, values=(0, 10, 30, 50, 60, 100)),
    "three roles": Shape(roles=3, positions=16, ends=6, beats=3, values=(0, 20, 50, 60, 100)),
    "four roles and chance": Shape(roles=4, chance=True, positions=16, ends=6),
    "three roles together": Shape(roles=3, together=True, cycles=True, most_moves=2),
    "odd": Shape(odd=True, opposed=False),
    "odd, together and cycles": Shape(roles=3, odd=True, together=True, cycles=True, chance=True),
}


def never() -> bool:
    return False


def check_books(search: BatchedMcts) -> None:
    nodes = check_structure(search.tree)
    check_statistics(search.tree, nodes)
    assert search.tree.numbers[COLLAPSED] == 0
    check_flow(search.tree, nodes, sum(worker.visits for worker in search.workers))


def is_opposed(world: World) -> bool:
    ends = [position.value for position in world.positions.values() if position.value is not None]
    return len(world.roles) - len(world.nature) == 2 and all(value[0] + value[1] == 1 for value in ends)


def check_claims(search: BatchedMcts, world: World) -> set[str]:
    """Which of the ways to see that bounds are true could be taken."""
    ways = set()
    check_ends(search, world)
    if is_opposed(world):
        check_opposed(search, world)
        ways.add("opposed")
    if len(world.roles) == 1:
        check_alone(search, world)
        ways.add("alone")
    if not world.cyclic and check_outcomes(search, world):
        ways.add("outcomes")
    return ways


def check_solved(search: BatchedMcts, world: World) -> str:
    """A solved state has a value that can come out; one that can only come out in one way is solved."""
    root = int(search.tree.numbers[ROOT])
    low, high = bounds_of(search.tree, root)
    assert search.is_solved == (low == high)
    if world.cyclic:
        return "solved" if search.is_solved else "open"
    vectors = world.outcomes()[state_of(search, root)]
    if vectors is None:
        return "solved" if search.is_solved else "open"
    if search.is_solved:
        assert any(within(low, vector, high) for vector in vectors)
        return "solved"
    assert len(vectors) > 1
    return "several outcomes"


@pytest.mark.parametrize("name", SHAPES)
def test_bounds_hold_in_random_graphs(name: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        text = random_graph(SHAPES[name], seed)
        pair = make_pair(parse_rulesheet(text))
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        settings = SearchSettings(
            memory_bytes=2**20, playouts=seed % 3, lookahead_moves=40 * (seed % 2),
            decisive_moves=DECISIVE[seed % 3],
        )  # fmt: skip
        search = BatchedMcts(pair.circuit, settings, seed)
        for visits in VISITS:
            search.run(never, visits)
            check_books(search)
            check_claims(search, world)
        check_replay(search, pair.interpreter, seed=seed)
        seen.update(check_claims(search, world))
        seen[check_solved(search, world)] += 1
    print(name, dict(seen))
    assert seen["solved"] > 0 or SHAPES[name].cycles


def rarely_both(seed: int) -> str:
    """Rules of ten steps in which two roles are opposed, but for one match of 59,049, which both win or both lose."""
    random = Random(seed)
    both, values = random.choice((0, 100)), random.sample((0, 50, 50, 50, 100), 5)
    weights = [random.sample(range(5), 3) for _ in range(10)]
    text = ["(role r0) (role r1) (init (step 0)) (init (sum 0)) (init rare) (<= terminal (true (step 10)))"]
    text += [f"(<= (goal r{role} {both}) (true rare))" for role in range(2)]
    text += [
        f"(<= (goal r{role} {abs(100 * role - value)}) (true (sum {at})) (not (true rare)))"
        for at, value in enumerate(values)
        for role in range(2)
    ]
    for step in range(10):
        chooser = f"(true (step {step}))"
        text += [f"(<= (legal r{step % 2} {move}) {chooser})" for move in "abc"]
        text.append(f"(<= (legal r{1 - step % 2} noop) {chooser})")
        text.append(f"(<= (next (step {step + 1})) {chooser})")
        text.append(f"(<= (next rare) (true rare) {chooser} (does r{step % 2} a))")
        text += [
            f"(<= (next (sum {(at + weight) % 5})) {chooser} (true (sum {at})) (does r{step % 2} {move}))"
            for move, weight in zip("abc", weights[step], strict=True)
            for at in range(5)
        ]
    return "\n".join(text)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_rare_end_that_both_win_or_lose_takes_back_what_was_proven(threads: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(16):
        pair = make_pair(parse_rulesheet(rarely_both(seed)))
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        settings = SearchSettings(memory_bytes=2**22, retrograde=False, threads=threads)
        with closing(BatchedMcts(pair.circuit, settings, seed)) as search:
            search.run(never, 1)
            seen["opposed at first"] += bool(search.parameters.zero_sum[0])
            for _ in range(3):
                search.run(never, 5000)
                assert search.is_solved or search.visits >= 5000
                check_statistics(search.tree, check_structure(search.tree))
            seen["not opposed in the end"] += not search.parameters.zero_sum[0]
            check_claims(search, world)
            seen[check_solved(search, world)] += 1
            vectors = world.outcomes()[state_of(search, int(search.tree.numbers[ROOT]))]
            assert vectors is not None
            low, high = search.bounds
            assert any(within(tuple(low), vector, tuple(high)) for vector in vectors)
    print(dict(seen))
    assert seen["opposed at first"] > 12
    assert seen["not opposed in the end"] > 8
    assert seen["solved"] > 8


def test_bounds_hold_in_random_rulesheets() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    @given(games(), st.integers(0, 1000))
    def check(text: str, seed: int) -> None:
        try:
            pair = make_pair(parse_rulesheet(text), Budget(rules=20_000))
        except GroundingError as error:
            if "without bound" in str(error):
                reject()
            raise
        search = BatchedMcts(pair.circuit, SearchSettings(memory_bytes=2**22, most_steps=100), seed)
        for visits in (1, 20, 400):
            search.run(never, visits)
            check_books(search)
        check_replay(search, pair.interpreter, 40, seed)
        world = explore(pair.interpreter, pair.circuit, 150)
        if world is not None:
            seen.update(check_claims(search, world))
            seen[check_solved(search, world)] += 1

    check()
    print(dict(seen))
    assert seen["outcomes"]
    assert seen["solved"]
