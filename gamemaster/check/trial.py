"""A match against the player under check, step by step; the other roles make legal moves drawn from the seed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gamemaster.check.dialogue import Exchange
from gamemaster.check.findings import heard, quoted
from gamemaster.check.visit import GRACE, INFO_WAIT, LATE, Visit
from gamemaster.codec import LastStep, MessageCodec
from gamemaster.concurrency import in_daemon_thread
from gamemaster.faults import Fault, make_fault
from gamemaster.referee import Choice, Executed, Outcome, Referee, Situation, replacement
from gamemaster.settings import MatchSettings
from ggp.errors import SettingsError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term
from ggp.protocol.messages import Dialect, Message, format_message
from ggp.protocol.scramble import Scrambler

Spell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a PLAY."""

    step: int
    exchange: Exchange
    fault: Fault | None  # None when the answer was a legal move in time

    @property
    def text(self) -> str:
        """What was answered, and why it is a fault if it is one, for a person."""
        if self.fault is None:
            return f"step {self.step}: {heard(self.exchange)}"
        answer = f"{quoted(self.fault.answer)}: " if self.fault.answer is not None else ""
        return f"step {self.step}: {answer}{self.fault.detail}"


def taken_roles(game: Game) -> tuple[str, ...]:
    """The roles that a player can take."""
    return tuple(role for role in game.roles if role != NATURE)


def refuse_unplayable(game: Game, settings: MatchSettings) -> None:
    """SettingsError when a player could do nothing in it."""
    if not taken_roles(game):
        raise SettingsError(f"{game.name} has no role that a player could take")
    situation = Referee(game.rulesheet, game.machine, settings).begin()
    if isinstance(situation, Outcome):
        raise SettingsError(f"{game.name} has no step to play: {situation.reason or 'it is over from the beginning'}")


class Trial:
    """A match under way; what the player is told follows from what is executed here."""

    def __init__(
        self,
        visit: Visit,
        game: Game,
        role: str = "",
        dialect: Dialect | None = None,
        scrambler: Scrambler | None = None,
        spell: Spell = str,
    ) -> None:
        """The first role where none is named; `spell` rewrites each message before it is sent."""
        self.role = role or taken_roles(game)[0]
        self.name = visit.new_name()
        self.last_text = ""  # of the last PLAY
        self._visit = visit
        self._game = game
        self._dialect = dialect or visit.dialect
        self._spell = spell
        self._referee = Referee(game.rulesheet, game.machine, visit.clocks)
        self._codec = MessageCodec(self.name, self.role, game.rulesheet.has_percepts, scrambler)
        self._before: Choice | None = None  # the last step
        self._last: Executed | None = None
        self._steps = 0
        self._situation: Situation | None = None  # None before START

    @property
    def is_over(self) -> bool:
        return isinstance(self._situation, Outcome)

    async def start(self) -> Exchange:
        """START; the match counts as running from now on."""
        await self._visit.give_up()
        self._visit.match = self
        self._situation = await in_daemon_thread(self._referee.begin)
        return await self.start_again()

    async def start_again(self) -> Exchange:
        """The same START, whether or not it was sent before."""
        clocks = self._visit.clocks
        message = self._codec.start(self._game.rulesheet, clocks.startclock, clocks.playclock)
        return await self._tell(self._text(message), self._visit.settings.startclock + GRACE + LATE)

    async def play(self) -> Asked:
        """PLAY, and the step that follows from the answer, or from a replacement where there is a fault."""
        choice = self._choice()
        self.last_text = self._text(self._codec.play(choice.step, self._last_step()))
        exchange = await self.play_again()
        answer = self._codec.move(_in_time(exchange, self._visit.settings.playclock + GRACE))
        executed = await self._execute(choice, answer)
        return Asked(choice.step, exchange, executed.faults.get(self.role))

    async def play_again(self) -> Exchange:
        """The last PLAY once more, with nothing executed."""
        return await self._tell(self.last_text, self._visit.settings.playclock + GRACE + LATE)

    async def leave_out(self) -> None:
        """Executes a step of which the player is told nothing."""
        choice = self._choice()
        await self._execute(choice, self._any_move(choice, self.role))

    def repeats(self, exchange: Exchange) -> bool:
        """Whether an answer is the move that was executed in the last step."""
        return self._last is not None and self._codec.move(exchange.words) == self._own_move(self._last)

    def was_legal(self, exchange: Exchange) -> bool:
        """Whether an answer is a move that was legal in the last step."""
        return self._before is not None and self._codec.move(exchange.words) in self._before.legal[self.role]

    async def stop(self) -> Exchange:
        """STOP with the last joint move."""
        self._visit.match = None
        text = self._text(self._codec.stop(self._steps, self._last_step()))
        return await self._tell(text, self._visit.settings.playclock + GRACE + LATE)

    async def abort(self) -> Exchange:
        """ABORT, whatever the dialect."""
        self._visit.match = None
        return await self._tell(self._text(self._codec.abort()), INFO_WAIT + LATE)

    def _choice(self) -> Choice:
        assert isinstance(self._situation, Choice)
        return self._situation

    async def _execute(self, choice: Choice, answer: Term | Fault) -> Executed:
        others = {role: self._any_move(choice, role) for role in taken_roles(self._game) if role != self.role}
        answers = {**others, self.role: answer}
        self._before = choice
        executed, self._situation = await in_daemon_thread(partial(self._referee.execute, choice, answers))
        self._last = executed
        self._steps += 1
        return executed

    def _any_move(self, choice: Choice, role: str) -> Term:
        return replacement("random", self._visit.settings.seed, choice.step, role, choice.legal[role])

    def _last_step(self) -> LastStep | None:
        if self._last is None:
            return None
        return LastStep(self._last.joint_move, self._own_move(self._last), self._last.percepts.get(self.role, ()))

    def _own_move(self, executed: Executed) -> Term:
        return executed.joint_move[self._game.roles.index(self.role)]

    def _text(self, message: Message) -> str:
        return format_message(message, self._dialect)

    async def _tell(self, text: str, allowed: float) -> Exchange:
        spelt = self._spell(text)
        return await self._visit.tell(spelt, allowed, dialect=self._dialect, is_odd=spelt != text)


def _in_time(exchange: Exchange, limit: float) -> str | Fault:
    """What was answered, unless it came so late that a game master would have gone on without it."""
    if exchange.end == "answered" and exchange.seconds > limit:
        return make_fault("timeout", f"answered after {exchange.seconds:.2f} s, and {limit:g} s are allowed")
    return exchange.words
