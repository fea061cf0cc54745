"""Matches as the API asks for them, live or kept: records, states, pictures, lists; and what other processes play."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from gamemaster.evaluator import RulesheetSource
from gamemaster.record import MatchRecord
from gamemaster.web.catalogue import Catalogue
from gamemaster.web.evaluators.pool import Course, DrawnStates, DrawnText, Evaluates, Pool
from gamemaster.web.live.feed import Feed
from gamemaster.web.live.match import LiveMatch
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.models import Match, Matches, MatchesWanted, MatchHead, State, Verdict
from gamemaster.web.repository import MatchRepository, is_wanted
from gamemaster.web.settings import Problem, conflict, not_found
from gamemaster.web.views import (
    OVER,
    STRANGER,
    Sight,
    Viewer,
    head_of,
    hides_moves,
    match_of,
    player_of,
    step_of,
    ticking,
    visible,
    visible_export,
)
from ggp.errors import GgpError

T = TypeVar("T")
log = logging.getLogger(__name__)
_KEPT_VERDICTS = 1000  # of records that were verified last
_EVERY = 0.7  # seconds between two looks
_IDLE_LOOKS = 20  # after which nobody seems to come back


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """A match that was asked for."""

    id: str
    record: MatchRecord | None  # what may be seen of it; None while it is being prepared
    head: MatchHead
    live: LiveMatch | None
    sight: Sight
    viewer: Viewer = STRANGER

    @property
    def is_hidden(self) -> bool:
        return self.sight.hides_moves


class MatchQueries:
    """All matches."""

    def __init__(
        self,
        live_matches: LiveMatches,
        repository: MatchRepository,
        pool: Pool,
        checks: Pool,
        states: DrawnStates,
        catalogue: Catalogue,
    ) -> None:
        self._live_matches = live_matches
        self._repository = repository
        self._pool = pool
        self._checks = checks
        self._catalogue = catalogue
        self._replay_seconds = pool.limits.replay_seconds
        self._percepts: dict[str, bool] = {}  # SHA-256 of a rulesheet → whether its roles are told percepts
        self._verdicts: OrderedDict[str, Verdict] = OrderedDict()  # SHA-256 of a record → what was found
        self._states = states

    async def find(self, match: str, viewer: Viewer = STRANGER) -> FoundMatch:
        """A match as somebody may see it; a Problem where there is no such match."""
        live = self._live_matches.get(match)
        if live is not None:
            sight = live.sight(viewer)
            return FoundMatch(match, live.record and visible(live.record, sight), live.head, live, sight, viewer)
        kept = await asyncio.to_thread(self._repository.find, match)
        if kept is None:
            raise not_found(f"there is no match {match}")
        record, head = kept.record, kept.head
        own = head_of(record, match, tournament=head.tournament if head else "")
        if head is not None:
            own = own.model_copy(update={"status": head.status, "reason": own.reason or head.reason})
        # also of one that has not grown for long: its game master may only be held up
        sight = await self._sight(record) if record.status == "running" else Sight(goes_on=False)
        return FoundMatch(match, visible(record, sight), own, None, sight, viewer)

    async def _sight(self, record: MatchRecord) -> Sight:
        """Of a match that another process plays; nobody knows here who takes part."""
        kinds = [player_of(player).kind for player in record.players.values()]
        return Sight(
            goes_on=True,
            hides_moves=hides_moves(has_percepts=await self._has_percepts(record), kinds=kinds),
            hides_evaluations="human" in kinds,
        )

    async def _has_percepts(self, record: MatchRecord) -> bool:
        known = self._percepts.get(record.rulesheet_sha256)
        if known is None:
            known = await asyncio.to_thread(self._catalogue.has_percepts, record)
            self._percepts[record.rulesheet_sha256] = known
        return known

    def match(self, found: FoundMatch, first: int = 0) -> Match:
        """The match with its steps from `first` on."""
        if found.live is not None:
            return found.live.match(found.viewer, first=first)
        assert found.record is not None
        clock = ticking(found.record) if found.sight.goes_on else OVER
        return match_of(found.record, found.head, found.sight, clock, first=first)

    def source(self, found: FoundMatch) -> RulesheetSource:
        if found.live is not None:
            return found.live.order.source
        assert found.record is not None
        return self._catalogue.source_of(found.record)

    def course(self, found: FoundMatch) -> Course:
        """The moves of a match, from which its states follow; a Problem where they are not for everybody yet."""
        if found.is_hidden:
            raise Problem(403, "the states of this match are hidden until it is over")
        if found.live is not None:
            return found.live.course
        record = _record(found)
        name = f"{found.id} {record.started.isoformat()}"
        return Course(name, self.source(found), [step.moves for step in record.steps])

    async def state(self, found: FoundMatch, step: int) -> State:
        """A state with its picture; a Problem where there is none, or it is not for everybody yet."""
        return (await self.drawn(found, step)).state

    async def drawn(self, found: FoundMatch, step: int) -> DrawnText:
        """As `state`, with its text."""
        return await self._shown(self._states.drawn, found, step)

    async def picture(self, found: FoundMatch, step: int) -> str:
        """As `state`, as a file of its own."""
        return await self._shown(self._states.picture, found, step)

    async def listing(self, wanted: MatchesWanted) -> Matches:
        """The matches that are being prepared come first, since they are nowhere else."""
        lives = {live.id: live for live in self._live_matches.all()}
        roles = {entry.id: entry.roles for entry in self._catalogue.find()}
        total, heads = await asyncio.to_thread(self._repository.listing, wanted, roles)
        unkept = [live.head for live in lives.values() if live.record is None and is_wanted(live.head, wanted)]
        known = [lives[head.id].head if head.id in lives else head for head in heads]
        shown = (*(unkept if wanted.offset == 0 else ()), *known)
        return Matches(total=total + len(unkept), offset=wanted.offset, matches=shown)

    async def tiltyard(self, found: FoundMatch) -> str:
        """The record as other tools read it; a Problem where moves and states are not for everybody yet."""
        course = self.course(found)
        request = {"do": "export", "record": _record(found).model_dump_json(), **course.at(len(course.steps))}
        checks = self._checks.of(found.viewer.visitor)
        exported = await checks.ask(course.source, request, self._replay_seconds)
        return await asyncio.to_thread(visible_export, exported, found.sight)

    async def verify(self, found: FoundMatch) -> Verdict:
        """Replays the record against its rules and its seed, which is known when the match is over; done once."""
        if found.is_hidden:
            raise Problem(403, "the moves of this match are hidden until it is over")
        if found.sight.goes_on:
            raise conflict("a record is verified when the match is over")
        text = await asyncio.to_thread(_record(found).model_dump_json)
        key = sha256(text.encode()).hexdigest()
        if key not in self._verdicts:
            checks = self._checks.of(found.viewer.visitor)
            problem = await checks.ask(None, {"do": "verify", "record": text}, self._replay_seconds)
            self._verdicts[key] = Verdict(holds=problem is None, problem=problem)
        self._verdicts.move_to_end(key)
        while len(self._verdicts) > _KEPT_VERDICTS:
            self._verdicts.popitem(last=False)
        return self._verdicts[key]

    async def _shown(
        self, draw: Callable[[Evaluates, Course, int, float], Awaitable[T]], found: FoundMatch, step: int
    ) -> T:
        """A state as one of the functions of `DrawnStates` draws it."""
        share = self._pool.of(found.viewer.visitor)
        try:
            return await draw(share, self.course(found), step, self._replay_seconds)
        except GgpError as error:
            raise conflict(f"the record cannot be replayed: {error}") from None


def _record(found: FoundMatch) -> MatchRecord:
    if found.record is None:
        raise conflict("the match has not begun yet")
    return found.record


class Watchers:
    """One task for each match that is watched, and one for the lists; used in the event loop."""

    def __init__(self, queries: MatchQueries, repository: MatchRepository, changes: Feed) -> None:
        self._queries = queries
        self._repository = repository
        self._changes = changes
        self._feeds: dict[str, Feed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def match(self, found: FoundMatch) -> Feed:
        """The events of a match that another process plays."""
        if found.id not in self._feeds:
            feed = self._feeds[found.id] = Feed()
            self._begin(found.id, lambda: self._follow(found, feed))
        return self._feeds[found.id]

    def lists(self) -> Feed:
        """Told when a list may have changed."""
        self._begin("", self._watch_lists)
        return self._changes

    async def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _begin(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        if name in self._tasks:
            return

        async def run() -> None:
            try:
                await work()
            except (GgpError, Problem) as error:
                log.warning("watching %s: %s", name or "the store", error)
            finally:
                self._tasks.pop(name, None)
                feed = self._feeds.pop(name, None)
                if feed is not None:
                    feed.end()

        self._tasks[name] = asyncio.get_running_loop().create_task(run())

    async def _watch_lists(self) -> None:
        idle = 0
        known = await asyncio.to_thread(self._repository.revision)
        while idle < _IDLE_LOOKS:
            await asyncio.sleep(_EVERY)
            idle = 0 if self._changes.listeners else idle + 1
            stamp = await asyncio.to_thread(self._repository.revision)
            if stamp != known:
                known = stamp
                self._changes.publish("changed", {})

    async def _follow(self, found: FoundMatch, feed: Feed) -> None:
        """Tells each new step, until the match is over or nobody listens."""
        idle, told = 0, found.head.steps
        while idle < _IDLE_LOOKS:
            await asyncio.sleep(_EVERY)
            idle = 0 if feed.listeners else idle + 1
            found = await self._queries.find(found.id)
            record = found.record
            assert record is not None
            while told < len(record.steps):
                told += 1
                await self._tell(found, record, told, feed)
            if found.head.status != "running":
                feed.publish("end", {"match": found.head.model_dump(mode="json"), "clock": OVER.model_dump()})
                return

    async def _tell(self, found: FoundMatch, record: MatchRecord, step: int, feed: Feed) -> None:
        state = "null"
        with suppress(GgpError, Problem):  # those who watch can ask for it
            state = (await self._queries.drawn(found, step)).text
        clock = ticking(record) if step == len(record.steps) else None
        feed.publish(
            "step",
            {
                "match": found.head.model_dump(mode="json"),
                "number": step,
                "step": None if found.is_hidden else step_of(record, step - 1).model_dump(mode="json"),
                "clock": None if clock is None else clock.model_dump(mode="json"),
            },
            state=state,
        )
