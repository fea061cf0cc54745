"""Where a store is: what is refused, with its place and untouched; versions; files that are full, locked or gone."""

import contextlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, Text, event, inspect, select, text

from gamemaster.tournament.pairings import result_of
from gamemaster.tournament.store import Store, database, open_store
from gamemaster.tournament.store.database import Database, open_database
from gamemaster.tournament.store.schema import METADATA, SCHEMA, Migration, Schema, prepare
from ggp.errors import GgpError, StoreError
from tests.gamemaster.tournament import postgresql
from tests.gamemaster.tournament.store_matches import a_pairing, a_record, a_spec


def sql(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def engine_of(store: Store) -> Engine:
    return store._database._engine


def with_a_match(path: Path) -> None:
    with open_store(str(path)) as store:
        store.create(a_spec())
        with store.manage("cup") as manager:
            manager.begin(a_pairing())
            manager.finish(a_pairing(), a_record(a_pairing()))


def test_a_file_is_made_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20.sqlite"
    with_a_match(path)
    with open_store(str(path), create=False) as store:
        assert len(store.results("cup")) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name]


def test_a_url_of_a_file_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_match(tmp_path / "cup.sqlite")
    monkeypatch.chdir(tmp_path)
    for url in (f"sqlite:///{tmp_path}/cup.sqlite", "sqlite:///cup.sqlite", "cup.sqlite"):
        with open_store(url, create=False) as store:
            assert store.place == url.removeprefix("sqlite:///")
            assert store.tournament("cup").counts.finished == 1


def test_a_path_stays_the_same_when_the_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with open_store("cup.sqlite") as store:
        monkeypatch.chdir(tmp_path / "other")
        engine_of(store).dispose()
        store.create(a_spec())
    assert list((tmp_path / "other").iterdir()) == []


def a_newer_store(path: Path) -> None:
    with_a_match(path)
    sql(path, "UPDATE ggp_store SET version = 99")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a text": (
        lambda path: path.write_text("no database, " * 100),
        "not a store of tournaments: the file is no database",
    ),
    "other tables": (lambda path: sql(path, "CREATE TABLE cats (name TEXT)"), "not a store of tournaments: there are"),
    "a table like ours": (
        lambda path: sql(path, "CREATE TABLE ggp_store (x TEXT)"),
        "no such column: ggp_store.version",
    ),
    "no row": (lambda path: sql(path, "CREATE TABLE ggp_store (version INTEGER)"), "not a store of tournaments"),
    "a newer version": (a_newer_store, "a newer ggp made this store: its version is 99, known are those up to 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_ours_is_refused_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    make, message = REFUSED[name]
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        open_store(str(path))
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "not a regular file"),
        ("pipe", "not a regular file"),
        ("nosuch/cup.sqlite", "No such file or directory"),
        ("file/cup.sqlite", "Not a directory"),
        ("nul\0", "embedded null"),
    ],
)
def test_a_place_where_no_file_can_be_is_refused(name: str, message: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=message) as caught:
        open_store(f"{tmp_path}/{name}")
    assert str(caught.value).startswith(f"{tmp_path}/{name}: ")


def test_a_store_that_is_only_to_be_read_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cup\.sqlite: there is no such store"):
        open_store(str(tmp_path / "cup.sqlite"), create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:secret@192.0.2.1/cup", r"mysql://me:\*\*\*@192.0.2.1/cup: a store is a file of SQLite or"),
        ("postgresql+asyncpg://me:secret@/cup", "a store is a file of SQLite or a database postgresql"),
        ("sqlite://", "sqlite://: a store has to be a file"),
        ("sqlite:///:memory:", "a store has to be a file"),
        ("sqlite+aiosqlite:///cup", "a file is given by its path"),
        ("sqlite:///cup?mode=memory&password=secret", "a file is given by its path"),
        ("://secret", "not a URL of a database"),
        ("postgresql://me:secret@host:port/cup", "postgresql://…: not a URL of a database"),
        ("postgresql://me:secret@/cup?host=/nosuch", r"postgresql://me:\*\*\*@/cup\?host=%2Fnosuch: "),
        ("postgresql://me@/cup?host=/nosuch&password=secret", r"postgresql://me@/cup\?host=%2Fnosuch: "),
    ],
)
def test_urls_are_refused_with_their_place_and_no_password(url: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"needs the package psycopg: pip install 'ggp\[postgresql\]'"):
        open_store("postgresql://me@192.0.2.1/cup")


