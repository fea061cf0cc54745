"""Humans in matches of other game masters: HTTP endpoints where START and PLAY come in and moves go out."""

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from importlib.metadata import version
from typing import Any

import aiohttp
from aiohttp import web

from gamemaster.evaluator import RulesheetSource
from gamemaster.faults import shown
from gamemaster.match import Began, Ended, Started, Stepped, new_match_name
from gamemaster.record import MatchRecord, PlayerRecord, StartRecord, StepRecord, now
from gamemaster.settings import make_settings
from gamemaster.web.catalogue import Catalogue, roles_of
from gamemaster.web.evaluators.pool import DrawnStates, Pool
from gamemaster.web.live.feed import Feed
from gamemaster.web.live.human import PLAY_URL, SPECIES, HumanChoices, HumanPlayer
from gamemaster.web.live.match import LiveMatch, MatchOrder
from gamemaster.web.models import External, Human, NewPlayer
from gamemaster.web.settings import Limits, Problem, busy
from ggp.errors import GgpError, MessageError, SettingsError
from ggp.gdl.rulesheet import NATURE, Rulesheet, parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import (
    ABORTED,
    AVAILABLE,
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
    is_too_long,
    parse_move,
    read_message,
    same_match,
)

MOST_MISSED = 100  # steps that were never told
News = Play | PlayPercepts | Stop | StopPercepts
Goals = dict[str, int | None]
_STOPPED = "the game master stopped the match"
_GIVEN_UP = "the game master gave the match up"
_MESSAGE_BYTES = 8 * 2**20
_PATIENCE = 60.0  # seconds of silence beyond the clock after which another match may begin


@dataclass(frozen=True, slots=True)
class PossibleStates:
    """The states that agree with what the human did and was told, as texts; some of them, where not `is_complete`."""

    states: tuple[Sequence[str], ...] = ()
    is_complete: bool = False


