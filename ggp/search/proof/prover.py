"""What a state of a game for two opposed roles in turns is worth, proven: questions to a proof-number search."""

from math import ceil
from time import thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.search.proof.dfpn import (
    ANSWERED,
    DESCENTS,
    EXPANDED,
    NOT_OPPOSED,
    PHASE,
    TOO_LARGE,
    UNSUITABLE,
    advance,
    begin,
    bounds_of,
    list_root_moves,
    make_descents,
    root_bounds,
)
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import make_ends, make_expansion
from ggp.simulation.state_machine import CircuitMachine

_MOST_STATES, _LEAST_STATES = 4096, 256  # that a descent knows of on its way
_DESCENTS_SHARE = 8  # of the memory: one part in so many is for the descents, at most
_SLICE_SECONDS, _SLOW_SECONDS = 0.002, 0.01  # of the processor: for one call, and for a cycle that is not worth it
_MOST_CYCLES = 64
_SLOW_CYCLES = 20  # one after the other, and it is given up; the first ones take long while memory is touched first


class RootMoves(NamedTuple):
    """What is known of the legal moves at the root, in their order."""

    chooser: int  # the role whose moves they are, 0 or 1
    low: NDArray[np.float64]  # (moves,) the least and the most that they are worth to the first role, 0 to 1
    high: NDArray[np.float64]
    length: Ids  # (moves,) how many steps what is proven takes, 0: unknown


class Prover:
    """Proves what the state that it stands at is worth, in small steps; what was found before is kept in a table.

    The values of the two roles add up to 1 and the rules take little time, or it gives up: `has_failed`.
    """

    def __init__(self, machine: CircuitMachine, budget_bytes: int) -> None:
        words = machine.batches.initial.shape[1]
        self._machine = machine
        self._expansion = make_expansion(machine.batches)
        self._ends = make_ends(*machine.ends(opposed=True), self._expansion)
        lowest, span = self._expansion.lowest_goal, self._expansion.goal_span
        levels = np.array(sorted({(goal - lowest[0]) / span[0] for goal in machine.compiled.goals[0]}), np.float64)
        state_bytes = 8 * words + 14  # of `Descents`
        states = min(_MOST_STATES, budget_bytes // (_DESCENTS_SHARE * DESCENTS * state_bytes))
        self.has_failed = len(machine.roles) != 2 or NATURE in machine.roles or not 2 <= len(levels) <= 128
        self.has_failed = self.has_failed or states < _LEAST_STATES
        self._cycles, self._slow = 1, 0
        states = 1 if self.has_failed else states
        self._descents = make_descents(words, states, levels)
        entries = (budget_bytes - DESCENTS * states * state_bytes) // (8 * words + 16)
        self._table = np.zeros((1 if self.has_failed else max(entries // 4 * 4, 4), words + 2), np.uint64)

    @property
    def work_done(self) -> int:
        """States whose moves were worked out."""
        return int(self._descents.counters[EXPANDED])

    @property
    def is_contradicted(self) -> bool:
        """Whether the values of the two roles do not add up to 1 at some end: what was proven may be wrong then."""
        return bool(self._descents.counters[NOT_OPPOSED])

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to find out of the state, or it is too far from the end."""
        low, high = self._levels_by_moves
        return self.has_failed or self._is_too_large or (low == high and self._has_moves)

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(2,) the least and the most that the state is worth to each role, 0 to 1."""
        if self.has_failed:
            return np.zeros(2), np.ones(2)
        least, most = (float(self._descents.levels[level]) for level in self._levels)
        return np.array([least, 1 - most]), np.array([most, 1 - least])

    @property
    def root_moves(self) -> RootMoves | None:
        """What is known of the moves of the state; None before they are worked out."""
        descents = self._descents
        count = int(descents.children[0, 0])
        if self.has_failed or count <= 0:
            return None
        low, high, length = (np.zeros(count, np.int32) for _ in range(3))
        list_root_moves(self._table, descents, low, high, length)
        return RootMoves(int(descents.chooser[0, 0]), descents.levels[low], descents.levels[high], length)

    def go_to(self, state: Bits, value: float) -> None:
        """Stand at a state (1, words), which is no end and seems to be worth `value` to the first role."""
        if self.has_failed:
            return
        descents = self._descents
        begin(self._table, descents, 0)
        descents.states[0] = state[0]
        descents.low[0], descents.high[0] = 0, len(descents.levels) - 1
        descents.counters[PHASE] = self._machine.phases_of(state)[0]
        self._ask(*self._levels, value)

    def advance(self, value: float, most: float) -> None:
        """A few milliseconds of work, until `most` is done, so that in how many parts it is done makes no difference.

        value: what the state seems to be worth to the first role by now.
        """
        if self.is_idle:
            return
        counters = self._descents.counters
        cycles = ceil(min(max((most - self.work_done) / DESCENTS, 1.0), self._cycles))
        began = thread_time()
        advance(self._table, self._descents, self._expansion, self._ends, cycles)
        spent = (thread_time() - began) / cycles
        self._slow = self._slow + 1 if spent > _SLOW_SECONDS else 0
        self._cycles = min(max(int(_SLICE_SECONDS / max(spent, 1e-6)), 1), 2 * self._cycles, _MOST_CYCLES)
        self.has_failed = bool(counters[UNSUITABLE]) or self._slow == _SLOW_CYCLES
        low, high = self._levels_by_moves
        if counters[ANSWERED] and low < high:
            self._ask(low, high, value)

    def _ask(self, low: int, high: int, value: float) -> None:
        """Does the first role get more than what the state seems to be worth, as far as that is not known?"""
        above = int(np.searchsorted(self._descents.levels, value, side="right"))
        begin(self._table, self._descents, min(max(above, low + 1), max(high, 1)))

    @property
    def _levels(self) -> tuple[int, int]:
        low, high, _ = bounds_of(self._table, self._descents, 0)
        by_moves = self._levels_by_moves
        return max(int(low), by_moves[0]), min(int(high), by_moves[1])

    @property
    def _levels_by_moves(self) -> tuple[int, int]:
        """The same, where the moves that show it are known: the table may hold the answer, but no longer its reason."""
        low, high = root_bounds(self._table, self._descents)
        return int(low), int(high)

    @property
    def _has_moves(self) -> bool:
        return bool(self._descents.children[0, 0] > 0)

    @property
    def _is_too_large(self) -> bool:
        return bool(self._descents.counters[TOO_LARGE])
