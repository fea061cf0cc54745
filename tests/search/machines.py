"""State machines written by hand, for tests that must not depend on an engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ggp.errors import EvaluationError
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text


class Nim:
    """Two roles take one to three in turn; who takes the last has won. The other one waits."""

    engine = "by hand"
    roles = ("left", "right")

    def __init__(self, heap: int = 7) -> None:
        self.initial_state = _nim(heap, "left")

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        heap, mover = _heap(state)
        if role != mover:
            return ("wait",)
        return tuple(("take", str(count)) for count in range(1, min(3, heap) + 1))

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        heap, mover = _heap(state)
        move = joint_move[self.roles.index(mover)]
        return _nim(heap - int(str(move[1])), "right" if mover == "left" else "left")

    def is_terminal(self, state: Facts) -> bool:
        return _heap(state)[0] == 0

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        heap, mover = _heap(state)
        return (50,) if heap else ((0,) if role == mover else (100,))

    def goal(self, state: Facts, role: str) -> int | None:
        return self.goal_values(state, role)[0]

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        return joint_move


def _nim(heap: int, mover: str) -> Facts:
    return frozenset({("heap", str(heap)), ("mover", mover)})


def _heap(state: Facts) -> tuple[int, str]:
    facts = {fact[0]: str(fact[1]) for fact in state}
    return int(facts["heap"]), facts["mover"]


@dataclass
class Table:
    """A state machine that is looked up: states are single constants, given by their names.

    What is missing is odd on purpose: no moves, no goal value; a state named `broken` has no meaning.
    """

    roles: tuple[str, ...]
    moves: Mapping[str, Mapping[str, str]]  # state → role → moves between blanks
    steps: Mapping[str, str] = field(default_factory=dict)  # "state move move" → state; else it stays
    goals: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)  # terminal state → by role
    early_goals: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)  # of states that are not terminal
    engine: str = "by hand"

    @property
    def initial_state(self) -> Facts:
        return frozenset({"start"})

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        return tuple(self.moves.get(_name(state), {}).get(role, "").split())

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        name = _name(state)
        return frozenset({self.steps.get(" ".join([name, *map(to_text, joint_move)]), name)})

    def is_terminal(self, state: Facts) -> bool:
        if state == {"broken"}:
            raise EvaluationError("this state has no meaning")
        return _name(state) in self.goals

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        value = self.goal(state, role)
        return () if value is None else (value,)

    def goal(self, state: Facts, role: str) -> int | None:
        values = {**self.early_goals, **self.goals}.get(_name(state))
        return None if values is None else values[self.roles.index(role)]

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        return joint_move


def _name(state: Facts) -> str:
    (name,) = state
    return str(name)
