"""The circuit of a game as a state machine on terms.

A circuit knows the facts and moves that can come up in a match, and that each role does one legal move. Whatever else
is asked is answered by an interpreter, which is made when it is first needed.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import contains, getitem
from threading import RLock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.cache import default_cache
from ggp.circuit.compile import CompiledGame
from ggp.circuit.decisive import aims_of, end_programs
from ggp.circuit.network import Ids
from ggp.errors import UnknownRoleError
from ggp.gdl.rulesheet import NATURE, Rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter
from ggp.kernel import LANES, MachineCode
from ggp.simulation.evaluate import UNKNOWN, Batches, Bits, Indices, Rows, Single, pack, unpack
from ggp.simulation.expansion import end_rows, goal_range
from ggp.simulation.machine_code import (
    MOST_GATES,
    assemble_programs,
    compile_in_background,
    is_worthwhile,
    make_in_background,
)
from ggp.simulation.playout import Simulator, load_lanes, make_lanes, play_values, with_cap, worth_of
from ggp.simulation.steps import make_steps

MOST_DECISIVE_RATIO = 5.0  # gates of steps with decisive moves for each one of the usual steps
MOST_DECISIVE_GATES = 10_000  # so many are always affordable: descents and back-ups take longer
_STEPS_AT_ONCE = 64  # of playouts, between two looks
_MOST_STEPS = 10_000  # of a playout

Legal: TypeAlias = tuple[tuple[Term, ...], ...]  # of each role


@dataclass(slots=True, eq=False)
class _View:
    """What is known of a state; each part is filled in when it is first asked for."""

    state: Facts
    facts: Indices | None  # their numbers; None where only the interpreter knows the state
    terminal: bool | None = None
    legal: Legal = ()
    goals: list[int] | None = None  # the numbers of those that hold


class CircuitMachine:
    """A state machine that evaluates the circuit for one state at a time, and keeps the latest state's answers.

    The interpreter answers where the circuit has no answer: for facts that no match reaches, or not together, moves
    that are not legal, and steps after the end. A made-up state of facts that are reached one by one may lack moves,
    and lose facts in its steps, that no match has.
    """

    engine = "circuit"

    def __init__(self, rulesheet: Rulesheet, compiled: CompiledGame) -> None:
        self.compiled = compiled
        self.roles: tuple[str, ...] = compiled.roles
        self.batches = batches = Batches(compiled)
        self._single = Single(batches)
        self.rulesheet = rulesheet
        self._number = {fact: number for number, fact in enumerate(compiled.facts)}
        self._number_of_move = tuple({move: number for number, move in enumerate(moves)} for moves in compiled.moves)
        self._moves = tuple(move for moves in compiled.moves for move in moves)
        self._goals = tuple(value for values in compiled.goals for value in values)
        self._percepts = tuple(percept for percepts in compiled.percepts for percept in percepts)
        self._first_move, self._first_goal = batches.first_move.tolist(), batches.first_goal.tolist()
        self._first_percept = batches.first_percept.tolist()
        self._constants = compiled.constants
        self._always = int(np.count_nonzero(self._constants == 1))
        self._has_constants = bool((self._constants >= 0).any())
        start = np.flatnonzero(compiled.circuit.initial).astype(np.int32)
        self.initial_state: Facts = self._facts(start)
        self._last = _View(self.initial_state, start)
        self._lock = RLock()
        # Under _lock, since each has machine code, which is gone with it:
        self._simulators: dict[int, Simulator] = {}  # by decisive moves
        self._ends: dict[bool, tuple[Rows, int]] = {}  # by whether two roles are opposed
        self._end_code: list[MachineCode] = []  # kept in memory
        self._compiling: set[int] = set()  # ids of what machine code is being made for, or was

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        number = self._known(role)
        view = self._look(state)
        return view.legal[number] if view.facts is not None else self._interpreter.legal_moves(state, role)

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        view = self._look(state)
        moves = self._indices(view, joint_move)
        if view.facts is None or moves is None:
            return self._interpreter.next_state(state, joint_move)
        numbers = self._single.next_state(view.facts, moves)
        following = self._facts(numbers)
        self._last = _View(following, numbers)
        return following

    def is_terminal(self, state: Facts) -> bool:
        view = self._look(state)
        return view.terminal if view.terminal is not None else self._interpreter.is_terminal(state)

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        number = self._known(role)
        view = self._view(state)
        if view.facts is None:
            return self._interpreter.goal_values(state, role)
        if view.goals is None:
            view.goals = self._single.goals(view.facts)
        return tuple(self._goals[at] for at in _part(view.goals, self._first_goal, number))

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        if not self.compiled.has_percepts:
            return joint_move
        number = self._known(role)
        view = self._look(state)
        moves = self._indices(view, joint_move)
        if view.facts is None or moves is None:
            return self._interpreter.percepts(state, joint_move, role)
        told = self._single.percepts(view.facts, moves)
        return tuple(self._percepts[at] for at in _part(told, self._first_percept, number))

    def packed(self, state: Facts) -> Bits | None:
        """(1, words) the state as `Batches` has it; None where the circuit does not know it."""
        numbers = self._numbers(state)
        if numbers is None:
            return None
        flags = np.zeros((1, len(self.compiled.facts)), np.bool_)
        flags[0, numbers] = True
        return pack(flags)

    def unpacked(self, bits: Bits) -> Facts:
        """The reverse of `packed`."""
        return self._facts(np.flatnonzero(unpack(bits, len(self.compiled.facts))[0]).astype(np.int32))

    def phases_of(self, states: Bits) -> Ids:
        """(n,) of each state the first phase whose constants agree with it; -1 where none does."""
        flags = unpack(states, len(self.compiled.facts))
        found = np.full(len(states), -1, np.int32)
        for phase, known in reversed(list(enumerate(self.compiled.phases))):
            found[(flags == known)[:, known >= 0].all(axis=1)] = phase
        return found

    def play_out(
        self, states: Bits, count: int, seed: int = 0, stop: Callable[[], bool] = lambda: False
    ) -> NDArray[np.float64]:
        """(n, R) mean goal values of at least so many random playouts of each state; exact at ends.

        A playout of more than 10,000 steps counts half of what the rules have to give, and so does what comes after
        `stop()`. The same seed gives the same.
        """
        lowest, span = goal_range(self.compiled.goals)
        goals = self.batches.goals(states)
        found = np.where(goals < 0, lowest + span * UNKNOWN, goals.astype(np.float64))
        open_states = np.flatnonzero(~self.batches.terminal(states))
        found[open_states] = lowest + span * UNKNOWN
        copies = max(1, min(count, LANES // max(len(open_states), 1)))  # lanes of a state
        simulator, worth = self.simulator(), worth_of(self.compiled)
        plan = with_cap(simulator.plan, _MOST_STEPS)
        lanes = make_lanes(plan, simulator.steps.rows, len(self.roles), seed)
        starts = np.zeros((LANES, states.shape[1]), np.uint64)
        for start in range(0, len(open_states), LANES):
            if stop():
                break
            part = open_states[start : start + LANES]
            used = copies * len(part)
            starts[:used] = np.tile(states[part], (copies, 1))
            lanes.phase[:used] = np.tile(np.maximum(self.phases_of(states[part]), 0), copies)
            lanes.quota[:used] = -(-count // copies)
            load_lanes(plan, lanes, starts)
            while play_values(plan, lanes, worth, _STEPS_AT_ONCE):
                if stop():
                    return found
            means = lanes.values[:used] / lanes.done[:used, np.newaxis]
            found[part] = lowest + span * means.reshape(copies, len(part), -1).mean(axis=0)
        return found

    def simulator(self, *, decisive: int = 0) -> Simulator:
        """Random playouts of the game.

        decisive: 1: roles do decisive moves; 2: and avoid what allows them; the usual one where that is not affordable.
        """
        with self._lock:
            if decisive not in self._simulators:
                self._simulators[decisive] = self._make_simulator(decisive=decisive)
            return self._simulators[decisive]

    def is_settled(self, *, decisive: int) -> bool:
        """Whether these playouts run as fast as they are going to: by machine code, unless the game is too large."""
        simulator = self.simulator(decisive=decisive)
        return not is_worthwhile(simulator.steps) or bool(simulator.plan.addresses.all())

    def compile_in_background(self, *, decisive: int = 0) -> None:
        """Let these playouts, and batches, run by machine code as soon as it is made, where the game is small enough.

        Once is enough.
        """
        simulator = self.simulator(decisive=decisive)
        with self._lock:
            begun = self._compiling.copy()
            self._compiling |= {id(simulator), id(self.batches)}
        if id(simulator) not in begun and is_worthwhile(simulator.steps):
            compile_in_background(simulator.steps, default_cache(), simulator.use)
        batches = self.batches
        if id(batches) not in begun:
            make_in_background(lambda: assemble_programs(batches.programs, batches.rows.facts), batches.use)

    def ends(self, *, opposed: bool) -> tuple[Rows, int]:
        """Programs for `simulation.expansion.make_ends`, and how many rows they have; made in up to a second, once.

        opposed: two roles seem to be: then ends at which both win, or both lose, are left out.
        """
        with self._lock:
            if opposed not in self._ends:
                self._ends[opposed] = self._make_ends(opposed=opposed)
            return self._ends[opposed]

    def _make_ends(self, *, opposed: bool) -> tuple[Rows, int]:
        compiled = self.compiled
        aims = aims_of(compiled.goals, [role == NATURE for role in self.roles])
        programs = end_programs(compiled.circuit, compiled.phases, aims, opposed=opposed)
        rows = end_rows(self.batches, programs)
        named = {f"ends_{phase}": program for phase, program in enumerate(programs)}

        def use(code: MachineCode) -> None:
            self._end_code.append(code)
            rows.addresses[:] = [code.addresses[name] for name in named]

        make_in_background(lambda: assemble_programs(named, compiled.circuit.facts), use)
        return rows, max((program.rows for program in programs), default=0)

    def _make_simulator(self, *, decisive: int) -> Simulator:
        compiled = self.compiled
        if not decisive:
            steps = make_steps(compiled.circuit, compiled.phases, compiled.moves)
            return Simulator(steps, compiled.circuit.initial)
        usual = self.simulator()
        if usual.steps.gates > MOST_GATES:  # building its steps again would take seconds
            return usual
        aims = aims_of(compiled.goals, [role == NATURE for role in self.roles])
        steps = make_steps(compiled.circuit, compiled.phases, compiled.moves, aims=aims, depth=decisive)
        affordable = max(MOST_DECISIVE_GATES, MOST_DECISIVE_RATIO * usual.steps.gates)
        if steps.decisive < decisive or steps.gates > min(affordable, MOST_GATES):
            return usual
        return Simulator(steps, compiled.circuit.initial)

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter(self.rulesheet)

    def _known(self, role: str) -> int:
        if role not in self.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self.roles)}")
        return self.roles.index(role)

    def _view(self, state: Facts) -> _View:
        view = self._last
        if view.state is not state:
            view = self._last = _View(state, self._numbers(state))
        return view

    def _look(self, state: Facts) -> _View:
        """A view with what is legal, and whether the state is terminal."""
        view = self._view(state)
        if view.terminal is None and view.facts is not None:
            found = self._single.look(view.facts)
            terminal = bool(found) and found[-1] == len(self._moves)
            moves = self._moves
            cuts = [bisect_left(found, first) for first in self._first_move]
            view.legal = tuple(tuple([moves[at] for at in found[start:end]]) for start, end in pairwise(cuts))
            view.terminal = terminal  # last, since other threads take it to mean that all is there
        return view

    def _numbers(self, state: Facts) -> Indices | None:
        """The numbers of the facts; None where the circuit does not know the state."""
        try:
            numbers = np.fromiter(map(self._number.__getitem__, state), np.int32, len(state))
        except KeyError:
            return None
        if self._has_constants:
            constants = self._constants[numbers]
            if (constants == 0).any() or np.count_nonzero(constants == 1) != self._always:
                return None
        if any(np.count_nonzero(np.isin(numbers, group)) > 1 for group in self.compiled.exclusive):
            return None
        return numbers

    def _indices(self, view: _View, joint_move: JointMove) -> Indices | None:
        """(roles,) the numbers of the moves; None unless all are legal in a state that is no end."""
        if view.facts is None or view.terminal or len(joint_move) != len(self.roles):
            return None
        if not all(map(contains, view.legal, joint_move)):
            return None
        return np.array(list(map(getitem, self._number_of_move, joint_move)), np.int32)

    def _facts(self, numbers: Indices) -> Facts:
        return frozenset(map(self.compiled.facts.__getitem__, numbers.tolist()))


def _part(found: list[int], first: list[int], role: int) -> list[int]:
    """Those of the ascending numbers that belong to a role."""
    return found[bisect_left(found, first[role]) : bisect_left(found, first[role + 1])]
