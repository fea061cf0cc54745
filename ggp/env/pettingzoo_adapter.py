"""Environments as PettingZoo has them: `TurnEnv` (AEC: one agent acts after the other) and `TogetherEnv` (Parallel).

An agent is a role. They need the package pettingzoo (`pip install ggp[rl]`).
"""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv

from ggp.env.gymnasium_adapter import environment_id, single_space
from ggp.env.single import SingleMatch, check_visible, draw_rgb, draw_text
from ggp.env.vector import SIMULTANEOUS
from ggp.errors import SettingsError
from ggp.game import Game
from ggp.simulation.environment_kernels import ONLY

Observation: TypeAlias = dict[str, NDArray[Any]]


class _Agents(SingleMatch):
    """A match, with what both kinds of environment tell of it."""

    def __init__(self, game: str | Path | Game, settings: dict[str, Any]) -> None:
        super().__init__(game, settings)
        self.agents = list(self.environments.roles)
        self.number = {agent: number for number, agent in enumerate(self.agents)}
        self.actions = {agent: spaces.Discrete(self.counts[at]) for agent, at in self.number.items()}
        self.observations = {
            agent: spaces.Dict(
                {
                    "observation": single_space(self),
                    "action_mask": spaces.Box(0, 1, (self.counts[at],), np.int8),
                }
            )
            for agent, at in self.number.items()
        }
        self.metadata = {
            "name": environment_id(self.environments.game).removeprefix("ggp/"),
            "render_modes": ["rgb_array", "ansi"],
            "is_parallelizable": True,
            "render_fps": 2,
        }

    def check_begun(self) -> None:
        """SettingsError before the first reset."""
        if not self.has_begun:
            raise SettingsError("reset the environment before the first step")

    def check_action(self, agent: str, action: int) -> None:
        """IllegalActionError where `play` would raise it for this action, though others have not acted yet."""
        number, mask = self.number[agent], self.mask(self.number[agent])
        is_legal = bool(mask[action]) if 0 <= action < len(mask) else action == ONLY and mask.sum() == 1
        if not is_legal and self.environments.settings.illegal == "raise":
            raise self.environments.illegal_action(0, number, action)

    def observe(self, agent: str) -> Observation:
        self.check_begun()
        number = self.number[agent]
        return {"observation": self.observation(number), "action_mask": self.mask(number)}

    def render(self, mode: str | None) -> Any:  # noqa: ANN401 - as the mode says
        if mode is None:
            return None
        state = self.environments.state(0)
        check_visible(state)
        return (draw_rgb if mode == "rgb_array" else draw_text)(state, self.environments.board_layout)


class TurnEnv(AECEnv[str, Observation, int]):
    """AEC: the role that has the choice acts; where several may have one, all act in turn, then the step is done.

    Observations are dictionaries of `observation` and `action_mask`. Rewards come at the end of the match.
    """

    def __init__(
        self, game: str | Path | Game, *, render_mode: str | None = None, **settings: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        super().__init__()
        self._match = match = _Agents(game, settings)
        self.environments, self.render_mode, self.metadata = match.environments, render_mode, match.metadata
        self.possible_agents = list(match.agents)
        self.agents = list(match.agents)
        self.observation_spaces, self.action_spaces = match.observations, match.actions
        self.agent_selection = self.agents[0]
        self._joint = np.full((1, len(self.agents)), ONLY, np.int64)
        self._waiting: list[str] = []
        self._seed: int | None = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        del options
        self._match.reset(seed if seed is not None else self._seed)
        self._seed = None
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._begin_step()

    def observe(self, agent: str) -> Observation:
        return self._match.observe(agent)

    def last(self, observe: bool = True) -> Any:  # noqa: ANN401 - PettingZoo has no types
        self._match.check_begun()
        return super().last(observe)

    def step(self, action: int | None) -> None:
        self._match.check_begun()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise SettingsError(f"{agent} gives no action, and its match is not over")
        joint = self._joint.copy()
        joint[0, self._match.number[agent]] = int(action)
        if len(self._waiting) > 1:
            self._match.check_action(agent, int(action))
            self._joint = joint
            self._waiting.pop(0)
            self.agent_selection = self._waiting[0]
        else:
            self._match.play(joint)
            self._begin_step()

    def render(self) -> Any:  # noqa: ANN401 - as the mode says
        return self._match.render(self.render_mode)

    def close(self) -> None:
        self.environments.close()

    def _begin_step(self) -> None:
        """Find who acts, and tell all whether the match is over."""
        match, agents = self._match, self.possible_agents
        self._waiting = list(agents) if match.mover == SIMULTANEOUS else [agents[match.mover]]
        self._joint.fill(ONLY)
        self.agent_selection = self._waiting[0]
        if match.is_over:
            step = match.step
            for number, agent in enumerate(agents):
                self.terminations[agent] = bool(step.terminated[0])
                self.truncations[agent] = bool(step.truncated[0])
                self.rewards[agent] = float(step.reward[0, number])
            self._accumulate_rewards()  # until then all are 0


class TogetherEnv(ParallelEnv[str, Observation, int]):
    """Parallel: all roles act at every step; a role whose turn it is not has one legal move."""

    def __init__(
        self, game: str | Path | Game, *, render_mode: str | None = None, **settings: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        self._match = match = _Agents(game, settings)
        self.environments, self.render_mode, self.metadata = match.environments, render_mode, match.metadata
        self.possible_agents = list(match.agents)
        self.agents: list[str] = []
        self.observation_spaces, self.action_spaces = match.observations, match.actions
        self._joint = np.zeros((1, len(match.agents)), np.int64)
        self._seed: int | None = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        del options
        self._match.reset(seed if seed is not None else self._seed)
        self._seed = None
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        match, agents = self._match, self.agents
        for agent in agents:
            if agent not in actions:
                raise SettingsError(f"no action of {', '.join(agent for agent in agents if agent not in actions)}")
            self._joint[0, match.number[agent]] = actions[agent]
        if not agents:
            raise SettingsError("the match is over; reset it")
        match.play(self._joint)
        over = cut = False
        rewards = dict.fromkeys(agents, 0.0)
        if match.is_over:
            step = match.step
            over, cut = bool(step.terminated[0]), bool(step.truncated[0])
            rewards = dict(zip(agents, step.reward[0].tolist(), strict=True))
        found: tuple[dict[str, Any], ...] = (
            self._observations(),
            rewards,
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, cut),
            {agent: {} for agent in agents},
        )
        if over or cut:
            self.agents = []
        return found

    def render(self) -> Any:  # noqa: ANN401 - as the mode says
        return self._match.render(self.render_mode)

    def close(self) -> None:
        self.environments.close()

    def _observations(self) -> dict[str, Observation]:
        return {agent: self._match.observe(agent) for agent in self.possible_agents}
