"""The programs of a game for one state at a time: numbers of what is true in, numbers of what follows out."""

import numpy as np

from ggp.kernel import Int, Words, aligned_words, lean
from ggp.simulation.batches import GOALS, LOOK, NEXT, PERCEPTS, Batches, Rows
from ggp.simulation.packing import Indices
from ggp.simulation.running import run_program


class Single:
    """A game's rules for one state; may be used by several threads.

    A state is the numbers of its facts, in any order; moves are (roles,) numbers within each role.
    """

    def __init__(self, batches: Batches) -> None:
        self._rows = batches.rows
        self._size = batches.size
        self._first_move = batches.first_move[:-1] + np.int32(batches.rows.facts)
        self._free: list[Words] = []  # all inputs are 0

    def look(self, state: Indices) -> list[int]:
        """What is legal, by numbers over the moves of all roles, ascending; in a terminal state one more than these."""
        return self._evaluate(LOOK, state).tolist()  # type: ignore[no-any-return]

    def goals(self, state: Indices) -> list[int]:
        """By numbers over the goal values of all roles, ascending."""
        return self._evaluate(GOALS, state).tolist()  # type: ignore[no-any-return]

    def next_state(self, state: Indices, moves: Indices) -> Indices:
        return self._evaluate(NEXT, np.concatenate((state, moves + self._first_move)))

    def percepts(self, state: Indices, moves: Indices) -> list[int]:
        """By numbers over the percepts of all roles, ascending."""
        return self._evaluate(PERCEPTS, np.concatenate((state, moves + self._first_move))).tolist()  # type: ignore[no-any-return]

    def _evaluate(self, program: int, inputs: Indices) -> Indices:
        try:
            words = self._free.pop()
        except IndexError:
            words = aligned_words(self._size)
        found = np.empty(self._rows.outputs[program], np.int32)
        count = evaluate_one(self._rows, words, program, inputs, found)
        self._free.append(words)
        return found[:count]


@lean
def evaluate_one(rows: Rows, words: Words, program: Int, inputs: Indices, found: Indices) -> int:
    """Write the numbers of the outputs that hold, and return how many; `words` must have, and keep, inputs of 0."""
    for number in inputs:
        words[1 + number, 0] = 1
    run_program(words, rows.code, program)
    for number in inputs:
        words[1 + number, 0] = 0
    first_row = int(rows.first_output[program])
    count = 0
    for number in range(rows.outputs[program]):
        if words[first_row + number, 0] & np.uint64(1):
            found[count] = number
            count += 1
    return count
