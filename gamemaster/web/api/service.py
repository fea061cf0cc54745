"""The API of the service itself: where to begin, and the document that describes all of it."""

from importlib.metadata import version

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.operations import ROOT, Operation, answer
from gamemaster.web.services import services_of


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


async def get_lobby(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    return await services.streams.serve(request, services.watchers.lists())


OPERATIONS = (
    Operation("GET", "", "getService", "service", "What this is and where to begin.", get_service, models.Service),
    Operation("GET", "/events", "watchLists", "service",
              "Server-sent events: after each `changed` lists of matches and tournaments are to be read anew.",
              get_lobby, "text/event-stream", problems=(503,)),
)  # fmt: skip
