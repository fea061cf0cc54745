"""Any rulesheet as a game of OpenSpiel: `register` it, then `pyspiel.load_game` knows it by the name that is returned.

    name = register("tictactoe")
    state = pyspiel.load_game(name).new_initial_state()

Players are the roles but `random`, which is chance. A node is sequential where one role has a choice, simultaneous
where several have, or where the rules hide who has (GDL-II). Needs open_spiel (`pip install ggp[openspiel]`).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from ggp.env.vector import VectorEnvironment, make_settings, make_vec
from ggp.errors import SettingsError
from ggp.game import Game, load
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import to_text
from ggp.simulation.evaluate import Indices, Single

DEFAULT_MAX_STEPS = 1_000
_TRIALS, _TRIAL_STEPS = 64, 200
_registered: dict[str, tuple[int, tuple[float, float]]] = {}  # name → max_steps, reward_range


def register(
    game: str | Path | Game, *, max_steps: int = DEFAULT_MAX_STEPS, reward_range: tuple[float, float] = (-1.0, 1.0)
) -> str:
    """Make OpenSpiel know a game, by a name with a hash of its rules: `ggp_tictactoe_1a2b3c4d`.

    A match that lasts for `max_steps` steps is over, with the goal values of its last state. reward_range: what goal
    values 0 and 100 count. SettingsError for wrong options, and where the same rules are known with others, which
    cannot be changed.
    """
    make_settings({"max_steps": max_steps, "reward_range": reward_range})
    if not max_steps:
        raise SettingsError("max_steps: OpenSpiel needs a number of steps after which a match is over")
    found = game if isinstance(game, Game) else load(game, "circuit")
    name = "".join(letter if letter.isalnum() else "_" for letter in found.name)
    short = f"ggp_{name}_{found.rulesheet.sha256[:8]}"
    options = max_steps, reward_range
    if _registered.setdefault(short, options) != options:
        raise SettingsError(f"{short} is known with max_steps and reward_range {_registered[short]}, not {options}")
    if short not in pyspiel.registered_names():
        rules = _Rules(make_vec(found, 1), max_steps, reward_range)
        kind = _game_type(rules, short)
        pyspiel.register_game(kind, _game_class(rules, kind))
    return short


@dataclass(eq=False)
class _Rules:
    """A game as states of OpenSpiel ask for it: a state is the numbers of its facts, a move its number in its role."""

    environment: VectorEnvironment
    max_steps: int
    reward_range: tuple[float, float]

    def __post_init__(self) -> None:
        environment = self.environment
        self.compiled = compiled = environment.compiled
        self.players = environment.program.given
        self.chance = compiled.roles.index(NATURE) if NATURE in compiled.roles else None
        self.is_hidden = compiled.has_percepts
        self._batches = environment._machine.batches
        self._single = Single(self._batches)
        self._first_move = self._batches.first_move.tolist()
        self.start = np.flatnonzero(compiled.circuit.initial).astype(np.int32)

    @cached_property
    def is_simultaneous(self) -> bool:
        return self.environment.has_simultaneous_moves

    @cached_property
    def waiting(self) -> tuple[frozenset[int], ...]:
        """For each player the moves that it has alone while another one chooses, as far as random matches show."""
        trial = make_vec(self.environment.game, _TRIALS)
        random, step = np.random.default_rng(0), trial.reset()
        found: list[set[int]] = [set() for _ in self.players]
        for _ in range(_TRIAL_STEPS):
            counts = step.mask.sum(axis=2)
            for at, moves in enumerate(found):
                alone = (counts[:, at] == 1) & (counts.sum(axis=1) > len(self.players))
                moves.update(np.unique(step.mask[alone, at].argmax(axis=1)).tolist())
            step = trial.step(trial.random_moves(random, step))
        return tuple(map(frozenset, found))

    def look(self, state: Indices) -> tuple[list[list[int]], bool]:
        """The legal moves of each role, and whether the match is over."""
        numbers = self._single.look(state)
        over = bool(numbers) and numbers[-1] == self._first_move[-1]
        legal = [
            [number - first for number in numbers if first <= number < end] for first, end in pairwise(self._first_move)
        ]
        return legal, over or not all(legal)

    def next_state(self, state: Indices, moves: list[int]) -> Indices:
        return self._single.next_state(state, np.array(moves, np.int32))

    def percepts(self, state: Indices, moves: list[int]) -> list[tuple[int, ...]]:
        """For each role the numbers of its percepts among its own; of a game without `sees`, the joint move."""
        if not self.is_hidden:
            return [tuple(moves)] * len(self.compiled.roles)
        numbers = self._single.percepts(state, np.array(moves, np.int32))
        cuts = self._batches.first_percept.tolist()
        return [tuple(number - first for number in numbers if first <= number < end) for first, end in pairwise(cuts)]

    def returns(self, state: Indices) -> list[float]:
        """What the goal values count for each player."""
        numbers, low_high, found = self._single.goals(state), self.reward_range, []
        cuts = self._batches.first_goal.tolist()
        for player in self.players:
            values = [self._batches.goal_values[at] for at in numbers if cuts[player] <= at < cuts[player + 1]]
            goal = float(values[0]) if len(values) == 1 else 50.0
            found.append(low_high[0] + (low_high[1] - low_high[0]) * goal / 100)
        return found

    def move_text(self, role: int, move: int) -> str:
        return to_text(self.compiled.moves[role][move])

    def observation(self, state: Indices, told: list[tuple[int, ...]], player: int) -> NDArray[np.float32]:
        """Flags of the facts; where these are hidden, of the player's last percepts."""
        role = self.players[player]
        size = len(self.compiled.percepts[role]) if self.is_hidden else len(self.compiled.facts)
        found = np.zeros(max(1, size), np.float32)
        found[list(told[role]) if self.is_hidden else state] = 1.0
        return found


