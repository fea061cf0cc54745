"""What a node of a cluster does: a match that the manager has sent it, on processors of its own."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gamemaster.evaluator import RulesheetSource
from gamemaster.match import Event
from gamemaster.record import MatchRecord
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.venue import Job, LocalVenue, Reservation, usable_processors

REPORT_EVERY = 1.0  # seconds at least between two reports of a match

MailboxHandle: TypeAlias = Any  # of a `Mailbox` that is an actor of Ray


@dataclass(frozen=True, slots=True)
class Assignment:
    """A match, with all that a node needs for it but the programs."""

    job: Job
    spec: TournamentSpec
    rulesheet: str  # of the game: the manager's files are not there
    processors: int


@dataclass(frozen=True, slots=True)
class NodeReport:
    """An event of a match, or a line about its bots for the user."""

    match: str
    news: Event | str


class Mailbox:
    """Where nodes leave their reports and the manager finds them; an actor of Ray."""

    def __init__(self) -> None:
        self._reports: list[NodeReport] = []

    def put(self, report: NodeReport) -> None:
        self._reports.append(report)

    def take(self) -> list[NodeReport]:
        """All that were not taken yet, in order."""
        taken, self._reports = self._reports, []
        return taken


def play_match(assignment: Assignment, mailbox: MailboxHandle) -> MatchRecord:
    """The record of a whole match; a task of Ray. When it is cancelled, the players are told ABORT."""
    return asyncio.run(_play(assignment, mailbox))


async def _play(assignment: Assignment, mailbox: MailboxHandle) -> MatchRecord:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)  # which is how Ray cancels
    job = assignment.job

    def tell(text: str) -> None:
        mailbox.put.remote(NodeReport(job.match, text))

    def find(rules: str) -> RulesheetSource:
        return RulesheetSource(Path(rules).stem, assignment.rulesheet)

    with _claimed(assignment) as numbers:
        limits = {"matches": None, "processors": None, "pin": numbers is not None}
        spec = assignment.spec.model_copy(update={"limits": assignment.spec.limits.model_copy(update=limits)})
        venue = LocalVenue(spec, tell, range(assignment.processors) if numbers is None else numbers, find)
        place = venue.reserve(job.pairing.players)
        assert isinstance(place, Reservation)
        async with _reporting(job.match, mailbox) as reporter:
            try:
                return await venue.play(job, place, _keep_nothing, reporter.listen)
            finally:
                await venue.close()


def _claimed(assignment: Assignment) -> AbstractContextManager[Sequence[int] | None]:
    """Processors that bots are pinned to; None where they are not."""
    return claimed(assignment.processors) if assignment.spec.limits.pin else nullcontext()


class _Reporter:
    """Sends the newest event of a match once a second; the match does not wait for it, and a report may get lost."""

    def __init__(self, match: str, mailbox: MailboxHandle) -> None:
        self._match = match
        self._mailbox = mailbox
        self._latest: Event | None = None
        self._changed = asyncio.Event()

    def listen(self, event: Event) -> None:
        self._latest = event
        self._changed.set()

    async def send(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            assert self._latest is not None
            self._mailbox.put.remote(NodeReport(self._match, self._latest))
            await asyncio.sleep(REPORT_EVERY)


@asynccontextmanager
async def _reporting(match: str, mailbox: MailboxHandle) -> AsyncIterator[_Reporter]:
    reporter = _Reporter(match, mailbox)
    sending = asyncio.create_task(reporter.send())
    try:
        yield reporter
    finally:
        sending.cancel()


def _keep_nothing(_: MatchRecord) -> None:
    """The manager keeps the records of the events that it gets."""


@contextmanager
def claimed(count: int, folder: Path | None = None) -> Iterator[Sequence[int] | None]:
    """So many processors for this process alone; None where fewer are free, or the system cannot tell.

    Ray counts processors but has no numbers for them. A claim is the lock on a byte of a file, which the system gives
    back however the process ends.
    """
    file = _open(folder or Path(tempfile.gettempdir()))
    try:
        numbers = _lock(file, count)
        yield numbers if len(numbers) == count else None
    finally:
        if file is not None:
            os.close(file)


def _open(folder: Path) -> int | None:
    """A file that only this user can open; None where that is not to be had."""
    if not hasattr(os, "getuid"):
        return None
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(folder / f"ggp-processors-{os.getuid()}", flags, 0o600)
    except OSError:
        return None


def _lock(file: int | None, count: int) -> Sequence[int]:
    if file is None:
        return ()
    import fcntl  # noqa: PLC0415 - there is none where there are no users

    taken: list[int] = []
    for number in usable_processors():
        if len(taken) == count:
            break
        with suppress(OSError):  # another process has it
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            taken.append(number)
    return taken
