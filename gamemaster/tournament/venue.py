"""Where matches are played: the processors of this computer, bots that are kept running on them, and limits."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from gamemaster.bots import Bot, Tell, is_custom, start_bot, tell_news
from gamemaster.evaluator import RULES_BYTES, Evaluator, RemoteRules, RulesheetSource, find_source, load_rules
from gamemaster.faults import Fault
from gamemaster.match import Listener, run_match
from gamemaster.player import Player
from gamemaster.record import Keep, MatchRecord
from gamemaster.referee import RefereedGame
from gamemaster.settings import MatchSettings, derived
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.spec import PlayerSpec, TournamentSpec
from gamemaster.transport import HttpTransport, Session, open_session
from ggp.errors import MessageError, SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.protocol.messages import BUSY, Info, parse_info


class Shortage(Enum):
    """Why a match has to wait."""

    MATCHES = auto()  # as many are being played as may be at a time
    PROCESSORS = auto()
    PLAYERS = auto()  # a player or its host plays as much as it may


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is taken as long as a match lasts."""

    processors: tuple[int, ...]
    players: tuple[str, ...]  # external ones
    hosts: tuple[str, ...]
    is_light: bool = False  # whether only bots play that do not think


@dataclass(frozen=True, slots=True)
class Job:
    """A match that is to be played now."""

    pairing: Pairing
    attempt: int  # from 1
    match: str  # its name in the messages to players
    settings: MatchSettings
    opening: str = ""  # moves


