"""Random playouts in 512 lanes: the one loop that benchmarks, evidence about rules and the leaves of searches run.

Each lane has a state to start from, and a number of playouts to play from it. A lane whose state belongs to another
phase of the game than the block's next step waits for its turn. When a playout ends, the lane's goals are counted in
its own counters, and the next playout begins in the same lane.

From lanes (`make_lanes`) with states (`load_lanes`), `play` counts what all playouts come to; `play_values` gives the
values of each lane. `Simulator` does it from the initial state.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.errors import SettingsError
from ggp.kernel import (
    LANES,
    TALLY_BITS,
    WORD,
    Int,
    MachineCode,
    Words,
    aligned_words,
    any_lane,
    blend,
    call,
    count_both,
    fill_random,
    gate_and,
    gate_xor,
    lean,
    lowest,
    numba_inner,
    tally,
)
from ggp.simulation.evaluate import SPARE, UNKNOWN, Bits, Code, join_programs, pack, put_bits, run_program
from ggp.simulation.steps import BIRTH_BITS, RowLayout, Steps

DEFAULT_CAP = 100_000
UNLIMITED = -1  # playouts of a lane

# numbers that the loop keeps, as indices of Lanes.counters
STEP = 0  # steps of the block
STEPS = 1  # joint moves in all lanes
PLAYOUTS, CAPPED, STUCK = 2, 3, 4  # that reached a terminal state, lasted for the cap, ended where a role had no move
QUEUED = 5  # lanes that have playouts to begin
QUOTA_DIGITS = 6  # bits of the lanes' quotas that are in use; 0: they are unlimited
DUE = 7  # the step at which to look for playouts that have lasted for the cap
CREDITS = 8  # how often lanes were credited since their counters were moved to Lanes.goals
MOVED = 9  # how often they were moved
_COUNTERS = 10

_TOGETHER = 16  # lanes whose playouts begin in one step; fewer wait, as beginning takes long where there are many facts
_AT_ONCE = 64  # lanes that end in the same step, for which goals are counted in that step
_PAUSE = 8  # turns after which fewer begin, too
_LOW_BITS = 6  # of births, written when a playout begins; the others are written every 64 steps
_MOST_CREDITS = (1 << TALLY_BITS) - 1
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


class PlayoutPlan(NamedTuple):
    """What does not change while playouts run; threads may share it."""

    layout: RowLayout  # which rows of the words hold what
    code: Code  # programs 0 … Q - 1: the steps in turn; if they may clash, those without a common choice; late goals
    turns: int  # Q, a multiple of the phases and even
    phases: int
    random: Ids  # (Q,) random words of each program
    late: bool  # whether goals are evaluated now and then only
    goal_program: int  # the number of their program
    late_end: bool  # whether lanes end before a step, not after it
    goal_facts: Ids  # facts that late goals read
    same_goal: Ids  # (G,) as `Steps.same_goal`
    counted: Ids  # the goals that are their own `same_goal`: only these are counted
    addresses: NDArray[np.int64]  # machine code of each program, 0 for none; filled in by another thread at any time
    cap: int  # steps after which a playout is given up; one more where its end is seen late, and not counted
    birth_bits: int  # enough to tell ages up to the cap


class Lanes(NamedTuple):
    """A block of 512 lanes with its own stream of random numbers; one thread at a time uses it."""

    words: Words  # the rows of PlayoutPlan.layout, and SPARE more
    random: Words  # (4, 8)
    counters: NDArray[np.int64]  # see above
    goals: NDArray[np.int64]  # (G, 512) how often each counted goal was the outcome, without what is still in the words
    phase: NDArray[np.int32]  # (512,) of the state that the lane starts from
    quota: NDArray[np.int32]  # (512,) playouts of the lane; read by `load_lanes`
    done: NDArray[np.int32]  # (512,) playouts that are over; written by `play_values`
    values: NDArray[np.float64]  # (512, roles) the sum of what they came to; written by `play_values`


class Worth(NamedTuple):
    """What goal values count: 0 for the lowest that a role may get, 1 for the highest."""

    role: NDArray[np.int32]  # (G,) of each goal row
    value: NDArray[np.float64]  # (G,)


def worth_of(game: CompiledGame) -> Worth:
    """Goal values of each role spread over 0 … 1."""
    roles, values = [], []
    for role, goals in enumerate(game.goals):
        lowest_goal, span = min(goals, default=0), max(1, max(goals, default=0) - min(goals, default=0))
        roles += [role] * len(goals)
        values += [(goal - lowest_goal) / span for goal in goals]
    return Worth(np.array(roles, np.int32), np.array(values, np.float64))


@dataclass(frozen=True, slots=True)
class PlayoutTally:
    """What playouts came to."""

    playouts: int  # that reached a terminal state
    capped: int  # given up at the cap
    stuck: int  # that ended where a role had no legal move
    steps: int
    goals: tuple[int, ...]  # how often each goal value of each role was the outcome

    def __add__(self, other: "PlayoutTally") -> "PlayoutTally":
        return PlayoutTally(
            self.playouts + other.playouts,
            self.capped + other.capped,
            self.stuck + other.stuck,
            self.steps + other.steps,
            tuple(a + b for a, b in zip(self.goals, other.goals, strict=True)),
        )


class Ends(NamedTuple):
    """How playouts ended; each array has a row for each playout."""

    lengths: NDArray[np.int64]  # (n,) steps
    is_terminal: NDArray[np.bool_]  # (n,) whether it reached a terminal state
    is_stuck: NDArray[np.bool_]  # (n,) whether it ended where a role had no legal move; if neither, it was too long
    goals: NDArray[np.bool_]  # (n, G) which goal values the rules give at the end, where it is terminal
    states: Bits  # (n, words) where it got stuck
    is_cut_off: NDArray[np.bool_]  # (n,) whether it was given up for want of time


class Simulator:
    """Random playouts of one game."""

    def __init__(self, steps: Steps, initial: NDArray[np.bool_], cap: int = DEFAULT_CAP) -> None:
        self.steps = steps
        self.plan = make_plan(steps, cap)
        self._initial = pack(initial[np.newaxis])

    def use(self, code: MachineCode) -> None:
        """Let playouts run by machine code from their next step on: functions step_<phase> and, if late, goals."""
        for turn in range(self.plan.turns):
            self.plan.addresses[turn] = code.addresses[f"step_{turn % self.plan.phases}"]
        if self.plan.late:
            self.plan.addresses[self.plan.goal_program] = code.addresses["goals"]
        self._code = code  # keeps the functions in memory

    def block(self, seed: int, number: int, quota: int = UNLIMITED) -> Lanes:
        """512 lanes that are to play `quota` playouts from the initial state together."""
        lanes = make_lanes(self.plan, self.steps.rows, 0, (seed, number))
        lanes.quota[:] = UNLIMITED if quota == UNLIMITED else quota // LANES
        if quota != UNLIMITED:
            lanes.quota[: quota % LANES] += 1
        load_lanes(self.plan, lanes, np.repeat(self._initial, LANES, axis=0))
        return lanes

    def playouts(self, count: int, seed: int = 0, threads: int = 1, quota: int = 100 * LANES) -> PlayoutTally:
        """So many playouts from the initial state: the same for the same seed, whatever the number of threads."""
        quotas = [min(quota, count - first) for first in range(0, count, quota)]
        with ThreadPoolExecutor(max_workers=threads) as pool:
            parts = pool.map(lambda item: self._finish(seed, *item), enumerate(quotas))
            total = PlayoutTally(0, 0, 0, 0, (0,) * self.plan.layout.goals)
            for part in parts:
                total += part
        return total

    def tally(self, lanes: Lanes) -> PlayoutTally:
        """What all playouts of the lanes came to; the goals of the last ones once `play` has returned False."""
        counters = lanes.counters.tolist()
        goals = goal_counts(self.plan, lanes).sum(axis=1).tolist()
        return PlayoutTally(counters[PLAYOUTS], counters[CAPPED], counters[STUCK], counters[STEPS], tuple(goals))

    def single_playouts(self, count: int, cap: int, seed: int = 0, is_late: Callable[[], bool] = lambda: False) -> Ends:
        """So many playouts from the initial state, each looked at for itself; the same for the same seed.

        `is_late` is asked after each step; once it says so, the playouts that have not ended are cut off.
        """
        plan = with_cap(self.plan, cap)
        blocks = []
        for number, first in enumerate(range(0, count, LANES)):
            lanes = make_lanes(plan, self.steps.rows, 0, (seed, number))
            lanes.quota[: count - first] = 1
            load_lanes(plan, lanes, np.repeat(self._initial, LANES, axis=0))
            blocks.append([part[: count - first] for part in self._watch(plan, lanes, is_late)])
        return Ends(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def _watch(self, plan: PlayoutPlan, lanes: Lanes, is_late: Callable[[], bool]) -> Ends:
        """The one playout of each lane, step by step."""
        layout, words = plan.layout, lanes.words
        lengths = np.zeros(LANES, np.int64)
        terminal, stuck = np.zeros(LANES, np.bool_), np.zeros(LANES, np.bool_)
        states = np.zeros((LANES, self._initial.shape[1]), np.uint64)
        goes_on, active = True, lanes.quota > 0
        while goes_on and not is_late():
            before = layout.following if lanes.counters[STEP] & 1 else layout.current
            goes_on = play(plan, lanes, 1)
            now_terminal, now_stuck = unpack_lanes(words[layout.ended]), unpack_lanes(words[layout.stuck])
            lengths += active & ~now_stuck & ~(now_terminal & plan.late_end)
            if now_stuck.any():
                found = pack(unpack_lanes(words[before : before + layout.facts]).T)
                states[now_stuck] = found[now_stuck]
            terminal |= now_terminal
            stuck |= now_stuck
            active &= ~unpack_lanes(words[layout.waiting])
        return Ends(
            np.minimum(lengths, plan.cap - plan.late_end),
            terminal,
            stuck,
            goal_counts(plan, lanes).T > 0,
            states,
            active,
        )

    def _finish(self, seed: int, number: int, quota: int) -> PlayoutTally:
        lanes = self.block(seed, number, quota)
        while play(self.plan, lanes, 1000):
            pass
        return self.tally(lanes)


def make_plan(steps: Steps, cap: int = DEFAULT_CAP) -> PlayoutPlan:
    """The arrays that the kernel reads; SettingsError for a cap that is not 1 to 2 ** (BIRTH_BITS - 1)."""
    layout, phases = steps.layout, len(steps.phases)
    turns = lcm(2, phases)
    programs = []
    for phased in (steps.phases, steps.apart):
        for turn in range(turns if phased else 0):
            program = phased[turn % phases]
            programs.append(program.moved(layout.swapped(program.rows)) if turn & 1 else program)
    if steps.late_goals is not None:
        programs.append(steps.late_goals)
    plan = PlayoutPlan(
        layout=layout,
        code=join_programs(tuple(programs)),
        turns=turns,
        phases=phases,
        random=np.array([_random_words(steps, turn % phases) for turn in range(turns)], np.int32),
        late=steps.late_goals is not None,
        goal_program=len(programs) - 1,
        late_end=steps.late_end,
        goal_facts=steps.goal_facts,
        same_goal=steps.same_goal,
        counted=np.unique(steps.same_goal).astype(np.int32),
        addresses=np.zeros(len(programs), np.int64),
        cap=0,
        birth_bits=0,
    )
    return with_cap(plan, cap)


def with_cap(plan: PlayoutPlan, cap: int) -> PlayoutPlan:
    """The plan with another cap, sharing its machine code; SettingsError as `make_plan`."""
    if not 1 <= cap <= 1 << (BIRTH_BITS - 1):
        raise SettingsError(f"a playout may last 1 to {1 << (BIRTH_BITS - 1):,} steps, not {cap:,}")
    return plan._replace(cap=cap + 1 if plan.late_end else cap, birth_bits=int(cap + 1).bit_length() + 1)


def _random_words(steps: Steps, phase: int) -> int:
    """How many of the random words a phase's program reads."""
    first = steps.layout.first_random
    programs = [phased[phase] for phased in (steps.phases, steps.apart) if phased]
    read = np.concatenate([side >> 1 for program in programs for side in (program.left, program.right)])
    read = read[(read >= first) & (read < steps.layout.first_free)]
    return int(read.max()) + 1 - first if len(read) else 0


