"""The API of matches: lists, records, states, events, and what can be done with them."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from aiohttp import web

from gamemaster.settings import draw_seed
from gamemaster.web import models
from gamemaster.web.api.games import find_game, svg
from gamemaster.web.api.operations import (
    JSON,
    Operation,
    Services,
    answer,
    file,
    number,
    read_body,
    read_query,
    services_of,
    set_match_cookie,
    streamed,
    visitor_of,
)
from gamemaster.web.evaluators.derivation import RulesheetOrigin
from gamemaster.web.evaluators.pool import Course, Evaluates
from gamemaster.web.live.match import LiveMatch, MatchOrder
from gamemaster.web.queries import FoundMatch
from gamemaster.web.safety import bearer, is_same
from gamemaster.web.settings import Problem, conflict, refused
from gamemaster.web.views import Viewer, beginner_cookie, human_cookie, match_url, visible_json
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE

NDJSON = "application/x-ndjson"
_FEW_STEPS = 100  # of a match, which count as nothing
_STEP = 1 / 25  # requests that each step more counts as, by the time that it takes


def human_url(link: str) -> str:
    return f"/play/{quote(link)}"


def begun(live: LiveMatch, roles: Collection[str]) -> models.StartedMatch:
    """What the visitor who ordered a match is told, with the links of these roles."""
    links = {role: human_url(human.link) for role, human in live.humans.items() if role in roles}
    return models.StartedMatch(match=live.id, url=match_url(live.id), key=live.key, links=links)


def begun_answer(request: web.Request, live: LiveMatch, roles: Collection[str]) -> web.Response:
    """The same as an answer; the browser keeps the right to end the match."""
    response = answer(begun(live, roles), 201)
    set_match_cookie(request, response, beginner_cookie(live.id), live.key)
    return response


async def branched(services: Services, order: MatchOrder, course: Course, evaluator: Evaluates) -> MatchOrder:
    """The order of a match that goes on from its origin, a state of the course, with the rules that begin there."""
    assert order.origin is not None
    request = {"do": "derive", "origin": order.origin.match, **course.at(order.origin.step)}
    try:
        derived = await evaluator.ask(course.source, request, services.settings.limits.replay_seconds)
    except GgpError as error:
        raise conflict(f"the rules of this match cannot be read: {error}") from None
    source = services.catalogue.varied(course.source.name, derived["text"])
    return replace(order, source=source, has_percepts=derived["has_percepts"])


async def find_match(request: web.Request) -> FoundMatch:
    """The match of the address, as the visitor may see it."""
    match = request.match_info["match"]
    return await services_of(request).queries.find(match, viewer_of(request, match))


def viewer_of(request: web.Request, match: str) -> Viewer:
    """A browser in which a human plays is not told what other players think."""
    services = services_of(request)
    live = services.live_matches.get(match)
    keys = bearer(request), request.cookies.get(beginner_cookie(match), "")
    is_beginner = live is not None and any(is_same(key, live.key) for key in keys)
    return Viewer(
        takes_part=human_cookie(match) in request.cookies,
        may_end=is_beginner or services.guard.is_operator(request),
        visitor=visitor_of(request),
    )


async def list_matches(request: web.Request) -> web.Response:
    wanted = read_query(request, models.MatchesWanted)
    return answer(await services_of(request).queries.listing(wanted))


async def post_match(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.NewMatch)
    entry = find_game(services, wanted.game)
    services.live_matches.allowed.check(entry.players, wanted.players)
    _check_seed(request, wanted)
    live = services.live_matches.begin(
        MatchOrder(
            source=entry.source,
            players=wanted.players,
            startclock=wanted.startclock,
            playclock=wanted.playclock,
            think=wanted.think,
            increment=wanted.increment,
            seed=draw_seed() if wanted.seed is None else wanted.seed,
            has_percepts=entry.has_percepts,
            visitor=visitor_of(request),
        )
    )
    return _created(request, live)


def _check_seed(request: web.Request, wanted: models.NewMatch) -> None:
    """A Problem where who began the match could work out what chance and bots will do, and profit by it."""
    are_bots = all(isinstance(player, models.Bot) for player in wanted.players.values())
    if wanted.seed is not None and not are_bots and not services_of(request).guard.is_operator(request):
        message = "in matches of humans and external players only the operator may choose it"
        raise refused(f"seed: {message}", errors=[{"field": "seed", "message": message}])


async def get_match(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = read_query(request, models.StepsWanted)
    found = await find_match(request)
    charge_steps(request, steps_of(found) - wanted.first)
    return answer(services.queries.match(found, wanted.first))


def steps_of(found: FoundMatch) -> int:
    return 0 if found.record is None else len(found.record.steps)


def charge_steps(request: web.Request, steps: int, each: float = _STEP) -> None:
    """Counts many steps as several requests; a Problem where these are too many. each: requests for a step."""
    services_of(request).guard.charge(request, each * max(0, steps - _FEW_STEPS))


async def get_state(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    drawn = await services.queries.drawn(found, number(request, "step"))
    return web.Response(text=drawn.text, content_type=JSON)


async def get_picture(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    return svg(await services.queries.picture(found, number(request, "step")))


async def get_record(request: web.Request) -> web.Response:
    found = await find_match(request)
    if found.is_hidden:
        raise Problem(403, "the moves of this match are hidden until it is over")
    if found.record is None:
        raise conflict("the match has not begun yet")
    charge_steps(request, steps_of(found))
    return file(await asyncio.to_thread(visible_json, found.record, found.sight), f"{found.id}.json")


async def get_tiltyard(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    return file(await services.queries.tiltyard(found), f"{found.id}-tiltyard.json")


async def get_verdict(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    return answer(await services.queries.verify(found))


async def get_events(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    found = await find_match(request)
    if found.live is not None and not found.live.is_over:
        return await streamed(
            request, found.live.feeds.players if found.viewer.takes_part else found.live.feeds.spectators
        )
    if found.live is None and found.head.status == "running":
        return await streamed(request, services.watchers.match(found))
    return web.Response(status=204)  # nothing will happen any more: do not come back


async def post_end(request: web.Request) -> web.Response:
    services = services_of(request)
    await read_body(request, models.Empty)
    found = await find_match(request)
    if found.live is None or found.live.is_over:
        raise conflict("this match is not being played here")
    if not found.viewer.may_end:
        raise Problem(403, "only the visitor who began this match, or the operator, may end it")
    await services.live_matches.end(found.live, "ended by a user")
    return answer(found.live.head)


async def post_branch(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.Branch)
    found = await find_match(request)
    course, live_matches = services.queries.course(found), services.live_matches
    live_matches.allowed.check(tuple(role for role in found.head.players if role != NATURE), wanted.players)
    order = MatchOrder(
        source=course.source,
        players=wanted.players,
        startclock=wanted.startclock,
        playclock=wanted.playclock,
        think=wanted.think,
        increment=wanted.increment,
        seed=draw_seed(),
        has_percepts=False,  # until the rules have been read
        origin=RulesheetOrigin(found.id, wanted.step),
        visitor=visitor_of(request),
    )
    live_matches.check_share(order)
    order = await branched(services, order, course, services.pool.of(order.visitor))
    return _created(request, live_matches.begin(order))


async def post_analysis(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    wanted = await read_body(request, models.AnalysisRequest)
    found = await find_match(request)
    return await analysed(request, services.queries.course(found), number(request, "step"), wanted)


async def analysed(
    request: web.Request, course: Course, step: int, wanted: models.AnalysisRequest
) -> web.StreamResponse:
    """What a search finds, in one piece or as it goes."""
    services, visitor = services_of(request), visitor_of(request)
    source = course.source
    given: Mapping[str, Any] = {**course.at(step), **wanted.model_dump(include={"seconds", "role", "lines"})}
    if not wanted.stream:
        return answer(await services.analyses.analyse(source, given, visitor))
    reports: asyncio.Queue[models.Analysis | None] = asyncio.Queue()
    task = asyncio.ensure_future(services.analyses.analyse(source, given, visitor, reports.put_nowait))
    task.add_done_callback(lambda _: reports.put_nowait(None))
    response = web.StreamResponse(headers={"Content-Type": NDJSON})
    try:
        first = await reports.get()
        if first is None and task.exception() is not None:
            return answer(task.result())  # raises
        await response.prepare(request)
        while first is not None:
            await response.write(first.model_dump_json().encode() + b"\n")
            first = await reports.get()
        await response.write(await _last_line(task))
    except ConnectionError:
        pass  # the visitor has gone
    finally:
        task.cancel()
    return response


async def _last_line(task: "asyncio.Future[models.Analysis]") -> bytes:
    try:
        return (await task).model_dump_json().encode() + b"\n"
    except Problem as problem:
        return problem.as_json("") + b"\n"


def _created(request: web.Request, live: LiveMatch) -> web.Response:
    response = begun_answer(request, live, live.humans)
    response.headers["Location"] = f"/api/v1{match_url(live.id)}"
    return response


_HIDDEN = (403, 404, 409)

OPERATIONS = (
    Operation("GET", "/matches", "listMatches", "matches", "Matches, the last first.", list_matches, models.Matches,
              query=models.MatchesWanted),
    Operation("POST", "/matches", "beginMatch", "matches", "Begin a match; only the answer has the secret links.",
              post_match, models.StartedMatch, body=models.NewMatch, status=201, problems=(403, 404, 415, 503)),
    Operation("GET", "/matches/{match}", "getMatch", "matches", "A match with its steps.", get_match, models.Match,
              query=models.StepsWanted, problems=(404, 409)),
    Operation("GET", "/matches/{match}/states/{step}", "getState", "matches", "A state of a match, drawn.", get_state,
              models.State, problems=_HIDDEN),
    Operation("GET", "/matches/{match}/states/{step}/picture", "getStatePicture", "matches", "A state as SVG.",
              get_picture, "image/svg+xml", problems=_HIDDEN),
    Operation("POST", "/matches/{match}/states/{step}/analysis", "analyseState", "matches",
              "What a search finds out of a state.", post_analysis, models.Analysis, body=models.AnalysisRequest,
              problems=(*_HIDDEN, 415, 503)),
    Operation("GET", "/matches/{match}/record", "getRecord", "matches", "The record, as `ggp match` writes it.",
              get_record, "application/json", problems=_HIDDEN),
    Operation("GET", "/matches/{match}/tiltyard", "getTiltyard", "matches", "The record as ggp-base and Tiltyard do.",
              get_tiltyard, models.Tiltyard, problems=_HIDDEN),
    Operation("GET", "/matches/{match}/verdict", "verifyMatch", "matches", "Whether the record holds.", get_verdict,
              models.Verdict, problems=_HIDDEN),
    Operation("GET", "/matches/{match}/events", "watchMatch", "matches",
              "Server-sent events `start`, `step`, `clock` and `end`; after `resync` everything is to be read anew. "
              "204 where nothing will happen any more.", get_events, "text/event-stream", problems=(404, 503)),
    Operation("POST", "/matches/{match}/end", "endMatch", "matches", "Give a match up that you began.", post_end,
              models.MatchHead, body=models.Empty, problems=(403, 404, 409, 415)),
    Operation("POST", "/matches/{match}/branches", "branchMatch", "matches", "Go on from a state of a match.",
              post_branch, models.StartedMatch, body=models.Branch, status=201, problems=(*_HIDDEN, 415, 503)),
)  # fmt: skip
