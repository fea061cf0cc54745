"""The store of tournaments: specifications, matches, results and records, in a file or on a server."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from pydantic import ValidationError
from sqlalchemy import Connection, select

from gamemaster.record import MatchRecord, now
from gamemaster.tournament.results import Result
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.store import leases, lists, reads, singles, writes
from gamemaster.tournament.store.database import Database, open_database
from gamemaster.tournament.store.lists import Wanted
from gamemaster.tournament.store.manager import Manager
from gamemaster.tournament.store.schema import prepare
from gamemaster.tournament.store.tables import SINGLES, tournaments
from gamemaster.tournament.store.values import (
    Changes,
    Counts,
    Listing,
    ManagedBy,
    MatchRow,
    MatchStatus,
    RoleStatistics,
    Stored,
    StoredRating,
    TournamentStatus,
)
from ggp.errors import StoreError

MOST_ROWS = 10_000  # that one question may ask for


class Store:
    """All calls may come from any thread, wait for the database, and raise a StoreError that names the place.

    Tournaments are asked for by name; the name "" stands for the matches that belong to none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The path or URL, for people: without a password."""
        return self._database.place

    def close(self) -> None:
        self._database.close()

    def create(self, spec: TournamentSpec) -> Stored:
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

    def tournament(self, name: str) -> Stored:
        """StoreError where there is none of this name, or its specification cannot be read."""
        with self._database.reading() as connection:
            return _stored(connection, name)

    def tournaments(self) -> tuple[Stored, ...]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return tuple(_stored(connection, name) for name in reads.tournament_ids(connection) if name != SINGLES)

    def manage(self, name: str) -> AbstractContextManager[Manager]:
        """The right to run a tournament, which one living process has at a time: StoreError, on entering, for others.

        What a dead manager left under way is given up.
        """
        with self._database.reading() as connection:
            return Manager(self._database, name, _id(connection, name))

    def results(self, name: str) -> tuple[Result, ...]:
        """In the order in which their matches were first begun."""
        with self._database.reading() as connection:
            return reads.results_of(connection, reads.tournament_id(connection, name))

    def record(self, name: str, pairing: str) -> MatchRecord:
        """The record of a match, also of one that goes on: about as it was a second ago."""
        with self._database.reading() as connection:
            return reads.record_of(connection, reads.tournament_id(connection, name), pairing)

    def failures(self, name: str) -> dict[str, int]:
        """Pairing → how often it failed by our own fault, where it did."""
        with self._database.reading() as connection:
            return reads.failures_of(connection, reads.tournament_id(connection, name))

    def ratings(self, name: str) -> tuple[StoredRating, ...]:
        """As they were saved last; by scale and scope, the highest value first."""
        with self._database.reading() as connection:
            return reads.ratings_of(connection, reads.tournament_id(connection, name))

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
        with self._database.reading() as connection:
            number = None if name is None else reads.tournament_id(connection, name)
            wanted = Wanted(number, player, game, status)
            return lists.listing(connection, wanted, max(offset, 0), min(max(limit, 0), MOST_ROWS))

    def match(self, name: str, pairing: str) -> MatchRow:
        """StoreError where there is none."""
        with self._database.reading() as connection:
            row = lists.match_row(connection, reads.tournament_id(connection, name), pairing)
            if row is None:
                raise StoreError(f"there is no match {pairing}")
            return row

    def running(self, name: str | None) -> tuple[MatchRow, ...]:
        """The matches under way, the one that was begun last first."""
        return self.matches(name, limit=MOST_ROWS, status="running").rows

    def counts(self, name: str) -> Counts:
        with self._database.reading() as connection:
            return lists.counts_of(connection, reads.tournament_id(connection, name))

    def statistics(self, name: str | None = None) -> tuple[RoleStatistics, ...]:
        """Of the finished matches of a tournament, or of all, by game and in the order of its roles."""
        with self._database.reading() as connection:
            number = None if name is None else reads.tournament_id(connection, name)
            return lists.statistics_of(connection, number)

    def revision(self) -> int:
        """A number that grows with every change."""
        with self._database.reading() as connection:
            return lists.revision_of(connection)

    def changed_since(self, revision: int, *, limit: int = 1000) -> Changes:
        """What is new; a change that others see never gets a lower revision than one they saw before."""
        with self._database.reading() as connection:
            return lists.changes_since(connection, revision, min(max(limit, 1), MOST_ROWS))

    def keep_single(self, record: MatchRecord) -> str:
        """Writes the record of a match that belongs to no tournament, growing or complete, and gives its name there.

        A match that has ended is never changed again.
        """
        with self._database.writing() as connection:
            return singles.keep_single(connection, record)

    def give_up_lost_singles(self) -> int:
        """Gives up the matches of no tournament whose game master on this computer is dead; how many there were."""
        with self._database.writing() as connection:
            return singles.give_up_lost(connection)


def open_store(url: str, *, create: bool = True) -> Store:
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
    return Store(database)


def _id(connection: Connection, name: str) -> int:
    if name == SINGLES:
        raise StoreError("a tournament has a name")
    return reads.tournament_id(connection, name)


def _stored(connection: Connection, name: str) -> Stored:
    number = _id(connection, name)
    row = connection.execute(select(tournaments).where(tournaments.c.id == number)).one()
    try:
        spec = TournamentSpec.model_validate_json(row.spec)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise StoreError(f"the specification of {name} cannot be read: {field}: {first['msg']}") from None
    counts = lists.counts_of(connection, number)
    manager = leases.manager_of(connection, number)
    status = _status(manager, counts, is_complete=row.completed is not None)
    return Stored(spec, status, manager, counts, row.note, row.created, row.revision)


def _status(manager: ManagedBy | None, counts: Counts, *, is_complete: bool) -> TournamentStatus:
    if manager is not None:
        return "running"
    if is_complete:
        return "complete"
    return "new" if counts == Counts() else "interrupted"
