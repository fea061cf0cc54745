"""Matches against the player under check, as any game master runs them; other roles move at random, from the seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import ggp
from gamemaster.check.exchange import Exchange
from gamemaster.check.session import (
    GRACE,
    INFO_LATE,
    INFO_WAIT,
    LATE,
    LETTERS,
    ODD_NAMES,
    PERCEPTS,
    CheckSession,
    Judgement,
    bad,
    better,
    good,
    heard,
    info_of,
    not_tried,
    quoted,
    word_of,
)
from gamemaster.concurrency import in_daemon_thread
from gamemaster.faults import Fault, make_fault
from gamemaster.referee import Executed, MoveChoice, Outcome, Referee, Situation, replacement
from gamemaster.settings import MatchSettings
from gamemaster.transport import LastStep, MessageCodec
from ggp.errors import SettingsError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term
from ggp.protocol.messages import ABORTED, BUSY, DONE, READY, Dialect, Info, Message, format_message
from ggp.protocol.scramble import Scrambler

Spell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class TrialMove:
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


class TrialMatch:
    """A match under way; what the player is told follows from what is executed here."""

    def __init__(
        self,
        session: CheckSession,
        game: Game,
        role: str = "",
        dialect: Dialect | None = None,
        scrambler: Scrambler | None = None,
        spell: Spell = str,
    ) -> None:
        """The first role where none is named; `spell` rewrites each message before it is sent."""
        self.role = role or taken_roles(game)[0]
        self.name = session.new_name()
        self.last_text = ""  # of the last PLAY
        self._session = session
        self._game = game
        self._dialect = dialect or session.dialect
        self._spell = spell
        self._referee = Referee(game.rulesheet, game.machine, session.clocks)
        self._codec = MessageCodec(self.name, self.role, game.rulesheet.has_percepts, scrambler)
        self._before: MoveChoice | None = None  # the last step
        self._last: Executed | None = None
        self._steps = 0
        self._situation: Situation | None = None  # None before START

    @property
    def is_over(self) -> bool:
        return isinstance(self._situation, Outcome)

    async def start(self) -> Exchange:
        """START; the match counts as running from now on."""
        await self._session.give_up()
        self._session.match = self
        self._situation = await in_daemon_thread(self._referee.begin)
        return await self.start_again()

    async def start_again(self) -> Exchange:
        """The same START, whether or not it was sent before."""
        clocks = self._session.clocks
        message = self._codec.start(self._game.rulesheet, clocks.startclock, clocks.playclock)
        return await self._tell(self._text(message), self._session.settings.startclock + GRACE + LATE)

    async def play(self) -> TrialMove:
        """PLAY, and the step that follows from the answer, or from a replacement where there is a fault."""
        choice = self._choice()
        self.last_text = self._text(self._codec.play(choice.step, self._last_step()))
        exchange = await self.play_again()
        answer = self._codec.move(_in_time(exchange, self._session.settings.playclock + GRACE))
        executed = await self._execute(choice, answer)
        return TrialMove(choice.step, exchange, executed.faults.get(self.role))

    async def play_again(self) -> Exchange:
        """The last PLAY once more, with nothing executed."""
        return await self._tell(self.last_text, self._session.settings.playclock + GRACE + LATE)

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
        self._session.match = None
        text = self._text(self._codec.stop(self._steps, self._last_step()))
        return await self._tell(text, self._session.settings.playclock + GRACE + LATE)

    async def abort(self) -> Exchange:
        """ABORT, whatever the dialect."""
        self._session.match = None
        return await self._tell(self._text(self._codec.abort()), INFO_WAIT + LATE)

    def _choice(self) -> MoveChoice:
        assert isinstance(self._situation, MoveChoice)
        return self._situation

    async def _execute(self, choice: MoveChoice, answer: Term | Fault) -> Executed:
        others = {role: self._any_move(choice, role) for role in taken_roles(self._game) if role != self.role}
        answers = {**others, self.role: answer}
        self._before = choice
        executed, self._situation = await in_daemon_thread(partial(self._referee.execute, choice, answers))
        self._last = executed
        self._steps += 1
        return executed

    def _any_move(self, choice: MoveChoice, role: str) -> Term:
        return replacement("random", self._session.settings.seed, choice.step, role, choice.legal[role])

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
        return await self._session.tell(spelt, allowed, dialect=self._dialect, is_odd=spelt != text)


def _in_time(exchange: Exchange, limit: float) -> str | Fault:
    """What was answered, unless it came so late that a game master would have gone on without it."""
    if exchange.end == "answered" and exchange.seconds > limit:
        return make_fault("timeout", f"answered after {exchange.seconds:.2f} s, and {limit:g} s are allowed")
    return exchange.words


PATIENT_PLAYS = 2  # PLAYs in a row without any answer, after which a match is given up
SHORT = 3  # PLAYs of a match that only has to begin well
NEARLY_ALL = 0.95  # of a clock; who uses more is late on a slow network


async def first_contact(session: CheckSession) -> Sequence[Judgement]:
    """The connection, and INFO."""
    exchange = await session.tell(format_message(Info(), session.dialect), INFO_WAIT + INFO_LATE, linger=INFO_WAIT)
    if session.lost:
        return bad(session.lost), not_tried(session.lost)
    session.info = info_of(exchange)
    stays_open = exchange.end == "answered" and not exchange.is_closed
    connection = better("it stays open after an answer to HTTP/1.0") if stays_open else good("connected")
    return connection, _judge_info(session, exchange)


async def whole_match(session: CheckSession, dialect: Dialect) -> Sequence[Judgement]:
    """START, moves, time and STOP of a whole match in a dialect."""
    roles = taken_roles(session.game)
    trial = TrialMatch(session, session.game, roles[0] if dialect is Dialect.GGP_BASE else roles[-1], dialect)
    start = await trial.start()
    started = judge_start(start, session.settings.startclock)
    if session.lost or word_of(start) == BUSY:
        session.match = None
        session.hindrance = session.hindrance and f"START was answered {heard(start)}"
        return started, *[not_tried("no match was started")] * 3
    asked = await _play_on(session, trial)
    _remember(session, dialect, start, asked)
    if not trial.is_over:
        await session.give_up()
        stopped = not_tried(_after_silence(session))
    else:
        stopped = _judge_stop(await trial.stop(), session.settings.playclock)
    return started, judge_moves(asked), _judge_time(asked, session.settings.playclock), stopped


async def aborted_match(session: CheckSession) -> Sequence[Judgement]:
    """ABORT in the middle of a match, and another START at once."""
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial, trial
    await trial.play()
    exchange = await trial.abort()
    session.knows_abort = word_of(exchange) is not None
    again = TrialMatch(session, session.game)
    start = await again.start()
    started = judge_start(start, session.settings.startclock)
    if started.verdict != "bad":
        asked = await again.play()
        if not holds(session, asked):
            started = bad(f"the new match is not played: {asked.text}")
    elif not session.lost:
        await trial.stop()
    await session.give_up()
    return _judge_abort(exchange), started


async def scrambled_match(session: CheckSession) -> Judgement:
    """The same game in words that mean nothing."""
    return await short_match(session, session.game, scrambler=Scrambler(session.game.rulesheet, session.settings.seed))


async def match_of_odd_names(session: CheckSession) -> Judgement:
    return await short_match(session, small_game(ODD_NAMES))


async def match_of_letters(session: CheckSession) -> Judgement:
    return _at_worst_better(await short_match(session, small_game(LETTERS)))


async def match_of_percepts(session: CheckSession) -> Judgement:
    """GDL-II, with the turn, the own move and the percepts in PLAY."""
    return await short_match(session, small_game(PERCEPTS))


async def match_in_lower_case(session: CheckSession) -> Judgement:
    return _at_worst_better(await short_match(session, session.game, spell=str.lower))


async def match_in_many_lines(session: CheckSession) -> Judgement:
    def spread(text: str) -> str:
        return text.replace(" ", "\r\n\t ") + "\r\n"

    return _at_worst_better(await short_match(session, session.game, spell=spread))


async def short_match(
    session: CheckSession, game: Game, scrambler: Scrambler | None = None, spell: Spell = str
) -> Judgement:
    """The first steps of a match, given up after them unless it has ended."""
    trial = await begun(session, game, scrambler, spell)
    if isinstance(trial, Judgement):
        return trial
    asked: list[TrialMove] = []
    while len(asked) < SHORT and not trial.is_over and not session.lost:
        asked.append(await trial.play())
    if trial.is_over:
        await trial.stop()
    await session.give_up()
    return judge_moves(asked)


async def begun(
    session: CheckSession, game: Game | None = None, scrambler: Scrambler | None = None, spell: Spell = str
) -> TrialMatch | Judgement:
    """A match that was started, or why there is none."""
    trial = TrialMatch(session, game or session.game, scrambler=scrambler, spell=spell)
    start = await trial.start()
    if start.end == "answered" and word_of(start) != BUSY:
        return trial
    await session.give_up()
    return bad(f"START was answered {heard(start)}" if start.end == "answered" else f"START: {heard(start)}")


def holds(session: CheckSession, asked: TrialMove) -> bool:
    """Whether a move is as good as this player's moves in whole matches."""
    return asked.fault is None if session.is_sound else asked.exchange.end == "answered"


