"""One player's words for a match: what happens → messages for this player, its answer → move or fault."""

from dataclasses import dataclass, replace

from gamemaster.faults import Fault, make_fault
from gamemaster.settings import MatchSettings
from ggp.errors import MessageError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import Evaluation, parse_evaluation, rounded
from ggp.protocol.messages import (
    Abort,
    Dialect,
    Play,
    PlayPercepts,
    Start,
    Stop,
    StopPercepts,
    format_message,
)
from ggp.protocol.replies import parse_move
from ggp.protocol.scramble import Scrambler, plain_rules


@dataclass(frozen=True, slots=True)
class Told:
    """What a player is told of the last step."""

    joint_move: JointMove
    own_move: Term
    percepts: tuple[Term, ...]  # used only where the rulesheet says what a role is told


@dataclass(frozen=True, slots=True)
class Wording:
    """How one player is spoken to; all messages are text, all terms given and returned are the rulesheet's own."""

    match: str
    role: str
    dialect: Dialect
    has_percepts: bool
    scrambler: Scrambler | None = None

    def start(self, rulesheet: Rulesheet, settings: MatchSettings) -> str:
        rules = self.scrambler.rules if self.scrambler else plain_rules(rulesheet)
        role = to_text(self._hide(self.role))
        return self._text(Start(self.match, role, rules, settings.startclock, settings.playclock))

    def play(self, step: int, last: Told | None) -> str:
        if self.has_percepts:
            return self._text(PlayPercepts(self.match, step, *self._perceived(last)))
        return self._text(Play(self.match, self._joint_move(last)))

    def stop(self, step: int, last: Told | None) -> str:
        if self.has_percepts:
            return self._text(StopPercepts(self.match, step, *self._perceived(last)))
        return self._text(Stop(self.match, self._joint_move(last)))

    def abort(self) -> str:
        return self._text(Abort(self.match))

    def move(self, answer: str | Fault) -> Term | Fault:
        """The move that an answer to PLAY means; a word that the player was never told stays as it is."""
        if isinstance(answer, Fault):
            return answer
        try:
            move = parse_move(answer)
        except MessageError as error:
            return make_fault("malformed", str(error), answer)
        return self._reveal(move)

    def evaluation(self, text: str, roles: int) -> Evaluation:
        """What a player says that it thinks; MessageError for what nobody can read."""
        found = rounded(parse_evaluation(text))
        if any(len(step) != roles for step in found.line):
            raise MessageError(f"a step of the line has not {roles} moves")
        return replace(found, line=tuple(tuple(map(self._reveal, step)) for step in found.line))

    def _joint_move(self, last: Told | None) -> JointMove | None:
        return None if last is None else tuple(map(self._hide, last.joint_move))

    def _perceived(self, last: Told | None) -> tuple[Term | None, tuple[Term, ...]]:
        if last is None:
            return None, ()
        return self._hide(last.own_move), tuple(map(self._hide, last.percepts))

    def _hide(self, term: Term) -> Term:
        return self.scrambler.hide(term) if self.scrambler else term

    def _reveal(self, term: Term) -> Term:
        return self.scrambler.reveal(term) if self.scrambler else term

    def _text(self, message: Start | Play | PlayPercepts | Stop | StopPercepts | Abort) -> str:
        return format_message(message, self.dialect)
