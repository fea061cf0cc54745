"""The tables of a store, as version 1 of its schema has them and as the newest one does."""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
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
)

SINGLES = ""  # the name under which matches are kept that belong to no tournament


class Moment(TypeDecorator[datetime]):
    """A moment as text in UTC with microseconds, the same in every database and in the order of time."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - inherited
        if value is None:
            return None
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - inherited
        return None if value is None else datetime.fromisoformat(value)


METADATA = MetaData()

# One row: what this is, and a number that grows with every transaction that writes.
store = Table(
    "ggp_store",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("created", Moment, nullable=False),
)

tournaments = Table(
    "tournaments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("spec", Text, nullable=False),  # JSON
    Column("created", Moment, nullable=False),
    Column("completed", Moment),
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
    Column("since", Moment),
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
    Column("together", Text, nullable=False),  # the group of the pairing
    Column("attempt", Integer, nullable=False),
    Column("status", Text, CheckConstraint("status IN ('running', 'finished', 'failed', 'given up')"), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("ending", Text),
    Column("steps", Integer, nullable=False, default=0),
    Column("started", Moment, nullable=False),
    Column("finished", Moment),
    Column("token", Text, unique=True),  # of the record
    Column("machine", Text, nullable=False, default=""),  # this and the next two: who plays it, where there is no lease
    Column("pid", Integer, nullable=False, default=0),
    Column("process_start", Text, nullable=False, default=""),
    Column("revision", BigInteger, nullable=False, index=True),
    UniqueConstraint("tournament_id", "pairing"),
)
Index("matches_by_status", matches.c.tournament_id, matches.c.status, matches.c.id)
Index("matches_by_game", matches.c.game_id, matches.c.id)
Index("matches_by_tournament", matches.c.tournament_id, matches.c.id)

takers = Table(
    "takers",
    METADATA,
    Column("match_id", ForeignKey(matches.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # of the role, `random` not counted, from 0
    Column("player_id", ForeignKey(players.c.id), nullable=False),
)
Index("takers_by_player", takers.c.player_id, takers.c.match_id)

results = Table(
    "results",
    METADATA,
    Column("match_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("role", Text, nullable=False),
    Column("goal", Integer, CheckConstraint("goal BETWEEN 0 AND 100")),
    Column("seconds", Float, nullable=False),
    Column("longest", Float, nullable=False),
    ForeignKeyConstraint(["match_id", "number"], [takers.c.match_id, takers.c.number]),
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
    Column("time", Moment, nullable=False),
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

ratings = Table(
    "ratings",
    METADATA,
    Column("tournament_id", ForeignKey(tournaments.c.id), primary_key=True),
    Column("scale", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("value", Float, nullable=False),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    Column("matches", Integer, nullable=False),
)
