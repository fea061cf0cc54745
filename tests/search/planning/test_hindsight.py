"""What beams learn from their runs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.kernel import LANES
from ggp.search.planning.beam import Beam, Notion
from ggp.search.planning.hindsight import Hindsight, reached
from ggp.simulation.expansion import make_expansion
from ggp.simulation.state_machine import CircuitMachine


def twin(parents: list[int]) -> list[float]:
    """Of each state the longest path through it, by following all paths."""
    lengths = []
    for end in range(len(parents)):
        path = [end]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        lengths.append((len(path) - 1, path))
    longest = max(length for length, _ in lengths)
    return [max(length for length, path in lengths if state in path) / longest for state in range(len(parents))]


@pytest.mark.parametrize("seed", range(5))
def test_how_far_states_led(seed: int) -> None:
    random = np.random.default_rng(seed)
    parents = [-1, *(int(random.integers(max(0, state - 6), state)) for state in range(1, 40))]
    assert reached(np.array(parents, np.int32)) == pytest.approx(twin(parents), abs=1e-6)


def test_the_fact_that_led_far_is_learned_and_the_same_seed_gives_the_same_again() -> None:
    """Odd states are the ones on the long path; a fact tells them from the others."""
    count = 1000
    parents = np.array([-1, *(max(0, state - 2) if state % 2 else 0 for state in range(1, count))], np.int32)
    states = np.zeros((count, 1), np.uint64)
    states[:, 0] = 1 + np.arange(count) % 2
    found: list[NDArray[np.float64]] = []
    for _ in range(2):
        hindsight = Hindsight(3, 1, seed=4)
        assert not hindsight.is_fitted
        for _ in range(30):
            hindsight.take(states, parents, np.arange(1, count))
            while hindsight.is_fitting:
                hindsight.advance()
        assert hindsight.is_fitted
        values = np.zeros(2)
        hindsight.add_values(np.array([[1], [2]], np.uint64), values)
        found.append(values)
    assert found[0][1] > 0.8
    assert found[0][0] < 0.3
    assert (found[0] == found[1]).all()


def test_little_is_not_learned_from() -> None:
    hindsight = Hindsight(3, 1, seed=4)
    hindsight.take(np.zeros((50, 1), np.uint64), np.arange(-1, 49, dtype=np.int32), np.arange(50))
    assert not hindsight.is_fitting


def test_a_beam_learns_between_its_runs() -> None:
    """A puzzle whose layers are wider than the first runs are."""
    numbers = range(12)
    text = "(role r) (init (at 0))" + "".join(f"(succ {number} {number + 1})" for number in numbers)
    text += "".join(f"(legal r (flip {n})) (<= (next (on {n})) (does r (flip {n})))" for n in numbers)
    text += "".join(f"(<= (next (on {n})) (true (on {n})))" for n in numbers)
    text += "(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y)) (<= terminal (true (at 12)))"
    text += f"(<= (goal r 100) {' '.join(f'(true (on {n}))' for n in numbers)}) (<= (goal r 0) (not (true (on 0))))"
    rulesheet = parse_rulesheet(text)
    machine = CircuitMachine(rulesheet, compile_game(rulesheet))
    beam = Beam(machine.batches, make_expansion(machine.batches), machine.batches.initial, 2**22, seed=1)
    runs = set()
    for _ in range(2000):
        beam.advance(LANES)
        runs.add(beam.notion)
        if beam.has_learned and Notion.HINDSIGHT in runs:
            break
    assert beam.has_learned
    assert Notion.HINDSIGHT in runs
