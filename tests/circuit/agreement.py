"""What the circuit and the interpreter say of the same states, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np

from ggp.circuit.compile import CompiledGame, compile_game
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.grounding import Budget
from ggp.interpreter import Interpreter
from ggp.simulation.evaluate import Batches, Bits, Indices, pack, unpack
from ggp.simulation.state_machine import CircuitMachine


@dataclass(frozen=True, slots=True)
class Sample:
    """A state, and a legal joint move where every role has one."""

    state: Facts
    joint_move: JointMove | None


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One game in both engines."""

    circuit: CircuitMachine
    interpreter: Interpreter

    @property
    def compiled(self) -> CompiledGame:
        return self.circuit.compiled


def make_pair(rulesheet: Rulesheet, budget: Budget | None = None) -> Pair:
    return Pair(CircuitMachine(rulesheet, compile_game(rulesheet, budget or Budget())), Interpreter(rulesheet))


def samples(machine: StateMachine, random: Random, longest: int = 200) -> Iterator[Sample]:
    """The states of random matches, one match after the other, without end."""
    while True:
        state = machine.initial_state
        for _ in range(longest):
            legal = [machine.legal_moves(state, role) for role in machine.roles]
            goes_on = all(legal) and not machine.is_terminal(state)
            sample = Sample(state, tuple(map(random.choice, legal)) if goes_on else None)
            yield sample
            if sample.joint_move is None:
                break
            state = machine.next_state(state, sample.joint_move)


def some_samples(machine: StateMachine, seed: int, count: int) -> list[Sample]:
    return list(islice(samples(machine, Random(seed)), count))


def differences(circuit: StateMachine, interpreter: StateMachine, sample: Sample) -> Iterator[str]:
    """Each thing that the two engines see differently, asked one by one."""
    state, joint_move = sample.state, sample.joint_move
    if circuit.is_terminal(state) != interpreter.is_terminal(state):
        yield f"terminal in {_shown(state)}"
    for role in interpreter.roles:
        if circuit.legal_moves(state, role) != interpreter.legal_moves(state, role):
            ours, theirs = set(circuit.legal_moves(state, role)), set(interpreter.legal_moves(state, role))
            yield f"legal moves of {role} in {_shown(state)}: {_shown(ours - theirs)} / {_shown(theirs - ours)}"
        ours_too, theirs_too = circuit.goal_values(state, role), interpreter.goal_values(state, role)
        if ours_too != theirs_too or circuit.goal(state, role) != interpreter.goal(state, role):
            yield f"goal values of {role} in {_shown(state)}: {ours_too} / {theirs_too}"
    if joint_move is None:
        return
    following, expected = circuit.next_state(state, joint_move), interpreter.next_state(state, joint_move)
    if following != expected:
        change = f"{_shown(following - expected)} / {_shown(expected - following)}"
        yield f"after {_shown(joint_move)} in {_shown(state)}: {change}"
    for role in interpreter.roles:
        if circuit.percepts(state, joint_move, role) != interpreter.percepts(state, joint_move, role):
            yield f"percepts of {role} after {_shown(joint_move)} in {_shown(state)}"


def batch_differences(compiled: CompiledGame, interpreter: StateMachine, found: Sequence[Sample]) -> Iterator[str]:
    """The same for all samples in one batch, lane by lane."""
    batches = Batches(compiled)
    states = pack_states(compiled, [sample.state for sample in found])
    legal, terminal = batches.look(states)
    goals, goal_bits = batches.goals(states), batches.goal_bits(states)
    for lane, sample in enumerate(found):
        where = f"lane {lane}, {_shown(sample.state)}"
        if bool(terminal[lane]) != interpreter.is_terminal(sample.state):
            yield f"terminal: {where}"
        moves, values = _by_role(compiled.moves, legal[lane]), _by_role(compiled.goals, goal_bits[lane])
        for number, role in enumerate(compiled.roles):
            if moves[number] != interpreter.legal_moves(sample.state, role):
                yield f"legal moves of {role}: {where}"
            if values[number] != interpreter.goal_values(sample.state, role):
                yield f"goal values of {role}: {where}"
            goal = interpreter.goal(sample.state, role)
            if goals[lane, number] != (-1 if goal is None else goal):
                yield f"goal of {role}: {where}"
    steps = [sample for sample in found if sample.joint_move is not None]
    states = pack_states(compiled, [sample.state for sample in steps])
    joint_moves = pack_moves(compiled, [sample.joint_move or () for sample in steps])
    following, told = batches.next_states(states, joint_moves), batches.percepts(states, joint_moves)
    for lane, sample in enumerate(steps):
        assert sample.joint_move is not None
        if facts_of(compiled, following[lane]) != interpreter.next_state(sample.state, sample.joint_move):
            yield f"next: lane {lane}, {_shown(sample.joint_move)} in {_shown(sample.state)}"
        percepts = _by_role(compiled.percepts, told[lane])
        for number, role in enumerate(compiled.roles if compiled.has_percepts else ()):
            if percepts[number] != interpreter.percepts(sample.state, sample.joint_move, role):
                yield f"percepts of {role}: lane {lane}, {_shown(sample.joint_move)} in {_shown(sample.state)}"


def pack_states(compiled: CompiledGame, states: Sequence[Facts]) -> Bits:
    flags = [[fact in state for fact in compiled.facts] for state in states]
    return pack(np.array(flags, np.bool_).reshape(len(states), len(compiled.facts)))


def pack_moves(compiled: CompiledGame, joint_moves: Sequence[JointMove]) -> Indices:
    indices = [[own.index(move) for own, move in zip(compiled.moves, joint, strict=True)] for joint in joint_moves]
    return np.array(indices, np.int32).reshape(len(joint_moves), len(compiled.roles))


def facts_of(compiled: CompiledGame, row: Bits) -> Facts:
    flags = unpack(row[np.newaxis], len(compiled.facts))[0]
    return frozenset(fact for fact, holds in zip(compiled.facts, flags.tolist(), strict=True) if holds)


def _by_role(names: tuple[tuple[Term, ...], ...] | tuple[tuple[int, ...], ...], row: Bits) -> list[tuple[object, ...]]:
    """The names whose bits are set, role by role."""
    flags = iter(unpack(row[np.newaxis], sum(map(len, names)))[0].tolist())
    return [
        tuple(name for name, holds in zip(part, [next(flags) for _ in part], strict=True) if holds) for part in names
    ]


def _shown(terms: Facts | set[Term] | JointMove) -> str:
    return "{" + ", ".join(sorted(map(to_text, terms))) + "}"
