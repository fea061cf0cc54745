"""What plays the other roles where an environment has one role: by observations and masks, or by the state."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.env.vector import VectorEnvironment
from ggp.errors import HiddenStateError, SettingsError
from ggp.game import State
from ggp.trees import Search

Array: TypeAlias = NDArray[Any]
ArrayOpponent: TypeAlias = Callable[[Array, Array, np.random.Generator], Array]
"""observations (n, …) and masks (n, moves) of one role → (n,) the numbers of its moves"""


@dataclass(frozen=True, slots=True)
class StateOpponent:
    """A bot that is asked for one state after the other: `choose(state, role)` is the text of a legal move.

    It is asked only where its role has a choice, and not in games whose rules hide the state (HiddenStateError).
    """

    choose: Callable[[State, str], str]


Opponent: TypeAlias = ArrayOpponent | StateOpponent


def random_opponent(observation: Array, mask: Array, random: np.random.Generator) -> Array:
    """A random legal move, each as probable as the others; 0 where there is none."""
    del observation
    moves: Array = np.argmax(random.random(mask.shape, np.float32) * mask, axis=1)
    return moves


def search_opponent(visits: int = 1000, *, seed: int = 0) -> StateOpponent:
    """The tree search of `mcts`, with so many visits for each move, anew in each state."""

    def choose(state: State, role: str) -> str:
        with closing(Search(state, role=role, seed=seed)) as search:
            best = search.run(visits=visits).best
        assert best is not None, "the role has a choice"
        return best

    return StateOpponent(choose)


def check_opponent(opponent: Opponent, environments: VectorEnvironment) -> None:
    """HiddenStateError for one that needs the state of a game that hides it."""
    if isinstance(opponent, StateOpponent) and environments.compiled.has_percepts:
        raise HiddenStateError(f"{environments.game.name}: the rules hide the state, so no opponent may choose by it")


def choose_moves(
    opponent: Opponent,
    environments: VectorEnvironment,
    role: int,
    observation: Array,
    mask: Array,
    random: np.random.Generator,
) -> Array:
    """(n,) the number of the role's move in each environment; SettingsError for the text of no legal move."""
    if not isinstance(opponent, StateOpponent):
        return opponent(observation, mask, random)
    moves: Array = mask.argmax(axis=1)
    name, texts = environments.roles[role], environments.moves[role]
    for at in np.flatnonzero(mask.sum(axis=1) > 1).tolist():
        move = opponent.choose(environments.state(at), name)
        if move not in texts or not mask[at, texts.index(move)]:
            raise SettingsError(f"environment {at}: the opponent's move {move!r} is not legal for {name}")
        moves[at] = texts.index(move)
    return moves