def test_a_full_disk_is_reported_and_nothing_is_half_written(tmp_path: Path) -> None:
    with_a_match(tmp_path / "cup.sqlite")
    with open_store(str(tmp_path / "cup.sqlite")) as store, store.manage("cup") as manager:
        manager.begin(a_pairing(1))
        with store._database.reading() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        engine_of(store).dispose()
        event.listen(engine_of(store), "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {pages}"))
        large = a_record(a_pairing(1), rules="".join(f"(fact {number * 7919 % 10007})" for number in range(9000)))
        with pytest.raises(StoreError, match=r"cup\.sqlite: database or disk is full"):
            manager.finish(a_pairing(1), large)
        assert store.match("cup", a_pairing(1).id).status == "running"
        assert manager.finish(a_pairing(1), a_record(a_pairing(1))).steps == 9  # a small one still has room
        assert len(store.results("cup")) == 2


def test_a_file_that_may_only_be_read_is_reported(tmp_path: Path) -> None:
    with_a_match(tmp_path / "cup.sqlite")
    with open_store(str(tmp_path / "cup.sqlite")) as store:
        engine_of(store).dispose()
        event.listen(engine_of(store), "connect", lambda raw, _: raw.execute("PRAGMA query_only = ON"))
        with pytest.raises(StoreError, match=r"cup\.sqlite: attempt to write a readonly database"):
            store.create(a_spec("other"))
        assert len(store.results("cup")) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_permissions_are_checked_before_anything_else(tmp_path: Path) -> None:
    with_a_match(tmp_path / "cup.sqlite")
    (tmp_path / "cup.sqlite").chmod(0o444)
    with pytest.raises(StoreError, match=r"cup\.sqlite: Permission denied"):
        open_store(str(tmp_path / "cup.sqlite"))


