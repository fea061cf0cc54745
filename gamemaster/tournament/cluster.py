"""A tournament on many computers: Ray decides where each match is played."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from gamemaster.concurrency import all_of
from gamemaster.faults import shown
from gamemaster.match import Listener
from gamemaster.record import Keep, MatchRecord
from gamemaster.tournament.node import Assignment, Mailbox, MailboxHandle, NodeReport, play_match
from gamemaster.tournament.runner import MatchLostError
from gamemaster.tournament.spec import GameSpec, TournamentSpec
from gamemaster.tournament.venue import Job, LocalVenue, Reservation, Shortage, usable_processors
from gamemaster.transport import HttpTransport, open_session
from ggp.cluster import connect, one_line
from ggp.errors import GgpError
from ggp.gdl.reader import decode
from ggp.library import find_rulesheet, read_bytes
from ggp.protocol.messages import Abort

T = TypeVar("T")


class NodeLostError(GgpError):
    """The computer that a task ran on died, or cannot be reached any more."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that waits for processors, or runs."""

    reference: Any  # Ray's own
    result: asyncio.Future[Any]


class Cluster:
    """Ray's calls, one after the other in a thread of their own, so that the event loop never waits for them.

    It has to be one thread: what it starts here, Linux kills as soon as the thread that started it ends.
    """

    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self._thread = thread
        self._ray: ModuleType | None = None

    async def connect(self, address: str, processors: int) -> None:
        """`processors` are those of a cluster that is started here. SettingsError where there is none."""
        self._ray = await self.call(partial(connect, address, processors))

    async def disconnect(self) -> None:
        """Stops what was started here."""
        if self._ray is not None:
            await self.call(self._ray.shutdown)

    async def call(self, function: Callable[[], T]) -> T:
        """The result of something that Ray does; when this is cancelled, only after it was done."""
        done = asyncio.get_running_loop().run_in_executor(self._thread, function)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            done.exception()  # it has been looked at
            raise

    async def processors(self) -> Sequence[int]:
        """Of each node that lives."""
        nodes = await self.call(self.ray.nodes)
        return [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]

    async def start(self, function: Callable[..., T], *arguments: object, processors: int, name: str) -> RunningTask:
        """A task on a node that has the processors; they are spread over nodes, and each runs at most once.

        What is asked for once is started, also when this is cancelled: then the task is cancelled too.
        """
        starting = asyncio.ensure_future(self.call(partial(self._start, function, arguments, processors, name)))
        try:
            return self._running(await asyncio.shield(starting))
        except asyncio.CancelledError:
            await self.cancel(self._running(await starting))
            raise

    async def start_actor(self, kind: type, *arguments: object) -> Any:  # noqa: ANN401 - Ray's own
        """An actor without processors, on our own node if possible; when it dies, an empty one is started."""
        return await self.call(partial(self._start_actor, kind, arguments))

    async def ask(self, method: Any) -> Any:  # noqa: ANN401 - Ray's own
        """What a method of an actor gives."""
        return await self.outcome(self._running(await self.call(method.remote)))

    async def outcome(self, running: RunningTask) -> Any:  # noqa: ANN401 - whatever it is
        """What a task gives, or raises; NodeLostError when it was lost without its own fault."""
        errors = self.ray.exceptions
        try:
            return await asyncio.shield(running.result)
        except (errors.NodeDiedError, errors.ObjectLostError):
            raise NodeLostError("the node that it was on died") from None
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception):
                raise cause from None
            raise GgpError(one_line(error)) from None
        except errors.RayError as error:
            raise GgpError(one_line(error)) from None

    async def cancel(self, running: RunningTask, *, at_once: bool = False) -> None:
        """Lets a task end, as Ctrl-C would; at once as kill -9 would."""
        if not running.result.done():
            await self.call(partial(self.ray.cancel, running.reference, force=at_once))

    @property
    def ray(self) -> ModuleType:
        assert self._ray is not None
        return self._ray

    def _start(self, function: Callable[..., T], arguments: Sequence[object], processors: int, name: str) -> Any:  # noqa: ANN401
        remote = self.ray.remote(num_cpus=processors, max_retries=0, scheduling_strategy="SPREAD", name=name)
        return remote(function).remote(*arguments)

    def _start_actor(self, kind: type, arguments: Sequence[object]) -> Any:  # noqa: ANN401
        strategies = import_module("ray.util.scheduling_strategies")
        node = self.ray.get_runtime_context().get_node_id()
        here = strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        return self.ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=here)(kind).remote(*arguments)

    def _running(self, reference: Any) -> RunningTask:  # noqa: ANN401
        result = asyncio.wrap_future(reference.future())
        result.add_done_callback(_look_at)
        return RunningTask(reference, result)


