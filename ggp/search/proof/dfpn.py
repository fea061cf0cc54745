"""Depth-first proof-number search (df-pn), many descents side by side: does a role get at least so much?

Each question is whether the first of two roles gets at least some goal value, whatever the other does. Nodes carry
proof and disproof numbers (Allis, van der Meulen and van den Herik 1994). Descents go down while these stay below
thresholds (df-pn: Nagai 2002) that leave some room (Pawlewicz and Lew 2007), and a state on which descents are under
way counts as harder by one for each of them (Kaneko 2010), so that they spread. All states that descents wait for are
expanded in batches. Gates tell which moves win at once and which let the other role do so: they prove new states, or
the moves that are left give these their first proof and disproof numbers (initial numbers that depend on the state:
df-pn+, Nagai and Imai 1999). So threats, which leave few replies, are looked at first.

The transposition table has a fixed size: in a full bucket, what took least work makes room. It has the hash of
`simulation.state_table` but not its probing: a search may go on for hours, so states have to be replaced, and a state
has only the four entries of its bucket. These lie next to each other, with the states themselves. An entry is the
state, its proof and disproof numbers in one member, and in the last one parts: bounds as levels, the question that the
numbers belong to, how many descents are on the state, the steps to the end, and the work that it took.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, inner, lean
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.expansion import (
    ALLOWS,
    BEST,
    OVER,
    WORST,
    Ends,
    Expansion,
    evaluate_ends,
    evaluate_steps,
    has_end,
    is_end,
    list_steps,
    look,
    next_legal,
)
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


DESCENTS = 32
DEPTH = 256  # of a descent, in steps, at most
ANSWERED, UNSUITABLE, NOT_OPPOSED, TOO_LARGE, EXPANDED, CYCLES, QUESTION, TOP, PHASE = range(9)  # of Descents.counters
# UNSUITABLE: roles choose at once, or are NOT_OPPOSED; TOO_LARGE: no room for a descent; TOP: the highest level; PHASE:
# of the first state
ANSWER, HARDEST = 1 << 30, (1 << 30) - 1  # of proof and disproof numbers
_ROOM = 4  # thresholds leave room for one part in so many
_CYCLES_BETWEEN = 16  # looks whether a state above was answered by another descent
_TINY = 1e-9


class Descents(NamedTuple):
    """P descents with D = 256 states each on the way down, C states that are known of on each way, A levels.

    A level is the number of a value among the first role's values in ascending order; bounds are levels.
    Locking: none, for one thread at a time, as the transposition table that goes with it.
    """

    depth: Ids  # (P,)
    state: Ids  # (P, D) where among `states` the state on the way is
    first_child: Ids  # (P, D) where the states after it are
    children: Ids  # (P, D) how many, -1: they are not worked out yet
    chooser: Ids  # (P, D) the only role with a choice, else 0
    proof_threshold: Ids  # (P, D)
    disproof_threshold: Ids  # (P, D)
    work: Ids  # (P, D) states that were expanded below
    states: Bits  # (P · C, words)
    first_proof: Ids  # (P · C,) proof and disproof number as long as the table has none
    first_disproof: Ids  # (P · C,)
    low: NDArray[np.int16]  # (P · C,) bounds that the first look at the state shows
    high: NDArray[np.int16]  # (P · C,)
    length: NDArray[np.int16]  # (P · C,) steps to the end where these prove the state, else 0
    phase: Ids  # (512,) of the states that are worked out
    levels: NDArray[np.float64]  # (A,) the first role's values, 0 to 1
    counters: NDArray[np.int64]


def make_descents(words: int, states: int, levels: NDArray[np.float64]) -> Descents:
    """Of so many states each."""
    state, first, count, chooser, proof, disproof, work = (np.zeros((DESCENTS, DEPTH), np.int32) for _ in range(7))
    first_proof, first_disproof = (np.zeros(DESCENTS * states, np.int32) for _ in range(2))
    low, high, length = (np.zeros(DESCENTS * states, np.int16) for _ in range(3))
    counters = np.zeros(9, np.int64)
    counters[TOP] = len(levels) - 1
    return Descents(
        np.zeros(DESCENTS, np.int32), state, first, count, chooser, proof, disproof, work,
        np.zeros((DESCENTS * states, words), np.uint64), first_proof, first_disproof, low, high, length,
        np.zeros(LANES, np.int32), levels, counters,
    )  # fmt: skip


@lean
def advance(table: Bits, descents: Descents, expansion: Expansion, ends: Ends, cycles: Int) -> None:
    """So many times: each descent goes on to a state whose moves it has to know, and these are expanded together."""
    counters = descents.counters
    for _ in range(cycles):
        for descent in range(len(descents.depth)):
            while descents.children[descent, descents.depth[descent]] >= 0:
                _step(table, descents, descent)
                if counters[ANSWERED] or counters[TOO_LARGE]:
                    return
        done, waiting = np.int64(0), len(descents.depth)
        while done < waiting:
            for descent in range(done, waiting):
                depth = descents.depth[descent]
                copy_state(expansion.after, descent - done, descents.states, descents.state[descent, depth])
            look(expansion, expansion.after, waiting - done)
            more, rows = _list_children(descents, expansion, done, np.int64(len(ends.rows.outputs)))
            if more == 0:
                return
            done += more
            _work_out(descents, expansion, ends, rows)
            if counters[UNSUITABLE]:
                return
        counters[CYCLES] += 1
        if counters[CYCLES] % _CYCLES_BETWEEN == 0:
            _give_up_answered(table, descents)


@lean
def _list_children(descents: Descents, expansion: Expansion, done: Int, phases: Int) -> tuple[Int, Int]:
    """The moves of the descents from `done` on, as far as there is room: of how many descents, and how many moves."""
    counters = descents.counters
    each = descents.states.shape[0] // len(descents.depth)
    rows: Int = np.int64(0)
    for descent in range(done, len(descents.depth)):
        row, depth = descent - done, descents.depth[descent]
        chooser, moves = expansion.chooser[row], expansion.moves[row]
        if chooser < 0:
            counters[UNSUITABLE] = 1
            return np.int64(0), np.int64(0)
        first_child = descents.first_child[descent, depth]
        if moves > LANES or first_child + moves > (descent + 1) * each:
            counters[TOO_LARGE] = 1
            return np.int64(0), np.int64(0)
        if rows + moves > LANES:
            return np.int64(row), rows
        descents.chooser[descent, depth], descents.children[descent, depth] = chooser, moves
        descents.work[descent, depth] += 1
        counters[EXPANDED] += 1
        for child in range(moves):
            expansion.owner[rows + child] = first_child + child
            descents.phase[rows + child] = (counters[PHASE] + depth + 1) % phases
        state = np.int64(descents.state[descent, depth])
        _, rows = list_steps(expansion, descents.states, state, np.int64(row), np.int64(0), rows)
    return np.int64(len(descents.depth) - done), rows


@lean
def _work_out(descents: Descents, expansion: Expansion, ends: Ends, rows: Int) -> None:
    """The states after the listed steps, and what is known of these at first sight."""
    counters = descents.counters
    evaluate_steps(expansion, expansion.joint, rows)
    are_known = evaluate_ends(ends, expansion.after, descents.phase, rows)
    for row in range(rows):
        child, chooser = np.int64(expansion.owner[row]), expansion.chooser[row]
        copy_state(descents.states, child, expansion.after, row)
        descents.length[child] = 0
        if chooser == OVER:
            level = _level(descents, expansion, row)
            descents.low[child] = descents.high[child] = level
            if level < 0:
                counters[UNSUITABLE] = 1
                counters[NOT_OPPOSED] |= abs(expansion.value[row, 0] + expansion.value[row, 1] - 1.0) >= _TINY
        elif chooser < 0:
            counters[UNSUITABLE] = 1
        else:
            descents.low[child], descents.high[child] = 0, counters[TOP]
            moves = np.int64(expansion.moves[row])
            if are_known and moves > 1 and has_end(ends, row):
                moves = _mark_ends(descents, expansion, ends, row)
            descents.first_proof[child] = 1 if chooser == 0 else 2 * moves
            descents.first_disproof[child] = 2 * moves if chooser == 0 else 1


@inner
def _mark_ends(descents: Descents, expansion: Expansion, ends: Ends, row: Int) -> np.int64:
    """How many moves do not lose at once or in the next step; the state gets its value if one wins or none is left."""
    child, chooser, top = np.int64(expansion.owner[row]), expansion.chooser[row], descents.counters[TOP]
    first = np.int64(ends.rows.first_move[chooser])
    left, longest, wins = np.int64(0), np.int64(1), False
    move: Int = np.int64(-1)
    for _ in range(expansion.moves[row]):
        move = next_legal(expansion, np.int64(row), np.int64(chooser), move + 1)
        wins |= is_end(ends, row, np.int64(BEST), first + move)
        if is_end(ends, row, np.int64(ALLOWS), first + move):
            longest = np.int64(2)
        elif not is_end(ends, row, np.int64(WORST), first + move):
            left += 1
    if wins:
        descents.low[child] = descents.high[child] = top if chooser == 0 else 0
        descents.length[child] = 1
    elif left == 0:
        descents.low[child] = descents.high[child] = 0 if chooser == 0 else top
        descents.length[child] = longest
    return left


@inner
def _level(descents: Descents, expansion: Expansion, row: Int) -> Int:
    """The level of an end; -1 where values are missing or do not add up to 1."""
    level = np.int64(-1)
    value, other = expansion.value[row, 0], expansion.value[row, 1]
    if expansion.goal[row, 0] >= 0 and expansion.goal[row, 1] >= 0 and abs(value + other - 1.0) < _TINY:
        for at in range(len(descents.levels)):
            if abs(descents.levels[at] - value) < _TINY:
                level = np.int64(at)
    return level


@lean
def root_bounds(table: Bits, descents: Descents) -> tuple[np.int64, np.int64]:
    """What the first role gets at the root, at least and at most, as far as its moves show it."""
    if descents.children[0, 0] < 0:
        return np.int64(0), np.int64(descents.counters[TOP])
    own, first = descents.chooser[0, 0] == 0, descents.first_child[0, 0]
    low, high, _ = bounds_of(table, descents, np.int64(first))
    for child in range(first + 1, first + descents.children[0, 0]):
        other_low, other_high, _ = bounds_of(table, descents, child)
        if own:
            low, high = max(low, other_low), max(high, other_high)
        else:
            low, high = min(low, other_low), min(high, other_high)
    return low, high


@lean
def list_root_moves(table: Bits, descents: Descents, low: Ids, high: Ids, length: Ids) -> None:
    """What is known of the states after the root's moves: bounds, and steps to the end as far as proven, else 0."""
    for move in range(len(low)):
        low[move], high[move], length[move] = bounds_of(table, descents, descents.first_child[0, 0] + move)


