"""A cluster as a place where matches are played: as many at a time as its processors and the limits allow."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from gamemaster.events import Listener
from gamemaster.record import Keep, MatchRecord
from gamemaster.tournament.cluster.assignment import Assignment, Board, BoardHandle, Report, play_match
from gamemaster.tournament.cluster.connection import Cluster, NodeLostError, Running, connected
from gamemaster.tournament.runner import MatchLostError
from gamemaster.tournament.spec import GameSpec, TournamentSpec
from gamemaster.tournament.workshop import Job, Place, Shortage, Workshop, usable_processors
from gamemaster.transport import Question, ask_all, open_session
from ggp.gdl.reader import decode
from ggp.library import find_rulesheet, read_bytes
from ggp.protocol.messages import Abort, format_message

LOOK_EVERY = 1.0  # seconds between looks at reports and nodes
LOOK_WAIT = 10.0  # seconds for which one look may last
GIVE_UP_WAIT = 10.0  # seconds for a node to end a match in order, beyond what players have for their answers

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    """A match that was sent to the cluster."""

    assignment: Assignment
    keep: Keep
    listen: Listener
    is_under_way: bool = False
    obstacle: asyncio.Future[Exception] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a report is passed on


class ClusterVenue:
    """The nodes of a cluster for one tournament. Limits hold for all of them together."""

    def __init__(self, spec: TournamentSpec, cluster: Cluster, board: BoardHandle, tell: Callable[[str], None]) -> None:
        self._spec = spec
        self._cluster = cluster
        self._board = board
        self._tell = tell
        self._players = {player.name: player for player in spec.players}
        self._rulesheets = {game.name: _rulesheet(game) for game in spec.games}
        self._room = Workshop(spec, tell, ())  # counts matches and external players
        self._watched: dict[str, _Watched] = {}  # by the names of matches
        self._taken = 0  # processors
        self._total = spec.limits.processors or 0  # of all nodes
        self._largest = 0  # of one node; 0 as long as there has been none

    def needs(self, players: Collection[str]) -> int:
        """Processors for a match of these: the threads of its bots, or those of the largest node where that is less."""
        threads = sum(self._players[name].threads for name in players if self._players[name].bot is not None)
        return min(threads, self._largest or threads)

    def reserve(self, players: Collection[str]) -> Place | Shortage:
        """What a match of these needs; to be released when it is over.

        One match is always let in, so that Ray knows what is wanted even when no node is left.
        """
        place = self._room.reserve([name for name in players if self._players[name].url is not None])
        if not isinstance(place, Place):
            return place
        needed = self.needs(players)
        if needed and self._taken and self._taken + needed > self._total:
            self._room.release(place)
            return Shortage.PROCESSORS
        self._taken += needed
        return replace(place, processors=tuple(range(needed)))

    def release(self, place: Place) -> None:
        self._taken -= len(place.processors)
        self._room.release(replace(place, processors=()))

    async def play(self, job: Job, place: Place, keep: Keep, listen: Listener) -> MatchRecord:
        """The record of a whole match, as `run_match` gives it; `MatchLostError` when the node that played it died."""
        game = job.pairing.game
        assignment = Assignment(job, self._spec, self._rulesheets[game], len(place.processors))
        watched = _Watched(assignment, keep, listen)
        self._watched[job.match] = watched
        try:
            return await self._record(watched)
        except NodeLostError as error:
            await self._dismiss(job)
            raise MatchLostError(str(error)) from None
        finally:
            del self._watched[job.match]
            async with watched.lock:  # nothing is kept of it any more
                pass

    async def look(self) -> None:
        """Passes on what nodes have reported, and sees which nodes there are."""
        self._see(await self._cluster.processors())
        for report in await self._cluster.ask(self._board.take):
            await self._pass_on(report)

    async def attend(self) -> None:
        """Looks again and again; what cannot be seen now may be seen later, and matches go on without it."""
        while True:
            try:
                async with asyncio.timeout(LOOK_WAIT):
                    await self.look()
            except Exception:
                log.debug("no look at the cluster", exc_info=True)
            await asyncio.sleep(LOOK_EVERY)

    async def _record(self, watched: _Watched) -> MatchRecord:
        assignment = watched.assignment
        match, count = assignment.job.match, assignment.processors
        running = await self._cluster.start(play_match, assignment, self._board, processors=count, name=match)
        try:
            await asyncio.wait([running.result, watched.obstacle], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._give_up(assignment.job, running)
            raise
        if watched.obstacle.done():
            await self._give_up(assignment.job, running)
            raise watched.obstacle.result()
        record = await self._cluster.outcome(running)
        assert isinstance(record, MatchRecord)
        return record

    async def _give_up(self, job: Job, running: Running) -> None:
        """Lets the node tell the players, or ends it at once when that takes too long."""
        await self._cluster.cancel(running)
        try:
            async with asyncio.timeout(job.settings.abort_wait + GIVE_UP_WAIT):
                await asyncio.wait([running.result])
        except TimeoutError:
            await self._cluster.cancel(running, at_once=True)

    async def _dismiss(self, job: Job) -> None:
        """Tells external players that a match is over which nobody plays any more."""
        settings = job.settings
        external = [self._players[name] for name in job.pairing.players if self._players[name].url is not None]
        async with open_session() as session:
            await ask_all(
                session,
                {
                    player.name: Question(
                        player.address.place,
                        player.name,
                        format_message(Abort(job.match), player.dialect),
                        settings.abort_wait,
                        settings.max_answer_bytes,
                    )
                    for player in external
                },
            )

    async def _pass_on(self, report: Report) -> None:
        if isinstance(report.news, str):
            self._tell(report.news)
            return
        watched = self._watched.get(report.match)
        if watched is None:
            return
        async with watched.lock:
            watched.is_under_way = True
            try:
                watched.listen(report.news)
                await asyncio.to_thread(watched.keep, report.news.record)
            except Exception as error:
                log.debug("match %s cannot be kept", report.match, exc_info=True)
                _stop(watched, error)

    def _see(self, processors: Collection[int]) -> None:
        """What nodes there are now; a match that waits for more processors than any has is offered anew."""
        if not any(processors):
            return  # none yet, or none any more: the next one will be seen
        self._total = self._spec.limits.processors or sum(processors)
        self._largest = max(processors)
        for watched in self._watched.values():
            count = watched.assignment.processors
            if count > self._largest and not watched.is_under_way:
                _stop(watched, MatchLostError(f"no node has {count} processors any more"))


@asynccontextmanager
async def open_venue(spec: TournamentSpec, address: str, tell: Callable[[str], None]) -> AsyncIterator[ClusterVenue]:
    """A cluster for a tournament as long as the block lasts: `ray` starts one, `ray://…` connects to one.

    SettingsError when there is none.
    """
    here = spec.limits.processors or len(usable_processors())
    async with connected(address, here) as cluster:
        venue = ClusterVenue(spec, cluster, await cluster.start_actor(Board), tell)
        await venue.look()
        attending = asyncio.create_task(venue.attend())
        try:
            yield venue
        finally:
            attending.cancel()
            with suppress(asyncio.CancelledError):
                await attending


def _stop(watched: _Watched, error: Exception) -> None:
    if not watched.obstacle.done():
        watched.obstacle.set_result(error)


def _rulesheet(game: GameSpec) -> str:
    return decode(read_bytes(find_rulesheet(game.rules)), game.rules)
