"""The API of games: lists, single games, rulesheets of one's own."""

import asyncio
from urllib.parse import quote

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.operations import Operation, Services, answer, read_body, read_query, services_of, visitor_of
from gamemaster.web.catalogue import CatalogueEntry
from gamemaster.web.evaluators.pool import START, check_of, state_of
from gamemaster.web.settings import MOST_PLAYERS, Problem, not_found, refused
from ggp.errors import GgpError


def find_game(services: Services, game: str) -> CatalogueEntry:
    """A Problem where there is no such game."""
    entry = services.catalogue.get(game)
    if entry is None:
        raise not_found(f"there is no game {game}")
    return entry


def game_head(entry: CatalogueEntry) -> models.GameHead:
    name = quote(entry.id)
    return models.GameHead(
        id=entry.id,
        title=entry.title,
        description=entry.metadata.description.strip(),
        roles=entry.roles,
        tags=entry.metadata.tags,
        is_shipped=entry.is_shipped,
        url=f"/games/{name}",
        picture=f"/api/v1/games/{name}/picture",
    )


async def whole_game(services: Services, entry: CatalogueEntry) -> models.Game:
    """Everything that is kept of a game."""
    statistics = await asyncio.to_thread(services.repository.statistics, entry.id)
    return models.Game(
        **dict(game_head(entry)),
        role_descriptions=entry.metadata.roles,
        source=entry.metadata.source,
        readings=entry.metadata.readings,
        truths=entry.metadata.truths,
        has_percepts=entry.has_percepts,
        rulesheet=entry.source.text,
        statistics=statistics,
    )


async def start_state(services: Services, entry: CatalogueEntry, visitor: str) -> models.State:
    """The first state of a game, drawn once."""
    known = services.starts.get(entry.source.key)
    if known is None:
        request = {"do": "draw", **START}
        try:
            look = await services.pool.of(visitor).ask(entry.source, request, services.settings.limits.state_seconds)
        except GgpError as error:
            raise refused(f"the rules of {entry.id} cannot be evaluated: {error}") from None
        known = services.starts[entry.source.key] = state_of(look, 0)
    return known


async def check_text(services: Services, text: str, visitor: str, *, evidence: bool) -> models.Check:
    """What there is to say about a rulesheet."""
    limits = services.settings.limits
    if len(text.encode(errors="replace")) > limits.rulesheet_bytes:
        raise Problem(413, f"a rulesheet has at most {limits.rulesheet_bytes:,} bytes")
    request = {"do": "check", "text": text, "evidence": evidence}
    try:
        return check_of(await services.checks.of(visitor).ask(None, request, limits.check_seconds))
    except GgpError as error:
        empty: models.Json = {"findings": (), "roles": (), "start": None, "evidence": None}
        return models.Check(**empty, is_playable=False, problem=str(error))


async def add_game(request: web.Request, paste: models.Paste) -> CatalogueEntry:
    """Keeps a rulesheet; a Problem where it cannot be played."""
    services = services_of(request)
    check = await check_text(services, paste.rulesheet, visitor_of(request), evidence=False)
    if not check.is_playable or not check.roles or check.start is None or check.start.problem:
        raise _unplayable(check, check.problem or (check.start.problem if check.start else None) or "it names no role")
    entry = await asyncio.to_thread(services.catalogue.make_entry, paste.name, paste.rulesheet)
    if entry.roles != check.roles:  # forms and orders have those of the facts
        raise _unplayable(check, "its roles have to be facts, such as (role white), and no rules")
    if len(entry.players) > MOST_PLAYERS:
        raise _unplayable(check, f"it has {len(entry.players):,} roles, and a match here at most {MOST_PLAYERS}")
    return await asyncio.to_thread(services.catalogue.add, entry, visitor_of(request))


def _unplayable(check: models.Check, reason: str) -> Problem:
    """The answer about a rulesheet that is not kept, with what was found in it."""
    return refused(f"this rulesheet cannot be played: {reason}", **check.model_dump(mode="json", include={"findings"}))


