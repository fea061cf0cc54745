"""People who play for other game masters, such as a tournament that runs elsewhere: START and PLAY in, moves out."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gamemaster.match import new_match_name
from gamemaster.web.catalogue import Catalogue, roles_of
from gamemaster.web.evaluators import Pool
from gamemaster.web.feed import Feed
from gamemaster.web.live import LiveMatch, Order
from gamemaster.web.models import Person, Remote, Taker
from gamemaster.web.problems import Problem, refused
from gamemaster.web.seats import SEATS_URL, SPECIES, Seat, Switchboard
from gamemaster.web.settings import Limits
from gamemaster.web.sources import Source
from gamemaster.web.visits import Visit
from ggp.errors import GgpError, MessageError
from ggp.gdl.rulesheet import NATURE, Rulesheet, parse_rulesheet
from ggp.protocol.messages import (
    Abort,
    Info,
    Message,
    Ping,
    Play,
    PlayPercepts,
    Preview,
    Start,
    Stop,
    StopPercepts,
    same_match,
)
from ggp.protocol.replies import ABORTED, AVAILABLE, BUSY, DONE, READY, InfoReply, format_info, parse_move

_STOPPED = "the game master stopped the match"
_PATIENCE = 60.0  # seconds of silence beyond the clock after which another match may begin


@dataclass(slots=True, eq=False)
class Guest:
    """One person at an address of their own; one match at a time."""

    name: str
    pool: Pool
    catalogue: Catalogue
    limits: Limits
    on_match: Callable[[LiveMatch, Seat], None]  # told of each match, so that its seat can be found
    link: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # known to the person only
    line: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # a part of the address
    feed: Feed = field(default_factory=Feed)
    seat: Seat | None = None  # in the last match
    _visit: Visit | None = None

    @property
    def is_busy(self) -> bool:
        visit = self._visit
        return visit is not None and asyncio.get_running_loop().time() < visit.expected_by

    async def answer(self, message: Message) -> str:
        """The reply to a message of a game master."""
        match message:
            case Info():
                return format_info(InfoReply(self.name, BUSY if self.is_busy else AVAILABLE, SPECIES))
            case Ping() | Preview():
                return BUSY if self.is_busy else READY
            case Start():
                return await self._start(message)
            case Play() | PlayPercepts():
                return await self._play(message)
            case Stop() | StopPercepts():
                return await self._stop(message)
            case Abort():
                return await self._abort(message)

    async def leave(self, reason: str) -> None:
        """Ends the match, if there is one, as far as the person is concerned."""
        visit, self._visit = self._visit, None
        if visit is None:
            return
        visit.end({}, reason)
        visit.seat.withdraw()
        visit.live.finish()
        if visit.drawing is not None:
            await asyncio.wait([visit.drawing], timeout=self.limits.look_seconds)
            visit.drawing.cancel()
        visit.live.close()
        self.feed.publish("changed", {})

    def _is_of(self, match: str) -> bool:
        return self._visit is not None and same_match(self._visit.name, match)

    async def _start(self, start: Start) -> str:
        if self.is_busy:
            return BUSY
        await self.leave("another match began")
        try:
            visit = await self._visiting(start)
        except (GgpError, Problem):
            return BUSY  # rules that cannot be read or evaluated, or too many who ask
        self._visit = visit
        if self.seat is not None:
            self.seat.next = f"{SEATS_URL}{visit.seat.link}"
        self.seat = visit.seat
        self.on_match(visit.live, visit.seat)
        self.feed.publish("changed", {})
        return await visit.seat.answer(start)

    async def _visiting(self, start: Start) -> Visit:
        """The match of a START, drawn and ready; GgpError for what cannot be played here."""
        rulesheet = await asyncio.to_thread(parse_rulesheet, start.rules, start.match)
        entry = self.catalogue.recognised(rulesheet)
        order = _order(start, rulesheet, self.name, entry.source if entry else Source("game", start.rules))
        live = LiveMatch(new_match_name("visit"), order, self.pool, self.limits.look_seconds)
        if start.role not in live.seats:
            raise GgpError(f"no role is called {start.role}")
        live.leave = self.leave
        visit = Visit(start.match, live, live.seats[start.role], self.pool, self.limits.look_seconds)
        await visit.begin(rulesheet)
        visit.expected_by = asyncio.get_running_loop().time() + start.startclock + _PATIENCE
        return visit

    async def _play(self, message: Play | PlayPercepts) -> str:
        visit = self._visit
        if visit is None or not self._is_of(message.match):
            return BUSY
        news = visit.with_turn(message)
        try:
            await visit.hear(news)
        except (GgpError, Problem):
            return BUSY  # this cannot be the same match, or too many ask
        visit.expected_by = asyncio.get_running_loop().time() + visit.live.order.playclock + _PATIENCE
        visit.answered = None
        answer = await visit.seat.answer(news)
        if answer != BUSY:
            with suppress(MessageError):
                visit.answered = parse_move(answer)
        return answer

    async def _stop(self, message: Stop | StopPercepts) -> str:
        visit = self._visit
        if visit is None or not self._is_of(message.match):
            return DONE if visit is None else BUSY
        news = visit.with_turn(message)
        goals = {}
        with suppress(GgpError, Problem):
            goals = await visit.hear(news)
            if isinstance(news, StopPercepts):
                await visit.seat.answer(news)
        visit.end(goals, _STOPPED)
        await self.leave(_STOPPED)
        return DONE

    async def _abort(self, message: Abort) -> str:
        if not self._is_of(message.match):
            return BUSY
        await self.leave("the game master gave the match up")
        return ABORTED


def _order(start: Start, rulesheet: Rulesheet, name: str, source: Source) -> Order:
    """The match as if it had been ordered here."""
    own = Person(kind="person", name=name)
    others = Remote(kind="url", url="", name="somebody")
    roles = (role for role in roles_of(rulesheet) if role != NATURE)
    takers: dict[str, Taker] = {role: own if role == start.role else others for role in roles}
    sees = rulesheet.has_percepts
    return Order(source, takers, start.startclock, start.playclock, None, 0, has_percepts=sees, is_guest=True)


class Guests:
    """All who play for others; used in the event loop."""

    def __init__(
        self,
        switchboard: Switchboard,
        pool: Pool,
        catalogue: Catalogue,
        limits: Limits,
        on_match: Callable[[LiveMatch, Seat], None],
    ) -> None:
        self._switchboard = switchboard
        self._pool = pool
        self._catalogue = catalogue
        self._limits = limits
        self._on_match = on_match
        self._guests: dict[str, Guest] = {}

    def get(self, link: str) -> Guest | None:
        return self._guests.get(link)

    def add(self, name: str) -> Guest:
        """A Problem when there are too many."""
        if len(self._guests) >= self._limits.guests:
            raise refused(f"{self._limits.guests} people play for others already, as many as may")
        guest = Guest(name, self._pool, self._catalogue, self._limits, self._on_match)
        self._guests[guest.link] = guest
        self._switchboard.open(guest.line, guest)
        return guest

    def address(self, guest: Guest) -> str:
        """What a game master is to be told; it can be reached from this computer only."""
        return self._switchboard.url(guest.line)

    async def close(self) -> None:
        for guest in self._guests.values():
            await guest.leave("the service was stopped")
            guest.feed.end()
