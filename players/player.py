"""A player without its HTTP: messages → replies, one match at a time, before each deadline.

What thinks is a process of its own (`players.worker`). The best move that it has told so far is answered when the time
comes, whatever it does; when it ends by itself, or a user's strategy hangs in code that nothing can interrupt, another
one takes its place.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias

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
    format_message,
    same_match,
)
from players.pipe import Begin, Begun, Cancel, Choose, Finding, Follow, Found, Ponder, Refused, Request
from players.settings import PlayerSettings, is_custom
from players.worker import MakeWorker, MatchWorker

SPECIES = "alien"  # what the protocol calls a program
LEAD = 0.03  # seconds before the answer leaves, when thinking stops; or half the margin, where that is less

_SIMPLER = {"mcts": "montecarlo", "random": "random"}  # who plays on when the process of a match has ended by itself
_SIMPLEST = "legal"  # after any other
_MOST_LOST = 2  # processes of one match
_MOST_TOLD = 2**22  # characters of all PLAYs, to be told to another process

News: TypeAlias = Play | PlayPercepts
TellEvaluation: TypeAlias = Callable[[Evaluation], None]

log = logging.getLogger(__name__)


class TimeSource(Protocol):
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


class PendingReply:
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
    request: Choose
    received: float
    found: Found  # how far the thought has come
    reply: PendingReply = field(default_factory=PendingReply)
    evaluation: Evaluation | None = None  # of the move that was given


@dataclass(slots=True)
class _Match:
    start: Start
    strategy: str
    expected_by: float  # when the next message should have come
    answer_at: float  # when READY must leave
    worker: MatchWorker | None = None
    lost: int = 0  # processes
    ready: PendingReply = field(default_factory=PendingReply)  # to START
    has_begun: bool = False  # the rules are read
    first: str | None = None  # a legal move of the initial state
    number: int = 0  # of the newest thought
    under_way: set[int] = field(default_factory=set)  # numbers of thoughts that have begun, and have not ended yet
    heard_of: int = 0  # the newest thought that something was told of
    asked: _Asked | None = None
    answered: str | None = None  # the move that the last PLAY was answered with
    told: list[Follow] = field(default_factory=list)  # all PLAYs
    told_characters: int = 0


class GamePlayer:
    """One player: messages, deadlines, and the process that thinks; all of it in the event loop."""

    def __init__(self, settings: PlayerSettings, clock: TimeSource, make_worker: MakeWorker) -> None:
        self.settings = settings
        self.clock = clock
        self._make_worker = make_worker
        self._match: _Match | None = None
        self._ended = ""  # the name of the last match that ended

    async def answer(self, message: Message, received: float | None = None, tell: TellEvaluation | None = None) -> str:
        """The reply to a message, before its deadline; it came at that moment of the clock, or has just come.

        `tell` is called before a move is returned, with what the search thinks of it if that is known already.
        """
        if received is None:
            received = self.clock.now()
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

    def close(self, *, at_once: bool = False) -> None:
        """Ends the match and its thinking; requests that wait for a reply get one."""
        match = self._match
        if match is None:
            return
        self._match = None
        self._ended = match.start.match
        match.ready.give(BUSY)
        if match.asked is not None:
            self._give_move(match, match.asked)
        if match.worker is None:
            return
        if at_once:
            match.worker.kill()
        else:
            match.worker.end()

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
        clock = self.settings.clock_within(start.startclock)
        answer_at = received + clock - self.settings.margin_of(clock)
        match = self._match = _Match(start, self.settings.strategy, expected_by, answer_at)
        self._employ(match)
        return await self._by(answer_at, match.ready, partial(match.ready.give, READY))

    def _employ(self, match: _Match) -> None:
        """A new process for the match, which reads its rules; the match is given up where there can be none."""

        def hear(finding: Finding) -> None:
            if match is self._match and match.worker is worker:
                self._hear(match, finding)

        def lose(how: str) -> None:
            if match is self._match and match.worker is worker:
                self._lose(match, how)

        try:
            worker = match.worker = self._make_worker(hear, lose)
        except OSError as error:
            log.warning(
                "%s: no process to think in: %s; the match is given up", match.start.match, error.strerror or error
            )
            match.worker = None
            self.close()
            return
        worker.send(Begin(match.start, replace(self.settings, strategy=match.strategy)))

    def _hear(self, match: _Match, finding: Finding) -> None:
        match finding:
            case Begun(move):
                self._begin(match, move)
            case Refused():
                self._refuse(match)
            case Found():
                self._take(match, finding)

    def _begin(self, match: _Match, first: str | None) -> None:
        """Thinks ahead, without pondering until READY must leave; it leaves as soon as nothing is left to find out."""
        match.has_begun, match.first = True, first
        if match.asked is None and not match.told:
            self._ponder(match, None, math.inf if self.settings.ponder else match.answer_at - LEAD)

    def _refuse(self, match: _Match) -> None:
        """Rules that have no meaning: busy, and free for another match; or too late for that."""
        if not match.ready.is_given:
            self.close()

    def _ponder(self, match: _Match, answered: str | None, stop_at: float) -> None:
        match.number += 1
        match.under_way.add(match.number)
        _send(match, Ponder(match.number, answered, stop_at))

    def _take(self, match: _Match, found: Found) -> None:
        """A move that was found, or the end of a thought."""
        asked = match.asked
        match.heard_of = max(match.heard_of, found.number)
        if found.is_last:
            match.under_way.discard(found.number)
        else:
            match.under_way.add(found.number)
        if found.number != match.number:
            return
        if asked is not None:
            asked.found = found if found.move is not None else replace(found, move=asked.found.move)
        if found.is_last and asked is not None:
            self._give_move(match, asked)
        elif found.is_last:
            match.ready.give(READY)  # nothing is left to find out

    def _lose(self, match: _Match, how: str) -> None:
        """The process is no more: another one takes its place, which needs less."""
        match.lost += 1
        name = match.start.match
        if not match.has_begun or match.lost > _MOST_LOST or match.told_characters > _MOST_TOLD:
            log.warning("%s: %s; the match is given up", name, how)
            self.close()
            return
        match.strategy = _SIMPLER.get(match.strategy, _SIMPLEST)
        match.under_way.clear()
        log.warning("%s: %s; %s plays on in another one", name, how, match.strategy)
        match.ready.give(READY)
        self._employ(match)
        asked = match.asked
        for told in match.told[: len(match.told) - (asked is not None)]:
            _send(match, told)
        if asked is not None:
            _send(match, asked.request)

    async def _play(self, news: News, received: float, tell: TellEvaluation | None) -> str:
        match = self._match
        if match is None or not same_match(match.start.match, news.match):
            return BUSY
        news = replace(news, match=match.start.match)
        if match.asked is not None:
            if match.asked.news == news:  # repeated while the first one is still being thought about
                return await _told(match.asked, match.asked.reply.wait(), tell)
            self._give_move(match, match.asked)
        clock = self.settings.clock_within(match.start.playclock)
        margin = self.settings.margin_of(clock)
        answer_at = received + clock - margin
        match.expected_by = received + match.start.playclock + self.settings.abandon
        match.number += 1
        request = Choose(
            match.number, format_message(news), match.answered, answer_at - min(margin / 2, LEAD), tell is not None
        )
        is_first = news in (Play(news.match, None), PlayPercepts(news.match, 0, None, ())) and not match.told
        known = Found(match.number, match.first if is_first else None)
        asked = match.asked = _Asked(news, request, received, known)
        _remember(match, request)
        _send(match, request)
        forget = self.clock.call_at((received + answer_at) / 2, partial(self._look_after, match, asked))
        try:
            return await _told(asked, self._by(answer_at, asked.reply, partial(self._give_move, match, asked)), tell)
        finally:
            forget()

    def _look_after(self, match: _Match, asked: _Asked) -> None:
        """Half the time has passed: a user's strategy that lets nobody tell even a legal move is ended.

        It hangs in code that holds Python's lock, since what it thought before has not ended, though it was told to.
        Rules that take long are no such case: the thought before them has ended.
        """
        number = asked.request.number
        is_silent = match.heard_of < number and any(earlier < number for earlier in match.under_way)
        if match is self._match and match.asked is asked and is_silent and is_custom(match.strategy):
            if match.worker is not None:
                match.worker.kill()
            self._lose(match, f"{match.strategy} does not stop thinking")

    def _give_move(self, match: _Match, asked: _Asked) -> None:
        """Answers with the best move so far, and stops the thinking."""
        if asked.reply.is_given:
            return
        match.answered = asked.found.move
        match.asked = None
        asked.reply.give(NO_MOVE if match.answered is None else match.answered)
        self._keep_evaluation(match, asked)
        if match is self._match and is_custom(match.strategy) and not asked.found.is_last:
            log.warning("%s: %s gave no answer in time, so %s is", match.start.match, match.strategy, match.answered)
        if asked.found.note:
            log.info("%s: %s", match.start.match, asked.found.note)
        if match is not self._match:
            return
        if match.answered is not None and self.settings.ponder:
            self._ponder(match, match.answered, math.inf)
        elif not asked.found.is_last:
            _send(match, Cancel())

    def _keep_evaluation(self, match: _Match, asked: _Asked) -> None:
        """As it is now, since the process that searches may not have noticed yet that it is to stop."""
        found = asked.found
        if found.failure:
            log.error("%s: no evaluation, by a fault of this program: %s", match.start.match, found.failure)
        if found.evaluation is None:
            return
        try:
            evaluation = Evaluation.model_validate_json(found.evaluation)
        except ValueError as error:
            log.error("%s: no evaluation, by a fault of this program: %s", match.start.match, error)
            return
        asked.evaluation = evaluation.model_copy(update={"seconds": max(0.0, self.clock.now() - asked.received)})

    async def _by(self, moment: float, reply: PendingReply, otherwise: Callable[[], None]) -> str:
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


def _send(match: _Match, request: Request) -> None:
    """To the process of the match, while it has one."""
    if match.worker is not None:
        match.worker.send(request)


def _remember(match: _Match, request: Choose) -> None:
    """For a process that takes the place of this one. Too many words are not remembered, and then none can."""
    match.told_characters += len(request.news)
    if match.told_characters <= _MOST_TOLD:
        match.told.append(Follow(request.news, request.answered))


def _is_same_start(left: Start, right: Start) -> bool:
    return same_match(left.match, right.match) and (left.role, left.rules) == (right.role, right.rules)
