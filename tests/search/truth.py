"""What states are worth, from all that can follow: the slow twin of the bounds in a search tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.simulation.state_machine import CircuitMachine

UNKNOWN = 0.5  # of an end without a goal value

Vector = tuple[float, ...]


@dataclass(slots=True)
class Position:
    """A state and what follows."""

    legal: tuple[tuple[Term, ...], ...]
    value: Vector | None  # of an end
    terminal: bool = False  # an end may also be a state where a role has no move
    following: dict[JointMove, Facts] = field(default_factory=dict)

    @property
    def choosers(self) -> list[int]:
        return [role for role, moves in enumerate(self.legal) if len(moves) > 1]


class World:
    """All states that can be reached, and their values for each role, 0 to 1."""

    def __init__(self, machine: StateMachine, positions: dict[Facts, Position]) -> None:
        self.roles = machine.roles
        self.nature = [number for number, role in enumerate(machine.roles) if role == NATURE]
        self.start = machine.initial_state
        self.positions = positions
        self.order = list(_in_order(positions, self.start))
        place = {state: at for at, state in enumerate(self.order)}
        self.cyclic = any(
            place[after] >= place[state]
            for state, position in positions.items()
            for after in position.following.values()
        )
        self.together = any(len(position.choosers) > 1 for position in positions.values())

    def assured(self, role: int, rounds: int = 400) -> dict[Facts, float]:
        """What the role can be sure of, whatever the other ones do, in so many steps at most."""
        found = {state: position.value[role] if position.value else 0.0 for state, position in self.positions.items()}
        for _ in range(rounds):
            before = dict(found)
            for state in self.order:
                if self.positions[state].value is None:
                    found[state] = self._sure(role, self.positions[state], found)
            if before == found:
                break
        return found

    def _sure(self, role: int, position: Position, found: dict[Facts, float]) -> float:
        best = 0.0
        others = [number for number in range(len(self.roles)) if number != role and number not in self.nature]
        choices = [()] if role in self.nature else position.legal[role]
        for own in choices:
            worst = 1.0
            for rest in product(*(position.legal[number] for number in others)):
                fixed = dict(zip(others, rest, strict=True)) | ({} if role in self.nature else {role: own})
                values = [
                    found[after]
                    for joint, after in position.following.items()
                    if all(joint[number] == move for number, move in fixed.items())
                ]
                worst = min(worst, sum(values) / len(values))
            best = max(best, worst)
        return best

    def outcomes(self, most: int = 3000) -> dict[Facts, frozenset[Vector] | None]:
        """What can come out where each role that has a choice takes one of its best moves; None where that is too much.

        For games without cycles; where several choose at once, too, there is no answer.
        """
        assert not self.cyclic
        found: dict[Facts, frozenset[Vector] | None] = {}
        for state in self.order:
            position = self.positions[state]
            if position.value is not None:
                found[state] = frozenset([rounded(position.value)])
                continue
            sets = [found[after] for after in position.following.values()]
            known = [each for each in sets if each is not None]
            if len(known) < len(sets) or len(position.choosers) > 1 or prod(map(len, known)) > most:
                found[state] = None
                continue
            found[state] = frozenset(rounded(vector) for vector in self._equilibria(position, known))
        return found

    def _equilibria(self, position: Position, sets: list[frozenset[Vector]]) -> Iterator[Vector]:
        for vectors in product(*sets):
            chooser = position.choosers[0] if position.choosers else 0
            if position.choosers and chooser in self.nature:
                yield tuple(sum(parts) / len(vectors) for parts in zip(*vectors, strict=True))
                continue
            best = max(vector[chooser] for vector in vectors)
            yield from (vector for vector in vectors if vector[chooser] == best)


def rounded(vector: Vector) -> Vector:
    return tuple(round(value, 9) for value in vector)


def explore(machine: StateMachine, circuit: CircuitMachine, most: int = 400) -> World | None:
    """None when there are more states than that."""
    ranges = [(min(values, default=0), max(values, default=0)) for values in circuit.compiled.goals]
    positions: dict[Facts, Position] = {}
    waiting = [machine.initial_state]
    while waiting:
        state = waiting.pop()
        if state in positions:
            continue
        if len(positions) >= most:
            return None
        legal = tuple(machine.legal_moves(state, role) for role in machine.roles)
        is_terminal = machine.is_terminal(state)
        if is_terminal or not all(legal):
            value = _values(machine, state, ranges) if is_terminal else (UNKNOWN,) * len(legal)
            positions[state] = Position(legal, value, is_terminal)
            continue
        if prod(map(len, legal)) > most:
            return None
        positions[state] = position = Position(legal, None)
        for joint in product(*legal):
            position.following[joint] = machine.next_state(state, joint)
        waiting += position.following.values()
    return World(machine, positions)


def _values(machine: StateMachine, state: Facts, ranges: list[tuple[int, int]]) -> Vector:
    found = []
    for role, (lowest, highest) in zip(machine.roles, ranges, strict=True):
        goal = machine.goal(state, role)
        found.append(UNKNOWN if goal is None else (goal - lowest) / max(1, highest - lowest))
    return tuple(found)


def _in_order(positions: dict[Facts, Position], start: Facts) -> Iterator[Facts]:
    """Each state after those that follow it, as far as there are no cycles."""
    seen = {start}
    path = [(start, iter(positions[start].following.values()))]
    while path:
        state, rest = path[-1]
        after = next((each for each in rest if each not in seen), None)
        if after is None:
            yield state
            path.pop()
        else:
            seen.add(after)
            path.append((after, iter(positions[after].following.values())))
