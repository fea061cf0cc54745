"""A match: rules and players in, a record out; what happens on the way is told to a listener."""

import asyncio
import logging
import re
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

from gamemaster.concurrency import all_of
from gamemaster.faults import Fault, make_fault, shown
from gamemaster.player import Player, as_name, host_of
from gamemaster.record import (
    Keep,
    MatchRecord,
    PlayerRecord,
    StartRecord,
    StepRecord,
    now,
)
from gamemaster.referee import Executed, GoesOn, Outcome, RefereedGame, Rules
from gamemaster.settings import MatchSettings, derived
from gamemaster.transport import LastStep, MessageCodec, Reply, Session, Transport, make_transport, open_session
from gamemaster.verdicts import decides, time_left, verdict_of
from ggp.errors import MessageError, ReadError
from ggp.gdl.reader import read
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import to_text
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Info, Message, parse_info
from ggp.protocol.scramble import Scrambler

if TYPE_CHECKING:
    from ggp.boards import TextLine

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Began:
    """START is about to be sent."""

    record: MatchRecord
    state: Facts | None  # None where the rules were not asked for it
    picture: "tuple[TextLine, ...] | None" = None  # likewise


@dataclass(frozen=True, slots=True)
class Started:
    """All players have answered START, or have run out of time."""

    record: MatchRecord