def small_game(text: str) -> Game:
    """A game of this package."""
    return ggp.load_text(text.strip(), "check", "interpreter")


def judge_start(exchange: Exchange, clock: int) -> Judgement:
    """The answer to a START that nothing speaks against."""
    seen = heard(exchange)
    word = word_of(exchange)
    if exchange.end != "answered" or exchange.seconds > clock + GRACE:
        return bad(f"{seen}; the startclock is {clock} s")
    if word == BUSY:
        return bad(f"{seen}, although no other match of this check is running")
    if exchange.seconds > clock:
        return better(f"{seen}, later than the startclock of {clock} s")
    return good(seen) if word == READY else better(f"{seen}, not 'ready'")


def judge_moves(asked: Sequence[TrialMove]) -> Judgement:
    """Whether there were moves in time, and all legal."""
    faults = [each for each in asked if each.fault is not None]
    count = f"{len(asked)} move{'s' if len(asked) != 1 else ''}"
    if not faults:
        return good(f"{count}, all legal")
    return bad(f"{len(faults)} of {count} not accepted; {faults[0].text}")


def _judge_info(session: CheckSession, exchange: Exchange) -> Judgement:
    seen = heard(exchange)
    info = session.info
    if exchange.end != "answered":
        return better(f"{seen}; many players give none")
    if info is None:
        return better(f"{seen}, which says neither name nor status")
    if info.status == BUSY:
        return better(f"{seen}; is it in a match with somebody else?")
    if exchange.seconds > INFO_WAIT:
        return better(f"{seen}; game masters wait {INFO_WAIT:g} s")
    return good(seen)


