"""The API of humans: what a human in a match sees and does; the secret link is the right to do it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from aiohttp import web

from gamemaster.settings import draw_seed
from gamemaster.web import models
from gamemaster.web.api.matches import analysed, begun_answer, branched, charge_steps, human_url
from gamemaster.web.api.operations import (
    Operation,
    Services,
    answer,
    read_body,
    read_query,
    services_of,
    streamed,
    visitor_of,
)
from gamemaster.web.evaluators.derivation import RulesheetOrigin
from gamemaster.web.live.external import Endpoint
from gamemaster.web.live.human import PLAY_URL, HumanPlayer
from gamemaster.web.live.match import LiveMatch
from gamemaster.web.settings import Problem, conflict, not_found, refused
from gamemaster.web.views import Viewer
from ggp.errors import GgpError, MessageError
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import parse_move


def find_human(request: web.Request) -> tuple[LiveMatch, HumanPlayer]:
    """A Problem where the link leads nowhere."""
    found = services_of(request).live_matches.human(request.match_info["link"])
    if found is None:
        raise not_found("this link is not known: the match was long ago, or the service was restarted")
    found[1].be_seen()
    return found


async def human_view(live: LiveMatch, human: HumanPlayer, wanted: models.HumanWanted) -> models.HumanView:
    """Everything that the person may know."""
    state = None
    if not live.is_hidden and live.step != wanted.known:
        with suppress(GgpError, Problem):  # then any move can be typed
            state = await live.draw_state(live.step)
    return models.HumanView(
        role=human.role,
        match=live.match(Viewer(takes_part=True), first=wanted.first),
        state=state,
        asked=human.wanted,
        legal=await live.questions.choices(human, live.step) if human.wanted is not None else (),
        percepts=tuple(human.percepts[wanted.first_percepts :]),
        own_moves=tuple(human.own_moves[wanted.first_percepts :]),
        may_undo=_may_undo(live, human) is not None,
        may_hint=_may_hint(live, human),
        next=human.next,
        is_external=live.order.is_external,
    )


async def get_human(request: web.Request) -> web.Response:
    live, human = find_human(request)
    wanted = read_query(request, models.HumanWanted)
    charge_steps(request, live.step - wanted.first)
    return answer(await human_view(live, human, wanted))


async def get_events(request: web.Request) -> web.StreamResponse:
    live, human = find_human(request)
    human.arrived.set()
    if live.is_over:
        return web.Response(status=204)
    return await streamed(request, human.feed)


async def post_move(request: web.Request) -> web.Response:
    services = services_of(request)
    live, human = find_human(request)
    chosen = await read_body(request, models.Chosen)
    if human.wanted != chosen.step:
        raise conflict("no move is wanted for this step" if live.is_over or human.wanted is None else "too late")
    await _check_move(services, live, human, chosen)
    if not human.choose(chosen.step, chosen.move):
        raise conflict("too late: the step is over")
    return answer(models.Empty())


async def _check_move(services: Services, live: LiveMatch, human: HumanPlayer, chosen: models.Chosen) -> None:
    """A Problem with the reason of the rules for a move that is not legal; without it where it would tell too much."""
    if human.choices is not None:
        _check_choice(human, chosen)
        return
    request = {"do": "refusal", **live.course.at(chosen.step), "role": human.role, "move": chosen.move}
    try:
        reason = await live.ask(live.order.source, request, services.settings.limits.state_seconds)
    except GgpError as error:
        raise refused(f"the move cannot be judged: {error}") from None
    if reason is None:
        return
    if not chosen.move.strip():
        raise refused("no move was given")
    if live.order.has_percepts:
        _read(chosen.move)
        raise refused(f"{chosen.move.strip()} is not legal; the reason might tell what you may not know")
    raise refused(f"{chosen.move.strip()} is not legal: {reason}")


def _check_choice(human: HumanPlayer, chosen: models.Chosen) -> None:
    """A Problem for a move that is legal in no state that agrees with what the person was told."""
    assert human.choices is not None
    move = _read(chosen.move)
    if human.choices.is_complete and to_text(move) not in human.choices.moves:
        raise refused(f"{to_text(move)} is not legal in any state that agrees with what you were told")


def _read(move: str) -> Term:
    try:
        return parse_move(move)
    except MessageError as error:
        raise refused(str(error)) from None


async def post_resign(request: web.Request) -> web.Response:
    services = services_of(request)
    live, human = find_human(request)
    await read_body(request, models.Empty)
    if live.is_over:
        raise conflict("the match is over")
    await services.live_matches.end(live, f"{human.role} resigned", resigned=human.role)
    return answer(live.head)


async def post_undo(request: web.Request) -> web.Response:
    """A match that goes on from before the human's last choice, against the same bots."""
    live, human = find_human(request)
    await read_body(request, models.Empty)
    async with human.undoing:  # it ends the process that a second such request would ask
        _check_next(human)
        step = _may_undo(live, human)
        if step is None:
            raise conflict("there is nothing to take back, or other humans play")
        while len((await live.draw_state(step)).legal.get(human.role, ())) < 2:
            if step == 0:
                raise conflict("there was nothing to choose yet")
            step -= 1
        return await _again(request, live, human, step)


async def post_again(request: web.Request) -> web.Response:
    """The same match once more, in the same roles or in others."""
    services = services_of(request)
    live, human = find_human(request)
    wanted = await read_body(request, models.Rematch)
    if not live.is_over or live.order.is_external:
        raise conflict("the match is not over yet" if not live.is_over else "another game master begins the matches")
    _check_next(human)
    roles = tuple(live.order.players)
    later = dict(zip(roles, (*roles[1:], *roles[:1]) if wanted.swap else roles, strict=True))
    players = {later[role]: player for role, player in live.order.players.items()}
    order = replace(live.order, players={role: players[role] for role in roles}, seed=draw_seed())
    following = services.live_matches.begin(replace(order, visitor=visitor_of(request)))
    return _linked(request, live, human, following, later)


