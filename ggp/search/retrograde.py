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
from ggp.kernel import Int, inner, lean
from ggp.search.opponent_model import awareness
from ggp.simulation.evaluate import UNKNOWN, Bits
from ggp.simulation.expansion import OVER
from ggp.simulation.state_graph import SIMULTANEOUS, StateExplorer, StateGraph
from ggp.simulation.state_machine import CircuitMachine

NEXT_STATE, CHANGED, PASSES = range(3)  # of `StateValues.counters`
LONG = 1 << 24  # a length that is not known
_STEPS_AT_ONCE, _BACKED_UP_AT_ONCE = 1024, 10_000
_MOST_PASSES = 400  # where states repeat, values may go round for long; what is known by then is sound
_EDGES_PER_STATE = 16  # there is room for
TINY = 1e-9


class StateValues(NamedTuple):
    """What the S states of a graph are worth to R roles; locking as for the graph."""

    graph: StateGraph
    chooser: Ids  # (S,) the only role with a choice, else 0; OVER at an end
    low: NDArray[np.float64]  # (S, R) bounds of the values, 0 to 1
    high: NDArray[np.float64]
    expected: NDArray[
        np.float64
    ]  # (S, R) the mean value where the role keeps what is sure and others err, by `search.opponent_model`
    length: Ids  # (S,) steps to the end where all play on for long when they lose, and win soon
    nature: NDArray[np.bool_]  # (R,)
    counters: NDArray[np.int64]


