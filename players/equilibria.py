"""Games with `sees`, solved while a match is played: what the role does where it is, by the strategies found so far."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from ggp.equilibrium.game_tree import Edge, Roots
from ggp.equilibrium.merged import MergedFollower, MergedSolver
from ggp.equilibrium.policy import Follower, Policy
from ggp.equilibrium.settings import SolveSettings
from ggp.equilibrium.solving import EquilibriumSolver
from ggp.errors import EquilibriumError
from ggp.gdl.terms import Term
from ggp.simulation.state_machine import CircuitMachine
from players.strategy import Heard

_SMALL_NASH_CONV = 0.02  # goal points: nothing more is gained by further iterations
_LEAST_ITERATIONS, _MOST_ITERATIONS = 50, 1000  # with merged histories: until the policy is used; after which it stays
_MOST_RECALL = 16  # steps
TREMBLE = 0.1  # the share of its moves that the other role is taken to make at random, with merged histories
_ROOM_SHARE = 0.75  # of the memory is for merged histories, the rest for what iterations need

log = logging.getLogger(__name__)


class Solving(Protocol):
    """One way to solve the game, in slices."""

    @property
    def is_enumerated(self) -> bool:
        """Whether there are strategies soon."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is gained by more of it."""

    def run(self, stop: Callable[[], bool]) -> None:
        """Until told to stop, or done; EquilibriumError where the game cannot be solved so."""

    def moves(self, heard: Sequence[Heard]) -> dict[Term, float]:
        """With their probabilities, for what the role did and was told since the start; none where nothing is known."""


class Exact:
    """By all histories; the equilibrium is as good as it needs to be in the end."""

    def __init__(
        self,
        machine: CircuitMachine,
        role: str,
        memory_bytes: int,
        settings: SolveSettings | None = None,
        roots: Roots | None = None,
        edge: Edge | None = None,
    ) -> None:
        """roots: where it begins, in place of the initial state; edge: as `EquilibriumSolver`."""
        self._solver = EquilibriumSolver(machine, settings or SolveSettings(), memory_bytes, roots, edge)
        self._role = role
        self._iterations_seen = 0  # when NashConv was looked at last
        self._policy: Policy | None = None  # in the end
        self._follower: Follower | None = None
        self._followed = 0

    @property
    def is_enumerated(self) -> bool:
        return self._solver.tree is not None

    @property
    def is_opposed(self) -> bool:
        """Whether one role plays, or two whose goals are opposed; once all histories are there."""
        tree = self._solver.tree
        return tree is not None and (len(tree.roles) == 1 or (len(tree.roles) == 2 and tree.is_constant_sum))

    @property
    def is_done(self) -> bool:
        return self._policy is not None

    def run(self, stop: Callable[[], bool]) -> None:
        solver = self._solver
        while not (self.is_done or stop()):
            solver.run(stop, self._iterations_seen + 1)
            if solver.iterations > 2 * self._iterations_seen:
                self._iterations_seen = solver.iterations
                nash_conv = solver.report().nash_conv
                if nash_conv is not None and nash_conv <= _SMALL_NASH_CONV:
                    self._policy = solver.policy()

    def moves(self, heard: Sequence[Heard]) -> dict[Term, float]:
        tree, policy = self._solver.tree, self._policy or self._solver.policy()
        if tree is None or policy is None:
            return {}
        if self._follower is None:
            self._follower = Follower(tree, self._role)
        self._followed = _follow(self._follower, heard, self._followed)
        number = self._follower.information_set
        return {} if number is None else policy.moves(number)


class Merged:
    """By merged histories: roles forget in which order they did and were told what, but for what they need."""

    def __init__(self, machine: CircuitMachine, role: str, memory_bytes: int) -> None:
        """EquilibriumError without two roles that have percepts."""
        self._machine, self._role, self._memory_bytes = machine, role, int(memory_bytes * _ROOM_SHARE)
        self._recall = 0
        self._solver = self._new_solver()
        self._follower: MergedFollower | None = None
        self._followed = 0

    @property
    def is_enumerated(self) -> bool:
        return self._solver.form is not None

    @property
    def is_done(self) -> bool:
        return self._solver.iterations >= _MOST_ITERATIONS

    def run(self, stop: Callable[[], bool]) -> None:
        while not (self.is_done or stop()):
            try:
                self._solver.advance()
            except EquilibriumError as error:
                if self._solver.enumeration.is_full or self._recall >= _MOST_RECALL:
                    raise
                self._recall = 2 * self._recall or 1
                log.info("%s: the order of %d steps is remembered", error, self._recall)
                self._solver = self._new_solver()
            if self._solver.iterations == 1 and not self._solver.is_constant_sum:
                raise EquilibriumError("the roles' goals are not opposed")

    def moves(self, heard: Sequence[Heard]) -> dict[Term, float]:
        if self._solver.iterations < _LEAST_ITERATIONS:
            return {}
        if self._follower is None:
            self._follower = MergedFollower(self._machine, self._solver, self._role)
        self._followed = _follow(self._follower, heard, self._followed)
        number = self._follower.information_set
        return {} if number is None else self._solver.moves(number)

    def _new_solver(self) -> MergedSolver:
        return MergedSolver(self._machine, self._recall, self._memory_bytes, tremble=TREMBLE)


def _follow(follower: Follower | MergedFollower, heard: Sequence[Heard], followed: int) -> int:
    """How many steps it has followed now."""
    for move, told in heard[followed:]:
        if move is not None:
            follower.advance(move, told)
    return len(heard)
