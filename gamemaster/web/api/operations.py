"""One operation of the API: its path, what it takes and gives; the services that handlers use."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from gamemaster.web.catalogue import Catalogue
from gamemaster.web.evaluators.analysis import Analyses
from gamemaster.web.evaluators.pool import Pool
from gamemaster.web.live.external import Endpoints
from gamemaster.web.live.feed import Feed, Streams
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.models import State
from gamemaster.web.problems import Problem
from gamemaster.web.queries import MatchQueries, Watchers
from gamemaster.web.repository import MatchRepository
from gamemaster.web.safety import Guard
from gamemaster.web.settings import ServeSettings
from gamemaster.web.tournaments import Tournaments

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
M = TypeVar("M", bound=BaseModel)
JSON = "application/json"
ROOT = "/api/v1"


@dataclass(frozen=True, slots=True)
class Services:
    """Made once for each application."""

    settings: ServeSettings
    guard: Guard
    pool: Pool
    analyses: Analyses
    catalogue: Catalogue
    live_matches: LiveMatches
    endpoints: Endpoints
    repository: MatchRepository
    queries: MatchQueries
    streams: Streams
    tournaments: Tournaments
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
    problems: tuple[int, ...] = ()  # beside those that all can have
    is_open: bool = False  # whether it needs no token though it changes something


async def read_body(request: web.Request, model: type[M]) -> M:
    """The body as a value; a Problem that names the field where it is none."""
    if request.content_type != JSON:
        raise Problem(415, f"the body must be {JSON}")
    try:
        return model.model_validate_json(await request.read(), strict=True)
    except ValidationError as error:
        raise _wrong(error) from None


def read_query(request: web.Request, model: type[M]) -> M:
    """The query as a value."""
    try:
        return model.model_validate(dict(request.query))
    except ValidationError as error:
        raise _wrong(error) from None


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
