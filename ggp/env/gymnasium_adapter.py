"""Environments as Gymnasium has them: `GymVectorEnv` (many matches, on the lanes) and `GymEnv` (one match).

Both end and begin anew as Gymnasium 1 defines it. They need the package gymnasium (`pip install ggp[rl]`).
"""

from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from ggp.env.layouts import ArrayLayout
from ggp.env.single import (
    Opponent,
    SingleMatch,
    check_opponent,
    check_visible,
    choose_moves,
    draw_rgb,
    draw_text,
    random_opponent,
)
from ggp.env.vector import StepResult, VectorEnvironment, make_vec
from ggp.errors import SettingsError, UnknownRoleError, did_you_mean
from ggp.game import Game, load
from ggp.simulation.environment_kernels import ONLY

Array: TypeAlias = NDArray[Any]
_Shown: TypeAlias = tuple[Array, Array, dict[str, Any]]  # observation, reward, infos
_MOST_BEGUN = 1_000  # matches, until the role has a choice
_MOST_IDLE = 100_000  # steps of a match, until the role has a choice
_MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


def environment_id(game: Game) -> str:
    """`ggp/tictactoe-1a2b3c4d-v0`: the name of a game, a hash of its rules, and the version of our arrays."""
    name = "".join(letter if letter.isalnum() or letter in "_-." else "_" for letter in game.name)
    return f"ggp/{name}-{game.rulesheet.sha256[:8]}-v0"


def register(game: str | Path | Game, **options: Any) -> str:  # noqa: ANN401 - of the constructors
    """Make `gymnasium.make` and `make_vec` know a game, by the id that is returned; options: of the constructors.

    For the same rules again, the later options hold.
    """
    found = game if isinstance(game, Game) else load(game, "circuit")
    name = environment_id(found)

    def make(**given: Any) -> GymEnv:  # noqa: ANN401 - of GymEnv
        return GymEnv(found, **{**options, **given})

    def make_many(**given: Any) -> GymVectorEnv:  # noqa: ANN401 - of GymVectorEnv
        return GymVectorEnv(found, **{**options, **given})

    gymnasium.registry.pop(name, None)
    gymnasium.register(name, make, vector_entry_point=make_many)
    return name


def observation_space(layout: ArrayLayout, count: int | None = None) -> spaces.Box:
    """Of one environment, or of so many; bytes are uint8."""
    shape = layout.shape if count is None else (count, *layout.shape)
    if layout.dtype == np.uint64:
        return spaces.Box(0, np.iinfo(np.uint64).max, shape, np.uint64)
    return spaces.Box(0, 1, shape, np.uint8)


def single_space(match: SingleMatch) -> spaces.Box:
    """Of what one role observes."""
    if match.is_packed:
        return spaces.Box(0, np.iinfo(np.uint64).max, match.shape, np.uint64)
    return spaces.Box(0, 1, match.shape, np.uint8)


def as_numbers(array: Array) -> Array:
    """Truth values as uint8, without a copy."""
    return array.view(np.uint8) if array.dtype.char == "?" else array


def role_number(environments: VectorEnvironment, role: str) -> int:
    if role not in environments.roles:
        hint = did_you_mean(role, environments.roles)
        raise UnknownRoleError(f"no role is called {role!r}{hint}; the roles are {', '.join(environments.roles)}")
    return environments.roles.index(role)


