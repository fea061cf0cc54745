"""The pages of tournaments."""

import asyncio

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.html.matches import titles
from gamemaster.web.html.rendering import page
from gamemaster.web.plots import rating_plot
from gamemaster.web.services import services_of

SECTION = "/tournaments"
_LATEST = 12
_MOST_IN_MATRIX = 40  # players


async def show_tournaments(request: web.Request) -> web.Response:
    heads = await asyncio.to_thread(services_of(request).tournaments.heads)
    return page(request, "tournaments.html", SECTION, {"tournaments": heads})


async def show_tournament(request: web.Request) -> web.Response:
    services = services_of(request)
    name = request.match_info["tournament"]
    found = await asyncio.to_thread(services.tournaments.get, name)
    latest = await services.shelf.listing(models.MatchesWanted(tournament=name, limit=_LATEST))
    rated = [(line.player, line.rating) for line in found.lines if line.rating is not None]
    values = {
        "event": found,
        "plot": rating_plot(rated, "Ratings with their 95 % intervals"),
        "meetings": {(meeting.player, meeting.opponent): meeting for meeting in found.meetings},
        "has_matrix": len(found.players) <= _MOST_IN_MATRIX,
        "under_way": found.under_way,
        "latest": [head for head in latest.matches if head.status not in ("running", "preparing")],
        "games": titles(services),
    }
    return page(request, "tournament.html", SECTION, values)
