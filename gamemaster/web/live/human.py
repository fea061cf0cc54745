"""A human in a match: a player in this process that answers when the person in the browser has moved."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from gamemaster.player import TellEvaluation
from gamemaster.web.live.feed import Feed
from ggp.gdl.terms import to_text
from ggp.protocol.messages import (
    ABORTED,
    BUSY,
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
)

PLAY_URL = "/play/"  # how the path of the human's page begins
SPECIES = "human"


@dataclass(slots=True)
class Asked:
    """A move that is wanted."""

    step: int
    move: asyncio.Future[str]
    is_open: bool = False  # whether the human is asked; not where there is nothing to choose


@dataclass(frozen=True, slots=True)
class HumanChoices:
    """The moves of a human in a state that is not known."""

    moves: tuple[str, ...]
    is_complete: bool  # False where other moves may be legal, too


@dataclass(slots=True, eq=False)
class HumanPlayer:
    """One human in one match, as `gamemaster.player.LocalPlayer`; used in the event loop."""

    role: str
    name: str
    on_asked: Callable[["HumanPlayer", Asked], None]  # told when the game master asks for a move
    on_change: Callable[["HumanPlayer"], None]  # told when no move is wanted any more
    link: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # known to the human only
    feed: Feed = field(default_factory=Feed)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # the page was opened
    asked: Asked | None = None
    percepts: list[tuple[str, ...]] = field(default_factory=list)  # after each step, as in GDL-II
    own_moves: list[str] = field(default_factory=list)  # in each step, where percepts are told; empty where not known
    choices: HumanChoices | None = None  # where the service does not know the state either
    next: str | None = None  # the link of the human in the match that followed
    undoing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a move is taken back
    _steps: int = 0
    _seen: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    async def answer(self, message: Message, *, tell: "TellEvaluation | None" = None) -> str:  # noqa: ARG002
        """The reply to a message of the game master; to PLAY when the human has moved, who is not asked for a value."""
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

    def be_seen(self) -> None:
        """A sign of life of the person, or the moment from which one is waited for."""
        self._seen = asyncio.get_running_loop().time()

    def away(self) -> float:
        """Seconds without an open page, or any other sign of life."""
        if self.feed.listeners:
            self.be_seen()
        return asyncio.get_running_loop().time() - self._seen

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
        self.be_seen()
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