class GymVectorEnv(VectorEnv[Array, Array, Array]):
    """Matches of one game. A step is one joint move in every match; nothing waits for anything.

    role None: self-play; an action is the mover's move (n,), or where roles may choose at once all roles' moves (n, R).
    Else an action is the role's move (n,), where ONLY or any number will do while it has one legal move only; the other
    roles are played by `opponent`. The reward is that of the role, in self-play of the first one; infos have `reward`
    of all roles, `action_mask` (n, R, moves), and `mover` (n,). With `same_step`, `final_obs` is that of all.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        game: str | Path | Game,
        num_envs: int = 1,
        *,
        role: str | None = None,
        opponent: Opponent = random_opponent,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - of EnvironmentSettings
    ) -> None:
        settings = {"illegal": "first", **settings}
        self.environments = environments = make_vec(game, num_envs, **settings)
        self.metadata = {
            "autoreset_mode": _MODES[environments.settings.autoreset],
            "render_modes": ["rgb_array", "ansi"],
        }
        self.num_envs, self.render_mode = num_envs, render_mode
        self.role = 0 if role is None else role_number(environments, role)
        self._opponent = None if role is None else opponent
        check_opponent(opponent, environments)
        layout = environments.observation_layout
        self.single_observation_space = observation_space(layout)
        self.observation_space = observation_space(layout, num_envs)
        counts = np.array([len(moves) for moves in environments.moves], np.int64)
        if role is None and environments.has_simultaneous_moves:
            self.single_action_space: Any = spaces.MultiDiscrete(counts)
            self.action_space: Any = spaces.MultiDiscrete(np.tile(counts, (num_envs, 1)))
        else:
            most = int(counts.max() if role is None else counts[self.role])
            self.single_action_space = spaces.Discrete(most)
            self.action_space = spaces.MultiDiscrete(np.full(num_envs, most))
        self._last: StepResult | None = None
        self._is_same_step = environments.settings.autoreset == "same_step"
        self._keeps = not environments.settings.copy
        self._shown: dict[int, _Shown] = {}  # of the two sets of arrays, if there are no more

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        mask = None if options is None else options.get("reset_mask")
        self._last = step = self.environments.reset(seed, mask)
        observation, _, infos = self._show(step)
        return observation, infos.copy()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        moves = actions if self._opponent is None else self._joint(actions)
        self._last = step = self.environments.step(moves)
        observation, reward, infos = self._shown.get(id(step)) or self._show(step)
        infos = infos.copy()
        if self._is_same_step:
            self._add_final(infos, step)
        return observation, reward, step.terminated, step.truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        return tuple(_render(self.environments, at, self.render_mode) for at in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ANN401, ARG002 - Gymnasium's
        self.environments.close()

    def _show(self, step: StepResult) -> _Shown:
        infos = {"action_mask": as_numbers(step.mask), "mover": step.mover, "reward": step.reward}
        found = as_numbers(step.observation), step.reward[:, self.role], infos
        if self._keeps:
            self._shown[id(step)] = found
        return found

    def _add_final(self, infos: dict[str, Any], step: StepResult) -> None:
        ended = step.terminated | step.truncated
        if not ended.any():
            return
        final = as_numbers(self.environments.final_observation())
        found = np.full(self.num_envs, None, object)
        for at in np.flatnonzero(ended).tolist():
            found[at] = final[at]
        infos |= {"final_obs": found, "_final_obs": ended, "final_info": {}, "_final_info": ended}

    def _joint(self, actions: Array) -> Array:
        """The moves of all roles: ours as given, where we have a choice."""
        if self._last is None:
            raise SettingsError("reset the environments before the first step")
        environments, opponent = self.environments, self._opponent
        assert opponent is not None
        masks = environments.unpack_mask(self._last.mask)
        joint = np.empty((self.num_envs, len(environments.roles)), np.int64)
        for at in range(len(environments.roles)):
            own = masks[:, at, : len(environments.moves[at])]
            if at == self.role:
                single = own.sum(axis=1) == 1
                joint[:, at] = np.where(single, own.argmax(axis=1), actions)
            else:
                seen = _seen(self._last.observation, at, environments)
                joint[:, at] = choose_moves(opponent, environments, at, seen, own, self.np_random)
        return joint


def _seen(observation: Array, role: int, environments: VectorEnvironment) -> Array:
    """What a role observes: of games with percepts only its own."""
    return observation[:, role] if environments.compiled.has_percepts else observation


def _render(environments: VectorEnvironment, at: int, mode: str) -> Any:  # noqa: ANN401 - as the mode says
    state = environments.state(at)
    check_visible(state)
    drawing = draw_rgb if mode == "rgb_array" else draw_text
    return drawing(state, environments.board_layout)


class GymEnv(gymnasium.Env[Array, np.int64]):
    """One match, seen by one role (by default the first one); the other roles are played by `opponent`.

    A step is a move of the role, then moves of the others until the role has a choice again or the match is over. A
    match that ends before the role had a choice is begun anew; SettingsError where 1,000 such ones follow each other,
    or 100,000 steps in which the role has no choice.
    role "self": self-play; each step moves the role that has the choice, or where several may choose at once the
    moves of all roles, and the reward is that of the first role. infos have `action_mask` (moves,) and, in self-play,
    `mover`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 2}

    def __init__(
        self,
        game: str | Path | Game,
        *,
        role: str | None = None,
        opponent: Opponent = random_opponent,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - of EnvironmentSettings
    ) -> None:
        self._match = match = SingleMatch(game, {"illegal": "first", **settings})
        self.environments = environments = match.environments
        self.render_mode, self._opponent = render_mode, opponent
        check_opponent(opponent, environments)
        self._self_play = role == "self" and "self" not in environments.roles
        self.role = 0 if role is None or self._self_play else role_number(environments, role)
        self.observation_space = single_space(match)
        counts = list(match.counts)
        if self._self_play:
            match.counts = [max(counts)] * len(counts)
        self._is_joint = self._self_play and environments.has_simultaneous_moves
        self.action_space = spaces.MultiDiscrete(counts) if self._is_joint else spaces.Discrete(match.counts[self.role])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        del options
        begun = self._match.has_begun
        self._match.reset(seed if seed is not None or begun else int(self.np_random.integers(1 << 62)))
        for _ in range(_MOST_BEGUN):
            self._wait()
            if self._self_play or not self._match.is_over:
                return self._tell()
            self._match.reset(None)
        raise SettingsError(f"{self.environments.roles[self.role]} had no choice in {_MOST_BEGUN:,} matches")

    def step(self, action: np.int64) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        match = self._match
        match.check_begun()
        if self._is_joint:
            match.play(np.asarray(action).reshape(1, -1))
        elif self._self_play:
            match.move(int(action))
        else:
            self._advance(int(action))
            self._wait()
        seen, info = self._tell()
        if not match.is_over:
            return seen, 0.0, False, False, info
        step = match.step
        return seen, float(step.reward[0, self.role]), bool(step.terminated[0]), bool(step.truncated[0]), info

    def render(self) -> Any:  # noqa: ANN401 - as the mode says
        return None if self.render_mode is None else _render(self.environments, 0, self.render_mode)

    def close(self) -> None:
        self.environments.close()

    def _advance(self, own: int) -> None:
        """One joint move, with our number, or ONLY."""
        match = self._match
        joint = np.full((1, len(match.counts)), own, np.int64)
        for at in range(len(match.counts)):
            if at != self.role:
                mask = match.mask(at).view(np.bool_)[np.newaxis]
                seen = match.observation(at)[np.newaxis]
                joint[0, at] = choose_moves(self._opponent, self.environments, at, seen, mask, self.np_random)[0]
            elif own == ONLY:
                joint[0, at] = match.mask(at).argmax()
        match.play(joint)

    def _wait(self) -> None:
        """Go on while the role has one legal move at most and another role has several, or has none of its own."""
        for _ in range(_MOST_IDLE):
            if self._self_play or self._match.is_over or not self._is_idle():
                return
            self._advance(ONLY)
        role = self.environments.roles[self.role]
        raise SettingsError(f"{role} had no choice in {_MOST_IDLE:,} steps; max_steps ends matches that have no end")

    def _is_idle(self) -> bool:
        match = self._match
        if match.is_private or match.mover == self.role:
            return False  # a percept may come with every step
        return bool(match.mask(self.role).sum() <= 1)

    def _tell(self) -> tuple[Array, dict[str, Any]]:
        match = self._match
        if not self._self_play:
            return match.observation(self.role), {"action_mask": match.mask(self.role)}
        if self._is_joint:
            mask = np.stack([match.mask(role) for role in range(len(match.counts))])
        else:
            mask = match.mask(max(0, match.mover))
        return match.observation(0), {"action_mask": mask, "mover": match.mover}
