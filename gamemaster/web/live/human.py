"""A human in a match: a player that answers when the person in the browser has moved."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import ClientError, ClientSession, web

from gamemaster.web.live.feed import Feed
from gamemaster.web.views import SEATS
from ggp.errors import MessageError
from ggp.gdl.terms import to_text
from ggp.protocol.evaluation import HEADER
from ggp.protocol.messages import (
    ABORTED,
    BUSY,
    CONTENT_TYPE,
    DONE,
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
    parse_message,
)

PLAY_URL = "/play/"  # how the path of the human's page begins
BOTS = "/bots/"  # how the path begins at which a bot is spoken to
SPECIES = "human"
MAX_BYTES = 8 * 2**20  # of a message

PORT = web.AppKey("PORT", int)


@dataclass(slots=True)
class Asked:
    """A move that is wanted."""

    step: int
    move: asyncio.Future[str]
    is_open: bool = False  # whether the human is asked; not where there is nothing to choose


@dataclass(frozen=True, slots=True)
class Choices:
    """The moves of a human in a state that is not known."""

    moves: tuple[str, ...]
    is_complete: bool  # False where other moves may be legal, too


@dataclass(slots=True, eq=False)
class HumanPlayer:
    """One human in one match."""

    role: str
    name: str
    on_asked: Callable[["HumanPlayer", Asked], None]  # told when the game master asks for a move
    on_change: Callable[["HumanPlayer"], None]  # told when a move is wanted no longer
    link: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # known to the human only
    line: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # known to the game master only
    feed: Feed = field(default_factory=Feed)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # the page was opened
    asked: Asked | None = None
    percepts: list[tuple[str, ...]] = field(default_factory=list)  # after each step, as in GDL-II
    own_moves: list[str] = field(default_factory=list)  # in each step, where percepts are told; empty where not known
    choices: Choices | None = None  # where the service does not know the state either
    next: str | None = None  # the link of the human in the match that followed
    _steps: int = 0

    async def answer(self, message: Message) -> str:
        """The reply to a message of the game master; to PLAY when the human has moved."""
        match message:
            case Info():
                return format_info(InfoReply(self.name, "available", SPECIES))
            case Ping() | Preview():
                return READY
            case Start():
                await self.arrived.wait()
                return READY
            case Play():
                return await self._ask(self._steps)
            case PlayPercepts():
                self._perceive(message)
                return await self._ask(message.turn)
            case Stop() | StopPercepts():
                if isinstance(message, StopPercepts):
                    self._perceive(message)
                self.withdraw()
                self.on_change(self)
                return DONE
            case Abort():
                self.withdraw()
                return ABORTED

    def choose(self, step: int, move: str) -> bool:
        """Whether the move was wanted; then it is on its way."""
        asked = self.asked
        if asked is None or asked.step != step or asked.move.done():
            return False
        asked.move.set_result(move)
        return True

    @property
    def wanted(self) -> int | None:
        """The step for which the human is asked for a move."""
        asked = self.asked
        return asked.step if asked is not None and asked.is_open and not asked.move.done() else None

    def withdraw(self) -> None:
        """No move is wanted any more."""
        if self.asked is not None:
            self.asked.move.cancel()
            self.asked = None

    def _perceive(self, message: PlayPercepts | StopPercepts) -> None:
        """What a step was like, told for the first time or again."""
        if message.turn > 0:
            missing = message.turn - len(self.percepts)
            self.percepts += [()] * missing
            self.own_moves += [""] * missing
            self.percepts[message.turn - 1] = tuple(map(to_text, message.percepts))
            self.own_moves[message.turn - 1] = "" if message.last_move is None else to_text(message.last_move)

    async def _ask(self, step: int) -> str:
        self.withdraw()
        self._steps = step + 1
        asked = self.asked = Asked(step, asyncio.get_running_loop().create_future())
        self.on_asked(self, asked)
        try:
            return await asked.move
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return BUSY  # the question was withdrawn, nobody waits for this any more
        finally:
            if self.asked is asked:
                self.asked = None
                self.on_change(self)


@dataclass(frozen=True, slots=True)
class Hurried:
    """A bot that is told shorter clocks than the match has, so that humans need not wait for it."""

    url: str
    startclock: int
    playclock: int


class Answering(Protocol):
    """Whoever answers messages of a game master."""

    async def answer(self, message: Message) -> str: ...


class Switchboard:
    """Where the service's own game master reaches humans, and bots that are told other clocks; on loopback only."""

    def __init__(self) -> None:
        self._humans: dict[str, Answering] = {}
        self._bots: dict[str, Hurried] = {}
        self._session: ClientSession | None = None
        self.port = 0

    def application(self) -> web.Application:
        """What has to listen on a loopback address, with `port` set to its port."""
        app = web.Application(client_max_size=MAX_BYTES)
        app.router.add_post(SEATS + "{line}/", self._serve_human)
        app.router.add_post(BOTS + "{line}/", self._serve_bot)
        app.on_startup.append(self._open)
        app.on_cleanup.append(self._close)
        return app

    @contextmanager
    def connected(self, humans: Mapping[str, HumanPlayer], bots: Mapping[str, Hurried]) -> Iterator[dict[str, str]]:
        """Role → URL for the game master, as long as the block lasts."""
        lines = {role: secrets.token_urlsafe(18) for role in bots}
        self._humans |= {human.line: human for human in humans.values()}
        self._bots |= {lines[role]: bot for role, bot in bots.items()}
        base = f"http://127.0.0.1:{self.port}"
        try:
            urls = {role: self.url(human.line) for role, human in humans.items()}
            yield urls | {role: f"{base}{BOTS}{line}/" for role, line in lines.items()}
        finally:
            for human in humans.values():
                human.withdraw()
                self._humans.pop(human.line, None)
            for line in lines.values():
                self._bots.pop(line, None)

    def open(self, line: str, answering: Answering) -> None:
        """Lets somebody be reached for as long as the service runs."""
        self._humans[line] = answering

    def url(self, line: str) -> str:
        return f"http://127.0.0.1:{self.port}{SEATS}{line}/"

    async def _open(self, _: web.Application) -> None:
        self._session = ClientSession()

    async def _close(self, _: web.Application) -> None:
        if self._session is not None:
            await self._session.close()

    async def _serve_human(self, request: web.Request) -> web.Response:
        human = self._humans.get(request.match_info["line"])
        if human is None:
            return _response("no such human", 404)
        try:
            message = parse_message(await request.text())
        except (MessageError, UnicodeError) as error:
            return _response(str(error), 400)
        return _response(await human.answer(message))

    async def _serve_bot(self, request: web.Request) -> web.Response:
        bot = self._bots.get(request.match_info["line"])
        if bot is None or self._session is None:
            return _response("no such bot", 404)
        text = await request.text()
        if text.lstrip("( ")[:5].upper() == "START":
            text = await asyncio.to_thread(_hurried, text, bot)
        try:
            headers = {"Content-Type": CONTENT_TYPE, **_evaluation(request.headers)}
            async with self._session.post(bot.url, data=text.encode(), headers=headers, allow_redirects=False) as reply:
                response = _response(await reply.text(errors="replace"), reply.status)
                response.headers.update(_evaluation(reply.headers))
                return response
        except (OSError, ClientError):
            if request.transport is not None:
                request.transport.abort()  # as the bot has done
            return _response("the bot is not there", 502)


def _hurried(text: str, bot: Hurried) -> str:
    """START with the clocks that the bot is to be told."""
    message = parse_message(text)
    assert isinstance(message, Start)
    told = Start(message.match, message.role, message.rules, bot.startclock, bot.playclock)
    return format_message(told)


def _evaluation(headers: Mapping[str, str]) -> dict[str, str]:
    """What is passed on beside a message and its answer."""
    return {HEADER: headers[HEADER]} if HEADER in headers else {}


def _response(text: str, status: int = 200) -> web.Response:
    response = web.Response(text=text, status=status, content_type=CONTENT_TYPE)
    response.force_close()
    return response
