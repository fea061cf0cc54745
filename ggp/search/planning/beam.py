"""Breadth-first and beam search on packed states.

The breadth-first search visits all states, each once, as long as there is room. The visited states are a list in the
order in which they were met. States before `EXPANDED` are expanded, states before `SEEN` were looked at for their end;
both only grow, so the list is also the queue of the search.

The beam goes layer by layer; of each only the states that look best are expanded. A run ends where its layer is empty
or there is no more room; the next is twice as wide and has another notion of what looks best. One notion is a fuzzy
value of the goal (Schiffel, Thielscher: Fluxplayer, 2007): a fact of the formula counts as 0.8 if it holds and as 0.2
if not, and gates combine values as they do probabilities. Another one is learned from the runs before (`hindsight`).
"""

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import INPUT, LOOP, Circuit, Ids
from ggp.circuit.schedule import mark_needed
from ggp.kernel import LANES, Int, kernel, lean
from ggp.search.planning.hindsight import Hindsight
from ggp.search.planning.paths import Path, values
from ggp.simulation.evaluate import Batches, Bits
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


_FIRST_WIDTH = 64
_TRUE = 0.8  # what a fact counts for that holds
_CHUNK = 2048  # states that are valued at once


class Notion(Enum):
    """What looks best; ties are broken at random."""

    FUZZY = "the fuzzy value of the highest goal"
    CHANCE = "nothing: all are alike"
    GOAL = "the goal value of the state itself, then the fuzzy value"
    HINDSIGHT = "what led far in the runs before"


class PackedCone(NamedTuple):
    """The gates below an output, in order, as kernels read them."""

    left: Ids
    right: Ids
    nodes: Ids
    output: int  # a literal
    facts: int


class Beam:
    """Runs from one state, one after the other."""

    def __init__(self, batches: Batches, expansion: Expansion, state: Bits, budget_bytes: int, seed: int) -> None:
        self._batches = batches
        self._expansion = expansion
        self._state = state
        self._budget_bytes = budget_bytes
        self._rng = np.random.default_rng(seed)
        self._cone = make_cone(batches.game.circuit)
        self._hindsight = Hindsight(len(batches.game.facts), state.shape[1], seed)
        self._run = 0
        self._visited = make_visited(state, budget_bytes)
        self._layer_start, self._layer_end, self._scored = 0, 1, 1  # states of the layer; those valued
        self._scores = np.zeros(0)
        self.best: Path | None = None

    def advance(self, states: int) -> None:
        """Expand up to so many states, or choose among some that are new."""
        visited, counters = self._visited, self._visited.counters
        if self._hindsight.is_fitting:
            self._hindsight.advance()
            return
        if self._scored < self._layer_end:
            self._score()
            return
        if counters[EXPANDED] < self._layer_end and not counters[FULL]:
            expand(self._expansion, visited, min(states, int(self._layer_end - counters[EXPANDED])))
            self._note_best()
            return
        if counters[FULL] or visited.table.size[0] == self._layer_end:
            self._begin()
            return
        self._layer_start, self._layer_end = self._layer_end, int(visited.table.size[0])
        self._scored = self._layer_start
        self._scores = np.empty(self._layer_end - self._layer_start)

    @property
    def has_learned(self) -> bool:
        """Whether something was learned from its runs."""
        return self._hindsight.is_fitted

    @property
    def notion(self) -> Notion:
        """Of this run."""
        return list(Notion)[self._run % len(Notion)]

    @property
    def _width(self) -> int:
        return _FIRST_WIDTH << (self._run // len(Notion))

    def _begin(self) -> None:
        """The next run, and what is learned from this one."""
        visited, count = self._visited, int(self._visited.table.size[0])
        survivors = np.flatnonzero(~visited.ended[: min(count, int(visited.counters[EXPANDED]))])
        self._hindsight.take(visited.table.states, visited.parents[:count], survivors)
        self._run += 1
        self._visited = make_visited(self._state, self._budget_bytes)
        self._layer_start, self._layer_end, self._scored = 0, 1, 1

    def _note_best(self) -> None:
        if self.best is None or self._visited.counters[BEST_VALUE] > self.best.value:
            self.best = best_path(self._visited) or self.best

    def _score(self) -> None:
        """Value some more states of the layer; after the last, strike out all but the best."""
        end = min(self._layer_end, self._scored + _CHUNK)
        states = self._visited.table.states[self._scored : end]
        found = self._rng.random(len(states)) * 1e-9
        if self._layer_end - self._layer_start > self._width:
            if self.notion is Notion.HINDSIGHT and self._hindsight.is_fitted:
                self._hindsight.add_values(states, found)
            elif self.notion is not Notion.CHANCE:
                fuzzy_values(self._cone, states, found)
            if self.notion is Notion.GOAL:
                found += values(self._batches, states)
        self._scores[self._scored - self._layer_start : end - self._layer_start] = found
        self._scored = end
        count = self._layer_end - self._layer_start
        if end == self._layer_end and count > self._width:
            ended = self._visited.ended[self._layer_start : self._layer_end]
            self._scores[ended] = -1.0
            ended[np.argpartition(self._scores, count - self._width)[: count - self._width]] = True


def make_cone(circuit: Circuit) -> PackedCone:
    """Of the highest goal."""
    output = int(circuit.goals[-1]) if len(circuit.goals) else 0
    needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, np.array([output], np.int32))
    nodes = np.flatnonzero(needed & (np.arange(len(needed)) > 0)).astype(np.int32)
    return PackedCone(circuit.left, circuit.right, nodes, output, circuit.facts)


@kernel
def fuzzy_values(cone: PackedCone, states: Bits, found: NDArray[np.float64]) -> None:
    """Add the fuzzy value of the cone's output in each state."""
    value = np.zeros(cone.left.shape[0])
    for row in range(states.shape[0]):
        for node in cone.nodes:
            left, right = np.int64(cone.left[node]), np.int64(cone.right[node])
            if left == INPUT:
                holds = (states[row, right >> 6] >> np.uint64(right & 63)) & np.uint64(1) != 0
                value[node] = _TRUE if holds else 1 - _TRUE
            elif left == LOOP:
                value[node] = 0.5
            else:
                a, b = fuzzy_literal(value, left), fuzzy_literal(value, right)
                value[node] = a * b if left < right else a * (1 - b) + b * (1 - a)
        found[row] += fuzzy_literal(value, cone.output)


@kernel
def fuzzy_literal(value: NDArray[np.float64], literal: Int) -> float:
    plain = value[literal >> 1]
    return float(1 - plain if literal & 1 else plain)
