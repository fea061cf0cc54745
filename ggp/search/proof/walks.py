"""Walks of a proof-number search: down to states whose moves have to be known, and up with what is known then."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, inner, lean
from ggp.search.proof.table import (
    ASKED,
    BUSY,
    HIGH,
    LENGTH,
    LOW,
    SHORT,
    WIDE,
    WORK,
    claim_entry,
    find_entry,
    part_of,
    put_numbers,
    put_part,
)
from ggp.simulation.evaluate import Bits, copy_state

ANSWERED, ODD, CROWDED, EXPANDED, CYCLES, QUESTION, TOP = range(7)  # indices of Walks.counters
DEPTH = 256  # of a walk, in steps, at most
ANSWER, HARDEST = 1 << 30, (1 << 30) - 1  # of proof and disproof numbers
_ROOM = 4  # thresholds leave room for one part in so many


class Walks(NamedTuple):
    """P walks with D = 256 states each on the way down, C states that are known of on each way, A goal values."""

    depth: Ids  # (P,)
    place: Ids  # (P, D) where among `states` the state on the way is
    first: Ids  # (P, D) where the states after it are
    moves: Ids  # (P, D) how many, -1: they are not worked out yet
    chooser: Ids  # (P, D) the only role with a choice, else 0
    proof: Ids  # (P, D) thresholds
    disproof: Ids  # (P, D)
    work: Ids  # (P, D) states that were worked out below
    states: Bits  # (P · C, words)
    proofs: Ids  # (P · C,) numbers of states that nothing is known of
    disproofs: Ids  # (P · C,)
    low: Ids  # (P · C,) bounds, as numbers among the first role's values in order
    high: Ids  # (P · C,)
    counters: NDArray[np.int64]


@lean
def bounds_of(table: Bits, walks: Walks, row: Int) -> tuple[np.int64, np.int64, np.int64]:
    """What is known of a state: the least and the most that the first role gets there, the steps to the end."""
    low, high, length = np.int64(walks.low[row]), np.int64(walks.high[row]), np.int64(0)
    if low < high:
        entry = find_entry(table, walks.states, row)
        if entry >= 0:
            low = max(low, part_of(table, entry, LOW, SHORT))
            high = min(high, part_of(table, entry, HIGH, SHORT))
            length = part_of(table, entry, LENGTH, WIDE)
    return low, high, length


@lean
def begin(table: Bits, walks: Walks, question: Int) -> None:
    """All walks start from the first state, the root, with a question."""
    each = walks.states.shape[0] // len(walks.depth)
    for walk in range(len(walks.depth)):
        _leave(table, walks, walk, np.int64(0))
        walks.place[walk, 0], walks.first[walk, 0], walks.moves[walk, 0] = walk * each, walk * each + 1, -1
        walks.proof[walk, 0] = walks.disproof[walk, 0] = ANSWER
        walks.work[walk, 0] = 0
        if walk > 0:
            copy_state(walks.states, walk * each, walks.states, 0)
            walks.low[walk * each], walks.high[walk * each] = walks.low[0], walks.high[0]
    walks.counters[QUESTION] = question
    walks.counters[ANSWERED] = walks.counters[CROWDED] = 0


@inner
def _leave(table: Bits, walks: Walks, walk: Int, depth: Int) -> None:
    """A walk goes back up to a depth."""
    for at in range(depth + 1, walks.depth[walk] + 1):
        entry = find_entry(table, walks.states, walks.place[walk, at])
        if entry >= 0 and part_of(table, entry, BUSY, SHORT) > 0:
            put_part(table, entry, BUSY, SHORT, part_of(table, entry, BUSY, SHORT) - 1)
    walks.depth[walk] = depth


@inner
def _known_of(table: Bits, walks: Walks, child: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Bounds, proof and disproof number of a state, and how many walks are on it while it has no answer."""
    question = walks.counters[QUESTION]
    low, high = np.int64(walks.low[child]), np.int64(walks.high[child])
    proof, disproof, busy = np.int64(walks.proofs[child]), np.int64(walks.disproofs[child]), np.int64(0)
    if low < high:
        entry = find_entry(table, walks.states, child)
        if entry >= 0:
            low = max(low, part_of(table, entry, LOW, SHORT))
            high = min(high, part_of(table, entry, HIGH, SHORT))
            busy = part_of(table, entry, BUSY, SHORT)
            if part_of(table, entry, ASKED, SHORT) == question:
                numbers = table[entry, table.shape[1] - 2]
                proof, disproof = np.int64(numbers >> np.uint64(32)), np.int64(numbers & np.uint64(0xFFFFFFFF))
    if low >= question:
        proof, disproof, busy = np.int64(0), np.int64(ANSWER), np.int64(0)
    elif high < question:
        proof, disproof, busy = np.int64(ANSWER), np.int64(0), np.int64(0)
    return low, high, proof, disproof, busy


