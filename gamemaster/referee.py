"""The rules of a match: state and answers in, judged step and next state out; no input or output.

`Referee` judges; a match speaks to it through `Rules`, because it runs in a process that can be ended.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import thread_time
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from gamemaster.faults import Fault, make_fault
from gamemaster.settings import MatchSettings, Replacement, derived
from ggp.errors import EvaluationError, ReadError, SettingsError
from ggp.gdl.reader import read
from ggp.gdl.rulesheet import NATURE, Rulesheet, name_and_arity
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter.legality import Refusals

if TYPE_CHECKING:
    from ggp.boards import TextLine

Ending = Literal["terminal", "step limit", "forfeit", "adjudicated", "broken", "void", "aborted"]
Opening: TypeAlias = tuple[tuple[str, ...], ...]  # joint moves as text, that lead to the state where a match begins
Goals: TypeAlias = dict[str, int | None]  # role → goal value; None where the rules give none or several


REASON_SECONDS = 1.0  # of the processor for the reasons of all illegal moves of a step


@dataclass(frozen=True, slots=True)
class MoveChoice:
    """A state in which every role has to move."""

    step: int
    state: Facts
    legal: Mapping[str, tuple[Term, ...]]  # role → its legal moves, sorted by text, at least one


@dataclass(frozen=True, slots=True)
class Outcome:
    """The match is over."""

    ending: Ending
    reason: str | None  # one line for a person; None when the rules ended it
    state: Facts | None  # the last one; None where the rules give none
    goals: Goals | None  # None when the match did not come to its end
    is_exhausted: bool = False  # whether the rules took more time or memory than they may
    picture: "tuple[TextLine, ...] | None" = None  # of the state, where somebody wants it


Situation: TypeAlias = MoveChoice | Outcome
Percepts: TypeAlias = Mapping[str, tuple[Term, ...]]  # role → what it is told after a step; empty in plain GDL
Answer: TypeAlias = Term | Fault  # a move that may not be legal, or why there is none


@dataclass(frozen=True, slots=True)
class Executed:
    """One step as it was executed."""

    joint_move: JointMove
    faults: Mapping[str, Fault]  # only of the roles that have one
    percepts: Percepts


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a match ends by no rule of the game."""

    ending: Literal["forfeit", "adjudicated"]
    reason: str
    lost: tuple[str, ...]  # roles; none in a draw


@dataclass(frozen=True, slots=True)
class RefereedGame:
    """What a match has to know of its game."""

    name: str
    rulesheet: Rulesheet
    roles: tuple[str, ...]
    engine: str  # what evaluates the rules
    fallback: str | None  # why that is not a faster one
    opening: Opening = ()  # that led to the initial state of these rules


@dataclass(frozen=True, slots=True)
class GoesOn:
    """The match goes on: what a match is told of a `MoveChoice`."""

    step: int
    state: Facts | None  # None where nobody wants it
    picture: "tuple[TextLine, ...] | None" = None  # likewise


class Rules(Protocol):
    """The referee of one match, wherever it runs. Nothing is raised for what the rules do: that is an `Outcome`."""

    @property
    def game(self) -> RefereedGame: ...

    async def begin(self, settings: MatchSettings) -> "GoesOn | Outcome":
        """The situation before step 0."""

    async def execute(self, answers: Mapping[str, Answer]) -> "tuple[Executed | None, GoesOn | Outcome]":
        """Judges an answer of every role but `random`, executes the step; no step where the rules did not answer."""

    async def conclude(self, verdict: Verdict) -> Outcome:
        """The end of a match in the present state, by a verdict."""


