"""Programs that know the service by its OpenAPI document only: whatever they send, the answers are as described.

schemathesis makes up requests from the document, and such that break it; many of them name what is there.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gamemaster.tournament.store import open_store
from gamemaster.web.api.document import OPERATIONS, document
from gamemaster.web.api.operations import ROOT, Operation
from gamemaster.web.application import MOST_LINE_BYTES, make_app
from gamemaster.web.settings import MEDIA_TYPE, Limits, ServeSettings
from tests.gamemaster import games
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
from tests.gamemaster.web.tournaments import NAME, a_finished_match, a_tournament, finish, pairings_of

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (pip install '.[dev]')")


EXAMPLES = settings().max_examples // 25  # requests to each operation, as described, and as many that are not
WITH_BODY = settings().max_examples // 12  # of which many are refused for good reasons
ANN = {"kind": "human", "name": "Ann"}
MANY = 10**6
OPERATOR = "correct-horse-operator"  # who may end matches
PLENTY = Limits(
    workers=1,
    matches=MANY,
    visitor_matches=MANY,
    visitor_rulesheets=MANY,
    kept=MANY,
    endpoints=MANY,
    reads=MANY,
    reads_at_once=MANY,
    writes=MANY,
    writes_at_once=MANY,
)
DOCUMENT = document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
CALLED = [one for one in OPERATIONS if one.name != "watchLists"]  # which has no end; nor has that of an endpoint
SELDOM = {"watchEndpoint", "beginTournament", "endTournament"}  # what fits the document is seldom there to be done
TYPICAL = {"beginMatch", "listMatches", "getState"}  # with a body, a query and a number in the path
BREAKABLE = [one for one in CALLED if one.query is not None or one.body is not None or "{step}" in one.path]


@dataclass(frozen=True, slots=True)
class Served:
    """A service in a thread of its own."""

    client: ApiClient
    loop: asyncio.AbstractEventLoop
    game: str
    over: tuple[str, str]  # a match that is over, and its human
    kept: str  # a match of the store

    @property
    def url(self) -> str:
        return str(self.client.http.make_url("")).rstrip("/")

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(3 * PATIENCE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("any_client")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def do(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        return asyncio.run_coroutine_threadsafe(work, loop).result(3 * PATIENCE)

    try:
        client = do(start(folder))
        game, over, kept = do(furnish(client))
        yield Served(client, loop, game, over, kept)
        do(client.http.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def start(folder: Path) -> ApiClient:
    """A service with a tournament."""
    path = str(folder / "store.sqlite")
    spec = a_tournament()
    with open_store(path) as store:
        store.create(spec)
        with store.manage(NAME) as manager:
            finish(manager, await a_finished_match(), pairings_of(spec)[0])
    chosen = ServeSettings(store=path, records=folder, warm=False, operator_token=OPERATOR, limits=PLENTY)
    server = TestServer(make_app(chosen))
    await server.start_server(max_line_size=MOST_LINE_BYTES)
    client = TestClient(server)
    await client.start_server()
    return ApiClient(client)


async def furnish(client: ApiClient) -> tuple[str, tuple[str, str], str]:
    """A game for one, a match of it, and one that was played elsewhere."""
    (kept,) = (await client.get("/matches"))["matches"]
    game = (await client.post("/games", {"name": "countdown", "rulesheet": games.COUNTDOWN}, 201))["id"]
    return game, await started(client, game, moves=3), kept["id"]


async def started(client: ApiClient, game: str, moves: int) -> tuple[str, str]:
    """A match after so many moves of its only human, and the secret link."""
    begun = await client.begin(game, {"lonely": ANN}, playclock=3600)
    path = begun["links"]["lonely"]
    for _ in range(moves):
        step = (await client.asked(path))["asked"]
        await client.post(f"{path}/move", {"move": "tick", "step": step})
    await client.asked(path)
    return begun["match"], path.rpartition("/")[2]


async def end_all(client: ApiClient) -> None:
    for live in client.services.live_matches.all():
        await client.services.live_matches.end(live, "the test is over")


def known_places(served: Served, operation: Operation) -> list[dict[str, Any]]:
    """For the names in the path, of what is there: games, matches, states, humans, endpoints, tournaments."""
    if "{game}" in operation.path:
        return [{"game": served.game}]
    if "{tournament}" in operation.path:
        return [{"tournament": NAME}]
    if operation.path.startswith("/endpoints/") and operation.name != "watchEndpoint":
        endpoint = served.do(served.client.post("/endpoints", {}, 201))
        return [{"link": endpoint["url"].rpartition("/")[2]}]
    if not operation.path.startswith(("/humans/{link}", "/matches/{match}")):
        return []
    # One match follows another: what was played again by an earlier request is over for good.
    found = [served.do(started(served.client, served.game, 3)) if operation.name == "playAgain" else served.over]
    if not operation.path.endswith("/events"):  # of a match that goes on they have no end
        found.append(served.do(started(served.client, served.game, moves=1)))
    if operation.path.startswith("/humans"):
        return [{"link": link} for _, link in found]
    matches = [served.kept, *(match for match, _ in found)]
    steps: list[dict[str, Any]] = [{"step": step} for step in (0, 1, 3)] if "{step}" in operation.path else [{}]
    return [{"match": match, **step} for match in matches for step in steps]


def fitting(operation: Operation, served: Served, body: Any) -> Any:  # noqa: ANN401 - any JSON
    """The body with what makes it one that is understood here, and quick; others are refused for good reasons."""
    players = {"lonely": ANN}
    match operation.name:
        case "beginMatch":
            return {**body, "game": served.game, "players": players}
        case "branchMatch":
            return {**body, "step": body["step"] % 4, "players": players}
        case "addGame" | "checkRulesheet":
            return {**body, "rulesheet": games.GUESSING}
        case "chooseMove":
            return {**body, "step": 1, "move": "tick"}
        case "analyseState" | "hint":
            return {**body, "seconds": 0.05, "role": "lonely"}
    return body


def requests_to(served: Served, operation: Operation, mode: str) -> st.SearchStrategy[Any]:
    """Requests that fit the document, or do not; to places that are there, or are not."""
    described = SCHEMA[ROOT + operation.path][operation.method]
    modes = schemathesis.GenerationMode(mode)

    def fitted(case: Any) -> Any:  # noqa: ANN401 - schemathesis' own
        case.body = fitting(operation, served, case.body)
        if operation.name == "branchMatch" and case.path_parameters["match"] == served.kept:
            case.body["players"] = {"xplayer": ANN, "oplayer": ANN}
        return case

    places = known_places(served, operation)
    strategies = [described.as_strategy(generation_mode=modes)]
    strategies += [described.as_strategy(generation_mode=modes, path_parameters=place) for place in places]
    if operation.body is not None and mode == "positive":
        strategies += 3 * [described.as_strategy(path_parameters=place).map(fitted) for place in places or [{}]]
    return st.one_of(strategies)


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        *((one, "positive") for one in CALLED),
        *(pytest.param(one, "negative", marks=() if one.name in TYPICAL else pytest.mark.slow) for one in BREAKABLE),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_answers_are_as_described(served: Served, operation: Operation, mode: str) -> None:
    statuses: set[int] = set()

    @settings(
        max_examples=WITH_BODY if operation.body is not None and mode == "positive" else EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=requests_to(served, operation, mode))
    def ask(case: Any) -> None:  # noqa: ANN401 - schemathesis' own
        response = case.call(base_url=served.url, timeout=PATIENCE, headers={"Authorization": f"Bearer {OPERATOR}"})
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            assert response.headers["content-type"] == [MEDIA_TYPE]
            assert json.loads(response.content)["status"] == response.status_code

    try:
        ask()
    finally:
        served.do(end_all(served.client))
    if mode == "positive":
        assert statuses & {operation.status, 204} or operation.name in SELDOM, statuses
    else:
        assert any(400 <= status < 500 for status in statuses), statuses  # some that do not fit are the same on the way


def checks() -> list[Any]:
    from schemathesis.checks import not_a_server_error  # noqa: PLC0415 - may not be installed
    from schemathesis.specs.openapi import checks as openapi  # noqa: PLC0415

    return [
        not_a_server_error,
        openapi.status_code_conformance,
        openapi.content_type_conformance,
        openapi.response_headers_conformance,
        openapi.response_schema_conformance,
        openapi.negative_data_rejection,
    ]


CHECKS = checks()


def test_the_document_is_openapi() -> None:
    SCHEMA.validate()