class LocalVenue:
    """The processors, bots and games of one computer for one tournament."""

    def __init__(
        self,
        spec: TournamentSpec,
        tell: Tell,
        processors: Iterable[int] | None = None,
        find: Callable[[str], RulesheetSource] = find_source,
    ) -> None:
        """`processors` are those of this computer when none are given; `find` finds a rulesheet by its `rules`."""
        usable = tuple(usable_processors() if processors is None else processors)
        wanted = spec.limits.processors or len(usable)
        self._spec = spec
        self._players = {player.name: player for player in spec.players}
        self._pins = spec.limits.pin and wanted <= len(usable)
        self._processors = Processors(usable[:wanted] if self._pins else range(wanted))
        self._matches = 0
        self._light = 0  # matches
        self._ended: dict[str, float] = {}  # external player → when it last ended a match
        self._busy_players: Counter[str] = Counter()
        self._busy_hosts: Counter[str] = Counter()
        self._pool = BotPool(tell)
        self._referees = Referees(find)

    @property
    def processors(self) -> int:
        """How many there are for matches."""
        return self._processors.total

    @property
    def bots(self) -> tuple[Bot, ...]:
        return self._pool.bots

    def needs(self, players: Collection[str]) -> int:
        """Processors for a match of these: the threads of bots that think, or all there are where that is less."""
        return min(sum(self._players[name].processors for name in players), self._processors.total)

    def reserve(self, players: Collection[str]) -> Reservation | Shortage:
        """What a match of these needs; to be released when it is over."""
        limits = self._spec.limits
        if limits.matches is not None and self._matches >= limits.matches:
            return Shortage.MATCHES
        external = [self._players[name] for name in players if self._players[name].url is not None]
        names = tuple(player.name for player in external)
        hosts = tuple({_host(player) for player in external if not player.human})
        if any(self._busy_players[name] >= limits.per_player for name in names):
            return Shortage.PLAYERS
        if any(self._busy_hosts[host] >= limits.per_host for host in hosts):
            return Shortage.PLAYERS
        is_light = bool(players) and not names and not self.needs(players)
        if is_light and self._light >= LIGHT_MATCHES * self._processors.total:
            return Shortage.PLAYERS
        processors = self._processors.take(self.needs(players))
        if processors is None:
            return Shortage.PROCESSORS
        self._matches += 1
        self._light += is_light
        self._busy_players.update(names)
        self._busy_hosts.update(hosts)
        return Reservation(processors, names, hosts, is_light)

    def release(self, place: Reservation) -> None:
        self._ended |= dict.fromkeys(place.players, time.monotonic())
        self._matches -= 1
        self._light -= place.is_light
        self._processors.give_back(place.processors)
        self._busy_players.subtract(place.players)
        self._busy_hosts.subtract(place.hosts)

    async def play(self, job: Job, place: Reservation, keep: Keep, listen: Listener) -> MatchRecord:
        """The record of a whole match, as `run_match` gives it; SettingsError when a bot cannot be started."""
        await self.rest(place.players)
        async with self._referees.taken(self._spec.game(job.pairing.game).rules, job.opening) as rules:
            return await self._play(job, place, rules, keep, listen)

    async def rest(self, players: Collection[str]) -> None:
        """Waits until external players have rested since their last match, and are available or at least answer."""
        if not players:
            return
        limits = self._spec.limits
        async with open_session() as session, asyncio.TaskGroup() as group:
            for player in (self._players[name] for name in players):
                rested = self._ended.get(player.name, -limits.rest) + limits.rest
                group.create_task(_until_available(session, player, rested, limits.available_wait))

    async def close(self) -> None:
        """Stops all bots and referees."""
        await self._pool.close()
        await self._referees.close()

    async def _play(
        self, job: Job, place: Reservation, rules: RemoteRules, keep: Keep, listen: Listener
    ) -> MatchRecord:
        roles = tuple(role for role in rules.game.roles if role != NATURE)
        specs = {role: self._players[name] for role, name in zip(roles, job.pairing.players, strict=True)}
        seeds = {role: derived(job.settings.seed, "bot", role) for role in roles}
        bots: dict[str, Bot] = {}
        doubtful: set[str] = set()  # of the bots: they may not be ready for another match
        try:
            await self._take_bots(specs, seeds, place, bots)
            doubtful = set(bots)
            players = {role: _player(role, spec, bots.get(role), seeds[role]) for role, spec in specs.items()}
            record = await run_match(rules, players, job.settings, job.match, keep, listen)
            doubtful = {role for _, role, _ in record.faults}
        finally:
            for role, bot in bots.items():
                self._pool.give_back(specs[role], bot, is_sound=role not in doubtful)
        return record

    async def _take_bots(
        self, specs: Mapping[str, PlayerSpec], seeds: Mapping[str, int], place: Reservation, bots: dict[str, Bot]
    ) -> None:
        """Puts a bot into `bots` for each role that a bot plays; where one cannot be started, the others are there."""
        shares = self._shares(specs, place)
        failures: list[SettingsError] = []

        async def take(role: str) -> None:
            try:
                bots[role] = await self._pool.take(specs[role], seeds[role], shares.get(role))
            except SettingsError as error:
                failures.append(error)

        async with asyncio.TaskGroup() as group:
            for role, spec in specs.items():
                if spec.bot is not None:
                    group.create_task(take(role))
        if failures:
            raise failures[0]

    def _shares(self, specs: Mapping[str, PlayerSpec], place: Reservation) -> Mapping[str, tuple[int, ...]]:
        """Role → the processors of its bot; where there are fewer than wanted, all of them for each."""
        bots = {role: spec.processors for role, spec in specs.items() if spec.processors}
        if not self._pins:
            return {}
        if sum(bots.values()) > len(place.processors):
            return dict.fromkeys(bots, place.processors)
        processors = iter(place.processors)
        return {role: tuple(islice(processors, threads)) for role, threads in bots.items()}


def _player(role: str, spec: PlayerSpec, bot: Bot | None, seed: int) -> Player:
    if bot is None:
        address = spec.address
        return Player(role, address.name, address.place, dialect=address.dialect, is_human=spec.human)
    return Player(role, spec.name, bot.url, spec.bot, seed)


