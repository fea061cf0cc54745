"""All operations, with those of the service and of tournaments, and the OpenAPI 3.1 document that describes them."""

import asyncio
import json
import re
from functools import cache
from importlib.metadata import version
from typing import Any

from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gamemaster.web import models
from gamemaster.web.api import games, humans, matches
from gamemaster.web.api.operations import (
    JSON,
    ROOT,
    Operation,
    Services,
    answer,
    may_operate,
    read_body,
    services_of,
    streamed,
)
from gamemaster.web.catalogue import CatalogueEntry
from gamemaster.web.settings import MEDIA_TYPE, Problem, refused
from gamemaster.web.tournaments import NewTournament

_REF = "#/components/schemas/{model}"
_ALWAYS = (400, 403, 421, 422, 429, 500, 503)  # problems that every operation can have
_SCHEME = "token"


async def get_service(request: web.Request) -> web.Response:
    services = services_of(request)
    links = {"document": "openapi.json", "games": "games", "matches": "matches", "tournaments": "tournaments"}
    return answer(
        models.Service(
            name="ggp",
            version=version("ggp"),
            needs_token=services.settings.needs_token,
            may_write=services.guard.may_write(request),
            links={name: f"{ROOT}/{path}" for name, path in links.items()},
        )
    )


async def get_changes(request: web.Request) -> web.StreamResponse:
    return await streamed(request, services_of(request).watchers.lists())


async def get_document(_: web.Request) -> web.Response:
    return web.Response(text=document_text(), content_type=JSON)


async def list_tournaments(request: web.Request) -> web.Response:
    heads = await asyncio.to_thread(services_of(request).tournaments.heads)
    return answer(models.Tournaments(tournaments=heads))


async def get_tournament(request: web.Request) -> web.Response:
    tournaments = services_of(request).tournaments
    return answer(await asyncio.to_thread(tournaments.get, request.match_info["tournament"]))


async def post_tournament(request: web.Request) -> web.Response:
    """Begins a tournament, which is the operator's right."""
    services = services_of(request)
    wanted = await read_body(request, NewTournament)
    _check_operator(request)
    entries = [_entry(services, game) for game in wanted.games]
    rules = {entry.id: entry.source.text for entry in entries if not entry.is_shipped}
    players = [services.live_matches.allowed.as_specified(player) for player in wanted.players]
    await services.processes.begin(wanted, players, rules)
    return answer(await asyncio.to_thread(services.tournaments.get, wanted.name), 201)


async def post_tournament_end(request: web.Request) -> web.Response:
    """Ends a tournament that was begun here."""
    services = services_of(request)
    await read_body(request, models.Empty)
    _check_operator(request)
    name = request.match_info["tournament"]
    await asyncio.to_thread(services.tournaments.get, name)
    await services.processes.end(name)
    return answer(await asyncio.to_thread(services.tournaments.get, name))


def _check_operator(request: web.Request) -> None:
    if not may_operate(request):
        raise Problem(403, "only the operator of this service begins and ends tournaments")


def _entry(services: Services, game: str) -> CatalogueEntry:
    entry = services.catalogue.get(game)
    if entry is None:
        raise refused(f"there is no game {game}")
    return entry


OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "", "getService", "service", "What this is and where to begin.", get_service, models.Service),
    Operation("GET", "/events", "watchLists", "service",
              "Server-sent events: after each `changed` lists of matches and tournaments are to be read anew.",
              get_changes, "text/event-stream", problems=(503,)),
    Operation("GET", "/openapi.json", "getDocument", "service", "This document.", get_document, JSON),
    *games.OPERATIONS,
    *matches.OPERATIONS,
    *humans.OPERATIONS,
    Operation("GET", "/tournaments", "listTournaments", "tournaments", "All tournaments of the store.",
              list_tournaments, models.Tournaments),
    Operation("GET", "/tournaments/{tournament}", "getTournament", "tournaments",
              "A tournament with its standings; its matches are in the list of matches.", get_tournament,
              models.Tournament, problems=(404,)),
    Operation("POST", "/tournaments", "beginTournament", "tournaments",
              "Begin a tournament in the store of this service; the operator's right.", post_tournament,
              models.Tournament, body=NewTournament, status=201, problems=(403, 409, 415, 422, 503)),
    Operation("POST", "/tournaments/{tournament}/end", "endTournament", "tournaments",
              "Give up the matches under way of a tournament that was begun here.", post_tournament_end,
              models.Tournament, body=models.Empty, problems=(403, 404, 409, 415)),
)  # fmt: skip


@cache
def document_text() -> str:
    """As JSON; making it takes a moment."""
    return json.dumps(document(), indent=1)


def document() -> dict[str, Any]:
    """The whole document."""
    named = [(model, "serialization") for model in _answers()] + [(model, "validation") for model in _bodies()]
    _, schemas = models_json_schema(named, ref_template=_REF)  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(ROOT + operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ggp",
            "version": version("ggp"),
            "description": "Games, matches, humans and tournaments of a General Game Playing service. Errors are "
            "problem+json (RFC 9457). Where the service needs a token, requests that change something carry it as "
            "`Authorization: Bearer TOKEN`; humans are protected by their links instead.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.get("$defs", {}),
            "securitySchemes": {_SCHEME: {"type": "http", "scheme": "bearer"}},
        },
    }


def _answers() -> list[type[BaseModel]]:
    found = [operation.answer for operation in OPERATIONS if not isinstance(operation.answer, str)]
    return list(dict.fromkeys([*found, models.ProblemDetail]))


def _bodies() -> list[type[BaseModel]]:
    return list(dict.fromkeys(operation.body for operation in OPERATIONS if operation.body is not None))


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": _responses(operation),
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(operation.body)}}}
    if operation.method != "GET" and not operation.is_open:
        described["security"] = [{_SCHEME: []}, {}]
    return described


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0, "maximum": 10_000_000}
            if name == "step"
            else {"type": "string", "minLength": 1, "maxLength": 200},
        }
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "schema": field}
        for name, field in schema["properties"].items()
    ]


def _responses(operation: Operation) -> dict[str, Any]:
    if isinstance(operation.answer, str):
        content: dict[str, Any] = {operation.answer: {"schema": {} if operation.answer == JSON else {"type": "string"}}}
    else:
        content = {JSON: {"schema": _ref(operation.answer)}}
    if operation.body is models.AnalysisRequest:
        content["application/x-ndjson"] = {"schema": {"type": "string"}}
    responses = {str(operation.status): {"description": operation.summary, "content": content}}
    if operation.answer == "text/event-stream":
        responses["204"] = {"description": "Nothing will happen any more."}
    wrong = {MEDIA_TYPE: {"schema": _ref(models.ProblemDetail)}}
    writing = () if operation.method == "GET" else (401, 413, 415)
    for status in sorted({*_ALWAYS, *operation.problems, *writing}):
        responses[str(status)] = {"description": Problem(status, "").title, "content": wrong}
    return responses


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
