"""The circuit of a game: a network of gates from facts and moves to legality, the next state, the end and the goals."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids


class Loops(NamedTuple):
    """Recursion within a state: loop nodes start as false and take their results until nothing changes."""

    results: Ids  # (L,) the literal that loop node l takes; it does not fall as the loop nodes rise
    components: Ids  # (L,) loops of one component settle together; lower components do not read higher ones


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """Nodes and outputs; literals are 2 · node, + 1 for the complement (see `network`)."""

    facts: int  # F; fact f is node 1 + f
    moves: tuple[int, ...]  # of each role; M in all; move m, counted over all roles, is node 1 + F + m
    left: Ids  # (N,)
    right: Ids  # (N,)
    loops: Loops
    initial: NDArray[np.bool_]  # (F,)
    next: Ids  # (F,) reads facts and moves
    legal: Ids  # (M,) reads facts only, like the following
    terminal: int
    goals: Ids  # (goal values of all roles,)
    percepts: Ids  # reads facts and moves

    @property
    def inputs(self) -> int:
        return self.facts + sum(self.moves)

    @property
    def gates(self) -> int:
        return len(self.left) - 1 - self.inputs - len(self.loops.results)

    @property
    def outputs(self) -> Ids:
        """All outputs in a row: next, legal, terminal, goals, percepts."""
        terminal = np.array([self.terminal], np.int32)
        return np.concatenate([self.next, self.legal, terminal, self.goals, self.percepts]).astype(np.int32)

    def with_nodes(self, left: Ids, right: Ids, loops: Loops, outputs: Ids) -> "Circuit":
        """The same game with other gates; `outputs` in the order of the property."""
        cuts = np.cumsum([len(self.next), len(self.legal), 1, len(self.goals)])
        following, legal, terminal, goals, percepts = np.split(outputs.astype(np.int32), cuts)
        return replace(
            self, left=left, right=right, loops=loops, next=following, legal=legal, terminal=int(terminal[0]),
            goals=goals, percepts=percepts,
        )  # fmt: skip