def test_a_file_that_another_program_holds_is_waited_for_and_then_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT", 0.01)
    with_a_match(tmp_path / "cup.sqlite")
    with open_store(str(tmp_path / "cup.sqlite")) as store:
        other = sqlite3.connect(tmp_path / "cup.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"cup\.sqlite: another program has held it for more than 0 seconds"):
            store.create(a_spec("other"))
        assert len(store.results("cup")) == 1  # readers do not wait
        other.execute("COMMIT")
        other.close()
        store.create(a_spec("other"))


def test_a_new_file_waits_for_others_that_make_the_same_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite does not wait by itself where one that reads would change how the file is kept."""
    other = sqlite3.connect(tmp_path / "cup.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waited: list[float] = []

    def done(seconds: float) -> None:
        waited.append(seconds)
        other.execute("COMMIT")

    monkeypatch.setattr(database, "sleep", done)
    with open_store(str(tmp_path / "cup.sqlite")) as store:
        assert not store.tournaments()
    assert len(waited) == 1
    other.close()
    monkeypatch.setattr(database, "BUSY_WAIT", 0.0)
    other = sqlite3.connect(tmp_path / "new.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"new\.sqlite: another program has held it"):
        open_store(str(tmp_path / "new.sqlite"))
    other.close()


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "cup.sqlite"
    with_a_match(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"cup\.sqlite: .*malformed"):
        open_store(str(path))


def remove(path: Path) -> None:
    path.unlink()


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


@pytest.mark.parametrize("change", [remove, replace_by_a_copy])
def test_a_file_that_is_removed_or_replaced_is_not_written_into_the_void(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "cup.sqlite"
    with_a_match(path)
    with open_store(str(path)) as store, store.manage("cup") as manager:
        manager.begin(a_pairing(1))
        change(path)
        is_there = path.exists()
        for ask in (lambda: manager.finish(a_pairing(1), a_record(a_pairing(1))), lambda: store.results("cup")):
            with pytest.raises(StoreError, match=r"cup\.sqlite: the file was removed or replaced while it was in use"):
                ask()
    assert path.exists() == is_there  # it is not made again, empty


def test_a_copy_by_the_database_can_be_used_while_the_original_goes_on(tmp_path: Path) -> None:
    with_a_match(tmp_path / "cup.sqlite")
    with open_store(str(tmp_path / "cup.sqlite")) as store, store.manage("cup"):
        sql(tmp_path / "cup.sqlite", f"VACUUM INTO '{tmp_path}/copy.sqlite'")
        with open_store(str(tmp_path / "copy.sqlite")) as copy:
            assert copy.results("cup") == store.results("cup")
            with pytest.raises(StoreError, match=r"copy\.sqlite: cup is being run by process"):
                copy.manage("cup").__enter__()
    shutil.copy(tmp_path / "cup.sqlite", tmp_path / "later.sqlite")
    with open_store(str(tmp_path / "later.sqlite")) as copy, copy.manage("cup") as manager:
        manager.begin(a_pairing(1))


def test_a_file_keeps_a_log_and_is_strict_about_references(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "cup.sqlite")) as store, store._database.reading() as connection:
        pragmas = ("journal_mode", "foreign_keys", "synchronous")
        assert [connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in pragmas] == ["wal", 1, 1]


# Versions: a newer one that exists in tests only, with a column more, filled from what is there, and a table more.


def newer_metadata() -> MetaData:
    metadata = MetaData()
    for table in METADATA.sorted_tables:
        table.to_metadata(metadata)
    metadata.tables["players"].append_column(Column("nick", Text))
    Table("awards", metadata, Column("id", Integer, primary_key=True), Column("text", Text, nullable=False))
    return metadata


def one_version_more(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE players ADD COLUMN nick TEXT"))
    connection.execute(text("UPDATE players SET nick = upper(name)"))
    connection.execute(text("CREATE TABLE awards (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"))


def two_versions_more(connection: Connection) -> None:
    connection.execute(text("INSERT INTO awards (id, text) SELECT id, nick FROM players"))


def broken_version(connection: Connection) -> None:
    one_version_more(connection)
    connection.execute(text("ALTER TABLE nosuch ADD COLUMN nick TEXT"))


def migrated(url: str, *migrations: Migration) -> Database:
    opened = open_database(url, create=False)
    try:
        prepare(opened, Schema(newer_metadata(), (*SCHEMA.migrations, *migrations)))
    except BaseException:
        opened.close()
        raise
    return opened


def columns(opened: Database) -> dict[str, list[str]]:
    with opened.reading() as connection:
        look = inspect(connection)
        return {name: [str(column["name"]) for column in look.get_columns(name)] for name in look.get_table_names()}


def fill(url: str) -> None:
    with open_store(url) as store:
        store.create(a_spec())
        with store.manage("cup") as manager:
            manager.begin(a_pairing())
            manager.finish(a_pairing(), a_record(a_pairing()))


def test_a_store_of_version_2_learns_who_resigned(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with open_store(str(path)) as store:
        name = store.keep_single(a_record(a_pairing(), 1).model_copy(update={"status": "aborted", "goals": None}))
    sql(
        path,
        "ALTER TABLE matches DROP COLUMN resigned",
        "ALTER TABLE results DROP COLUMN forfeited",
        "UPDATE matches SET reason = 'xplayer resigned'",
        "UPDATE ggp_store SET version = 2",
    )
    with open_store(str(path)) as store:
        assert store.match("", name).resigned == "xplayer"


def test_an_older_version_is_brought_to_the_newest(store_url: str) -> None:
    fill(store_url)
    migrated(store_url, one_version_more).close()  # and from there, in a later run, one further
    opened = migrated(store_url, one_version_more, two_versions_more)
    with opened.reading() as connection:
        assert connection.execute(text("SELECT version FROM ggp_store")).scalar_one() == SCHEMA.version + 2
        assert set(connection.execute(text("SELECT text FROM awards")).scalars()) == {"ANN", "BOB"}
    assert len(Store(opened).results("cup")) == 1
    opened.close()
    with pytest.raises(
        StoreError, match=f"its version is {SCHEMA.version + 2}, known are those up to {SCHEMA.version}"
    ):
        open_store(store_url)


def test_several_versions_are_one_step(store_url: str) -> None:
    fill(store_url)
    opened = migrated(store_url, one_version_more, two_versions_more)
    with opened.reading() as connection:
        assert len(connection.execute(text("SELECT id FROM awards")).all()) == 2
    opened.close()


def test_a_migration_that_fails_leaves_the_older_version(store_url: str) -> None:
    fill(store_url)
    for migrations in ((broken_version,), (one_version_more, broken_version)):
        with pytest.raises(StoreError, match=r"nosuch|exists|duplicate"):
            migrated(store_url, *migrations)
    with open_store(store_url) as store:
        assert len(store.results("cup")) == 1
        assert columns(store._database)["players"] == ["id", "tournament_id", "name"]


def test_a_new_store_is_the_same_as_one_that_was_brought_there(
    tmp_path: Path, postgresql_server: postgresql.Server
) -> None:
    for old, new in (
        (str(tmp_path / "old.sqlite"), str(tmp_path / "new.sqlite")),
        (postgresql_server.new_schema(), postgresql_server.new_schema()),
    ):
        fill(old)
        made = open_database(new, create=True)
        prepare(made, Schema(newer_metadata(), (*SCHEMA.migrations, one_version_more)))
        brought = migrated(old, one_version_more)
        assert columns(made) == columns(brought)
        made.close()
        brought.close()


VERSION_1 = Path(__file__).with_name("version1.sql")


def test_a_store_of_version_1_is_brought_to_the_newest(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.sqlite") as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    connection.close()
    with open_store(str(tmp_path / "old.sqlite")) as old, open_store(str(tmp_path / "new.sqlite")) as new:
        assert old.tournament("cup").spec == a_spec()
        assert old.results("cup") == (result_of(a_pairing(), a_record(a_pairing())),)
        (single,) = old.matches("").rows
        assert (single.status, single.reason) == ("given up", "its game master ended")
        with old.manage("cup") as manager:
            assert manager.begin(a_pairing(1)) == 1
        found, expected = (
            {name: sorted(each) for name, each in columns(store._database).items()} for store in (old, new)
        )
        assert found == expected


def test_the_schema_has_as_many_versions_as_migrations() -> None:
    assert SCHEMA.version == 1 + len(SCHEMA.migrations)
    assert SCHEMA.metadata is METADATA


def test_other_tables_in_a_database_of_a_server_are_left_alone(postgresql_server: postgresql.Server) -> None:
    url = postgresql_server.new_schema()
    opened = open_database(url, create=True)
    with opened.writing() as connection:
        connection.execute(text("CREATE TABLE cats (name TEXT)"))
    with pytest.raises(StoreError, match="not a store of tournaments: there are other tables in it"):
        open_store(url)
    assert list(columns(opened)) == ["cats"]
    opened.close()


def test_a_server_that_was_started_again_is_found_again() -> None:
    missing = postgresql.what_is_missing()
    if missing:
        pytest.skip(missing)
    with postgresql.server() as server, open_store(server.new_schema()) as store:
        store.create(a_spec())
        server.stop()
        with pytest.raises(StoreError, match=r"^postgresql.*: "):
            store.tournaments()
        server.start()
        with store._database.reading() as connection:
            assert connection.execute(select(1)).scalar_one() == 1
        assert [stored.spec.name for stored in store.tournaments()] == ["cup"]


GARBAGE = ("NULL", "'garbage'", "x'00ff80'", "-1", "9e999", "9223372036854775807", "''", "'{}'", "'2026-99-99'")
COLUMNS = [(table, column) for table in METADATA.sorted_tables for column in table.columns]


def read_all(path: Path) -> None:
    """Everything that there is to read, in every way."""
    with open_store(str(path), create=False) as store:
        for stored in store.tournaments():
            store.tournament(stored.spec.name)
        store.tournament("cup")
        store.results("cup")
        for row in store.matches(None).rows:
            store.match(row.tournament, row.pairing)
        store.matches("cup", player="a", game="tictactoe", status="finished")
        store.running("cup")
        store.record("cup", a_pairing().id)
        store.statistics()
        store.statistics("cup")
        store.revision()
        with store.manage("cup") as manager:
            manager.begin(a_pairing())


def complaint(path: Path) -> str | None:
    """What we say about a file; any other error is a failure."""
    try:
        read_all(path)
    except GgpError as error:
        return str(error)
    return None


def is_clear(said: str | None, path: Path) -> bool:
    return said is None or (str(path) in said and "\n" not in said)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is copied before it is damaged."""
    path = tmp_path_factory.mktemp("sound") / "sound.sqlite"
    with_a_match(path)
    return path


def with_garbage() -> list[Any]:
    """A third of the values in each column, all of them in each three; the others are slow ones."""
    values = [GARBAGE[first::3] for first in range(3)]
    return [
        pytest.param(table, column, values[(number + turn) % 3], marks=[pytest.mark.slow] if turn else [])
        for turn in range(3)
        for number, (table, column) in enumerate(COLUMNS)
    ]


@pytest.mark.parametrize(("table", "column", "values"), with_garbage(), ids=str)
def test_a_damaged_value_is_our_error(
    table: Table, column: Column[object], values: Sequence[str], sound: Path, tmp_path: Path
) -> None:
    for number, value in enumerate(values):
        path = tmp_path / f"{number}.sqlite"
        shutil.copy(sound, path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError), connection:
            connection.execute(f'UPDATE "{table.name}" SET "{column.name}" = {value}')
        connection.close()
        assert is_clear(complaint(path), path)


def test_damaged_bytes_are_our_error(sound: Path, tmp_path: Path) -> None:
    whole = sound.read_bytes()
    rng = Random(5)
    damaged = 0
    for number in range(60):
        data = bytearray(whole)
        start = rng.randrange(len(data))
        if number % 3 == 0:
            del data[start:]
        else:
            end = min(len(data), start + rng.choice((1, 8, 4096)))
            data[start:end] = rng.randbytes(end - start)
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(data)
        said = complaint(path)
        assert is_clear(said, path)
        damaged += said is not None
    assert damaged > 10
