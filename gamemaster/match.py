"""A match: a game and its players in, a record out; what happens on the way is told to a listener."""

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping
from importlib.metadata import version

from gamemaster.codec import Told, Wording
from gamemaster.daemon_thread import aside
from gamemaster.events import Began, Ended, Listener, Started, Stepped
from gamemaster.faults import Fault, make_fault, shown
from gamemaster.introduction import introduced
from gamemaster.player import Player
from gamemaster.record import (
    EvaluationRecord,
    Keep,
    MatchRecord,
    PlayerRecord,
    StartRecord,
    StepRecord,
    evaluation_record,
    now,
)
from gamemaster.referee import Choice, Executed, Outcome, Referee, Situation
from gamemaster.settings import MatchSettings, derived
from gamemaster.transport import Question, Reply, Session, ask_all, open_session
from ggp.errors import MessageError, ReadError
from ggp.game import Game
from ggp.gdl.reader import read
from ggp.gdl.terms import to_text
from ggp.protocol.scramble import Scrambler

log = logging.getLogger(__name__)


def new_match_name(game: str) -> str:
    """A name that no other match has, one word of the protocol, such as `tictactoe-20260131-174500-1f3a`.

    Players are told it: give it no name of a game that they are not to recognise.
    """
    words = re.sub(r"[^a-z0-9]+", "-", game.lower()).strip("-") or "match"
    return f"{words}-{now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


async def run_match(
    game: Game, players: Mapping[str, Player], settings: MatchSettings, name: str, keep: Keep, listen: Listener
) -> MatchRecord:
    """The record of a whole match; `players` has one for every role but `random`.

    `keep` is called in a thread with the record before START and whenever it has grown. When the match is cancelled,
    or `keep` or `listen` fails, the record ends as aborted and the players are told ABORT.
    """
    async with open_session() as session:
        known = await introduced(session, players, settings)
        seeds = {role: derived(settings.seed, "scramble", role) if settings.scramble else None for role in known}
        record = _new_record(game, known, settings, name, seeds)
        return await _Match(game, known, record, session, keep, listen).run()


