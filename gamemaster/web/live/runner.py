"""The matches that are played here: orders in, matches that run at the same time, each with a process for its rules."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TypeAlias
from urllib.parse import urlsplit

from gamemaster.evaluator import Evaluator, load_rules
from gamemaster.local_bots import Bots, LocalBot
from gamemaster.match import MatchRunner, new_match_name
from gamemaster.player import Player, check_names, parse_player
from gamemaster.record import Keep, MatchRecord
from gamemaster.settings import make_settings
from gamemaster.transport import HttpTransport, open_session
from gamemaster.web.evaluators.pool import DrawnStates, Pool, evaluator_of
from gamemaster.web.live.human import HumanPlayer
from gamemaster.web.live.match import LiveMatch, MatchOrder
from gamemaster.web.models import Bot, External, NewPlayer
from gamemaster.web.settings import Limits, Problem, ServeSettings, busy, refused
from ggp.errors import GgpError, RecordError, StoreError
from ggp.protocol.messages import Abort

MakeKeep: TypeAlias = Callable[[str], Keep]  # the name of a match → what is done with its record; may block
log = logging.getLogger(__name__)
_GRACE = 1.0
_ANSWER_BYTES = 1000  # to ABORT, which nobody reads
_DAY = 86_400.0
_MOST_ENTRIES = 100  # of a visitor
_LOOK = 2.0  # seconds between two looks whether a match should be given up
_THOUGHTLESS = ("random", "legal")
_SEARCHING_BYTES, _PLAIN_BYTES = 2**29, 2**26  # of a bot as a whole
_REMEMBERED = 4  # states


class LiveMatches:
    """All matches that are played here now, and some that are over; used in the event loop."""

    def __init__(self, settings: ServeSettings, pool: Pool, states: DrawnStates, make_keep: MakeKeep) -> None:
        """`pool` is asked for spectators, and for those who play when their match is over."""
        self._settings = settings
        self._pool = pool
        self._states = states
        self._make_keep = make_keep
        self._matches: dict[str, LiveMatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._runners: dict[str, MatchRunner] = {}
        self._people: dict[str, Evaluator] = {}  # match → the process that its humans ask
        self._humans: dict[str, tuple[LiveMatch, HumanPlayer]] = {}
        self.bots = Bots()
        self.allowed = AllowedPlayers(settings)
        self.ledger = Ledger(settings.limits)
        self.on_change: Callable[[], None] = lambda: None  # told when a match begins or ends

    def get(self, match: str) -> LiveMatch | None:
        return self._matches.get(match)

    def all(self) -> list[LiveMatch]:
        """The one that was ordered last first."""
        return list(reversed(self._matches.values()))

    def human(self, link: str) -> tuple[LiveMatch, HumanPlayer] | None:
        """The human that a secret link leads to, and its match."""
        return self._humans.get(link)

    def begin(self, order: MatchOrder, instead_of: LiveMatch | None = None) -> LiveMatch:
        """The match, which is about to begin; a Problem as by `check_share`."""
        self.check_share(order, instead_of)
        name, seconds = new_match_name(order.source.name), self._settings.limits.state_seconds
        live = LiveMatch(name, order, self._pool.of(order.visitor), self._states, seconds)
        self._matches[live.id] = live
        self._humans |= {human.link: (live, human) for human in live.humans.values()}
        task = self._tasks[live.id] = asyncio.get_running_loop().create_task(self._play(live))
        task.add_done_callback(lambda done: self._done(live, done))
        self._forget()
        self.on_change()
        return live

    def check_share(self, order: MatchOrder, instead_of: LiveMatch | None = None) -> None:
        """A Problem where the service, or the visitor, has as much under way as may be.

        instead_of: a match that is about to end, which does not count.
        """
        limits, under_way = self._settings.limits, [self._matches[match] for match in self._tasks]
        running = [live.order for live in under_way if live is not instead_of]
        own = [one for one in running if order.visitor and one.visitor == order.visitor]
        if len(running) >= limits.matches:
            raise busy(f"{len(running)} matches are being played, as many as may be; try again later", 10.0)
        if len(own) >= limits.visitor_matches:
            raise busy(f"{len(own)} matches that you began are being played, as many as may be; end one", 10.0)
        memory = bots_bytes(order)
        if memory + sum(map(bots_bytes, running)) > limits.bots_bytes:
            raise busy("the bots of other matches need all the memory that there is for bots; try again later", 10.0)
        self.ledger.check(order.visitor)
        if order.visitor and memory + sum(map(bots_bytes, own)) > limits.visitor_bots_bytes:
            raise busy("the bots of your matches need all the memory that there is for you; end one", 10.0)

    def receive(self, live: LiveMatch, human: HumanPlayer) -> None:
        """A match that another game master runs, with a human here."""
        self._matches[live.id] = live
        self._humans[human.link] = (live, human)
        self._forget()

    async def end(self, live: LiveMatch, reason: str, resigned: str | None = None) -> None:
        """Gives a match up, and waits until that is done; `resigned` is the role whose player wanted that."""
        if live.leave is not None:
            await live.leave(reason)
        task = self._tasks.get(live.id)
        if task is not None:
            self._give_up(live, reason, resigned)
            await asyncio.wait([task])

    async def free_players(self, lost: Iterable[MatchRecord]) -> None:
        """Tells the players of matches whose game master is dead that they are over, as far as they may be called."""
        async with open_session() as session, asyncio.TaskGroup() as group:
            for record in lost:
                for player in record.players.values():
                    if player.kind == "external" and self.allowed.is_allowed(player.url):
                        there = HttpTransport(session, player.url, player.name, player.dialect, _ANSWER_BYTES)
                        group.create_task(there.ask(Abort(record.match), record.settings.abort_wait))

    async def close(self) -> None:
        """Gives all matches up and ends all bots; what their people asked is not waited for."""
        tasks = list(self._tasks.values())
        for people in list(self._people.values()):
            await people.close()
        for match in self._tasks:
            self._give_up(self._matches[match], "the service was stopped")
        if tasks:
            await asyncio.wait(tasks)
        self.bots.close()

    def _give_up(self, live: LiveMatch, reason: str, resigned: str | None = None) -> None:
        """The runner ends the record; before there is one, and when the record is complete, the task just ends."""
        runner = self._runners.get(live.id)
        if runner is not None and not live.has_ended:
            runner.give_up(reason, resigned)
        else:
            live.ending = live.ending or reason
            self._tasks[live.id].cancel()

    def _done(self, live: LiveMatch, task: asyncio.Task[None]) -> None:
        self._tasks.pop(live.id, None)
        self._runners.pop(live.id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("match %s", live.id, exc_info=error)
        self.on_change()

    def _forget(self) -> None:
        """Drops the oldest matches that are over, where there are too many; their records stay in the repository."""
        over = [live for live in self._matches.values() if live.is_over and live.id not in self._tasks]
        for live in over[: max(0, len(over) - self._settings.limits.kept)]:
            del self._matches[live.id]
            for human in live.humans.values():
                del self._humans[human.link]

    async def _play(self, live: LiveMatch) -> None:
        # not the process of the referee, which must not be ended by a slow picture
        people = self._people[live.id] = evaluator_of(self._settings.limits)
        if live.humans:
            live.evaluator = people
        drawing = asyncio.get_running_loop().create_task(live.drawing.run())
        watching = asyncio.get_running_loop().create_task(self._end_in_time(live))
        failure = "it could not be played"
        try:
            await self._run(live)
            failure = ""
        except asyncio.CancelledError:
            failure = "" if live.record is not None else live.ending
        except (RecordError, StoreError) as error:  # which names files of this computer
            log.error("match %s: %s", live.id, error)
            failure = "its record cannot be kept; the log of the service says more"
        except (GgpError, Problem) as error:
            failure = str(error)
        finally:
            watching.cancel()
            live.finish(failure)
            for human in live.humans.values():
                human.withdraw()
            await asyncio.wait([drawing], timeout=self._settings.limits.state_seconds)
            drawing.cancel()
            live.evaluator = self._pool.of(live.order.visitor)
            await self._people.pop(live.id).close()
            live.close()

    async def _end_in_time(self, live: LiveMatch) -> None:
        """Gives a match up that somebody left, or that goes on for too long."""
        limits = self._settings.limits
        now = asyncio.get_running_loop().time
        until = now() + limits.match_seconds
        while True:
            await asyncio.sleep(min(_LOOK, limits.absent / 4))
            absent = live.questions.absent(limits.absent)
            if absent is not None:
                self._give_up(live, f"{absent} was away for {limits.absent:g} s")
            elif now() > until:
                self._give_up(live, f"the match took longer than {limits.match_seconds:g} s, the limit here")
            elif live.excess:
                self._give_up(live, live.excess)

    async def _run(self, live: LiveMatch) -> None:
        order, limits = live.order, self._settings.limits
        keep = self._metered(live, await asyncio.to_thread(self._make_keep, live.id))
        evaluator = evaluator_of(limits)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(evaluator.close)
            rules = await load_rules(evaluator, order.source, limits.check_seconds)
            settings = make_settings(
                startclock=order.startclock,
                playclock=order.playclock,
                grace=_GRACE,
                seed=order.seed,
                max_steps=limits.steps,
                rules_wait=limits.check_seconds,
            )
            others = await stack.enter_async_context(
                self.bots.playing(
                    self.allowed.bots_of(order), settings.seed, clocks=order.bot_clocks, ponder=not order.has_humans
                )
            )
            others |= {
                role: Player(role, one.name, is_human=True, local=one, increment=order.increment)
                for role, one in live.humans.items()
            }
            others |= {role: _external(role, one) for role, one in order.players.items() if isinstance(one, External)}
            players = {role: others[role] for role in rules.game.roles if role in others}
            runner = self._runners[live.id] = MatchRunner(rules, players, settings, live.id, keep, live.watch)
            await runner.run()

    def _metered(self, live: LiveMatch, keep: Keep) -> Keep:
        """Keeps a record, counts its bytes, and says so when they are too many."""
        known, limit = 0, self._settings.limits.record_bytes

        def metered(record: MatchRecord) -> None:
            nonlocal known
            keep(record)
            added = sum(len(step.model_dump_json()) for step in record.steps[known:])
            added += 0 if known else len(record.rulesheet)
            known = len(record.steps)
            live.record_bytes += added
            self.ledger.add(live.order.visitor, added)
            if live.record_bytes > limit:
                live.excess = f"a record of more than {limit:,} bytes, the limit here"

        return metered


class AllowedPlayers:
    """Whom the operator lets users name as players."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings

    def check(self, roles: tuple[str, ...], players: Mapping[str, NewPlayer]) -> None:
        """A Problem where not every role has its player, or one that nobody may name."""
        if set(players) != set(roles):
            raise refused(f"the players must be those of {', '.join(roles)}, not of {', '.join(players) or 'nobody'}")
        for player in players.values():
            if isinstance(player, Bot):
                self._check_bot(player.bot)
            elif isinstance(player, External):
                self._check_url(player.url)
        bots = [player.name or player.bot for player in players.values() if isinstance(player, Bot)]
        others = {f"players.{role}.name": one.name for role, one in players.items() if isinstance(one, External)}
        try:
            check_names(bots, others)
        except GgpError as error:
            field, _, message = str(error).partition(": ")
            raise refused(str(error), errors=[{"field": field, "message": message}]) from None

    def as_specified(self, player: Bot | External) -> dict[str, str]:
        """A player as a specification says it; a Problem where it may not be taken here."""
        named = {"name": player.name} if player.name else {}
        if isinstance(player, Bot):
            self._check_bot(player.bot)
            return {"bot": self._settings.all_bots[player.bot], "name": player.bot, **named}
        self._check_url(player.url)
        return {"url": player.url, **named}

    def _check_bot(self, name: str) -> None:
        if name not in self._settings.all_bots:
            raise refused(f"no bot is called {name!r}; the bots are {', '.join(self._settings.all_bots)}")

    def bots_of(self, order: MatchOrder) -> dict[str, LocalBot]:
        """A user's strategy is called by the name that the operator gave it: where it is concerns nobody else."""
        strategies = self._settings.all_bots
        return {role: LocalBot(strategies[bot.bot], bot.name, bot.bot) for role, bot in order.bots.items()}

    def _check_url(self, url: str) -> None:
        try:
            place = parse_player(url)
        except GgpError as error:
            raise refused(str(error)) from None
        if place.is_bot or not self.is_allowed(place.place):
            raise Problem(403, "the operator of this service has not allowed players at that address")

    def is_allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        return bool({parts.hostname or "", parts.netloc} & self._settings.allowed_players)


