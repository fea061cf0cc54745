"""The rules of a match: state and answers in, judged step and next state out; no input or output."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gamemaster.faults import Fault, make_fault
from gamemaster.settings import MatchSettings, Replacement, derived
from ggp.errors import EvaluationError
from ggp.gdl.rulesheet import NATURE, Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter.legality import refusal

Ending = Literal["terminal", "step limit", "broken", "aborted"]
Goals: TypeAlias = dict[str, int | None]  # role → goal value; None where the rules give none or several


@dataclass(frozen=True, slots=True)
class Choice:
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


Situation: TypeAlias = Choice | Outcome
Percepts: TypeAlias = Mapping[str, tuple[Term, ...]]  # role → what it is told after a step; empty in plain GDL
Answer: TypeAlias = Term | Fault  # a move that may not be legal, or why there is none


@dataclass(frozen=True, slots=True)
class Executed:
    """One step as it was executed."""

    joint_move: JointMove
    faults: Mapping[str, Fault]  # only of the roles that have one
    percepts: Percepts


@dataclass(frozen=True, slots=True)
class Referee:
    """What decides a match."""

    rulesheet: Rulesheet
    machine: StateMachine
    settings: MatchSettings

    def begin(self) -> Situation:
        """The situation before step 0."""
        return self._situation(0, lambda: self.machine.initial_state)

    def execute(self, choice: Choice, answers: Mapping[str, Answer]) -> tuple[Executed, Situation]:
        """Judges an answer of every role but `random`, executes the step, and says what follows."""
        faults: dict[str, Fault] = {}
        moves: list[Term] = []
        for role in self.machine.roles:
            move = self._nature(choice) if role == NATURE else self._judge(choice, role, answers[role])
            if isinstance(move, Fault):
                faults[role] = move
                move = replacement(self.settings.replacement, self.settings.seed, choice.step, role, choice.legal[role])
            moves.append(move)
        joint_move = tuple(moves)
        percepts, following = self.advance(choice, joint_move)
        return Executed(joint_move, faults, percepts), following

    def advance(self, choice: Choice, joint_move: JointMove) -> tuple[Percepts, Situation]:
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

    def _judge(self, choice: Choice, role: str, answer: Answer) -> Term | Fault:
        if isinstance(answer, Fault) or answer in choice.legal[role]:
            return answer
        text = to_text(answer)
        try:
            refused = refusal(self.rulesheet, self.machine, choice.state, role, text)
            reason = "not among the legal moves" if refused is None else refused.reason
        except EvaluationError as error:
            reason = f"not among the legal moves ({error})"
        return make_fault("illegal", reason, text)

    def _nature(self, choice: Choice) -> Term:
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
        return Choice(step, state, legal)

    def _goals(self, state: Facts) -> Goals:
        return {role: self.machine.goal(state, role) for role in self.machine.roles}


def replacement(policy: Replacement, seed: int, step: int, role: str, legal: tuple[Term, ...]) -> Term:
    """The legal move that is executed in place of a fault; for `random` it follows from the seed alone."""
    if policy == "first":
        return legal[0]
    return legal[derived(seed, "move", step, role) % len(legal)]


def _after(step: int) -> str:
    return "at the beginning" if step == 0 else f"after step {step - 1}"