def make_lanes(plan: PlayoutPlan, rows: int, roles: int, seed: int | tuple[int, ...]) -> Lanes:
    """Lanes without work; rows: `Steps.rows`."""
    words = aligned_words(rows + SPARE)
    words[plan.layout.waiting] = words[plan.layout.ones] = _FULL
    counters = np.zeros(_COUNTERS, np.int64)
    counters[DUE] = plan.cap
    random = np.random.SeedSequence(seed).generate_state(4 * WORD, np.uint64).astype(np.uint64).reshape(4, WORD)
    phase, quota, done = (np.zeros(LANES, np.int32) for _ in range(3))
    goals = np.zeros((plan.layout.goals, LANES), np.int64)
    return Lanes(words, random, counters, goals, phase, quota, done, np.zeros((LANES, roles), np.float64))


def playouts_over(lanes: Lanes) -> int:
    """How many playouts came to an end, of whatever kind."""
    return int(lanes.counters[PLAYOUTS] + lanes.counters[CAPPED] + lanes.counters[STUCK])


def goal_counts(plan: PlayoutPlan, lanes: Lanes) -> NDArray[np.int64]:
    """(G, 512) how often each goal value was the outcome in each lane."""
    layout = plan.layout
    rows = lanes.words[layout.first_tally :][: layout.goals * TALLY_BITS]
    digits = unpack_lanes(rows).reshape(layout.goals, TALLY_BITS, LANES)
    weights = np.int64(1) << np.arange(TALLY_BITS, dtype=np.int64)
    found: NDArray[np.int64] = lanes.goals + np.einsum("gdl,d->gl", digits, weights)
    return found[plan.same_goal]


