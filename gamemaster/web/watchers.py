"""Matches and tournaments that other processes play: looked at now and then, as long as somebody listens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gamemaster.record import MatchRecord
from gamemaster.web.depot import Depot
from gamemaster.web.feed import Feed
from gamemaster.web.models import State
from gamemaster.web.problems import Problem
from gamemaster.web.shelf import Found, Shelf
from gamemaster.web.views import OVER, step_of, ticking
from ggp.errors import GgpError

_EVERY = 0.7  # seconds between two looks
_IDLE_LOOKS = 20  # after which nobody seems to come back

log = logging.getLogger(__name__)


class Watchers:
    """One task for each match that is watched, and one for the lists; used in the event loop."""

    def __init__(self, shelf: Shelf, depot: Depot, lobby: Feed) -> None:
        self._shelf = shelf
        self._depot = depot
        self._lobby = lobby
        self._feeds: dict[str, Feed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def match(self, found: Found) -> Feed:
        """The events of a match that another process plays."""
        if found.id not in self._feeds:
            feed = self._feeds[found.id] = Feed()
            self._begin(found.id, lambda: self._follow(found, feed))
        return self._feeds[found.id]

    def lists(self) -> Feed:
        """Told when a list may have changed."""
        self._begin("", self._watch_lists)
        return self._lobby

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
        known = await asyncio.to_thread(self._depot.stamp)
        while idle < _IDLE_LOOKS:
            await asyncio.sleep(_EVERY)
            idle = 0 if self._lobby.listeners else idle + 1
            stamp = await asyncio.to_thread(self._depot.stamp)
            if stamp != known:
                known = stamp
                self._lobby.publish("changed", {})

    async def _follow(self, found: Found, feed: Feed) -> None:
        """Tells each new step, until the match is over or nobody listens."""
        idle, told = 0, found.head.steps
        while idle < _IDLE_LOOKS:
            await asyncio.sleep(_EVERY)
            idle = 0 if feed.listeners else idle + 1
            found = await self._shelf.find(found.id)
            record = found.record
            assert record is not None
            while told < len(record.steps):
                told += 1
                await self._tell(found, record, told, feed)
            if found.head.status != "running":
                feed.publish("end", {"match": found.head.model_dump(mode="json"), "clock": OVER.model_dump()})
                return

    async def _tell(self, found: Found, record: MatchRecord, step: int, feed: Feed) -> None:
        state: State | None = None
        with suppress(GgpError, Problem):  # those who watch can ask for it
            state = await self._shelf.state(found, step)
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
