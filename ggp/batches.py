"""States of one game by the hundred: facts, moves, ends and playouts on the circuit, 512 side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ggp.errors import EvaluationError, GroundingError, HiddenStateError, SettingsError, UnknownRoleError
from ggp.game import Game, State, check_state
from ggp.gdl.terms import to_text

if TYPE_CHECKING:
    from ggp.simulation.evaluate import Bits
    from ggp.simulation.state_machine import CircuitMachine


@dataclass(frozen=True, slots=True, eq=False)
class StateBatch:
    """n states of one game with R roles, F facts that can hold, and M moves of all roles in a row; immutable.

    Made by `StateBatch.of`, `play`, or a search, which hands them to its evaluator and prior.
    """

    game: Game
    bits: "Bits" = field(repr=False)  # (n, words) uint64: fact f is bit f

    @classmethod
    def of(cls, states: Sequence[State]) -> "StateBatch":
        """At least one state of one game. GroundingError where it has no circuit, EvaluationError for an odd state."""
        if not states:
            raise SettingsError("a batch has at least one state")
        for state in states:
            check_state(state)
        machine = machine_of(states[0].game)
        packed = [machine.packed(state.terms) for state in states]
        rows = [row for row in packed if row is not None]
        if len(rows) < len(packed):
            raise EvaluationError(
                f"state {next(at for at, row in enumerate(packed) if row is None)} is none of the game"
            )
        return cls(states[0].game, np.concatenate(rows))

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: int) -> State:
        return State(self.game, machine_of(self.game).unpacked(self.bits[index][np.newaxis]))

    @property
    def fact_names(self) -> tuple[str, ...]:
        """The columns of `facts`, as text."""
        return tuple(map(to_text, machine_of(self.game).compiled.facts))

    @property
    def facts(self) -> NDArray[np.bool_]:
        """(n, F) which facts hold; one copy."""
        from ggp.simulation.evaluate import unpack  # noqa: PLC0415 - here and below: numba takes half a second to load

        return unpack(self.bits, len(machine_of(self.game).compiled.facts))

    @property
    def moves(self) -> dict[str, tuple[str, ...]]:
        """Role → its moves as text, in the order of their numbers."""
        machine = machine_of(self.game)
        return {role: tuple(map(to_text, own)) for role, own in zip(machine.roles, machine.compiled.moves, strict=True)}

    def columns(self, role: str) -> slice:
        """Those of a role among the M moves. UnknownRoleError for other names."""
        machine = machine_of(self.game)
        if role not in machine.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(machine.roles)}")
        first, at = machine.batches.first_move, machine.roles.index(role)
        return slice(int(first[at]), int(first[at + 1]))

    @property
    def legal(self) -> NDArray[np.bool_]:
        """(n, M) which moves are legal; those of terminal states mean nothing."""
        from ggp.simulation.evaluate import unpack  # noqa: PLC0415

        batches = machine_of(self.game).batches
        return unpack(batches.legal(self.bits), int(batches.first_move[-1]))

    @property
    def is_terminal(self) -> NDArray[np.bool_]:
        """(n,)"""
        return machine_of(self.game).batches.terminal(self.bits)

    @property
    def goals(self) -> NDArray[np.int16]:
        """(n, R) goal values, 0 to 100; -1 where the rules give none or several."""
        return machine_of(self.game).batches.goals(self.bits)

    def play(self, moves: NDArray[np.integer]) -> "StateBatch":
        """The states after one step of each. moves: (n, R) numbers within each role, not checked for legality."""
        following = machine_of(self.game).batches.next_states(self.bits, np.asarray(moves, np.int32))
        return StateBatch(self.game, following)

    def playouts(self, count: int = 32, seed: int = 0) -> NDArray[np.float64]:
        """(n, R) mean goal values, 0 to 100, of at least so many random playouts of each state; exact at ends.

        A playout of more than 10,000 steps counts half of what the rules have to give. The same seed gives the same.
        """
        if count < 1:
            raise SettingsError("there is at least one playout of each state")
        return machine_of(self.game).play_out(self.bits, count, seed)


def machine_of(game: Game) -> "CircuitMachine":
    """The circuit of a game; GroundingError where it has none, HiddenStateError where roles do not see the state."""
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415

    if game.rulesheet.has_percepts:
        reason = "its roles see only what `sees` tells them, and the search would use the whole state"
        raise HiddenStateError(f"{game.name} cannot be analysed: {reason}")
    if not isinstance(game.machine, CircuitMachine):
        reason = game.fallback or "another engine was asked for; `with_engine` gives it the circuit"
        raise GroundingError(f"{game.name} has no circuit, which the search needs: {reason}")
    return game.machine


def as_worth(machine: "CircuitMachine", goals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, R) goal values → from 0 for the lowest one of the rules to 1 for the highest."""
    from ggp.simulation.expansion import goal_range  # noqa: PLC0415

    lowest, span = goal_range(machine.compiled.goals)
    return (goals - lowest) / span
