"""The API of humans: what the person in a match sees and does; the secret link is the right to do it."""

from contextlib import suppress
from dataclasses import replace

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.matches import analysed, begin_branch, begun, seat_url
from gamemaster.web.api.operations import Operation, Services, answer, read_body, services_of
from gamemaster.web.live.external import Guest
from gamemaster.web.live.human import SEATS_URL, Seat
from gamemaster.web.live.match import LiveMatch
from gamemaster.web.live.runner import new_seed
from gamemaster.web.problems import Problem, conflict, not_found, refused
from gamemaster.web.queries import Found
from ggp.errors import GgpError, MessageError
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import parse_move


def find_seat(request: web.Request) -> tuple[LiveMatch, Seat]:
    """A Problem where the link leads nowhere."""
    found = services_of(request).hall.seat(request.match_info["link"])
    if found is None:
        raise not_found("this link leads to no seat; the match may have been long ago, or the service restarted")
    return found


async def seat_view(live: LiveMatch, seat: Seat) -> models.Seat:
    """Everything that the person may know."""
    state = None
    if not live.is_hidden:
        with suppress(GgpError, Problem):  # then any move can be typed
            state = await live.state(live.step)
    return models.Seat(
        role=seat.role,
        match=live.match(takes_part=True),
        state=state,
        asked=seat.wanted,
        legal=await live.choices(seat, live.step) if seat.wanted is not None else (),
        percepts=tuple(seat.percepts),
        own_moves=tuple(seat.own_moves),
        may_undo=_may_undo(live, seat) is not None,
        may_hint=_may_hint(live, seat),
        next=seat.next,
        is_guest=live.order.is_guest,
    )


async def get_seat(request: web.Request) -> web.Response:
    live, seat = find_seat(request)
    return answer(await seat_view(live, seat))


async def get_events(request: web.Request) -> web.StreamResponse:
    live, seat = find_seat(request)
    seat.arrived.set()
    if live.is_over:
        return web.Response(status=204)
    return await services_of(request).streams.serve(request, seat.feed)


async def post_move(request: web.Request) -> web.Response:
    services = services_of(request)
    live, seat = find_seat(request)
    chosen = await read_body(request, models.Chosen)
    if seat.wanted != chosen.step:
        raise conflict("no move is wanted for this step" if live.is_over or seat.wanted is None else "too late")
    await _check_move(services, live, seat, chosen)
    if not seat.choose(chosen.step, chosen.move):
        raise conflict("too late: the step is over")
    return answer(models.Empty())


async def _check_move(services: Services, live: LiveMatch, seat: Seat, chosen: models.Chosen) -> None:
    """A Problem with the reason of the rules for a move that is not legal; without it where it would tell too much."""
    if seat.choices is not None:
        _check_choice(seat, chosen)
        return
    request = {"do": "refusal", "state": live.facts(chosen.step), "role": seat.role, "move": chosen.move}
    try:
        reason = await services.pool.ask(live.order.source, request, services.settings.limits.look_seconds)
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


def _check_choice(seat: Seat, chosen: models.Chosen) -> None:
    """A Problem for a move that is legal in no state that agrees with what the person was told."""
    assert seat.choices is not None
    move = _read(chosen.move)
    if seat.choices.is_complete and to_text(move) not in seat.choices.moves:
        raise refused(f"{to_text(move)} is not legal in any state that agrees with what you were told")


def _read(move: str) -> Term:
    try:
        return parse_move(move)
    except MessageError as error:
        raise refused(str(error)) from None


async def post_resign(request: web.Request) -> web.Response:
    services = services_of(request)
    live, seat = find_seat(request)
    await read_body(request, models.Empty)
    if live.is_over:
        raise conflict("the match is over")
    await services.hall.end(live, f"{seat.role} resigned")
    return answer(live.head)


async def post_undo(request: web.Request) -> web.Response:
    """A match that goes on from before the person's last choice, against the same bots."""
    services = services_of(request)
    live, seat = find_seat(request)
    await read_body(request, models.Empty)
    step = _may_undo(live, seat)
    if step is None:
        raise conflict("there is nothing to take back, or other people play along")
    while len(live.legal(await live.state(step), seat.role)) < 2:
        if step == 0:
            raise conflict("there was nothing to choose yet")
        step -= 1
    return await _again(services, live, step, f"{seat.role} took a move back")


async def post_again(request: web.Request) -> web.Response:
    """The same match once more."""
    services = services_of(request)
    live, _ = find_seat(request)
    await read_body(request, models.Empty)
    if not live.is_over or live.order.is_guest:
        raise conflict("the match is not over yet" if not live.is_over else "another game master begins the matches")
    following = services.hall.begin(replace(live.order, seed=new_seed()))
    return _seated(live, following)


