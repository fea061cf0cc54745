"""A match that another game master runs, as far as its messages to one person tell."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from gamemaster.events import Began, Ended, Started, Stepped
from gamemaster.record import MatchRecord, PlayerRecord, StartRecord, StepRecord, now
from gamemaster.settings import make_settings
from gamemaster.web.catalogue import roles_of
from gamemaster.web.evaluators import Pool
from gamemaster.web.live import LiveMatch
from gamemaster.web.seats import Choices, Seat
from gamemaster.web.views import SEATS
from ggp.errors import GgpError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import Play, PlayPercepts, Stop, StopPercepts
from ggp.protocol.replies import READY

MOST_MISSED = 100  # steps that were never told

News = Play | PlayPercepts | Stop | StopPercepts
Goals = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Belief:
    """The states that agree with what the person did and was told, as texts; some of them, where not `is_complete`."""

    states: tuple[Sequence[str], ...] = ()
    is_complete: bool = False


@dataclass(slots=True, eq=False)
class Visit:
    """One match; used in the event loop."""

    name: str  # as the game master calls it
    live: LiveMatch
    seat: Seat
    pool: Pool
    seconds: float  # for one question about the rules
    expected_by: float = 0.0  # when the next message should have come, on the loop's clock
    answered: Term | None = None  # the person's last move
    drawing: "asyncio.Task[None] | None" = None
    _state: Facts = field(default_factory=frozenset)  # where every role is told all moves
    _belief: Belief | None = None  # where it is not

    async def begin(self, rulesheet: Rulesheet) -> None:
        """GgpError where the rules cannot be evaluated."""
        self._state = _facts(await self._ask({"do": "situation", "state": None}))
        if self.live.order.has_percepts:
            self._belief = Belief((tuple(map(to_text, self._state)),), is_complete=True)
        self.live.watch(Began(_record(self.live, rulesheet), self._state))
        self.drawing = asyncio.get_running_loop().create_task(self.live.draw())

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
        """Takes over what happened in the last step; goal values when the match is over, as far as they are certain.

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
            situation = await self._ask({"do": "next", "state": list(self._state), "moves": moves})
        except GgpError:
            return {}  # what the game master says makes no sense by its own rules
        self._state = _facts(situation)
        self._step(tuple(map(to_text, moves)), self._state)
        return {role: values[0] if len(values) == 1 else None for role, values in situation.get("goals", {}).items()}

    async def _perceive(self, belief: Belief, news: PlayPercepts | StopPercepts) -> Goals:
        missed = news.turn - len(self.record.steps) - 1
        if missed > MOST_MISSED:
            raise GgpError(f"{missed} steps were never told")
        is_over, is_first = isinstance(news, StopPercepts), news.turn == 0
        if missed < 0 and self.record.start:
            return {}  # told once more
        if is_first:
            self._begin_steps()
        found = await self._believe(Belief() if missed > 0 else belief, news, is_over=is_over)
        self._belief = Belief(tuple(found["states"]), found["is_complete"])
        self.seat.choices = Choices(tuple(found["legal"]), found["is_complete"])
        own = "" if news.last_move is None else to_text(news.last_move)
        while len(self.record.steps) < news.turn:
            is_last = len(self.record.steps) + 1 == news.turn
            self._step(tuple(own if is_last and role == self.seat.role else "" for role in self.record.roles), None)
        if found["goal"] is None:
            return {}
        return {role: found["goal"] if role == self.seat.role else None for role in self.record.roles}

    async def _believe(self, belief: Belief, news: PlayPercepts | StopPercepts, *, is_over: bool) -> Mapping[str, Any]:
        told = None
        if news.turn > 0:
            move = None if news.last_move is None else to_text(news.last_move)
            told = {"move": move, "percepts": list(map(to_text, news.percepts))}
        request = {"states": belief.states, "is_complete": belief.is_complete, "told": told, "is_over": is_over}
        try:
            return await self._ask({"do": "believe", "role": self.seat.role, **request})
        except GgpError:
            return {"states": (), "is_complete": False, "legal": (), "goal": None}

    def _begin_steps(self) -> None:
        """Everybody is ready, since moves are asked for."""
        starts = {role: StartRecord(seconds=0.0, answer=READY) for role in self.record.players}
        self.live.watch(Started(self.record.model_copy(update={"start": starts})))

    def _step(self, moves: tuple[str, ...], state: Facts | None) -> None:
        step = StepRecord(moves=moves, seconds={}, time=now())
        self.live.watch(Stepped(self.record.model_copy(update={"steps": (*self.record.steps, step)}), state))

    async def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self.pool.ask(self.live.order.source, request, self.seconds)
        return answer


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
        players={role: PlayerRecord(name=taker.name, url=SEATS) for role, taker in order.players.items()},
        settings=make_settings(startclock=order.startclock, playclock=order.playclock, seed=0),
        started=now(),
    )


def _facts(situation: Mapping[str, Any]) -> Facts:
    return frozenset(map(_term, situation["state"]))


def _term(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    return value if isinstance(value, str) else tuple(map(_term, value))
