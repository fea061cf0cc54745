"""Stores for tests: each test that asks for one runs on a file of SQLite and on a server of PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gamemaster.tournament.store import Store, open_store
from tests.gamemaster.tournament import postgresql, store_nursery
from tests.gamemaster.tournament.store_nursery import Nursery


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    missing = postgresql.what_is_missing()
    if missing:
        pytest.skip(missing)
    with postgresql.server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    server: postgresql.Server = request.getfixturevalue("postgresql_server")
    return server.new_schema()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty one."""
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with store_nursery.nursery(tmp_path_factory.mktemp("nursery") / "socket") as started:
        yield started


@pytest.fixture
def nursery(_nursery: Nursery) -> Iterator[Nursery]:
    """Starts other processes that use a store."""
    yield _nursery
    _nursery.clear()
