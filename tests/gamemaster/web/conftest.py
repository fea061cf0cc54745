"""The service in tests: everything real but the players, who answer from within the test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gamemaster.tournament.store import Store
from gamemaster.web.application import make_app
from gamemaster.web.settings import Limits, ServeSettings
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.api_client import ApiClient

Serve: TypeAlias = Callable[..., Awaitable[ApiClient]]
Players: TypeAlias = Callable[..., Awaitable[dict[str, object]]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Makes services with other settings than usual."""
    clients: list[TestClient] = []  # type: ignore[type-arg]

    async def start(limits: Limits | None = None, store: Store | str | None = None, **settings: object) -> ApiClient:
        given = {"records": tmp_path, "warm": False, "allowed_players": frozenset({"127.0.0.1"}), **settings}
        given |= {"store": store} if isinstance(store, str) else {}
        opened = None if isinstance(store, str) else store
        app = make_app(ServeSettings(**given, limits=limits or Limits(workers=1)), opened)  # type: ignore[arg-type]
        client = TestClient(TestServer(app))
        await client.start_server()
        clients.append(client)
        return ApiClient(client)

    yield start
    for client in clients:
        await client.close()


@pytest.fixture
async def client(serve: Serve) -> ApiClient:
    return await serve()


@pytest.fixture
async def players() -> AsyncIterator[Players]:
    """Role → a player that answers the last of its legal moves, as the API names it."""
    made: list[ScriptedPlayer] = []

    async def start(*roles: str, **scripts: ScriptedPlayer) -> dict[str, object]:
        found: dict[str, object] = {}
        for role in (*roles, *scripts):
            player = scripts.get(role) or ScriptedPlayer()
            await player.__aenter__()
            made.append(player)
            found[role] = {"kind": "external", "url": player.url, "name": f"player of {role}"}
        return found

    yield start
    for player in made:
        await player.__aexit__()