async def list_games(request: web.Request) -> web.Response:
    wanted = read_query(request, models.GamesWanted)
    found = services_of(request).catalogue.find(wanted.search, wanted.all_tags)
    return answer(models.Games(total=len(found), games=tuple(map(game_head, found))))


async def get_game(request: web.Request) -> web.Response:
    services = services_of(request)
    return answer(await whole_game(services, find_game(services, request.match_info["game"])))


async def post_game(request: web.Request) -> web.Response:
    services = services_of(request)
    entry = await add_game(request, await read_body(request, models.Paste))
    response = answer(await whole_game(services, entry), 201)
    response.headers["Location"] = f"/api/v1/games/{quote(entry.id)}"
    return response


async def post_check(request: web.Request) -> web.Response:
    paste = await read_body(request, models.Paste)
    found = await check_text(services_of(request), paste.rulesheet, visitor_of(request), evidence=True)
    return answer(found)


async def get_rulesheet(request: web.Request) -> web.Response:
    entry = find_game(services_of(request), request.match_info["game"])
    return web.Response(text=entry.source.text, content_type="text/plain", charset="utf-8")


async def get_start(request: web.Request) -> web.Response:
    services = services_of(request)
    entry = find_game(services, request.match_info["game"])
    return answer(await start_state(services, entry, visitor_of(request)))


async def get_picture(request: web.Request) -> web.Response:
    services = services_of(request)
    entry = find_game(services, request.match_info["game"])
    response = svg(await look_of(services, entry, visitor_of(request)))
    response.headers["Cache-Control"] = "max-age=3600"
    return response


async def look_of(services: Services, entry: CatalogueEntry, visitor: str = "") -> str:
    """The picture that stands for a game, from the middle of a match; drawn once."""
    source = entry.source
    if source.key not in services.images:
        try:
            seconds = services.settings.limits.state_seconds
            found = await services.pool.of(visitor).ask(source, {"do": "look"}, seconds)
        except GgpError as error:
            raise refused(f"this game cannot be drawn: {error}") from None
        services.images[source.key] = str(found)
    return services.images[source.key]


def svg(text: str) -> web.Response:
    """It may have its own colours, and nothing else."""
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    return web.Response(text=text, content_type="image/svg+xml", charset="utf-8", headers=headers)


async def get_engine(request: web.Request) -> web.Response:
    services = services_of(request)
    entry = find_game(services, request.match_info["game"])
    return answer(await services.analyses.measure(entry.source, visitor_of(request)))


OPERATIONS = (
    Operation("GET", "/games", "listGames", "games", "Games, by words and tags.", list_games, models.Games,
              query=models.GamesWanted),
    Operation("POST", "/games", "addGame", "games", "Keep a rulesheet of one's own, so that it can be played.",
              post_game, models.Game, body=models.Paste, status=201, problems=(413, 415, 507)),
    Operation("POST", "/rulesheets/check", "checkRulesheet", "games", "What is wrong with a rulesheet, and where.",
              post_check, models.Check, body=models.Paste, problems=(413, 415)),
    Operation("GET", "/games/{game}", "getGame", "games", "A game.", get_game, models.Game, problems=(404,)),
    Operation("GET", "/games/{game}/rulesheet", "getRulesheet", "games", "The rulesheet as text.", get_rulesheet,
              "text/plain", problems=(404,)),
    Operation("GET", "/games/{game}/start", "getStart", "games", "The first state.", get_start, models.State,
              problems=(404,)),
    Operation("GET", "/games/{game}/picture", "getPicture", "games", "A state from the middle of a match, as SVG.",
              get_picture, "image/svg+xml", problems=(404,)),
    Operation("GET", "/games/{game}/engine", "getEngine", "games", "What the engine makes of a game, measured once.",
              get_engine, models.Engine, problems=(404,)),
)  # fmt: skip
