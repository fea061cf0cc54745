"""The pages of matches: the list, each match, and the form to begin one."""

from urllib.parse import urlencode

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.games import game_head
from gamemaster.web.api.matches import find_match
from gamemaster.web.api.operations import Services, read_query, services_of
from gamemaster.web.catalogue import CatalogueEntry
from gamemaster.web.html.rendering import page
from gamemaster.web.problems import Problem
from gamemaster.web.views import api_url
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE
from ggp.plots import Curve, value_plot

SECTION = "/matches"
_LONGEST_STEP = 7  # digits


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
    return page(request, "matches.html", SECTION, values)


async def show_match(request: web.Request) -> web.Response:
    services = services_of(request)
    found = await find_match(request)
    title = titles(services).get(found.head.game, found.head.game)
    if found.record is None:
        return page(request, "preparing.html", SECTION, {"head": found.head, "title": title})
    match = services.queries.match(found)
    last = match.steps
    step = min(_step(request, last if found.live is not None else 0), last)
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
    values |= {"thoughts": thoughts(match, step), "plot": value_plot(curves(match), last, step)}
    return page(request, "match.html", SECTION, values)


def thoughts(match: models.Match, state: int) -> dict[str, tuple[int, models.Evaluation]]:
    """Role → what its player thought last up to a state, and of which state it did; not of those that say nothing."""
    found = {
        role: (step.number, said)
        for step in match.joint_moves
        if step.number <= state
        for role, said in step.evaluations.items()
    }
    return {role: found[role] for role in match.roles if role in found}


def curves(match: models.Match) -> list[Curve]:
    """What each role's player expected, over the match."""
    points = {
        role: tuple(
            (step.number, said.value)
            for step in match.joint_moves
            if (said := step.evaluations.get(role)) is not None and said.value is not None
        )
        for role in match.roles
    }
    return [Curve(role, found) for role, found in points.items() if found]


async def show_play(request: web.Request) -> web.Response:
    """The form to begin a match, from the start of a game or from a state of a match."""
    services = services_of(request)
    entries = services.catalogue.find()
    values: dict[str, object] = {
        "origin": None,
        "state": None,
        "title": None,
        "chosen": request.query.get("game") or _simplest(entries),
    }
    roles: object = {entry.id: entry.players for entry in entries}
    if "match" in request.query:
        found = await services.queries.find(request.query["match"])
        step = _step(request, 0)
        state = await services.queries.state(found, step)
        roles = {"": [role for role in found.head.players if role != NATURE]}
        values |= {"origin": models.Origin(match=found.id, step=step), "state": state}
        values |= {"title": titles(services).get(found.head.game, found.head.game)}
    values |= {"games": [game_head(entry) for entry in entries], "roles": roles}
    return page(request, "play.html", "/play", values)


def _simplest(entries: list[CatalogueEntry]) -> str:
    """The game with the fewest words of rules, to begin with."""
    shipped = [entry for entry in entries if entry.is_shipped] or entries
    return min(shipped, key=lambda entry: len(entry.source.text)).id


def _step(request: web.Request, usual: int) -> int:
    """Of the address; the usual one where it says none, or nonsense."""
    text = request.query.get("step", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_STEP else usual
