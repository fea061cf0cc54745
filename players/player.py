"""A player without its HTTP: messages → replies, one match at a time, before each deadline."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias

from ggp.errors import GgpError
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import (
    ABORTED,
    AVAILABLE,
    BUSY,
    DONE,
    NO_MOVE,
    READY,
    Abort,
    Info,
    InfoReply,
    Message,
    Ping,
    Play,
    PlayPercepts,
    Preview,
    Start,
    Stop,
    StopPercepts,
    format_info,
    same_match,
)
from players.settings import PlayerSettings
from players.strategy import Thought
from players.thinker import MakeMachine, News, Thinker, make_interpreter
from players.worker import Worker

SPECIES = "alien"  # what the protocol calls a program
LEAD = 0.03  # seconds before the answer leaves, when thinking stops; or half the margin, where that is less

TellEvaluation: TypeAlias = Callable[[Evaluation], None]

log = logging.getLogger(__name__)


class Clock(Protocol):
    """Monotonic time."""

    def now(self) -> float:
        """Seconds since some moment; may be asked from any thread."""

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back in the event loop at a moment; the result takes that back."""


class MonotonicClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.monotonic()

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(moment - self.now(), callback).cancel


class Reply:
    """A reply that several requests may wait for; given once."""

    def __init__(self) -> None:
        self._text: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_given(self) -> bool:
        return self._text.done()

    def give(self, text: str) -> None:
        """Later ones are ignored."""
        if not self._text.done():
            self._text.set_result(text)

    async def wait(self) -> str:
        return await asyncio.shield(self._text)  # one request that is cancelled leaves the others theirs


@dataclass(slots=True)
class _Asked:
    """A PLAY that is being answered."""

    news: News
    thought: Thought
    received: float
    reply: Reply = field(default_factory=Reply)
    evaluation: Evaluation | None = None  # of the move that was given


@dataclass(slots=True)
class _Match:
    start: Start
    worker: Worker
    helper: Worker  # for what is prepared in the background
    expected_by: float  # when the next message should have come
    ready: Reply = field(default_factory=Reply)  # to START
    thinker: Thinker | None = None  # written by the worker's thread
    asked: _Asked | None = None
    idle: Thought | None = None  # what is thought while nothing is asked
    answered: Term | None = None  # the move that the last PLAY was answered with


