"""The transposition table of a proof-number search, of fixed size: in a full bucket, what took least work makes room.

It has the hash of `simulation.state_table` but not its probing: a search may go on for hours, so states have to be
replaced, and a state has only the four entries of its bucket. These lie next to each other, with the states themselves.

An entry is the state, its proof and disproof numbers in one member, and in the last one parts: bounds as levels, the
question that the numbers belong to, how many descents are on the state, the steps to the end, and the work that it
took.
"""

import numpy as np

from ggp.kernel import Int, inner, lean
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.state_table import hash_state, same_state

LOW, HIGH, ASKED, BUSY, LENGTH, WORK = 0, 8, 16, 24, 32, 48  # the first bits of parts
SHORT, WIDE = 0xFF, 0xFFFF  # of the first four, and of the others
_UNASKED = 0xFF
_BUCKET = 4


@inner
def part_of(table: Bits, entry: Int, shift: Int, mask: Int) -> np.int64:
    return np.int64((table[entry, table.shape[1] - 1] >> np.uint64(shift)) & np.uint64(mask))


@inner
def put_part(table: Bits, entry: Int, shift: Int, mask: Int, value: Int) -> None:
    last = table.shape[1] - 1
    kept = table[entry, last] & ~(np.uint64(mask) << np.uint64(shift))
    table[entry, last] = kept | (np.uint64(value) << np.uint64(shift))


@inner
def put_numbers(table: Bits, entry: Int, proof: Int, disproof: Int) -> None:
    table[entry, table.shape[1] - 2] = (np.uint64(proof) << np.uint64(32)) | np.uint64(disproof)


@inner
def _bucket(table: Bits, states: Bits, row: Int) -> np.int64:
    """The first entry that a state may have."""
    share = np.uint64(hash_state(states, row)) >> np.uint64(16)  # of 2 ** 32
    return np.int64((share * np.uint64(table.shape[0] // _BUCKET)) >> np.uint64(32)) * _BUCKET


@lean
def find_entry(table: Bits, states: Bits, row: Int) -> Int:
    """Where the state in a row is kept, or -1."""
    at = _bucket(table, states, row)
    for entry in range(at, at + _BUCKET):
        if part_of(table, entry, WORK, WIDE) != 0 and same_state(states, row, table, entry):
            return np.int64(entry)
    return np.int64(-1)


@lean
def claim_entry(table: Bits, states: Bits, row: Int, top: Int) -> Int:
    """The same; a new one in place of what took least work if there is none, -1 where descents are on all of them."""
    known = find_entry(table, states, row)
    if known >= 0:
        return np.int64(known)
    at = _bucket(table, states, row)
    found, least = np.int64(-1), np.int64(WIDE + 1)
    for entry in range(at, at + _BUCKET):
        work = part_of(table, entry, WORK, WIDE)
        if work < least and part_of(table, entry, BUSY, SHORT) == 0:
            found, least = np.int64(entry), np.int64(work)
    if found >= 0:
        copy_state(table, found, states, row)
        table[found, table.shape[1] - 1] = np.uint64(0)
        put_part(table, found, HIGH, SHORT, top)
        put_part(table, found, ASKED, SHORT, _UNASKED)
        put_part(table, found, WORK, WIDE, 1)
    return found