@asynccontextmanager
async def connected(address: str, processors: int) -> AsyncIterator[Cluster]:
    """The cluster at an address as long as the block lasts; `processors` are those of one that is started here."""
    with ThreadPoolExecutor(1, "ray") as thread:
        cluster = Cluster(thread)
        try:
            await cluster.connect(address, processors)
            yield cluster
        finally:
            await cluster.disconnect()


def _look_at(result: asyncio.Future[Any]) -> None:
    """Marks a failure as seen: the match may have been given up by now."""
    if not result.cancelled():
        result.exception()


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

    def __init__(
        self, spec: TournamentSpec, cluster: Cluster, mailbox: MailboxHandle, tell: Callable[[str], None]
    ) -> None:
        self._spec = spec
        self._cluster = cluster
        self._mailbox = mailbox
        self._tell = tell
        self._players = {player.name: player for player in spec.players}
        self._rulesheets = {game.name: _rulesheet(game) for game in spec.games}
        self._room = LocalVenue(spec, tell, ())  # counts matches and external players
        self._watched: dict[str, _Watched] = {}  # by the names of matches
        self._taken = 0  # processors
        self._total = spec.limits.processors or 0  # of all nodes
        self._largest = 0  # of one node; 0 as long as there has been none

    def needs(self, players: Collection[str]) -> int:
        """Processors for a match of these: the threads of its bots, or those of the largest node where that is less."""
        threads = sum(self._players[name].threads for name in players if self._players[name].bot is not None)
        return min(threads, self._largest or threads)  # Ray counts nothing else, so that all bots count here

    def reserve(self, players: Collection[str]) -> Reservation | Shortage:
        """What a match of these needs; to be released when it is over.

        One match is always let in, so that Ray knows what is wanted even when no node is left.
        """
        place = self._room.reserve([name for name in players if self._players[name].url is not None])
        if not isinstance(place, Reservation):
            return place
        needed = self.needs(players)
        if needed and self._taken and self._taken + needed > self._total:
            self._room.release(place)
            return Shortage.PROCESSORS
        self._taken += needed
        return replace(place, processors=tuple(range(needed)))

    def release(self, place: Reservation) -> None:
        self._taken -= len(place.processors)
        self._room.release(replace(place, processors=()))

    async def play(self, job: Job, place: Reservation, keep: Keep, listen: Listener) -> MatchRecord:
        """The record of a whole match, as `run_match` gives it; `MatchLostError` when the node that played it died."""
        await self._room.rest(place.players)
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
        for report in await self._cluster.ask(self._mailbox.take):
            await self._pass_on(report)

    async def attend(self) -> None:
        """Looks again and again. What cannot be seen now may be seen later, and matches go on; it is told once."""
        is_seen = True
        while True:
            try:
                async with asyncio.timeout(LOOK_WAIT):
                    await self.look()
            except Exception as error:  # Ray has many, and is not always installed
                if is_seen:
                    log.warning("the cluster cannot be asked", exc_info=True)
                    self._tell(f"the cluster cannot be asked: {shown(str(error) or type(error).__name__)}")
                is_seen = False
            else:
                if not is_seen:
                    self._tell("the cluster can be asked again")
                is_seen = True
            await asyncio.sleep(LOOK_EVERY)

    async def _record(self, watched: _Watched) -> MatchRecord:
        assignment = watched.assignment
        match, count = assignment.job.match, assignment.processors
        running = await self._cluster.start(play_match, assignment, self._mailbox, processors=count, name=match)
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

    async def _give_up(self, job: Job, running: RunningTask) -> None:
        """Lets the node tell the players, or ends it at once when that takes too long."""
        await self._cluster.cancel(running)
        try:
            async with asyncio.timeout(job.settings.abort_wait + GIVE_UP_WAIT):
                await asyncio.wait([running.result])
        except TimeoutError:
            await self._cluster.cancel(running, at_once=True)

    async def _dismiss(self, job: Job) -> None:
        """Sends ABORT to the external players of a match that was lost."""
        settings = job.settings
        external = [self._players[name] for name in job.pairing.players if self._players[name].url is not None]
        async with open_session() as session:
            limit = settings.max_answer_bytes
            await all_of(
                {
                    player.name: HttpTransport(session, player.address.place, player.name, player.dialect, limit).ask(
                        Abort(job.match), settings.abort_wait
                    )
                    for player in external
                }
            )

    async def _pass_on(self, report: NodeReport) -> None:
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
                if not isinstance(error, GgpError):
                    log.exception("match %s cannot be kept", report.match)
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
        venue = ClusterVenue(spec, cluster, await cluster.start_actor(Mailbox), tell)
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