def unpack_lanes(words: Words) -> NDArray[np.bool_]:
    """(..., 512) whether each lane has its bit, of words of shape (..., 8)."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little").view(np.bool_)


@lean
def load_lanes(plan: PlayoutPlan, lanes: Lanes, states: Bits) -> None:
    """Give lane l the state states[l], and quota[l] playouts to begin when its phase comes.

    Quotas are less than 2 ** QUOTA_BITS, or UNLIMITED in all lanes.
    """
    layout, words, quota = plan.layout, lanes.words, lanes.quota
    put_bits(words, layout.start, layout.facts, states, 0, states.shape[0])
    most = np.int64(0)
    for lane in range(LANES):
        most = max(most, np.int64(quota[lane]))
    digits = 0
    while most >> digits:
        digits += 1
    words[layout.first_queue : layout.first_queue + plan.phases] = np.uint64(0)
    words[layout.first_quota : layout.first_quota + digits] = np.uint64(0)
    queued = 0
    for lane in range(LANES):
        if quota[lane]:
            column, bit = lane >> 6, np.uint64(1) << np.uint64(lane & 63)
            words[layout.first_queue + lanes.phase[lane], column] |= bit
            queued += 1
            for digit in range(digits):
                if (quota[lane] >> digit) & 1:
                    words[layout.first_quota + digit, column] |= bit
    lanes.counters[QUEUED] = queued
    lanes.counters[QUOTA_DIGITS] = digits


@lean
def play(plan: PlayoutPlan, lanes: Lanes, steps: Int) -> bool:
    """Play so many steps in all lanes that have work; False as soon as none is left."""
    layout, words, counters = plan.layout, lanes.words, lanes.counters
    working = LANES - count_both(words, layout.waiting, layout.ones)
    pause = _PAUSE * plan.turns
    for _ in range(steps):
        if working == 0 and counters[QUEUED] == 0:
            break
        turn = counters[STEP] % plan.turns
        current = layout.facts * (turn & 1) + layout.current
        together = working <= LANES - _TOGETHER or counters[STEP] % pause < plan.turns
        if working < LANES and counters[QUEUED] and together:
            working += _begin(plan, lanes, current, turn % plan.phases)
        counters[STEP] += 1
        if counters[STEP] & ((1 << _LOW_BITS) - 1) == 0:
            _date_births(plan, lanes)
        if working == 0:
            continue
        fill_random(words, layout.first_random, plan.random[turn], lanes.random)
        following = layout.following - layout.facts * (turn & 1)
        _run_turn(plan, words, turn, current, following)
        if any_lane(words, layout.clash):
            run_program(words, plan.code, plan.turns + turn)
        counters[STEPS] += working
        if any_lane(words, layout.stuck):
            halted = count_both(words, layout.stuck, layout.ones)
            counters[STUCK] += halted
            counters[STEPS] -= halted
            working -= halted
        if any_lane(words, layout.ended):
            finished = count_both(words, layout.ended, layout.ones)
            counters[PLAYOUTS] += finished
            working -= finished
            if plan.late_end:
                counters[STEPS] -= finished
            _collect(plan, lanes, current if plan.late_end else following, finished)
        gate_and(words, 2 * layout.over, 1, layout.waiting)
        if counters[STEP] >= counters[DUE]:
            working -= _give_up(plan, lanes)
    if working == 0 and counters[QUEUED] == 0:
        _settle(plan, lanes)
        return False
    return True


@lean
def play_values(plan: PlayoutPlan, lanes: Lanes, worth: Worth, steps: Int) -> bool:
    """The same; when no work is left, `done` and `values` say what each lane's playouts came to."""
    if play(plan, lanes, steps):
        return True
    layout, values = plan.layout, lanes.values
    for lane in range(LANES):
        lanes.done[lane] = lanes.quota[lane]
        lanes.quota[lane] = 0
        for role in range(values.shape[1]):
            values[lane, role] = UNKNOWN * lanes.done[lane]
    digits = 0
    while lanes.counters[CREDITS] >> digits:
        digits += 1
    for goal in range(layout.goals):
        role, value, same = worth.role[goal], worth.value[goal] - UNKNOWN, plan.same_goal[goal]
        if lanes.counters[MOVED]:
            for lane in range(LANES):
                values[lane, role] += value * lanes.goals[same, lane]
        for digit in range(digits):
            row = layout.first_tally + same * TALLY_BITS + digit
            for column in range(WORD):
                left = lanes.words[row, column]
                while left:
                    values[64 * column + lowest(left), role] += value * (1 << digit)
                    left &= left - np.uint64(1)
    _clear_goals(plan, lanes)
    return False


