"""Facts whose value does not depend on the moves: constants, and those that come round with a fixed period.

Found by simulation with a third value, unknown, for facts and moves; then proved by induction: if they have their
values in one phase, and nothing else is known, they have those of the next phase after a step. A move that is not legal
is not done, and the only one that may be legal is.
"""

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import INPUT, LOOP, Circuit, Ids
from ggp.kernel import kernel

LONGEST_PERIOD = 8
WATCHED_STEPS = 64
LEAST_ROUNDS = 64
MOST_WORK = 100_000_000  # nodes evaluated in one proof, but for the first LEAST_ROUNDS rounds
UNKNOWN = 2

Values = NDArray[np.int8]  # 0, 1 or UNKNOWN


def find_phases(circuit: Circuit) -> NDArray[np.int8]:
    """(P, F) the value of each fact at all steps t with t mod P = phase, from the initial state on; -1: it varies.

    P is the shortest period with which any fact comes round, 1 if none does.
    """
    state = circuit.initial.astype(np.int8)
    path = [state]
    for _ in range(WATCHED_STEPS):
        state = following_values(circuit, state)
        path.append(state)
    constant = prove(circuit, np.array([_agreed(path)]))
    for period in range(2, LONGEST_PERIOD + 1):
        candidates = np.array([_agreed(path[phase::period]) for phase in range(period)])
        if not _varies(candidates):
            continue
        known = prove(circuit, candidates)
        if _varies(known):
            return _marked(known)
    return _marked(constant)


def holds_at_first(circuit: Circuit, output: int) -> bool:
    """Whether an output that reads facts only holds in the initial state."""
    inputs = np.full(circuit.inputs, UNKNOWN, np.int8)
    inputs[: circuit.facts] = circuit.initial
    return bool(_values(circuit, inputs, np.array([output], np.int32))[0] == 1)


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


def prove(circuit: Circuit, known: Values) -> Values:
    """The largest part of the candidates that follows from itself; nothing where that takes more than `most_rounds`."""
    known[:, np.any(known == UNKNOWN, axis=0)] = UNKNOWN
    for _ in range(most_rounds(circuit, len(known))):
        wrong = np.zeros(circuit.facts, np.bool_)
        for phase in range(len(known)):
            expected = known[(phase + 1) % len(known)]
            wrong |= (expected != UNKNOWN) & (following_values(circuit, known[phase]) != expected)
        if not wrong.any():
            return known
        known[:, wrong] = UNKNOWN
    return np.full_like(known, UNKNOWN)


def most_rounds(circuit: Circuit, phases: int) -> int:
    """Rounds after which a proof is given up.

    A round evaluates all nodes twice for each phase. Each but the last gives up a fact or more, so facts + 1 suffice.
    """
    in_budget = MOST_WORK // (2 * phases * len(circuit.left))
    return min(circuit.facts + 1, max(LEAST_ROUNDS, in_budget))


def following_values(circuit: Circuit, state: Values) -> Values:
    """What is known of the facts after a step from a state of which so much is known."""
    inputs = np.full(circuit.inputs, UNKNOWN, np.int8)
    inputs[: circuit.facts] = state
    legal = _values(circuit, inputs, circuit.legal)
    moves = np.where(legal == 0, 0, UNKNOWN).astype(np.int8)
    first = 0
    for count in circuit.moves:
        possible = first + np.flatnonzero(moves[first : first + count])
        if len(possible) == 1:
            moves[possible] = 1
        first += count
    inputs[circuit.facts :] = moves
    return _values(circuit, inputs, circuit.next)


def _values(circuit: Circuit, inputs: Values, outputs: Ids) -> Values:
    values = _evaluate(circuit.left, circuit.right, inputs)[outputs >> 1]
    inverted = (outputs & 1).astype(np.bool_) & (values != UNKNOWN)
    found: Values = np.where(inverted, 1 - values, values).astype(np.int8)
    return found


@kernel
def _evaluate(left: Ids, right: Ids, inputs: Values) -> Values:
    """The value of each node; of loop nodes nothing is known."""
    values = np.full(left.shape[0], UNKNOWN, np.int8)
    values[0] = 0
    for node in range(1, left.shape[0]):
        first, second = left[node], right[node]
        if first == INPUT:
            values[node] = inputs[second]
        elif first != LOOP:
            a, b = values[first >> 1], values[second >> 1]
            if a != UNKNOWN:
                a ^= first & 1
            if b != UNKNOWN:
                b ^= second & 1
            if first < second:
                if a == 0 or b == 0:
                    values[node] = 0
                elif a == 1 and b == 1:
                    values[node] = 1
            elif a != UNKNOWN and b != UNKNOWN:  # noqa: PLR1714 - numba knows no sets
                values[node] = a ^ b
    return values
