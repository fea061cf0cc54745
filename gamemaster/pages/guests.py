"""People who play for other game masters, such as a tournament that runs elsewhere: START and PLAY in, moves out."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from gamemaster.events import Began, Ended, Event, Started, Stepped
from gamemaster.match import new_match_name
from gamemaster.pages.catalogue import Catalogue, roles_of
from gamemaster.pages.evaluators import Pool
from gamemaster.pages.feed import Feed
from gamemaster.pages.live import LiveMatch, Order
from gamemaster.pages.models import Person, Remote, Taker
from gamemaster.pages.problems import refused
from gamemaster.pages.seats import SEATS_URL, SPECIES, Seat, Switchboard
from gamemaster.pages.settings import Limits
from gamemaster.pages.sources import Source
from gamemaster.pages.views import SEATS
from gamemaster.record import MatchRecord, PlayerRecord, StartRecord, StepRecord, now
from gamemaster.settings import make_settings
from ggp.errors import GgpError
from ggp.machine import Facts, JointMove
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
from ggp.protocol.replies import ABORTED, AVAILABLE, BUSY, DONE, NO_MOVE, READY, InfoReply, format_info
from ggp.rulesheet import NATURE, Rulesheet, name_and_arity, parse_rulesheet
from ggp.terms import Term, to_text

_PATIENCE = 60.0  # seconds of silence beyond the clock after which another match may begin


@dataclass(slots=True)
class _Visit:
    """A match that another game master runs, as far as its messages tell."""

    name: str  # as the game master calls it
    live: LiveMatch
    seat: Seat
    state: Facts
    drawing: "asyncio.Task[None]"
    expected_by: float  # on the loop's clock


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
    _visit: _Visit | None = None

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
            case Play():
                return await self._play(message)
            case PlayPercepts():
                return NO_MOVE  # nobody here keeps track of a state that is not told
            case Stop():
                return await self._stop(message)
            case StopPercepts() | Abort():
                return await self._abort(message)

    async def leave(self, reason: str) -> None:
        """Ends the match, if there is one, as far as the person is concerned."""
        visit, self._visit = self._visit, None
        if visit is None:
            return
        record = visit.live.record
        assert record is not None
        if record.status == "running":
            ended = {"status": "aborted", "reason": reason, "finished": now()}
            visit.live.watch(Ended(record.model_copy(update=ended)))
        visit.seat.withdraw()
        visit.live.finish()
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
        except GgpError:
            return BUSY  # rules that cannot be read, or that tell the roles different things
        self._visit = visit
        if self.seat is not None:
            self.seat.next = f"{SEATS_URL}{visit.seat.link}"
        self.seat = visit.seat
        self.on_match(visit.live, visit.seat)
        self.feed.publish("changed", {})
        return await visit.seat.answer(start)

    async def _visiting(self, start: Start) -> _Visit:
        """The match of a START, drawn and ready; GgpError for what cannot be played here."""
        rulesheet = await asyncio.to_thread(parse_rulesheet, start.rules, start.match)
        if any(name_and_arity(rule.head)[0] == "sees" for rule in rulesheet.rules):
            raise GgpError("the roles are told different things")
        entry = self.catalogue.recognised(rulesheet)
        order = _order(start, roles_of(rulesheet), self.name, entry.source if entry else Source("game", start.rules))
        live = LiveMatch(new_match_name("visit"), order, self.pool, self.limits.look_seconds)
        if start.role not in live.seats:
            raise GgpError(f"no role is called {start.role}")
        state = _facts(await self._ask(live, {"do": "situation", "state": None}))
        live.leave = self.leave
        live.watch(Began(_record(live, rulesheet), state))
        loop = asyncio.get_running_loop()
        drawing = loop.create_task(live.draw())
        expected_by = loop.time() + start.startclock + _PATIENCE
        return _Visit(start.match, live, live.seats[start.role], state, drawing, expected_by)

    async def _play(self, message: Play) -> str:
        visit = self._visit
        if visit is None or not self._is_of(message.match):
            return BUSY
        await self._hear(visit, message.moves)
        visit.expected_by = asyncio.get_running_loop().time() + visit.live.order.playclock + _PATIENCE
        return await visit.seat.answer(message)

    async def _stop(self, message: Stop) -> str:
        visit = self._visit
        if visit is None or not self._is_of(message.match):
            return DONE if visit is None else BUSY
        situation = await self._hear(visit, message.moves)
        record = visit.live.record
        assert record is not None
        goals = {role: values[0] if len(values) == 1 else None for role, values in situation.get("goals", {}).items()}
        ended = {"status": "terminal", "goals": goals, "finished": now()} if goals else {}
        if ended:
            visit.live.watch(Ended(record.model_copy(update=ended)))
        await self.leave("the game master stopped the match")
        return DONE

    async def _abort(self, message: StopPercepts | Abort) -> str:
        if not self._is_of(message.match):
            return BUSY
        await self.leave("the game master gave the match up")
        return ABORTED if isinstance(message, Abort) else DONE

    async def _hear(self, visit: _Visit, moves: JointMove | None) -> Mapping[str, Any]:
        """Takes over what happened in the last step; the situation after it."""
        live, record = visit.live, visit.live.record
        assert record is not None
        if moves is None:
            starts = {role: StartRecord(seconds=0.0, answer=READY) for role in record.players}
            live.watch(Started(record.model_copy(update={"start": starts})))
            return {}
        try:
            request = {"do": "next", "state": list(visit.state), "moves": moves}
            situation = await self._ask(live, request)
        except GgpError:
            return {}  # what the game master says makes no sense by its own rules
        step = StepRecord(moves=tuple(map(to_text, moves)), seconds={}, time=now())
        visit.state = _facts(situation)
        event: Event = Stepped(record.model_copy(update={"steps": (*record.steps, step)}), visit.state)
        live.watch(event)
        return situation

    async def _ask(self, live: LiveMatch, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self.pool.ask(live.order.source, request, self.limits.look_seconds)
        return answer


def _order(start: Start, roles: tuple[str, ...], name: str, source: Source) -> Order:
    """The match as if it had been ordered here."""
    own = Person(kind="person", name=name)
    others = Remote(kind="url", url="", name="somebody")
    takers: dict[str, Taker] = {role: own if role == start.role else others for role in roles if role != NATURE}
    return Order(source, takers, start.startclock, start.playclock, None, 0, has_percepts=False, is_guest=True)


def _record(live: LiveMatch, rulesheet: Rulesheet) -> MatchRecord:
    """What is known of the match, as a record that is kept nowhere."""
    order = live.order
    return MatchRecord(
        ggp=version("ggp"),
        match=live.id,
        token=secrets.token_hex(16),
        game=order.source.name,
        rulesheet=order.source.text,
        rulesheet_sha256=rulesheet.sha256,
        engine="interpreter",
        roles=roles_of(rulesheet),
        players={role: PlayerRecord(name=taker.name, url=SEATS) for role, taker in order.players.items()},
        settings=make_settings(startclock=order.startclock, playclock=order.playclock, seed=0),
        started=now(),
    )


def _facts(situation: Mapping[str, Any]) -> Facts:
    return frozenset(map(_term, situation["state"]))


def _term(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    return value if isinstance(value, str) else tuple(map(_term, value))


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