@lean
def drain_lanes(plan: PlayoutPlan, lanes: Lanes) -> None:
    """Begin no more playouts."""
    for phase in range(plan.phases):
        gate_and(lanes.words, 0, 0, plan.layout.first_queue + phase)
    lanes.counters[QUEUED] = 0


@lean
def drop_lanes(plan: PlayoutPlan, lanes: Lanes) -> None:
    """Forget all playouts, those under way too."""
    drain_lanes(plan, lanes)
    layout = plan.layout
    gate_and(lanes.words, 2 * layout.ones, 2 * layout.ones, layout.waiting)
    gate_and(lanes.words, 0, 0, layout.pending)
    _clear_goals(plan, lanes)
    lanes.quota[:] = 0
    lanes.done[:] = 0
    lanes.values[:] = 0.0


@numba_inner
def _run_turn(plan: PlayoutPlan, words: Words, program: Int, current: Int, following: Int) -> None:
    address = plan.addresses[program]
    if address:
        call(address, words, current, following)
    else:
        run_program(words, plan.code, program)


@numba_inner
def _begin(plan: PlayoutPlan, lanes: Lanes, current: Int, phase: Int) -> Int:
    """Start playouts in the waiting lanes that are queued for this phase; how many."""
    layout, words, counters = plan.layout, lanes.words, lanes.counters
    taken = layout.taken
    gate_and(words, 2 * layout.waiting, 2 * (layout.first_queue + phase), taken)
    begun = 0
    if any_lane(words, taken):
        begun = count_both(words, taken, layout.ones)
        gate_and(words, 2 * layout.waiting, 2 * taken + 1, layout.waiting)
        for fact in range(layout.facts):
            blend(words, current + fact, layout.start + fact, taken)
        blend(words, layout.young, layout.ones, taken)
        for bit in range(min(_LOW_BITS, plan.birth_bits)):
            blend(words, layout.first_birth + bit, layout.ones if (counters[STEP] >> bit) & 1 else 0, taken)
        if counters[QUOTA_DIGITS]:
            _use_quota(plan, lanes, phase)
    return np.int64(begun)


