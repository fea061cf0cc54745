"""What a role does in each of its information sets: in words, and for a player who follows a match."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ggp.equilibrium.game_tree import BEFORE, NONE, ROLE, TOLD, GameTree, Values, told_in
from ggp.gdl.terms import Term, to_text


@dataclass(frozen=True, slots=True)
class Decision:
    """An information set, and what is done there."""

    role: str
    known: tuple[tuple[Term, tuple[Term, ...]], ...]  # for each step, the role's move and what it was told
    moves: dict[Term, float]  # with probabilities


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """Strategies of all roles of a game without nature."""

    tree: GameTree
    strategy: Values  # (S,)

    def decision(self, number: int) -> Decision:
        """Of an information set, by its number."""
        tree, form = self.tree, self.tree.form
        role = int(np.searchsorted(form.first_set, number, "right")) - 1
        name = tree.roles[role]
        known, item = [], int(tree.item[number])
        for step in range(int(tree.step[number]), 0, -1):
            item, move, told = knowledge(tree, step, item)
            known.append((move, told))
        return Decision(name, tuple(reversed(known)), self.moves(number))

    def moves(self, number: int) -> dict[Term, float]:
        """With their probabilities, in an information set."""
        tree, form = self.tree, self.tree.form
        role = int(np.searchsorted(form.first_set, number, "right")) - 1
        moves = tree.machine.compiled.moves[tree.machine.roles.index(tree.roles[role])]
        sequences = range(int(form.first[number]), int(form.first[number + 1]))
        return {moves[tree.moves[at]]: float(self.strategy[at]) for at in sequences}

    def decisions(self) -> Iterator[Decision]:
        """Role by role, what comes first in a match first."""
        return map(self.decision, range(len(self.tree.form.parent)))


def knowledge(tree: GameTree, step: int, item: int) -> tuple[int, Term, tuple[Term, ...]]:
    """What a role knew a step before, its move then, and what it was told since; step > 0."""
    machine, key = tree.machine, tree.known[step][item]
    before, role = int(key[BEFORE]), int(key[ROLE])
    move = machine.compiled.moves[role][before >> 32]
    return before & 0xFFFFFFFF, move, told_in(machine, key[TOLD:])


class Follower:
    """The information set that a role is in, step by step."""

    def __init__(self, tree: GameTree, role: str) -> None:
        self._tree = tree
        self._role = tree.machine.roles.index(role)
        self._step = 0
        self._item: int | None = next(iter(np.flatnonzero(tree.known[0][:, ROLE] == self._role).tolist()), None)

    @property
    def information_set(self) -> int | None:
        """Its number; None where the role has no choice, or what happened is not in the tree."""
        if self._item is None:
            return None
        number = int(self._tree.set_of[self._step][self._item])
        return None if number == NONE else number

    def advance(self, move: Term, told: tuple[Term, ...]) -> None:
        """One step: the role's move and what it was told, as `StateMachine.percepts`."""
        tree, self._step = self._tree, self._step + 1
        if self._item is None or self._step >= len(tree.known):
            self._item = None
            return
        machine = tree.machine
        moves = machine.compiled.moves[self._role]
        rows = np.flatnonzero(
            (tree.known[self._step][:, ROLE] == self._role)
            & (tree.known[self._step][:, BEFORE] & np.uint64(0xFFFFFFFF) == self._item)
        )
        wanted = sorted(map(to_text, told)) if machine.compiled.has_percepts else [to_text(term) for term in told]
        self._item = None
        for row in rows.tolist():
            key = tree.known[self._step][row]
            if moves[int(key[BEFORE]) >> 32] == move:
                found = list(map(to_text, told_in(machine, key[TOLD:])))
                if (sorted(found) if machine.compiled.has_percepts else found) == wanted:
                    self._item = row
                    return
