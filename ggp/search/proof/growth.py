"""States of a proof-number search become known: their moves and what follows, in batches of 512 on the circuit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, inner, lean, lowest
from ggp.search.mcts.expansion import Rules, part_between
from ggp.search.proof.walks import ANSWERED, CROWDED, CYCLES, EXPANDED, ODD, TOP, Walks, give_up_answered, step
from ggp.simulation.evaluate import GOALS, LOOK, NEXT, Bits, copy_state, evaluate_rows, single_values

TINY = 1e-9
_CYCLES_BETWEEN = 16  # looks whether a state above was answered by another walk


class Room(NamedTuple):
    """For a batch."""

    rules: Rules
    before: Bits  # (512, words)
    after: Bits
    found: Bits  # (512, words of moves)
    goals: Bits
    goal_values: NDArray[np.int16]  # (512, 2)
    joint: Ids  # (512, 2)
    owner: Ids  # (512,) where the states belong
    worth: NDArray[np.float64]  # (A,) the first role's values in order
    lowest: NDArray[np.float64]  # (2,) the goal value that counts as 0
    span: NDArray[np.float64]  # (2,) what is added to it for 1


@lean
def advance(table: Bits, walks: Walks, room: Room, cycles: Int) -> None:
    """So many times: each walk goes on to a state whose moves it has to know, and these are worked out together."""
    counters, rules = walks.counters, room.rules
    for _ in range(cycles):
        for walk in range(len(walks.depth)):
            while walks.moves[walk, walks.depth[walk]] >= 0:
                step(table, walks, walk)
                if counters[ANSWERED] or counters[CROWDED]:
                    return
        done, waiting = np.int64(0), len(walks.depth)
        while done < waiting:
            for walk in range(done, waiting):
                copy_state(room.before, walk - done, walks.states, walks.place[walk, walks.depth[walk]])
            look = waiting - done
            evaluate_rows(rules.rows, rules.words, np.int64(LOOK), room.before, room.joint, room.found, look)
            more, rows = _list_steps(walks, room, done)
            if more == 0:
                return
            done += more
            _follow(walks, room, rows)
            if counters[ODD]:
                return
        counters[CYCLES] += 1
        if counters[CYCLES] % _CYCLES_BETWEEN == 0:
            give_up_answered(table, walks)


@inner
def _is_set(bits: Bits, row: Int, at: Int) -> bool:
    return bool((bits[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1) != np.uint64(0))


@lean
def _choice(found: Bits, row: Int, first_move: Ids) -> tuple[Int, Int]:
    """The only role with a choice and its number of moves; -1: several have one, -2: a role cannot move."""
    chooser, moves, choosers = np.int64(0), np.int64(1), 0
    for role in range(len(first_move) - 1):
        count = np.int64(0)
        for word in range(first_move[role] >> 6, (first_move[role + 1] + 63) >> 6):
            bits = part_between(found[row, word], word, first_move[role], first_move[role + 1])
            while bits:
                bits &= bits - np.uint64(1)
                count += 1
        if count == 0:
            return np.int64(-2), np.int64(0)
        if count > 1:
            chooser, moves, choosers = np.int64(role), count, choosers + 1
    return (chooser, moves) if choosers < 2 else (np.int64(-1), np.int64(0))


@inner
def _only_move(found: Bits, row: Int, first_move: Ids, role: Int) -> Int:
    """The first legal move of a role, numbered within it."""
    move = np.int64(first_move[role])
    while not _is_set(found, row, move):
        move += 1
    return np.int64(move - first_move[role])


@lean
def _list_steps(walks: Walks, room: Room, done: Int) -> tuple[Int, Int]:
    """The moves of the walks from `done` on, as far as there is room: of how many walks, and how many moves."""
    counters, first_move = walks.counters, room.rules.rows.first_move
    each = walks.states.shape[0] // len(walks.depth)
    rows = np.int64(0)
    for walk in range(done, len(walks.depth)):
        look, depth = walk - done, walks.depth[walk]
        chooser, moves = _choice(room.found, look, first_move)
        if chooser < 0:
            counters[ODD] = 1
            return np.int64(0), np.int64(0)
        if moves > LANES or walks.first[walk, depth] + moves > (walk + 1) * each:
            counters[CROWDED] = 1
            return np.int64(0), np.int64(0)
        if rows + moves > LANES:
            return np.int64(look), rows
        walks.chooser[walk, depth], walks.moves[walk, depth] = chooser, moves
        walks.work[walk, depth] += 1
        counters[EXPANDED] += 1
        child = walks.first[walk, depth]
        other = _only_move(room.found, look, first_move, 1 - chooser)
        for word in range(first_move[chooser] >> 6, (first_move[chooser + 1] + 63) >> 6):
            bits = part_between(
                room.found[look, word], word, np.int64(first_move[chooser]), np.int64(first_move[chooser + 1])
            )
            while bits:
                room.joint[rows, chooser] = 64 * word + lowest(bits) - first_move[chooser]
                room.joint[rows, 1 - chooser] = other
                room.owner[rows] = child
                copy_state(room.before, rows, walks.states, walks.place[walk, depth])
                bits &= bits - np.uint64(1)
                child += 1
                rows += 1
    return np.int64(len(walks.depth) - done), rows


@lean
def _follow(walks: Walks, room: Room, rows: Int) -> None:
    """Work out the listed steps: the states after them, and what is known of these at first sight."""
    counters, rules = walks.counters, room.rules
    first_move = rules.rows.first_move
    evaluate_rows(rules.rows, rules.words, np.int64(NEXT), room.before, room.joint, room.after, rows)
    evaluate_rows(rules.rows, rules.words, np.int64(LOOK), room.after, room.joint, room.found, rows)
    ends = np.int64(0)
    for row in range(rows):
        child = np.int64(room.owner[row])
        copy_state(walks.states, child, room.after, row)
        chooser, moves = _choice(room.found, row, first_move)
        if _is_set(room.found, row, first_move[-1]) or chooser == -2:
            copy_state(room.before, ends, room.after, row)
            room.owner[ends] = child
            ends += 1
            continue
        if chooser == -1:
            counters[ODD] = 1
            return
        walks.low[child], walks.high[child] = 0, counters[TOP]
        walks.proofs[child], walks.disproofs[child] = (1, 2 * moves) if chooser == 0 else (2 * moves, 1)
    if ends == 0:
        return
    evaluate_rows(rules.rows, rules.words, np.int64(GOALS), room.before, room.joint, room.goals, ends)
    single_values(room.goals[:ends], rules.first_goal, rules.goal_values, room.goal_values)
    for row in range(ends):
        level = _level(room, row)
        if level < 0:
            counters[ODD] = 1
            return
        walks.low[room.owner[row]] = walks.high[room.owner[row]] = level


@inner
def _level(room: Room, row: Int) -> Int:
    """Which value an end has for the first role; -1 where values are missing or do not add up to 1."""
    mine, other = room.goal_values[row, 0], room.goal_values[row, 1]
    level = np.int64(-1)
    value = (mine - room.lowest[0]) / room.span[0]
    if mine >= 0 and other >= 0 and abs(value + (other - room.lowest[1]) / room.span[1] - 1.0) < TINY:
        for at in range(len(room.worth)):
            if abs(room.worth[at] - value) < TINY:
                level = np.int64(at)
    return level
