"""A uniform choice among legal moves as gates, so that all lanes choose at once.

A tree over the moves counts the legal ones. The number of the move that is done is the count times a random fraction,
rounded down; it goes down the tree: to the left where it is below the count there, else, less that count, to the right.
With PRECISION + log2 M random bits no move's probability is off by more than the 2^PRECISION-th part of itself.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.build import top_conditions
from ggp.circuit.network import Network, both, differ, either
from ggp.kernel import Int, kernel

PRECISION = 10

Literals = NDArray[np.int64]


class ConditionalChoice(NamedTuple):
    """A role that has a choice only while a condition holds."""

    condition: int
    moves: Literals  # numbers of the moves that need it
    other: int  # the number of the move that needs its opposite


def possible_moves(moves: tuple[int, ...], legal: Literals) -> list[Literals]:
    """For each role the numbers of the moves that may be legal."""
    found, first = [], 0
    for count in moves:
        found.append(first + np.flatnonzero(legal[first : first + count]))
        first += count
    return found


def find_turn(network: Network, possible: Literals, legal: Literals) -> ConditionalChoice | None:
    """The condition that all possible moves of a role but one need, if that one needs its opposite."""
    first, conditions = top_conditions(network, legal[possible].astype(np.int32))
    needed = [set(conditions[start:end].tolist()) for start, end in pairwise(first)]
    for other, literal in enumerate(legal[possible].tolist()):
        condition = int(literal) ^ 1
        if condition > 1 and all(condition in found for at, found in enumerate(needed) if at != other):
            return ConditionalChoice(condition, np.delete(possible, other), int(possible[other]))
    return None


def random_bits(moves: int) -> int:
    """How many random words a choice among so many moves takes."""
    return 0 if moves < 2 else PRECISION + int(moves).bit_length()


@kernel
def choose_move(network: Network, legal: Literals, random: Literals) -> tuple[Literals, Int]:
    """The literal of each move's being done, exactly one where any is legal; and whether any is."""
    moves = legal.shape[0]
    levels = 0
    while 1 << levels < moves:
        levels += 1
    first = np.zeros(levels + 2, np.int64)  # of each level's nodes
    for level in range(levels + 1):
        first[level + 1] = first[level] + ((moves + (1 << level) - 1) >> level)
    counts = np.zeros((first[levels + 1], levels + 1), np.int64)
    for move in range(moves):
        counts[move, 0] = legal[move]
    for level in range(1, levels + 1):
        for at in range(first[level + 1] - first[level]):
            left, right = first[level - 1] + 2 * at, first[level - 1] + 2 * at + 1
            if right == first[level]:
                _copy(counts[left], counts[first[level] + at])
            else:
                _add(network, counts[left], counts[right], counts[first[level] + at], level)
                most = min(moves - (at << level), 1 << level)
                if most >> level == 0:  # too few moves for the highest bit
                    counts[first[level] + at, level] = 0
    root = first[levels]
    any_legal: Int = np.int64(0)
    for bit in range(levels + 1):
        any_legal = either(network, any_legal, counts[root, bit])
    number = np.zeros((first[levels + 1], levels + 1), np.int64)
    active = np.zeros(first[levels + 1], np.int64)
    active[root] = 1
    _scale(network, counts[root], random, number[root])
    for level in range(levels, 0, -1):
        for at in range(first[level + 1] - first[level]):
            node = first[level] + at
            left, right = first[level - 1] + 2 * at, first[level - 1] + 2 * at + 1
            if right == first[level]:
                _copy(number[node], number[left])
                active[left] = active[node]
                continue
            below = _subtract(network, number[node], counts[left], number[right], level)
            _copy(number[node], number[left])
            active[left] = both(network, active[node], below)
            active[right] = both(network, active[node], below ^ 1)
    return active[:moves], any_legal


@kernel
def _copy(source: Literals, target: Literals) -> None:
    for bit in range(source.shape[0]):
        target[bit] = source[bit]


@kernel
def _add(network: Network, a: Literals, b: Literals, total: Literals, bits: Int) -> None:
    """total = a + b; a and b have `bits` bits, lowest first."""
    carry: Int = np.int64(0)
    for bit in range(bits):
        half = differ(network, a[bit], b[bit])
        total[bit] = differ(network, half, carry)
        carry = either(network, both(network, a[bit], b[bit]), both(network, half, carry))
    total[bits] = carry


@kernel
def _subtract(network: Network, a: Literals, b: Literals, difference: Literals, bits: Int) -> Int:
    """difference = a - b; whether a < b."""
    borrow: Int = np.int64(0)
    for bit in range(bits):
        half = differ(network, a[bit], b[bit])
        difference[bit] = differ(network, half, borrow)
        borrow = either(network, both(network, a[bit] ^ 1, b[bit]), both(network, half ^ 1, borrow))
    return borrow


@kernel
def _scale(network: Network, count: Literals, random: Literals, product: Literals) -> None:
    """product = count × 0.random, rounded down; random bits lowest first."""
    bits = count.shape[0]
    total = np.zeros(bits + 1, np.int64)
    for word in range(random.shape[0]):
        carry: Int = np.int64(0)
        for bit in range(bits):
            addend = both(network, count[bit], random[word])
            half = differ(network, total[bit], addend)
            result = differ(network, half, carry)
            carry = either(network, both(network, total[bit], addend), both(network, half, carry))
            if bit:
                total[bit - 1] = result
        total[bits - 1] = carry
    for bit in range(bits):
        product[bit] = total[bit]