class RetrogradeSolver(StateExplorer):
    """All that can follow a state, worked out in small steps."""

    def __init__(self, machine: CircuitMachine, state: Bits, budget_bytes: int) -> None:
        roles = len(machine.roles)
        order = np.arange(roles, dtype=np.int32)
        super().__init__(machine, state, order, _EDGES_PER_STATE, budget_bytes, 24 * roles + 8)
        self.values = _make_values(self.graph, [role == NATURE for role in machine.roles])
        self.is_settled = False

    @property
    def has_failed(self) -> bool:
        """Whether there are too many states, or several roles choose at once."""
        return self.is_full or bool(self.graph.counters[SIMULTANEOUS])

    @property
    def work_done(self) -> int:
        """Steps, and states that values were backed up to."""
        counters = self.values.counters
        passed = counters[PASSES] * self.states - counters[NEXT_STATE] if counters[PASSES] else 0
        return int(self.steps_done + passed)

    def advance(self) -> None:
        """A few milliseconds of work."""
        values = self.values
        if self.has_failed or self.is_settled:
            return
        if not self.is_explored:
            first, last = self._explore(_STEPS_AT_ONCE)
            _note_states(values, self._expansion.lowest_goal, self._expansion.goal_span, first, last)
        else:
            is_stable = back_up(values, _BACKED_UP_AT_ONCE)
            self.is_settled = is_stable or bool(values.counters[PASSES] == _MOST_PASSES)

    def bounds(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """(R,) the least and the most that a state is worth to each role, and its length."""
        values = self.values
        return values.low[number], values.high[number], int(values.length[number])

    def expected(self, number: int, role: int) -> float:
        """What a state is worth to a role that keeps what is sure, when the others may err, 0 to 1."""
        return float(self.values.expected[number, role])

    def best_choice(self, number: int) -> tuple[int, int] | None:
        """The role that chooses in a state, and its move that wins soonest, or ends latest; None at an end."""
        values = self.values
        chooser = int(values.chooser[number])
        if chooser == OVER:
            return None
        after = self.choices(number, chooser)
        sure = max(float(values.low[target, chooser]) for target in after.values())
        best = [move for move, target in after.items() if values.low[target, chooser] >= sure - TINY]
        pick = min if sure > 1 - TINY else max
        return chooser, pick(best, key=lambda move: int(values.length[after[move]]))

    def choices(self, number: int, role: int) -> dict[int, int]:
        """Moves of a role → the state that follows, where it is the one that chooses; for one thread at a time."""
        if self.values.chooser[number] != role:
            return {}
        edges = slice(int(self.graph.first[number]), int(self.graph.first[number + 1]))
        return dict(zip(self.legal_moves(number, role), self.graph.target[edges].tolist(), strict=True))


def _make_values(graph: StateGraph, nature: list[bool]) -> StateValues:
    states, roles = graph.legal.shape
    return StateValues(
        graph, np.empty(states, np.int32), np.empty((states, roles)), np.empty((states, roles)),
        np.empty((states, roles)), np.empty(states, np.int32), np.array(nature), np.zeros(3, np.int64),
    )  # fmt: skip


@lean
def _note_states(
    values: StateValues, lowest: NDArray[np.float64], span: NDArray[np.float64], first: Int, last: Int
) -> None:
    """Of the states from `first` to before `last`: the chooser and, at an end, the values."""
    graph = values.graph
    for state in range(first, last):
        chooser = np.int64(OVER) if graph.legal[state, 0] == 0 else np.int64(0)
        for role in range(graph.legal.shape[1]):
            if graph.legal[state, role] > 1:
                chooser = np.int64(role)
        values.chooser[state] = chooser
        values.length[state] = 0 if chooser == OVER else LONG
        for role in range(graph.legal.shape[1]):
            values.low[state, role], values.high[state, role], values.expected[state, role] = 0.0, 1.0, UNKNOWN
            if chooser == OVER:
                goal = graph.goal[state, role]
                value = (goal - lowest[role]) / span[role] if goal >= 0 else UNKNOWN
                values.low[state, role] = values.high[state, role] = values.expected[state, role] = value


@lean
def back_up(values: StateValues, states: Int) -> bool:
    """Carry values back over so many states, the last ones first; whether a whole pass has changed nothing."""
    counters, graph = values.counters, values.graph
    for _ in range(states):
        if counters[NEXT_STATE] == 0:
            if counters[PASSES] > 0 and counters[CHANGED] == 0:
                return True
            counters[NEXT_STATE], counters[CHANGED] = graph.table.size[0], 0
            counters[PASSES] += 1
        counters[NEXT_STATE] -= 1
        state = counters[NEXT_STATE]
        if values.chooser[state] != OVER and _update(values, state):
            counters[CHANGED] = 1
    return False


@inner
def _update(values: StateValues, state: Int) -> bool:
    """A state's bounds from those of the states after it; whether they changed."""
    graph = values.graph
    first, last, chooser = graph.first[state], graph.first[state + 1], values.chooser[state]
    sure = 0.0
    for step in range(first, last):
        sure = max(sure, values.low[graph.target[step], chooser])
    changed = False
    by_chance = values.nature[chooser] and last - first > 1
    for role in range(values.low.shape[1]):
        low, high = (0.0, 0.0) if by_chance or role == chooser else (1.0, 0.0)
        for step in range(first, last):
            target = np.int64(graph.target[step])
            if by_chance:
                low += values.low[target, role] / (last - first)
                high += values.high[target, role] / (last - first)
            elif role == chooser:
                low, high = max(low, values.low[target, role]), max(high, values.high[target, role])
            elif values.high[target, chooser] >= sure:
                low, high = min(low, values.low[target, role]), max(high, values.high[target, role])
        changed = changed or low > values.low[state, role] + TINY or high < values.high[state, role] - TINY
        values.low[state, role], values.high[state, role] = (
            max(low, values.low[state, role]),
            min(high, values.high[state, role]),
        )
    wins = not by_chance and sure > 1.0 - TINY and last - first > 1
    share = awareness(values.length[state]) if wins else 0.0
    for role in range(values.low.shape[1]):
        expected, least = 0.0, 1.0
        for step in range(first, last):
            target = np.int64(graph.target[step])
            keeps = values.low[target, chooser] >= sure - TINY
            if by_chance or role != chooser:
                expected += values.expected[target, role] / (last - first)
                least = min(least, values.expected[target, role]) if keeps else least
            elif keeps:
                expected = max(expected, values.expected[target, role])
        if role != chooser and wins:
            expected = share * least + (1.0 - share) * expected
        changed = changed or abs(expected - values.expected[state, role]) > TINY
        values.expected[state, role] = expected
    return changed | _update_length(values, state, chooser, sure)


@inner
def _update_length(values: StateValues, state: Int, chooser: Int, sure: float) -> bool:
    """One more than after the moves that keep the value: the soonest of the best end, the latest of any other."""
    if values.low[state, chooser] < values.high[state, chooser] - TINY:
        return False
    soonest, latest = np.int64(LONG), np.int64(0)
    graph = values.graph
    for step in range(graph.first[state], graph.first[state + 1]):
        target = np.int64(graph.target[step])
        if values.low[target, chooser] >= sure - TINY:
            soonest, latest = (
                min(soonest, np.int64(values.length[target])),
                max(latest, np.int64(values.length[target])),
            )
    found = min((soonest if sure > 1.0 - TINY else latest) + 1, np.int64(LONG))
    changed = found != values.length[state]
    values.length[state] = found
    return bool(changed)
