"""Patterns: small sets of cells all over a board, whose contents together have a weight, the same at all places.

An n-tuple network with shared weights (Lucas, 2008; for Othello: Buro, 1997). The contents of a pattern's cells are the
digits of an index into a table of weights. A fact adds a number to the indices of all patterns that have its cell, so
that the state after a step costs only the patterns of the facts that change. The weights of all patterns, added up, are
a part of the value's logit; those of the patterns around the cells that a move names are a part of the move's logit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, fused, lowest, numba_inner
from ggp.simulation.evaluate import Bits

Floats = NDArray[np.float32]

MOST_PATTERNS, MOST_TURNS = 4096, 8
NO_PATTERN = -1
_PATTERN, _NUMBER = range(2)  # columns of Patterns.uses
_TABLE = 1  # column of Patterns.of_move, next to _PATTERN


class Patterns(NamedTuple):
    """N patterns of a game of two roles, F facts, M moves of all roles, E weights for each of T turns; N = 0: none."""

    starts: Ids  # (N,) the index of a pattern while none of its facts holds
    first_use: Ids  # (F + 1,) where each fact's part of `uses` begins
    uses: Ids  # (U, 2) a pattern, and what the fact adds to its index
    turns: Ids  # (T,) facts, one of which says whose turn it is; (0,) for T = 1
    of_move: Ids  # (M, K, 2) a pattern around a cell that it names, or NO_PATTERN; where its table begins in `policy`
    value: Floats  # (T E,) what a configuration adds to the value's logit of role 0, and takes from that of role 1
    policy: Floats  # (tables E,) what it adds to a move's logit


class Sums(NamedTuple):
    """What the patterns make of a state."""

    indices: Ids  # (MOST_PATTERNS,) of the patterns
    changed: Ids  # (MOST_PATTERNS,) room for those of another state
    totals: Floats  # (MOST_TURNS,) of `value` at these indices, for each turn
    is_summed: NDArray[np.bool_]  # (MOST_TURNS,) whether the total is known
    turn: Ids  # (1,) of the state that was valued last
    value: Floats  # (1,) the part of its value's logit


def no_patterns(facts: int, moves: int) -> Patterns:
    return Patterns(
        np.zeros(0, np.int32),
        np.zeros(facts + 1, np.int32),
        np.zeros((0, 2), np.int32),
        np.zeros(0, np.int32),
        np.zeros((moves, 0, 2), np.int32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
    )


def without_weights(patterns: Patterns) -> Patterns:
    return patterns._replace(value=np.zeros_like(patterns.value), policy=np.zeros_like(patterns.policy))


def make_sums() -> Sums:
    return Sums(
        np.zeros(MOST_PATTERNS, np.int32),
        np.zeros(MOST_PATTERNS, np.int32),
        np.zeros(MOST_TURNS, np.float32),
        np.zeros(MOST_TURNS, np.bool_),
        np.zeros(1, np.int32),
        np.zeros(1, np.float32),
    )


@numba_inner
def find_indices(patterns: Patterns, states: Bits, row: Int, sums: Sums) -> None:
    """The indices of states[row], whose totals are not known as yet."""
    if len(patterns.starts) > 0:
        begin_indices(patterns, sums)
        for word in range(states.shape[1]):
            bits = states[row, word]
            while bits:
                change_indices(patterns, np.int64(64 * word + lowest(bits)), np.int32(1), sums.indices)
                bits &= bits - np.uint64(1)


@numba_inner
def begin_indices(patterns: Patterns, sums: Sums) -> None:
    """Those of a state in which nothing holds."""
    for pattern in range(len(patterns.starts)):
        sums.indices[pattern] = patterns.starts[pattern]
    for turn in range(MOST_TURNS):
        sums.is_summed[turn] = False


@numba_inner
def change_indices(patterns: Patterns, fact: Int, sign: np.int32, indices: Ids) -> None:
    """After this fact has come (1) or gone (-1)."""
    for at in range(patterns.first_use[fact], patterns.first_use[fact + 1]):
        indices[patterns.uses[at, _PATTERN]] += sign * patterns.uses[at, _NUMBER]


@numba_inner
def first_weight(patterns: Patterns, turn: Int) -> Int:
    """Where the weights for a turn begin in `value`."""
    return turn * (len(patterns.value) // max(len(patterns.turns), 1))


@fused
def sum_patterns(patterns: Patterns, states: Bits, row: Int, sums: Sums) -> None:
    """`sums.value` of the state whose indices are there; of states[row] only the turn is looked at."""
    turn = _find_turn(patterns, states, row)
    if not sums.is_summed[turn]:
        sums.totals[turn], sums.is_summed[turn] = _total(patterns, sums.indices, turn), True
    sums.turn[0], sums.value[0] = turn, sums.totals[turn]


@numba_inner
def _find_turn(patterns: Patterns, states: Bits, row: Int) -> Int:
    """The number of the fact of `turns` that holds, 0 for none."""
    turn = np.int64(0)
    for number in range(len(patterns.turns)):
        fact = np.int64(patterns.turns[number])
        turn = np.int64(number) if (states[row, fact >> 6] >> np.uint64(fact & 63)) & np.uint64(1) != 0 else turn
    return turn


@numba_inner
def _total(patterns: Patterns, indices: Ids, turn: Int) -> np.float32:
    """Of the weights at these indices."""
    first, total = first_weight(patterns, turn), np.float32(0.0)
    for pattern in range(len(patterns.starts)):
        total += patterns.value[first + indices[pattern]]
    return total


@fused
def sum_changed_patterns(patterns: Patterns, states: Bits, row: Int, before: Bits, before_row: Int, sums: Sums) -> None:
    """`sums.value` of states[row], from the indices of before[before_row], which stay there."""
    changes, only, sign = np.int64(0), np.int64(0), np.int32(0)
    for word in range(states.shape[1]):
        bits = states[row, word] ^ before[before_row, word]
        while bits:
            at = lowest(bits)
            fact = np.int64(64 * word + at)
            bits &= bits - np.uint64(1)
            if patterns.first_use[fact] < patterns.first_use[fact + 1]:
                changes, only = changes + 1, fact
                sign = np.int32(1) if (states[row, word] >> np.uint64(at)) & np.uint64(1) != 0 else np.int32(-1)
    if changes <= 1:  # the usual case: one piece is put on the board
        sum_patterns(patterns, states, row, sums)
        if changes == 1:
            sums.value[0] += _gain(patterns, only, sign, sums)
        return
    for pattern in range(len(patterns.starts)):
        sums.changed[pattern] = sums.indices[pattern]
    for word in range(states.shape[1]):
        bits = states[row, word] ^ before[before_row, word]
        while bits:
            at = lowest(bits)
            bits &= bits - np.uint64(1)
            sign = np.int32(1) if (states[row, word] >> np.uint64(at)) & np.uint64(1) != 0 else np.int32(-1)
            change_indices(patterns, np.int64(64 * word + at), sign, sums.changed)
    turn = _find_turn(patterns, states, row)
    sums.turn[0], sums.value[0] = turn, _total(patterns, sums.changed, turn)


@numba_inner
def _gain(patterns: Patterns, fact: Int, sign: np.int32, sums: Sums) -> np.float32:
    """What the total gains by this fact alone, which has come or gone."""
    first, total = first_weight(patterns, np.int64(sums.turn[0])), np.float32(0.0)
    for at in range(patterns.first_use[fact], patterns.first_use[fact + 1]):
        index = first + sums.indices[patterns.uses[at, _PATTERN]]
        total += patterns.value[index + sign * patterns.uses[at, _NUMBER]] - patterns.value[index]
    return total


@numba_inner
def pattern_logit(patterns: Patterns, move: Int, sums: Sums) -> np.float32:
    """The part of a move's logit, in the state whose indices are there."""
    total = np.float32(0.0)
    for at in range(patterns.of_move.shape[1]):
        pattern = patterns.of_move[move, at, _PATTERN]
        if pattern != NO_PATTERN:
            total += patterns.policy[patterns.of_move[move, at, _TABLE] + sums.indices[pattern]]
    return total
