"""How many histories a game has, by random matches (Knuth: Estimating the efficiency of backtrack programs, 1975)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import LANES, draw, lean
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.expansion import OVER, Expansion, count_legal, do_steps, look, make_expansion, next_legal
from ggp.simulation.state_machine import CircuitMachine

Values: TypeAlias = NDArray[np.float64]

_PROBES, _MOST_STEPS = 8, 1000  # batches of random matches, and their length
_MOST_WEIGHT = 1e100


def estimate_histories(machine: CircuitMachine, states: Bits | None = None, seed: int = 0) -> tuple[float, float]:
    """How many histories begin in these states, or in the initial one, and the standard error (Knuth, 1975).

    The states are counted, too. Without bias, but more often too few than too many.
    """
    states = machine.batches.initial if states is None else states
    expansion, weight = make_expansion(machine.batches), np.ones(LANES)
    totals, random = np.ones((_PROBES, LANES)), np.array([2 * seed + 1], np.uint64)
    begun = np.random.default_rng(seed).integers(len(states), size=totals.shape)
    for total, numbers in zip(totals, begun, strict=True):
        expansion.after[:], weight[:] = states[numbers], 1.0
        _play_probes(expansion, weight, total, random)
    totals *= len(states)
    return float(totals.mean()), float(totals.std() / np.sqrt(totals.size))


@lean
def _play_probes(expansion: Expansion, weight: Values, total: Values, random: NDArray[np.uint64]) -> None:
    """512 random matches from `after`; adds to the total of each how many joint moves there were, all multiplied."""
    for row in range(LANES):
        expansion.owner[row] = row
    rows = np.int64(LANES)
    for _ in range(_MOST_STEPS):
        look(expansion, expansion.after, rows)
        kept = np.int64(0)
        for row in range(rows):
            if expansion.chooser[row] == OVER:
                continue
            lane = expansion.owner[row]
            for role in range(expansion.joint.shape[1]):
                count = count_legal(expansion, np.int64(row), np.int64(role))
                weight[lane] = min(weight[lane] * count, _MOST_WEIGHT)
                move = next_legal(expansion, np.int64(row), np.int64(role), np.int64(0))
                for _ in range(draw(random, count)):
                    move = next_legal(expansion, np.int64(row), np.int64(role), move + 1)
                expansion.joint[kept, role] = move
            total[lane] += weight[lane]
            copy_state(expansion.before, kept, expansion.after, np.int64(row))
            expansion.owner[kept] = lane
            kept += 1
        rows = kept
        if rows == 0:
            return
        do_steps(expansion, expansion.joint, rows)
