"""Matches on this computer: as many at a time as the processors and the limits of a tournament allow."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from urllib.parse import urlsplit

import ggp
from gamemaster.bots import Bot
from gamemaster.events import Listener
from gamemaster.match import run_match
from gamemaster.player import Player
from gamemaster.record import Keep, MatchRecord
from gamemaster.settings import MatchSettings, derived
from gamemaster.tournament.results import Pairing
from gamemaster.tournament.spec import PlayerSpec, TournamentSpec
from gamemaster.tournament.workshop.pool import Pool, Tell
from gamemaster.tournament.workshop.processors import Processors, usable_processors
from ggp.errors import SettingsError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE


class Shortage(Enum):
    """Why a match has to wait."""

    MATCHES = auto()  # as many are being played as may be at a time
    PROCESSORS = auto()
    PLAYERS = auto()  # a player or its host plays as much as it may


@dataclass(frozen=True, slots=True)
class Place:
    """What is taken as long as a match lasts."""

    processors: tuple[int, ...]
    players: tuple[str, ...]  # external ones
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A match that is to be played now."""

    pairing: Pairing
    attempt: int  # from 1
    match: str  # what players are told as its name
    settings: MatchSettings


class Workshop:
    """The processors, bots and games of one computer for one tournament."""

    def __init__(
        self,
        spec: TournamentSpec,
        tell: Tell,
        processors: Iterable[int] | None = None,
        load: Callable[[str], Game] = ggp.load,
    ) -> None:
        """`processors` are those of this computer when none are given; `load` makes a game of its `rules`."""
        usable = tuple(usable_processors() if processors is None else processors)
        wanted = spec.limits.processors or len(usable)
        self._spec = spec
        self._players = {player.name: player for player in spec.players}
        self._pins = spec.limits.pin and wanted <= len(usable)
        self._processors = Processors(usable[:wanted] if self._pins else range(wanted))
        self._matches = 0
        self._busy_players: Counter[str] = Counter()
        self._busy_hosts: Counter[str] = Counter()
        self._pool = Pool(tell)
        self._load = load
        self._games: dict[str, asyncio.Task[Game]] = {}

    @property
    def processors(self) -> int:
        """How many there are for matches."""
        return self._processors.total

    @property
    def bots(self) -> tuple[Bot, ...]:
        return self._pool.bots

    def needs(self, players: Collection[str]) -> int:
        """Processors for a match of these: the threads of its bots, or all there are where that is less."""
        threads = sum(self._players[name].threads for name in players if self._players[name].bot is not None)
        return min(threads, self._processors.total)

    def reserve(self, players: Collection[str]) -> Place | Shortage:
        """What a match of these needs; to be released when it is over."""
        limits = self._spec.limits
        if limits.matches is not None and self._matches >= limits.matches:
            return Shortage.MATCHES
        external = [self._players[name] for name in players if self._players[name].url is not None]
        names = tuple(player.name for player in external)
        hosts = tuple({_host(player) for player in external if not player.person})
        if any(self._busy_players[name] >= limits.per_player for name in names):
            return Shortage.PLAYERS
        if any(self._busy_hosts[host] >= limits.per_host for host in hosts):
            return Shortage.PLAYERS
        processors = self._processors.take(self.needs(players))
        if processors is None:
            return Shortage.PROCESSORS
        self._matches += 1
        self._busy_players.update(names)
        self._busy_hosts.update(hosts)
        return Place(processors, names, hosts)

    def release(self, place: Place) -> None:
        self._matches -= 1
        self._processors.give_back(place.processors)
        self._busy_players.subtract(place.players)
        self._busy_hosts.subtract(place.hosts)

    async def play(self, job: Job, place: Place, keep: Keep, listen: Listener) -> MatchRecord:
        """The record of a whole match, as `run_match` gives it; SettingsError when a bot cannot be started."""
        game = await self._game(job.pairing.game)
        roles = tuple(role for role in game.roles if role != NATURE)
        takers = {role: self._players[name] for role, name in zip(roles, job.pairing.players, strict=True)}
        seeds = {role: derived(job.settings.seed, "bot", role) for role in roles}
        bots: dict[str, Bot] = {}
        doubtful: set[str] = set()  # of the bots: they may not be ready for another match
        try:
            await self._take_bots(takers, seeds, place, bots)
            doubtful = set(bots)
            players = {role: _player(role, taker, bots.get(role), seeds[role]) for role, taker in takers.items()}
            record = await run_match(game, players, job.settings, job.match, keep, listen)
            doubtful = {role for _, role, _ in record.faults}
        finally:
            for role, bot in bots.items():
                self._pool.give_back(takers[role], bot, is_sound=role not in doubtful)
        return record

    async def close(self) -> None:
        """Stops all bots."""
        await self._pool.close()

    async def _game(self, name: str) -> Game:
        """Each game is loaded once, by whoever needs it first."""
        if name not in self._games:
            rules = self._spec.game(name).rules
            self._games[name] = asyncio.create_task(asyncio.to_thread(self._load, rules))
        return await asyncio.shield(self._games[name])

    async def _take_bots(
        self, takers: Mapping[str, PlayerSpec], seeds: Mapping[str, int], place: Place, bots: dict[str, Bot]
    ) -> None:
        """Puts in a bot for each role that one takes; also where it fails, all that were to be had."""
        shares = self._shares(takers, place)
        failures: list[SettingsError] = []

        async def take(role: str) -> None:
            try:
                bots[role] = await self._pool.take(takers[role], seeds[role], shares.get(role))
            except SettingsError as error:
                failures.append(error)

        async with asyncio.TaskGroup() as group:
            for role, taker in takers.items():
                if taker.bot is not None:
                    group.create_task(take(role))
        if failures:
            raise failures[0]

    def _shares(self, takers: Mapping[str, PlayerSpec], place: Place) -> Mapping[str, tuple[int, ...]]:
        """Role → the processors of its bot; where there are fewer than wanted, all of them for each."""
        bots = {role: taker.threads for role, taker in takers.items() if taker.bot is not None}
        if not self._pins:
            return {}
        if sum(bots.values()) > len(place.processors):
            return dict.fromkeys(bots, place.processors)
        processors = iter(place.processors)
        return {role: tuple(islice(processors, threads)) for role, threads in bots.items()}


def _player(role: str, taker: PlayerSpec, bot: Bot | None, seed: int) -> Player:
    if bot is None:
        address = taker.address
        return Player(role, address.name, address.place, dialect=address.dialect)
    return Player(role, taker.name, bot.url, taker.bot, seed)


def _host(player: PlayerSpec) -> str:
    return urlsplit(player.url or "").hostname or ""
