"""Versions of the schema: a database that is empty or older becomes one of the newest version, or is left as it is."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from sqlalchemy import Connection, MetaData, func, inspect, select

from gamemaster.tournament.store.database import Database
from gamemaster.tournament.store.tables import METADATA, SINGLES, store, tournaments
from ggp.errors import StoreError

Migration: TypeAlias = Callable[[Connection], None]

_LOCK = 0x6767705F  # of PostgreSQL, for whoever makes or changes the tables


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of the newest version, and how an older one gets there."""

    metadata: MetaData
    migrations: tuple[Migration, ...] = ()  # the one with index n makes version n + 2 of version n + 1

    @property
    def version(self) -> int:
        return 1 + len(self.migrations)


SCHEMA = Schema(METADATA)


def prepare(database: Database, schema: Schema = SCHEMA) -> None:
    """Makes the tables, or brings them to the newest version, in one transaction.

    StoreError, with nothing written, for a database with tables that are not ours and for one of a newer version.
    """
    with database.reading() as connection:
        version = _version(connection, schema)
    if database.is_file:
        database.journal()
    if version == schema.version:
        return
    with database.writing() as connection:
        if not database.is_file:
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        version = _version(connection, schema)  # another process may have been quicker
        if version is None:
            _create(connection, schema)
        else:
            _migrate(connection, schema, version)


def _version(connection: Connection, schema: Schema) -> int | None:
    """None for an empty database; StoreError for one that is not to be touched."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    version = connection.scalar(select(store.c.version)) if store.name in tables else None
    if not isinstance(version, int) or version < 1:
        raise StoreError("not a store of tournaments: there are other tables in it")
    if version > schema.version:
        raise StoreError(
            f"a newer ggp made this store: its version is {version}, known are those up to {schema.version}"
        )
    return version


def _create(connection: Connection, schema: Schema) -> None:
    schema.metadata.create_all(connection)
    now = datetime.now(UTC)
    connection.execute(store.insert().values(id=1, version=schema.version, revision=1, created=now))
    connection.execute(tournaments.insert().values(name=SINGLES, spec="", created=now, note="", revision=1))


def _migrate(connection: Connection, schema: Schema, version: int) -> None:
    for migrate in schema.migrations[version - 1 :]:
        migrate(connection)
    connection.execute(store.update().values(version=schema.version))