class Ledger:
    """How much was recorded in sum, and by each visitor since a day ago; called from any thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._entries: dict[str, list[tuple[float, int]]] = {}  # visitor → moments and bytes, a minute together
        self.total_bytes = 0

    def add(self, visitor: str, added: int) -> None:
        with self._lock:
            self.total_bytes += added
            if visitor:
                self._entries.setdefault(visitor, []).append((time.monotonic(), added))
                self._tidy()

    def check(self, visitor: str) -> None:
        """A Problem where there is no room for another match."""
        with self._lock:
            self._tidy()
            own = sum(added for _, added in self._entries.get(visitor, ()))
        if self.total_bytes > self._limits.records_bytes:
            raise Problem(507, "there is no room for more records; the operator has to make some")
        if visitor and own > self._limits.visitor_records_bytes:
            raise Problem(507, "your matches have recorded as much as they may in a day")

    def _tidy(self) -> None:
        """Forgets what is older than a day, and puts together what is old already."""
        now = time.monotonic()
        for visitor, entries in list(self._entries.items()):
            young = [entry for entry in entries if now - entry[0] < _DAY]
            while len(young) > _MOST_ENTRIES:
                (_, one), (moment, other), *rest = young
                young = [(moment, one + other), *rest]
            if young:
                self._entries[visitor] = young
            else:
                del self._entries[visitor]


def bots_bytes(order: MatchOrder) -> int:
    """The memory that the bots of a match may come to need."""
    return sum(_PLAIN_BYTES if bot.bot in _THOUGHTLESS else _SEARCHING_BYTES for bot in order.bots.values())


def _external(role: str, player: External) -> Player:
    place = parse_player(player.url)
    return Player(role, player.name, place.place, dialect=place.dialect)
