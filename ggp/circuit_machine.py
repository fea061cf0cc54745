"""The circuit of a game as a state machine on terms.

A circuit knows the facts and moves that can come up in a match, and that each role does one legal move. Whatever else
is asked is answered by an interpreter, which is made when it is first needed.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.compilation import CompiledGame
from ggp.errors import UnknownRoleError
from ggp.interpreter import Interpreter
from ggp.machine import Facts, JointMove
from ggp.rulesheet import Rulesheet
from ggp.simulation.batches import Batches, pack, unpack
from ggp.simulation.packing import Bits, Indices
from ggp.simulation.simulator import Simulator
from ggp.simulation.steps import make_steps
from ggp.terms import Term

Legal: TypeAlias = tuple[tuple[Term, ...], ...]  # of each role


@dataclass(slots=True, eq=False)
class _View:
    """What is known of a state; each part is filled in when it is first asked for."""

    state: Facts
    row: Bits | None  # (1, fact_words); None where only the interpreter knows the state
    terminal: bool | None = None
    legal: Legal = ()
    goals: NDArray[np.bool_] | None = field(default=None, repr=False)  # (goal values of all roles,)


class CircuitMachine:
    """A state machine that evaluates the circuit for one state at a time, and keeps the latest state's answers."""

    engine = "circuit"

    def __init__(self, rulesheet: Rulesheet, compiled: CompiledGame) -> None:
        self.compiled = compiled
        self.roles: tuple[str, ...] = compiled.roles
        self.batches = Batches(compiled)
        self.initial_state: Facts = self._facts(self.batches.initial)
        self._rulesheet = rulesheet
        self._number = {fact: number for number, fact in enumerate(compiled.facts)}
        self._moves = tuple({move: number for number, move in enumerate(moves)} for moves in compiled.moves)
        self._fixed = np.flatnonzero(compiled.constants >= 0)
        self._values = compiled.constants[self._fixed].astype(np.bool_)
        self._last = _View(self.initial_state, self.batches.initial)

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        number = self._known(role)
        view = self._look(state)
        return view.legal[number] if view.row is not None else self._interpreter.legal_moves(state, role)

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        view = self._look(state)
        moves = self._indices(view, joint_move)
        if view.row is None or moves is None:
            return self._interpreter.next_state(state, joint_move)
        row = self.batches.next_states(view.row, moves)
        following = self._facts(row)
        self._last = _View(following, row)
        return following

    def is_terminal(self, state: Facts) -> bool:
        view = self._look(state)
        return view.terminal if view.terminal is not None else self._interpreter.is_terminal(state)

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        number = self._known(role)
        view = self._view(state)
        if view.row is None:
            return self._interpreter.goal_values(state, role)
        if view.goals is None:
            view.goals = unpack(self.batches.goal_bits(view.row), int(self.batches.first_goal[-1]))[0]
        given = view.goals[self.batches.first_goal[number] : self.batches.first_goal[number + 1]]
        return tuple(value for value, holds in zip(self.compiled.goals[number], given.tolist(), strict=True) if holds)

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        if not self.compiled.has_percepts:
            return joint_move
        number = self._known(role)
        view = self._look(state)
        moves = self._indices(view, joint_move)
        if view.row is None or moves is None:
            return self._interpreter.percepts(state, joint_move, role)
        first, last = self.batches.first_percept[number : number + 2]
        told = unpack(self.batches.percepts(view.row, moves), int(self.batches.first_percept[-1]))[0, first:last]
        return tuple(self.compiled.percepts[number][at] for at in np.flatnonzero(told).tolist())

    def simulator(self) -> Simulator:
        """Random playouts from the initial state."""
        return self._simulator

    @cached_property
    def _simulator(self) -> Simulator:
        steps = make_steps(self.compiled.circuit, self.compiled.phases)
        return Simulator(steps, self.compiled.circuit.initial)

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter(self._rulesheet)

    def _known(self, role: str) -> int:
        if role not in self.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self.roles)}")
        return self.roles.index(role)

    def _view(self, state: Facts) -> _View:
        view = self._last
        if view.state is not state:
            view = self._last = _View(state, self._row(state))
        return view

    def _look(self, state: Facts) -> _View:
        """A view with what is legal, and whether the state is terminal."""
        view = self._view(state)
        if view.terminal is None and view.row is not None:
            legal, terminal = self.batches.look(view.row)
            first = self.batches.first_move
            found = np.flatnonzero(unpack(legal, int(first[-1]))[0])
            cuts = np.searchsorted(found, first).tolist()
            numbers = [(found[cuts[role] : cuts[role + 1]] - first[role]).tolist() for role in range(len(self.roles))]
            view.legal = tuple(
                tuple(map(moves.__getitem__, chosen))
                for moves, chosen in zip(self.compiled.moves, numbers, strict=True)
            )
            view.terminal = bool(terminal[0])  # last, since other threads take it to mean that all is there
        return view

    def _row(self, state: Facts) -> Bits | None:
        """The bits of a state; None where the circuit does not know it."""
        try:
            numbers = list(map(self._number.__getitem__, state))
        except KeyError:
            return None
        flags = np.zeros(len(self._number), np.bool_)
        flags[numbers] = True
        if not np.array_equal(flags[self._fixed], self._values):
            return None
        return pack(flags[np.newaxis])

    def _indices(self, view: _View, joint_move: JointMove) -> Indices | None:
        """(1, roles) the moves by number; None unless all are legal."""
        if view.row is None or len(joint_move) != len(self.roles):
            return None
        if not all(move in legal for move, legal in zip(joint_move, view.legal, strict=True)):
            return None
        return np.array([[numbers[move] for numbers, move in zip(self._moves, joint_move, strict=True)]], np.int32)

    def _facts(self, row: Bits) -> Facts:
        numbers = np.flatnonzero(unpack(row, len(self.compiled.facts))[0]).tolist()
        return frozenset(map(self.compiled.facts.__getitem__, numbers))
