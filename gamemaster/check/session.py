"""A session with one player under check: how it is addressed, what was exchanged, what is known of it so far.

A check ends in a verdict, and what was seen.
"""

import asyncio
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from gamemaster.check.exchange import RETRY, Address, Exchange, Request, converse, ordinary
from gamemaster.faults import Fault, shown
from gamemaster.settings import MatchSettings
from ggp.errors import MessageError
from ggp.game import Game
from ggp.protocol.messages import Abort, Dialect, Info, InfoReply, Start, Stop, format_message, parse_info, parse_word

Verdict = Literal["good", "could be better", "bad", "not tried"]
ACCIDENT = "that looks like an accident"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is judged."""

    name: str
    why: str  # one sentence: why it matters


@dataclass(frozen=True, slots=True)
class Judgement:
    """How one check came out."""

    verdict: Verdict
    seen: str  # what was seen, or why it was not tried; one line, safe to print


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its judgement and what was said for it."""

    check: Check
    judgement: Judgement
    exchanges: tuple[Exchange, ...]


def good(seen: str) -> Judgement:
    """As it should be."""
    return Judgement("good", seen)


def better(seen: str) -> Judgement:
    """It works, but could be better."""
    return Judgement("could be better", seen)


def bad(seen: str) -> Judgement:
    """Matches would suffer."""
    return Judgement("bad", seen)


def not_tried(reason: str) -> Judgement:
    """It could not be judged."""
    return Judgement("not tried", reason)


def heard(exchange: Exchange) -> str:
    """What was answered and when, for a person."""
    words = exchange.words
    is_late = exchange.waited >= RETRY and exchange.end != "refused"
    delay = f", connected only after {exchange.waited:.1f} s" if is_late else ""
    if isinstance(words, Fault):
        answer = f" ({words.answer})" if words.answer else ""
        return f"{words.detail}{answer}{delay}"
    return f"{quoted(words)} after {exchange.seconds:.2f} s{delay}"


def is_accident(exchange: Exchange) -> bool:
    """Whether a player says itself that it failed."""
    answer = exchange.answer
    return answer is not None and answer.status == 500


def quoted(words: str) -> str:
    """An answer on one line, visible also when it is empty."""
    return f"'{text}'" if (text := shown(words)) else "an empty answer"


def word_of(exchange: Exchange) -> str | None:
    """The one word of an answer, in lower case; None when it is anything else."""
    words = exchange.words
    if isinstance(words, Fault):
        return None
    try:
        return parse_word(words)
    except MessageError:
        return None


GRACE = 1.0  # seconds beyond a clock that game masters usually allow
LATE = 3.0  # seconds for which an answer is waited for beyond that, to tell a late one from none
INFO_WAIT = 1.0  # seconds that game masters usually wait for the answer to INFO or ABORT
INFO_LATE = 1.0  # seconds beyond that, likewise
RESTART = 10.0  # seconds in which a player that was there may come back

_ENDS = frozenset({"STOP", "ABORT"})  # messages after which some players start again

Wrap = Callable[[bytes], tuple[bytes, ...]]  # the body of a message → the bytes to send


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """What the user of the checks decides."""

    startclock: int = 2  # seconds
    playclock: int = 2
    dialects: tuple[Dialect, ...] = tuple(Dialect)
    percepts: bool = False  # whether a match of GDL-II is played, too
    seed: int = field(default_factory=lambda: secrets.randbits(32))  # of the other roles' moves


class CheckedMatch(Protocol):
    """A match that the player takes part in."""

    async def abort(self) -> Exchange:
        """Gives it up."""

    async def stop(self) -> Exchange:
        """Ends it where it is."""


