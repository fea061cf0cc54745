"""The messages of a match for one player, and what its answers mean."""

from dataclasses import dataclass

from gamemaster.faults import Fault, make_fault
from ggp.errors import MessageError
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import Evaluation, parse_evaluation, rounded
from ggp.protocol.messages import Abort, Play, PlayPercepts, Start, Stop, StopPercepts, parse_move
from ggp.protocol.scramble import Scrambler, plain_rules


@dataclass(frozen=True, slots=True)
class LastStep:
    """What there is to tell a role of the step before; the codec takes what the rulesheet lets it know."""

    joint_move: JointMove
    own_move: Term
    percepts: tuple[Term, ...]  # empty where the rulesheet has none


@dataclass(frozen=True, slots=True)
class MessageCodec:
    """Speaks to one role of one match, scrambled if wished. Terms given and returned are the rulesheet's own."""

    match: str
    role: str
    has_percepts: bool
    scrambler: Scrambler | None = None

    def start(self, rulesheet: Rulesheet, startclock: int, playclock: int) -> Start:
        rules = self.scrambler.rules if self.scrambler else plain_rules(rulesheet)
        return Start(self.match, to_text(self._hide(self.role)), rules, startclock, playclock)

    def play(self, step: int, last: LastStep | None) -> Play | PlayPercepts:
        if self.has_percepts:
            return PlayPercepts(self.match, step, *self._perceived(last))
        return Play(self.match, self._joint_move(last))

    def stop(self, step: int, last: LastStep | None) -> Stop | StopPercepts:
        if self.has_percepts:
            return StopPercepts(self.match, step, *self._perceived(last))
        return Stop(self.match, self._joint_move(last))

    def abort(self) -> Abort:
        return Abort(self.match)

    def move(self, answer: str | Fault) -> Term | Fault:
        """The move that an answer to PLAY means; a word that the player was never told stays as it is."""
        if isinstance(answer, Fault):
            return answer
        try:
            move = parse_move(answer)
        except MessageError as error:
            return make_fault("malformed", str(error), answer)
        return self._reveal(move)

    def evaluation(self, said: str | Evaluation, roles: int) -> Evaluation:
        """What a player says that it thinks; MessageError for what cannot be read."""
        found = rounded(parse_evaluation(said) if isinstance(said, str) else said)
        if any(len(step) != roles for step in found.principal_variation):
            raise MessageError(f"a step of the variation has not {roles} moves")
        steps = tuple(
            tuple(to_text(self._reveal(read_term(move))) for move in step) for step in found.principal_variation
        )
        return found.model_copy(update={"principal_variation": steps})

    def _joint_move(self, last: LastStep | None) -> JointMove | None:
        return None if last is None else tuple(map(self._hide, last.joint_move))

    def _perceived(self, last: LastStep | None) -> tuple[Term | None, tuple[Term, ...]]:
        if last is None:
            return None, ()
        return self._hide(last.own_move), tuple(map(self._hide, last.percepts))

    def _hide(self, term: Term) -> Term:
        return self.scrambler.hide(term) if self.scrambler else term

    def _reveal(self, term: Term) -> Term:
        return self.scrambler.reveal(term) if self.scrambler else term
