"""Step programs → playouts: blocks of lanes on one thread or several, with machine code as soon as it is there."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from ggp.errors import SettingsError
from ggp.kernel import LANES, WORD, MachineCode, aligned_words
from ggp.simulation.playouts import (
    BIRTH_BITS,
    CAPPED,
    DUE,
    FIRST_GOAL,
    ONES,
    PLAYOUTS,
    QUOTA,
    STEPS,
    STUCK,
    Lanes,
    Plan,
    play,
)
from ggp.simulation.running import join_programs
from ggp.simulation.steps import Steps

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