async def post_hint(request: web.Request) -> web.StreamResponse:
    live, human = find_human(request)
    wanted = await read_body(request, models.AnalysisRequest)
    if not _may_hint(live, human):
        raise conflict("there are no hints in matches with other humans or with hidden states")
    wanted = wanted.model_copy(update={"role": human.role})
    return await analysed(request, live.course, live.step, wanted)


async def _again(request: web.Request, live: LiveMatch, human: HumanPlayer, step: int) -> web.Response:
    services, visitor = services_of(request), visitor_of(request)
    order = replace(
        live.order,
        seed=draw_seed(),
        origin=RulesheetOrigin(live.id, step),
        visitor=visitor,
        is_external=False,
    )
    evaluator = services.pool.of(visitor) if live.is_over else live
    order = await branched(services, order, live.course, evaluator)
    _check_next(human)
    following = services.live_matches.begin(order, instead_of=live)  # a refusal leaves this match as it is
    begun = _linked(request, live, human, following, {human.role: human.role})
    await services.live_matches.end(live, f"{human.role} took a move back")
    return begun


def _check_next(human: HumanPlayer) -> None:
    """A Problem where another request was first: one match follows, in which all humans meet again."""
    if human.next is not None:
        raise conflict("the next match has begun already")


def _linked(
    request: web.Request, before: LiveMatch, asking: HumanPlayer, following: LiveMatch, later: Mapping[str, str]
) -> web.Response:
    """The answer about a match that follows another, with the link of who asks; every human is told their own.

    later: role → that which its player takes in the match that follows.
    """
    for role, human in before.humans.items():
        human.next = human_url(following.humans[later[role]].link)
        human.feed.publish("changed", {})
    return begun_answer(request, following, {later[asking.role]})


def _may_undo(live: LiveMatch, human: HumanPlayer) -> int | None:
    """The last step that may be taken back; None where there is none."""
    if live.order.has_percepts or len(live.humans) > 1 or live.record is None or human.next is not None:
        return None
    if any(isinstance(player, models.External) for player in live.order.players.values()) or live.failure:
        return None
    return live.step - 1 if live.step else None


def _may_hint(live: LiveMatch, human: HumanPlayer) -> bool:
    is_alone = len(live.humans) == 1 and not live.order.is_external
    return human.wanted is not None and is_alone and not live.order.has_percepts


def find_endpoint(request: web.Request) -> Endpoint:
    """A Problem where the link leads nowhere."""
    found = services_of(request).endpoints.get(request.match_info["link"])
    if found is None:
        raise not_found("this link is not known: it was not used for too long, or the service was restarted")
    return found


def endpoint_view(services: Services, endpoint: Endpoint) -> models.Endpoint:
    human = endpoint.human if endpoint.is_busy else None
    return models.Endpoint(
        name=endpoint.name,
        address=services.endpoints.address(endpoint),
        url=f"/endpoints/{endpoint.link}",
        link=None if human is None else f"{PLAY_URL}{human.link}",
    )


async def post_endpoint(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.NewEndpoint)
    return answer(endpoint_view(services, await services.endpoints.add(wanted.name or "you", visitor_of(request))), 201)


async def get_endpoint(request: web.Request) -> web.Response:
    return answer(endpoint_view(services_of(request), find_endpoint(request)))


async def get_endpoint_events(request: web.Request) -> web.StreamResponse:
    return await streamed(request, find_endpoint(request).feed)


_PROBLEMS = (404, 409, 415)

OPERATIONS = (
    Operation("GET", "/humans/{link}", "getHuman", "humans", "What the human sees.", get_human, models.HumanView,
              query=models.HumanWanted, problems=(404, 409)),
    Operation("GET", "/humans/{link}/events", "watchHuman", "humans",
              "Server-sent events: after each `changed` this is to be read anew. 204 when the match is over.",
              get_events, "text/event-stream", problems=(404, 503)),
    Operation("POST", "/humans/{link}/move", "chooseMove", "humans", "Move; an illegal one is refused with the reason.",
              post_move, models.Empty, body=models.Chosen, problems=_PROBLEMS, is_open=True),
    Operation("POST", "/humans/{link}/resign", "resign", "humans", "Give the match up.", post_resign, models.MatchHead,
              body=models.Empty, problems=_PROBLEMS, is_open=True),
    Operation("POST", "/humans/{link}/undo", "takeBack", "humans", "Take the last move back, against bots.", post_undo,
              models.StartedMatch, body=models.Empty, status=201, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/humans/{link}/again", "playAgain", "humans", "The same match once more.", post_again,
              models.StartedMatch, body=models.Rematch, status=201, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/humans/{link}/hint", "hint", "humans", "What a search finds in the current state.",
              post_hint, models.Analysis, body=models.AnalysisRequest, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/endpoints", "addEndpoint", "endpoints", "An HTTP endpoint of a human, for other game masters.",
              post_endpoint, models.Endpoint, body=models.NewEndpoint, status=201, problems=(503,)),
    Operation("GET", "/endpoints/{link}", "getEndpoint", "endpoints", "Whether a match has begun.", get_endpoint,
              models.Endpoint, problems=(404,)),
    Operation("GET", "/endpoints/{link}/events", "watchEndpoint", "endpoints",
              "Server-sent events: after each `changed` the endpoint is to be read anew.", get_endpoint_events,
              "text/event-stream", problems=(404, 503)),
)  # fmt: skip
