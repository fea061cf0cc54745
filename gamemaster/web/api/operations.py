"""One operation of the API: its path, what it takes and gives; the services that handlers use."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import aiohttp
from aiohttp import HttpVersion11, web
from pydantic import BaseModel, ValidationError

from gamemaster.faults import shown
from gamemaster.web.catalogue import Catalogue
from gamemaster.web.evaluators.analysis import Analyses
from gamemaster.web.evaluators.pool import Pool
from gamemaster.web.live.external import Endpoints
from gamemaster.web.live.feed import Feed, Streams
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.models import State
from gamemaster.web.queries import MatchQueries, Watchers
from gamemaster.web.repository import MatchRepository
from gamemaster.web.safety import Guard
from gamemaster.web.settings import Problem, ServeSettings
from gamemaster.web.tournaments import TournamentProcesses, TournamentQueries
from gamemaster.web.views import match_of_cookie

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
M = TypeVar("M", bound=BaseModel)
A = TypeVar("A")
JSON = "application/json"
_COOKIE_SECONDS = 7 * 24 * 3600  # of a cookie of a match
ROOT = "/api/v1"


@dataclass(frozen=True, slots=True)
class Services:
    """Made once for each application."""

    settings: ServeSettings
    guard: Guard
    pool: Pool  # for spectators
    checks: Pool  # for whole rulesheets and records, which take long, so that readers do not wait for them
    people: Pool  # for people who play for other game masters, so that they do not wait for others
    analyses: Analyses
    catalogue: Catalogue
    live_matches: LiveMatches
    endpoints: Endpoints
    repository: MatchRepository
    queries: MatchQueries
    streams: Streams
    tournaments: TournamentQueries
    processes: TournamentProcesses  # of tournaments that were begun here
    watchers: Watchers
    changes: Feed  # told whenever a match begins or ends
    starts: dict[str, State]  # key of a source → its first state, drawn
    images: dict[str, str]  # the same as a file of its own


SERVICES = web.AppKey("SERVICES", Services)


def services_of(request: web.Request) -> Services:
    return request.app[SERVICES]


@dataclass(frozen=True, slots=True)
class Operation:
    """What the document says of it is what it does; a test compares both."""

    method: Literal["GET", "POST"]
    path: str  # after ROOT; {name} stands for a part without slashes
    name: str
    tag: str
    summary: str
    handler: Handler
    answer: type[BaseModel] | str  # or a media type, where it is no JSON
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    problems: tuple[int, ...] = ()  # in addition to those that all can have
    is_open: bool = False  # whether it needs no token though it changes something


def visitor_of(request: web.Request) -> str:
    """Who pays for what a request begins; the operator does not."""
    guard = services_of(request).guard
    return "" if guard.is_operator(request) else guard.visitor(request)


def may_operate(request: web.Request) -> bool:
    """Whether who asks is the operator; where no token was set, only this computer can ask, and all may."""
    services = services_of(request)
    return services.guard.is_operator(request) or not services.settings.operator_tokens


async def streamed(request: web.Request, feed: Feed) -> web.StreamResponse:
    """The events of a feed, until it ends or the listener goes."""
    return await services_of(request).streams.serve(request, feed, visitor_of(request))


async def read_body(request: web.Request, model: type[M]) -> M:
    """The body as a value; a Problem that names the field where it is none."""
    if request.content_type != JSON:
        raise Problem(415, f"the body must be {JSON}")
    data = await _arrived(request, request.read())
    try:
        return model.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise _wrong(error) from None


def set_match_cookie(request: web.Request, response: web.Response, name: str, value: str) -> None:
    """A cookie of a match that goes on; those of matches that do not are deleted, since a browser sends them all."""
    response.set_cookie(name, value, max_age=_COOKIE_SECONDS, httponly=True, samesite="Strict", path="/")
    live_matches = services_of(request).live_matches
    for other in request.cookies:
        match = match_of_cookie(other)
        live = None if match is None else live_matches.get(match)
        if match is not None and other != name and (live is None or live.is_over):
            response.del_cookie(other, path="/")


async def read_form(request: web.Request) -> Mapping[str, object]:
    """What a page without JavaScript sends."""
    try:
        return await _arrived(request, request.post())
    except (ValueError, LookupError, AssertionError) as error:  # aiohttp's, of what is no form
        raise Problem(400, f"the body is no form: {shown(str(error))}") from None


async def _arrived(request: web.Request, body: Awaitable[A]) -> A:
    """The body of a request, if it comes in time and can be unpacked."""
    try:
        async with asyncio.timeout(services_of(request).settings.limits.request_seconds):
            return await body
    except TimeoutError:
        raise Problem(408, "the request did not arrive in time") from None
    except (web.RequestPayloadError, aiohttp.ClientPayloadError) as error:
        raise Problem(400, f"the body cannot be read: {shown(str(error))}") from None


def read_query(request: web.Request, model: type[M]) -> M:
    """The query as a value."""
    try:
        return model.model_validate(dict(request.query))
    except ValidationError as error:
        raise _wrong(error) from None


async def answer_expectation(request: web.Request) -> None:
    """Tells a client that waits for `100 Continue` to send the body; aiohttp's own handler fails at what is no text."""
    if request.version == HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def number(request: web.Request, name: str, most: int = 10_000_000) -> int:
    """A part of the path that is a whole number."""
    text = request.match_info[name]
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > most:
        raise Problem(422, f"{name} is a whole number from 0 to {most}")
    return int(text)


def answer(value: BaseModel, status: int = 200) -> web.Response:
    return web.Response(text=value.model_dump_json(), status=status, content_type=JSON)


def file(text: str, name: str, media_type: str = JSON) -> web.Response:
    """Something to be saved under a name."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-~") else "-" for letter in name)
    headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return web.Response(text=text, content_type=media_type, charset="utf-8", headers=headers)


def _wrong(error: ValidationError) -> Problem:
    first, *_ = errors = error.errors(include_url=False, include_context=False, include_input=False)
    if first["type"] == "json_invalid":
        return Problem(400, f"the body is not JSON: {first['msg']}")
    listed = [{"field": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in errors]
    field = listed[0]["field"]
    return Problem(422, f"{field + ': ' if field else ''}{first['msg']}", fields={"errors": listed})