@dataclass(slots=True, eq=False)
class ExternalMatch:
    """One match; used in the event loop."""

    name: str  # as the game master calls it
    live: LiveMatch
    human: HumanPlayer
    pool: Pool
    seconds: float  # for one question about the rules
    expected_by: float = 0.0  # when the next message should have come, on the loop's clock
    answered: Term | None = None  # the human's last move
    drawing: "asyncio.Task[None] | None" = None
    _belief: PossibleStates | None = None  # where it is not

    async def begin(self, rulesheet: Rulesheet) -> None:
        """GgpError where the rules cannot be evaluated."""
        first = await self._ask({"do": "after", **self.live.course.at(0)})
        if self.live.order.has_percepts:
            self._belief = PossibleStates((tuple(first["facts"]),), is_complete=True)
        self.live.watch(Began(_record(self.live, rulesheet), None))
        self.drawing = asyncio.get_running_loop().create_task(self.live.drawing.run())

    @property
    def record(self) -> MatchRecord:
        record = self.live.record
        assert record is not None
        return record

    def with_turn(self, news: News) -> News:
        """In GDL-II's form of 2011 messages have no turn: each tells a new step, and percepts stand for moves."""
        if self._belief is None or isinstance(news, PlayPercepts | StopPercepts):
            return news
        turn = len(self.record.steps) + 1 if self.record.start else 0
        told = PlayPercepts if isinstance(news, Play) else StopPercepts
        return told(news.match, turn, self.answered, news.moves or ())

    async def hear(self, news: News) -> Goals:
        """Follows the last step; goal values when the match is over, as far as they are certain.

        GgpError where far too much was never told.
        """
        if self._belief is None:
            return await self._follow(_joint_move(news, self.record.roles))
        assert isinstance(news, PlayPercepts | StopPercepts)
        return await self._perceive(self._belief, news)

    def end(self, goals: Goals, reason: str) -> None:
        """The record says how it ended, if it did not before."""
        if self.record.status == "running":
            ended = {"status": "terminal", "goals": goals} if goals else {"status": "aborted", "reason": reason}
            self.live.watch(Ended(self.record.model_copy(update={**ended, "finished": now()})))

    async def _follow(self, moves: Sequence[Term] | None) -> Goals:
        if moves is None:
            self._begin_steps()
            return {}
        try:
            course, executed = self.live.course, tuple(map(to_text, moves))
            after = await self._ask({"do": "after", "match": course.name, "steps": [*course.steps, executed]})
        except GgpError:
            return {}  # what the game master says makes no sense by its own rules
        self._step(executed)
        goals: Goals = after["goals"]
        return goals

    async def _perceive(self, belief: PossibleStates, news: PlayPercepts | StopPercepts) -> Goals:
        missed = news.turn - len(self.record.steps) - 1
        if missed > MOST_MISSED:
            raise GgpError(f"{missed} steps were never told")
        is_over, is_first = isinstance(news, StopPercepts), news.turn == 0
        if missed < 0 and self.record.start:
            return {}  # told once more
        if is_first:
            self._begin_steps()
        found = await self._believe(PossibleStates() if missed > 0 else belief, news, is_over=is_over)
        self._belief = PossibleStates(tuple(found["states"]), found["is_complete"])
        self.human.choices = HumanChoices(tuple(found["legal"]), found["is_complete"])
        own = "" if news.last_move is None else to_text(news.last_move)
        while len(self.record.steps) < news.turn:
            is_last = len(self.record.steps) + 1 == news.turn
            self._step(tuple(own if is_last and role == self.human.role else "" for role in self.record.roles))
        if found["goal"] is None:
            return {}
        return {role: found["goal"] if role == self.human.role else None for role in self.record.roles}

    async def _believe(
        self, belief: PossibleStates, news: PlayPercepts | StopPercepts, *, is_over: bool
    ) -> Mapping[str, Any]:
        told = None
        if news.turn > 0:
            move = None if news.last_move is None else to_text(news.last_move)
            told = {"move": move, "percepts": list(map(to_text, news.percepts))}
        request = {"states": belief.states, "is_complete": belief.is_complete, "told": told, "is_over": is_over}
        try:
            return await self._ask({"do": "believe", "role": self.human.role, **request})
        except GgpError:
            return {"states": (), "is_complete": False, "legal": (), "goal": None}

    def _begin_steps(self) -> None:
        """Everybody is ready, since moves are asked for."""
        starts = {role: StartRecord(seconds=0.0, answer=READY) for role in self.record.players}
        self.live.watch(Started(self.record.model_copy(update={"start": starts})))

    def _step(self, moves: tuple[str, ...]) -> None:
        step = StepRecord(moves=moves, seconds={}, time=now())
        self.live.watch(Stepped(self.record.model_copy(update={"steps": (*self.record.steps, step)}), None))

    async def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self.pool.ask(self.live.order.source, request, self.seconds)
        return answer


