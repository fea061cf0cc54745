"""A uniform choice among legal moves as gates, so that all lanes choose at once.

The number of the move that is done is the count of the legal ones times a random fraction, rounded down. With PRECISION
+ log2 M random bits no move's probability is off by more than the 2^PRECISION-th part of itself.

Which move that is: moves stand in groups, whose legal moves are counted by full adders; a tree over the groups adds the
counts up. On the way down only one node of each level is active, so what its left half counts is selected, and the
number compared with it, once for the level: it goes to the left if it is below, else, less that count, to the right.
The group's moves are selected in the same way, and divided into smaller groups, until three are left.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ggp.circuit.build import top_conditions
from ggp.circuit.network import Literals, Network, both, differ, either
from ggp.kernel import Int, inner, kernel

PRECISION = 10
_SMALLEST = 3  # members of a group
_DEPTH = 4  # of groups of groups, with the moves and the last group: sizes are those of `_group_size`


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


def choose_move(network: Network, legal: Literals, random: Literals) -> tuple[Literals, int]:
    """The literal of each move's being done, exactly one where any is legal; and whether any is."""
    done, any_legal = choose_by_number(network, legal, np.zeros(len(legal).bit_length(), np.int64), random)
    return done, int(any_legal)


@kernel
def choose_by_number(network: Network, legal: Literals, number: Literals, random: Literals) -> tuple[Literals, Int]:
    """The same of the legal move of this number, which is drawn if there are random bits; and whether any is legal."""
    moves, bits = legal.shape[0], number.shape[0]
    members = np.zeros((_DEPTH, moves), np.int64)  # of the groups of groups, the moves first
    active = np.zeros((_DEPTH, moves), np.int64)  # which of the groups of these members is chosen
    sizes, counts = np.zeros(_DEPTH, np.int64), np.zeros(_DEPTH, np.int64)
    any_legal: Int = np.int64(0)
    members[0], counts[0] = legal, moves
    depth = 0
    while True:
        count = counts[depth]
        size = sizes[depth] = _group_size(count)
        first = number_nodes((count + size - 1) // size)
        sums, most = np.zeros((first[-1], bits), np.int64), np.zeros(first[-1], np.int64)
        for group in range(first[1]):
            start, end = group * size, min(count, (group + 1) * size)
            count_members(network, members[depth, start:end], sums[group])
            most[group] = end - start
        any_counted = add_up(network, first, sums, most)
        if depth == 0:
            any_legal = any_counted
        if depth == 0 and random.shape[0]:
            scale(network, sums[-1], moves, random, number)
        descend(network, first, sums, most, number, active[depth])
        counts[depth + 1] = min(size, count)
        for member in range(count):
            selected = both(network, active[depth, member // size], members[depth, member])
            members[depth + 1, member % size] = either(network, members[depth + 1, member % size], selected)
        depth += 1
        if size == _SMALLEST:
            break
    done = np.zeros(moves, np.int64)
    _choose_in_smallest(network, members[depth, : counts[depth]], number, done)
    while depth > 0:
        depth -= 1
        for member in range(counts[depth]):
            group = active[depth, member // sizes[depth]]
            members[depth, member] = both(network, group, done[member % sizes[depth]])
        done[: counts[depth]] = members[depth, : counts[depth]]
    return done, any_legal


@inner
def _group_size(members: Int) -> Int:
    """With which there are the fewest gates, as trials showed; 2^k - 1 are counted in k bits by full adders alone."""
    return np.int64(_SMALLEST if members <= 20 else 7 if members <= 120 else 15 if members <= 600 else 31)


@kernel
def number_nodes(groups: Int) -> Literals:
    """The first node of each level of a tree over so many groups, the leaves first; last how many nodes there are."""
    levels = 1
    while (groups - 1) >> (levels - 1):
        levels += 1
    first = np.zeros(levels + 1, np.int64)
    for level in range(levels):
        first[level + 1] = first[level] + ((groups + (1 << level) - 1) >> level)
    return first


@kernel
def add_up(network: Network, first: Literals, sums: Literals, most: Literals) -> Int:
    """Fill in how many members of the nodes above the leaves are legal, lowest bit first; whether any of all is.

    sums: (nodes, bits); most: (nodes,) how many members each has.
    """
    for level in range(1, first.shape[0] - 1):
        for at in range(first[level + 1] - first[level]):
            left, node = first[level - 1] + 2 * at, first[level] + at
            if left + 1 == first[level]:
                sums[node] = sums[left]
                most[node] = most[left]
            else:
                most[node] = most[left] + most[left + 1]
                add_numbers(network, sums[left], sums[left + 1], most[node], sums[node])
    any_legal: Int = np.int64(0)
    for bit in range(sums.shape[1]):
        any_legal = either(network, any_legal, sums[-1, bit])
    return any_legal


@kernel
def add_numbers(network: Network, one: Literals, other: Literals, most: Int, total: Literals) -> None:
    """The sum of two numbers, lowest bits first; it is at most `most`."""
    carry: Int = np.int64(0)
    for bit in range(total.shape[0]):
        if most >> bit:
            total[bit], carry = _add(network, one[bit], other[bit], carry)
        else:
            total[bit] = 0


@kernel
def count_members(network: Network, members: Literals, count: Literals) -> None:
    """How many of the members hold, lowest bit first."""
    column, carries = np.zeros(2 * members.shape[0], np.int64), np.zeros(members.shape[0], np.int64)
    waiting = members.shape[0]
    column[:waiting] = members
    for bit in range(count.shape[0]):
        at, end, carried = 0, waiting, 0
        while end - at > 1:
            third: Int = np.int64(0)
            if end - at > 2:
                third = column[at + 2]
            column[end], carries[carried] = _add(network, column[at], column[at + 1], third)
            at = min(at + 3, end)
            end += 1
            carried += 1
        if waiting:
            count[bit] = column[at]
        waiting = carried
        column[:waiting] = carries[:waiting]


@kernel
def descend(
    network: Network, first: Literals, sums: Literals, most: Literals, number: Literals, chosen: Literals
) -> None:
    """`chosen`: the group that has the move of this number; the number becomes that within the group."""
    active = np.zeros(first[-1], np.int64)
    active[-1] = 1
    left, rest = np.zeros(number.shape[0], np.int64), np.zeros(number.shape[0], np.int64)
    for level in range(first.shape[0] - 3, -1, -1):
        pairs = (first[level + 1] - first[level]) // 2
        left[:] = 0
        for pair in range(pairs):
            for bit in range(number.shape[0]):
                count = both(network, active[first[level + 1] + pair], sums[first[level] + 2 * pair, bit])
                left[bit] = either(network, left[bit], count)
        is_left: Int = np.int64(0)
        for bit in range(number.shape[0]):
            rest[bit], is_left = _subtract(network, number[bit], left[bit], is_left)
        largest = most[first[level] : first[level + 1]].max()
        for bit in range(number.shape[0]):
            if largest - 1 >> bit:
                kept, less = both(network, is_left, number[bit]), both(network, is_left ^ 1, rest[bit])
                number[bit] = either(network, kept, less)
            else:
                number[bit] = 0
        for node in range(first[level], first[level + 1]):
            parent = active[first[level + 1] + (node - first[level]) // 2]
            if node == first[level] + 2 * pairs:
                active[node] = parent
            else:
                active[node] = both(network, parent, is_left ^ ((node - first[level]) & 1))
    chosen[: first[1]] = active[: first[1]]


@kernel
def _choose_in_smallest(network: Network, members: Literals, number: Literals, done: Literals) -> None:
    """Of up to _SMALLEST members, of which those hold that are legal, the one of this number."""
    if members.shape[0] == 1:
        done[0] = 1
        return
    low = number[0]
    done[0] = both(network, low ^ 1, members[0])
    done[1] = done[0] ^ 1
    if members.shape[0] == _SMALLEST:
        high = number[1]
        done[0] = both(network, done[0], high ^ 1)
        second = both(network, both(network, high ^ 1, differ(network, low, members[0]) ^ 1), members[1])
        done[1] = second
        done[2] = both(network, done[0] ^ 1, second ^ 1)


@inner
def _add(network: Network, a: Int, b: Int, carry: Int) -> tuple[Int, Int]:
    """A full adder: the sum of three bits, and the next carry."""
    half = differ(network, a, b)
    return differ(network, half, carry), either(network, both(network, a, b), both(network, half, carry))


@inner
def _subtract(network: Network, a: Int, b: Int, borrow: Int) -> tuple[Int, Int]:
    """a less two bits, and the next borrow."""
    half = differ(network, a, b)
    difference = differ(network, half, borrow)
    return difference, either(network, both(network, a ^ 1, b), both(network, half ^ 1, borrow))


@kernel
def scale(network: Network, count: Literals, most: Int, random: Literals, number: Literals) -> None:
    """number = count × 0.random, rounded down; a count is at most `most`, and random bits come lowest first."""
    words = random.shape[0]
    bits = count.shape[0] - (1 if most & (most - 1) == 0 else 0)  # the highest bit comes alone then
    product = np.zeros(words, np.int64)  # less its lowest bits, one more for each bit of the count
    for bit in range(bits):
        carry: Int = np.int64(0)
        for word in range(words):
            total, carry = _add(network, product[word], both(network, count[bit], random[word]), carry)
            if word:
                product[word - 1] = total
        product[-1] = carry
    for bit in range(bits):
        number[bit] = product[words - bits + bit]
        if bits < count.shape[0]:
            number[bit] = either(network, number[bit], both(network, count[bits], random[words - bits + bit]))
