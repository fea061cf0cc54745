"""States that a search has met, each once, with the step that led to it: kernels over packed states.

A store is a list of states in the order in which they were met. States before `AT` are expanded, states before `SEEN`
were looked at for their end; both only grow, so the list is also the queue of a breadth-first search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, Words, kernel, lowest
from ggp.simulation.evaluate import GOALS, LOOK, NEXT, Batches, Bits, Indices, Rows, evaluate

# numbers that a search keeps, as indices of Store.counters
SIZE, AT, SEEN, BEST_VALUE, BEST_STATE, ENDS, FULL = range(7)

EMPTY = -1


class Store(NamedTuple):
    """States and how they were met."""

    states: Bits  # (capacity, words)
    parents: Ids  # (capacity,) the state before; EMPTY for the first
    moves: Ids  # (capacity,) the move that led here, numbered within the role
    table: Ids  # (power of two,) states by hash; EMPTY: free
    ended: NDArray[np.bool_]  # (capacity,) whether it is terminal
    counters: NDArray[np.int64]  # see above


class Scratch(NamedTuple):
    """Room for one thread, one row for each lane."""

    words: Words
    legal: Bits  # what is legal, then whether it is the end
    goals: Bits
    parents: Indices  # (lanes,) of the steps that wait to be done
    before: Bits  # (lanes, words)
    after: Bits
    moves: Indices  # (lanes, 1)
    values: NDArray[np.int16]  # of the goals


def make_store(words: int, budget_bytes: int, initial: Bits) -> Store:
    """An empty store but for the initial state; its memory is taken only as it fills."""
    slots = 1 << max(10, int(budget_bytes // (8 * words + 8 + 4 + 5)).bit_length() - 1)
    capacity = int(min(slots * 0.8, (budget_bytes - 4 * slots) // (8 * words + 9)))
    store = Store(
        np.empty((capacity, words), np.uint64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.full(slots, EMPTY, np.int32),
        np.empty(capacity, np.bool_),
        np.array([0, 0, 0, -1, EMPTY, 0, 0], np.int64),
    )
    insert(store, initial, np.array([EMPTY], np.int32), np.array([[EMPTY]], np.int32), 1)
    return store


def make_scratch(batches: Batches, words: Words) -> Scratch:
    outputs = batches.rows.outputs.tolist()
    state = batches.initial.shape[1]
    values = np.array([value for values in batches.game.goals for value in values], np.int16)
    return Scratch(
        words,
        np.zeros((LANES, max(1, (outputs[LOOK] + 63) // 64)), np.uint64),
        np.zeros((LANES, max(1, (outputs[GOALS] + 63) // 64)), np.uint64),
        np.zeros(LANES, np.int32),
        np.zeros((LANES, state), np.uint64),
        np.zeros((LANES, state), np.uint64),
        np.zeros((LANES, 1), np.int32),
        values,
    )


def path_to(store: Store, state: int) -> list[int]:
    """The moves from the first state."""
    moves = []
    while store.parents[state] != EMPTY:
        moves.append(int(store.moves[state]))
        state = int(store.parents[state])
    return moves[::-1]


@kernel
def expand(rows: Rows, scratch: Scratch, store: Store, states: Int) -> bool:
    """Expand up to so many states, at most 512, and look at all new ones; whether any is left to be expanded.

    Stops early when the store is full.
    """
    counters = store.counters
    none = np.zeros((0, 1), np.int32)
    look_at_new(rows, scratch, store, none)
    moves, words = np.int64(rows.first_move[1]), store.states.shape[1]
    start = counters[AT]
    count = min(np.int64(states), LANES, counters[SIZE] - start)
    if count:
        evaluate(rows, scratch.words, LOOK, store.states[start : start + count], none, scratch.legal[:count])
        waiting = 0
        for at in range(count):
            if store.ended[start + at]:
                continue
            for column in range((moves + 63) // 64):
                left = scratch.legal[at, column]
                if 64 * column + 64 > moves:
                    left &= (np.uint64(1) << np.uint64(moves & 63)) - np.uint64(1)
                while left:
                    scratch.moves[waiting, 0] = 64 * column + lowest(left)
                    left &= left - np.uint64(1)
                    scratch.parents[waiting] = start + at
                    for word in range(words):
                        scratch.before[waiting, word] = store.states[start + at, word]
                    waiting += 1
                    if waiting == LANES:
                        do_steps(rows, scratch, store, waiting)
                        waiting = 0
        do_steps(rows, scratch, store, waiting)
        if not counters[FULL]:
            counters[AT] += count
        look_at_new(rows, scratch, store, none)
    return bool(counters[AT] < counters[SIZE])


@kernel
def do_steps(rows: Rows, scratch: Scratch, store: Store, count: Int) -> None:
    """Do the steps that wait, and keep the states that are new."""
    if count:
        after = scratch.after[:count]
        evaluate(rows, scratch.words, NEXT, scratch.before[:count], scratch.moves[:count], after)
        insert(store, after, scratch.parents, scratch.moves, count)


@kernel
def insert(store: Store, states: Bits, parents: Indices, moves: Indices, count: Int) -> None:
    """Keep the states that are new, until there is no more room."""
    mask = store.table.shape[0] - 1
    words = states.shape[1]
    for lane in range(count):
        slot = np.int64(hashed(states, lane) & np.uint64(mask))
        while True:
            known = np.int64(store.table[slot])
            if known == EMPTY:
                break
            same = True
            for word in range(words):
                if store.states[known, word] != states[lane, word]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & mask
        if known != EMPTY:
            continue
        new = store.counters[SIZE]
        if new == store.states.shape[0]:
            store.counters[FULL] = 1
            return
        store.table[slot] = new
        for word in range(words):
            store.states[new, word] = states[lane, word]
        store.parents[new] = parents[lane]
        store.moves[new] = moves[lane, 0]
        store.counters[SIZE] = new + 1


@kernel
def hashed(states: Bits, row: Int) -> np.uint64:
    """The words of a state mixed into one (the finaliser of MurmurHash3, Appleby 2011, after each)."""
    found = np.uint64(0x9E3779B97F4A7C15)
    for word in range(states.shape[1]):
        found ^= states[row, word]
        found ^= found >> np.uint64(33)
        found *= np.uint64(0xFF51AFD7ED558CCD)
        found ^= found >> np.uint64(33)
        found *= np.uint64(0xC4CEB9FE1A85EC53)
        found ^= found >> np.uint64(33)
    return found


@kernel
def look_at_new(rows: Rows, scratch: Scratch, store: Store, none: Indices) -> None:
    """Mark the terminal states among those not seen yet, and keep the best."""
    counters = store.counters
    end = rows.first_move[1]
    while counters[SEEN] < counters[SIZE]:
        start = counters[SEEN]
        count = min(np.int64(LANES), counters[SIZE] - start)
        states = store.states[start : start + count]
        evaluate(rows, scratch.words, LOOK, states, none, scratch.legal[:count])
        ends = 0
        for at in range(count):
            ended = (scratch.legal[at, end >> 6] >> np.uint64(end & 63)) & np.uint64(1) != 0
            store.ended[start + at] = ended
            ends += ended
        if ends:
            evaluate(rows, scratch.words, GOALS, states, none, scratch.goals[:count])
            for at in range(count):
                if store.ended[start + at]:
                    value = goal_value(scratch.goals, at, scratch.values)
                    if value > counters[BEST_VALUE]:
                        counters[BEST_VALUE] = value
                        counters[BEST_STATE] = start + at
        counters[ENDS] += ends
        counters[SEEN] += count


@kernel
def goal_value(goals: Bits, row: Int, values: "NDArray[np.int16]") -> int:
    """The value whose bit is set; 0 unless one is."""
    found = np.int64(0)
    count = 0
    for at in range(values.shape[0]):
        if (goals[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1):
            found = np.int64(values[at])
            count += 1
    return int(found) if count == 1 else 0
