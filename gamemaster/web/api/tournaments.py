"""The API of tournaments."""

import asyncio

from aiohttp import web

from gamemaster.web import standings as values
from gamemaster.web.api.operations import Operation, answer
from gamemaster.web.services import services_of


async def list_tournaments(request: web.Request) -> web.Response:
    heads = await asyncio.to_thread(services_of(request).tournaments.heads)
    return answer(values.Tournaments(tournaments=heads))


async def get_tournament(request: web.Request) -> web.Response:
    tournaments = services_of(request).tournaments
    return answer(await asyncio.to_thread(tournaments.get, request.match_info["tournament"]))


OPERATIONS = (
    Operation("GET", "/tournaments", "listTournaments", "tournaments", "All tournaments of the store.",
              list_tournaments, values.Tournaments),
    Operation("GET", "/tournaments/{tournament}", "getTournament", "tournaments",
              "A tournament with its standings; its matches are in the list of matches.", get_tournament,
              values.Tournament, problems=(404,)),
)  # fmt: skip
