"""A client of the service in tests: requests and answers as JSON, events as they come."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from aiohttp import StreamReader, web
from aiohttp.test_utils import TestClient

from gamemaster.web.api.operations import SERVICES, Services

Json: TypeAlias = Any

ROOT = "/api/v1"
PATIENCE = 120.0  # seconds for anything at all, on a machine that is busy with other things


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    id: str
    kind: str
    data: Json


@dataclass(slots=True)
class ApiClient:
    """An HTTP client of the API."""

    http: TestClient[web.Request, web.Application]

    @property
    def services(self) -> Services:
        return self.http.app[SERVICES]

    async def get(self, path: str, status: int = 200) -> Json:
        async with self.http.get(_address(path)) as response:
            text = await response.text()
            assert response.status == status, text
            return json.loads(text)

    async def post(self, path: str, body: object = None, status: int = 200, **headers: str) -> Json:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.post(_address(path), json={} if body is None else body, headers=sent) as response:
            text = await response.text()
            assert response.status == status, text
            return json.loads(text)

    async def page(self, path: str, status: int = 200) -> str:
        async with self.http.get(path) as response:
            text = await response.text()
            assert response.status == status, text
            return text

    @asynccontextmanager
    async def events(self, path: str, last: str = "") -> AsyncIterator[AsyncIterator[Event]]:
        headers = {"Last-Event-ID": last} if last else {}
        async with self.http.get(_address(path), headers=headers) as response:
            assert response.status == 200, await response.text()
            yield _parsed(response.content)

    async def begin(self, game: str, players: Mapping[str, object], operator: str = "", /, **more: object) -> Json:
        order = {"game": game, "players": players, "startclock": 60, "playclock": 600, **more}
        headers = {"Authorization": f"Bearer {operator}"} if operator else {}
        return await self.post("/matches", order, 201, **headers)

    async def ended(self, match: str) -> Json:
        """The match when it is over."""
        live = self.services.live_matches.get(match)
        assert live is not None
        async with asyncio.timeout(PATIENCE):
            while not live.is_over:
                with live.feeds.spectators.listening() as listener:
                    await listener.get()
        return await self.get(f"/matches/{match}")

    async def asked(self, link: str) -> Json:
        """What a human sees when a move is wanted, or the match is over."""
        found = self.services.live_matches.human(link.rpartition("/")[2])
        assert found is not None
        live, human = found
        human.arrived.set()
        async with asyncio.timeout(PATIENCE):
            while human.wanted is None and not live.is_over:
                with human.feed.listening() as listener:
                    await listener.get()
        return await self.get(link)


def _address(path: str) -> str:
    """Of the API; the secret links of humans are those of their pages."""
    return ROOT + (path.replace("/play/", "/humans/", 1) if path.startswith("/play/") else path)


async def _parsed(stream: StreamReader) -> AsyncIterator[Event]:
    fields = {"id": "", "event": "", "data": ""}
    async for line in stream:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name in fields:
            fields[name] = value
        elif not name and fields["event"]:
            yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {"id": fields["id"], "event": "", "data": ""}
