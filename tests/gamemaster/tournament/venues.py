"""A venue in which nothing is played: matches last until a test ends them, and records are sound but made up."""

import asyncio
from collections.abc import Callable, Collection
from typing import TypeAlias

from gamemaster.evaluator import find_source
from gamemaster.match import Listener
from gamemaster.record import Keep, MatchRecord
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.runner import MatchBegun, MatchFailed, MatchFinished, News
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.venue import Job, LocalVenue, Reservation, Shortage
from ggp.gdl.rulesheet import parse_rulesheet
from tests.gamemaster.tournament.store_matches import a_record

Outcome: TypeAlias = Callable[[Job], MatchRecord]


def drawn(job: Job) -> MatchRecord:
    """All roles have the same goal value."""
    return a_record(job.pairing, 2)


class MadeUp:
    """Has the limits of a local_venue; matches end at once, or in the order in which a test ends them."""

    def __init__(
        self, spec: TournamentSpec, outcome: Outcome = drawn, *, processors: int = 2, waits: bool = False
    ) -> None:
        self._spec = spec
        self._room = LocalVenue(spec, lambda _: None, range(processors))
        self._outcome = outcome
        self._waits = waits
        self._ends: dict[str, asyncio.Event] = {}
        self.jobs: list[Job] = []  # in the order in which they began
        self.given_up: list[str] = []  # names of matches
        self.begun = asyncio.Event()

    def needs(self, players: Collection[str]) -> int:
        return self._room.needs(players)

    def reserve(self, players: Collection[str]) -> Reservation | Shortage:
        return self._room.reserve(players)

    def release(self, place: Reservation) -> None:
        self._room.release(place)

    @property
    def under_way(self) -> list[tuple[str, ...]]:
        """Who plays, in the order in which they began."""
        return [job.pairing.players for job in self.jobs if job.match in self._ends]

    def end(self, *players: str) -> None:
        """Ends a match of these, with these roles if there is one."""
        jobs = [job for job in self.jobs if job.match in self._ends and set(job.pairing.players) == set(players)]
        job = next((job for job in jobs if job.pairing.players == players), jobs[0])
        self._ends.pop(job.match).set()

    async def play(self, job: Job, place: Reservation, keep: Keep, listen: Listener) -> MatchRecord:
        self.jobs.append(job)
        self.begun.set()
        if self._waits:
            self._ends[job.match] = asyncio.Event()
            try:
                await self._ends[job.match].wait()
            except asyncio.CancelledError:
                self.given_up.append(job.match)
                raise
        rules = parse_rulesheet(find_source(self._spec.game(job.pairing.game).rules).text)
        return self._outcome(job).model_copy(update={"rulesheet_sha256": rules.sha256})

    async def has_begun(self, count: int) -> None:
        """Waits until so many matches have begun since the beginning."""
        async with asyncio.timeout(120):
            while len(self.jobs) < count:
                self.begun.clear()
                await self.begun.wait()


def lines(news: Collection[News]) -> list[str]:
    """What happened to matches, in words."""
    told = []
    for each in news:
        match each:
            case MatchBegun(job):
                told.append(f"begun {job.match}")
            case MatchFinished(job, _, done, expected):
                told.append(f"finished {job.match} {done}/{expected}")
            case MatchFailed(job, reason, failures):
                told.append(f"failed {job.match} {failures}: {reason}")
    return told


def pairing_of(*players: str, number: int = 0) -> Pairing:
    return Pairing(f"{'-'.join(players)}-{number}", 0, "guessing", players, 1)
