"""Playouts lane by lane: each step of a block of lanes, and what the interpreter says of it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ggp.cache import Cache
from ggp.circuit.compile import CompiledGame, compile_game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.interpreter import Interpreter
from ggp.kernel import LANES, Words
from ggp.simulation.playout import DEFAULT_CAP, STEP, Lanes, PlayoutTally, Simulator, play
from ggp.simulation.steps import Steps, make_steps

Flags = NDArray[np.bool_]


class Truth:
    """A game in both engines; what the interpreter said of a state is kept."""

    def __init__(self, text: str) -> None:
        rulesheet = parse_rulesheet(text)
        self.compiled: CompiledGame = compile_game(rulesheet, cache=Cache(None))
        self.interpreter = Interpreter(rulesheet)
        self._following: dict[Facts, frozenset[Facts]] = {}
        self._ends: dict[Facts, bool] = {}
        self._goals: dict[Facts, list[int]] = {}

    @cached_property
    def steps(self) -> Steps:
        return make_steps(self.compiled.circuit, self.compiled.phases, self.compiled.moves)

    def simulator(self, cap: int = DEFAULT_CAP) -> Simulator:
        return Simulator(self.steps, self.compiled.circuit.initial, cap)

    def facts(self, column: Flags) -> Facts:
        return frozenset(self.compiled.facts[at] for at in np.flatnonzero(column).tolist())

    def following(self, state: Facts) -> frozenset[Facts]:
        """The states after all legal joint moves."""
        if state not in self._following:
            legal = [self.interpreter.legal_moves(state, role) for role in self.interpreter.roles]
            joint_moves = [tuple(joint) for joint in product(*legal)]
            self._following[state] = frozenset(self.interpreter.next_state(state, joint) for joint in joint_moves)
        return self._following[state]

    def is_terminal(self, state: Facts) -> bool:
        if state not in self._ends:
            self._ends[state] = self.interpreter.is_terminal(state)
        return self._ends[state]

    def goals(self, state: Facts) -> list[int]:
        """For each goal value of each role 1 or 0."""
        if state not in self._goals:
            self._goals[state] = [
                int(value in self.interpreter.goal_values(state, role))
                for role, values in zip(self.compiled.roles, self.compiled.goals, strict=True)
                for value in values
            ]
        return self._goals[state]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one step did; a column for each lane."""

    active: Flags  # lanes that had work
    started: Flags  # those whose playout began here
    before: Flags  # (F, 512) the states before the step
    after: Flags  # (F, 512)
    ended: Flags
    stuck: Flags
    waiting: Flags  # after the step


@dataclass(slots=True)
class History:
    """What the steps of a block came to, seen from outside."""

    playouts: int = 0
    stuck: int = 0
    capped: int = 0
    steps: int = 0
    goals: list[int] = field(default_factory=list)
    lengths: Counter[int] = field(default_factory=Counter)
    seen: set[Facts] = field(default_factory=set)

    def tally(self) -> PlayoutTally:
        return PlayoutTally(self.playouts, self.capped, self.stuck, self.steps, tuple(self.goals))


def unpacked(words: Words) -> Flags:
    """(rows, 512)"""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little").astype(np.bool_)


def packed(flags: Flags) -> Words:
    """The reverse of `unpacked`."""
    return np.packbits(flags, axis=1, bitorder="little").view(np.uint64)


def one_by_one(simulator: Simulator, lanes: Lanes, longest: int = 100_000) -> Iterator[Step]:
    """The steps of a block until it has nothing left to do."""
    layout, words, facts = simulator.steps.layout, lanes.words, simulator.steps.layout.facts
    marks = [layout.ended, layout.stuck]
    for _ in range(longest):
        first = 1 + facts * int(lanes.counters[STEP] % 2)
        waiting = unpacked(words[[layout.waiting]])[0]
        words[marks] = 0
        done = int(lanes.counters[STEP])
        goes_on = play(simulator.plan, lanes, 1)
        if lanes.counters[STEP] == done:
            return
        before, after = unpacked(words[first : first + facts]), unpacked(words[2 + facts - first :][:facts])
        ended, stuck = unpacked(words[marks])
        now = unpacked(words[[layout.waiting]])[0]
        started = waiting & (~now | ended | stuck)
        yield Step(~waiting | started, started, before, after, ended, stuck, now)
        if not goes_on:
            return
    raise AssertionError("the block does not come to its end")


def follow(truth: Truth, simulator: Simulator, lanes: Lanes, watched: range = range(LANES)) -> History:
    """Play a block to its end; each step of the watched lanes has to be one that the rules allow."""
    history = History(goals=[0] * simulator.plan.layout.goals)
    started_at = words_of_start(simulator, lanes)
    late, cap = simulator.steps.late_end, simulator.plan.cap
    ages, states = [0] * LANES, [frozenset()] * LANES  # type: list[int], list[Facts]
    for step in one_by_one(simulator, lanes):
        for lane in np.flatnonzero(step.active).tolist():
            if step.started[lane]:
                ages[lane] = 0
            if lane not in watched:
                continue
            before = truth.facts(step.before[:, lane])
            assert before == (truth.facts(started_at[:, lane]) if step.started[lane] else states[lane])
            history.seen.add(before)
            states[lane] = _checked(truth, step, lane, before, late=late)
            if step.ended[lane]:
                final = before if late else states[lane]
                history.playouts += 1
                history.lengths[ages[lane] + (not late)] += 1
                history.goals = [a + b for a, b in zip(history.goals, truth.goals(final), strict=True)]
            history.stuck += int(step.stuck[lane])
            moved = not step.stuck[lane] and not (late and step.ended[lane])
            history.steps += int(moved)
            ages[lane] += int(moved)
            if step.waiting[lane] and not step.ended[lane] and not step.stuck[lane]:
                assert ages[lane] == cap
                history.capped += 1
                history.steps -= int(late)  # the one after the cap does not count
            assert ages[lane] <= cap
    return history


def words_of_start(simulator: Simulator, lanes: Lanes) -> Flags:
    start = simulator.steps.layout.start
    return unpacked(lanes.words[start : start + simulator.steps.layout.facts])


def _checked(truth: Truth, step: Step, lane: int, before: Facts, *, late: bool) -> Facts:
    """The state after the step in one lane; it, and what is said of it, are as the rules have it."""
    assert step.waiting[lane] or not (step.ended[lane] or step.stuck[lane])
    if late and truth.is_terminal(before):
        assert step.ended[lane]
        assert not step.stuck[lane]
        return before
    assert not truth.is_terminal(before)
    assert bool(step.stuck[lane]) == (not truth.following(before))
    if step.stuck[lane]:
        assert not step.ended[lane]
        return before
    after = truth.facts(step.after[:, lane])
    assert after in truth.following(before)
    assert bool(step.ended[lane]) == (not late and truth.is_terminal(after))
    return after