async def _play_on(session: CheckSession, trial: TrialMatch) -> list[TrialMove]:
    """All steps, or as many as the player has answers for."""
    asked: list[TrialMove] = []
    while not trial.is_over and not session.lost:
        asked.append(await trial.play())
        patience = PATIENT_PLAYS if session.has_spoken else 1
        if all(each.exchange.end != "answered" for each in asked[-patience:]) and len(asked) >= patience:
            break
    return asked


def _remember(session: CheckSession, dialect: Dialect, start: Exchange, asked: Sequence[TrialMove]) -> None:
    """Notes what later checks can build on."""
    if any(each.exchange.end == "answered" for each in asked):
        if session.hindrance:
            session.dialect = dialect
            session.is_sound = all(each.fault is None for each in asked)
        session.hindrance = ""
    elif session.hindrance:
        session.hindrance = "no PLAY was answered" if start.end == "answered" else "neither START nor PLAY was answered"
    if not session.has_spoken:
        has_answered = any(exchange.received for exchange in session.exchanges)
        said = "no answer was HTTP" if has_answered else "has answered nothing"
        session.lost = f"it accepts connections, but {said}"


def _after_silence(session: CheckSession) -> str:
    return session.lost or "the match was given up, because PLAY was not answered any more"


def _judge_time(asked: Sequence[TrialMove], clock: int) -> Judgement:
    times = [each.exchange.seconds for each in asked if each.exchange.end == "answered"]
    if not times:
        return bad("no PLAY was answered")
    longest = max(times)
    seen = f"at most {longest:.2f} s of {clock} s, {sum(times) / len(times):.2f} s on average"
    if longest > clock + GRACE or len(times) < len(asked):
        late = sum(time > clock + GRACE for time in times) + len(asked) - len(times)
        return bad(f"{late} of {len(asked)} answers too late or missing; {seen}")
    if longest > clock:
        return better(f"{seen}; only the grace of game masters saves it")
    return better(f"{seen}; a slow network would make it late") if longest > NEARLY_ALL * clock else good(seen)


def _judge_stop(exchange: Exchange, clock: int) -> Judgement:
    seen = heard(exchange)
    if exchange.end != "answered":
        return better(f"{seen}; it changes nothing, but the game master waits")
    if exchange.seconds > clock:
        return better(f"{seen}, later than the playclock of {clock} s")
    return good(seen) if word_of(exchange) == DONE else better(f"{seen}, not 'done'")


def _judge_abort(exchange: Exchange) -> Judgement:
    seen = heard(exchange)
    if exchange.end != "answered":
        return better(f"{seen}; many players give none")
    if exchange.seconds > INFO_WAIT:
        return better(f"{seen}; game masters wait {INFO_WAIT:g} s")
    return good(seen) if word_of(exchange) == ABORTED else better(f"{seen}, not 'aborted'")


def _at_worst_better(judgement: Judgement) -> Judgement:
    """Of what game masters hardly ever do."""
    return better(judgement.seen) if judgement.verdict == "bad" else judgement
