"""The tables of a store, its versions and migrations, and records as bytes."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeAlias

from pydantic import ValidationError
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    func,
    inspect,
    select,
)

from gamemaster.faults import shown
from gamemaster.record import MatchRecord
from gamemaster.tournament.store.database import Database
from ggp.errors import StoreError
from ggp.settings import first_error

SINGLES = ""  # the name under which matches are kept that belong to no tournament


class UtcDateTime(TypeDecorator[datetime]):
    """A moment as text in UTC with microseconds, the same in every database and in the order of time."""

    impl = String(27)
    cache_ok = True

    def __init__(self, place: str) -> None:
        """`place` names table and column in errors."""
        super().__init__()
        self.place = place

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - inherited
        if value is None:
            return None
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - inherited
        return None if value is None else moment_of(value, self.place)


def moment_of(text: str, place: str) -> datetime:
    """The moment that a column has as text; ValueError that names the place for what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(f"{place}: {shown(repr(text))} is no moment")
    return moment


METADATA = MetaData()

# One row: what this is, and a number that grows with every transaction that writes.
store = Table(
    "ggp_store",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("created", UtcDateTime("ggp_store.created"), nullable=False),
)

tournaments = Table(
    "tournaments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("spec", Text, nullable=False),  # JSON
    Column("created", UtcDateTime("tournaments.created"), nullable=False),
    Column("completed", UtcDateTime("tournaments.completed")),
    Column("note", Text, nullable=False, default=""),
    Column("revision", BigInteger, nullable=False, index=True),
)

# Who may write to a tournament. The token grows with every claim and is never given twice.
leases = Table(
    "leases",
    METADATA,
    Column("tournament_id", ForeignKey(tournaments.c.id), primary_key=True),
    Column("token", Integer, nullable=False),
    Column("is_held", Integer, nullable=False),
    Column("host", Text, nullable=False, default=""),
    Column("machine", Text, nullable=False, default=""),
    Column("pid", Integer, nullable=False, default=0),
    Column("process_start", Text, nullable=False, default=""),
    Column("since", UtcDateTime("leases.since")),
    Column("heartbeat", Float, nullable=False, default=0.0),  # seconds since 1970 on the clock of the database
)