@numba_inner
def _date_births(plan: PlayoutPlan, lanes: Lanes) -> None:
    """Write the high bits of the births since the last multiple of 64 steps, those of the step before this one."""
    layout, words, born = plan.layout, lanes.words, lanes.counters[STEP] - 1
    for bit in range(_LOW_BITS, plan.birth_bits):
        blend(words, layout.first_birth + bit, layout.ones if (born >> bit) & 1 else 0, layout.young)
    gate_and(words, 0, 0, layout.young)


@numba_inner
def _use_quota(plan: PlayoutPlan, lanes: Lanes, phase: Int) -> None:
    """Subtract 1 from the quotas of the lanes that are taken, and take those off the queue that have come to 0."""
    layout, words, counters = plan.layout, lanes.words, lanes.counters
    borrow, zero, queue = layout.borrow, layout.zero, layout.first_queue + phase
    gate_and(words, 2 * layout.taken, 1, borrow)
    gate_and(words, 2 * layout.taken, 1, zero)
    for digit in range(counters[QUOTA_DIGITS]):
        row = layout.first_quota + digit
        gate_xor(words, 2 * row, 2 * borrow, row)
        gate_and(words, 2 * borrow, 2 * row, borrow)
        gate_and(words, 2 * zero, 2 * row + 1, zero)
    counters[QUEUED] -= count_both(words, zero, queue)
    gate_and(words, 2 * queue, 2 * zero + 1, queue)


