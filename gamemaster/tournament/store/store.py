"""The store of tournaments, and the right to write to one of them."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from pydantic import ValidationError
from sqlalchemy import Connection, select

from gamemaster.record import MatchRecord, now
from gamemaster.tournament.pairings import MatchResult, Pairing, result_of
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.store import leases, reads, writes
from gamemaster.tournament.store.database import Database, open_database
from gamemaster.tournament.store.reads import (
    Counts,
    Listing,
    ManagedBy,
    MatchFilter,
    MatchRow,
    MatchStatus,
    RoleStatistics,
    StoredTournament,
    TournamentStatus,
)
from gamemaster.tournament.store.schema import SINGLES, packed, prepare, tournaments
from gamemaster.tournament.store.writes import Write
from ggp.errors import DamagedStoreError, NotStoredError, StoreError
from ggp.settings import first_error

MOST_ROWS = 10_000  # that one question may ask for


class Store:
    """All calls may come from any thread, wait for the database, and raise a StoreError that names the place.

    Tournaments are asked for by name; the name "" stands for the matches that belong to none. A match of those counts
    as under way as long as the process that plays it lives; once that is dead, the next call about matches gives the
    match up. A thread tells other processes that this one lives, from the first of its own matches until `close`.

    Locking: `_lock` guards `_heart`, `_playing` and `_looked`, and is never held while the database is waited for.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._lock = Lock()
        self._heart: Thread | None = None  # sends the heartbeats of the matches that this process plays
        self._playing: set[str] = set()  # tokens of the records of those matches
        self._looked = -math.inf  # when matches of dead processes were looked for
        self._ended = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The path or URL, for people: without a password."""
        return self._database.place

    def close(self) -> None:
        self._ended.set()
        with self._lock:
            heart = self._heart
        if heart is not None:
            heart.join()
        self._database.close()

    def create(self, spec: TournamentSpec) -> StoredTournament:
        """A new tournament; StoreError where there is one of this name."""
        with self._database.writing() as connection:
            revision = writes.next_revision(connection)
            if spec.name in reads.tournament_ids(connection):
                raise StoreError(f"there is a tournament {spec.name!r} already")
            values = {"name": spec.name, "spec": spec.model_dump_json(), "created": now(), "revision": revision}
            key = connection.execute(tournaments.insert().values(values)).inserted_primary_key
            assert key is not None
            leases.make_lease(connection, key[0])
            return _stored(connection, spec.name)

    def tournament(self, name: str) -> StoredTournament:
        """StoreError where there is none of this name, or its specification cannot be read."""
        with self._database.reading() as connection:
            return _stored(connection, name)

    def tournaments(self) -> tuple[StoredTournament, ...]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return tuple(_stored(connection, name) for name in reads.tournament_ids(connection) if name != SINGLES)

    def manage(self, name: str) -> AbstractContextManager["Manager"]:
        """The right to run a tournament, which one living process has at a time: StoreError, on entering, for others.

        What a dead manager left under way is given up.
        """
        with self._database.reading() as connection:
            return Manager(self._database, name, _id(connection, name))

    def results(self, name: str) -> tuple[MatchResult, ...]:
        """In the order in which their matches were first begun; DamagedStoreError where one cannot be read."""
        with self._database.reading() as connection:
            found, damaged = reads.results_of(connection, reads.tournament_id(connection, name))
            if damaged:
                more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
                raise DamagedStoreError(f"the store is damaged: {damaged[0]}{more}")
            return found

    def readable_results(self, name: str) -> tuple[tuple[MatchResult, ...], tuple[str, ...]]:
        """As `results` without those that are damaged, and a line for each of these."""
        with self._database.reading() as connection:
            return reads.results_of(connection, reads.tournament_id(connection, name))

    def record(self, name: str, pairing: str) -> MatchRecord:
        """The record of a match, also of one that goes on: about as it was a second ago."""
        self._give_up_lost()
        with self._database.reading() as connection:
            return reads.record_of(connection, reads.tournament_id(connection, name), pairing)

    def matches(
        self,
        name: str | None,
        *,
        offset: int = 0,
        limit: int = 100,
        player: str | None = None,
        game: str | None = None,
        status: MatchStatus | None = None,
    ) -> Listing:
        """Some of the matches of a tournament, or with None of all, the one that was begun last first."""
        self._give_up_lost()
        with self._database.reading() as connection:
            number = None if name is None else reads.tournament_id(connection, name)
            wanted = MatchFilter(number, player, game, status)
            return reads.listing(connection, wanted, max(offset, 0), min(max(limit, 0), MOST_ROWS))

    def match(self, name: str, pairing: str) -> MatchRow:
        """NotStoredError where there is none."""
        self._give_up_lost()
        with self._database.reading() as connection:
            row = reads.match_row(connection, reads.tournament_id(connection, name), pairing)
            if row is None:
                raise NotStoredError(f"there is no match {pairing}")
            return row

    def running(self, name: str | None) -> tuple[MatchRow, ...]:
        """The matches under way, the one that was begun last first."""
        return self.matches(name, limit=MOST_ROWS, status="running").rows

    def statistics(self, name: str | None = None) -> tuple[RoleStatistics, ...]:
        """Of the finished matches of a tournament, or of all, by game and in the order of its roles."""
        with self._database.reading() as connection:
            number = None if name is None else reads.tournament_id(connection, name)
            return reads.statistics_of(connection, number)

    def revision(self) -> int:
        """A number that grows with every change."""
        self._give_up_lost()
        with self._database.reading() as connection:
            return reads.revision_of(connection)

    def keep_single(self, record: MatchRecord) -> str:
        """Writes the record of a match that belongs to no tournament, growing or complete, and gives its name there.

        A match that has ended is never changed again.
        """
        self._send_heartbeats(record)
        with self._database.writing() as connection:
            return writes.keep_single(connection, record)

    def end_lost(self) -> list[MatchRecord]:
        """Gives up the matches outside of tournaments whose game master is dead; gives their records."""
        lost = self._end_dead()
        records = []
        for pairing in lost:
            with suppress(StoreError):
                records.append(self.record(SINGLES, pairing))
        return records

    def _give_up_lost(self) -> None:
        """Gives up the matches of dead processes, if that was not tried lately; a later call tries again."""
        with self._lock:
            if self._clock() - self._looked < leases.BEAT:
                return
            self._looked = self._clock()
        with suppress(StoreError):
            self._end_dead()

    def _end_dead(self) -> list[str]:
        """The names of the matches of dead processes, which are given up."""
        with self._database.reading() as connection:
            if not writes.lost_singles(connection):
                return []
        with self._database.writing() as connection:
            return writes.give_up_lost_singles(connection)

    def _send_heartbeats(self, record: MatchRecord) -> None:
        """As long as the match is under way."""
        with self._lock:
            if record.status != "running":
                self._playing.discard(record.token)
                return
            self._playing.add(record.token)
            if self._heart is None:
                self._heart = Thread(target=self._beat, name=f"heartbeats of {self.place}", daemon=True)
                self._heart.start()

    def _beat(self) -> None:
        """A heartbeat that fails is followed by another one soon."""
        while not self._ended.wait(leases.BEAT):
            with self._lock:
                is_playing = bool(self._playing)
            if not is_playing:
                continue
            with suppress(StoreError), self._database.writing() as connection:
                writes.beat_singles(connection)


def open_store(url: str, *, create: bool = True, clock: Callable[[], float] = time.monotonic) -> Store:
    """A path is a file of SQLite; else a URL, `sqlite:///PATH` or `postgresql+psycopg://…`.

    Makes what is missing, unless `create` is False, and brings an older schema to the newest version. StoreError with
    the place for what is not ours, is of a newer version, cannot be written or does not answer.
    """
    database = open_database(url, create=create)
    try:
        prepare(database)
    except BaseException:
        database.close()
        raise
    return Store(database, clock)


def _id(connection: Connection, name: str) -> int:
    if name == SINGLES:
        raise StoreError("a tournament has a name")
    return reads.tournament_id(connection, name)


def _stored(connection: Connection, name: str) -> StoredTournament:
    number = _id(connection, name)
    row = connection.execute(select(tournaments).where(tournaments.c.id == number)).one()
    try:
        spec = TournamentSpec.model_validate_json(row.spec)
    except ValidationError as error:
        raise StoreError(f"the specification of {name} cannot be read: {first_error(error)}") from None
    counts = reads.counts_of(connection, number)
    manager = leases.manager_of(connection, number)
    status = _status(manager, counts, is_complete=row.completed is not None)
    return StoredTournament(spec, status, manager, counts, row.note, row.created, row.revision)


def _status(manager: ManagedBy | None, counts: Counts, *, is_complete: bool) -> TournamentStatus:
    if manager is not None:
        return "running"
    if is_complete:
        return "complete"
    return "new" if counts == Counts() else "interrupted"


KEEP_EVERY = 0.5  # seconds between writes of the growing record of a match


@dataclass(slots=True)
class _Growing:
    """The record of a match under way. `lock` guards the other fields; it is held while the record is written."""

    lock: Lock = field(default_factory=Lock)
    record: MatchRecord | None = None  # that waits to be written
    written: float = -math.inf  # when the one before it was written


class Manager:
    """The right to run one tournament, from `Store.manage`; every write makes sure that it is still held.

    All methods may be called from any thread. A StoreError has changed nothing; when `is_lost`, all later writes
    will be refused too. A thread tells others that this manager lives, and writes the records that came too soon.

    Locking: `_lock` guards the dictionary `_growing`, not its values, and is never held while the database is waited
    for; each value has a lock of its own. So a match waits for the writes of its own record, never for those of others.
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
        self._lock = Lock()
        self._growing: dict[str, _Growing] = {}  # by pairing
        self._beat = clock()  # when the last heartbeat was; of the thread
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
        """Gives up what is under way; should that fail, the next process that claims the tournament does it."""
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
            growing = self._growing.setdefault(pairing.id, _Growing())
        with growing.lock:
            growing.record = record
            self._keep_due(pairing.id, growing)

    def finish(self, pairing: Pairing, record: MatchRecord) -> MatchResult:
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
        """The match was broken off: the pairing is to be played again, and this does not count as a failure."""
        self._forget(pairing)
        with self._writing() as write:
            writes.give_up_match(write, writes.running_match(write, pairing.id), reason)

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

    def _keep_due(self, pairing: str, growing: _Growing) -> None:
        """Writes a record that waits, unless the one before it is too recent; the caller holds its lock."""
        if growing.record is None or self._clock() - growing.written < KEEP_EVERY:
            return
        record = packed(growing.record)
        with self._writing() as write:
            writes.keep_record(write, writes.running_match(write, pairing, record.token), record)
        growing.record = None
        growing.written = self._clock()

    def _forget(self, pairing: Pairing) -> None:
        """Returns when the record of the match is not being written, and will not be."""
        with self._lock:
            growing = self._growing.pop(pairing.id, None)
        if growing is not None:
            with growing.lock:
                growing.record = None

    def _attend(self) -> None:
        while not self._ended.wait(KEEP_EVERY):
            self._tend()

    def _tend(self) -> None:
        """What could not be written now is tried again the next time; `finish` will say what is wrong."""
        with self._lock:
            known = tuple(self._growing.items())
        for pairing, growing in known:
            self._send_heartbeat()
            with growing.lock, suppress(StoreError):
                self._keep_due(pairing, growing)
        self._send_heartbeat()

    def _send_heartbeat(self) -> None:
        if self._clock() - self._beat < leases.BEAT:
            return
        self._beat = self._clock()
        with suppress(StoreError), self._database.writing() as connection:
            if not leases.beat(connection, self._tournament_id, self._token):
                self.is_lost = True


def _change_tournament(write: Write, **values: object) -> None:
    changed = tournaments.update().where(tournaments.c.id == write.tournament_id)
    write.connection.execute(changed.values(revision=write.revision, **values))
