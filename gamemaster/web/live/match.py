"""A match that is played here, as spectators see it: what happens → states, pictures and events."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gamemaster.evaluator import RulesheetSource
from gamemaster.match import Began, Ended, Event, Started, Stepped
from gamemaster.player import host_of
from gamemaster.record import MatchRecord, now
from gamemaster.verdicts import time_left
from gamemaster.web.evaluators.derivation import RulesheetOrigin
from gamemaster.web.evaluators.pool import Course, DrawnStates, Evaluates
from gamemaster.web.live.feed import Feed
from gamemaster.web.live.human import Asked, HumanPlayer
from gamemaster.web.models import Bot, Human, Match, MatchHead, Move, NewPlayer, Origin, Player, State, Status, Ticking
from gamemaster.web.settings import Problem
from gamemaster.web.views import (
    OVER,
    Sight,
    Viewer,
    head_of,
    hides_moves,
    links_of,
    match_of,
    match_url,
    step_of,
    visible,
)
from ggp.errors import EvaluationError, GgpError


@dataclass(frozen=True, slots=True)
class MatchOrder:
    """A match that somebody wants to be played."""

    source: RulesheetSource = field(repr=False)
    players: Mapping[str, NewPlayer]
    startclock: int
    playclock: int
    think: int | None  # seconds that bots take for a move at most in a match with humans; None: as the clock says
    seed: int
    has_percepts: bool
    origin: RulesheetOrigin | None = None
    visitor: str = ""  # who ordered it; nobody in particular where it is the operator
    is_external: bool = False  # whether another game master runs the match
    increment: int | None = None  # humans have playclock for all moves together, and so many seconds more with each

    @property
    def has_humans(self) -> bool:
        return any(isinstance(player, Human) for player in self.players.values())

    @property
    def bots(self) -> dict[str, Bot]:
        return {role: player for role, player in self.players.items() if isinstance(player, Bot)}

    @property
    def bot_clocks(self) -> tuple[int, int] | None:
        """Shorter startclock and playclock that bots keep, so that humans need not wait; None for those of the match.

        They do not ponder then, either: a human may take long.
        """
        if self.think is None or not self.has_humans or self.think >= self.playclock:
            return None
        return min(self.startclock, self.think), self.think


class LiveMatch:
    """What is known of one match, from the moment when it was ordered; used in the event loop."""

    def __init__(
        self, name: str, order: MatchOrder, evaluator: Evaluates, states: DrawnStates, state_seconds: float
    ) -> None:
        """`evaluator` is asked about the rules for those who play, who do not wait for those who watch."""
        self.id = name
        self.key = secrets.token_urlsafe(18)  # known to the visitor who ordered the match, and may end it
        self.order = order
        self.questions = Questions(self)
        self.humans = self.questions.humans
        self.feeds = MatchFeeds(self.humans.values())
        self.record: MatchRecord | None = None  # as everybody may see it who may see the moves
        self.ending = ""  # why it was given up before there was a record
        self.failure = ""  # why it could not be played
        self.is_over = False
        self.record_bytes = 0  # roughly
        self.excess = ""  # why it has to be given up
        self.leave: Callable[[str], Awaitable[None]] | None = None  # ends it, where another game master runs it
        self.evaluator = evaluator
        self.states = states
        self._state_seconds = state_seconds
        self._ordered = now()
        self.drawing = StatePictures(self, state_seconds)
        self._clock: tuple[float, float] | None = None  # when it runs out on the loop's clock, and its length

    @property
    def course(self) -> Course:
        """The moves so far."""
        return Course(self.id, self.order.source, [step.moves for step in self.record.steps] if self.record else ())

    async def draw_state(self, step: int) -> State:
        """For those who play; a Problem where there is no such state, GgpError where the rules fail."""
        return await self.states.draw(self, self.course, step, self._state_seconds)

    async def ask(self, source: RulesheetSource | None, request: Mapping[str, Any], seconds: float) -> Any:  # noqa: ANN401 - any JSON
        """As `Evaluator.ask`; once more if the match, and its process with it, ended meanwhile."""
        asked = self.evaluator
        try:
            return await asked.ask(source, request, seconds)
        except EvaluationError:
            if self.evaluator is asked:
                raise
        return await self.evaluator.ask(source, request, seconds)

    @property
    def step(self) -> int:
        """How many steps have been executed."""
        return 0 if self.record is None else len(self.record.steps)

    @property
    def has_ended(self) -> bool:
        """Whether the record is complete."""
        return self.record is not None and self.record.status != "running"

    @property
    def is_hidden(self) -> bool:
        """Whether states and moves are kept from spectators: they would tell too much, or nobody here knows them."""
        kinds = [player.kind for player in self.order.players.values()]
        is_kept = not self.is_over or self.order.is_external
        return is_kept and hides_moves(has_percepts=self.order.has_percepts, kinds=kinds)

    def sight(self, viewer: Viewer) -> Sight:
        """What somebody may see of the match now."""
        goes_on = not self.is_over
        return Sight(goes_on, hides_moves=self.is_hidden, hides_evaluations=goes_on and viewer.takes_part)

    @property
    def status(self) -> Status:
        if self.failure:
            return "failed"
        return "preparing" if self.record is None else self.record.status

    @property
    def head(self) -> MatchHead:
        if self.record is not None:
            head = head_of(self.record, self.id, is_live=True)
            return head.model_copy(update={"status": self.status, "reason": self.failure or head.reason})
        return MatchHead(
            id=self.id,
            game=self.order.source.name,
            tournament="",
            status=self.status,
            reason=self.failure or None,
            resigned=None,
            players={role: _player(player) for role, player in self.order.players.items()},
            goals=None,
            steps=0,
            faults=0,
            started=self._ordered,
            finished=None,
            url=match_url(self.id),
        )

    @property
    def clock(self) -> Ticking:
        if self.is_over or (self.record is not None and self.record.status != "running"):
            return OVER
        phase = "preparing" if self._clock is None else "step" if self.record and self.record.start else "start"
        remaining = total = None
        if self._clock is not None:
            remaining = max(0.0, self._clock[0] - asyncio.get_running_loop().time())
            total = self._clock[1]
        waiting = self.questions.waiting(phase)
        passed = 0.0 if total is None or remaining is None or phase != "step" else total - remaining
        left = {
            role: max(0.0, seconds - (passed if role in waiting else 0.0)) for role, seconds in self._left().items()
        }
        return Ticking(phase=phase, step=self.step, remaining=remaining, total=total, waiting=waiting, left=left)

    def match(self, viewer: Viewer, *, first: int = 0) -> Match:
        """As somebody may see it."""
        goes_on, sight = not self.is_over, self.sight(viewer)
        can_end = goes_on and viewer.may_end and not self.order.is_external
        if self.record is not None:
            return match_of(self.record, self.head, sight, self.clock, first=first, can_end=can_end)
        order = self.order
        return Match(
            **dict(self.head),
            roles=tuple(order.players),
            startclock=order.startclock,
            playclock=order.playclock,
            increment=order.increment,
            seed=None if goes_on or sight.hides_moves else order.seed,
            scramble=False,
            engine="",
            origin=None if order.origin is None else Origin(match=order.origin.match, step=order.origin.step),
            start={},
            joint_moves=(),
            is_live=goes_on,
            is_hidden=sight.hides_moves,
            clock=self.clock,
            links=links_of(self.id, self.order.source.name, can_end=can_end),
        )

    def watch(self, event: Event) -> None:
        """Told by the game master, which must not be kept waiting."""
        settings = event.record.settings
        self.record = visible(event.record, Sight(goes_on=event.record.status == "running"))
        match event:
            case Began():
                self._start_clock(settings.startclock)
                self.drawing.add(0)
            case Started():
                self._start_clock(self._step_seconds())
                self.feeds.publish("start", _told(self))
            case Stepped():
                self._start_clock(self._step_seconds())
                self.drawing.add(self.step)
            case Ended():
                pass

    def finish(self, failure: str = "") -> None:
        """Nothing more will happen."""
        self.failure = failure
        self.is_over = True
        self._clock = None
        self.drawing.finish()

    def close(self) -> None:
        """Ends all streams of events."""
        self.questions.close()
        self.feeds.end(_told(self))

    def _left(self) -> dict[str, float]:
        """Human role → seconds for all further moves, at the beginning of the step."""
        record = self.record
        found = {} if record is None else {role: time_left(record, role) for role in self.humans}
        return {role: left for role, left in found.items() if left is not None}

    def _step_seconds(self) -> float:
        """As long as the step may take; who shares the match with humans is done before these."""
        assert self.record is not None
        return max(self._left().values(), default=self.record.settings.playclock)

    def _start_clock(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time() + seconds, seconds


class MatchFeeds:
    """Tells what happens in a match: spectators, those who take part, and each human that there is something new."""

    def __init__(self, humans: Collection[HumanPlayer]) -> None:
        self.spectators = Feed()
        self.players = Feed() if humans else self.spectators  # without evaluations until the end
        self._humans = humans

    def publish(
        self, kind: str, data: Mapping[str, object], to_players: Mapping[str, object] | None = None, **texts: str
    ) -> None:
        """Tells all; `to_players` is for those who take part, where they are told something else."""
        self.spectators.publish(kind, data, **texts)
        if self.players is not self.spectators:
            self.players.publish(kind, data if to_players is None else to_players, **texts)
        if kind != "clock":
            for human in self._humans:
                human.feed.publish("changed", {})

    def end(self, last: Mapping[str, object]) -> None:
        """Tells how it ended; nothing more will come."""
        self.publish("end", last)
        for feed in (self.spectators, self.players, *(human.feed for human in self._humans)):
            feed.end()


class StatePictures:
    """Draws the states of a match, one after the other, and tells each when it is there."""

    def __init__(self, live: LiveMatch, seconds: float) -> None:
        """seconds: for one state."""
        self._live = live
        self._seconds = seconds
        self._undrawn: asyncio.Queue[int | None] = asyncio.Queue()

    def add(self, step: int) -> None:
        self._undrawn.put_nowait(step)

    def finish(self) -> None:
        """No more will be added."""
        self._undrawn.put_nowait(None)

    async def run(self) -> None:
        """Returns when all has been told."""
        live = self._live
        while (step := await self._undrawn.get()) is not None:
            try:
                told = None if live.is_hidden else await self._drawn(step)
            except (GgpError, Problem):
                told = None  # those who watch can ask for it again; the match goes on
            self._tell(step, told)

    async def _drawn(self, step: int) -> str:
        live = self._live
        return (await live.states.drawn(live, live.course, step, self._seconds)).text

    def _tell(self, step: int, state: str | None) -> None:
        live = self._live
        assert live.record is not None
        executed = step_of(live.record, step - 1) if step and not live.is_hidden else None
        told = _told(live) | {"number": step, "step": None if executed is None else executed.model_dump(mode="json")}
        if step != live.step and not live.is_over:
            told["clock"] = None
        to_players = told
        if executed is not None and executed.evaluations:
            to_players = told | {"step": executed.model_copy(update={"evaluations": {}}).model_dump(mode="json")}
        live.feeds.publish("step", told, to_players, state=state or "null")


class Questions:
    """The humans of a match: what they are asked, and for whom the match waits."""

    def __init__(self, live: LiveMatch) -> None:
        self._live = live
        self.humans: dict[str, HumanPlayer] = {
            role: HumanPlayer(role, player.name or "you", self._on_asked, self._on_change)
            for role, player in live.order.players.items()
            if isinstance(player, Human)
        }
        self._tasks: set[asyncio.Task[None]] = set()

    async def choices(self, human: HumanPlayer, step: int) -> tuple[Move, ...]:
        """The legal moves of a human, none where they are not known; without clicks where no board is shown."""
        if human.choices is not None:
            return tuple(Move(move=move, clicks=()) for move in human.choices.moves)
        try:
            moves = (await self._live.draw_state(step)).legal.get(human.role, ())
        except (GgpError, Problem):
            return ()
        return tuple(Move(move=one.move, clicks=()) for one in moves) if self._live.is_hidden else moves

    def absent(self, seconds: float) -> str | None:
        """The role of a human who holds the match up, and was away for longer than this."""
        for role, human in self.humans.items():
            is_awaited = human.wanted is not None or (self._live.clock.phase == "start" and not human.arrived.is_set())
            if is_awaited and human.away() > seconds:
                return role
        return None

    def waiting(self, phase: str) -> tuple[str, ...]:
        """The roles that have not answered, and have something to decide, as far as either is known."""
        return tuple(
            role for role in self._live.order.players if not self._has_answered(role, phase) and self._can_choose(role)
        )

    def close(self) -> None:
        """Nothing is asked any more."""
        for task in self._tasks:
            task.cancel()

    def _has_answered(self, role: str, phase: str) -> bool:
        """Known for humans only."""
        human = self.humans.get(role)
        if human is None or phase == "preparing":
            return False
        return human.arrived.is_set() if phase == "start" else human.asked is None or human.asked.move.done()

    def _can_choose(self, role: str) -> bool:
        """Whether the role has to decide anything in this step, as far as that is known."""
        live = self._live
        look = None if live.is_hidden else live.states.known(live.course, live.step)
        return look is None or live.record is None or not live.record.start or len(look.legal.get(role, ())) != 1

    def _on_change(self, human: HumanPlayer) -> None:
        """A move is wanted, or is no longer."""
        live = self._live
        if not live.is_over:
            live.feeds.publish("clock", live.clock.model_dump(mode="json"))
        human.feed.publish("changed", {})

    def _on_asked(self, human: HumanPlayer, asked: Asked) -> None:
        task = asyncio.get_running_loop().create_task(self._pass_on(human, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, human: HumanPlayer, asked: Asked) -> None:
        """Asks the human, unless there is nothing to choose: the only move is a bare name, and others move."""
        moves = await self.choices(human, asked.step)
        is_sure = human.choices is None or human.choices.is_complete
        if is_sure and len(moves) == 1 and not moves[0].move.startswith("(") and len(self._live.order.players) > 1:
            human.choose(asked.step, moves[0].move)
        else:
            asked.is_open = True
            self._on_change(human)


def _told(live: LiveMatch) -> dict[str, object]:
    """What every event says."""
    return {"match": live.head.model_dump(mode="json"), "clock": live.clock.model_dump(mode="json")}


def _player(player: NewPlayer) -> Player:
    match player:
        case Human(name=name):
            return Player(name=name or "you", kind="human")
        case Bot(name=name, bot=bot):
            return Player(name=name or bot, kind="bot", bot=bot)
        case _:
            return Player(name=player.name or host_of(player.url), kind="external")
