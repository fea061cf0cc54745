"""One match of `make_vec` and its pictures, for adapters to libraries that step one environment at a time.

An environment alone is stepped in 2 µs, so each look at an array counts: `copy=False` has two sets of arrays, and the
parts of them that are looked at are found once.

Other roles are played by an opponent: a function of observations and masks, or of the state.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.boards import Layout, make_picture, picture_lines, picture_png, plain_text
from ggp.env.vector import StepResult, VectorEnvironment, make_vec
from ggp.errors import HiddenStateError, SettingsError
from ggp.game import Game, State
from ggp.simulation.environment_kernels import ONLY
from ggp.trees import Search

_Views = tuple[list[NDArray[Any]], list[NDArray[Any]]]


class SingleMatch:
    """A match, with what its roles see; `step` is what the last step told."""

    def __init__(self, game: str | Path | Game, settings: dict[str, Any]) -> None:
        self.environments = environments = make_vec(game, 1, **{**settings, "autoreset": "disabled", "copy": False})
        layout = environments.observation_layout
        self.is_private = environments.compiled.has_percepts
        self.shape = layout.shape[1:] if self.is_private else layout.shape
        self.is_packed = layout.dtype == np.uint64
        self.counts: Sequence[int] = [len(moves) for moves in environments.moves]  # how much of each mask is shown
        self.is_over = False
        self.mover = ONLY
        self._step: StepResult | None = None
        self._joint = np.full((1, len(environments.roles)), ONLY, np.int64)
        self._views: dict[int, _Views] = {}
        self._own: _Views = [], []  # where the observations and the masks of bytes of each role are

    @property
    def step(self) -> StepResult:
        """SettingsError before the first reset."""
        self.check_begun()
        assert self._step is not None
        return self._step

    @property
    def has_begun(self) -> bool:
        return self._step is not None

    def check_begun(self) -> None:
        """SettingsError before the first reset."""
        if self._step is None:
            raise SettingsError("reset the environment before the first step")

    def reset(self, seed: int | None) -> None:
        self._take(self.environments.reset(seed))

    def play(self, joint: NDArray[np.int64]) -> None:
        """joint: (1, R)"""
        self._take(self.environments.step(joint))

    def move(self, action: int) -> None:
        """The mover's move; IllegalActionError as in `VectorEnvironment.step`."""
        if self.mover < 0:
            self._take(self.environments.step(np.array([action])))
            return
        self._joint[0, self.mover] = action
        try:
            self._take(self.environments.step(self._joint))
        finally:
            self._joint.fill(ONLY)

    def observation(self, role: int) -> NDArray[Any]:
        """A copy; truth values are uint8."""
        return self._own[0][role].copy()

    def mask(self, role: int) -> NDArray[np.int8]:
        """A copy, (counts[role],)."""
        if self.is_packed:
            wide: NDArray[np.int8] = self.environments.unpack_mask(self.step.mask)[0, role].view(np.int8)
            return wide[: self.counts[role]].copy()
        return self._own[1][role].copy()

    def _take(self, step: StepResult) -> None:
        self._step = step
        self.mover = step.mover.item()
        self.is_over = step.terminated.item() or step.truncated.item()
        found = self._views.get(id(step))  # there are two of them, as long as the environment lives
        self._own = self._look(step) if found is None else found

    def _look(self, step: StepResult) -> _Views:
        seen = step.observation if self.is_packed else step.observation.view(np.uint8)
        roles = range(len(self.counts))
        found = self._views[id(step)] = (
            [seen[0, role] if self.is_private else seen[0] for role in roles],
            [] if self.is_packed else [step.mask.view(np.int8)[0, role, : self.counts[role]] for role in roles],
        )
        return found


def draw_png(state: State, layout: Layout) -> bytes:
    return picture_png(make_picture(layout, state.terms))


def draw_text(state: State, layout: Layout) -> str:
    return plain_text(picture_lines(make_picture(layout, state.terms)))


def draw_rgb(state: State, layout: Layout) -> NDArray[np.uint8]:
    """(height, width, 3) as wide and high as the PNG."""
    from matplotlib.image import imread  # noqa: PLC0415 - slow to load

    pixels: NDArray[Any] = imread(BytesIO(draw_png(state, layout)), format="png")
    return np.round(pixels[..., :3] * 255).astype(np.uint8)


def check_visible(state: State) -> None:
    """HiddenStateError for a game whose rules hide the state: a picture would show it to every role."""
    if state.game.rulesheet.has_percepts:
        raise HiddenStateError(f"{state.game.name}: the rules hide the state from the roles, so it is not drawn")


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
    moves: Array = np.argmax((1 - random.random(mask.shape, np.float32)) * mask, axis=1)
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
    """HiddenStateError for one that needs the state of a game that hides it, SettingsError for anything else."""
    if not callable(opponent) and not isinstance(opponent, StateOpponent):
        wanted = "a function of observations, masks and a random generator, or a StateOpponent"
        raise SettingsError(f"an opponent is {wanted} such as search_opponent(), not {opponent!r}")
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
