"""Breadth-first search: all states, each once, as long as there is room.

The visited states are a list in the order in which they were met. States before `EXPANDED` are expanded, states before
`SEEN` were looked at for their end; both only grow, so the list is also the queue of the search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, lean
from ggp.search.planning.paths import Path
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import OVER, Expansion, do_steps, is_terminal, list_steps, look, value_ends
from ggp.simulation.state_table import EMPTY, StateTable, add_state, capacity_within, make_state_table

EXPANDED, SEEN, BEST_VALUE, BEST_STATE, FULL = range(5)  # indices of Visited.counters
NONE = -1


class Visited(NamedTuple):
    """At most N states, and how they were met. Locking: none, for one thread at a time."""

    table: StateTable  # numbers the states
    parents: Ids  # (N,) the state before; NONE for the first
    moves: Ids  # (N,) the move that led here, numbered within the role
    ended: NDArray[np.bool_]  # (N,) whether it is not to be expanded: it is terminal, or a beam has struck it out
    counters: NDArray[np.int64]


def make_visited(initial: Bits, budget_bytes: int) -> Visited:
    """The initial state, and room for more; the memory is taken only as it fills."""
    words = initial.shape[1]
    capacity = capacity_within(budget_bytes, 8 * words + 9)
    visited = Visited(
        make_state_table(words, capacity), np.empty(capacity, np.int32), np.empty(capacity, np.int32),
        np.empty(capacity, np.bool_), np.array([0, 0, NONE, NONE, 0], np.int64),
    )  # fmt: skip
    add_state(visited.table, initial, 0)
    visited.parents[0] = visited.moves[0] = NONE
    return visited


def best_path(visited: Visited) -> Path | None:
    """The path to the best terminal state met so far, one of those with the fewest moves."""
    value, state = visited.counters[[BEST_VALUE, BEST_STATE]].tolist()
    if value < 0:
        return None
    moves = []
    while visited.parents[state] != NONE:
        moves.append(int(visited.moves[state]))
        state = int(visited.parents[state])
    return Path(tuple(moves[::-1]), value)


class BreadthFirst:
    """All states from one on, nearest first."""

    def __init__(self, expansion: Expansion, state: Bits, budget_bytes: int) -> None:
        self._expansion = expansion
        self._visited = make_visited(state, budget_bytes)
        self.best: Path | None = None

    @property
    def states(self) -> int:
        """Met so far."""
        return int(self._visited.table.size[0])

    @property
    def is_full(self) -> bool:
        """Whether there is no more room, so that it goes no further."""
        return bool(self._visited.counters[FULL])

    @property
    def is_complete(self) -> bool:
        """Whether all states are known, so that no path is better than the best."""
        return int(self._visited.counters[EXPANDED]) == self.states and not self.is_full

    def advance(self, states: int) -> None:
        """Expand up to so many states."""
        expand(self._expansion, self._visited, states)
        if self.best is None or self._visited.counters[BEST_VALUE] > self.best.value:
            self.best = best_path(self._visited)


@lean
def expand(expansion: Expansion, visited: Visited, states: Int) -> bool:
    """Expand up to so many states, at most 512, and look at all new ones; whether any is left to be expanded.

    Stops early when there is no more room.
    """
    counters, table = visited.counters, visited.table
    look_at_new(expansion, visited)
    start, end = counters[EXPANDED], np.int64(expansion.rows.first_move[1])
    count = min(np.int64(states), np.int64(LANES), table.size[0] - start)
    look(expansion, table.states[start : start + count], count)
    waiting: Int = np.int64(0)
    for row in range(count):
        move: Int = np.int64(0)
        if visited.ended[start + row] or expansion.chooser[row] == OVER:
            move = end
        while move < end:
            listed = waiting
            move, waiting = list_steps(expansion, table.states, start + row, np.int64(row), move, waiting)
            for step in range(listed, waiting):
                expansion.owner[step] = start + row
            if waiting == LANES:
                _do_waiting(expansion, visited, waiting)
                waiting = np.int64(0)
    _do_waiting(expansion, visited, waiting)
    if not counters[FULL]:
        counters[EXPANDED] += count
    look_at_new(expansion, visited)
    return bool(counters[EXPANDED] < table.size[0])


@lean
def _do_waiting(expansion: Expansion, visited: Visited, count: Int) -> None:
    """Do the steps that wait, and keep the states that are new, until there is no more room."""
    if count == 0:
        return
    do_steps(expansion, expansion.joint, count)
    for row in range(count):
        size = visited.table.size[0]
        number = add_state(visited.table, expansion.after, row)
        if number == EMPTY:
            visited.counters[FULL] = 1
            return
        if number == size:
            visited.parents[number] = expansion.owner[row]
            visited.moves[number] = expansion.joint[row, 0]


@lean
def look_at_new(expansion: Expansion, visited: Visited) -> None:
    """Mark the terminal states among those not seen yet, and note the best."""
    counters, table = visited.counters, visited.table
    while counters[SEEN] < table.size[0]:
        start = counters[SEEN]
        count = min(np.int64(LANES), table.size[0] - start)
        look(expansion, table.states[start : start + count], count)
        value_ends(expansion, table.states[start : start + count], count)
        for row in range(count):
            ended = is_terminal(expansion, row)
            visited.ended[start + row] = ended
            if ended and max(expansion.goal[row, 0], 0) > counters[BEST_VALUE]:
                counters[BEST_VALUE] = max(expansion.goal[row, 0], 0)
                counters[BEST_STATE] = start + row
        counters[SEEN] += count
