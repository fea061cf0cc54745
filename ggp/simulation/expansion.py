"""States → legal moves → steps → next states, ends and their values: in batches of 512 on the circuit.

All searches that follow the rules move by move go through here: they list what is to be done in an `Expansion`, have it
done, and read the answer there, row by row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.circuit.schedule import Program
from ggp.kernel import LANES, Int, Words, aligned_words, count_ones, inner, lean, lowest
from ggp.simulation.evaluate import (
    GOALS,
    LOOK,
    NEXT,
    SPARE,
    UNKNOWN,
    Batches,
    Bits,
    Rows,
    copy_state,
    evaluate_rows,
    join_programs,
    put_bits,
    run_rows,
    single_values,
    take_bits,
)

OVER, SEVERAL = -1, -2  # in place of the role that has a choice


class Expansion(NamedTuple):
    """A game's rules, and room for one batch of one thread: 512 rows, R roles.

    Locking: none, each thread has its own.
    """

    rows: Rows
    words: Words
    first_goal: Ids  # (R + 1,) where each role's goal values start
    goals_of_all: NDArray[np.int16]  # the goal values of all roles in a row
    lowest_goal: NDArray[np.float64]  # (R,) the goal value that counts as 0
    goal_span: NDArray[np.float64]  # (R,) what is added to it for 1
    before: Bits  # (512, words) states where steps are to be done
    joint: Ids  # (512, R) the moves of these steps, numbered within each role
    after: Bits  # (512, words) the states that follow
    legal: Bits  # (512, ·) bits over the moves of all roles in a row, then whether the state is terminal
    chooser: Ids  # (512,) the only role with several legal moves, role 0 if none has; OVER at an end; else SEVERAL
    moves: Ids  # (512,) how many legal moves the chooser has
    goal_bits: Bits  # (512, ·)
    goal: NDArray[np.int16]  # (512, R) of ends; -1 where the rules give none or several, or the state is not terminal
    value: NDArray[np.float64]  # (512, R) the same from 0 to 1; UNKNOWN for -1
    owner: Ids  # (512,) for the caller's use


def make_expansion(batches: Batches) -> Expansion:
    roles, words = len(batches.game.roles), batches.initial.shape[1]
    lowest, span = goal_range(batches.game.goals)
    return Expansion(
        batches.rows, aligned_words(batches.size), batches.first_goal, batches.goal_values, lowest, span,
        np.zeros((LANES, words), np.uint64), np.zeros((LANES, roles), np.int32), np.zeros((LANES, words), np.uint64),
        np.zeros((LANES, (int(batches.first_move[-1]) + 64) // 64), np.uint64),
        np.zeros(LANES, np.int32), np.zeros(LANES, np.int32),
        np.zeros((LANES, max(1, (int(batches.rows.outputs[GOALS]) + 63) // 64)), np.uint64),
        np.zeros((LANES, roles), np.int16), np.zeros((LANES, roles)), np.zeros(LANES, np.int32),
    )  # fmt: skip


class Ends(NamedTuple):
    """Which moves would end the match at once, for one batch of one thread; what `end_programs` say, or nothing.

    Locking: none, each thread has its own.
    """

    rows: Rows  # a program for each phase
    is_complete: bool  # whether all ends that are not found are draws, where two roles are opposed
    words: Words
    states: Bits  # (512, words) those of one phase
    found: Bits  # (512, ·) of these
    bits: Bits  # (512, ·) bits over the moves of all roles in a row, thrice: BEST, WORST, ALLOWS


BEST, WORST, ALLOWS = range(3)  # as the fields of `EndGates`


def end_rows(batches: Batches, programs: tuple[Program, ...]) -> Rows:
    """What kernels know of programs that `end_programs` made; none: that nothing is known."""
    count = max(len(programs), 1)
    code = join_programs(programs) if programs else batches.rows.code
    outputs = np.full(count, len(programs[0].outputs) if programs else 0, np.int64)
    first = np.full(count, 1 + batches.rows.facts, np.int64)
    return Rows(code, batches.rows.facts, batches.first_move, first, outputs, np.zeros(count, np.int64))


def make_ends(rows: Rows, size: int, expansion: Expansion, *, is_complete: bool = False) -> Ends:
    """rows: as `end_rows` made them; size: rows of words that their programs need; is_complete: as in `Ends`."""
    shape = LANES, max(1, (int(rows.outputs[0]) + 63) // 64)
    return Ends(
        rows, is_complete, aligned_words(size + SPARE), np.zeros_like(expansion.before),
        np.zeros(shape, np.uint64), np.zeros(shape, np.uint64),
    )  # fmt: skip


@lean
def evaluate_ends(ends: Ends, states: Bits, phases: Ids, count: Int) -> bool:
    """Which moves of the first `count` states, in these phases, end the match: `ends.bits`; False: nothing is known."""
    rows, outputs = ends.rows, np.int64(ends.rows.outputs[0])
    for phase in range(len(rows.outputs) if outputs else 0):
        lanes = np.int64(0)
        for row in range(count):
            if phases[row] == phase:
                copy_state(ends.states, lanes, states, row)
                lanes += 1
        if lanes == 0:
            continue
        put_bits(ends.words, 1, rows.facts, ends.states, 0, lanes)
        run_rows(rows, ends.words, np.int64(phase))
        take_bits(ends.words, 1 + rows.facts, outputs, ends.found, 0, lanes)
        lanes = np.int64(0)
        for row in range(count):
            if phases[row] == phase:
                copy_state(ends.bits, row, ends.found, lanes)
                lanes += 1
    return bool(outputs > 0)


@inner
def has_end(ends: Ends, row: Int) -> bool:
    """Whether any move of a state that was looked at does."""
    some = np.uint64(0)
    for word in range(ends.bits.shape[1]):
        some |= ends.bits[row, word]
    return bool(some != 0)


@inner
def is_end(ends: Ends, row: Int, kind: Int, move: Int) -> bool:
    """Whether a move, numbered over all roles, ends the match in this way."""
    bit = kind * np.int64(ends.rows.first_move[-1]) + move
    return bool((ends.bits[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != 0)


def goal_range(goals: tuple[tuple[int, ...], ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lowest goal value that the rules have for each role, and how much higher the highest is, at least 1."""
    lowest = np.array([min(values, default=0) for values in goals], np.float64)
    highest = np.array([max(values, default=0) for values in goals], np.float64)
    return lowest, np.maximum(highest - lowest, 1.0)


