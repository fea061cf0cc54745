"""The API of matches: lists, records, states, events, and what can be done with them."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from aiohttp import web

from gamemaster.record import record_json
from gamemaster.web import models
from gamemaster.web.api.games import find_game, image, svg
from gamemaster.web.api.operations import Operation, Services, answer, file, number, read_body, read_query, services_of
from gamemaster.web.catalogue import Origin, derived_rulesheet, roles_of
from gamemaster.web.evaluators.pool import Source
from gamemaster.web.live.match import LiveMatch, MatchOrder
from gamemaster.web.live.runner import new_seed
from gamemaster.web.problems import Problem, conflict
from gamemaster.web.queries import FoundMatch
from gamemaster.web.views import human_cookie, match_url, without_evaluations
from ggp.errors import GgpError
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import NATURE, parse_rulesheet

NDJSON = "application/x-ndjson"


def human_url(link: str) -> str:
    return f"/play/{quote(link)}"


def begun(live: LiveMatch) -> models.Begun:
    """What whoever ordered a match is told."""
    links = {role: human_url(human.link) for role, human in live.humans.items()}
    return models.Begun(match=live.id, url=match_url(live.id), links=links)


async def begin_branch(
    services: Services, found: FoundMatch, step: int, facts: tuple[str, ...], wanted: models.Branch
) -> LiveMatch:
    """A match that goes on from a state of another."""
    source = services.queries.source(found)
    origin = Origin(found.id, step)
    try:
        text, roles, sees = await asyncio.to_thread(_derived, source, facts, origin)
    except GgpError as error:
        raise conflict(f"the rules of this match cannot be read: {error}") from None
    services.live_matches.check_players(tuple(role for role in roles if role != NATURE), wanted.players)
    return services.live_matches.begin(
        MatchOrder(
            source=services.catalogue.varied(source.name, text),
            players=wanted.players,
            startclock=wanted.startclock,
            playclock=wanted.playclock,
            think=wanted.think,
            seed=found.record.settings.seed if found.record else new_seed(),
            has_percepts=sees,
            origin=origin,
        )
    )


def _derived(source: Source, facts: tuple[str, ...], origin: Origin) -> tuple[str, tuple[str, ...], bool]:
    """The rulesheet that begins with these facts, its roles, and whether they are told percepts. Blocks."""
    rulesheet = parse_rulesheet(source.text, source.name)
    derived = derived_rulesheet(rulesheet, frozenset(map(read_term, facts)), origin)
    return derived.text, roles_of(rulesheet), rulesheet.has_percepts


async def find_match(request: web.Request) -> FoundMatch:
    """The match of the address; a browser in which a human plays is not told what other players think."""
    found = await services_of(request).queries.find(request.match_info["match"])
    live = found.live
    if live is None or not live.humans or live.is_over or human_cookie(live.id) not in request.cookies:
        return found
    record = found.record and without_evaluations(found.record)
    return replace(found, record=record, takes_part=True)


async def list_matches(request: web.Request) -> web.Response:
    wanted = read_query(request, models.MatchesWanted)
    return answer(await services_of(request).queries.listing(wanted))


async def post_match(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.NewMatch)
    entry = find_game(services, wanted.game)
    services.live_matches.check_players(entry.players, wanted.players)
    live = services.live_matches.begin(
        MatchOrder(
            source=entry.source,
            players=wanted.players,
            startclock=wanted.startclock,
            playclock=wanted.playclock,
            think=wanted.think,
            seed=new_seed() if wanted.seed is None else wanted.seed,
            has_percepts=entry.has_percepts,
        )
    )
    return _created(live)


async def get_match(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = read_query(request, models.StepsWanted)
    found = await find_match(request)
    return answer(services.queries.match(found, wanted.first))


async def get_state(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    return answer(await services.queries.state(found, number(request, "step")))


async def get_picture(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    facts = await services.queries.facts(found, number(request, "step"))
    return svg(await image(services, services.queries.source(found), facts))


async def get_record(request: web.Request) -> web.Response:
    found = await find_match(request)
    if found.is_hidden:
        raise Problem(403, "the moves of this match are hidden until it is over")
    if found.record is None:
        raise conflict("the match has not begun yet")
    if found.live is not None and found.live.has_secret_chance:
        raise Problem(403, "the record has the seed, from which chance follows; it is kept until the match is over")
    return file(await asyncio.to_thread(record_json, found.record), f"{found.id}.json")


async def get_tiltyard(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    if found.is_hidden:
        raise Problem(403, "the moves of this match are hidden until it is over")
    exported = await services.queries.tiltyard(found)
    return file(json.dumps(exported, indent=2) + "\n", f"{found.id}-tiltyard.json")


async def get_verdict(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    return answer(await services.queries.verify(found))


async def get_events(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    found = await find_match(request)
    if found.live is not None and not found.live.is_over:
        return await services.streams.serve(request, found.live.players_feed if found.takes_part else found.live.feed)
    if found.live is None and found.head.status == "running":
        return await services.streams.serve(request, services.watchers.match(found))
    return web.Response(status=204)  # nothing will happen any more: do not come back


async def post_end(request: web.Request) -> web.Response:
    services = services_of(request)
    await read_body(request, models.Empty)
    found = await find_match(request)
    if found.live is None or found.live.is_over:
        raise conflict("this match is not being played here")
    await services.live_matches.end(found.live, "ended by a user")
    return answer(found.live.head)


async def post_branch(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.Branch)
    found = await find_match(request)
    facts = await services.queries.facts(found, wanted.step)
    return _created(await begin_branch(services, found, wanted.step, facts, wanted))


async def post_analysis(request: web.Request) -> web.StreamResponse:
    services = services_of(request)
    wanted = await read_body(request, models.Wanted)
    found = await find_match(request)
    facts = await services.queries.facts(found, number(request, "step"))
    return await analysed(request, services.queries.source(found), facts, wanted)


async def analysed(
    request: web.Request, source: Source, facts: tuple[str, ...], wanted: models.Wanted
) -> web.StreamResponse:
    """What a search finds, in one piece or as it goes."""
    services = services_of(request)
    given: Mapping[str, Any] = {"state": facts, **wanted.model_dump(include={"seconds", "role", "lines"})}
    if not wanted.stream:
        return answer(await services.analyses.analyse(source, given))
    reports: asyncio.Queue[models.Analysis | None] = asyncio.Queue()
    task = asyncio.ensure_future(services.analyses.analyse(source, given, reports.put_nowait))
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
        pass  # whoever asked has gone
    finally:
        task.cancel()
    return response


async def _last_line(task: "asyncio.Future[models.Analysis]") -> bytes:
    try:
        return (await task).model_dump_json().encode() + b"\n"
    except Problem as problem:
        return problem.as_json("") + b"\n"


def _created(live: LiveMatch) -> web.Response:
    response = answer(begun(live), 201)
    response.headers["Location"] = f"/api/v1{match_url(live.id)}"
    return response


_HIDDEN = (403, 404, 409)

OPERATIONS = (
    Operation("GET", "/matches", "listMatches", "matches", "Matches, the last first.", list_matches, models.Matches,
              query=models.MatchesWanted),
    Operation("POST", "/matches", "beginMatch", "matches", "Begin a match; only the answer has the secret links.",
              post_match, models.Begun, body=models.NewMatch, status=201, problems=(403, 404, 415, 503)),
    Operation("GET", "/matches/{match}", "getMatch", "matches", "A match with its steps.", get_match, models.Match,
              query=models.StepsWanted, problems=(404, 409)),
    Operation("GET", "/matches/{match}/states/{step}", "getState", "matches", "A state of a match, drawn.", get_state,
              models.State, problems=_HIDDEN),
    Operation("GET", "/matches/{match}/states/{step}/picture", "getStatePicture", "matches", "A state as SVG.",
              get_picture, "image/svg+xml", problems=_HIDDEN),
    Operation("POST", "/matches/{match}/states/{step}/analysis", "analyseState", "matches",
              "What a search finds out of a state.", post_analysis, models.Analysis, body=models.Wanted,
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
    Operation("POST", "/matches/{match}/end", "endMatch", "matches", "Give a match up.", post_end, models.MatchHead,
              body=models.Empty, problems=(404, 409, 415)),
    Operation("POST", "/matches/{match}/branches", "branchMatch", "matches", "Go on from a state of a match.",
              post_branch, models.Begun, body=models.Branch, status=201, problems=(*_HIDDEN, 415, 503)),
)  # fmt: skip
