"""MAST: playouts prefer moves that did well anywhere in the tree (move-average sampling from the tree).

A move's worth is the mean of what its role got by it in all visits (Finnsson and Björnsson, 2010). For each lane a set
of moves is drawn that has the better ones more often; a role does one of its set where it can, so that all lanes still
choose at once.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import Int, Words, fill_random, gate_and, lean
from ggp.simulation.playout import Lanes, make_lanes, with_cap
from ggp.simulation.state_machine import CircuitMachine

BITS = 5  # of the chance that a move is in a lane's set
MOST_GATES = 60_000  # of a game's steps; beyond, those with preferred moves take too long to make
_CERTAIN = 1 << BITS
_EVERY = 4  # cycles between two drawings of sets
_PREFERRING = _CERTAIN - _CERTAIN // 8  # in how many of as many lanes a role prefers moves
_PRIOR = 20.0  # visits that a move seems to have had with a mean result
LEAST_VISITS = 1000  # of the state, before anything is known of the moves
FORGET = 0.5  # of what was seen, kept when the match goes on


MoveAverages: TypeAlias = NDArray[np.float64]  # (2, M) visits and values of each move anywhere in the tree


class Drawn(NamedTuple):
    """Where the sets of preferred moves are."""

    first: int  # a row for each move, then one for each role
    moves: int
    roles: int


class MastPlayouts:
    """Playouts with preferred moves, for one worker."""

    def __init__(self, machine: CircuitMachine, cap: int, nature: NDArray[np.bool_], *, decisive: int) -> None:
        """decisive: roles do decisive moves first of all."""
        counts = list(map(len, machine.compiled.moves))
        simulator = machine.simulator(preferences=True, decisive=decisive)
        self.plan = with_cap(simulator.plan, cap)
        self._rows = simulator.steps.rows
        self._drawn = Drawn(simulator.steps.layout.first_preferred, sum(counts), len(counts))
        self._first = np.concatenate([[0], np.cumsum(counts)])
        self._nature = nature
        self._cycles = 0
        machine.compile_in_background(preferences=True, decisive=decisive)

    def leaves(self, seed: int) -> Lanes:
        """Lanes for these playouts."""
        return make_lanes(self.plan, self._rows, self._drawn.roles, seed)

    def draw(self, leaves: Lanes, averages: MoveAverages, temperature: float) -> None:
        """New sets for all lanes, now and then."""
        self._cycles += 1
        preferring = leaves.words[self._drawn.first + self._drawn.moves :][: self._drawn.roles]
        if self._cycles % _EVERY == 0 or not preferring.any():
            chances = self._chances(averages, temperature)
            draw_sets(leaves.words, self.plan.layout.first_random, self._drawn.first, chances, leaves.random)

    def _chances(self, averages: MoveAverages, temperature: float) -> NDArray[np.int32]:
        """(M + roles,) of `_CERTAIN` lanes: in how many a move is in the set, in how many a role prefers moves."""
        visits, sums = averages
        found = np.zeros(self._drawn.moves + self._drawn.roles, np.int32)
        for role, nature in enumerate(self._nature):
            part = slice(self._first[role], self._first[role + 1])
            mean = sums[part].sum() / max(visits[part].sum(), 1.0)
            worth = (sums[part] + _PRIOR * mean) / (visits[part] + _PRIOR) - mean
            found[part] = np.rint(_CERTAIN / (1.0 + np.exp(-np.clip(worth / temperature, -50, 50))))
            found[self._drawn.moves + role] = 0 if nature else _PREFERRING
        return found


@lean
def draw_sets(words: Words, scratch: Int, first: Int, chances: NDArray[np.int32], random: Words) -> None:
    """Set row first + i in each lane with a chance of chances[i] / 32; `scratch` and the row behind are written."""
    for at in range(len(chances)):
        row, chance = first + at, chances[at]
        gate_and(words, 1 if chance >= _CERTAIN else 0, 1, row)
        if chance <= 0 or chance >= _CERTAIN:
            continue
        for bit in range(BITS):
            fill_random(words, scratch, 1, random)
            if (chance >> bit) & 1:
                gate_and(words, 2 * scratch + 1, 2 * row + 1, scratch + 1)
                gate_and(words, 2 * scratch + 3, 1, row)
            else:
                gate_and(words, 2 * scratch, 2 * row, row)
