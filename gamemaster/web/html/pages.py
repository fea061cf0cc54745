"""The paths of all pages; the pages of the service itself, of matches, of humans and of tournaments."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.document import OPERATIONS
from gamemaster.web.api.games import game_head, start_state
from gamemaster.web.api.humans import endpoint_view, find_endpoint, find_human
from gamemaster.web.api.matches import charge_steps, find_match, steps_of, viewer_of
from gamemaster.web.api.operations import (
    ROOT,
    Services,
    answer_expectation,
    may_operate,
    read_form,
    read_query,
    services_of,
    set_match_cookie,
    visitor_of,
)
from gamemaster.web.html import games
from gamemaster.web.html.rendering import Wording, page, role_words
from gamemaster.web.safety import COOKIE, cookie_of
from gamemaster.web.settings import Problem
from gamemaster.web.views import api_url, human_cookie
from ggp.boards import hinted_words, picture_style, role_colours
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE
from ggp.plots import Curve, rating_plot, value_plot

HOME_GAMES = 8  # that the first page shows
_SOME_MATCHES = 8
_SOME_TOURNAMENTS = 5
_MATCHES, _TOURNAMENTS = "/matches", "/tournaments"  # sections
_LATEST = 12  # matches of a tournament
_MOST_IN_MATRIX = 40  # players
_LONGEST_STEP = 7  # digits
_STEP_OF_PAGE = 1 / 8  # requests that a step of a long match counts as
_DRAWING_SECONDS = 1.0  # for which the first page waits for a state
_COOKIE_SECONDS = 30 * 24 * 3600


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
    get("/matches", show_matches)
    get("/matches/{match}", show_match)
    get("/play", show_play)
    get("/play/{link}", show_human)
    get("/endpoints/{link}", show_endpoint)
    get("/tournaments", show_tournaments)
    get("/new-tournament", show_new_tournament)
    get("/tournaments/{tournament}", show_tournament)
    get("/tournaments/{tournament}/report", show_report)
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
    running = [one for one in services.live_matches.all() if not one.is_over]
    live = [one.head for one in running]
    listing = await services.queries.listing(models.MatchesWanted(limit=_SOME_MATCHES + len(live)))
    last = [head for head in listing.matches if head.id not in {one.id for one in live}][:_SOME_MATCHES]
    values = {
        "count": len(entries),
        "hero": _hero(services, shipped),
        "watched": await _watched(request, [one.id for one in running if not one.is_hidden]),
        "some": shipped[:HOME_GAMES],
        "live": live,
        "matches": last,
        "games": titles(services),
        "tournaments": (await asyncio.to_thread(services.tournaments.heads))[:_SOME_TOURNAMENTS],
    }
    return page(request, "home.html", "/", values)


async def _watched(request: web.Request, running: list[str]) -> tuple[models.MatchHead, models.State] | None:
    """The first match that can be looked at, with its state; None where that takes long."""
    services = services_of(request)
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAWING_SECONDS):
            for name in running:
                with suppress(Problem, GgpError):
                    found = await services.queries.find(name, viewer_of(request, name))
                    return found.head, await services.queries.state(found, found.head.steps)
    return None


def _hero(services: Services, games: list[models.GameHead]) -> models.GameHead | None:
    """The game whose picture has the most to look at, of those that were drawn already."""
    keys = {entry.id: entry.source.key for entry in services.catalogue.find()}
    return max(games, key=lambda game: services.images.get(keys[game.id], "").count("<polygon"), default=None)


async def show_style(_: web.Request) -> web.Response:
    """The colours of boards."""
    return web.Response(text=picture_style(), content_type="text/css", charset="utf-8")


def titles(services: Services) -> dict[str, str]:
    """Game → its title."""
    return {entry.id: entry.title for entry in services.catalogue.find()}


async def show_matches(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = read_query(request, models.MatchesWanted)
    found = await services.queries.listing(wanted)

    def query(**changes: object) -> str:
        given = {name: value for name, value in request.query.items() if value}
        return urlencode({**given, **changes})

    values = {"wanted": wanted, "found": found, "games": titles(services), "query": query}
    return page(request, "matches.html", _MATCHES, values)


async def show_match(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    title = titles(services).get(found.head.game, found.head.game)
    if found.record is None:
        return page(request, "preparing.html", _MATCHES, {"head": found.head, "title": title})
    charge_steps(request, steps_of(found), _STEP_OF_PAGE)
    match = services.queries.match(found)
    last = match.steps
    step = min(_step(request, last), last)
    state, problem = None, ""
    try:
        state = await services.queries.state(found, step)
    except (Problem, GgpError) as error:
        problem = str(error)
    values: dict[str, object] = {"match": match, "title": title, "api": api_url(found.id), "last": last}
    values |= {
        "state": state,
        "problem": problem,
        "step": step,
        "takes_part": found.sight.hides_evaluations and found.viewer.takes_part,
    }
    wording = wording_of(services.catalogue.source_of(found.record).drawing, match.roles)
    values |= {"thoughts": thoughts(match, step), "wording": wording}
    values |= {"plot": value_plot(curves(match, wording), last, step)}
    return page(request, "match.html", _MATCHES, values)


def wording_of(drawing: Mapping[str, Any], roles: Sequence[str]) -> dict[str, dict[str, str]]:
    """How pages call roles, write moves and colour what belongs to a role."""
    words, moves = (hinted_words(drawing, table) for table in ("words", "moves"))
    return {"words": words, "moves": moves, "colours": role_colours(drawing, roles)}


def thoughts(match: models.Match, state: int) -> dict[str, tuple[int, models.Evaluation]]:
    """Role → what its player thought last up to a state, and of which state it did; not of those that say nothing."""
    found = {
        role: (step.number, said)
        for step in match.joint_moves
        if step.number <= state
        for role, said in step.evaluations.items()
    }
    return {role: found[role] for role in match.roles if role in found}


def curves(match: models.Match, wording: Wording) -> list[Curve]:
    """What each role's player expected, over the match, in the colours of their pieces."""
    points = {
        role: tuple(
            (step.number, said.value)
            for step in match.joint_moves
            if (said := step.evaluations.get(role)) is not None and said.value is not None
        )
        for role in match.roles
    }
    return [
        Curve(role_words(role, wording), found, wording["colours"].get(role, ""))
        for role, found in points.items()
        if found
    ]