class Player:
    """One player; all of it but the thinking runs in the event loop."""

    def __init__(self, settings: PlayerSettings, clock: Clock, make: MakeMachine = make_interpreter) -> None:
        self.settings = settings
        self.clock = clock
        self._make_machine = make
        self._match: _Match | None = None
        self._ended = ""  # the name of the last match that ended

    async def answer(self, message: Message, received: float, tell: TellEvaluation | None = None) -> str:
        """The reply to a message that came at that moment of the clock, before its deadline.

        `tell` is called before a move is returned, with what the search thinks of it if that is known already.
        """
        match message:
            case Info():
                return self._info()
            case Ping() | Preview():
                return BUSY if self._is_busy() else READY
            case Start():
                return await self._start(message, received)
            case Play() | PlayPercepts():
                return await self._play(message, received, tell)
            case Stop() | StopPercepts():
                return self._end(message.match, DONE)
            case Abort():
                return self._end(message.match, ABORTED)

    def close(self) -> None:
        """Ends the match and its thinking; requests that wait for a reply get one."""
        match = self._match
        if match is None:
            return
        self._match = None
        self._ended = match.start.match
        _wake(match)
        match.ready.give(BUSY)
        if match.asked is not None:
            self._give_move(match, match.asked)
        match.helper.stop(_nothing)
        match.worker.stop(partial(_forget, match))

    def _info(self) -> str:
        name = self.settings.name or self.settings.strategy
        return format_info(InfoReply(name, BUSY if self._is_busy() else AVAILABLE, SPECIES))

    def _is_busy(self) -> bool:
        """A match that is silent for too long may be replaced; until then it goes on when it is heard of again."""
        return self._match is not None and self.clock.now() <= self._match.expected_by

    async def _start(self, start: Start, received: float) -> str:
        if self._is_busy():
            match = self._match
            if match is None or not _is_same_start(match.start, start):
                return BUSY
            return await match.ready.wait()  # repeated, because the answer was lost or is not there yet
        self.close()
        expected_by = received + start.startclock + self.settings.abandon
        loop = asyncio.get_running_loop()
        match = _Match(start, Worker(start.match, loop), Worker(f"{start.match}, background", loop), expected_by)
        self._match = match
        answer_at = received + start.startclock - self.settings.margin_of(start.startclock)
        match.worker.submit(partial(self._prepare, match), partial(self._begin, match, answer_at))
        return await self._by(answer_at, match.ready, partial(match.ready.give, READY))

    def _prepare(self, match: _Match) -> None:
        """In the worker's thread; long rules may outlast the startclock."""
        with _told_in_one_line(match):
            in_background = partial(match.helper.submit, then=_nothing)
            match.thinker = Thinker(match.start, self.settings, self._make_machine, match.worker.warn, in_background)

    def _begin(self, match: _Match, answer_at: float) -> None:
        """Thinks ahead, without pondering until READY must leave; it leaves as soon as nothing is left to find out."""
        if match is not self._match:
            return
        if match.thinker is None:
            if not match.ready.is_given:
                self.close()  # rules that have no meaning: busy, and free for another match
        elif match.asked is None and match.answered is None:
            stop_at = math.inf if self.settings.ponder else answer_at - LEAD
            self._ponder(match, None, stop_at, partial(match.ready.give, READY))

    def _ponder(self, match: _Match, answered: Term | None, stop_at: float, then: Callable[[], None]) -> None:
        thought = match.idle = Thought(self.clock.now, stop_at)

        def job() -> None:
            with _told_in_one_line(match):
                if match.thinker is not None:
                    match.thinker.ponder(answered, thought)

        match.worker.submit(job, then)

    async def _play(self, news: News, received: float, tell: TellEvaluation | None) -> str:
        match = self._match
        if match is None or not same_match(match.start.match, news.match):
            return BUSY
        _wake(match)
        news = replace(news, match=match.start.match)
        if match.asked is not None:
            if match.asked.news == news:  # repeated while the first one is still being thought about
                return await _told(match.asked, match.asked.reply.wait(), tell)
            self._give_move(match, match.asked)
        clock = match.start.playclock
        margin = self.settings.margin_of(clock)
        answer_at = received + clock - margin
        match.expected_by = received + clock + self.settings.abandon
        thought = Thought(self.clock.now, answer_at - min(margin / 2, LEAD), wants_evaluation=tell is not None)
        asked = match.asked = _Asked(news, thought, received)
        give = partial(self._give_move, match, asked)
        match.worker.submit(partial(self._think, match, asked, match.answered), give)
        return await _told(asked, self._by(answer_at, asked.reply, give), tell)

    def _think(self, match: _Match, asked: _Asked, answered: Term | None) -> None:
        """In the worker's thread."""
        with _told_in_one_line(match):
            if match.thinker is not None:
                match.thinker.choose(asked.news, answered, asked.thought)

    def _give_move(self, match: _Match, asked: _Asked) -> None:
        """Answers with the best move so far, and stops the thinking."""
        if asked.reply.is_given:
            return
        asked.thought.cancel()
        move = match.answered = asked.thought.move
        match.asked = None
        asked.reply.give(NO_MOVE if move is None else to_text(move))
        self._keep_evaluation(match, asked)
        if asked.thought.note:
            log.info("%s: %s", match.start.match, asked.thought.note)
        if move is not None and self.settings.ponder and match is self._match:
            self._ponder(match, move, math.inf, _nothing)

    def _keep_evaluation(self, match: _Match, asked: _Asked) -> None:
        """As it is now, since the thread that searches may not have noticed yet that it is to stop."""
        if asked.thought.failure:
            log.error("%s: no evaluation, by a fault of this program: %s", match.start.match, asked.thought.failure)
        evaluation = asked.thought.evaluation
        if evaluation is None:
            return
        asked.evaluation = evaluation.model_copy(update={"seconds": max(0.0, self.clock.now() - asked.received)})

    async def _by(self, moment: float, reply: Reply, otherwise: Callable[[], None]) -> str:
        """The reply, which `otherwise` gives when the moment comes first."""
        cancel = self.clock.call_at(moment, otherwise)
        try:
            return await reply.wait()
        finally:
            cancel()

    def _end(self, name: str, word: str) -> str:
        if self._match is None or not same_match(self._match.start.match, name):
            return word if same_match(self._ended, name) else BUSY
        self.close()
        return word


async def _told(asked: _Asked, reply: Awaitable[str], tell: TellEvaluation | None) -> str:
    """The reply, after the evaluation that goes with it."""
    text = await reply
    if tell is not None and asked.evaluation is not None:
        tell(asked.evaluation)
    return text


def _nothing() -> None:
    """The end of a job that no request waits for."""


def _wake(match: _Match) -> None:
    if match.idle is not None:
        match.idle.cancel()


def _forget(match: _Match) -> None:
    if match.thinker is not None:
        match.thinker.forget()


def _is_same_start(left: Start, right: Start) -> bool:
    return same_match(left.match, right.match) and (left.role, left.rules) == (right.role, right.rules)


@contextmanager
def _told_in_one_line(match: _Match) -> Iterator[None]:
    """Rules that cannot be read or evaluated are no fault of the player: they are logged, and it goes on."""
    try:
        yield
    except GgpError as error:
        match.worker.warn(f"{match.start.match}: {error}")
    except (RecursionError, MemoryError) as error:
        match.worker.warn(f"{match.start.match}: the rules need too much: {type(error).__name__}")
