"""Random playouts from 512 given states, one to a lane, several times each: the mean goals of each lane.

The step programs are those of `playouts`; there the lanes are one sample of one state, here each lane answers for its
own. A lane whose state belongs to another phase of the game than the block's next step waits for its turn.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.kernel import (
    LANES,
    WORD,
    Int,
    Words,
    aligned_words,
    any_lane,
    blend,
    count_both,
    fill_random,
    gate_and,
    inner,
    lean,
    lowest,
)
from ggp.simulation.evaluate import SPARE, UNKNOWN, Bits, put_bits, run_program
from ggp.simulation.playout import ONES, PENDING, TAKEN, Plan, run_turn

STEP, STEPS, PLAYOUTS, CAPPED, IDLE = range(5)  # indices of Leaves.counters
_QUEUED = TAKEN + 1  # a row of the loop's own, like ONES
_CAP_CHECK = 64  # steps between two looks for playouts that last too long


class Worth(NamedTuple):
    """What goal values count: 0 for the lowest that a role may get, 1 for the highest."""

    role: NDArray[np.int32]  # (G,) of each goal row
    value: NDArray[np.float64]  # (G,)


class Leaves(NamedTuple):
    """512 lanes, each with a state to start from; lane l's results are row l."""

    words: Words
    random: Words  # (4, 8)
    counters: NDArray[np.int64]
    phase: NDArray[np.int32]  # (512,) of the lane's state
    left: NDArray[np.int32]  # (512,) playouts that have not begun
    born: NDArray[np.int64]  # (512,) the step at which the lane's playout began
    done: NDArray[np.int32]  # (512,) playouts that ended
    values: NDArray[np.float64]  # (512, roles) the sum of what they came to


def worth_of(game: CompiledGame) -> Worth:
    """Goal values of each role spread over 0 … 1."""
    roles, values = [], []
    for role, goals in enumerate(game.goals):
        lowest_goal, span = min(goals, default=0), max(1, max(goals, default=0) - min(goals, default=0))
        roles += [role] * len(goals)
        values += [(goal - lowest_goal) / span for goal in goals]
    return Worth(np.array(roles, np.int32), np.array(values, np.float64))


def make_leaves(plan: Plan, rows: int, roles: int, seed: int) -> Leaves:
    """Lanes without work."""
    words = aligned_words(rows + SPARE)
    words[plan.waiting] = words[plan.lanes + ONES] = np.uint64(0xFFFFFFFFFFFFFFFF)
    counters = np.zeros(5, np.int64)
    counters[IDLE] = LANES
    random = np.random.SeedSequence(seed).generate_state(4 * WORD, np.uint64).astype(np.uint64).reshape(4, WORD)
    lanes = [np.zeros(LANES, np.int32) for _ in range(3)]
    born = np.zeros(LANES, np.int64)
    return Leaves(words, random, counters, lanes[0], lanes[1], born, lanes[2], np.zeros((LANES, roles), np.float64))


@lean
def load_leaves(plan: Plan, leaves: Leaves, states: Bits) -> None:
    """Give lane l the state states[l]; lanes with left > 0 start when their phase comes."""
    words = leaves.words
    put_bits(words, 1 + 3 * plan.facts, plan.facts, states, 0, states.shape[0])
    queued = plan.lanes + _QUEUED
    for column in range(WORD):
        word = np.uint64(0)
        for at in range(64):
            word |= np.uint64(leaves.left[64 * column + at] > 0) << np.uint64(at)
        words[queued, column] = word
    _count_idle(plan, leaves)


@lean
def drop_leaves(plan: Plan, leaves: Leaves) -> None:
    """Forget all playouts, those under way too."""
    ones = plan.lanes + ONES
    gate_and(leaves.words, 2 * ones, 2 * ones, plan.waiting)
    gate_and(leaves.words, 0, 0, plan.lanes + PENDING)
    gate_and(leaves.words, 0, 0, plan.lanes + _QUEUED)
    leaves.left[:] = 0
    leaves.done[:] = 0
    leaves.values[:] = 0.0
    leaves.counters[IDLE] = LANES


@lean
def play_leaves(plan: Plan, leaves: Leaves, worth: Worth, steps: Int, enough: Int) -> bool:
    """Play so many steps; False as soon as `enough` lanes have nothing left to play, their values being complete."""
    words, counters = leaves.words, leaves.counters
    waiting, over, ended, stuck = plan.waiting, plan.waiting + 1, plan.waiting + 2, plan.waiting + 3
    queued, ones = plan.lanes + _QUEUED, plan.lanes + ONES
    working = LANES - count_both(words, waiting, ones)
    for _ in range(steps):
        if counters[IDLE] >= enough:
            break
        turn = counters[STEP] % plan.turns
        current = 1 + plan.facts * (turn & 1)
        if working < LANES and any_lane(words, queued):
            working += _begin(plan, leaves, current, turn % plan.phases)
        counters[STEP] += 1
        if working == 0:
            continue
        fill_random(words, plan.first_random, plan.random[turn], leaves.random)
        following = 1 + plan.facts - plan.facts * (turn & 1)
        run_turn(plan, words, turn, current, following)
        if any_lane(words, plan.waiting + 4):
            run_program(words, plan.code, plan.turns + turn)
        counters[STEPS] += working
        changed = False
        if any_lane(words, stuck):
            working -= _end_unknown(leaves, stuck)
            changed = True
        if any_lane(words, ended):
            working -= count_both(words, ended, ones)
            _collect(plan, leaves, worth, current if plan.late_end else following)
            changed = True
        gate_and(words, 2 * over, 1, waiting)
        if counters[STEP] % _CAP_CHECK == 0:
            gave_up = _give_up(plan, leaves)
            working -= gave_up
            changed = changed or bool(gave_up > 0)
        if changed:
            _count_idle(plan, leaves)
    if counters[IDLE] < enough:
        return True
    _settle(plan, leaves, worth)
    return False


