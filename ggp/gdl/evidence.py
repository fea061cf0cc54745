"""What random matches show of a game, where its text cannot: ends, moves, goals. Evidence, not proof."""

from dataclasses import dataclass
from random import Random

from ggp.errors import EvaluationError
from ggp.gdl.state_machine import Facts, StateMachine


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts over random matches; each question is answered by numbers, so that doubt can be seen."""

    matches: int
    seed: int
    max_steps: int
    ended: int  # matches that reached a terminal state within max_steps
    steps: int  # in all matches
    longest: int  # steps of the longest match
    stuck: dict[str, int]  # role → matches that stopped because it had no legal move
    unclear_goals: dict[str, int]  # role → matches that ended without exactly one goal value for it
    wins: dict[str, int]  # role → matches in which its goal value was 100
    error: str  # why evaluation failed; empty when it did not

    @property
    def is_clean(self) -> bool:
        """Whether every match ended, with a move for every role and one goal value each."""
        return not self.error and self.ended == self.matches and not (self.stuck or self.unclear_goals)


def gather_evidence(machine: StateMachine, matches: int = 20, max_steps: int = 500, seed: int = 0) -> Evidence:
    """Plays random matches; stops at the first state that cannot be evaluated."""
    rng = Random(seed)  # noqa: S311 - a seed has to reproduce the matches
    ended = steps = longest = 0
    stuck: dict[str, int] = {}
    unclear: dict[str, int] = {}
    wins = dict.fromkeys(machine.roles, 0)
    error = ""
    try:
        for _ in range(matches):
            state, length, without_move = _random_match(machine, rng, max_steps)
            steps += length
            longest = max(longest, length)
            if without_move is not None:
                stuck[without_move] = stuck.get(without_move, 0) + 1
            elif machine.is_terminal(state):
                ended += 1
                for role in machine.roles:
                    value = machine.goal(state, role)
                    if value is None:
                        unclear[role] = unclear.get(role, 0) + 1
                    wins[role] += value == 100
    except EvaluationError as failure:
        error = str(failure)
    return Evidence(matches, seed, max_steps, ended, steps, longest, stuck, unclear, wins, error)


def _random_match(machine: StateMachine, rng: Random, max_steps: int) -> tuple[Facts, int, str | None]:
    """The last state, the number of steps, and the role that had no move, if that is why it ended."""
    state = machine.initial_state
    for step in range(max_steps):
        if machine.is_terminal(state):
            return state, step, None
        choices = [machine.legal_moves(state, role) for role in machine.roles]
        for role, moves in zip(machine.roles, choices, strict=True):
            if not moves:
                return state, step, role
        state = machine.next_state(state, tuple(map(rng.choice, choices)))
    return state, max_steps, None
