"""Playouts from many states at once: each lane's values are those of random play from its own state."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.kernel import LANES
from ggp.simulation import steps as step_module
from ggp.simulation.playout import (
    CAPPED,
    STEPS,
    Lanes,
    PlayoutPlan,
    Simulator,
    drop_lanes,
    load_lanes,
    make_lanes,
    play_values,
    playouts_over,
    worth_of,
)
from ggp.simulation.steps import make_steps
from tests.circuit.agreement import Pair, make_pair, pack_states
from tests.search.graphs import Shape, random_graph
from tests.search.truth import UNKNOWN, Position, Vector, World, explore
from tests.simulation.games import ENDLESS, FATES, GAMES, SINGLE_MOVES

ENDS = {"early": 0.0, "late": 10.0}  # of LATER_END
SHAPES = (
    Shape(cycles=True, together=True, values=(0, 30, 100), opposed=False),
    Shape(roles=3, beats=3, positions=24, opposed=False),
    Shape(beats=2, cycles=True, odd=True, opposed=False, positions=24),
    Shape(chance=True, beats=4, positions=24),
    Shape(roles=1),
)


@dataclass(slots=True, eq=False)
class Bench:
    """A game, its plan, and lanes."""

    pair: Pair
    plan: PlayoutPlan
    leaves: Lanes

    def load(self, states: Sequence[Facts], rounds: int) -> None:
        """Lane l begins with state l, in turn."""
        given = [states[lane % len(states)] for lane in range(LANES)]
        self.leaves.phase[:] = [self.phase_of(state) for state in given]
        self.leaves.quota[:] = rounds
        load_lanes(self.plan, self.leaves, pack_states(self.pair.compiled, given))

    def phase_of(self, state: Facts) -> int:
        compiled = self.pair.compiled
        flags = np.array([fact in state for fact in compiled.facts])
        fits = [bool((flags == known)[known >= 0].all()) for known in compiled.phases]
        assert sum(fits) == 1
        return fits.index(True)

    def play(self, slices: Sequence[int] = (1000,), longest: int = 100_000) -> None:
        worth = worth_of(self.pair.compiled)
        for turn in range(longest):
            if not play_values(self.plan, self.leaves, worth, slices[turn % len(slices)]):
                return
        raise AssertionError("the playouts do not come to their end")


def bench_of(text: str, seed: int = 1, cap: int = 1000) -> Bench:
    pair = make_pair(parse_rulesheet(text))
    compiled = pair.compiled
    steps = make_steps(compiled.circuit, compiled.phases)
    plan = Simulator(steps, compiled.circuit.initial, cap).plan
    return Bench(pair, plan, make_lanes(plan, steps.rows, len(compiled.roles), seed))


@pytest.fixture(params=ENDS)
def end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """When the end of a playout is seen."""
    monkeypatch.setattr(step_module, "LATER_END", ENDS[request.param])
    return str(request.param)


def lasting(world: World) -> list[Facts]:
    return [state for state in world.order if world.positions[state].value is None]


def expected(world: World, stuck: Vector, rounds: int = 300) -> dict[Facts, tuple[Vector, Vector]]:
    """Of each state the means of the values of random play, and of their squares."""
    found = {}
    for state, position in world.positions.items():
        value = worth(position, stuck)
        found[state] = (value, tuple(part * part for part in value))
    for _ in range(rounds):
        for state in world.order:
            after = world.positions[state].following.values()
            if after:
                found[state] = tuple(  # type: ignore[assignment]
                    tuple(sum(parts) / len(after) for parts in zip(*(found[each][at] for each in after), strict=True))
                    for at in (0, 1)
                )
    return found


def worth(position: Position, stuck: Vector) -> Vector:
    return position.value if position.terminal and position.value is not None else stuck


def check_means(bench: Bench, world: World, states: Sequence[Facts], rounds: int) -> None:
    """Means over all lanes of a state; four and a half standard errors."""
    roles = len(world.roles)
    known = expected(world, (UNKNOWN,) * roles)
    for at, state in enumerate(states):
        lanes = [lane for lane in range(LANES) if lane % len(states) == at]
        means, squares = known[state]
        for role in range(roles):
            spread = sqrt(max(squares[role] - means[role] ** 2, 0.0))
            mean = bench.leaves.values[lanes, role].sum() / (rounds * len(lanes))
            assert abs(mean - means[role]) <= 4.5 * spread / sqrt(rounds * len(lanes)) + 1e-9, (at, role)


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
@pytest.mark.parametrize("seed", [1, 2])
def test_each_lane_has_the_values_of_its_own_state(shape: Shape, seed: int, end: str) -> None:
    bench = bench_of(random_graph(shape, seed), seed)
    world = explore(bench.pair.interpreter, bench.pair.circuit)
    assert world is not None
    states = lasting(world)
    rounds = 40
    bench.load(states, rounds)
    bench.play()
    assert (bench.leaves.done == rounds).all()
    assert not bench.leaves.quota.any()
    assert playouts_over(bench.leaves) == rounds * LANES
    check_means(bench, world, states, rounds)


@pytest.mark.parametrize("name", ["turns", "rounds of 3", "two at once", "clashes", "recursion"])
def test_single_playouts_end_where_their_states_lead(name: str, end: str) -> None:
    bench = bench_of(GAMES[name], 5)
    world = explore(bench.pair.interpreter, bench.pair.circuit, 5000)
    assert world is not None
    states = Random(1).sample(lasting(world), min(100, len(lasting(world))))
    assert {bench.phase_of(state) for state in states} == set(range(len(bench.pair.compiled.phases)))
    reachable = {state: ends_below(world, state) for state in states}
    bench.load(states, 1)
    bench.play()
    for lane in range(LANES):
        found = tuple(np.round(bench.leaves.values[lane], 9).tolist())
        assert any(np.allclose(found, value) for value in reachable[states[lane % len(states)]])


def ends_below(world: World, state: Facts) -> set[Vector]:
    seen, waiting, found = {state}, [state], set()
    while waiting:
        position = world.positions[waiting.pop()]
        if position.value is not None:
            found.add(position.value)
        for after in position.following.values():
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return found


@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
def test_lanes_may_have_different_numbers_of_playouts(rounds: int, end: str) -> None:
    bench = bench_of(GAMES["rounds of 2"], 3)
    states = [bench.pair.circuit.initial_state]
    bench.load(states, rounds)
    wanted = [(rounds + lane) % 5 if lane % 3 else 0 for lane in range(LANES)]
    bench.leaves.quota[:] = wanted
    load_lanes(bench.plan, bench.leaves, pack_states(bench.pair.compiled, states * LANES))
    bench.play()
    assert bench.leaves.done.tolist() == wanted
    assert not bench.leaves.values[np.array(wanted) == 0].any()


def test_steps_are_counted() -> None:
    bench = bench_of(SINGLE_MOVES)
    bench.load([bench.pair.circuit.initial_state], 3)
    bench.play()
    assert bench.leaves.counters[STEPS] == 3 * 3 * LANES


@pytest.mark.parametrize("name", ["turns", "fates", "rounds of 3", "three at once"])
def test_slices_of_any_size_give_the_same(name: str) -> None:
    found = []
    for slices in ([1], [2, 5, 1], [10_000], [1]):
        bench = bench_of(GAMES[name], 9, cap=80)
        bench.load([bench.pair.circuit.initial_state], 5)
        bench.play(slices)
        found.append((bench.leaves.values.tolist(), bench.leaves.done.tolist(), bench.leaves.random.tolist()))
    assert all(each == found[0] for each in found)


def test_another_seed_gives_other_playouts() -> None:
    found = []
    for seed in (1, 2):
        bench = bench_of(GAMES["turns"], seed)
        bench.load([bench.pair.circuit.initial_state], 5)
        bench.play()
        found.append(bench.leaves.values.tolist())
    assert found[0] != found[1]


@pytest.mark.parametrize("cap", [1, 50, 64, 100])
def test_endless_playouts_are_given_up(cap: int, end: str) -> None:
    bench = bench_of(ENDLESS, cap=cap)
    bench.load([bench.pair.circuit.initial_state], 3)
    bench.play([13])
    leaves = bench.leaves
    assert (leaves.done == 3).all()
    assert (leaves.values == 3 * UNKNOWN).all()
    assert leaves.counters[CAPPED] == playouts_over(leaves) == 3 * LANES
    assert leaves.counters[STEPS] == cap * 3 * LANES


def test_fates(end: str) -> None:
    """Ends, states without moves and playouts that are given up, each as often as the others."""
    bench = bench_of(FATES, cap=60)
    bench.load([bench.pair.circuit.initial_state], 10)
    bench.play()
    count = 10 * LANES
    wins = np.round(bench.leaves.values[:, 0] * 2).sum() - count  # 2 for a win, else 1
    for found in (wins, bench.leaves.counters[CAPPED]):
        assert abs(found - count / 3) < 4.5 * sqrt(count * 2 / 9)
    assert np.array_equal(bench.leaves.values[:, 0], bench.leaves.values[:, 1])


def test_playouts_under_way_may_be_dropped() -> None:
    bench = bench_of(GAMES["rounds of 4"], 2)
    state = bench.pair.circuit.initial_state
    world = explore(bench.pair.interpreter, bench.pair.circuit, 5000)
    assert world is not None
    for steps in range(1, 9):
        bench.load([state], 1 + steps % 3)
        play_values(bench.plan, bench.leaves, worth_of(bench.pair.compiled), steps)
        drop_lanes(bench.plan, bench.leaves)
        assert not bench.leaves.values.any()
        assert not bench.leaves.done.any()
        bench.play()
        assert not bench.leaves.done.any()
    bench.load([state], 20)
    bench.play()
    assert (bench.leaves.done == 20).all()
    check_means(bench, world, [state], 20)
