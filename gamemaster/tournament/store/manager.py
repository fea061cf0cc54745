"""What the one manager of a tournament may write."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from gamemaster.record import MatchRecord, now
from gamemaster.tournament.results import Pairing, Result, result_of
from gamemaster.tournament.store import leases, reads, writes
from gamemaster.tournament.store.database import Database
from gamemaster.tournament.store.packing import packed
from gamemaster.tournament.store.tables import tournaments
from gamemaster.tournament.store.values import StoredRating
from gamemaster.tournament.store.writes import Write
from ggp.errors import StoreError

KEEP_EVERY = 0.5  # seconds between writes of the growing record of a match


class Manager:
    """The right to run one tournament, from `Store.manage`; every write makes sure that it is still held.

    All methods may be called from any thread. A StoreError has changed nothing; when `is_lost`, all later writes
    will be refused too. A thread tells others that this manager lives, and writes the records that came too soon.
    """

    def __init__(
        self, database: Database, name: str, tournament_id: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self.is_lost = False  # another manager took the tournament over
        self._database = database
        self._tournament_id = tournament_id
        self._clock = clock
        self._token = 0
        self._lock = Lock()  # over the next two
        self._kept: dict[str, float] = {}  # pairing → when its record was written last
        self._waiting: dict[str, MatchRecord] = {}  # pairing → a record that came too soon after that
        self._beat = clock()  # when the last heartbeat was
        self._ended = Event()
        self._thread = Thread(target=self._attend, name=f"store of {name}", daemon=True)

    def __enter__(self) -> Self:
        with self._database.writing() as connection:
            write = Write(connection, self._tournament_id, writes.next_revision(connection))
            self._token = leases.claim(connection, self._tournament_id, self.name)
            writes.give_up_all(write, "its manager ended")
            _change_tournament(write)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Gives up what is under way; should that fail, whoever claims the tournament next does it."""
        self._ended.set()
        self._thread.join()
        with suppress(StoreError), self._writing() as write:
            writes.give_up_all(write, "its manager stopped")
            leases.release(write.connection, self._tournament_id)
            _change_tournament(write)

    def begin(self, pairing: Pairing) -> int:
        """The number of the attempt, from 1; StoreError where the pairing has a result or is being played."""
        with self._writing() as write:
            writes.reopen(write)
            match = writes.find_match(write, pairing.id)
            if match is None:
                writes.insert_match(write, pairing)
                return 1
            stored = reads.pairing_of(write.connection, match.id)
            if stored != pairing:
                raise StoreError(f"the schedule has changed: match {pairing.id} was {stored}, not {pairing}")
            return writes.begin_again(write, pairing.id, match)

    def keep(self, pairing: Pairing, record: MatchRecord) -> None:
        """Writes the record of a match under way, at once or within a second; a complete one is for `finish`."""
        if record.status != "running":
            return
        with self._lock:
            self._waiting[pairing.id] = record
            self._keep_due(pairing.id)

    def finish(self, pairing: Pairing, record: MatchRecord) -> Result:
        """Writes record, result and faults of a complete match, all or nothing; once more changes nothing."""
        if record.status in ("running", "aborted"):
            raise StoreError(f"{self._database.place}: match {pairing.id} has no result: it is {record.status}")
        result = result_of(pairing, record)
        data = packed(record)
        self._forget(pairing)
        with self._writing() as write:
            match = writes.find_match(write, pairing.id)
            if match is None or (match.status, match.token) != ("finished", record.token):
                match = writes.running_match(write, pairing.id, record.token)
                writes.finish_match(write, match, data, result)
        return result

    def fail(self, pairing: Pairing, reason: str) -> int:
        """An attempt failed by our own fault, and the pairing is to be played again; how often that has happened."""
        self._forget(pairing)
        with self._writing() as write:
            return writes.fail_match(write, writes.running_match(write, pairing.id), reason)

    def give_up(self, pairing: Pairing, reason: str) -> None:
        """Nobody is to blame: the pairing is to be played again, and this does not count."""
        self._forget(pairing)
        with self._writing() as write:
            writes.give_up_match(write, writes.running_match(write, pairing.id), reason)

    def save_ratings(self, values: Sequence[StoredRating]) -> None:
        """Replaces all ratings of the tournament."""
        with self._writing() as write:
            reads.put_ratings(write.connection, self._tournament_id, values)
            _change_tournament(write)

    def complete(self, note: str = "") -> None:
        """All has been played, or `note` says why no more is needed; beginning another match takes it back."""
        with self._writing() as write:
            _change_tournament(write, completed=now(), note=note)

    @contextmanager
    def _writing(self) -> Iterator[Write]:
        with self._database.writing() as connection:
            write = Write(connection, self._tournament_id, writes.next_revision(connection))
            try:
                leases.check(connection, self._tournament_id, self.name, self._token)
            except StoreError:
                self.is_lost = True
                raise
            yield write

    def _keep_due(self, pairing: str) -> None:
        """Writes a record that waits, unless the one before it is too recent."""
        last = self._kept.get(pairing)
        if last is not None and self._clock() - last < KEEP_EVERY:
            return
        record = packed(self._waiting[pairing])
        with self._writing() as write:
            writes.keep_record(write, writes.running_match(write, pairing, record.token), record)
        del self._waiting[pairing]
        self._kept[pairing] = self._clock()

    def _forget(self, pairing: Pairing) -> None:
        with self._lock:
            self._waiting.pop(pairing.id, None)
            self._kept.pop(pairing.id, None)

    def _attend(self) -> None:
        while not self._ended.wait(KEEP_EVERY):
            self._tend()

    def _tend(self) -> None:
        """What could not be written now is tried again the next time; `finish` will say what is wrong."""
        with self._lock:
            for pairing in tuple(self._waiting):
                with suppress(StoreError):
                    self._keep_due(pairing)
        if self._clock() - self._beat < leases.BEAT:
            return
        self._beat = self._clock()
        with suppress(StoreError), self._database.writing() as connection:
            if not leases.beat(connection, self._tournament_id, self._token):
                self.is_lost = True


def _change_tournament(write: Write, **values: object) -> None:
    changed = tournaments.update().where(tournaments.c.id == write.tournament_id)
    write.connection.execute(changed.values(revision=write.revision, **values))
