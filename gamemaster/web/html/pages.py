"""The paths of all pages; the pages of the service itself, of humans and of tournaments."""

import asyncio
from contextlib import suppress
from functools import partial
from itertools import groupby

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.document import OPERATIONS
from gamemaster.web.api.games import game_head
from gamemaster.web.api.humans import endpoint_view, find_endpoint, find_human
from gamemaster.web.api.operations import ROOT, Services, answer_expectation, read_form, services_of
from gamemaster.web.html import games, matches
from gamemaster.web.html.matches import titles
from gamemaster.web.html.rendering import page
from gamemaster.web.problems import Problem
from gamemaster.web.safety import COOKIE, cookie_of
from gamemaster.web.views import human_cookie
from ggp.boards import picture_style
from ggp.errors import GgpError
from ggp.plots import rating_plot

_SOME_GAMES = 8
_SOME_MATCHES = 8
_SOME_TOURNAMENTS = 5
_COOKIE_SECONDS = 30 * 24 * 3600
_LINK_SECONDS = 24 * 3600


def add_pages(app: web.Application) -> None:
    """All pages."""
    get = partial(app.router.add_get, expect_handler=answer_expectation)
    post = partial(app.router.add_post, expect_handler=answer_expectation)
    get("/", show_home)
    get("/boards.css", show_style)
    get("/games", games.show_games)
    get("/games/new", games.show_paste)
    post("/games/new", games.take_paste)
    get("/games/{game}", games.show_game)
    get("/matches", matches.show_matches)
    get("/matches/{match}", matches.show_match)
    get("/play", matches.show_play)
    get("/play/{link}", show_human)
    get("/endpoints/{link}", show_endpoint)
    get("/tournaments", show_tournaments)
    get("/tournaments/{tournament}", show_tournament)
    get("/token", show_token)
    post("/token", take_token)
    get("/api", show_api)


def problem_page(request: web.Request, problem: Problem) -> web.Response:
    """What went wrong, as a page."""
    return page(request, "problem.html", values={"problem": problem}, status=problem.status)


async def show_home(request: web.Request) -> web.Response:
    services = services_of(request)
    entries = services.catalogue.find()
    shipped = [game_head(entry) for entry in entries if entry.is_shipped] or list(map(game_head, entries))
    live = [one.head for one in services.live_matches.all() if not one.is_over]
    listing = await services.queries.listing(models.MatchesWanted(limit=_SOME_MATCHES + len(live)))
    last = [head for head in listing.matches if head.id not in {one.id for one in live}][:_SOME_MATCHES]
    values = {
        "count": len(entries),
        "hero": _hero(services, shipped),
        "some": shipped[:_SOME_GAMES],
        "live": live,
        "matches": last,
        "games": matches.titles(services),
        "tournaments": (await asyncio.to_thread(services.tournaments.heads))[:_SOME_TOURNAMENTS],
    }
    return page(request, "home.html", "/", values)


def _hero(services: Services, games: list[models.GameHead]) -> models.GameHead | None:
    """The game whose first state has the most to look at, of those that were drawn already."""
    keys = {entry.id: entry.source.key for entry in services.catalogue.find()}
    return max(games, key=lambda game: services.images.get(keys[game.id], "").count("<polygon"), default=None)


async def show_style(_: web.Request) -> web.Response:
    """The colours of boards."""
    return web.Response(text=picture_style(), content_type="text/css", charset="utf-8")


async def show_human(request: web.Request) -> web.Response:
    """What a human in a match sees."""
    live, human = find_human(request)
    services = services_of(request)
    state = None
    if live.record is not None and not live.is_hidden:
        with suppress(Problem, GgpError):  # then the page asks again
            state = await live.draw_state(live.step)
    entry = services.catalogue.get(live.order.source.name)
    values = {
        "head": live.head,
        "role": human.role,
        "link": human.link,
        "title": entry.title if entry else live.order.source.name,
        "description": entry.metadata.roles.get(human.role, "") if entry else "",
        "state": state,
        "is_hidden": live.is_hidden,
        "told": list(zip(human.own_moves, human.percepts, strict=True)),
    }
    response = page(request, "human.html", "/play", values)
    if not live.is_over:  # this browser is not told what other players think
        name = human_cookie(live.id)
        response.set_cookie(name, "1", max_age=_LINK_SECONDS, httponly=True, samesite="Strict", path="/")
    return response


async def show_endpoint(request: web.Request) -> web.Response:
    """The HTTP endpoint of a human, waiting for another game master to begin a match."""
    endpoint = endpoint_view(services_of(request), find_endpoint(request))
    return page(request, "endpoint.html", "/play", {"endpoint": endpoint, "link": request.match_info["link"]})


async def show_token(request: web.Request) -> web.Response:
    return page(request, "token.html", values={"wrong": False})


async def take_token(request: web.Request) -> web.StreamResponse:
    """Gives the browser a cookie in place of the token."""
    given = str((await read_form(request)).get("token", ""))
    if not services_of(request).guard.is_token(given):
        return page(request, "token.html", values={"wrong": True}, status=403)
    response = web.HTTPSeeOther("/")
    response.set_cookie(COOKIE, cookie_of(given), max_age=_COOKIE_SECONDS, httponly=True, samesite="Strict", path="/")
    raise response


async def show_api(request: web.Request) -> web.Response:
    """The API as a page."""
    groups = [(tag, list(found)) for tag, found in groupby(OPERATIONS, key=lambda operation: operation.tag)]
    merged: dict[str, list[object]] = {}
    for tag, found in groups:
        merged.setdefault(tag, []).extend(found)
    return page(request, "api.html", values={"groups": list(merged.items()), "root": ROOT})


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
    latest = await services.queries.listing(models.MatchesWanted(tournament=name, limit=_LATEST))
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
