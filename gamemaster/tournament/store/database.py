"""A path or URL → transactions on a database, with every failure as a StoreError that names the place."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from ggp.errors import DamagedStoreError, StoreError

BUSY_WAIT = 20.0  # seconds for which a writer waits for another one
CONNECT_WAIT = 10  # seconds for which a server may be silent

_LOCKED = "database is locked"  # as SQLite says it
_CORRUPT = "SQLITE_CORRUPT"
_LOCKED_WAIT = 0.01  # seconds until it is tried again
_WRITES = "ggp_writes"
_POSTGRESQL = ("postgresql", "postgresql+psycopg")


class Database:
    """One database: `reading` sees one state of it throughout, `writing` has it alone and writes all or nothing.

    Both can be used by many threads at a time.
    """

    def __init__(self, engine: Engine, place: str, path: Path | None) -> None:
        self.place = place  # for people; without a password
        self._engine = engine
        self._path = path  # of the file; None for a server
        self._file = None if path is None else _identity(path)
        if path is None:
            self._reader: Engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            self._writer: Engine = engine.execution_options(isolation_level="READ COMMITTED")
        else:
            self._reader = engine
            self._writer = engine.execution_options(**{_WRITES: True})

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._reporting(), self._reader.begin() as connection, _whole():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """On a server, writers are alone only from their first `UPDATE ggp_store` on."""
        with self._reporting(), self._writer.begin() as connection, _whole():
            yield connection

    @property
    def is_file(self) -> bool:
        return self._path is not None

    def journal(self) -> None:
        """Makes a file keep its changes in a write-ahead log, so that readers never wait."""
        with self._reporting():
            connection = self._engine.raw_connection()
            until = monotonic() + BUSY_WAIT
            try:
                while True:
                    try:
                        connection.cursor().execute("PRAGMA journal_mode = WAL")
                        return
                    except sqlite3.OperationalError as error:
                        # SQLite waits for others that read or write, not for others that change the mode
                        if str(error) != _LOCKED or monotonic() >= until:
                            raise
                        sleep(_LOCKED_WAIT)
            finally:
                connection.close()

    def close(self) -> None:
        self._engine.dispose()

    def error(self, message: str) -> StoreError:
        return StoreError(f"{self.place}: {message}")

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        if self._path is not None and _identity(self._path) != self._file:
            raise self.error("the file was removed or replaced while it was in use")
        try:
            yield
        except StoreError as error:
            raise type(error)(f"{self.place}: {error}") from error.__cause__
        except (SQLAlchemyError, sqlite3.Error) as error:
            kind = DamagedStoreError if _is_damage(error) else StoreError
            raise kind(str(self.error(_reason(error)))) from error


@contextmanager
def _whole() -> Iterator[None]:
    """DamagedStoreError where a value is none that this program writes."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise DamagedStoreError(f"the store is damaged: {said}") from error


def open_database(url: str, *, create: bool) -> Database:
    """A path is a file of SQLite, made when `create` allows it; else a URL of SQLite or PostgreSQL."""
    if "://" not in url:
        return _file_database(Path(url), url, create=create)
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(f"{url.partition('://')[0]}://…: not a URL of a database") from None
    place = parts.difference_update_query(["password"]).render_as_string(hide_password=True)
    match parts.get_backend_name():
        case "sqlite":
            if parts.drivername not in ("sqlite", "sqlite+pysqlite") or parts.host or parts.query:
                raise StoreError(f"{place}: a file is given by its path, or as sqlite:///PATH")
            if parts.database in (None, "", ":memory:"):
                raise StoreError(f"{place}: a store has to be a file")
            return _file_database(Path(parts.database or ""), parts.database or "", create=create)
        case "postgresql" if parts.drivername in _POSTGRESQL:
            return _server_database(parts.set(drivername="postgresql+psycopg"), place)
        case _:
            raise StoreError(f"{place}: a store is a file of SQLite or a database postgresql+psycopg://…")


def _file_database(path: Path, place: str, *, create: bool) -> Database:
    _check_file(path, place, create=create)
    path = path.resolve()
    uri = f"file:{quote(str(path))}?mode=rw"  # a file that has gone is not made again

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_WAIT, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine(URL.create("sqlite", database=str(path)), creator=connect, max_overflow=-1)
    event.listen(engine, "begin", _begin)
    return Database(engine, place, path)


def _begin(connection: Connection) -> None:
    """Python's driver begins no transaction by itself; a writer waits here, and never in its midst."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _check_file(path: Path, place: str, *, create: bool) -> None:
    try:
        try:
            mode = path.stat().st_mode  # asked once: another process may make it meanwhile
        except FileNotFoundError:
            if not create:
                raise StoreError(f"{place}: there is no such store") from None
            path.touch()
        else:
            if not stat.S_ISREG(mode):
                raise StoreError(f"{place}: not a regular file")
        with path.open("r+b"):
            pass
    except (OSError, ValueError) as error:
        raise StoreError(f"{place}: {getattr(error, 'strerror', None) or error}") from None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _server_database(url: URL, place: str) -> Database:
    try:
        engine = create_engine(url, pool_pre_ping=True, max_overflow=-1, connect_args={"connect_timeout": CONNECT_WAIT})
    except ModuleNotFoundError:
        raise StoreError(f"{place}: PostgreSQL needs the package psycopg: pip install 'ggp[postgresql]'") from None
    except (SQLAlchemyError, TypeError, ValueError) as error:
        raise StoreError(f"{place}: {error}") from None
    event.listen(engine, "connect", _set_waits)
    return Database(engine, place, None)


def _set_waits(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    """Waits have an end, also for a writer that stopped within a transaction."""
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = '{BUSY_WAIT:.0f}s'")
    cursor.execute(f"SET idle_in_transaction_session_timeout = '{BUSY_WAIT:.0f}s'")
    cursor.close()
    connection.commit()


def _is_damage(error: SQLAlchemyError | sqlite3.Error) -> bool:
    """Whether pages of a file are damaged, rather than that it cannot be used now."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(cause, sqlite3.DatabaseError) and getattr(cause, "sqlite_errorname", "").startswith(_CORRUPT)


def _reason(error: SQLAlchemyError | sqlite3.Error) -> str:
    """One line for the user."""
    text = str(error.orig) if isinstance(error, DBAPIError) and error.orig is not None else str(error)
    if text == _LOCKED:
        return f"another program has held it for more than {BUSY_WAIT:.0f} seconds"
    if text == "file is not a database":
        return "not a store of tournaments: the file is no database"
    return " ".join(text.split())