@lean
def step(table: Bits, walks: Walks, walk: Int) -> None:
    """One state down, or up with what is known of the state."""
    counters = walks.counters
    question, depth = counters[QUESTION], walks.depth[walk]
    first, count, own = walks.first[walk, depth], walks.moves[walk, depth], walks.chooser[walk, depth] == 0
    low: Int = np.int64(0) if own else counters[TOP]
    high: Int = np.int64(low)
    easiest: Int = np.int64(ANSWER)  # the least of the numbers of which one is enough
    seen_easiest: Int = np.int64(2 * ANSWER)  # with other walks counted
    second: Int = np.int64(2 * ANSWER)
    total: Int = np.int64(0)  # of those of which all are needed
    seen_total: Int = np.int64(0)
    best: Int = np.int64(-1)
    best_part: Int = np.int64(0)
    for child in range(first, first + count):
        child_low, child_high, proof, disproof, busy = _known_of(table, walks, child)
        if own:
            low, high = max(low, child_low), max(high, child_high)
        else:
            low, high = min(low, child_low), min(high, child_high)
        single, part = (proof, disproof) if own else (disproof, proof)
        easiest = min(easiest, single)
        if single < ANSWER:
            if part < ANSWER:
                total = min(total + part, np.int64(HARDEST))
                seen_total = min(seen_total + part + busy, np.int64(HARDEST))
            single += busy
        if single < seen_easiest:
            second, seen_easiest = seen_easiest, single
            best, best_part = np.int64(child), part + busy
        elif single < second:
            second = single
    threshold, all_threshold = walks.proof[walk, depth], walks.disproof[walk, depth]
    if not own:
        threshold, all_threshold = all_threshold, threshold
    if low >= question or high < question:
        _go_up(table, walks, walk, low, high, np.int64(0), np.int64(0))
    elif seen_easiest >= threshold or seen_total >= all_threshold:
        proof, disproof = (easiest, total) if own else (total, easiest)
        _go_up(table, walks, walk, low, high, proof, disproof)
    else:
        threshold = min(np.int64(threshold), second + second // _ROOM + 1)
        all_threshold = min(all_threshold - seen_total + best_part, np.int64(ANSWER))
        _go_down(table, walks, walk, best, threshold, all_threshold)


@inner
def _go_up(table: Bits, walks: Walks, walk: Int, low: Int, high: Int, proof: Int, disproof: Int) -> None:
    """Keep what is known of the state where the walk is, and leave it."""
    counters, depth = walks.counters, walks.depth[walk]
    place = np.int64(walks.place[walk, depth])
    question = counters[QUESTION]
    entry = claim_entry(table, walks.states, place, counters[TOP])
    if entry >= 0:
        low = max(low, part_of(table, entry, LOW, SHORT))
        high = min(high, part_of(table, entry, HIGH, SHORT))
        put_part(table, entry, LOW, SHORT, low)
        put_part(table, entry, HIGH, SHORT, high)
        put_part(table, entry, ASKED, SHORT, question)
        put_numbers(table, entry, proof, disproof)
        if low >= question or high < question:
            put_part(table, entry, LENGTH, WIDE, _length(table, walks, walk, low >= question))
        work = part_of(table, entry, WORK, WIDE) + walks.work[walk, depth]
        put_part(table, entry, WORK, WIDE, min(work, np.int64(WIDE)))
        if depth > 0 and part_of(table, entry, BUSY, SHORT) > 0:
            put_part(table, entry, BUSY, SHORT, part_of(table, entry, BUSY, SHORT) - 1)
    if depth > 0:
        walks.work[walk, depth - 1] = min(walks.work[walk, depth - 1] + walks.work[walk, depth], WIDE)
        walks.depth[walk] = depth - 1
    else:
        walks.low[0], walks.high[0] = max(walks.low[0], low), min(walks.high[0], high)
        counters[ANSWERED] = 1


@inner
def _length(table: Bits, walks: Walks, walk: Int, is_reached: bool) -> Int:
    """One step more than after the shortest of the moves that decide, or the longest where all of them do."""
    question, depth = walks.counters[QUESTION], walks.depth[walk]
    first, own = walks.first[walk, depth], walks.chooser[walk, depth] == 0
    shortest, longest = np.int64(WIDE), np.int64(0)
    for child in range(first, first + walks.moves[walk, depth]):
        low, high, length = bounds_of(table, walks, child)
        if (low >= question) if is_reached else (high < question):
            shortest, longest = min(shortest, length), max(longest, length)
    return min((shortest if own == is_reached else longest) + 1, np.int64(WIDE))


@inner
def _go_down(table: Bits, walks: Walks, walk: Int, child: Int, threshold: Int, all_threshold: Int) -> None:
    counters, depth = walks.counters, walks.depth[walk]
    if depth + 1 == DEPTH:
        counters[CROWDED] = 1
        return
    entry = claim_entry(table, walks.states, child, counters[TOP])
    if entry >= 0:
        busy = part_of(table, entry, BUSY, SHORT)
        put_part(table, entry, BUSY, SHORT, min(busy + 1, np.int64(SHORT)))
        if part_of(table, entry, ASKED, SHORT) != counters[QUESTION]:
            put_part(table, entry, ASKED, SHORT, counters[QUESTION])
            put_numbers(table, entry, walks.proofs[child], walks.disproofs[child])
    own = walks.chooser[walk, depth] == 0
    walks.depth[walk] = depth + 1
    walks.place[walk, depth + 1] = child
    walks.first[walk, depth + 1] = walks.first[walk, depth] + walks.moves[walk, depth]
    walks.moves[walk, depth + 1] = -1
    walks.proof[walk, depth + 1] = threshold if own else all_threshold
    walks.disproof[walk, depth + 1] = all_threshold if own else threshold
    walks.work[walk, depth + 1] = 0


@lean
def give_up_answered(table: Bits, walks: Walks) -> None:
    """Walks leave what lies below a state that another one has answered."""
    question = walks.counters[QUESTION]
    for walk in range(len(walks.depth)):
        for depth in range(1, walks.depth[walk] + 1):
            low, high, _ = bounds_of(table, walks, walks.place[walk, depth])
            if low >= question or high < question:
                _leave(table, walks, walk, np.int64(depth - 1))
                break
