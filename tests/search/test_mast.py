"""MAST playouts: sets of moves come up as often as they should, and roles do what is in them."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term
from ggp.kernel import LANES, aligned_words
from ggp.search.mcts.mast import BITS, draw_sets
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation import steps as step_module
from ggp.simulation.playout import PLAYOUTS, Simulator, drop_lanes, make_lanes
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.steps import make_steps
from tests.circuit.agreement import make_pair
from tests.search.graphs import Shape, random_graph
from tests.search.test_leaves import ENDS, SHAPES, Bench, check_means, lasting
from tests.search.truth import Position, World, explore

pytestmark = pytest.mark.kernels

FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def guided_world(world: World, liked: list[set[Term]], guided: list[bool]) -> World:
    """The same states; a guided role only does moves that it likes, where it has any."""

    def wanted(position: Position) -> Position:
        allowed = []
        for role, moves in enumerate(position.legal):
            favourites = set(moves) & liked[role]
            allowed.append(favourites if guided[role] and favourites else set(moves))
        following = {
            joint: after
            for joint, after in position.following.items()
            if all(move in allowed[role] for role, move in enumerate(joint))
        }
        return replace(position, following=following)

    found = World.__new__(World)
    found.roles, found.nature, found.start, found.order = world.roles, world.nature, world.start, world.order
    found.positions = {state: wanted(position) for state, position in world.positions.items()}
    return found


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
@pytest.mark.parametrize("seed", [1, 2])
def test_roles_do_what_they_like(shape: Shape, seed: int, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "LATER_END", ENDS[end])
    pair = make_pair(parse_rulesheet(random_graph(shape, seed)))
    compiled = pair.compiled
    steps = make_steps(compiled.circuit, compiled.phases, preferences=True)
    plan = Simulator(steps, compiled.circuit.initial).plan._replace(cap=1000)
    bench = Bench(pair, plan, make_lanes(plan, steps.rows, len(compiled.roles), seed))
    world = explore(pair.interpreter, pair.circuit)
    assert world is not None
    states, rng, rounds = lasting(world), Random(seed), 40
    row = steps.layout.first_preferred
    for _ in range(3):
        liked = [{move for move in moves if rng.random() < 0.5} for moves in compiled.moves]
        guided = [rng.random() < 0.7 for _ in compiled.moves]
        chosen = [move in liked[role] for role, moves in enumerate(compiled.moves) for move in moves]
        for at, is_set in enumerate(chosen + guided):
            bench.leaves.words[row + at] = FULL if is_set else 0
        bench.load(states, rounds)
        bench.play()
        check_means(bench, guided_world(world, liked, guided), states, rounds)
        drop_lanes(plan, bench.leaves)


def test_sets_have_moves_as_often_as_they_should() -> None:
    chances = np.array([*range(-1, (1 << BITS) + 2)] * 8, np.int32)
    words = aligned_words(len(chances) + 8)
    random = np.arange(1, 33, dtype=np.uint64).reshape(4, 8) * np.uint64(0x9E3779B97F4A7C15)
    draw_sets(words, len(chances) + 2, 1, chances, random)
    counts = np.array([sum(int(word).bit_count() for word in words[1 + at]) for at in range(len(chances))])
    expected = np.clip(chances, 0, 1 << BITS) / (1 << BITS) * LANES
    spread = np.sqrt(expected * (1 - expected / LANES))
    assert (abs(counts - expected) <= 5 * spread).all()
    assert (counts[chances <= 0] == 0).all()
    assert (counts[chances >= 1 << BITS] == LANES).all()


def test_a_search_is_guided_by_what_did_well() -> None:
    """Once moves have been tried often enough, only guided playouts are made, in which going up is liked best."""
    machine = make_pair(parse_rulesheet(STAIRS)).circuit
    assert isinstance(machine, CircuitMachine)
    search = BatchedMcts(
        machine, SearchSettings(memory_bytes=2**20, mast_temperature=0.02, lookahead_moves=0, playouts=1), 1
    )
    search.run(lambda: False, 1500)
    worker = search.workers[0]
    before = int(worker.leaves.counters[PLAYOUTS]), search.playouts
    search.run(lambda: False, 2000)
    assert not search.is_solved
    assert search.playouts > before[1]
    assert worker.leaves.counters[PLAYOUTS] == before[0]  # the plain lanes had nothing to do
    mast, _ = worker._mast[False]
    chances = mast._chances(search.parameters.mast, 0.02)
    first, moves = int(machine.batches.first_move[0]), machine.compiled.moves[machine.roles.index("climber")]
    up, stay, down = (int(chances[first + moves.index(move)]) for move in ("up", "stay", "down"))
    assert up > stay >= down


def test_nothing_is_counted_for_playouts_that_like_nothing() -> None:
    machine = make_pair(parse_rulesheet(STAIRS)).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**20), 1)
    search.run(lambda: False, 1000)
    assert not search.parameters.mast.any()


STAIRS = """
(role climber) (role other) (init (at 0)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9) (succ 9 10)
(succ 10 11) (succ 11 12)
(legal climber up) (legal climber stay) (legal climber down) (legal other wait) (legal other look)
(<= (next (at ?y)) (does climber up) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does climber stay) (true (at ?x)))
(<= (next (at ?y)) (does climber down) (true (at ?x)) (succ ?y ?x))
(<= (next (at 0)) (does climber down) (true (at 0)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next (seen ?x)) (does other look) (true (step ?x)))
(<= (next (seen ?x)) (true (seen ?x)))
(<= terminal (true (step 12)))
(high 5) (high 6) (high 7) (high 8) (high 9) (high 10) (high 11) (high 12)
(<= reached (true (at ?x)) (high ?x))
(<= (goal climber 100) reached)
(<= (goal climber 0) (not reached))
(<= (goal other 100) (true (seen 3)))
(<= (goal other 0) (not (true (seen 3))))
"""