players = Table(
    "players",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("tournament_id", ForeignKey(tournaments.c.id), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("tournament_id", "name"),
)

games = Table(
    "games",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("tournament_id", ForeignKey(tournaments.c.id), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("tournament_id", "name"),
)

# One row for each pairing that was begun, about its last attempt.
matches = Table(
    "matches",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("tournament_id", ForeignKey(tournaments.c.id), nullable=False),
    Column("pairing", Text, nullable=False),
    Column("game_id", ForeignKey(games.c.id), nullable=False),
    Column("round", Integer, nullable=False),
    Column("seed", Text, nullable=False),  # it may need 64 bits without a sign
    Column("pair_group", Text, nullable=False),  # of the pairing
    Column("attempt", Integer, nullable=False),
    Column("status", Text, CheckConstraint("status IN ('running', 'finished', 'failed', 'given up')"), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("resigned", Text),  # the role whose player did, in a match that was given up
    Column("ending", Text),
    Column("steps", Integer, nullable=False, default=0),
    Column("started", UtcDateTime("matches.started"), nullable=False),
    Column("finished", UtcDateTime("matches.finished")),
    Column("token", Text, unique=True),  # of the record
    # The next four say which process plays the match, and that it is alive; only of matches outside of tournaments.
    Column("machine", Text, nullable=False, default=""),
    Column("pid", Integer, nullable=False, default=0),
    Column("process_start", Text, nullable=False, default=""),
    Column("heartbeat", Float, nullable=False, default=0.0),  # seconds since 1970 on the clock of the database
    Column("revision", BigInteger, nullable=False, index=True),
    UniqueConstraint("tournament_id", "pairing"),
)
Index("matches_by_status", matches.c.tournament_id, matches.c.status, matches.c.id)
Index("matches_by_game", matches.c.game_id, matches.c.id)
Index("matches_by_tournament", matches.c.tournament_id, matches.c.id)

match_players = Table(
    "match_players",
    METADATA,
    Column("match_id", ForeignKey(matches.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # of the role, `random` not counted, from 0
    Column("player_id", ForeignKey(players.c.id), nullable=False),
)
Index("match_players_by_player", match_players.c.player_id, match_players.c.match_id)

results = Table(
    "results",
    METADATA,
    Column("match_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("role", Text, nullable=False),
    Column("goal", Integer, CheckConstraint("goal BETWEEN 0 AND 100")),
    Column("seconds", Float, nullable=False),
    Column("longest", Float, nullable=False),
    Column("forfeited", Integer, nullable=False, default=0),
    ForeignKeyConstraint(["match_id", "number"], [match_players.c.match_id, match_players.c.number]),
)

faults = Table(
    "faults",
    METADATA,
    Column("match_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, primary_key=True),
    Column("count", Integer, CheckConstraint("count > 0"), nullable=False),
    ForeignKeyConstraint(["match_id", "number"], [results.c.match_id, results.c.number]),
)

# Sums over the results of a game, kept with each of them, so that pages need not add them up.
totals = Table(
    "totals",
    METADATA,
    Column("game_id", ForeignKey(games.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("role", Text, primary_key=True),
    Column("matches", Integer, nullable=False),
    Column("with_goal", Integer, nullable=False),
    Column("goals", Integer, nullable=False),
    Column("steps", BigInteger, nullable=False),
)

# Attempts that failed by our own fault.
failures = Table(
    "failures",
    METADATA,
    Column("match_id", ForeignKey(matches.c.id), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("reason", Text, nullable=False),
    Column("time", UtcDateTime("failures.time"), nullable=False),
)

rulesheets = Table(
    "rulesheets",
    METADATA,
    Column("sha256", String(64), primary_key=True),  # of the text as it is
    Column("text", LargeBinary, nullable=False),  # UTF-8, compressed by zlib
)

records = Table(
    "records",
    METADATA,
    Column("match_id", ForeignKey(matches.c.id), primary_key=True),
    Column("rulesheet", ForeignKey(rulesheets.c.sha256), nullable=False),
    Column("record", LargeBinary, nullable=False),  # JSON without the rulesheet, compressed by zlib
)

Migration: TypeAlias = Callable[[Connection], None]
_RESIGNED = " resigned"  # the end of reasons in version 2


def _to_version_2(connection: Connection) -> None:
    """Heartbeats of matches outside of tournaments, no table of ratings (nothing read it), players that are `human`."""
    for statement in (
        "DROP TABLE ratings",
        "ALTER TABLE matches ADD COLUMN heartbeat FLOAT NOT NULL DEFAULT 0",
        "ALTER TABLE matches RENAME COLUMN together TO pair_group",
        "ALTER TABLE takers RENAME TO match_players",
        "DROP INDEX takers_by_player",
        "CREATE INDEX match_players_by_player ON match_players (player_id, match_id)",
    ):
        connection.exec_driver_sql(statement)
    for row in connection.execute(
        select(tournaments.c.id, tournaments.c.spec).where(tournaments.c.name != SINGLES)
    ).all():
        spec = json.loads(row.spec)
        for player in spec["players"]:
            player["human"] = player.pop("person", False)
        connection.execute(tournaments.update().where(tournaments.c.id == row.id).values(spec=json.dumps(spec)))


def _to_version_3(connection: Connection) -> None:
    """Who forfeited a match, and who resigned: before, only the reason said so."""
    connection.exec_driver_sql("ALTER TABLE results ADD COLUMN forfeited INTEGER NOT NULL DEFAULT 0")
    connection.exec_driver_sql("ALTER TABLE matches ADD COLUMN resigned TEXT")
    ended = (matches.c.status == "given up") & matches.c.reason.endswith(_RESIGNED)
    for row in connection.execute(select(matches.c.id, matches.c.reason).where(ended)).all():
        values = {"resigned": row.reason.removesuffix(_RESIGNED)}
        connection.execute(matches.update().where(matches.c.id == row.id).values(values))


_LOCK = 0x6767705F  # of PostgreSQL, held while the tables are made or changed


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of the newest version, and how an older one gets there."""

    metadata: MetaData
    migrations: tuple[Migration, ...] = ()  # the one with index n makes version n + 2 of version n + 1

    @property
    def version(self) -> int:
        return 1 + len(self.migrations)


SCHEMA = Schema(METADATA, (_to_version_2, _to_version_3))


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


@dataclass(frozen=True, slots=True)
class Packed:
    """A record as it is stored."""

    record: bytes  # JSON without the rulesheet, compressed by zlib
    rulesheet: str
    rulesheet_key: str  # the same for equal texts only, unlike `rulesheet_sha256` of the record
    token: str
    steps: int


def packed(record: MatchRecord) -> Packed:
    text = record.rulesheet
    data = zlib.compress(record.model_dump_json(exclude={"rulesheet"}).encode())
    return Packed(data, text, sha256(text.encode()).hexdigest(), record.token, len(record.steps))


def unpacked(data: bytes, rulesheet: bytes) -> MatchRecord:
    """ValueError that names the table, and the field of a record, for bytes that are none of ours."""
    body, text = _unpacked_text(data, "records"), _unpacked_text(rulesheet, "rulesheets")
    try:
        return MatchRecord.model_validate_json(f'{{"rulesheet": {json.dumps(text)}, {body.removeprefix("{")}')
    except ValidationError as error:
        raise ValueError(f"records: {first_error(error)}") from None


def _unpacked_text(data: bytes, table: str) -> str:
    try:
        return zlib.decompress(data).decode()
    except (TypeError, UnicodeDecodeError, zlib.error) as error:
        raise ValueError(f"{table}: {error}") from None


def packed_text(text: str) -> bytes:
    return zlib.compress(text.encode(), 9)