class CheckSession:
    """One player under check, one message at a time; every exchange is kept."""

    def __init__(self, address: Address, game: Game, settings: CheckSettings) -> None:
        self.address = address
        self.game = game
        self.settings = settings
        self.clocks = MatchSettings(startclock=settings.startclock, playclock=settings.playclock, seed=settings.seed)
        self.exchanges: list[Exchange] = []
        self.ordinary: list[Exchange] = []  # those that any game master could have had
        self.refusable: list[Exchange] = []  # of messages out of place, which a status may refuse
        self.info: InfoReply | None = None  # when INFO is answered
        self.is_sound = True  # whether its moves were legal in whole matches
        self.knows_abort = True  # until it shows that it does not
        self.match: CheckedMatch | None = None  # the one that is running
        self.dialect = settings.dialects[0]  # the one that is spoken where it does not matter
        self.hindrance = "no match was played yet"  # why no match can be played with it; empty when one can
        self.lost = ""  # why it is not asked anything more
        self.restarts: list[float] = []  # seconds for which it could not be reached after the end of a match
        self._has_stopped = False  # whether a match has just ended
        self._names = 0

    @property
    def has_spoken(self) -> bool:
        """Whether any answer in HTTP has come from it."""
        return any(not exchange.no_head for exchange in self.exchanges)

    def new_name(self) -> str:
        """Of a match that the player has never heard of."""
        self._names += 1
        return f"check-{self.settings.seed:x}-{self._names}"

    async def tell(
        self, text: str, allowed: float, *, dialect: Dialect | None = None, linger: float = 0.0, is_odd: bool = False
    ) -> Exchange:
        """A message in an ordinary request; `is_odd` when its spelling is not ordinary."""
        name = self.info.name if self.info else ""
        receiver = re.sub(r"[^!-~]+", "_", name)[:100] or "player"
        data = ordinary(self.address, text, dialect or self.dialect, receiver)
        exchange = await self.send(_word(text), (data,), allowed, linger=linger)
        if not is_odd:
            self.ordinary.append(exchange)
        return exchange

    async def send(self, what: str, pieces: tuple[bytes, ...], allowed: float, *, linger: float = 0.0) -> Exchange:
        """Any bytes; a player that was there before may have to start again first.

        Many do that after each match. One that is about to may still take a connection, but never answers there.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        while True:
            patience = RESTART if self.exchanges else 0.0
            exchange = await converse(self.address, Request(what, pieces, allowed, patience, linger))
            self.exchanges.append(exchange)
            is_cut_off = exchange.end == "closed" and not exchange.received
            may_start_again = self._has_stopped and (what == "START" or bool(self.restarts))
            if not (is_cut_off and may_start_again) or clock() - began > RESTART:
                break
            await asyncio.sleep(RETRY)
        if exchange.end == "refused":
            self.lost = f"no connection: {exchange.detail}"
        missing = clock() - began - exchange.seconds
        if self._has_stopped and exchange.end != "refused" and missing >= RETRY:
            self.restarts.append(missing)
        self._has_stopped = what in _ENDS
        return exchange

    async def ask_anything(self, what: str, wrap: Wrap | None = None) -> tuple[Exchange, bool]:
        """The simplest question that this player answers, in other bytes if wished; and whether it understood.

        That is INFO, or for a player that does not answer INFO a START, whose match is given up at once.
        """
        name = self.new_name()
        clock = self.settings.startclock
        start = Start(name, PLAIN_ROLE, PLAIN.strip(), clock, self.settings.playclock)
        text = format_message(Info() if self.info else start, self.dialect)
        allowed = (INFO_WAIT if self.info else clock + GRACE) + LATE
        if wrap is None:
            exchange = await self.tell(text, allowed)
        else:
            exchange = await self.send(what, wrap(text.encode()), allowed)
        if self.info:
            return exchange, info_of(exchange) is not None
        if not self.lost:
            await self.dismiss(name)  # also what it did not answer may have begun a match
        return exchange, word_of(exchange) == "ready"

    async def trouble(self) -> str:
        """What is wrong with the player since it was sent something; empty when nothing is.

        What remains to be checked is not tried when it does not answer at all.
        """
        if self.lost:
            return self.lost
        exchange, understood = await self.ask_anything("still there?")
        if understood:
            return f"no connection for {exchange.waited:.1f} s" if exchange.waited >= 1.0 else ""
        question = "INFO" if self.info else "START"
        if not self.lost and not exchange.received:
            self.lost = f"{question} was not answered any more: {heard(exchange)}"
        return self.lost or f"{question} was answered {heard(exchange)}"

    async def give_up(self) -> None:
        """Ends what is running, so that the player is free."""
        match, self.match = self.match, None
        if match is None or self.lost:
            return
        if not self.knows_abort or self._is_refused(await match.abort()):
            await match.stop()

    async def dismiss(self, name: str) -> None:
        """Ends a match of this name, if there is one."""
        if not self.knows_abort or self._is_refused(await self._dismiss(Abort(name))):
            await self._dismiss(Stop(name, None))

    async def _dismiss(self, message: Abort | Stop) -> Exchange:
        exchange = await self.tell(format_message(message, self.dialect), INFO_WAIT + INFO_LATE)
        self.refusable.append(exchange)
        return exchange

    def _is_refused(self, exchange: Exchange) -> bool:
        """Whether a player does not know ABORT; many know STOP only."""
        self.knows_abort = word_of(exchange) is not None
        return not self.knows_abort and not self.lost


def info_of(exchange: Exchange) -> InfoReply | None:
    """What a player says of itself; None when that cannot be read."""
    words = exchange.words
    if not isinstance(words, Fault):
        with suppress(MessageError):
            return parse_info(words)
    return None


def _word(text: str) -> str:
    """The word of a message, for a person."""
    found = re.search(r"[^\s()]+", text)
    return found[0].upper() if found else "nothing"


PLAIN = """
(role solo)
(init (left 2))
(less 2 1) (less 1 0)
(legal solo (go east)) (legal solo (go west))
(<= (next (left ?m)) (true (left ?n)) (less ?n ?m))
(<= terminal (true (left 0)))
(goal solo 100)
"""  # read in no time; a match has two steps
PLAIN_ROLE = "solo"
PLAIN_MOVES = (("go", "east"), ("go", "west"))

_LONG = "a-word-of-many-letters" * 10

ODD_NAMES = f"""
(role player.1)
(role ->)
(init (info 0))
(play 0 1) (play 1 +2)
(word start) (word ready) (word busy) (word 007) (word a_b-c.d/e!) (word {_LONG})
(<= (legal ?-1 (stop ?Word? ?Word?)) (role ?-1) (word ?Word?))
(<= (next (info ?y)) (true (info ?x)) (play ?x ?y))
(<= terminal (true (info +2)))
(<= (goal ?-1 50) (role ?-1))
"""  # words of the protocol, signs and digits as names; the match has two steps

LETTERS = """
(role weiß)
(init (größe 2))
(kleiner 2 1) (kleiner 1 0)
(legal weiß (zieh süd)) (legal weiß (zieh 北))
(<= (next (größe ?m)) (true (größe ?n)) (kleiner ?n ?m))
(<= terminal (true (größe 0)))
(goal weiß 100)
"""  # letters that take more than one byte
LETTERS_ROLE = "weiß"

PERCEPTS = """
(role asker)
(role random)
(init (turn 0))
(succ 0 1) (succ 1 2) (succ 2 3)
(number 1) (number 2) (number 3)
(<= (legal ?r (say ?n)) (role ?r) (number ?n))
(<= (next (turn ?m)) (true (turn ?n)) (succ ?n ?m))
(<= (sees asker same) (does asker (say ?n)) (does random (say ?n)))
(<= (sees asker (other ?m)) (does asker (say ?n)) (does random (say ?m)) (distinct ?n ?m))
(<= terminal (true (turn 3)))
(goal asker 50)
(goal random 50)
"""  # GDL-II: what the other role did is told by percepts only