@lean
def look(expansion: Expansion, states: Bits, count: Int) -> None:
    """Of the first `count` states: `legal`, `chooser` and `moves`."""
    evaluate_rows(expansion.rows, expansion.words, np.int64(LOOK), states, expansion.joint, expansion.legal, count)
    for row in range(count):
        _note_chooser(expansion, row)


@inner
def _note_chooser(expansion: Expansion, row: Int) -> None:
    chooser, moves, choosers = np.int64(0), np.int64(1), 0
    is_over = is_terminal(expansion, row)
    for role in range(len(expansion.rows.first_move) - 1):
        count = count_legal(expansion, row, role)
        is_over = is_over or count == 0
        if count > 1:
            chooser, moves, choosers = np.int64(role), np.int64(count), choosers + 1
    if is_over:
        chooser, moves = np.int64(OVER), np.int64(0)
    elif choosers > 1:
        chooser, moves = np.int64(SEVERAL), np.int64(0)
    expansion.chooser[row], expansion.moves[row] = chooser, moves


@inner
def is_terminal(expansion: Expansion, row: Int) -> bool:
    """Of a state that was looked at; one where a role has no legal move is an end, too, but need not be terminal."""
    bit = expansion.rows.first_move[-1]
    return bool((expansion.legal[row, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != 0)


@inner
def count_legal(expansion: Expansion, row: Int, role: Int) -> Int:
    """How many legal moves a role has."""
    first = np.int64(expansion.rows.first_move[role])
    last = np.int64(expansion.rows.first_move[role + 1])
    count = np.int64(0)
    for word in range(first >> 6, (last + 63) >> 6):
        count += count_ones(part_between(expansion.legal[row, word], word, first, last))
    return np.int64(count)


@inner
def part_between(bits: np.uint64, word: Int, first: Int, last: Int) -> np.uint64:
    """The bits of a word that stand for numbers from `first` to before `last`."""
    start = 64 * word
    if first > start:
        bits = bits >> np.uint64(first - start) << np.uint64(first - start)
    if last < start + 64:
        bits = bits & ((np.uint64(1) << np.uint64(last - start)) - np.uint64(1))
    return bits


@inner
def next_legal(expansion: Expansion, row: Int, role: Int, move: Int) -> Int:
    """The role's first legal move from `move` on, numbered within the role; how many moves it has if there is none."""
    first, last = np.int64(expansion.rows.first_move[role]), np.int64(expansion.rows.first_move[role + 1])
    at = first + move
    while at < last:
        bits = expansion.legal[row, at >> 6] >> np.uint64(at & 63)
        if bits:
            at += lowest(bits)
            break
        at = (at | 63) + 1
    return np.int64(min(at, last) - first)


@inner
def legal_rank(expansion: Expansion, row: Int, role: Int, move: Int) -> Int:
    """How many legal moves of the role come before this one."""
    first = np.int64(expansion.rows.first_move[role])
    last, count = first + move, np.int64(0)
    for word in range(first >> 6, (last + 63) >> 6):
        count += count_ones(part_between(expansion.legal[row, word], word, first, last))
    return np.int64(count)


@lean
def first_joint_move(expansion: Expansion, row: Int, joint: Ids) -> None:
    """Write the first legal move of each role, (R,), in a state that is not terminal."""
    for role in range(len(joint)):
        joint[role] = next_legal(expansion, row, np.int64(role), np.int64(0))


@lean
def next_joint_move(expansion: Expansion, row: Int, joint: Ids, order: Ids) -> bool:
    """As an odometer of the roles in `order`, the last the quickest; whether there is one, else it starts anew."""
    for back in range(len(order)):
        role = np.int64(order[len(order) - 1 - back])
        end = expansion.rows.first_move[role + 1] - expansion.rows.first_move[role]
        move = next_legal(expansion, row, role, np.int64(joint[role]) + 1)
        if move < end:
            joint[role] = move
            return True
        joint[role] = next_legal(expansion, row, role, np.int64(0))
    return False


@inner
def list_steps(expansion: Expansion, states: Bits, state: Int, row: Int, move: Int, rows: Int) -> tuple[Int, Int]:
    """Put steps from states[state] behind `rows` that are listed: the chooser's moves from number `move` on, as there
    is room; the others' only moves. `row`: where it was looked at. Returns with which move to go on, and the rows now.
    """
    chooser, roles = np.int64(expansion.chooser[row]), expansion.joint.shape[1]
    end = np.int64(expansion.rows.first_move[chooser + 1] - expansion.rows.first_move[chooser])
    first = rows
    move = next_legal(expansion, row, chooser, move)
    while move < end and rows < LANES:
        copy_state(expansion.before, rows, states, state)
        expansion.joint[rows, chooser] = move
        rows += 1
        move = next_legal(expansion, row, chooser, move + 1)
    for role in range(roles):
        if role != chooser:
            only = next_legal(expansion, row, np.int64(role), np.int64(0))
            for at in range(first, rows):
                expansion.joint[at, role] = only
    return np.int64(move), np.int64(rows)


@lean
def evaluate_steps(expansion: Expansion, joint: Ids, rows: Int) -> None:
    """`do_steps`, and of `after` all that `look` and `value_ends` show."""
    do_steps(expansion, joint, rows)
    look(expansion, expansion.after, rows)
    value_ends(expansion, expansion.after, rows)


@lean
def do_steps(expansion: Expansion, joint: Ids, rows: Int) -> None:
    """`before` and joint moves → `after`."""
    evaluate_rows(expansion.rows, expansion.words, np.int64(NEXT), expansion.before, joint, expansion.after, rows)


@lean
def value_ends(expansion: Expansion, states: Bits, count: Int) -> None:
    """Of those of the first `count` states, which were looked at, that are ends: `goal` and `value`.

    Overwrites `before`; `states` is another array.
    """
    ends = np.int64(0)
    for row in range(count):
        if expansion.chooser[row] == OVER:
            copy_state(expansion.before, ends, states, row)
            ends += 1
    if ends == 0:
        return
    bits, goal = expansion.goal_bits, expansion.goal
    evaluate_rows(expansion.rows, expansion.words, np.int64(GOALS), expansion.before, expansion.joint, bits, ends)
    single_values(bits[:ends], expansion.first_goal, expansion.goals_of_all, goal)
    for row in range(count - 1, -1, -1):
        if expansion.chooser[row] == OVER:
            ends -= 1
            for role in range(goal.shape[1]):
                found = goal[ends, role] if is_terminal(expansion, row) else np.int16(-1)
                goal[row, role] = found
                value = (found - expansion.lowest_goal[role]) / expansion.goal_span[role]
                expansion.value[row, role] = value if found >= 0 else UNKNOWN