def _host(player: PlayerSpec) -> str:
    return urlsplit(player.url or "").hostname or ""


LIGHT_MATCHES = 2  # for each processor: matches at a time between bots that do not think
INFO_WAIT = 1.0  # seconds for the answer to INFO
INFO_BYTES = 65_536  # of that answer
LOOK_EVERY = 0.25  # seconds between two questions whether a player is available


async def _until_available(session: Session, player: PlayerSpec, rested: float, wait: float) -> None:
    """Returns in any case after so many seconds: START will show whether the player is there."""
    await asyncio.sleep(max(0.0, rested - time.monotonic()))
    transport = HttpTransport(session, player.address.place, player.name, player.dialect, INFO_BYTES)
    with suppress(TimeoutError):
        async with asyncio.timeout(wait):
            while not await _is_available(transport, player):  # noqa: ASYNC110 - another program has no event for us
                await asyncio.sleep(LOOK_EVERY)


async def _is_available(transport: HttpTransport, player: PlayerSpec) -> bool:
    """What it says; of one that does not say, whether there is a connection."""
    answer = (await transport.ask(Info(), INFO_WAIT)).answer
    if isinstance(answer, Fault):
        return answer.kind != "unreachable" or await _is_listening(player)
    try:
        return parse_info(answer).status != BUSY
    except MessageError:
        return True


async def _is_listening(player: PlayerSpec) -> bool:
    place = urlsplit(player.address.place)
    try:
        _, writer = await asyncio.open_connection(place.hostname, place.port)
    except OSError:
        return False
    writer.close()
    return True


class Referees:
    """Processes that evaluate rules, as many as matches are played at a time; each match has one for itself."""

    def __init__(self, find: Callable[[str], RulesheetSource]) -> None:
        self._find = find
        self._games: dict[tuple[str, str], tuple[RulesheetSource, RefereedGame]] = {}  # by their `rules` and opening
        self._idle: list[Evaluator] = []
        self._all: set[Evaluator] = set()

    @asynccontextmanager
    async def taken(self, rules: str, opening: str) -> AsyncIterator[RemoteRules]:
        """The rules of a match as long as the block lasts; GgpError when they cannot be loaded."""
        key = rules, opening
        if key in self._games:
            source = self._games[key][0]
        else:
            source = replace(await asyncio.to_thread(self._find, rules), opening=opening)
        evaluator = self._taken(source)
        try:
            if key not in self._games:
                self._games[key] = source, (await load_rules(evaluator, source)).game
            yield RemoteRules(evaluator, *self._games[key])
        finally:
            self._idle.append(evaluator)

    async def close(self) -> None:
        for evaluator in self._all:
            await evaluator.close()

    def _taken(self, source: RulesheetSource) -> Evaluator:
        """One that knows the game, if possible; the one that was used last, so that others may rest."""
        if not self._idle:
            self._idle.append(Evaluator(RULES_BYTES))
            self._all.add(self._idle[-1])
        known = [evaluator for evaluator in self._idle if source.key in evaluator.known]
        evaluator = (known or self._idle)[-1]
        self._idle.remove(evaluator)
        return evaluator


MOST_IDLE = 32  # bots that are kept though no match needs them now
DEATH_WAIT = 0.5  # seconds in which we hear of a bot that has just ended, before it is stopped


