"""The API of people who play for other game masters."""

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.operations import Operation, answer, read_body
from gamemaster.web.guests import Guest
from gamemaster.web.problems import not_found
from gamemaster.web.seats import SEATS_URL
from gamemaster.web.services import Services, services_of


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


async def get_events(request: web.Request) -> web.StreamResponse:
    return await services_of(request).streams.serve(request, find_guest(request).feed)


OPERATIONS = (
    Operation("POST", "/guests", "addGuest", "guests", "An address at which a person plays for other game masters.",
              post_guest, models.Guest, body=models.NewGuest, status=201),
    Operation("GET", "/guests/{link}", "getGuest", "guests", "Whether somebody has begun a match.", get_guest,
              models.Guest, problems=(404,)),
    Operation("GET", "/guests/{link}/events", "watchGuest", "guests",
              "Server-sent events: after each `changed` the guest is to be read anew.", get_events,
              "text/event-stream", problems=(404, 503)),
)  # fmt: skip
