"""The state machine: what every engine offers and every player and game master uses."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeAlias, runtime_checkable

from ggp.gdl.terms import Term

Facts: TypeAlias = frozenset[Term]  # a state: the facts that are true, without `true`
JointMove: TypeAlias = tuple[Term, ...]  # one move for each role, in the order of `roles`


@dataclass(frozen=True, slots=True)
class Playout:
    """How a random match from a state ended."""

    goals: tuple[int | None, ...]  # goal values by role; None where the rules give none or several
    steps: int
    is_terminal: bool  # whether its last state is


class StateMachine(Protocol):
    """The rules of one game as functions of a state.

    All but the constructor may be called from several threads. EvaluationError when the rules have no meaning in the
    state, or reach a bound; UnknownRoleError for a role that the rulesheet does not name.
    """

    @property
    def engine(self) -> str:
        """What evaluates the rules, in a word: `interpreter`."""

    @property
    def roles(self) -> tuple[str, ...]:
        """In the order of the rulesheet."""

    @property
    def initial_state(self) -> Facts: ...

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        """Sorted by their text, so that a seed gives the same match everywhere; empty when there are none."""

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        """The state after a step; the moves are not checked for legality."""

    def is_terminal(self, state: Facts) -> bool: ...

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        """All goal values that the rules give, ascending; a sound rulesheet gives one."""

    def goal(self, state: Facts, role: str) -> int | None:
        """The goal value, 0 to 100; None when the rules give none or several."""

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        """What a role is told after the step, sorted by text: `sees`, or the joint move where no rule has `sees`."""


@runtime_checkable
class SupportsPlayouts(StateMachine, Protocol):
    """A state machine that plays whole random matches by itself."""

    def play_match(self, state: Facts, rng: Random, max_steps: int, stop: Callable[[], bool]) -> Playout | None:
        """A uniformly random match from a state: to its end, a state where a role cannot move, or so many steps.

        None where `stop`, asked every few milliseconds, ended it; EvaluationError as for the questions.
        """
