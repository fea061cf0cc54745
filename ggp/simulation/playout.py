"""Random playouts in 512 lanes: steps until a lane's match ends, its goals, and the next match in the same lane."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.errors import SettingsError
from ggp.kernel import (
    LANES,
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
    inner,
    lean,
    lowest,
)
from ggp.simulation.evaluate import Code, join_programs, run_program
from ggp.simulation.steps import Steps

# numbers that the loop keeps, as indices of Lanes.counters
STEP, QUOTA, STEPS, PLAYOUTS, CAPPED, STUCK, DUE = range(7)
FIRST_GOAL = 7

# rows of the loop's own, counted from Plan.lanes
ONES, PENDING, TAKEN, FIRST_BIRTH = range(4)
BIRTH_BITS = 24  # of the step at which a lane's playout began; a playout may be as long as half of this


class Plan(NamedTuple):
    """What does not change while playouts run."""

    code: Code  # programs 0 … Q - 1: the steps in turn; if they may clash, those without a common choice; late goals
    turns: int  # Q, a multiple of the phases and even
    phases: int
    start_phase: int
    facts: int
    goals: int
    waiting: int  # a row; over, ended, stuck, clash and the goals follow it
    lanes: int  # the first row of the loop's own
    first_random: int
    random: Ids  # (Q,) random words of each program
    late: bool  # whether goals are evaluated now and then only
    goal_program: int  # the number of their program
    late_end: bool  # whether lanes end before a step, not after it
    goal_facts: Ids  # facts that late goals read
    addresses: NDArray[np.int64]  # machine code of each program, 0 for none; may be filled in at any time
    cap: int  # steps after which a playout is given up; one more where its end is seen late, and not counted
    birth_bits: int  # enough to tell ages up to the cap


class Lanes(NamedTuple):
    """What changes: one block of 512 lanes with its own stream of random numbers."""

    words: Words
    random: Words  # (4, 8)
    counters: NDArray[np.int64]  # see above; then for each goal value how often it was the outcome


@lean
def play(plan: Plan, lanes: Lanes, steps: Int) -> bool:
    """Play so many steps in all lanes that have work; whether any is left."""
    words, counters = lanes.words, lanes.counters
    waiting, over, ended, stuck = plan.waiting, plan.waiting + 1, plan.waiting + 2, plan.waiting + 3
    ones = plan.lanes + ONES
    working = LANES - count_both(words, waiting, ones)
    for _ in range(steps):
        turn = counters[STEP] % plan.turns
        current = 1 + plan.facts * (turn & 1)
        if working < LANES and turn % plan.phases == plan.start_phase:
            working += _refill(plan, lanes, current)
        if working == 0:
            if counters[QUOTA] == 0:
                _settle(plan, lanes)
                return False
            counters[STEP] += 1
            continue
        fill_random(words, plan.first_random, plan.random[turn], lanes.random)
        following = 1 + plan.facts - plan.facts * (turn & 1)
        run_turn(plan, words, turn, current, following)
        if any_lane(words, plan.waiting + 4):
            run_program(words, plan.code, plan.turns + turn)
        counters[STEP] += 1
        counters[STEPS] += working
        if any_lane(words, stuck):
            halted = count_both(words, stuck, ones)
            counters[STUCK] += halted
            counters[STEPS] -= halted
            working -= halted
        if any_lane(words, ended):
            finished = count_both(words, ended, ones)
            counters[PLAYOUTS] += finished
            working -= finished
            if plan.late_end:
                counters[STEPS] -= finished
            _collect(plan, lanes, current if plan.late_end else following)
        gate_and(words, 2 * over, 1, waiting)
        if counters[STEP] >= counters[DUE]:
            working -= _give_up(plan, lanes)
    return True


@inner
def run_turn(plan: Plan, words: Words, program: Int, current: Int, following: Int) -> None:
    address = plan.addresses[program]
    if address:
        call(address, words, current, following)
    else:
        run_program(words, plan.code, program)


@inner
def _collect(plan: Plan, lanes: Lanes, final: Int) -> None:
    """Add up the goals of the lanes that ended, or put their states aside until it is worth evaluating them."""
    words = lanes.words
    ended, pending = plan.waiting + 2, plan.lanes + PENDING
    if not plan.late:
        for goal in range(plan.goals):
            lanes.counters[FIRST_GOAL + goal] += count_both(words, plan.waiting + 5 + goal, ended)
        return
    if count_both(words, ended, pending):
        _settle(plan, lanes)
    first = 1 + 2 * plan.facts
    for fact in plan.goal_facts:
        blend(words, first + fact, final + fact, ended)
    gate_and(words, 2 * pending + 1, 2 * ended + 1, pending)
    gate_and(words, 2 * pending + 1, 1, pending)


@inner
def _settle(plan: Plan, lanes: Lanes) -> None:
    """Evaluate the goals of all states that were put aside."""
    words, pending = lanes.words, plan.lanes + PENDING
    if any_lane(words, pending):
        run_turn(plan, words, plan.goal_program, 1, 1 + plan.facts)
        for goal in range(plan.goals):
            lanes.counters[FIRST_GOAL + goal] += count_both(words, plan.waiting + 5 + goal, pending)
        gate_and(words, 0, 0, pending)


@inner
def _refill(plan: Plan, lanes: Lanes, current: Int) -> Int:
    """Start new playouts in waiting lanes, as many as the quota allows; how many."""
    words, counters = lanes.words, lanes.counters
    waiting, taken, ones = plan.waiting, plan.lanes + TAKEN, plan.lanes + ONES
    free = min(count_both(words, waiting, ones), counters[QUOTA])
    if free == 0:
        return 0
    gate_and(words, 2 * waiting, 1, taken)
    if free == counters[QUOTA]:
        _keep_lowest(words, taken, free)
    counters[QUOTA] -= free
    gate_and(words, 2 * waiting, 2 * taken + 1, waiting)
    for fact in range(plan.facts):
        blend(words, current + fact, 1 + 3 * plan.facts + fact, taken)
    for bit in range(plan.birth_bits):
        blend(words, plan.lanes + FIRST_BIRTH + bit, ones if (counters[STEP] >> bit) & 1 else 0, taken)
    return np.int64(free)


@inner
def _keep_lowest(words: Words, row: Int, count: Int) -> None:
    for column in range(WORD):
        kept = np.uint64(0)
        left = words[row, column]
        while left and count:
            bit = np.uint64(1) << np.uint64(lowest(left))
            kept |= bit
            left ^= bit
            count -= 1
        words[row, column] = kept


@inner
def _give_up(plan: Plan, lanes: Lanes) -> Int:
    """End playouts that have lasted for the cap, and find the step at which to look again; how many ended."""
    words, counters = lanes.words, lanes.counters
    due = counters[STEP] + plan.cap
    ended = 0
    for column in range(WORD):
        active = ~words[plan.waiting, column]
        while active:
            lane = np.uint64(lowest(active))
            active &= active - np.uint64(1)
            birth = np.int64(0)
            for bit in range(plan.birth_bits):
                word = words[plan.lanes + FIRST_BIRTH + bit, column]
                birth |= np.int64((word >> lane) & np.uint64(1)) << bit
            age = (counters[STEP] - birth) & ((1 << plan.birth_bits) - 1)
            if age >= plan.cap:
                words[plan.waiting, column] |= np.uint64(1) << lane
                ended += 1
            else:
                due = min(due, counters[STEP] + plan.cap - age)
    counters[CAPPED] += ended
    if plan.late_end:
        counters[STEPS] -= ended
    counters[DUE] = due
    return np.int64(ended)


DEFAULT_CAP = 100_000


@dataclass(frozen=True, slots=True)
class Tally:
    """What playouts came to."""

    playouts: int  # that reached a terminal state
    capped: int  # given up at the cap
    stuck: int  # that ended where a role had no legal move
    steps: int
    goals: tuple[int, ...]  # how often each goal value of each role was the outcome

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.playouts + other.playouts,
            self.capped + other.capped,
            self.stuck + other.stuck,
            self.steps + other.steps,
            tuple(a + b for a, b in zip(self.goals, other.goals, strict=True)),
        )


class Simulator:
    """Random playouts of one game."""

    def __init__(self, steps: Steps, initial: NDArray[np.bool_], cap: int = DEFAULT_CAP) -> None:
        self.steps = steps
        self.plan = make_plan(steps, cap)
        self._initial = initial
        self._code: MachineCode | None = None

    def use(self, code: MachineCode) -> None:
        """Let playouts run by machine code from their next step on: functions step_<phase> and, if late, goals."""
        self._code = code
        turns = self.plan.turns
        for turn in range(turns):
            self.plan.addresses[turn] = code.addresses[f"step_{turn % self.plan.phases}"]
        if self.plan.late:
            self.plan.addresses[self.plan.goal_program] = code.addresses["goals"]

    def block(self, seed: int, number: int, quota: int) -> Lanes:
        """512 lanes that are to play `quota` playouts from the initial state."""
        words = aligned_words(self.steps.rows)
        full = np.uint64(0xFFFFFFFFFFFFFFFF)
        words[self.plan.waiting] = words[self.plan.lanes + ONES] = full
        start = self.steps.layout.start
        words[start : start + len(self._initial)][self._initial] = full
        counters = np.zeros(FIRST_GOAL + self.plan.goals, np.int64)
        counters[QUOTA] = quota
        counters[DUE] = self.plan.cap
        drawn = np.random.SeedSequence([seed, number]).generate_state(4 * WORD, np.uint64)
        random = drawn.astype(np.uint64).reshape(4, WORD)
        return Lanes(words, random, counters)

    def tally(self, lanes: Lanes) -> Tally:
        counters = lanes.counters.tolist()
        return Tally(
            counters[PLAYOUTS], counters[CAPPED], counters[STUCK], counters[STEPS], tuple(counters[FIRST_GOAL:])
        )

    def playouts(self, count: int, seed: int = 0, threads: int = 1, quota: int = 100 * LANES) -> Tally:
        """So many playouts from the initial state: the same for the same seed, whatever the number of threads."""
        quotas = [min(quota, count - first) for first in range(0, count, quota)]
        with ThreadPoolExecutor(max_workers=threads) as pool:
            parts = pool.map(lambda item: self._finish(seed, *item), enumerate(quotas))
            total = Tally(0, 0, 0, 0, (0,) * self.plan.goals)
            for part in parts:
                total += part
        return total

    def _finish(self, seed: int, number: int, quota: int) -> Tally:
        lanes = self.block(seed, number, quota)
        while play(self.plan, lanes, 1000):
            pass
        return self.tally(lanes)


def make_plan(steps: Steps, cap: int) -> Plan:
    """The arrays that the kernel reads; SettingsError for a cap that is not 1 to 2 ** (BIRTH_BITS - 1)."""
    if not 1 <= cap <= 1 << (BIRTH_BITS - 1):
        raise SettingsError(f"a playout may last 1 to {1 << (BIRTH_BITS - 1):,} steps, not {cap:,}")
    layout, phases = steps.layout, len(steps.phases)
    turns = lcm(2, phases)
    programs = []
    for phased in (steps.phases, steps.apart):
        for turn in range(turns if phased else 0):
            program = phased[turn % phases]
            programs.append(program.moved(layout.swapped(program.rows)) if turn & 1 else program)
    if steps.late_goals is not None:
        programs.append(steps.late_goals)
    return Plan(
        code=join_programs(tuple(programs)),
        turns=turns,
        phases=phases,
        start_phase=0,
        facts=layout.facts,
        goals=layout.goals,
        waiting=layout.waiting,
        lanes=layout.lanes,
        first_random=layout.first_random,
        random=np.array([_random_words(steps, turn % phases) for turn in range(turns)], np.int32),
        late=steps.late_goals is not None,
        goal_program=len(programs) - 1,
        late_end=steps.late_end,
        goal_facts=steps.goal_facts,
        addresses=np.zeros(len(programs), np.int64),
        cap=cap + 1 if steps.late_end else cap,
        birth_bits=int(cap + 1).bit_length() + 1,
    )


def _random_words(steps: Steps, phase: int) -> int:
    """How many of the random words a phase's program reads."""
    first = steps.layout.first_random
    programs = [phased[phase] for phased in (steps.phases, steps.apart) if phased]
    read = np.concatenate([side >> 1 for program in programs for side in (program.left, program.right)])
    read = read[(read >= first) & (read < steps.layout.first_free)]
    return int(read.max()) + 1 - first if len(read) else 0
