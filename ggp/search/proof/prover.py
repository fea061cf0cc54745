"""What a state of a game for two opposed roles in turns is worth, proven: questions to a proof-number search."""

from math import ceil
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, aligned_words
from ggp.search.mcts.expansion import Rules
from ggp.search.mcts.tree import Tree
from ggp.search.proof.growth import Room, advance
from ggp.search.proof.teaching import bounds_by_moves, teach
from ggp.search.proof.walks import ANSWERED, CROWDED, DEPTH, EXPANDED, ODD, TOP, Walks, begin, bounds_of
from ggp.simulation.evaluate import GOALS, Bits
from ggp.simulation.state_machine import CircuitMachine

WALKS = 32
_MOST_STATES, _LEAST_STATES = 4096, 256  # that a walk knows of on its way
_WALKS_SHARE = 8  # of the memory: one part in so many is for the walks, at most
_SLICE_SECONDS, _SLOW_SECONDS = 0.002, 0.01  # of the processor: for one call, and for a cycle that is not worth it
_MOST_CYCLES = 64
_SLOW_CYCLES = 20  # one after the other, and it is given up; the first ones take long while memory is touched first


class Prover:
    """Proves what the state that it stands at is worth, in small steps; what was found before is kept in a table.

    The values of the two roles add up to 1 and the rules take little time, or it gives up: `has_failed`.
    """

    def __init__(
        self, machine: CircuitMachine, lowest_goal: NDArray[np.float64], span: NDArray[np.float64], budget_bytes: int
    ) -> None:
        words = machine.batches.initial.shape[1]
        first = machine.compiled.goals[0]
        self._worth = np.array(sorted({(goal - lowest_goal[0]) / span[0] for goal in first}), np.float64)
        state_bytes = 8 * words + 16
        states = min(_MOST_STATES, budget_bytes // (_WALKS_SHARE * WALKS * state_bytes))
        self.has_failed = len(machine.roles) != 2 or NATURE in machine.roles or not 2 <= len(self._worth) <= 128
        self.has_failed = self.has_failed or states < _LEAST_STATES
        self._room = _make_room(machine, self._worth, lowest_goal, span)
        self._cycles, self._slow = 1, 0
        states = 1 if self.has_failed else states
        self._walks = _make_walks(words, states, len(self._worth) - 1)
        entries = (budget_bytes - WALKS * states * state_bytes) // (8 * words + 16)
        self._table = np.zeros((1 if self.has_failed else max(entries // 4 * 4, 4), words + 2), np.uint64)

    @property
    def work_done(self) -> int:
        """States whose moves were worked out."""
        return int(self._walks.counters[EXPANDED])

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to find out of the state, or it is too far from the end."""
        low, high = self._levels_by_moves
        return self.has_failed or self._is_crowded or (low == high and self._has_moves)

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(2,) the least and the most that the state is worth to each role, 0 to 1."""
        if self.has_failed:
            return np.zeros(2), np.ones(2)
        low, high = self._levels
        least, most = float(self._worth[low]), float(self._worth[high])
        return np.array([least, 1 - most]), np.array([most, 1 - least])

    @property
    def lengths(self) -> tuple[int, list[int]]:
        """The role that chooses, and for each of its legal moves in order how long what is proven takes, 0: unknown."""
        if self.has_failed or not self._has_moves:
            return 0, []
        walks = self._walks
        children = range(int(walks.first[0, 0]), int(walks.first[0, 0] + walks.moves[0, 0]))
        return int(walks.chooser[0, 0]), [int(bounds_of(self._table, walks, child)[2]) for child in children]

    def go_to(self, state: Bits, value: float) -> None:
        """Stand at a state (1, words), which is no end and seems to be worth `value` to the first role."""
        if self.has_failed:
            return
        walks = self._walks
        begin(self._table, walks, 0)
        walks.states[0] = state[0]
        walks.low[0], walks.high[0] = 0, len(self._worth) - 1
        self._ask(*self._levels, value)

    def advance(self, value: float, most: float) -> None:
        """A few milliseconds of work, until `most` is done, so that in how many parts it is done makes no difference.

        value: what the state seems to be worth to the first role by now.
        """
        if self.is_idle:
            return
        counters = self._walks.counters
        cycles = ceil(min(max((most - self.work_done) / WALKS, 1.0), self._cycles))
        began = thread_time()
        advance(self._table, self._walks, self._room, cycles)
        spent = (thread_time() - began) / cycles
        self._slow = self._slow + 1 if spent > _SLOW_SECONDS else 0
        self._cycles = min(max(int(_SLICE_SECONDS / max(spent, 1e-6)), 1), 2 * self._cycles, _MOST_CYCLES)
        self.has_failed = bool(counters[ODD]) or self._slow == _SLOW_CYCLES
        low, high = self._levels_by_moves
        if counters[ANSWERED] and low < high:
            self._ask(low, high, value)

    def teach(self, tree: Tree, root: int) -> None:
        """Give the root of a search tree, which is at the same state, what is proven of it and of its moves."""
        if not self.has_failed:
            teach(self._table, self._walks, self._worth, tree, root)

    def _ask(self, low: int, high: int, value: float) -> None:
        """Does the first role get more than what the state seems to be worth, as far as that is not known?"""
        above = int(np.searchsorted(self._worth, value, side="right"))
        begin(self._table, self._walks, min(max(above, low + 1), max(high, 1)))

    @property
    def _levels(self) -> tuple[int, int]:
        low, high, _ = bounds_of(self._table, self._walks, 0)
        by_moves = self._levels_by_moves
        return max(int(low), by_moves[0]), min(int(high), by_moves[1])

    @property
    def _levels_by_moves(self) -> tuple[int, int]:
        """The same, where the moves that show it are known: the table may hold the answer, but no longer its reason."""
        low, high = bounds_by_moves(self._table, self._walks)
        return int(low), int(high)

    @property
    def _has_moves(self) -> bool:
        return bool(self._walks.moves[0, 0] > 0)

    @property
    def _is_crowded(self) -> bool:
        return bool(self._walks.counters[CROWDED])


def _make_walks(words: int, states: int, top: int) -> Walks:
    place, first, count, chooser, proof, disproof, work = (np.zeros((WALKS, DEPTH), np.int32) for _ in range(7))
    proofs, disproofs, low, high = (np.zeros(WALKS * states, np.int32) for _ in range(4))
    counters = np.zeros(8, np.int64)
    counters[TOP] = top
    return Walks(
        np.zeros(WALKS, np.int32), place, first, count, chooser, proof, disproof, work,
        np.zeros((WALKS * states, words), np.uint64), proofs, disproofs, low, high, counters,
    )  # fmt: skip


def _make_room(
    machine: CircuitMachine, worth: NDArray[np.float64], lowest: NDArray[np.float64], span: NDArray[np.float64]
) -> Room:
    batches, roles = machine.batches, len(machine.roles)
    words = batches.initial.shape[1]
    return Room(
        Rules(batches.rows, aligned_words(batches.size), batches.first_goal, batches.goal_values),
        np.zeros((LANES, words), np.uint64), np.zeros((LANES, words), np.uint64),
        np.zeros((LANES, (int(batches.first_move[-1]) + 64) // 64), np.uint64),
        np.zeros((LANES, max(1, (int(batches.rows.outputs[GOALS]) + 63) // 64)), np.uint64),
        np.zeros((LANES, roles), np.int16), np.zeros((LANES, roles), np.int32), np.zeros(LANES, np.int32),
        worth, lowest, span,
    )  # fmt: skip
