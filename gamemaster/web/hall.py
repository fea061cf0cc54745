"""The matches that are played here: orders in, matches that run beside each other, ended when somebody says so."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TypeAlias
from urllib.parse import urlsplit

from gamemaster.match import new_match_name, run_match
from gamemaster.player import Player, parse_player
from gamemaster.record import Keep, MatchRecord
from gamemaster.settings import make_settings
from gamemaster.web.evaluators import Evaluator, Pool
from gamemaster.web.live import LiveMatch, Order
from gamemaster.web.machines import remote_game
from gamemaster.web.models import Bot, Person, Taker
from gamemaster.web.opponents import at_urls, hurried, opponents
from gamemaster.web.problems import Problem, busy, refused
from gamemaster.web.seats import Seat, Switchboard
from gamemaster.web.settings import ServeSettings
from ggp.errors import GgpError

MakeKeep: TypeAlias = Callable[[str], Keep]  # the name of a match → what is done with its record; may block

_GRACE = 1.0

log = logging.getLogger(__name__)


class Hall:
    """All matches that are played here now, and some that are over; used in the event loop."""

    def __init__(self, settings: ServeSettings, pool: Pool, switchboard: Switchboard, make_keep: MakeKeep) -> None:
        self._settings = settings
        self._pool = pool
        self._switchboard = switchboard
        self._make_keep = make_keep
        self._matches: dict[str, LiveMatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._seats: dict[str, tuple[LiveMatch, Seat]] = {}
        self.on_change: Callable[[], None] = lambda: None  # told when a match begins or ends

    def get(self, match: str) -> LiveMatch | None:
        return self._matches.get(match)

    def all(self) -> list[LiveMatch]:
        """The one that was ordered last first."""
        return list(reversed(self._matches.values()))

    def seat(self, link: str) -> tuple[LiveMatch, Seat] | None:
        """The seat that a secret link leads to, and its match."""
        return self._seats.get(link)

    def check_players(self, roles: tuple[str, ...], players: Mapping[str, Taker]) -> None:
        """A Problem where not every role has its player, or one that nobody may name."""
        if set(players) != set(roles):
            raise refused(f"the players must be those of {', '.join(roles)}, not of {', '.join(players) or 'nobody'}")
        for taker in players.values():
            if not isinstance(taker, Person | Bot):
                self._check_url(taker.url)

    def begin(self, order: Order) -> LiveMatch:
        """The match, which is about to begin; a Problem when too many are being played."""
        if len(self._tasks) >= self._settings.limits.matches:
            raise busy(f"{len(self._tasks)} matches are being played, as many as may be; try again later", 10.0)
        live = LiveMatch(new_match_name(order.source.name), order, self._pool, self._settings.limits.look_seconds)
        self._matches[live.id] = live
        self._seats |= {seat.link: (live, seat) for seat in live.seats.values()}
        task = self._tasks[live.id] = asyncio.get_running_loop().create_task(self._play(live))
        task.add_done_callback(lambda done: self._done(live, done))
        self._forget()
        self.on_change()
        return live

    def receive(self, live: LiveMatch, seat: Seat) -> None:
        """A match that another game master runs, with a seat here."""
        self._matches[live.id] = live
        self._seats[seat.link] = (live, seat)
        self._forget()

    async def end(self, live: LiveMatch, reason: str) -> None:
        """Gives a match up, and waits until that is done."""
        if live.leave is not None:
            await live.leave(reason)
        task = self._tasks.get(live.id)
        if task is None:
            return
        live.ending = live.ending or reason
        task.cancel()
        await asyncio.wait([task])

    async def close(self) -> None:
        """Gives all matches up."""
        tasks = list(self._tasks.values())
        for live in self._matches.values():
            live.ending = live.ending or "the service was stopped"
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _done(self, live: LiveMatch, task: asyncio.Task[None]) -> None:
        self._tasks.pop(live.id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("match %s", live.id, exc_info=error)
        self.on_change()

    def _forget(self) -> None:
        """Keeps as many matches that are over as may be kept; their records are elsewhere."""
        over = [live for live in self._matches.values() if live.is_over and live.id not in self._tasks]
        for live in over[: max(0, len(over) - self._settings.limits.kept)]:
            del self._matches[live.id]
            for seat in live.seats.values():
                del self._seats[seat.link]

    async def _play(self, live: LiveMatch) -> None:
        drawing = asyncio.get_running_loop().create_task(live.draw())
        failure = "it could not be played"
        try:
            await self._run(live)
            failure = ""
        except asyncio.CancelledError:
            failure = "" if live.record is not None else live.ending
        except (GgpError, Problem) as error:
            failure = str(error)
        finally:
            live.finish(failure)
            await asyncio.wait([drawing], timeout=self._settings.limits.look_seconds)
            drawing.cancel()
            live.close()

    async def _run(self, live: LiveMatch) -> None:
        order, limits = live.order, self._settings.limits
        keep = await asyncio.to_thread(self._make_keep, live.id)
        evaluator = Evaluator(limits.memory_bytes)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(evaluator.close)
            game = await remote_game(evaluator, order.source, limits.check_seconds)
            settings = make_settings(
                startclock=order.startclock,
                playclock=order.playclock,
                grace=_GRACE,
                seed=order.seed,
                max_steps=limits.steps,
            )
            others = await stack.enter_async_context(opponents(order, settings.seed))
            urls = stack.enter_context(self._switchboard.connected(live.seats, hurried(order, others)))
            people = {role: Player(role, seat.name, urls[role]) for role, seat in live.seats.items()}
            players = at_urls(people | others, urls)
            players = {role: players[role] for role in game.roles if role in players}
            await run_match(game, players, settings, live.id, _keeping(live, keep), live.watch)

    def _check_url(self, url: str) -> None:
        try:
            place = parse_player(url)
        except GgpError as error:
            raise refused(str(error)) from None
        parts = urlsplit(place.place)
        allowed = self._settings.allowed_players
        if place.is_bot or not {parts.hostname or "", parts.netloc} & allowed:
            raise Problem(403, "the operator of this service has not allowed players at that address")


def new_seed() -> int:
    return secrets.randbits(32)


def _keeping(live: LiveMatch, keep: Keep) -> Keep:
    """As `keep`, with the reason of whoever ended the match."""

    def kept(record: MatchRecord) -> None:
        is_ended = record.status == "aborted" and live.ending
        keep(record.model_copy(update={"reason": live.ending}) if is_ended else record)

    return kept