@numba_inner
def _collect(plan: PlayoutPlan, lanes: Lanes, final: Int, count: Int) -> None:
    """Put the goals of the lanes that ended aside, or their states where goals are late, until a lane ends again.

    Goals of many lanes (count: how many) are counted at once.
    """
    layout, words = plan.layout, lanes.words
    ended, pending = layout.ended, layout.pending
    gate_and(words, 2 * ended, 2 * pending, layout.taken)
    if any_lane(words, layout.taken):
        _settle(plan, lanes)
    if count >= _AT_ONCE and not plan.late:
        _count_goals(plan, lanes, layout.first_goal, ended)
        return
    if plan.late:
        for fact in plan.goal_facts:
            blend(words, layout.finished + fact, final + fact, ended)
    else:
        for goal in plan.counted:
            blend(words, layout.first_held + goal, layout.first_goal + goal, ended)
    blend(words, pending, ended, ended)


@numba_inner
def _settle(plan: PlayoutPlan, lanes: Lanes) -> None:
    """Count the goals of the lanes that are pending."""
    layout, words = plan.layout, lanes.words
    if any_lane(words, layout.pending):
        first = layout.first_held
        if plan.late:
            _run_turn(plan, words, plan.goal_program, layout.current, layout.following)
            first = layout.first_goal
        _count_goals(plan, lanes, first, layout.pending)
        gate_and(words, 0, 0, layout.pending)


@numba_inner
def _count_goals(plan: PlayoutPlan, lanes: Lanes, first: Int, ended: Int) -> None:
    """Of the lanes that a row names, once each; first: the row of the first goal."""
    for goal in plan.counted:
        tally(lanes.words, first + goal, ended, plan.layout.first_tally + goal * TALLY_BITS)
    lanes.counters[CREDITS] += 1
    if lanes.counters[CREDITS] == _MOST_CREDITS:
        _move_goals(plan, lanes)


@lean
def _move_goals(plan: PlayoutPlan, lanes: Lanes) -> None:
    """Add what the words have counted to Lanes.goals."""
    layout, words = plan.layout, lanes.words
    for goal in plan.counted:
        for digit in range(TALLY_BITS):
            row = layout.first_tally + goal * TALLY_BITS + digit
            for column in range(WORD):
                word = words[row, column]
                words[row, column] = np.uint64(0)
                for bit in range(64):
                    lanes.goals[goal, 64 * column + bit] += np.int64((word >> np.uint64(bit)) & np.uint64(1)) << digit
    lanes.counters[CREDITS] = 0
    lanes.counters[MOVED] += 1


@numba_inner
def _clear_goals(plan: PlayoutPlan, lanes: Lanes) -> None:
    layout, counters = plan.layout, lanes.counters
    for row in range(layout.first_tally, layout.first_tally + layout.goals * TALLY_BITS):
        gate_and(lanes.words, 0, 0, row)
    if counters[MOVED]:
        lanes.goals[:] = 0
    counters[CREDITS] = 0
    counters[MOVED] = 0


@numba_inner
def _give_up(plan: PlayoutPlan, lanes: Lanes) -> Int:
    """End playouts that have lasted for the cap, and find the step at which to look again; how many ended."""
    _date_births(plan, lanes)
    layout, words, counters = plan.layout, lanes.words, lanes.counters
    due = counters[STEP] + plan.cap
    ended = 0
    for column in range(WORD):
        active = ~words[layout.waiting, column]
        while active:
            lane = np.uint64(lowest(active))
            active &= active - np.uint64(1)
            birth = np.int64(0)
            for bit in range(plan.birth_bits):
                word = words[layout.first_birth + bit, column]
                birth |= np.int64((word >> lane) & np.uint64(1)) << bit
            age = (counters[STEP] - birth) & ((1 << plan.birth_bits) - 1)
            if age >= plan.cap:
                words[layout.waiting, column] |= np.uint64(1) << lane
                ended += 1
            else:
                due = min(due, counters[STEP] + plan.cap - age)
    counters[CAPPED] += ended
    if plan.late_end:
        counters[STEPS] -= ended
    counters[DUE] = due
    return np.int64(ended)
