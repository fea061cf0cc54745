"""Matches as the API asks for them, live or kept: records, states, pictures, lists; and what other processes play."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from gamemaster.record import MatchRecord
from gamemaster.web.catalogue import Catalogue
from gamemaster.web.evaluators.pool import Pool, Source, state_of
from gamemaster.web.live.feed import Feed
from gamemaster.web.live.match import LiveMatch, Texts
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.models import Match, Matches, MatchesWanted, MatchHead, State, Verdict
from gamemaster.web.problems import Problem, conflict, not_found
from gamemaster.web.repository import MatchRepository, is_wanted
from gamemaster.web.settings import Limits
from gamemaster.web.views import OVER, head_of, match_of, player_of, step_of, ticking, without_evaluations
from ggp.errors import GgpError

log = logging.getLogger(__name__)
_KEPT_REPLAYS = 8
_KEPT_STATES = 300
_EVERY = 0.7  # seconds between two looks
_IDLE_LOOKS = 20  # after which nobody seems to come back


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """A match that was asked for."""

    id: str
    record: MatchRecord | None  # None while it is being prepared
    head: MatchHead
    live: LiveMatch | None
    takes_part: bool = False  # whether it was somebody asking who takes part, while it goes on
    is_secret: bool = False  # whether it is played elsewhere, and humans in it may not know everything

    @property
    def is_hidden(self) -> bool:
        return self.is_secret if self.live is None else self.live.is_hidden


class MatchQueries:
    """All matches."""

    def __init__(
        self, live_matches: LiveMatches, repository: MatchRepository, pool: Pool, catalogue: Catalogue, limits: Limits
    ) -> None:
        self._live_matches = live_matches
        self._repository = repository
        self._pool = pool
        self._catalogue = catalogue
        self._limits = limits
        self._percepts: dict[str, bool] = {}  # SHA-256 of a rulesheet → whether its roles are told percepts
        self._replays: OrderedDict[tuple[str, str, int], tuple[Texts, ...]] = OrderedDict()
        self._drawn: OrderedDict[tuple[str, str, int], State] = OrderedDict()

    async def find(self, match: str) -> FoundMatch:
        """A Problem where there is no such match."""
        live = self._live_matches.get(match)
        if live is not None:
            return FoundMatch(match, live.record, live.head, live)
        kept = await asyncio.to_thread(self._repository.find, match)
        if kept is None:
            raise not_found(f"there is no match {match}")
        record, head = kept.record, kept.head
        own = head_of(record, match, tournament=head.tournament if head else "")
        if head is not None:
            own = own.model_copy(update={"status": head.status, "reason": own.reason or head.reason})
        is_secret = own.status == "running" and await self._has_secrets(record)
        if own.status == "running" and _has_humans(record):  # nobody knows here who takes part
            record = without_evaluations(record)
        return FoundMatch(match, record, own, None, is_secret=is_secret)

    async def _has_secrets(self, record: MatchRecord) -> bool:
        """Whether humans play who are not told everything."""
        if not _has_humans(record):
            return False
        known = self._percepts.get(record.rulesheet_sha256)
        if known is None:
            known = await asyncio.to_thread(self._catalogue.has_percepts, record)
            self._percepts[record.rulesheet_sha256] = known
        return known

    def match(self, found: FoundMatch, first: int = 0) -> Match:
        """The match with its steps from `first` on."""
        if found.live is not None:
            return found.live.match(takes_part=found.takes_part, first=first)
        assert found.record is not None
        is_live = found.head.status == "running"
        clock = ticking(found.record) if is_live else OVER
        return match_of(found.record, found.head, first=first, clock=clock, is_live=is_live, is_hidden=found.is_hidden)

    def source(self, found: FoundMatch) -> Source:
        if found.live is not None:
            return found.live.order.source
        assert found.record is not None
        return self._catalogue.source_of(found.record)

    async def facts(self, found: FoundMatch, step: int) -> Texts:
        """Of a state; a Problem where there is none, or it is not for everybody yet."""
        if found.is_hidden:
            raise Problem(403, "the states of this match are hidden until it is over")
        if found.live is not None and (len(found.live.states) > 0 or not found.live.is_over):
            return found.live.states.facts(step)
        states = await self._states(found)
        if not 0 <= step < len(states):
            raise not_found(f"match {found.id} has no state {step}")
        return states[step]

    async def state(self, found: FoundMatch, step: int) -> State:
        """As `facts`, with the picture."""
        facts = await self.facts(found, step)
        if found.live is not None and (len(found.live.states) > 0 or not found.live.is_over):
            return await found.live.states.draw(step)
        assert found.record is not None
        key = (found.id, found.record.token, step)
        if key not in self._drawn:
            request: dict[str, object] = {"do": "draw", "state": facts}
            if step:
                request |= {"before": await self.facts(found, step - 1), "moves": found.record.steps[step - 1].moves}
            look = await self._pool.ask(self.source(found), request, self._limits.state_seconds)
            self._drawn[key] = state_of(look, step)
            while len(self._drawn) > _KEPT_STATES:
                self._drawn.popitem(last=False)
        self._drawn.move_to_end(key)
        return self._drawn[key]

    async def listing(self, wanted: MatchesWanted) -> Matches:
        """The matches that are being prepared come first, since they are nowhere else."""
        lives = {live.id: live for live in self._live_matches.all()}
        roles = {entry.id: entry.roles for entry in self._catalogue.find()}
        total, heads = await asyncio.to_thread(self._repository.listing, wanted, roles)
        unkept = [live.head for live in lives.values() if live.record is None and is_wanted(live.head, wanted)]
        known = [lives[head.id].head if head.id in lives else head for head in heads]
        shown = (*(unkept if wanted.offset == 0 else ()), *known)
        return Matches(total=total + len(unkept), offset=wanted.offset, matches=shown)

    async def tiltyard(self, found: FoundMatch) -> object:
        """The record as other tools read it."""
        record = _record(found)
        states = await self._states(found) if found.live is None else None
        if states is None:
            states = tuple([await self.facts(found, step) for step in range(len(record.steps) + 1)])
        request = {"do": "export", "record": record.model_dump_json(), "states": states}
        return await self._pool.ask(None, request, self._limits.replay_seconds)

    async def verify(self, found: FoundMatch) -> Verdict:
        """Replays the record against its rules."""
        if found.is_hidden:
            raise Problem(403, "the moves of this match are hidden until it is over")
        request = {"do": "verify", "record": _record(found).model_dump_json()}
        problem = await self._pool.ask(None, request, self._limits.replay_seconds)
        return Verdict(holds=problem is None, problem=problem)

    async def _states(self, found: FoundMatch) -> tuple[Texts, ...]:
        record = _record(found)
        key = (found.id, record.token, len(record.steps))
        if key not in self._replays:
            request = {"do": "states", "steps": [step.moves for step in record.steps]}
            try:
                answer = await self._pool.ask(self.source(found), request, self._limits.replay_seconds)
            except GgpError as error:
                raise conflict(f"the record cannot be replayed: {error}") from None
            self._replays[key] = tuple(map(tuple, answer["states"]))
            while len(self._replays) > _KEPT_REPLAYS:
                self._replays.popitem(last=False)
        self._replays.move_to_end(key)
        return self._replays[key]


def _has_humans(record: MatchRecord) -> bool:
    return any(player_of(player).kind == "human" for player in record.players.values())


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
        state: State | None = None
        with suppress(GgpError, Problem):  # those who watch can ask for it
            state = await self._queries.state(found, step)
        clock = ticking(record) if step == len(record.steps) else None
        feed.publish(
            "step",
            {
                "match": found.head.model_dump(mode="json"),
                "number": step,
                "step": None if found.is_hidden else step_of(record, step - 1).model_dump(mode="json"),
                "state": None if state is None else state.model_dump(mode="json"),
                "clock": None if clock is None else clock.model_dump(mode="json"),
            },
        )
