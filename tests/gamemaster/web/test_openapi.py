"""The document of the API says what the API does."""

import json
import re

import pytest
from aiohttp.web import Application

from gamemaster.web import models
from gamemaster.web.api.document import OPERATIONS, document
from gamemaster.web.api.operations import ROOT, Operation
from gamemaster.web.settings import MEDIA_TYPE
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Players

DOCUMENT = document()


def test_the_document_is_whole() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))
    assert references <= DOCUMENT["components"]["schemas"].keys()
    names = [operation.name for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    for path, methods in DOCUMENT["paths"].items():
        for described in methods.values():
            declared = {one["name"] for one in described["parameters"] if one["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path)), path
            assert described["summary"]


def test_every_schema_is_one() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def routes(app: Application) -> set[tuple[str, str]]:
    return {
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.resource.canonical.startswith(ROOT) and route.method != "HEAD"
    }


async def test_what_is_served_is_described(client: ApiClient) -> None:
    served = routes(client.http.app)
    described = {(operation.method, ROOT + operation.path) for operation in OPERATIONS}
    assert served == described
    assert await client.get("/openapi.json") == json.loads(json.dumps(DOCUMENT))


async def test_answers_are_as_described(client: ApiClient, players: Players) -> None:
    ann = {"kind": "human", "name": "Ann"}
    begun = await client.begin("tictactoe", await players("oplayer") | {"xplayer": ann})
    link = begun["links"]["xplayer"].rpartition("/")[2]
    await client.asked(begun["links"]["xplayer"])
    names = {"game": "tictactoe", "match": begun["match"], "link": link, "step": "0", "tournament": "none"}
    await client.post(f"/humans/{link}/resign")
    for operation in OPERATIONS:
        if operation.method == "GET" and operation.name not in ("watchLists", "getEngine"):
            async with client.http.get((ROOT + operation.path).format(**names)) as response:
                check(operation, response.status, response.content_type, await response.text())


def check(operation: Operation, status: int, kind: str, text: str) -> None:
    """What was answered is among what the document says, and of that kind."""
    described = DOCUMENT["paths"][ROOT + operation.path][operation.method.lower()]["responses"][str(status)]
    if status == 204:
        assert text == ""
        return
    assert kind in described["content"], operation.name
    if kind == MEDIA_TYPE:
        assert models.ProblemDetail.model_validate_json(text).status == status
    elif not isinstance(operation.answer, str):
        operation.answer.model_validate_json(text)


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one.method == "POST"], ids=lambda one: one.name)
@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", '{"unknown": 1}', '{"step": -1}', '{"players": 7}', '"x"', "1e999"]
)
async def test_nonsense_is_refused_as_described(client: ApiClient, operation: Operation, body: str) -> None:
    path = (ROOT + operation.path).format(match="none", link="none", tournament="none", step=0)
    headers = {"Content-Type": "application/json"}
    async with client.http.post(path, data=body.encode(), headers=headers) as response:
        assert 400 <= response.status < 500
        check(operation, response.status, response.content_type, await response.text())


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=9999", "offset=-1", "offset=x", "status=none", "nothing=1", "limit=1e3"]
)
async def test_nonsense_in_a_query_is_refused(client: ApiClient, query: str) -> None:
    problem = await client.get(f"/matches?{query}", 422)
    assert problem["errors"][0]["field"] == query.partition("=")[0]


async def test_methods_that_are_none(client: ApiClient) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        async with client.http.request(method, f"{ROOT}/games/tictactoe") as response:
            assert response.status == 405
            assert response.content_type == "application/problem+json"
            assert "GET" in response.headers["Allow"]