async def post_hint(request: web.Request) -> web.StreamResponse:
    live, seat = find_seat(request)
    wanted = await read_body(request, models.Wanted)
    if not _may_hint(live, seat):
        raise conflict("there are no hints in matches with other people or with hidden states")
    wanted = wanted.model_copy(update={"role": seat.role})
    return await analysed(request, live.order.source, live.facts(live.step), wanted)


async def _again(services: Services, live: LiveMatch, step: int, reason: str) -> web.Response:
    order = live.order
    facts = live.facts(step)
    await services.hall.end(live, reason)
    clocks = {"startclock": order.startclock, "playclock": order.playclock, "think": order.think}
    wanted = models.Branch(step=step, players=dict(order.players), **clocks)
    found = Found(live.id, live.record, live.head, live)
    return _seated(live, await begin_branch(services, found, step, facts, wanted))


def _seated(before: LiveMatch, following: LiveMatch) -> web.Response:
    """The answer about a match that follows another; those at the other are told where their seats are."""
    for role, seat in before.seats.items():
        seat.next = seat_url(following.seats[role].link)
        seat.feed.publish("changed", {})
    return answer(begun(following), 201)


def _may_undo(live: LiveMatch, seat: Seat) -> int | None:
    """The last step that may be taken back; None where there is none."""
    if live.order.has_percepts or len(live.seats) > 1 or live.record is None or seat.next is not None:
        return None
    if any(isinstance(taker, models.Remote) for taker in live.order.players.values()) or live.failure:
        return None
    return live.step - 1 if live.step else None


def _may_hint(live: LiveMatch, seat: Seat) -> bool:
    is_alone = len(live.seats) == 1 and not live.order.is_guest
    return seat.wanted is not None and is_alone and not live.order.has_percepts


def find_guest(request: web.Request) -> Guest:
    """A Problem where the link leads nowhere."""
    found = services_of(request).guests.get(request.match_info["link"])
    if found is None:
        raise not_found("this link leads to nobody; the service may have been restarted")
    return found


def guest_view(services: Services, guest: Guest) -> models.Guest:
    seat = guest.seat if guest.is_busy else None
    return models.Guest(
        name=guest.name,
        address=services.guests.address(guest),
        url=f"/guests/{guest.link}",
        seat=None if seat is None else f"{SEATS_URL}{seat.link}",
    )


async def post_guest(request: web.Request) -> web.Response:
    services = services_of(request)
    wanted = await read_body(request, models.NewGuest)
    return answer(guest_view(services, services.guests.add(wanted.name or "you")), 201)


async def get_guest(request: web.Request) -> web.Response:
    return answer(guest_view(services_of(request), find_guest(request)))


async def get_guest_events(request: web.Request) -> web.StreamResponse:
    return await services_of(request).streams.serve(request, find_guest(request).feed)


_PROBLEMS = (404, 409, 415)

OPERATIONS = (
    Operation("GET", "/seats/{link}", "getSeat", "seats", "What the person sees.", get_seat, models.Seat,
              problems=(404, 409)),
    Operation("GET", "/seats/{link}/events", "watchSeat", "seats",
              "Server-sent events: after each `changed` the seat is to be read anew. 204 when the match is over.",
              get_events, "text/event-stream", problems=(404, 503)),
    Operation("POST", "/seats/{link}/move", "chooseMove", "seats", "Move; the reason of the rules where it is illegal.",
              post_move, models.Empty, body=models.Chosen, problems=_PROBLEMS, is_open=True),
    Operation("POST", "/seats/{link}/resign", "resign", "seats", "Give the match up.", post_resign, models.MatchHead,
              body=models.Empty, problems=_PROBLEMS, is_open=True),
    Operation("POST", "/seats/{link}/undo", "takeBack", "seats", "Take the last choice back, against bots.", post_undo,
              models.Begun, body=models.Empty, status=201, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/seats/{link}/again", "playAgain", "seats", "The same match once more.", post_again,
              models.Begun, body=models.Empty, status=201, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/seats/{link}/hint", "hint", "seats", "What a search finds out of the current state.",
              post_hint, models.Analysis, body=models.Wanted, problems=(*_PROBLEMS, 503), is_open=True),
    Operation("POST", "/guests", "addGuest", "guests", "An address at which a person plays for other game masters.",
              post_guest, models.Guest, body=models.NewGuest, status=201),
    Operation("GET", "/guests/{link}", "getGuest", "guests", "Whether somebody has begun a match.", get_guest,
              models.Guest, problems=(404,)),
    Operation("GET", "/guests/{link}/events", "watchGuest", "guests",
              "Server-sent events: after each `changed` the guest is to be read anew.", get_guest_events,
              "text/event-stream", problems=(404, 503)),
)  # fmt: skip
