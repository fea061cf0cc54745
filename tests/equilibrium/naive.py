"""The naive twin: all histories one by one on the interpreter, information sets as text, values by recursion."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text

Key = tuple[str, ...]  # a role, then its moves and what it was told, in turn
Strategy = dict[Key, dict[Term, float]]


@dataclass
class End:
    """Where each role's own choices and chance lead."""

    chance: float
    choices: dict[str, tuple[tuple[Key, Term], ...]]
    goals: dict[str, float]


@dataclass
class NaiveGame:
    """All ends, and what is legal in each information set, also where that is one move."""

    machine: StateMachine
    ends: list[End] = field(default_factory=list)
    legal: dict[Key, tuple[Term, ...]] = field(default_factory=dict)
    histories: int = 0

    @property
    def roles(self) -> list[str]:
        return [role for role in self.machine.roles if role != NATURE]

    def uniform(self) -> Strategy:
        return {key: dict.fromkeys(moves, 1 / len(moves)) for key, moves in self.legal.items()}

    def worths(self, role: str, strategy: Strategy) -> dict[tuple[tuple[Key, Term], ...], float]:
        """The role's choices → goal values of their ends times the probability of all that others do."""
        found: dict[tuple[tuple[Key, Term], ...], float] = defaultdict(float)
        for end in self.ends:
            share = end.chance
            for other, choices in end.choices.items():
                if other != role:
                    for key, move in choices:
                        share *= strategy[key][move]
            found[end.choices[role]] += share * end.goals[role]
        return found

    def value(self, role: str, strategy: Strategy) -> float:
        total = 0.0
        for choices, worth in self.worths(role, strategy).items():
            for key, move in choices:
                worth *= strategy[key][move]  # noqa: PLW2901 - its own part
            total += worth
        return total

    def best(self, role: str, strategy: Strategy) -> float:
        """The value of a best response, by recursion over the role's own choices."""
        return sum(self.after_best(role, self.worths(role, strategy), ()).values())

    def after_best(
        self, role: str, worths: dict[tuple[tuple[Key, Term], ...], float], before: tuple[tuple[Key, Term], ...]
    ) -> dict[str, float]:
        """What ends right after `before`, and each information set that comes next, is worth."""
        found = {"ends": worths.get(before, 0.0)}
        following = {choices[len(before)][0] for choices in worths if choices[: len(before)] == before != choices}
        for key in following:
            values = [sum(self.after_best(role, worths, (*before, (key, move))).values()) for move in self.legal[key]]
            found["/".join(key)] = max(values)
        return found


def enumerate_naively(machine: StateMachine) -> NaiveGame:
    game = NaiveGame(machine)
    keys: dict[str, Key] = {role: (role,) for role in game.roles}
    none: dict[str, tuple[tuple[Key, Term], ...]] = dict.fromkeys(game.roles, ())
    _follow(game, machine.initial_state, 1.0, keys, none)
    return game


def _follow(
    game: NaiveGame,
    state: Facts,
    chance: float,
    keys: dict[str, Key],
    choices: dict[str, tuple[tuple[Key, Term], ...]],
) -> None:
    machine = game.machine
    game.histories += 1
    if machine.is_terminal(state):
        goals = {role: float(machine.goal(state, role) or 0) for role in game.roles}
        game.ends.append(End(chance, choices, goals))
        return
    legal = {role: machine.legal_moves(state, role) for role in machine.roles}
    for role in game.roles:
        assert game.legal.setdefault(keys[role], legal[role]) == legal[role]
    for joint in product(*legal.values()):
        moves = dict(zip(machine.roles, joint, strict=True))
        share = chance / len(legal[NATURE]) if NATURE in legal else chance
        done = {role: (*choices[role], (keys[role], moves[role])) for role in game.roles if len(legal[role]) > 1}
        told = {role: " ".join(map(to_text, machine.percepts(state, joint, role))) for role in game.roles}
        after = {role: (*keys[role], to_text(moves[role]), told[role]) for role in game.roles}
        _follow(game, machine.next_state(state, joint), share, after, {**choices, **done})


def iterations(game: NaiveGame, count: int, *, is_predictive: bool) -> Iterator[Strategy]:
    """The strategies of CFR+ after each iteration, roles in turn; see `ggp.equilibrium.regret`."""
    strategy = game.uniform()
    regrets: dict[Key, dict[Term, float]] = {key: dict.fromkeys(moves, 0.0) for key, moves in game.legal.items()}
    for _ in range(count):
        for role in game.roles:
            worths = game.worths(role, strategy)
            _regret(game, role, (worths, strategy, regrets), (), is_predictive=is_predictive)
        yield {key: dict(moves) for key, moves in strategy.items()}


def _regret(
    game: NaiveGame,
    role: str,
    tables: tuple[dict[tuple[tuple[Key, Term], ...], float], Strategy, dict[Key, dict[Term, float]]],
    before: tuple[tuple[Key, Term], ...],
    *,
    is_predictive: bool,
) -> float:
    worths, strategy, regrets = tables
    total = worths.get(before, 0.0)
    for key in {choices[len(before)][0] for choices in worths if choices[: len(before)] == before != choices}:
        values = {
            move: _regret(game, role, tables, (*before, (key, move)), is_predictive=is_predictive)
            for move in game.legal[key]
        }
        value = sum(strategy[key][move] * worth for move, worth in values.items())
        total += value
        wanted = {}
        for move, worth in values.items():
            regrets[key][move] = max(regrets[key][move] + worth - value, 0.0)
            wanted[move] = max(regrets[key][move] + worth - value, 0.0) if is_predictive else regrets[key][move]
        share = sum(wanted.values())
        strategy[key] = {move: wish / share if share > 0 else 1 / len(values) for move, wish in wanted.items()}
    return total