@lean
def bounds_of(table: Bits, descents: Descents, row: Int) -> tuple[np.int64, np.int64, np.int64]:
    """What is known of a state: the least and the most that the first role gets there, the steps to the end."""
    low, high, length = np.int64(descents.low[row]), np.int64(descents.high[row]), np.int64(descents.length[row])
    if low < high:
        entry = find_entry(table, descents.states, row)
        if entry >= 0:
            low = max(low, part_of(table, entry, LOW, SHORT))
            high = min(high, part_of(table, entry, HIGH, SHORT))
            length = part_of(table, entry, LENGTH, WIDE)
    return low, high, length


@lean
def begin(table: Bits, descents: Descents, question: Int) -> None:
    """All descents start from the first state, the root, with a question."""
    each = descents.states.shape[0] // len(descents.depth)
    for descent in range(len(descents.depth)):
        _leave(table, descents, descent, np.int64(0))
        descents.state[descent, 0], descents.first_child[descent, 0] = descent * each, descent * each + 1
        descents.children[descent, 0] = -1
        descents.proof_threshold[descent, 0] = descents.disproof_threshold[descent, 0] = ANSWER
        descents.work[descent, 0] = 0
        if descent > 0:
            copy_state(descents.states, descent * each, descents.states, 0)
            descents.low[descent * each], descents.high[descent * each] = descents.low[0], descents.high[0]
    descents.counters[QUESTION] = question
    descents.counters[ANSWERED] = descents.counters[TOO_LARGE] = 0