def _game_type(rules: _Rules, short: str) -> Any:  # noqa: ANN401 - of OpenSpiel, which has no types
    kind = pyspiel.GameType
    chance, count = rules.chance is not None, len(rules.players)
    return kind(
        short_name=short,
        long_name=f"{rules.environment.game.name}, from its rules in GDL",
        dynamics=kind.Dynamics.SIMULTANEOUS if rules.is_simultaneous else kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if chance else kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.IMPERFECT_INFORMATION if rules.is_hidden else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.GENERAL_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=count,
        min_num_players=count,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=False,
        parameter_specification={},
    )


def _game_class(rules: _Rules, kind: Any) -> Any:  # noqa: ANN401 - of OpenSpiel
    """The class that OpenSpiel makes games of; states are copied with all that they hold, so the rules stay outside."""

    class RulesheetGame(pyspiel.Game):
        def __init__(self, params: dict[str, Any] | None = None) -> None:
            low, high = sorted(rules.reward_range)
            outcomes = 0 if rules.chance is None else len(rules.compiled.moves[rules.chance])
            info = pyspiel.GameInfo(
                num_distinct_actions=max(len(rules.compiled.moves[role]) for role in rules.players),
                max_chance_outcomes=outcomes,
                num_players=len(rules.players),
                min_utility=low,
                max_utility=high,
                utility_sum=None,
                max_game_length=rules.max_steps * (1 if rules.is_simultaneous else len(rules.players)),
            )
            super().__init__(kind, info, params or {})

        def new_initial_state(self) -> Any:  # noqa: ANN401 - of OpenSpiel
            return RulesheetState(self)

        def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "_Observer":  # noqa: ANN401
            del params
            recall = iig_obs_type is not None and iig_obs_type.perfect_recall
            return _Observer(rules, has_recall=recall)

    class RulesheetState(_State):
        @property
        def rules(self) -> _Rules:
            return rules

    return RulesheetGame