class BotPool:
    """Processes of bots by the names of their players; a player has as many as it plays matches at a time."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._idle: list[tuple[str, Bot]] = []  # the one that was used last at the end
        self._watches: dict[Bot, asyncio.Task[None]] = {}  # of every bot that was started and not stopped
        self._stops: set[asyncio.Task[None]] = set()

    @property
    def bots(self) -> tuple[Bot, ...]:
        """Those that were started and not stopped."""
        return tuple(self._watches)

    async def take(self, player: PlayerSpec, seed: int, processors: Collection[int] | None) -> Bot:
        """A bot that will play its next match by this seed, on these processors only where some are given.

        SettingsError when none can be started.
        """
        assert player.bot is not None
        while (bot := self._take_idle(player.name)) is not None:
            if processors is not None:
                bot.pin(processors)
            if await self._reseed(bot, seed):
                return bot
            self._stop(bot, DEATH_WAIT)

        def tell(said: str) -> None:
            self._tell(f"{player.name} is being prepared: {said}")

        try:
            bot = await start_bot(player.bot, seed, settings_of(player), processors, tell)
        except SettingsError as error:
            raise SettingsError(f"{player.name}: {error}") from None
        self._watches[bot] = asyncio.create_task(self._watch(player.name, bot))
        return bot

    def give_back(self, player: PlayerSpec, bot: Bot, *, is_sound: bool) -> None:
        """Keeps a bot for another match; one that is not sound is stopped."""
        if is_custom(player.bot or ""):
            tell_news(bot, player.name, self._tell)
        if not is_sound or not bot.is_alive:
            self._stop(bot, DEATH_WAIT)
            return
        bot.forget_log()
        self._idle.append((player.name, bot))
        while len(self._idle) > MOST_IDLE:
            self._stop(self._idle.pop(0)[1])

    async def close(self) -> None:
        """Stops all bots."""
        for bot in self.bots:
            self._stop(bot)
        self._idle.clear()
        await asyncio.gather(*self._stops)

    def _take_idle(self, name: str) -> Bot | None:
        for index in reversed(range(len(self._idle))):
            if self._idle[index][0] == name:
                return self._idle.pop(index)[1]
        return None

    async def _reseed(self, bot: Bot, seed: int) -> bool:
        try:
            return await bot.reseed(seed)
        except asyncio.CancelledError:
            self._stop(bot)
            raise

    async def _watch(self, name: str, bot: Bot) -> None:
        """Says when a bot ends by itself; the next match that needs one starts another."""
        why = await bot.ended()
        self._idle = [(other, idle) for other, idle in self._idle if idle is not bot]
        self._tell(f"the bot of {name} {why}; it is started again when it is needed")

    def _stop(self, bot: Bot, wait: float = 0.0) -> None:
        """Stops a bot, when it has not ended by itself after so many seconds."""
        watch = self._watches.pop(bot, None)
        if watch is None:
            return
        task = asyncio.create_task(_stopped(bot, watch, wait))
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)


async def _stopped(bot: Bot, watch: asyncio.Task[None], wait: float) -> None:
    try:
        if wait:
            await asyncio.wait([watch], timeout=wait)
    finally:
        watch.cancel()
        await bot.stop()


def settings_of(player: PlayerSpec) -> dict[str, object]:
    """The settings file of a bot."""
    return {"name": player.name, "threads": player.threads, **player.settings}


QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container, in Linux: microseconds in a period, or `max`, and the period


def usable_processors(quota: Path = QUOTA) -> tuple[int, ...]:
    """The numbers of those that this process may use, as many as its container may keep busy; at least one."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    most = _quota(quota)
    return tuple(sorted(allowed)[: max(1, int(most)) if most else None])


class Processors:
    """Processors, each of them free or taken."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._free = sorted(numbers)
        self.total = len(self._free)

    @property
    def free(self) -> int:
        return len(self._free)

    def take(self, count: int) -> tuple[int, ...] | None:
        """So many of them, those of the lowest numbers; None when fewer are free."""
        if count > len(self._free):
            return None
        taken, self._free = self._free[:count], self._free[count:]
        return tuple(taken)

    def give_back(self, taken: Iterable[int]) -> None:
        self._free = sorted([*self._free, *taken])


def _quota(path: Path) -> float:
    """How many processors a container may keep busy; 0 where nothing is said."""
    try:
        most, period = path.read_text(encoding="ascii").split()
        return int(most) / int(period)
    except (OSError, ValueError):
        return 0.0