@inner
def _leave(table: Bits, descents: Descents, descent: Int, depth: Int) -> None:
    """A descent goes back up to a depth."""
    for at in range(depth + 1, descents.depth[descent] + 1):
        entry = find_entry(table, descents.states, descents.state[descent, at])
        if entry >= 0 and part_of(table, entry, BUSY, SHORT) > 0:
            put_part(table, entry, BUSY, SHORT, part_of(table, entry, BUSY, SHORT) - 1)
    descents.depth[descent] = depth


@inner
def _known_of(table: Bits, descents: Descents, child: Int) -> tuple[Int, Int, Int, Int, Int]:
    """Bounds, proof and disproof number of a state, and how many descents are on it while it has no answer."""
    question = descents.counters[QUESTION]
    low, high = np.int64(descents.low[child]), np.int64(descents.high[child])
    proof, disproof, busy = np.int64(descents.first_proof[child]), np.int64(descents.first_disproof[child]), np.int64(0)
    if low < high:
        entry = find_entry(table, descents.states, child)
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
def _step(table: Bits, descents: Descents, descent: Int) -> None:
    """One state down, or up with what is known of the state."""
    counters = descents.counters
    question, depth = counters[QUESTION], descents.depth[descent]
    first, count = descents.first_child[descent, depth], descents.children[descent, depth]
    own = descents.chooser[descent, depth] == 0
    low: Int = np.int64(0) if own else counters[TOP]
    high: Int = np.int64(low)
    easiest: Int = np.int64(ANSWER)  # the least of the numbers of which one is enough
    seen_easiest: Int = np.int64(2 * ANSWER)  # with other descents counted
    second: Int = np.int64(2 * ANSWER)
    total: Int = np.int64(0)  # of those of which all are needed
    seen_total: Int = np.int64(0)
    best: Int = np.int64(-1)
    best_part: Int = np.int64(0)
    for child in range(first, first + count):
        child_low, child_high, proof, disproof, busy = _known_of(table, descents, child)
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
    threshold, all_threshold = descents.proof_threshold[descent, depth], descents.disproof_threshold[descent, depth]
    if not own:
        threshold, all_threshold = all_threshold, threshold
    if low >= question or high < question:
        _go_up(table, descents, descent, low, high, np.int64(0), np.int64(0))
    elif seen_easiest >= threshold or seen_total >= all_threshold:
        proof, disproof = (easiest, total) if own else (total, easiest)
        _go_up(table, descents, descent, low, high, proof, disproof)
    else:
        threshold = min(np.int64(threshold), second + second // _ROOM + 1)
        all_threshold = min(all_threshold - seen_total + best_part, np.int64(ANSWER))
        _go_down(table, descents, descent, best, threshold, all_threshold)


@inner
def _go_up(  # noqa: PLR0913, PLR0917 - kernel: bounds and both numbers of one state
    table: Bits, descents: Descents, descent: Int, low: Int, high: Int, proof: Int, disproof: Int
) -> None:
    """Keep what is known of the state where the descent is, and leave it."""
    counters, depth = descents.counters, descents.depth[descent]
    place = np.int64(descents.state[descent, depth])
    question = counters[QUESTION]
    entry = claim_entry(table, descents.states, place, counters[TOP])
    if entry >= 0:
        low = max(low, part_of(table, entry, LOW, SHORT))
        high = min(high, part_of(table, entry, HIGH, SHORT))
        put_part(table, entry, LOW, SHORT, low)
        put_part(table, entry, HIGH, SHORT, high)
        put_part(table, entry, ASKED, SHORT, question)
        put_numbers(table, entry, proof, disproof)
        if low >= question or high < question:
            put_part(table, entry, LENGTH, WIDE, _length(table, descents, descent, low >= question))
        work = part_of(table, entry, WORK, WIDE) + descents.work[descent, depth]
        put_part(table, entry, WORK, WIDE, min(work, np.int64(WIDE)))
        if depth > 0 and part_of(table, entry, BUSY, SHORT) > 0:
            put_part(table, entry, BUSY, SHORT, part_of(table, entry, BUSY, SHORT) - 1)
    if depth > 0:
        descents.work[descent, depth - 1] = min(descents.work[descent, depth - 1] + descents.work[descent, depth], WIDE)
        descents.depth[descent] = depth - 1
    else:
        descents.low[0], descents.high[0] = max(descents.low[0], low), min(descents.high[0], high)
        counters[ANSWERED] = 1


@inner
def _length(table: Bits, descents: Descents, descent: Int, is_reached: bool) -> Int:
    """One step more than after the shortest of the moves that decide, or the longest where all of them do."""
    question, depth = descents.counters[QUESTION], descents.depth[descent]
    first, own = descents.first_child[descent, depth], descents.chooser[descent, depth] == 0
    shortest, longest = np.int64(WIDE), np.int64(0)
    for child in range(first, first + descents.children[descent, depth]):
        low, high, length = bounds_of(table, descents, child)
        if (low >= question) if is_reached else (high < question):
            shortest, longest = min(shortest, length), max(longest, length)
    return min((shortest if own == is_reached else longest) + 1, np.int64(WIDE))


@inner
def _go_down(table: Bits, descents: Descents, descent: Int, child: Int, threshold: Int, all_threshold: Int) -> None:
    counters, depth = descents.counters, descents.depth[descent]
    if depth + 1 == DEPTH:
        counters[TOO_LARGE] = 1
        return
    entry = claim_entry(table, descents.states, child, counters[TOP])
    if entry >= 0:
        busy = part_of(table, entry, BUSY, SHORT)
        put_part(table, entry, BUSY, SHORT, min(busy + 1, np.int64(SHORT)))
        if part_of(table, entry, ASKED, SHORT) != counters[QUESTION]:
            put_part(table, entry, ASKED, SHORT, counters[QUESTION])
            put_numbers(table, entry, descents.first_proof[child], descents.first_disproof[child])
    own = descents.chooser[descent, depth] == 0
    descents.depth[descent] = depth + 1
    descents.state[descent, depth + 1] = child
    descents.first_child[descent, depth + 1] = descents.first_child[descent, depth] + descents.children[descent, depth]
    descents.children[descent, depth + 1] = -1
    descents.proof_threshold[descent, depth + 1] = threshold if own else all_threshold
    descents.disproof_threshold[descent, depth + 1] = all_threshold if own else threshold
    descents.work[descent, depth + 1] = 0


@lean
def _give_up_answered(table: Bits, descents: Descents) -> None:
    """Descents leave what lies below a state that another one has answered."""
    question = descents.counters[QUESTION]
    for descent in range(len(descents.depth)):
        for depth in range(1, descents.depth[descent] + 1):
            low, high, _ = bounds_of(table, descents, descents.state[descent, depth])
            if low >= question or high < question:
                _leave(table, descents, descent, np.int64(depth - 1))
                break
