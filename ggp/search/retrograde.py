"""Every state that can follow a state, and what each is worth to each role, by retrograde analysis.

States are met breadth first, each once; then values go back from the ends until nothing changes. A role takes what is
best for itself; where it has several such moves, the others can count on the worst of them only. Where several roles
choose at once there is no answer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, Int, inner, lean
from ggp.simulation.evaluate import UNKNOWN, Bits
from ggp.simulation.expansion import (
    OVER,
    SEVERAL,
    Expansion,
    do_steps,
    list_steps,
    look,
    make_expansion,
    value_ends,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, find_state, make_state_table

EXPANDED, EDGES, FULL, SIMULTANEOUS, NEXT_STATE, CHANGED, PASSES = range(7)  # indices of StateGraph.counters
LONG = 1 << 24  # a length that is not known
_MOST_AT_ONCE, _STEPS_AT_ONCE, _BACKED_UP_AT_ONCE = 64, 1024, 10_000
_MOST_PASSES = 400  # where states repeat, values may go round for long; what is known by then is sound
_EDGES_PER_STATE = 16  # there is room for
TINY = 1e-9


class StateGraph(NamedTuple):
    """S states at most, E edges (steps) at most, R roles.

    Locking: none. The thread that advances the solver writes everything; others read once it is settled.
    """

    table: StateTable  # numbers the states
    first: Ids  # (S + 1,) the edges from state s are first[s]:first[s + 1], in the order of the moves
    target: Ids  # (E,)
    move: Ids  # (E,) of the role that chooses, numbered within it
    chooser: Ids  # (S,) the only role with a choice, else 0; OVER at an end
    low: NDArray[np.float64]  # (S, R) bounds of the values, 0 to 1
    high: NDArray[np.float64]
    expected: NDArray[
        np.float64
    ]  # (S, R) the mean value where the role keeps what is sure and the others play at random
    length: Ids  # (S,) steps to the end where all play on for long when they lose, and win soon
    nature: NDArray[np.bool_]  # (R,)
    counters: NDArray[np.int64]


class RetrogradeSolver:
    """All that can follow a state, worked out in small steps."""

    def __init__(self, machine: CircuitMachine, state: Bits, budget_bytes: int) -> None:
        self.graph = _make_graph(state, [role == NATURE for role in machine.roles], budget_bytes)
        self._expansion = make_expansion(machine.batches)
        self.is_settled = False

    @property
    def has_failed(self) -> bool:
        """Whether there are too many states, or several roles choose at once."""
        return bool(self.graph.counters[FULL] or self.graph.counters[SIMULTANEOUS])

    @property
    def states(self) -> int:
        return int(self.graph.table.size[0])

    @property
    def steps_done(self) -> int:
        return int(self.graph.counters[EDGES])

    @property
    def work_done(self) -> int:
        """Steps, and states that values were backed up to."""
        counters = self.graph.counters
        passed = counters[PASSES] * self.states - counters[NEXT_STATE] if counters[PASSES] else 0
        return int(counters[EDGES] + passed)

    def advance(self) -> None:
        """A few milliseconds of work."""
        graph = self.graph
        if self.has_failed or self.is_settled:
            return
        if graph.counters[EXPANDED] < self.states:
            usual = _STEPS_AT_ONCE * self.states // max(self.steps_done, 1)
            explore(graph, self._expansion, min(max(usual, 1), _MOST_AT_ONCE))
        else:
            is_stable = back_up(graph, _BACKED_UP_AT_ONCE)
            self.is_settled = is_stable or bool(graph.counters[PASSES] == _MOST_PASSES)

    def find(self, state: Bits) -> int | None:
        """The number of a state; None for one that cannot follow."""
        number = int(find_state(self.graph.table, state, 0))
        return None if number == EMPTY else number

    def bounds(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """(R,) the least and the most that a state is worth to each role, and its length."""
        graph = self.graph
        return graph.low[number], graph.high[number], int(graph.length[number])

    def expected(self, number: int, role: int) -> float:
        """What a state is worth to a role that keeps what is sure, when the others play at random, 0 to 1."""
        return float(self.graph.expected[number, role])

    def best_choice(self, number: int) -> tuple[int, int] | None:
        """The role that chooses in a state, and its move that wins soonest, or ends latest; None at an end."""
        graph = self.graph
        chooser = int(graph.chooser[number])
        if chooser == OVER:
            return None
        after = self.choices(number, chooser)
        sure = max(float(graph.low[target, chooser]) for target in after.values())
        best = [move for move, target in after.items() if graph.low[target, chooser] >= sure - TINY]
        pick = min if sure > 1 - TINY else max
        return chooser, pick(best, key=lambda move: int(graph.length[after[move]]))

    def choices(self, number: int, role: int) -> dict[int, int]:
        """Moves of a role → the state that follows, where it is the one that chooses."""
        graph = self.graph
        if graph.chooser[number] != role:
            return {}
        part = slice(int(graph.first[number]), int(graph.first[number + 1]))
        return dict(zip(graph.move[part].tolist(), graph.target[part].tolist(), strict=True))


def _make_graph(state: Bits, nature: list[bool], budget_bytes: int) -> StateGraph:
    words, roles = state.shape[1], len(nature)
    states = max(int(budget_bytes // (8 * words + 24 * roles + 16 + 16 + 8 * _EDGES_PER_STATE)), 64)
    edges = _EDGES_PER_STATE * states
    graph = StateGraph(
        make_state_table(words, states), np.zeros(states + 1, np.int32),
        np.empty(edges, np.int32), np.empty(edges, np.int32), np.empty(states, np.int32),
        np.empty((states, roles)), np.empty((states, roles)), np.empty((states, roles)), np.empty(states, np.int32),
        np.array(nature), np.zeros(7, np.int64),
    )  # fmt: skip
    add_state(graph.table, state, 0)
    return graph


@lean
def explore(graph: StateGraph, expansion: Expansion, states: Int) -> None:
    """Find what follows the next states, up to so many, at most 512."""
    counters = graph.counters
    start = counters[EXPANDED]
    count = min(np.int64(states), np.int64(LANES), graph.table.size[0] - start)
    looked_at = graph.table.states[start : start + count]
    look(expansion, looked_at, count)
    value_ends(expansion, looked_at, count)
    waiting: Int = np.int64(0)
    for row in range(count):
        state = start + row
        graph.first[state] = counters[EDGES]
        _note_state(graph, expansion, row, state)
        chooser = np.int64(graph.chooser[state])
        if chooser == SEVERAL:
            counters[SIMULTANEOUS] = 1
            return
        move: Int = np.int64(0)
        end = np.int64(0)
        if chooser != OVER:
            end = np.int64(expansion.rows.first_move[chooser + 1] - expansion.rows.first_move[chooser])
        while move < end:
            listed = waiting
            move, waiting = list_steps(expansion, graph.table.states, state, np.int64(row), move, waiting)
            if counters[EDGES] + waiting - listed > len(graph.target):
                counters[FULL] = 1
                return
            for step in range(listed, waiting):
                expansion.owner[step] = counters[EDGES]
                graph.move[counters[EDGES]] = expansion.joint[step, chooser]
                counters[EDGES] += 1
            if waiting == LANES:
                _add_targets(graph, expansion, waiting)
                waiting = np.int64(0)
    _add_targets(graph, expansion, waiting)
    counters[EXPANDED] += count
    graph.first[counters[EXPANDED]] = counters[EDGES]


@inner
def _note_state(graph: StateGraph, expansion: Expansion, row: Int, state: Int) -> None:
    """What the look at a state shows: its chooser and, at an end, its values."""
    chooser = expansion.chooser[row]
    graph.chooser[state] = chooser
    graph.length[state] = 0 if chooser == OVER else LONG
    for role in range(graph.low.shape[1]):
        graph.low[state, role], graph.high[state, role], graph.expected[state, role] = 0.0, 1.0, UNKNOWN
        if chooser == OVER:
            value = expansion.value[row, role]
            graph.low[state, role] = graph.high[state, role] = graph.expected[state, role] = value


@lean
def _add_targets(graph: StateGraph, expansion: Expansion, count: Int) -> None:
    """Do the steps that wait."""
    if count == 0:
        return
    do_steps(expansion, expansion.joint, count)
    for row in range(count):
        number = add_state(graph.table, expansion.after, row)
        if number == EMPTY:
            graph.counters[FULL] = 1
            return
        graph.target[expansion.owner[row]] = number


@lean
def back_up(graph: StateGraph, states: Int) -> bool:
    """Carry values back over so many states, the last ones first; whether a whole pass has changed nothing."""
    counters = graph.counters
    for _ in range(states):
        if counters[NEXT_STATE] == 0:
            if counters[PASSES] > 0 and counters[CHANGED] == 0:
                return True
            counters[NEXT_STATE], counters[CHANGED] = graph.table.size[0], 0
            counters[PASSES] += 1
        counters[NEXT_STATE] -= 1
        state = counters[NEXT_STATE]
        if graph.chooser[state] != OVER and _update(graph, state):
            counters[CHANGED] = 1
    return False


@inner
def _update(graph: StateGraph, state: Int) -> bool:
    """A state's bounds from those of the states after it; whether they changed."""
    first, last, chooser = graph.first[state], graph.first[state + 1], graph.chooser[state]
    sure = 0.0
    for step in range(first, last):
        sure = max(sure, graph.low[graph.target[step], chooser])
    changed = False
    by_chance = graph.nature[chooser] and last - first > 1
    for role in range(graph.low.shape[1]):
        low, high = (0.0, 0.0) if by_chance or role == chooser else (1.0, 0.0)
        for step in range(first, last):
            target = np.int64(graph.target[step])
            if by_chance:
                low += graph.low[target, role] / (last - first)
                high += graph.high[target, role] / (last - first)
            elif role == chooser:
                low, high = max(low, graph.low[target, role]), max(high, graph.high[target, role])
            elif graph.high[target, chooser] >= sure:
                low, high = min(low, graph.low[target, role]), max(high, graph.high[target, role])
        changed = changed or low > graph.low[state, role] + TINY or high < graph.high[state, role] - TINY
        graph.low[state, role], graph.high[state, role] = (
            max(low, graph.low[state, role]),
            min(high, graph.high[state, role]),
        )
    for role in range(graph.low.shape[1]):
        expected = 0.0
        for step in range(first, last):
            target = np.int64(graph.target[step])
            if role == chooser and not by_chance:
                expected = (
                    max(expected, graph.expected[target, role]) if graph.low[target, role] >= sure - TINY else expected
                )
            else:
                expected += graph.expected[target, role] / (last - first)
        changed = changed or abs(expected - graph.expected[state, role]) > TINY
        graph.expected[state, role] = expected
    return changed | _update_length(graph, state, chooser, sure)


@inner
def _update_length(graph: StateGraph, state: Int, chooser: Int, sure: float) -> bool:
    """One more than after the moves that keep the value: the soonest of the best end, the latest of any other."""
    if graph.low[state, chooser] < graph.high[state, chooser] - TINY:
        return False
    soonest, latest = np.int64(LONG), np.int64(0)
    for step in range(graph.first[state], graph.first[state + 1]):
        target = np.int64(graph.target[step])
        if graph.low[target, chooser] >= sure - TINY:
            soonest, latest = min(soonest, np.int64(graph.length[target])), max(latest, np.int64(graph.length[target]))
    length = min((soonest if sure > 1.0 - TINY else latest) + 1, np.int64(LONG))
    changed = length != graph.length[state]
    graph.length[state] = length
    return bool(changed)
