"""What random matches show of a game, where its text cannot: ends, moves, goals. Evidence, not proof.

On the circuit the matches are playouts, all at once; other machines play them one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggp.simulation.state_machine import CircuitMachine

from ggp.errors import EvaluationError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, StateMachine

SECONDS = 20.0  # for all matches, unless another limit is given


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts over random matches; each question is answered by numbers, so that doubt can be seen."""

    matches: int
    seed: int
    max_steps: int
    cut_off: int  # matches that were given up, or not begun, when the time was up; no other count has them
    ended: int  # matches that reached a terminal state within max_steps
    steps: int  # in all matches, those that were cut off included
    longest: int  # steps of the longest match
    stuck: dict[str, int]  # role → matches that stopped because it had no legal move
    unclear_goals: dict[str, int]  # role → matches that ended without exactly one goal value for it
    wins: dict[str, int]  # role → matches in which its goal value was 100; of all roles but `random`
    error: str  # why evaluation failed; empty when it did not

    @property
    def is_clean(self) -> bool:
        """Whether every match ended, with a move for every role and one goal value each."""
        return not self.error and self.ended == self.matches and not (self.stuck or self.unclear_goals)


def gather_evidence(
    machine: StateMachine, matches: int = 20, max_steps: int = 500, seed: int = 0, seconds: float = SECONDS
) -> Evidence:
    """Plays random matches, the same ones for the same engine and seed; stops where a state cannot be evaluated.

    It ends after so many seconds, and the step of all matches that is being evaluated then.
    """
    found = _Matches(tuple(role for role in machine.roles if role != NATURE))
    until = perf_counter() + seconds

    def is_late() -> bool:
        return perf_counter() > until

    settings = _Settings(matches, max_steps, seed)
    error = ""
    try:
        if machine.engine == "circuit":
            _play_at_once(machine, found, settings, is_late)  # type: ignore[arg-type]
        else:
            _play_one_by_one(machine, found, settings, is_late)
    except EvaluationError as failure:
        error = str(failure)
    return Evidence(
        matches, seed, max_steps, found.cut_off, found.ended, found.steps, found.longest, found.stuck, found.unclear,
        found.wins, error,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Settings:
    matches: int
    max_steps: int
    seed: int


class _Matches:
    """What is counted; see `Evidence`."""

    def __init__(self, roles: tuple[str, ...]) -> None:
        self.cut_off = self.ended = self.steps = self.longest = 0
        self.stuck: dict[str, int] = {}
        self.unclear: dict[str, int] = {}
        self.wins = dict.fromkeys(roles, 0)

    def add_stuck(self, role: str) -> None:
        self.stuck[role] = self.stuck.get(role, 0) + 1

    def add_goals(self, role: str, values: tuple[int, ...]) -> None:
        if len(values) != 1:
            self.unclear[role] = self.unclear.get(role, 0) + 1
        self.wins[role] += values == (100,)


def _play_one_by_one(machine: StateMachine, found: _Matches, settings: _Settings, is_late: Callable[[], bool]) -> None:
    rng = Random(settings.seed)  # noqa: S311 - a seed has to reproduce the matches
    for number in range(settings.matches):
        state, length, without_move = _random_match(machine, rng, settings.max_steps, is_late)
        found.steps += length
        found.longest = max(found.longest, length)
        if state is None:
            found.cut_off = settings.matches - number
            return
        if without_move is not None:
            found.add_stuck(without_move)
        elif machine.is_terminal(state):
            found.ended += 1
            for role in found.wins:
                found.add_goals(role, machine.goal_values(state, role))


def _random_match(
    machine: StateMachine, rng: Random, max_steps: int, is_late: Callable[[], bool]
) -> tuple[Facts | None, int, str | None]:
    """The last state, the number of steps, and the role that had no move, if that is why it ended.

    The state is None where the match was cut off.
    """
    state = machine.initial_state
    for step in range(max_steps):
        if is_late():
            return None, step, None
        if machine.is_terminal(state):
            return state, step, None
        choices = [machine.legal_moves(state, role) for role in machine.roles]
        for role, moves in zip(machine.roles, choices, strict=True):
            if not moves:
                return state, step, role
        state = machine.next_state(state, tuple(map(rng.choice, choices)))
    return state, max_steps, None


def _play_at_once(machine: "CircuitMachine", found: _Matches, settings: _Settings, is_late: Callable[[], bool]) -> None:
    ends = machine.simulator().single_playouts(settings.matches, settings.max_steps, settings.seed, is_late)
    found.cut_off = int(ends.is_cut_off.sum())
    found.ended, found.steps = int(ends.is_terminal.sum()), int(ends.lengths.sum())
    found.longest = int(ends.lengths.max(initial=0))
    for at in ends.is_stuck.nonzero()[0].tolist():
        state = machine.unpacked(ends.states[at : at + 1])
        found.add_stuck(next(role for role in machine.roles if not machine.legal_moves(state, role)))
    first = 0
    for role, values in zip(machine.roles, machine.compiled.goals, strict=True):
        for flags in (
            () if role not in found.wins else ends.goals[ends.is_terminal, first : first + len(values)].tolist()
        ):
            found.add_goals(role, tuple(value for value, holds in zip(values, flags, strict=True) if holds))
        first += len(values)