class _Match:
    """A match under way."""

    def __init__(
        self,
        game: Game,
        players: Mapping[str, Player],
        record: MatchRecord,
        session: Session,
        keep: Keep,
        listen: Listener,
    ) -> None:
        self._game = game
        self._players = players
        self._record = record
        self._session = session
        self._keep = keep
        self._listen = listen
        self._settings = record.settings
        self._referee = Referee(game.rulesheet, game.machine, record.settings)
        self._wordings = {role: self._wording(role) for role in players}
        self._last: Executed | None = None
        self._unread: set[str] = set()  # roles of which it was noted that nobody can read what they think
        self._saving: asyncio.Task[None] | None = None

    async def run(self) -> MatchRecord:
        dismissed = False
        try:
            situation = await aside(self._referee.begin)
            await self._save()
            if isinstance(situation, Choice):
                self._listen(Began(self._record, situation.state))
                await self._start()
            while isinstance(situation, Choice):
                situation = await self._step(situation)
            await self._end(situation)
            await self._dismiss()
            dismissed = True
        finally:
            if not dismissed:
                await self._give_up()
        return self._record

    async def _start(self) -> None:
        settings = self._settings
        texts = {role: wording.start(self._game.rulesheet, settings) for role, wording in self._wordings.items()}
        replies = await self._ask(texts, settings.startclock + settings.grace, settings.start_retry)
        self._grow(start={role: _start_record(reply) for role, reply in replies.items()})
        await self._save()
        self._listen(Started(self._record))

    async def _step(self, choice: Choice) -> Situation:
        texts = {role: wording.play(choice.step, self._told(role)) for role, wording in self._wordings.items()}
        replies = await self._ask(texts, self._settings.playclock + self._settings.grace, wants_evaluations=True)
        answers = {role: self._wordings[role].move(reply.answer) for role, reply in replies.items()}
        said = {role: reply.evaluation for role, reply in replies.items() if reply.evaluation is not None}
        (executed, situation), evaluations = await aside(
            lambda: (self._referee.execute(choice, answers), self._evaluations(said))
        )
        self._last = executed
        step = StepRecord(
            moves=tuple(map(to_text, executed.joint_move)),
            seconds={role: _rounded(reply.seconds) for role, reply in replies.items()},
            faults=dict(executed.faults),
            time=now(),
            evaluations=evaluations,
        )
        self._grow(steps=(*self._record.steps, step))
        await self._save()
        self._listen(Stepped(self._record, situation.state))
        return situation

    async def _end(self, outcome: Outcome) -> None:
        self._grow(status=outcome.ending, reason=outcome.reason, goals=outcome.goals, finished=now())
        await self._save()
        self._listen(Ended(self._record))

    async def _dismiss(self) -> None:
        """Tells the players that the match has ended; what they answer changes nothing."""
        if self._last is None:
            return  # there was no step, so nobody has been asked for anything
        if self._record.status == "broken":
            await self._abort()
            return
        texts = {
            role: wording.stop(len(self._record.steps), self._told(role)) for role, wording in self._wordings.items()
        }
        await self._ask(texts, self._settings.playclock + self._settings.grace)

    async def _give_up(self) -> None:
        try:
            if self._record.status == "running":
                self._grow(status="aborted", reason="the game master gave the match up", finished=now())
                await self._save()
                self._listen(Ended(self._record))
        finally:
            await self._abort()

    async def _abort(self) -> None:
        await self._ask({role: wording.abort() for role, wording in self._wordings.items()}, self._settings.abort_wait)

    async def _ask(
        self, texts: Mapping[str, str], allowed: float, retry: float | None = None, *, wants_evaluations: bool = False
    ) -> dict[str, Reply]:
        limit = self._settings.max_answer_bytes
        players = self._players
        return await ask_all(
            self._session,
            {
                role: Question(players[role].url, players[role].name, text, allowed, limit, retry, wants_evaluations)
                for role, text in texts.items()
            },
        )

    def _evaluations(self, said: Mapping[str, str]) -> dict[str, EvaluationRecord]:
        """Role → what its player thinks, of those that can be read; the others are noted once. No clock runs."""
        found: dict[str, EvaluationRecord] = {}
        for role, text in said.items():
            try:
                found[role] = evaluation_record(self._wordings[role].evaluation(text, len(self._game.roles)))
            except (MessageError, ValueError) as error:  # ValueError: the record has the last word
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

    def _wording(self, role: str) -> Wording:
        seed = self._record.players[role].scramble_seed
        scrambler = None if seed is None else Scrambler(self._game.rulesheet, seed)
        return Wording(
            self._record.match, role, self._players[role].dialect, self._game.rulesheet.has_percepts, scrambler
        )

    def _told(self, role: str) -> Told | None:
        if self._last is None:
            return None
        own_move = self._last.joint_move[self._game.roles.index(role)]
        return Told(self._last.joint_move, own_move, self._last.percepts.get(role, ()))


def _new_record(
    game: Game,
    players: Mapping[str, Player],
    settings: MatchSettings,
    name: str,
    scramble_seeds: Mapping[str, int | None],
) -> MatchRecord:
    return MatchRecord(
        ggp=version("ggp"),
        match=name,
        token=secrets.token_hex(16),
        game=game.name,
        rulesheet=game.rulesheet.text,
        rulesheet_sha256=game.rulesheet.sha256,
        engine=game.engine,
        engine_note=game.fallback,
        roles=game.roles,
        players={
            role: PlayerRecord(
                name=player.name,
                url=player.url,
                bot=player.bot,
                bot_seed=player.bot_seed,
                dialect=player.dialect,
                scramble_seed=scramble_seeds[role],
            )
            for role, player in players.items()
        },
        settings=settings,
        started=now(),
    )


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