@dataclass(frozen=True, slots=True)
class Referee:
    """What decides a match."""

    rulesheet: Rulesheet
    machine: StateMachine
    settings: MatchSettings
    refusals: Refusals = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "refusals", Refusals(self.rulesheet, self.machine))

    def begin(self) -> Situation:
        """The situation before step 0."""
        return self._situation(0, lambda: self.machine.initial_state)

    def execute(self, choice: MoveChoice, answers: Mapping[str, Answer]) -> tuple[Executed, Situation]:
        """Judges an answer of every role but `random`, executes the step, and says what follows."""
        faults: dict[str, Fault] = {}
        moves: list[Term] = []
        until = thread_time() + REASON_SECONDS
        for role in self.machine.roles:
            move = self._nature(choice) if role == NATURE else self._judge(choice, role, answers[role], until)
            if isinstance(move, Fault):
                faults[role] = move
                move = replacement(self.settings.replacement, self.settings.seed, choice.step, role, choice.legal[role])
            moves.append(move)
        joint_move = tuple(moves)
        percepts, following = self.advance(choice, joint_move)
        return Executed(joint_move, faults, percepts), following

    def advance(self, choice: MoveChoice, joint_move: JointMove) -> tuple[Percepts, Situation]:
        """What each role is told after a joint move, and what follows it."""
        following = self._situation(choice.step + 1, lambda: self.machine.next_state(choice.state, joint_move))
        if not self.rulesheet.has_percepts:
            return {}, following
        try:
            return {
                role: self.machine.percepts(choice.state, joint_move, role) for role in self.machine.roles
            }, following
        except EvaluationError as error:
            reason = f"the rules give no percepts {_after(choice.step + 1)}: {error}"
            return {}, Outcome("broken", reason, following.state, None)

    def conclude(self, state: Facts, verdict: Verdict) -> Outcome:
        """The end in a state by a verdict.

        Who lost gets the lowest goal value that the rules name for it, 0 where they do not name several; the only other
        player the highest, 100 where they name none. In a draw both get 50, if that is a value of both. Otherwise goal
        values are what the rules give in the state, and None where they give none or several.
        """
        players = [role for role in self.machine.roles if role != NATURE]
        goals = {role: self._goal(state, role) for role in self.machine.roles}
        for role in players:
            values = goal_values(self.rulesheet, role)
            if role in verdict.lost:
                goals[role] = min(values) if len(values) > 1 else 0
            elif len(players) == 2 and verdict.lost:
                goals[role] = max(values, default=100)
        if not verdict.lost:
            is_known = all(DRAW in (goal_values(self.rulesheet, role) or {DRAW}) for role in players)
            goals |= dict.fromkeys(players, DRAW if is_known else None)
        return Outcome(verdict.ending, verdict.reason, state, goals)

    def _goal(self, state: Facts, role: str) -> int | None:
        try:
            return self.machine.goal(state, role)
        except EvaluationError:
            return None

    def _judge(self, choice: MoveChoice, role: str, answer: Answer, until: float) -> Term | Fault:
        """The move, or why there is none; reasons are looked for until the thread has had so many seconds."""
        if isinstance(answer, Fault) or answer in choice.legal[role]:
            return answer
        text = to_text(answer)
        reason = "not among the legal moves"
        if thread_time() < until:
            try:
                refused = self.refusals.of(choice.state, role, text, lambda: thread_time() >= until)
                reason = reason if refused is None else refused.reason
            except EvaluationError as error:
                reason = reason if thread_time() >= until else f"{reason} ({error})"
        return make_fault("illegal", reason, text)

    def _nature(self, choice: MoveChoice) -> Term:
        return replacement("random", self.settings.seed, choice.step, NATURE, choice.legal[NATURE])

    def _situation(self, step: int, state_of: Callable[[], Facts]) -> Situation:
        try:
            state = state_of()
        except EvaluationError as error:
            return Outcome("broken", f"the rules give no state {_after(step)}: {error}", None, None)
        try:
            return self._look(step, state)
        except EvaluationError as error:
            return Outcome("broken", f"the rules have no meaning {_after(step)}: {error}", state, None)

    def _look(self, step: int, state: Facts) -> Situation:
        roles = self.machine.roles
        if self.machine.is_terminal(state):
            return Outcome("terminal", None, state, self._goals(state))
        if step >= self.settings.max_steps:
            limit = f"no terminal state after {step} steps, the limit of this match"
            return Outcome("step limit", limit, state, self._goals(state))
        legal = {role: self.machine.legal_moves(state, role) for role in roles}
        stuck = [role for role in roles if not legal[role]]
        if stuck:
            reason = f"the rules give {' and '.join(stuck)} no move in step {step}"
            return Outcome("broken", reason, state, None)
        return MoveChoice(step, state, legal)

    def _goals(self, state: Facts) -> Goals:
        return {role: self.machine.goal(state, role) for role in self.machine.roles}


DRAW = 50  # the goal value


def goal_values(rulesheet: Rulesheet, role: str) -> Collection[int]:
    """The goal values that the rules name for a role; none where a rule leaves its value to a variable."""
    found: set[int] = set()
    for rule in rulesheet.rules:
        if isinstance(rule.head, str) or name_and_arity(rule.head) != ("goal", 2):
            continue
        _, whose, value = rule.head
        if whose != role and not (isinstance(whose, str) and whose.startswith("?")):
            continue
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and int(value) <= 100):
            return ()
        found.add(int(value))
    return found


def check_opening(text: str) -> str:
    """The text of moves; SettingsError where its parentheses do not match. The rules tell whether it can be played."""
    if not isinstance(text, str):
        raise SettingsError(f"opening: moves as text are expected, not {text!r}")
    try:
        read(text)
    except ReadError as error:
        raise SettingsError(f"opening: {error.message}") from None
    return text


def replacement(policy: Replacement, seed: int, step: int, role: str, legal: tuple[Term, ...]) -> Term:
    """The legal move that is executed in place of a fault; for `random` it follows from the seed alone."""
    if policy == "first":
        return legal[0]
    return legal[derived(seed, "move", step, role) % len(legal)]


def _after(step: int) -> str:
    return "at the beginning" if step == 0 else f"after step {step - 1}"
