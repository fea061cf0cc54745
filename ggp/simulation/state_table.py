"""States by their hash: the one open-addressing table of everything that has to know a state again.

A state is a row of words (`packing.Bits`); a kept state has a number, its row in `StateTable.states`. Collisions go to
the next slot (linear probing).

Locking: a table has no lock of its own. The search tree guards its table by the lock of the tree; the retrograde solver
and breadth-first search are each run by one thread at a time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, inner, lean
from ggp.row_sums import prefetch
from ggp.simulation.evaluate import Bits, copy_state

EMPTY = -1  # in place of a number: no state


class StateTable(NamedTuple):
    """Room for N states."""

    states: Bits  # (N, words)
    slots: Ids  # (a power of 2, at least 4 N / 3) numbers of states where their hashes lead, or EMPTY
    size: NDArray[np.int64]  # (1,) states 0 … size - 1 are taken by `add_state`; else it is not used


def make_state_table(words: int, capacity: int) -> StateTable:
    """No states yet. Memory for states is taken as they come, for slots at once."""
    slots = 1 << ((4 * capacity + 2) // 3 - 1).bit_length()
    return StateTable(np.zeros((capacity, words), np.uint64), np.full(slots, EMPTY, np.int32), np.zeros(1, np.int64))


def capacity_within(budget_bytes: int, state_bytes: int) -> int:
    """How many states fit, at least 1, if each takes so many bytes and its slots."""
    best = 1
    for slots in (1 << bits for bits in range(1, 32)):
        best = max(best, min(3 * slots // 4, (budget_bytes - 4 * slots) // state_bytes))
    return best


@inner
def hash_state(states: Bits, row: Int) -> Int:
    """The words of a state mixed into a number of 48 bits."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in range(states.shape[1]):
        mixed = (mixed ^ states[row, word]) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * np.uint64(0x94D049BB133111EB)) >> np.uint64(16))


@inner
def same_state(states: Bits, row: Int, others: Bits, other: Int) -> bool:
    """Whether the first words of `others[other]`, as many as a state has, are the state in a row."""
    same = True
    for word in range(states.shape[1]):
        same = same and states[row, word] == others[other, word]
    return same


@inner
def _slot_of(table: StateTable, states: Bits, row: Int) -> Int:
    """The slot that has the number of the state in a row, or the empty one that it would take."""
    slots, mask = table.slots, len(table.slots) - 1
    at = hash_state(states, row) & mask
    while slots[at] != EMPTY and not same_state(states, row, table.states, np.int64(slots[at])):
        at = (at + 1) & mask
    return np.int64(at)


@inner
def fetch_state(table: StateTable, states: Bits, row: Int) -> None:
    """Have the processor fetch where `find_state` begins to look."""
    prefetch(table.slots, hash_state(states, row) & (len(table.slots) - 1))


@inner
def find_state(table: StateTable, states: Bits, row: Int) -> Int:
    """The number of the state in a row, or EMPTY."""
    return np.int64(table.slots[_slot_of(table, states, row)])


@inner
def add_state(table: StateTable, states: Bits, row: Int) -> Int:
    """The number of the state in a row, which is `size` before the call if it is new; EMPTY where there is no room."""
    slot = _slot_of(table, states, row)
    number = np.int64(table.slots[slot])
    if number == EMPTY and table.size[0] < len(table.states):
        number = table.size[0]
        table.slots[slot] = number
        copy_state(table.states, number, states, row)
        table.size[0] = number + 1
    return np.int64(number)


@inner
def keep_state(table: StateTable, number: Int) -> None:
    """Find states[number] from now on; its row is written, and no other number has that state."""
    table.slots[_slot_of(table, table.states, number)] = number


@lean
def forget_state(table: StateTable, number: Int) -> None:
    """The reverse of `keep_state` (later ones of the probe sequence move up: Knuth, TAOCP 3, 6.4, algorithm R)."""
    slots, mask = table.slots, len(table.slots) - 1
    at = hash_state(table.states, number) & mask
    while slots[at] != number:
        if slots[at] == EMPTY:
            return
        at = (at + 1) & mask
    hole = at
    while True:
        at = (at + 1) & mask
        if slots[at] == EMPTY:
            break
        home = hash_state(table.states, np.int64(slots[at])) & mask
        if (at - home) & mask >= (at - hole) & mask:
            slots[hole] = slots[at]
            hole = at
    slots[hole] = EMPTY


@inner
def add_key(keys: NDArray[np.uint64], key: np.uint64) -> bool:
    """Put a hash that is not 0 into a set of hashes (a power of 2 of them, 0: free); whether it is new."""
    mask = len(keys) - 1
    slot = np.int64(key & np.uint64(mask))
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    is_new = keys[slot] == 0
    keys[slot] = key
    return bool(is_new)
