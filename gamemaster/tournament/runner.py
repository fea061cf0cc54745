"""Specification and store → a tournament that is played as far as it is not played yet, and news of it."""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, Protocol, TypeAlias, TypeVar

from gamemaster.concurrency import all_of
from gamemaster.faults import shown
from gamemaster.match import Event, Listener
from gamemaster.record import Keep, MatchRecord
from gamemaster.settings import derived
from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.ratings import sprt_of
from gamemaster.tournament.schedule import Schedule, schedule_of
from gamemaster.tournament.spec import SprtSpec, TournamentSpec
from gamemaster.tournament.spec_files import check_same_rules, check_spec, openings_of
from gamemaster.tournament.store import Manager, MatchRow, Store
from gamemaster.tournament.venue import Job, Reservation, Shortage
from gamemaster.transport import HttpTransport, Reply, open_session
from ggp.elo import bounds, log_likelihood_ratio
from ggp.errors import DamagedStoreError, GgpError, StoreError
from ggp.protocol.messages import Abort


@dataclass(frozen=True, slots=True)
class Opened:
    """The right to run it was given; the first matches are about to begin."""

    spec: TournamentSpec
    results: tuple[MatchResult, ...]  # of before
    expected: int  # matches in all, those with results included; of a knock-out an estimate


@dataclass(frozen=True, slots=True)
class MatchBegun:
    """A match was given its place; its bots may have to be started first."""

    job: Job


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """Something happened in a match."""

    job: Job
    event: Event


@dataclass(frozen=True, slots=True)
class MatchFinished:
    """A match has a result, and the store has it."""

    job: Job
    result: MatchResult
    done: int  # matches with results
    expected: int


@dataclass(frozen=True, slots=True)
class MatchFailed:
    """A match could not be played by our own fault; it will be played again, or everything stops."""

    job: Job
    reason: str
    failures: int  # of this match, since the tournament was opened
    is_void: bool = False  # a player was not reached: that is no fault of our own


@dataclass(frozen=True, slots=True)
class SprtProgress:
    """How the sequential test stands."""

    pairs: int
    llr: float  # logarithm of the likelihood ratio
    lower: float  # at which the first player is no better
    upper: float  # at which it is better