class _State(pyspiel.State):
    """A state, with the moves of the step under way that are known."""

    @property
    def rules(self) -> _Rules:
        """The same for all states of a game; not among what is copied."""
        raise NotImplementedError

    def __init__(self, game: Any) -> None:  # noqa: ANN401 - of OpenSpiel
        super().__init__(game)
        self.facts = self.rules.start
        self.told: list[tuple[int, ...]] = [()] * len(self.rules.compiled.roles)
        self.known: list[list[str]] = [[] for _ in self.rules.players]  # what each player knows, a text for each step
        self.done_steps = 0
        self._begin()

    def _begin(self) -> None:
        """Look at the facts, and do the step at once where nobody chooses but chance."""
        rules = self.rules
        self.legal, over = rules.look(self.facts)
        self.over = over or self.done_steps >= rules.max_steps
        self.joint: list[int | None] = [None] * len(self.legal)
        self.choosers: list[int] = []
        if self.over:
            return
        several = [at for at, role in enumerate(rules.players) if len(self.legal[role]) > 1]
        if rules.is_hidden and not (several == [] and self._is_random()):
            self.choosers = list(range(len(rules.players)))
        elif not several and not self._is_random():
            self.choosers = [self._only_mover()]
        else:
            self.choosers = several
        if len(self.choosers) > 1 and rules.is_simultaneous:
            self.choosers = list(range(len(rules.players)))
        for at, role in enumerate(rules.players):
            if at not in self.choosers:
                self.joint[role] = self.legal[role][0]
        self._go_on()

    def _is_random(self) -> bool:
        return self.rules.chance is not None and len(self.legal[self.rules.chance]) > 1

    def _only_mover(self) -> int:
        """Who moves where all have one move: the only one whose move is not its waiting for others, or the first."""
        rules = self.rules
        found = [at for at, role in enumerate(rules.players) if self.legal[role][0] not in rules.waiting[at]]
        return found[0] if len(found) == 1 else 0

    def _go_on(self) -> None:
        """Do the step once all moves are known."""
        rules = self.rules
        if rules.chance is not None and self.joint[rules.chance] is None and not self._is_random():
            self.joint[rules.chance] = self.legal[rules.chance][0]
        moves = [move for move in self.joint if move is not None]
        if len(moves) < len(self.joint):
            return
        self.told = rules.percepts(self.facts, moves)
        for at, role in enumerate(rules.players):
            self.known[at].append(f"{rules.move_text(role, moves[role])} {self.told[role]}")
        self.facts = rules.next_state(self.facts, moves)
        self.done_steps += 1
        self._begin()

    def current_player(self) -> Any:  # noqa: ANN401 - of OpenSpiel
        if self.over:
            return pyspiel.PlayerId.TERMINAL
        waiting = [at for at in self.choosers if self.joint[self.rules.players[at]] is None]
        if not waiting:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.SIMULTANEOUS if len(waiting) > 1 and self.rules.is_simultaneous else waiting[0]

    def _legal_actions(self, player: int) -> list[int]:
        return self.legal[self.rules.players[player]]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        assert self.rules.chance is not None
        moves = self.legal[self.rules.chance]
        return [(move, 1 / len(moves)) for move in moves]

    def _apply_action(self, action: int) -> None:
        player = self.current_player()
        role = self.rules.chance if player == pyspiel.PlayerId.CHANCE else self.rules.players[player]
        assert role is not None
        self.joint[role] = int(action)
        self._go_on()

    def _apply_actions(self, actions: list[int]) -> None:
        for role, action in zip(self.rules.players, actions, strict=True):
            self.joint[role] = int(action)
        self._go_on()

    def _action_to_string(self, player: Any, action: int) -> str:  # noqa: ANN401 - of OpenSpiel
        role = self.rules.chance if player == pyspiel.PlayerId.CHANCE else self.rules.players[player]
        assert role is not None
        return self.rules.move_text(role, action)

    def is_terminal(self) -> bool:
        return self.over

    def returns(self) -> list[float]:
        return self.rules.returns(self.facts) if self.over else [0.0] * len(self.rules.players)

    def __str__(self) -> str:
        facts = sorted(to_text(self.rules.compiled.facts[number]) for number in self.facts)
        moves = [f"{move}" for move in self.joint if move is not None]
        return " ".join([*facts, *moves])


class _Observer:
    """What a player observes: the facts, or its percepts; with perfect recall all that it was told, as a string."""

    def __init__(self, rules: _Rules, *, has_recall: bool) -> None:
        self._rules, self._has_recall = rules, has_recall
        sizes = [
            rules.observation(rules.start, [()] * len(rules.compiled.roles), at).size
            for at in range(len(rules.players))
        ]
        self.tensor = np.zeros(max(sizes), np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: Any, player: int) -> None:  # noqa: ANN401 - of OpenSpiel
        seen = self._rules.observation(state.facts, state.told, player)
        self.tensor[:] = 0
        self.tensor[: seen.size] = seen

    def string_from(self, state: Any, player: int) -> str:  # noqa: ANN401 - of OpenSpiel
        if self._has_recall:
            return f"{player}: " + "; ".join(state.known[player])
        if self._rules.is_hidden:
            names = self._rules.compiled.percepts[self._rules.players[player]]
            return " ".join(to_text(names[number]) for number in state.told[self._rules.players[player]])
        return " ".join(sorted(to_text(self._rules.compiled.facts[number]) for number in state.facts))