@dataclass(slots=True, eq=False)
class Endpoint:
    """The HTTP endpoint of one human, for other game masters; one match at a time."""

    name: str
    pool: Pool
    states: DrawnStates
    catalogue: Catalogue
    limits: Limits
    on_match: Callable[[LiveMatch, HumanPlayer], None]  # told of each match, so that its human can be found
    visitor: str = ""  # who asked for it
    link: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # known to the human only
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(18))  # a part of the address, for game masters
    used: float = 0.0  # when a message came or the page was asked for, on the loop's clock
    feed: Feed = field(default_factory=Feed)
    human: HumanPlayer | None = None  # in the last match
    _external: ExternalMatch | None = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)  # of two START at once one is busy
    _awaited: str | None = None  # the match of the START that is worked on, as long as it is wanted

    @property
    def is_busy(self) -> bool:
        external = self._external
        return external is not None and asyncio.get_running_loop().time() < external.expected_by

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
        """Ends the match, if there is one, for the human."""
        external, self._external = self._external, None
        if external is None:
            return
        external.end({}, reason)
        external.human.withdraw()
        external.live.finish()
        if external.drawing is not None:
            await asyncio.wait([external.drawing], timeout=self.limits.state_seconds)
            external.drawing.cancel()
        external.live.close()
        self.feed.publish("changed", {})

    def _is_of(self, match: str) -> bool:
        return self._external is not None and same_match(self._external.name, match)

    async def _start(self, start: Start) -> str:
        async with self._starting:
            if self.is_busy:
                return BUSY
            await self.leave("another match began")
            self._awaited = start.match
            try:
                external = await self._new_match(start)
            except (GgpError, Problem):
                return BUSY  # rules that cannot be read or evaluated, or too many who ask
            finally:
                is_wanted, self._awaited = self._awaited is not None, None
            self._external = external
            if not is_wanted:
                await self.leave(_GIVEN_UP)
                return BUSY
        if self.human is not None:
            self.human.next = f"{PLAY_URL}{external.human.link}"
        self.human = external.human
        self.on_match(external.live, external.human)
        self.feed.publish("changed", {})
        return await external.human.answer(start)

    async def _new_match(self, start: Start) -> ExternalMatch:
        """The match of a START, drawn and ready; GgpError for what cannot be played here."""
        rulesheet = await asyncio.to_thread(parse_rulesheet, start.rules, start.match)
        entry = self.catalogue.recognised(rulesheet)
        order = _order(start, rulesheet, self.name, entry.source if entry else RulesheetSource("game", start.rules))
        live = LiveMatch(new_match_name("external"), order, self.pool, self.states, self.limits.state_seconds)
        if start.role not in live.humans:
            raise GgpError(f"no role is called {start.role}")
        live.leave = self.leave
        external = ExternalMatch(start.match, live, live.humans[start.role], self.pool, self.limits.state_seconds)
        await external.begin(rulesheet)
        external.expected_by = asyncio.get_running_loop().time() + start.startclock + _PATIENCE
        return external

    async def _play(self, message: Play | PlayPercepts) -> str:
        external = self._external
        if external is None or not self._is_of(message.match):
            return BUSY
        news = external.with_turn(message)
        try:
            await external.hear(news)
        except (GgpError, Problem):
            return BUSY  # this cannot be the same match, or too many ask
        external.expected_by = asyncio.get_running_loop().time() + external.live.order.playclock + _PATIENCE
        external.answered = None
        answer = await external.human.answer(news)
        if answer != BUSY:
            with suppress(MessageError):
                external.answered = parse_move(answer)
        return answer

    async def _stop(self, message: Stop | StopPercepts) -> str:
        external = self._external
        if external is None or not self._is_of(message.match):
            return DONE if self._ends_before_it_begins(message.match) or external is None else BUSY
        news = external.with_turn(message)
        goals = {}
        with suppress(GgpError, Problem):
            goals = await external.hear(news)
            if isinstance(news, StopPercepts):
                await external.human.answer(news)
        external.end(goals, _STOPPED)
        await self.leave(_STOPPED)
        return DONE

    async def _abort(self, message: Abort) -> str:
        if self._ends_before_it_begins(message.match):
            return ABORTED
        if not self._is_of(message.match):
            return BUSY
        await self.leave(_GIVEN_UP)
        return ABORTED

    def _ends_before_it_begins(self, match: str) -> bool:
        """Whether its START is still worked on, which then leaves it."""
        if self._awaited is None or not same_match(self._awaited, match):
            return False
        self._awaited = None
        return True


def _order(start: Start, rulesheet: Rulesheet, name: str, source: RulesheetSource) -> MatchOrder:
    """The match as if it had been ordered here."""
    own = Human(kind="human", name=name)
    others = External(kind="external", url="", name="somebody")
    roles = (role for role in roles_of(rulesheet) if role != NATURE)
    players: dict[str, NewPlayer] = {role: own if role == start.role else others for role in roles}
    sees = rulesheet.has_percepts
    return MatchOrder(source, players, start.startclock, start.playclock, None, 0, has_percepts=sees, is_external=True)


