"""Facts whose value does not depend on the moves: constants, and those that come round with a fixed period; and groups
of facts of which no two hold in the same state.

Found by simulation with a third value, unknown, for facts and moves; then proved by induction: if they have their
values in one phase, and nothing else is known, they have those of the next phase after a step. A move that is not legal
is not done, and the only one that may be legal is. Groups are proved case by case: which of the facts holds, and which
of the moves that need it is done.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import INPUT, LOOP, Circuit, Ids
from ggp.kernel import Int, inner, kernel

LONGEST_PERIOD = 8
WATCHED_STEPS = 64
LEAST_ROUNDS = 64
MOST_WORK = 100_000_000  # nodes evaluated in one proof, but for the first LEAST_ROUNDS rounds
MOST_WORK_OF_CASES = 500_000_000  # in a proof that groups are exclusive
UNKNOWN = 2

Values = NDArray[np.int8]  # 0, 1 or UNKNOWN
_WORD = 8  # marks of nodes that are looked at together
_WORDS_OF_A_GATE = 16  # that take as long as a gate


def find_phases(circuit: Circuit) -> NDArray[np.int8]:
    """(P, F) the value of each fact at all steps t with t mod P = phase, from the initial state on; -1: it varies.

    P is the shortest period with which any fact comes round, 1 if none does. Others may be known in some phases only,
    as what one role alone can change.
    """
    state = circuit.initial.astype(np.int8)
    path, known = [state], KnownValues(circuit, state)
    for _ in range(WATCHED_STEPS):
        state = known.following(state)
        path.append(state)
    constant = prove(known, np.array([_agreed(path)]))
    for period in range(2, LONGEST_PERIOD + 1):
        candidates = np.array([_agreed(path[phase::period]) for phase in range(period)])
        if not _varies(candidates):
            continue
        proved = prove(known, candidates.copy())
        if _varies(proved):
            more = prove(known, np.where(proved == UNKNOWN, candidates, proved), in_all=False)
            return _marked(more if _varies(more) else proved)
    return _marked(constant)


def are_exclusive(circuit: Circuit, groups: Iterable[Sequence[int]], phases: NDArray[np.int8]) -> bool:
    """Whether it is proved that at most one fact of each group holds in any state of a match; phases: `find_phases`.

    The circuit may suppose the same, since it is right up to the first state that is otherwise. Not proved where that
    takes more than `MOST_WORK_OF_CASES`.
    """
    known = KnownValues(circuit, np.full(circuit.facts, UNKNOWN, np.int8))
    return all(
        np.count_nonzero(circuit.initial[group]) <= 1
        and all(
            np.count_nonzero(after[group]) <= 1 and known.work < MOST_WORK_OF_CASES
            for after in _steps(known, circuit, group, np.where(phases < 0, UNKNOWN, phases).astype(np.int8))
        )
        for group in map(list, groups)
    )


def _steps(known: "KnownValues", circuit: Circuit, group: list[int], phases: Values) -> Iterator[Values]:
    """What is known of the facts after any step, case by case, if one fact of the group holds before it, or none."""
    role = np.repeat(np.arange(len(circuit.moves)), circuit.moves)
    for phase in phases:
        state = phase.copy()
        state[group] = 0
        yield known.following(state)
        for fact in group:
            state = phase.copy()
            state[fact] = 0
            without = known.legal(state)
            state[group] = 0
            state[fact] = 1
            moves = _unless_illegal(known.legal(state))
            needing = (moves != 0) & (without == 0)
            yield known.after(np.where(needing, 0, moves))
            for move in np.flatnonzero(needing):
                case = np.where(role == role[move], 0, moves)
                case[move] = 1
                yield known.after(case)


def _unless_illegal(legal: Values) -> Values:
    """What is known of the moves that are done."""
    return np.where(legal == 0, 0, UNKNOWN).astype(np.int8)


def holds_at_first(circuit: Circuit, output: int) -> bool:
    """Whether an output that reads facts only holds in the initial state."""
    values = _evaluate(circuit.left, circuit.right, _inputs(circuit, circuit.initial.astype(np.int8)))
    return bool(_read(values, np.array([output], np.int32))[0] == 1)


def _varies(known: Values) -> bool:
    """Whether any fact has different values in different phases."""
    in_all = np.all(known != UNKNOWN, axis=0)
    return bool(np.any(in_all & np.any(known != known[0], axis=0)))


def _marked(known: Values) -> NDArray[np.int8]:
    return np.where(known == UNKNOWN, -1, known).astype(np.int8)


def _agreed(states: list[Values]) -> Values:
    """What all states say."""
    first = states[0].copy()
    for state in states[1:]:
        first[first != state] = UNKNOWN
    return first


def prove(known: "KnownValues", candidates: Values, *, in_all: bool = True) -> Values:
    """The largest part of the candidates that follows from itself; nothing where that takes more than `MOST_WORK`.

    in_all: only facts that are known in all phases. Each round but the last gives up a fact or more.
    """
    if in_all:
        candidates[:, np.any(candidates == UNKNOWN, axis=0)] = UNKNOWN
    phases = [known.copy() for _ in candidates]
    rounds = 0
    while rounds < LEAST_ROUNDS or sum(phase.work for phase in phases) < MOST_WORK:
        wrong = np.zeros(candidates.shape, np.bool_)
        for at, phase in enumerate(phases):
            after = (at + 1) % len(candidates)
            wrong[after] = (candidates[after] != UNKNOWN) & (phase.following(candidates[at]) != candidates[after])
        if in_all:
            wrong[:] = wrong.any(axis=0)
        if not wrong.any():
            return candidates
        candidates[wrong] = UNKNOWN
        rounds += 1
    return np.full_like(candidates, UNKNOWN)


class _Gates(NamedTuple):
    """The gates of a circuit, and which of them read each node n: readers[first_reader[n]:first_reader[n + 1]]."""

    left: Ids
    right: Ids
    first_reader: Ids
    readers: Ids


class KnownValues:
    """What is known of all nodes of a circuit for a state of which something is known; from state to state.

    Only what reads a node that has another value is evaluated anew.
    """

    def __init__(self, circuit: Circuit, state: Values) -> None:
        self.work = 0  # for later states, in nodes that were evaluated
        self._circuit = circuit
        self._gates = _Gates(circuit.left, circuit.right, *_list_readers(circuit.left, circuit.right))
        self._nodes = _input_nodes(circuit.left, circuit.right, circuit.inputs)
        self._values = _evaluate(circuit.left, circuit.right, _inputs(circuit, state))
        self._marks = np.zeros(len(self._values) // _WORD + 1, np.uint64)

    def copy(self) -> "KnownValues":
        """The same, which goes on apart from it."""
        made = copy(self)
        made.work, made._values = 0, self._values.copy()
        return made

    def following(self, state: Values) -> Values:
        """What is known of the facts after a step from a state of which so much is known."""
        circuit = self._circuit
        moves = _unless_illegal(self.legal(state))
        first = 0
        for count in circuit.moves:
            possible = first + np.flatnonzero(moves[first : first + count])
            if len(possible) == 1:
                moves[possible] = 1
            first += count
        return self.after(moves)

    def legal(self, state: Values) -> Values:
        """What is known of the legal moves in a state of which so much is known."""
        self._settle(0, state)
        return _read(self._values, self._circuit.legal)

    def after(self, moves: Values) -> Values:
        """What is known of the facts after a step with moves of which so much is known, from the last state."""
        self._settle(self._circuit.facts, moves)
        return _read(self._values, self._circuit.next)

    def _settle(self, first: int, inputs: Values) -> None:
        """Sets the inputs from the first one on, and evaluates what depends on them."""
        nodes = self._nodes[first : first + len(inputs)]
        self.work += int(_settle(self._gates, self._values, self._marks, nodes, inputs))


def _inputs(circuit: Circuit, state: Values) -> Values:
    """The values of all inputs in a state before anything is known of the moves."""
    inputs = np.full(circuit.inputs, UNKNOWN, np.int8)
    inputs[: circuit.facts] = state
    return inputs


def _read(values: Values, outputs: Ids) -> Values:
    positive = values[outputs >> 1]
    inverted = (outputs & 1).astype(np.bool_) & (positive != UNKNOWN)
    found: Values = np.where(inverted, 1 - positive, positive).astype(np.int8)
    return found


@kernel
def _evaluate(left: Ids, right: Ids, inputs: Values) -> Values:
    """The value of each node; of loop nodes nothing is known."""
    values = np.full(left.shape[0], UNKNOWN, np.int8)
    values[0] = 0
    for node in range(1, left.shape[0]):
        if left[node] == INPUT:
            values[node] = inputs[right[node]]
        elif left[node] != LOOP:
            values[node] = _gate(left[node], right[node], values)
    return values


@kernel
def _settle(gates: _Gates, values: Values, marks: NDArray[np.uint64], nodes: Ids, inputs: Values) -> Int:
    """Gives the nodes of inputs their values, and all that depends on them; the work, in gates that were evaluated.

    A byte of `marks` for each node says whether it is to be evaluated: none is before and after.
    """
    is_marked = marks.view(np.uint8)
    work: Int = marks.shape[0] // _WORDS_OF_A_GATE
    for number in range(nodes.shape[0]):
        node = nodes[number]
        if node and values[node] != inputs[number]:
            values[node] = inputs[number]
            for at in range(gates.first_reader[node], gates.first_reader[node + 1]):
                is_marked[gates.readers[at]] = 1
    for word in range(marks.shape[0]):
        if marks[word]:
            for node in range(_WORD * word, _WORD * word + _WORD):
                if is_marked[node]:
                    is_marked[node] = 0
                    work += 1
                    value = _gate(gates.left[node], gates.right[node], values)
                    if value != values[node]:
                        values[node] = value
                        for at in range(gates.first_reader[node], gates.first_reader[node + 1]):
                            is_marked[gates.readers[at]] = 1
    return work


@inner
def _gate(first: Int, second: Int, values: Values) -> Int:
    a, b = values[first >> 1], values[second >> 1]
    if a != UNKNOWN:
        a ^= first & 1
    if b != UNKNOWN:
        b ^= second & 1
    if first < second:
        if a == 0 or b == 0:
            return 0
        if a == 1 and b == 1:
            return 1
    elif a != UNKNOWN and b != UNKNOWN:  # noqa: PLR1714 - numba knows no sets
        return int(a) ^ int(b)
    return UNKNOWN


@kernel
def _input_nodes(left: Ids, right: Ids, inputs: Int) -> Ids:
    """The node of each input; 0 where it has none."""
    nodes = np.zeros(inputs, np.int32)
    for node in range(1, left.shape[0]):
        if left[node] == INPUT:
            nodes[right[node]] = node
    return nodes


@kernel
def _list_readers(left: Ids, right: Ids) -> tuple[Ids, Ids]:
    """The last two fields of `_Gates`."""
    first = np.zeros(left.shape[0] + 2, np.int32)
    for node in range(1, left.shape[0]):
        if left[node] >= 0:
            first[(left[node] >> 1) + 2] += 1
            first[(right[node] >> 1) + 2] += 1
    for node in range(2, first.shape[0]):
        first[node] += first[node - 1]
    readers = np.empty(first[-1], np.int32)
    for node in range(1, left.shape[0]):
        if left[node] >= 0:
            for source in (left[node] >> 1, right[node] >> 1):
                readers[first[source + 1]] = node
                first[source + 1] += 1
    return first[:-1], readers