@dataclass(frozen=True, slots=True)
class Stepped:
    """The last step of the record was executed; no state where the rules give none, or were not asked for it."""

    record: MatchRecord
    state: Facts | None
    picture: "tuple[TextLine, ...] | None" = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The record is complete; the players are about to be told."""

    record: MatchRecord


Event: TypeAlias = Began | Started | Stepped | Ended
Listener: TypeAlias = Callable[[Event], None]


def new_match_name(game: str) -> str:
    """A name that no other match has, one word of the protocol, such as `tictactoe-20260131-174500-1f3a`.

    Players are told it: give it no name of a game that they are not to recognise.
    """
    words = re.sub(r"[^a-z0-9]+", "-", game.lower()).strip("-") or "match"
    return f"{words}-{now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


async def run_match(
    rules: Rules, players: Mapping[str, Player], settings: MatchSettings, name: str, keep: Keep, listen: Listener
) -> MatchRecord:
    """The record of a whole match; as `MatchRunner`, for those who never give a match up but by cancelling."""
    return await MatchRunner(rules, players, settings, name, keep, listen).run()


class MatchRunner:
    """Runs one match, once; `players` has one for every role but `random`.

    `keep` is called in a thread with the record before START and whenever it has grown, `listen` in the event loop.
    """

    def __init__(
        self,
        rules: Rules,
        players: Mapping[str, Player],
        settings: MatchSettings,
        name: str,
        keep: Keep,
        listen: Listener,
    ) -> None:
        self._rules = rules
        self._game = rules.game
        self._players = dict(players)
        self._settings = settings
        self._keep = keep
        self._listen = listen
        self._record = _new_record(rules.game, players, settings, name)
        self._codecs = {role: self._codec(role) for role in players}
        self._transports: Mapping[str, Transport] = {}
        self._last: Executed | None = None
        self._unread: set[str] = set()  # roles whose evaluations could not be read, which has been logged
        self._saving: asyncio.Task[None] | None = None
        self._task: asyncio.Task[object] | None = None  # that runs the match
        self._given_up: tuple[str, str | None] | None = None  # the reason, and the role that resigned

    async def run(self) -> MatchRecord:
        """The record of the whole match, or of as much as there was when it was given up.

        If this is cancelled, or `keep` or `listen` fails, the record ends as aborted and the players are told ABORT.
        """
        self._task = asyncio.current_task()
        try:
            async with open_session() as session:
                await self._run(session)
        except asyncio.CancelledError:
            assert self._task is not None
            if self._given_up is None or self._task.uncancel() > 0:
                raise
        return self._record

    def give_up(self, reason: str, resigned: str | None = None) -> None:
        """Ends the match with this reason in its record; `resigned` is the role whose player wanted that.

        `run` returns as soon as the players have been told. Nothing happens when the match is over.
        """
        if self._given_up is None and self._task is not None and self._record.status == "running":
            self._given_up = reason, resigned
            self._task.cancel()

    async def _run(self, session: Session) -> None:
        dismissed = False
        try:
            self._transports = self._reached(session)
            await self._ask_names()
            self._transports = self._reached(session)  # over HTTP players are called by their names
            situation = await self._rules.begin(self._settings)
            await self._save()
            if isinstance(situation, GoesOn):
                self._listen(Began(self._record, situation.state, situation.picture))
                situation = await self._start(situation)
            while isinstance(situation, GoesOn):
                situation = await self._step(situation)
            await self._end(situation)
            await self._dismiss()
            dismissed = True
        finally:
            if not dismissed:
                await self._abandon()

    def _reached(self, session: Session) -> dict[str, Transport]:
        limit = self._settings.max_answer_bytes
        return {role: make_transport(session, player, limit) for role, player in self._players.items()}

    async def _ask_names(self) -> None:
        """Players without a name get the one that they give, or their host and port: many do not answer INFO."""
        nameless = {role: Info() for role, player in self._players.items() if not player.name}
        replies = await self._ask(nameless, self._settings.info_wait)
        for role, reply in replies.items():
            player = self._players[role]
            self._players[role] = replace(player, name=_name(reply.answer) or host_of(player.url) or role)
        names = _told_apart({role: self._players[role].name for role in self._record.players})
        known = {role: played.model_copy(update={"name": names[role]}) for role, played in self._record.players.items()}
        self._grow(players=known, started=now())

    async def _start(self, choice: GoesOn) -> GoesOn | Outcome:
        """START; a match with a player that had no connection by then is void."""
        settings, rulesheet = self._settings, self._game.rulesheet
        starts = {
            role: codec.start(rulesheet, settings.startclock, settings.playclock)
            for role, codec in self._codecs.items()
        }
        replies = await self._ask(starts, settings.startclock + settings.grace, settings.start_retry)
        self._grow(start={role: _start_record(reply) for role, reply in replies.items()})
        await self._save()
        self._listen(Started(self._record))
        absent = tuple(role for role, start in self._record.start.items() if _is_absent(start))
        if not absent:
            return choice
        self._grow(absent=absent)
        return Outcome("void", f"the player of {' and that of '.join(absent)} was never reached", choice.state, None)

    async def _step(self, choice: GoesOn) -> GoesOn | Outcome:
        plays = {role: codec.play(choice.step, self._last_step(role)) for role, codec in self._codecs.items()}
        replies = await self._ask(plays, self._allowed, self._settings.start_retry, wants_evaluations=True)
        answers = {role: self._codecs[role].move(reply.answer) for role, reply in replies.items()}
        said = {role: reply.evaluation for role, reply in replies.items() if reply.evaluation is not None}
        executed, situation = await self._rules.execute(answers)
        if executed is None:
            assert isinstance(situation, Outcome)
            return situation
        self._last = executed
        step = StepRecord(
            moves=tuple(map(to_text, executed.joint_move)),
            seconds={role: _rounded(reply.seconds) for role, reply in replies.items()},
            faults=dict(executed.faults),
            time=now(),
            evaluations=self._evaluations(said),
        )
        self._grow(steps=(*self._record.steps, step))
        await self._save()
        self._listen(Stepped(self._record, situation.state, situation.picture))
        verdict = verdict_of(self._record)
        ending = None if isinstance(situation, GoesOn) else situation.ending
        if verdict is None or not decides(verdict, ending):
            return situation
        outcome = await self._rules.conclude(verdict)
        if outcome.ending == "forfeit":
            self._grow(forfeited=verdict.lost)
        return outcome

    def _allowed(self, role: str) -> float:
        """Seconds for a move."""
        left = time_left(self._record, role)
        clock = self._settings.playclock if left is None else min(left, self._settings.playclock)
        return clock + self._settings.grace

    async def _end(self, outcome: Outcome) -> None:
        ended = {"status": outcome.ending, "reason": outcome.reason, "goals": outcome.goals}
        self._grow(**ended, is_exhausted=outcome.is_exhausted, finished=now())
        await self._save()
        self._listen(Ended(self._record))

    async def _dismiss(self) -> None:
        """Tells the players that the match has ended; what they answer changes nothing."""
        if not self._record.start:
            return  # no player has heard of the match
        if self._last is None or self._record.status == "broken":
            await self._abort()
            return
        steps = len(self._record.steps)
        stops = {role: codec.stop(steps, self._last_step(role)) for role, codec in self._codecs.items()}
        await self._ask(stops, self._settings.playclock + self._settings.grace)

    async def _abandon(self) -> None:
        """Ends the record, if it has not ended, and tells the players ABORT."""
        try:
            if self._record.status == "running":
                reason, resigned = self._given_up or ("the game master gave the match up", None)
                self._grow(status="aborted", reason=reason, resigned=resigned, finished=now())
                await self._save()
                self._listen(Ended(self._record))
        finally:
            await self._abort()

    async def _abort(self) -> None:
        await self._ask({role: codec.abort() for role, codec in self._codecs.items()}, self._settings.abort_wait)

    async def _ask(
        self,
        messages: Mapping[str, Message],
        allowed: float | Callable[[str], float],
        retry: float | None = None,
        *,
        wants_evaluations: bool = False,
    ) -> dict[str, Reply]:
        """Role → reply, all asked at once; each has its own clock, and no answer or failure touches another's.

        allowed: seconds, for all or by role.
        """

        def ask(role: str, message: Message) -> Coroutine[Any, Any, Reply]:
            seconds = allowed(role) if callable(allowed) else allowed
            return self._transports[role].ask(message, seconds, retry=retry, wants_evaluation=wants_evaluations)

        replies = await all_of({role: ask(role, message) for role, message in messages.items()})
        return {role: self._excused(reply) for role, reply in replies.items()}

    def _excused(self, reply: Reply) -> Reply:
        """A timeout is our own fault where we were held up for longer than the grace."""
        fault = reply.answer
        if not isinstance(fault, Fault) or fault.kind != "timeout" or reply.lag <= self._settings.grace:
            return reply
        detail = f"{fault.detail}, while the game master was held up for {reply.lag:.1f} s"
        return replace(reply, answer=replace(fault, detail=detail, cause="game master"))

    def _evaluations(self, said: Mapping[str, str | Evaluation]) -> dict[str, Evaluation]:
        """Role → what its player thinks, of those that can be read; the others are logged once."""
        found: dict[str, Evaluation] = {}
        for role, evaluation in said.items():
            try:
                found[role] = self._codecs[role].evaluation(evaluation, len(self._game.roles))
            except MessageError as error:
                if role not in self._unread:
                    self._unread.add(role)
                    log.warning("what the player of %s thinks is ignored: %s", role, shown(str(error)))
        return found

    def _grow(self, **fields: object) -> None:
        self._record = self._record.model_copy(update=fields)

    async def _save(self) -> None:
        """Keeps the record as it is now; a version never overtakes one before it, even when a wait is cancelled."""
        if self._saving is not None:
            await asyncio.wait([self._saving])
        self._saving = asyncio.create_task(asyncio.to_thread(self._keep, self._record))
        await asyncio.shield(self._saving)

    def _codec(self, role: str) -> MessageCodec:
        seed = self._record.players[role].scramble_seed
        scrambler = None if seed is None else Scrambler(self._game.rulesheet, seed)
        return MessageCodec(self._record.match, role, self._game.rulesheet.has_percepts, scrambler)

    def _last_step(self, role: str) -> LastStep | None:
        if self._last is None:
            return None
        own_move = self._last.joint_move[self._game.roles.index(role)]
        return LastStep(self._last.joint_move, own_move, self._last.percepts.get(role, ()))


def _new_record(game: RefereedGame, players: Mapping[str, Player], settings: MatchSettings, name: str) -> MatchRecord:
    return MatchRecord(
        ggp=version("ggp"),
        match=name,
        token=secrets.token_hex(16),
        game=game.name,
        rulesheet=game.rulesheet.text,
        rulesheet_sha256=game.rulesheet.sha256,
        engine=game.engine,
        engine_note=game.fallback,
        opening=game.opening,
        roles=game.roles,
        players={
            role: PlayerRecord(
                name=player.name,
                kind=player.kind,
                url=player.url,
                bot=player.bot,
                bot_seed=player.bot_seed,
                dialect=player.dialect,
                scramble_seed=derived(settings.seed, "scramble", role) if settings.scramble else None,
                clocks=player.clocks,
                increment=player.increment,
            )
            for role, player in players.items()
        },
        settings=settings,
        started=now(),
    )


def _name(answer: str | Fault) -> str:
    if isinstance(answer, Fault):
        return ""
    try:
        return as_name(parse_info(answer).name)
    except MessageError:
        return ""


def _told_apart(names: Mapping[str, str]) -> dict[str, str]:
    """The same names; those that several players have get a number from the second on."""
    found: dict[str, str] = {}
    taken = Counter(names.values())
    for role, name in names.items():
        number, known = 1, name
        while known in found.values() or (number > 1 and known in taken):
            number += 1
            known = f"{name} ({number})"
        found[role] = known
    return found


def _is_absent(start: StartRecord) -> bool:
    """Whether there was never a connection; one that ended without an answer is a timeout."""
    return start.fault is not None and start.fault.kind == "unreachable" and start.fault.cause == "player"


def _start_record(reply: Reply) -> StartRecord:
    seconds = _rounded(reply.seconds)
    if isinstance(reply.answer, Fault):
        return StartRecord(seconds=seconds, fault=reply.answer)
    fault = _unreadable(reply.answer)
    if fault is not None:
        return StartRecord(seconds=seconds, fault=fault)
    return StartRecord(seconds=seconds, answer=shown(reply.answer))


def _unreadable(answer: str) -> Fault | None:
    """The fault of an answer to START that says nothing; any words will do, since the match goes on anyway."""
    try:
        return None if read(answer, "answer") else make_fault("malformed", "the answer is empty", answer)
    except ReadError as error:
        return make_fault("malformed", str(error), answer)


def _rounded(seconds: float) -> float:
    return round(seconds, 4)
