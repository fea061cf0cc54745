"""Bits of states in rows of lanes, and back: 64 × 64 bits at a time.

Outside, a state is a row of bits: bit i of a row of uint64 is bit i % 64 of its member i // 64. Inside, lane l of a
word is bit l % 64 of its member l // 64. The last SPARE rows of the words serve the exchange.
"""

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import WORD, Int, Words, inner, lean

Bits = NDArray[np.uint64]  # (n, ceil(number of bits / 64)); what is beyond the last bit is 0
Indices = NDArray[np.int32]

SPARE = 64 // WORD


@lean
def transpose(block: NDArray[np.uint64]) -> None:
    """Swap bit j of block[i] with bit i of block[j], for all i and j below 64 (Warren, Hacker's Delight, 7-3)."""
    mask = np.uint64(0x00000000FFFFFFFF)
    width = 32
    while width:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for at in range(first, first + width):
                moved = ((block[at] >> shift) ^ block[at + width]) & mask
                block[at] ^= moved << shift
                block[at + width] ^= moved
        width >>= 1
        mask ^= mask << np.uint64(width)


@lean
def put_bits(words: Words, first_row: Int, count: Int, bits: Bits, start: Int, lanes: Int) -> None:
    """Rows first_row … take the first `count` bits of the rows `start` … of `bits`, one row for each lane."""
    block = words[words.shape[0] - SPARE :].reshape(64)
    for column in range((lanes + 63) // 64):
        filled = min(64, lanes - 64 * column)
        for word in range((count + 63) // 64):
            for lane in range(filled):
                block[lane] = bits[start + 64 * column + lane, word]
            for lane in range(filled, 64):
                block[lane] = 0
            transpose(block)
            row = first_row + 64 * word
            for at in range(min(64, count - 64 * word)):
                words[row + at, column] = block[at]


@lean
def take_bits(words: Words, first_row: Int, count: Int, bits: Bits, start: Int, lanes: Int) -> None:
    """The reverse of `put_bits`."""
    block = words[words.shape[0] - SPARE :].reshape(64)
    for column in range((lanes + 63) // 64):
        filled = min(64, lanes - 64 * column)
        for word in range((count + 63) // 64):
            row = first_row + 64 * word
            present = min(64, count - 64 * word)
            for at in range(present):
                block[at] = words[row + at, column]
            for at in range(present, 64):
                block[at] = 0
            transpose(block)
            for lane in range(filled):
                bits[start + 64 * column + lane, word] = block[lane]


@lean
def flip_moves(words: Words, first_row: Int, first_move: Indices, moves: Indices, start: Int, lanes: Int) -> bool:
    """Flip the bits of moves[start + lane, role], numbered within the role; whether all are moves of their roles.

    The rows are 0 without moves: called once more, it makes them so again. Nothing is flipped when a number is wrong.
    """
    roles = first_move.shape[0] - 1
    for lane in range(lanes):
        for role in range(roles):
            move = np.int64(moves[start + lane, role])
            if not 0 <= move < first_move[role + 1] - first_move[role]:
                return False
    for lane in range(lanes):
        bit = np.uint64(1) << np.uint64(lane & 63)
        for role in range(roles):
            row = first_row + first_move[role] + np.int64(moves[start + lane, role])
            words[row, (lane >> 6) & (WORD - 1)] ^= bit
    return True


@lean
def single_values(bits: Bits, first: Indices, values: NDArray[np.int16], found: NDArray[np.int16]) -> None:
    """found[n, k] becomes the value whose bit is set in row n from first[k] to before first[k + 1], -1 unless one is.

    Bit i stands for values[i].
    """
    for row in range(bits.shape[0]):
        for part in range(first.shape[0] - 1):
            count = 0
            found[row, part] = -1
            for at in range(first[part], first[part + 1]):
                if (bits[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1):
                    count += 1
                    found[row, part] = values[at]
            if count > 1:
                found[row, part] = -1


@inner
def copy_state(target: Bits, to: Int, source: Bits, row: Int) -> None:
    """target[to] becomes source[row]."""
    for word in range(source.shape[1]):
        target[to, word] = source[row, word]