class Endpoints:
    """The HTTP endpoints of all humans who play for other game masters; used in the event loop.

    They are served on a loopback port of their own, so that game masters on this computer reach nothing else there.
    """

    def __init__(
        self,
        pool: Pool,
        states: DrawnStates,
        catalogue: Catalogue,
        limits: Limits,
        on_match: Callable[[LiveMatch, HumanPlayer], None],
    ) -> None:
        self._pool = pool
        self._states = states
        self._catalogue = catalogue
        self._limits = limits
        self._on_match = on_match
        self._endpoints: dict[str, Endpoint] = {}  # by the human's secret link
        self._port = 0

    async def listen(self, port: int) -> web.AppRunner:
        """Serves the endpoints until the result is cleaned up; port 0 is any free one. SettingsError if it is taken."""
        app = web.Application(client_max_size=_MESSAGE_BYTES)
        app.router.add_post("/{secret}/", self._serve)
        server = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await server.setup()
        try:
            await web.TCPSite(server, "127.0.0.1", port).start()
        except OSError as error:
            await server.cleanup()
            raise SettingsError(f"--endpoint-port {port}: {error.strerror or error}") from None
        self._port = server.addresses[0][1]
        return server

    def get(self, link: str) -> Endpoint | None:
        endpoint = self._endpoints.get(link)
        if endpoint is not None:
            endpoint.used = _time()
        return endpoint

    async def add(self, name: str, visitor: str = "") -> Endpoint:
        """A new endpoint; at a limit it replaces the idle one unused for longest. A Problem if none is idle.

        visitor: who asks for it; "" has no share.
        """
        limits, all_of_them = self._limits, list(self._endpoints.values())
        own = [one for one in all_of_them if visitor and one.visitor == visitor]
        if len(own) >= limits.visitor_endpoints:
            await self._remove_idle(own, f"{len(own)} endpoints that you asked for are in use, as many as may be")
        elif len(all_of_them) >= limits.endpoints:
            await self._remove_idle(all_of_them, f"{len(all_of_them)} endpoints are in use, as many as may be")
        endpoint = Endpoint(
            name, self._pool, self._states, self._catalogue, self._limits, self._on_match, visitor, used=_time()
        )
        self._endpoints[endpoint.link] = endpoint
        return endpoint

    def address(self, endpoint: Endpoint) -> str:
        """What a game master is to be told; it can be reached from this computer only."""
        return f"http://127.0.0.1:{self._port}/{endpoint.secret}/"

    async def close(self) -> None:
        for endpoint in self._endpoints.values():
            await endpoint.leave("the service was stopped")
            endpoint.feed.end()

    async def _remove_idle(self, endpoints: Collection[Endpoint], problem: str) -> None:
        """Remove the idle one unused for longest: without a match, an open page, or use for `endpoint_seconds`."""
        since = _time() - self._limits.endpoint_seconds
        idle = [one for one in endpoints if not one.is_busy and not one.feed.listeners]
        oldest = min(idle, key=lambda one: one.used, default=None)
        if oldest is None or oldest.used > since:
            raise busy(f"{problem}; try again later", 10.0)
        del self._endpoints[oldest.link]
        await oldest.leave("the endpoint was removed")
        oldest.feed.end()

    async def _serve(self, request: web.Request) -> web.Response:
        secret = request.match_info["secret"].encode(errors="surrogateescape")
        known = (one for one in self._endpoints.values() if compare_digest(one.secret.encode(), secret))
        endpoint = next(known, None)
        if endpoint is None:
            return _response("no such player", 404)
        endpoint.used = _time()
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                body = await request.read()
            if is_too_long(body):
                return _response("the message is too long", 413)
            message = read_message(body)
        except TimeoutError:
            return _response("the message did not arrive in time", 408)
        except (MessageError, web.RequestPayloadError, aiohttp.ClientPayloadError) as error:
            return _response(shown(str(error)), 400)
        return _response(await endpoint.answer(message))


def _response(text: str, status: int = 200) -> web.Response:
    response = web.Response(text=text, status=status, content_type=CONTENT_TYPE)
    response.force_close()
    return response


def _time() -> float:
    return asyncio.get_running_loop().time()


def _joint_move(news: News, roles: Sequence[str]) -> Sequence[Term] | None:
    """Where every role is told all moves, percepts are these: in the order of the roles, or as `(does ROLE MOVE)`."""
    told = news.moves if isinstance(news, Play | Stop) else news.percepts if news.turn > 0 else None
    done = {term[1]: term[2] for term in told or () if len(term) == 3 and term[0] == "does"}
    return [done[role] for role in roles] if done.keys() == set(roles) else told


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
        players={role: PlayerRecord(name=player.name, kind=player.kind) for role, player in order.players.items()},
        settings=make_settings(startclock=order.startclock, playclock=order.playclock, seed=0),
        started=now(),
    )