async def show_play(request: web.Request) -> web.Response:
    """The form to begin a match, from the start of a game or from a state of a match."""
    services = services_of(request)
    entries = services.catalogue.find()
    values: dict[str, object] = {
        "origin": None,
        "state": None,
        "title": None,
        "words": None,
        "chosen": request.query.get("game") or services.catalogue.simplest.id,
    }
    roles: object = {entry.id: entry.players for entry in entries}
    if "match" in request.query:
        found = await services.queries.find(request.query["match"], viewer_of(request, request.query["match"]))
        step = _step(request, 0)
        state = await services.queries.state(found, step)
        roles = {"": [role for role in found.head.players if role != NATURE]}
        values |= {"origin": models.Origin(match=found.id, step=step), "state": state}
        values |= {"title": titles(services).get(found.head.game, found.head.game)}
    else:
        entry = next((one for one in entries if one.id == values["chosen"]), services.catalogue.simplest)
        with suppress(Problem, GgpError):  # then the page asks again
            values |= {"state": await start_state(services, entry, visitor_of(request))}
        values |= {"title": entry.title, "words": entry.metadata.description}
    values |= {"games": [game_head(entry) for entry in entries], "roles": roles}
    values |= {"bots": [*services.settings.bots]}
    return page(request, "play.html", "/play", values)


def _step(request: web.Request, usual: int) -> int:
    """Of the address; the usual one where it says none, or nonsense."""
    text = request.query.get("step", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_STEP else usual


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
        "is_over": live.is_over,
        "wording": wording_of(live.order.source.drawing, tuple(live.head.players)),
        "told": list(zip(human.own_moves, human.percepts, strict=True)),
    }
    response = page(request, "human.html", "/play", values)
    if not live.is_over:  # this browser is not told what other players think
        set_match_cookie(request, response, human_cookie(live.id), "1")
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


async def show_tournaments(request: web.Request) -> web.Response:
    heads = await asyncio.to_thread(services_of(request).tournaments.heads)
    values = {"tournaments": heads, "may_operate": may_operate(request)}
    return page(request, "tournaments.html", _TOURNAMENTS, values)


async def show_new_tournament(request: web.Request) -> web.Response:
    """The form to begin a tournament."""
    services = services_of(request)
    if not may_operate(request):
        raise Problem(403, "only the operator of this service begins tournaments")
    values = {
        "games": [game_head(entry) for entry in services.catalogue.find()],
        "chosen": services.catalogue.simplest.id,
        "bots": [*services.settings.all_bots],
        "has_store": bool(services.settings.store),
    }
    return page(request, "new_tournament.html", _TOURNAMENTS, values)


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
        "may_end": may_operate(request) and found.status == "running" and services.processes.is_begun_here(name),
    }
    return page(request, "tournament.html", _TOURNAMENTS, values)


async def show_report(request: web.Request) -> web.Response:
    """The report of a tournament: a page with its own style sheet, without scripts."""
    text = await asyncio.to_thread(services_of(request).tournaments.report, request.match_info["tournament"])
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy}
    return web.Response(text=text, content_type="text/html", charset="utf-8", headers=headers)