@inner
def _count_idle(plan: Plan, leaves: Leaves) -> None:
    """Lanes whose playouts are all over."""
    words, queued = leaves.words, plan.lanes + _QUEUED
    gate_and(words, 2 * plan.waiting, 2 * queued + 1, plan.lanes + TAKEN)
    leaves.counters[IDLE] = count_both(words, plan.lanes + TAKEN, plan.lanes + ONES)


@inner
def _begin(plan: Plan, leaves: Leaves, current: Int, phase: Int) -> Int:
    """Start playouts in lanes that wait for this phase; how many."""
    words, queued, taken = leaves.words, plan.lanes + _QUEUED, plan.lanes + TAKEN
    begun = 0
    for column in range(WORD):
        candidates = words[plan.waiting, column] & words[queued, column]
        chosen = np.uint64(0)
        while candidates:
            at = lowest(candidates)
            bit = candidates & (~candidates + np.uint64(1))
            candidates ^= bit
            lane = 64 * column + at
            if leaves.phase[lane] == phase:
                chosen |= bit
                begun += 1
                leaves.born[lane] = leaves.counters[STEP]
                leaves.left[lane] -= 1
                if leaves.left[lane] == 0:
                    words[queued, column] ^= bit
        words[taken, column] = chosen
    if begun:
        gate_and(words, 2 * plan.waiting, 2 * taken + 1, plan.waiting)
        for fact in range(plan.facts):
            blend(words, current + fact, 1 + 3 * plan.facts + fact, taken)
    return np.int64(begun)


@inner
def _collect(plan: Plan, leaves: Leaves, worth: Worth, final: Int) -> None:
    """Credit lanes that ended with their goals, or put their states aside until it is worth evaluating them."""
    words = leaves.words
    ended, pending = plan.waiting + 2, plan.lanes + PENDING
    if not plan.late:
        _credit(plan, leaves, worth, ended)
        return
    if count_both(words, ended, pending):
        _settle(plan, leaves, worth)
    first = 1 + 2 * plan.facts
    for fact in plan.goal_facts:
        blend(words, first + fact, final + fact, ended)
    gate_and(words, 2 * pending + 1, 2 * ended + 1, pending)
    gate_and(words, 2 * pending + 1, 1, pending)


@inner
def _settle(plan: Plan, leaves: Leaves, worth: Worth) -> None:
    """Evaluate the goals of all states that were put aside."""
    pending = plan.lanes + PENDING
    if any_lane(leaves.words, pending):
        run_turn(plan, leaves.words, plan.goal_program, 1, 1 + plan.facts)
        _credit(plan, leaves, worth, pending)
        gate_and(leaves.words, 0, 0, pending)


@inner
def _credit(plan: Plan, leaves: Leaves, worth: Worth, row: Int) -> None:
    """Add the goal values of the lanes of a row; a role without one gets UNKNOWN."""
    words = leaves.words
    _end_unknown(leaves, row)
    for goal in range(plan.goals):
        role, value = worth.role[goal], worth.value[goal] - UNKNOWN
        for column in range(WORD):
            lanes = words[row, column] & words[plan.waiting + 5 + goal, column]
            while lanes:
                leaves.values[64 * column + lowest(lanes), role] += value
                lanes &= lanes - np.uint64(1)


@inner
def _end_unknown(leaves: Leaves, row: Int) -> Int:
    """Count the playouts of a row's lanes as over, with unknown values; how many."""
    ended = 0
    for column in range(WORD):
        lanes = leaves.words[row, column]
        while lanes:
            lane = 64 * column + lowest(lanes)
            lanes &= lanes - np.uint64(1)
            leaves.done[lane] += 1
            for role in range(leaves.values.shape[1]):
                leaves.values[lane, role] += UNKNOWN
            ended += 1
    leaves.counters[PLAYOUTS] += ended
    return np.int64(ended)


@inner
def _give_up(plan: Plan, leaves: Leaves) -> Int:
    """End playouts that have lasted for the cap; how many."""
    words, taken = leaves.words, plan.lanes + TAKEN
    ended = 0
    for column in range(WORD):
        active = ~words[plan.waiting, column]
        late = np.uint64(0)
        while active:
            bit = active & (~active + np.uint64(1))
            if leaves.counters[STEP] - leaves.born[64 * column + lowest(active)] >= plan.cap:
                late |= bit
                ended += 1
            active ^= bit
        words[taken, column] = late
        words[plan.waiting, column] |= late
    if ended:
        leaves.counters[CAPPED] += ended
        _end_unknown(leaves, taken)
    return np.int64(ended)
