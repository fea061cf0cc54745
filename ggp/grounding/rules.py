"""The value that grounding gives: all rules without variables, as arrays."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.terms import Term

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]

NEVER = -1  # stands for an atom that no rule can ever give


@dataclass(frozen=True, slots=True)
class Report:
    """How the ground rules came about."""

    seconds: float  # from program to ground rules
    rewritings: tuple[tuple[str, int], ...]  # the name of each and how often it was applied


@dataclass(frozen=True, slots=True, eq=False)
class GroundRules:
    """A game as rules over numbered atoms: F facts, then the M moves of all roles, then everything else."""

    roles: tuple[str, ...]
    facts: tuple[Term, ...]  # all that may ever be true, sorted by text; fact f is atom f
    moves: tuple[tuple[Term, ...], ...]  # per role, sorted by text: all that may ever be legal; atoms F, F + 1, …
    initial: NDArray[np.bool_]  # (F,)
    next: Ids  # (F,) the atom that says that the fact holds in the next state, or NEVER
    legal: Ids  # (M,) the atom that says that the move is legal
    goals: tuple[tuple[int, ...], ...]  # per role, ascending: the values 0 to 100 that some rule may give
    goal_atoms: Ids  # of all goals, role by role
    percepts: tuple[tuple[Term, ...], ...]  # per role, sorted by text; empty where no rule has `sees`
    percept_atoms: Ids  # of all percepts, role by role
    terminal: int  # an atom, or NEVER
    atom_count: int
    heads: Ids  # (R,) rule r says: heads[r] holds if all of literals[first_literal[r]:first_literal[r + 1]] do
    first_literal: Offsets  # (R + 1,)
    literals: Ids  # 2 * atom, and one more if negated; no head is a fact or a move
    report: Report