@dataclass(frozen=True, slots=True)
class Notice:
    """A line of text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Closed:
    """No match is under way any more, and no other will be begun."""

    note: str  # why not all was played; empty when it was


News: TypeAlias = Opened | MatchBegun | MatchEvent | MatchFinished | MatchFailed | SprtProgress | Notice | Closed
NewsListener: TypeAlias = Callable[[News], None]


T = TypeVar("T")

ATTEMPTS = 3  # of a match that fails by our own fault, until everything stops
RETRY_WAITS = (1.0, 5.0)  # seconds before the second attempt and before the third

log = logging.getLogger(__name__)


class TournamentError(GgpError):
    """A tournament that cannot go on; `ggp tournament resume` takes it up where it is."""


class VoidMatchError(GgpError):
    """A match in which a player was never reached; it is played again a few times."""


class MatchLostError(GgpError):
    """A match was lost with the computer that played it; it is played again, however often that happens."""


class Venue(Protocol):
    """Where matches are played; `LocalVenue` is this computer."""

    def needs(self, players: Collection[str]) -> int:
        """Processors for a match of these."""

    def reserve(self, players: Collection[str]) -> Reservation | Shortage:
        """What a match of these needs, to be released when it is over; or why it has to wait."""

    def release(self, place: Reservation) -> None: ...

    async def play(self, job: Job, place: Reservation, keep: Keep, listen: Listener) -> MatchRecord:
        """The record of a whole match, as `run_match` gives it; whatever it raises is our own fault."""


async def run_tournament(spec: TournamentSpec, store: Store, venue: Venue, listen: NewsListener) -> str:
    """Plays what has no result yet; why not all had to be played, empty when it was.

    The tournament must be in the store. When cancelled, it gives up the matches under way, and the next run
    plays them anew. StoreError when another process runs it; SettingsError when a game has other rules than those
    that its results came of; `TournamentError` when a match cannot be played.
    """
    roles = await asyncio.to_thread(check_spec, spec)
    left = await asyncio.to_thread(store.running, spec.name)
    with store.manage(spec.name) as manager:
        results = await asyncio.to_thread(store.results, spec.name)
        if store.tournament(spec.name).status != "complete":  # else it is only shown
            await check_same_rules(spec, await asyncio.to_thread(_first_records, spec.name, store, results))
        schedule = await asyncio.to_thread(schedule_of, spec, roles, results)
        await _dismiss(spec, schedule, left)
        run = _Run(spec, manager, schedule, venue, listen)
        run.take_up(results)
        del results  # they are not needed any more, and it may take days
        note = await run.run()
        await asyncio.to_thread(manager.complete, note)
    listen(Closed(note))
    return note


def _first_records(tournament: str, store: Store, results: Sequence[MatchResult]) -> dict[str, MatchRecord]:
    """Game → the record of its first result, where it can be read."""
    records: dict[str, MatchRecord] = {}
    for game, match in {result.pairing.game: result.pairing.id for result in reversed(results)}.items():
        with suppress(DamagedStoreError):
            records[game] = store.record(tournament, match)
    return records


def match_name(pairing: Pairing, attempt: int, *, scramble: bool) -> str:
    """The name of a match in the messages to players; it does not give a scrambled game away.

    Each attempt has another, because a player may not have heard that the one before was given up.
    """
    name = f"match-{derived(pairing.seed, 'match'):016x}" if scramble else pairing.id
    return name if attempt == 1 else f"{name}-{attempt}"


class _Run:
    """A tournament under way."""

    def __init__(
        self, spec: TournamentSpec, manager: Manager, schedule: Schedule, venue: Venue, listen: NewsListener
    ) -> None:
        self._spec = spec
        self._manager = manager
        self._schedule = schedule
        self._venue = venue
        self._listen = listen
        self._waiting = Waiting()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._failures: Counter[str] = Counter()
        self._voids: Counter[str] = Counter()
        self._openings: dict[str, tuple[str, ...]] = {}  # by the names of games
        self._obstacle: GgpError | None = None  # why it cannot go on
        self._note = ""  # why it need not go on
        self._test = None if spec.sprt is None else SequentialTest(spec, spec.sprt)
        self._done = 0

    def take_up(self, results: Sequence[MatchResult]) -> None:
        """Where it was left, after these results."""
        self._waiting.add(self._schedule.open)
        self._done = len(results)
        self._listen(Opened(self._spec, tuple(results), self._schedule.expected))
        for result in results:
            self._look(result)

    async def run(self) -> str:
        """Plays the rest; why not all had to be played."""
        self._openings = await asyncio.to_thread(openings_of, self._spec)
        async with asyncio.TaskGroup() as group:
            while not self._note and self._obstacle is None:
                self._changed.clear()
                self._begin_matches(group)
                if not self._tasks:
                    break
                await self._changed.wait()
            for task in self._tasks:
                task.cancel()
        if self._obstacle is not None:
            raise self._obstacle
        assert self._note or self._schedule.is_complete
        return self._note

    def _begin_matches(self, group: asyncio.TaskGroup) -> None:
        """Begins as many as there are places for; what waits for processors is not overtaken by what needs fewer."""
        is_scarce = False

        def begin(pairing: Pairing) -> bool | None:
            nonlocal is_scarce
            if is_scarce and self._venue.needs(pairing.players):
                return False
            place = self._venue.reserve(pairing.players)
            if not isinstance(place, Reservation):
                is_scarce = is_scarce or place is Shortage.PROCESSORS
                return None if place is Shortage.MATCHES else False
            task = group.create_task(self._play(pairing, place))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
            return True

        self._waiting.take(begin)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed.set()

    async def _play(self, pairing: Pairing, place: Reservation) -> None:
        """One attempt at a match."""
        try:
            job = await self._job(pairing)
            self._listen(MatchBegun(job))
            outcome = await self._outcome(job, place)
        except StoreError as error:
            self._obstacle = error
            return
        finally:
            self._venue.release(place)
        if isinstance(outcome, Exception):
            await self._fail(job, outcome)
            return
        self._waiting.add(self._schedule.add(outcome))
        self._done += 1
        self._listen(MatchFinished(job, outcome, self._done, self._schedule.expected))
        self._look(outcome)

    async def _job(self, pairing: Pairing) -> Job:
        attempt = await _whole(partial(self._manager.begin, pairing))
        settings = self._spec.settings_of(pairing.game, pairing.seed)
        openings = self._openings[pairing.game]
        opening = openings[pairing.round % len(openings)] if openings else ""
        return Job(pairing, attempt, match_name(pairing, attempt, scramble=settings.scramble), settings, opening)

    async def _outcome(self, job: Job, place: Reservation) -> MatchResult | Exception:
        """A result, or what went wrong: that is our own fault, since what players do wrong is in the record."""
        try:
            record = await self._venue.play(job, place, self._keep(job.pairing), self._listener(job))
            if record.status == "void" and self._voids[job.pairing.id] + 1 < self._spec.limits.attempts:
                return VoidMatchError(record.reason or "")
            return await self._finish(job.pairing, record)
        except Exception as error:
            if not isinstance(error, GgpError):  # a fault of this program: what is told of it is one line
                log.exception("match %s failed", job.pairing.id)
            return error

    def _keep(self, pairing: Pairing) -> Keep:
        def keep(record: MatchRecord) -> None:
            try:
                self._manager.keep(pairing, record)
            except StoreError:
                if self._manager.is_lost:
                    raise  # otherwise the result will do, once the match is over

        return keep

    def _listener(self, job: Job) -> Listener:
        def listen(event: Event) -> None:
            self._listen(MatchEvent(job, event))

        return listen

    async def _finish(self, pairing: Pairing, record: MatchRecord) -> MatchResult:
        for wait in RETRY_WAITS:
            try:
                return await _whole(partial(self._manager.finish, pairing, record))
            except StoreError:
                if self._manager.is_lost:
                    raise
            await asyncio.sleep(wait)
        return await _whole(partial(self._manager.finish, pairing, record))

    async def _fail(self, job: Job, error: Exception) -> None:
        """Lets the match be played again a little later, or everything stop; a lost match is played again at once."""
        pairing, reason = job.pairing, _reason(error)
        is_lost, is_void = isinstance(error, MatchLostError), isinstance(error, VoidMatchError)
        is_own = not (is_lost or is_void)
        try:
            await _whole(partial(self._manager.fail if is_own else self._manager.give_up, pairing, reason))
        except StoreError as refused:
            self._obstacle = refused
            return
        self._failures[pairing.id] += is_own
        self._voids[pairing.id] += is_void
        failures = self._failures[pairing.id]
        self._listen(MatchFailed(job, reason, self._voids[pairing.id] if is_void else failures, is_void))
        if failures >= ATTEMPTS:
            self._obstacle = TournamentError(f"match {pairing.id} could not be played in {failures} attempts: {reason}")
            return
        self._changed.set()
        if not is_lost:
            await asyncio.sleep(RETRY_WAITS[max(0, failures - 1)])
        self._waiting.put_back(pairing)

    def _look(self, result: MatchResult) -> None:
        """Whether the sequential test, where there is one, has come to its end."""
        tested = None if self._test is None else self._test.add(result)
        if self._test is None or tested is None:
            return
        self._listen(tested)
        self._note = self._note or self._test.verdict(tested)


async def _dismiss(spec: TournamentSpec, schedule: Schedule, left: Sequence[MatchRow]) -> None:
    """Tells external players that the matches are over which a manager left under way when it died."""
    players = {player.name: player for player in spec.players if player.url is not None}
    pairings = {pairing.id: pairing for pairing in schedule.pairings} if left else {}
    if not pairings or not players:
        return
    async with open_session() as session:
        asked: dict[str, Coroutine[Any, Any, Reply]] = {}
        for row in left:
            if row.pairing not in pairings:
                continue
            settings = spec.settings_of(row.game, 0)
            match = match_name(pairings[row.pairing], row.attempt, scramble=settings.scramble)
            for player in (players[name] for name in row.players if name in players):
                url, limit = player.address.place, settings.max_answer_bytes
                transport = HttpTransport(session, url, player.name, player.dialect, limit)
                asked[f"{row.pairing} {player.name}"] = transport.ask(Abort(match), settings.abort_wait)
        await all_of(asked)


async def _whole(call: Callable[[], T]) -> T:
    """The result of a call in a thread; when this is cancelled, only after the call has ended."""
    task = asyncio.create_task(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        task.exception()  # it has been looked at
        raise


def _reason(error: Exception) -> str:
    return shown(str(error) if isinstance(error, GgpError) else f"{type(error).__name__}: {error}")


Players: TypeAlias = tuple[str, ...]  # sorted: who wait together


class Waiting:
    """All that wait, by who is to play: pairings of the same players need the same place.

    A look costs some microseconds for each set of players that wait together, however many pairings there are.
    """

    def __init__(self) -> None:
        self._queues: defaultdict[Players, deque[tuple[int, Pairing]]] = defaultdict(deque)
        self._order: dict[str, int] = {}  # by the ids of pairings
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, pairings: Iterable[Pairing]) -> None:
        """They come after all that were added before."""
        for pairing in pairings:
            self._order[pairing.id] = len(self._order)
            self._queues[_players(pairing)].append((self._order[pairing.id], pairing))
            self._count += 1

    def put_back(self, pairing: Pairing) -> None:
        """One that was taken waits again, before those that were added after it."""
        queue = self._queues[_players(pairing)]
        queue.append((self._order[pairing.id], pairing))
        self._queues[_players(pairing)] = deque(sorted(queue, key=lambda each: each[0]))
        self._count += 1

    def take(self, is_taken: Callable[[Pairing], bool | None]) -> None:
        """Offers the pairings in order, and removes those that are taken.

        After a pairing that was refused (False), no other of the same players is offered; after None, none at all.
        """
        heads = [(queue[0][0], players) for players, queue in self._queues.items()]
        heapify(heads)
        while heads:
            _, players = heappop(heads)
            queue = self._queues[players]
            answer = is_taken(queue[0][1])
            if answer is None:
                return
            if not answer:
                continue
            queue.popleft()
            self._count -= 1
            if queue:
                heappush(heads, (queue[0][0], players))
            else:
                del self._queues[players]


def _players(pairing: Pairing) -> Players:
    return tuple(sorted(pairing.players))


class SequentialTest:
    """Counts the pairs of matches of two players; keeps only the results whose partners are missing."""

    def __init__(self, spec: TournamentSpec, sprt: SprtSpec) -> None:
        self._sprt = sprt
        self._first, self._second = (player.name for player in spec.players)
        self._pairs = [0] * 5
        self._halves: dict[str, MatchResult] = {}

    def add(self, result: MatchResult) -> SprtProgress | None:
        """How the test stands, when the result completes a pair."""
        half = self._halves.pop(result.pairing.group, None)
        if half is None:
            self._halves[result.pairing.group] = result
            return None
        sprt = self._sprt
        pair = sprt_of((half, result), sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta, player=self._first).pairs
        self._pairs = [before + new for before, new in zip(self._pairs, pair, strict=True)]
        ratio = log_likelihood_ratio(self._pairs, sprt.elo0, sprt.elo1)
        return SprtProgress(sum(self._pairs), ratio, *bounds(sprt.alpha, sprt.beta))

    def verdict(self, tested: SprtProgress) -> str:
        """What was found out, as one line; empty as long as it is open."""
        if tested.lower < tested.llr < tested.upper:
            return ""
        elo1, elo0 = f"{self._sprt.elo1:g}", f"{self._sprt.elo0:g}"
        holds, other = (elo1, elo0) if tested.llr >= tested.upper else (elo0, elo1)
        return (
            f"{self._first} is stronger than {self._second} by {holds} Elo rather than {other}: "
            f"log-likelihood ratio {tested.llr:.2f} after {tested.pairs} pairs of matches"
        )
