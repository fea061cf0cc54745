"""Ground rules evaluated the plain way: component by component, each repeated until nothing more holds."""

from collections.abc import Iterable
from typing import TypeVar

from ggp.gdl.dependencies import strong_components
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.grounding import NEVER, GroundRules

Value = TypeVar("Value")


class NaiveGround:
    """Answers the questions of a state machine from ground rules."""

    def __init__(self, rules: GroundRules) -> None:
        self.rules = rules
        self.roles = rules.roles
        self.initial_state: Facts = frozenset(f for f, holds in zip(rules.facts, rules.initial, strict=True) if holds)
        self._facts = {fact: atom for atom, fact in enumerate(rules.facts)}
        moves = [(role, move) for role, found in zip(rules.roles, rules.moves, strict=True) for move in found]
        self._moves = {pair: len(rules.facts) + index for index, pair in enumerate(moves)}
        bounds = rules.first_literal.tolist()
        literals = rules.literals.tolist()
        self._bodies: dict[int, list[list[int]]] = {}
        for index, head in enumerate(rules.heads.tolist()):
            self._bodies.setdefault(head, []).append(literals[bounds[index] : bounds[index + 1]])
        reads = {
            atom: {lit // 2: None for body in self._bodies.get(atom, ()) for lit in body}
            for atom in range(rules.atom_count)
        }
        self._components = strong_components(reads)
        for component in self._components:
            inside = set(component)
            for atom in component:
                for body in self._bodies.get(atom, ()):
                    assert not any(lit & 1 and lit // 2 in inside for lit in body), "a cycle through negation"

    def model(self, state: Iterable[Term], joint_move: JointMove = ()) -> list[bool]:
        """Whether each atom holds; without a joint move, no move is done."""
        holds = [False] * self.rules.atom_count
        for fact in state:
            holds[self._facts[fact]] = True
        for role, move in zip(self.roles, joint_move, strict=bool(joint_move)):
            holds[self._moves[role, move]] = True
        for component in self._components:
            changed = True
            while changed:
                changed = False
                for atom in component:
                    bodies = () if holds[atom] else self._bodies.get(atom, ())
                    if any(all(holds[lit // 2] != lit & 1 for lit in body) for body in bodies):
                        holds[atom] = changed = True
        return holds

    def legal_moves(self, holds: list[bool], role: str) -> tuple[Term, ...]:
        return self._of_role(holds, role, self.rules.moves, self.rules.legal.tolist())

    def goal_values(self, holds: list[bool], role: str) -> tuple[int, ...]:
        return self._of_role(holds, role, self.rules.goals, self.rules.goal_atoms.tolist())

    def percepts(self, holds: list[bool], role: str) -> tuple[Term, ...]:
        return self._of_role(holds, role, self.rules.percepts, self.rules.percept_atoms.tolist())

    def is_terminal(self, holds: list[bool]) -> bool:
        return self.rules.terminal != NEVER and holds[self.rules.terminal]

    def next_state(self, holds: list[bool]) -> Facts:
        atoms = self.rules.next.tolist()
        return frozenset(f for f, atom in zip(self.rules.facts, atoms, strict=True) if atom != NEVER and holds[atom])

    def _of_role(
        self, holds: list[bool], role: str, values: tuple[tuple[Value, ...], ...], atoms: list[int]
    ) -> tuple[Value, ...]:
        index = self.roles.index(role)
        start = sum(map(len, values[:index]))
        return tuple(v for v, atom in zip(values[index], atoms[start:], strict=False) if holds[atom])
