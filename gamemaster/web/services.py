"""The parts of the service that requests are answered with, as one value."""

from dataclasses import dataclass

from aiohttp import web

from gamemaster.web.analysts import Analysts
from gamemaster.web.catalogue import Catalogue
from gamemaster.web.depot import Depot
from gamemaster.web.evaluators import Pool
from gamemaster.web.feed import Feed
from gamemaster.web.guests import Guests
from gamemaster.web.hall import Hall
from gamemaster.web.models import State
from gamemaster.web.safety import Guard
from gamemaster.web.seats import Switchboard
from gamemaster.web.settings import ServeSettings
from gamemaster.web.shelf import Shelf
from gamemaster.web.streams import Streams
from gamemaster.web.tournaments import Tournaments
from gamemaster.web.watchers import Watchers


@dataclass(frozen=True, slots=True)
class Services:
    """Made once for each application."""

    settings: ServeSettings
    guard: Guard
    pool: Pool
    analysts: Analysts
    catalogue: Catalogue
    switchboard: Switchboard
    hall: Hall
    guests: Guests
    depot: Depot
    shelf: Shelf
    streams: Streams
    tournaments: Tournaments
    watchers: Watchers
    lobby: Feed  # told whenever a match begins or ends
    starts: dict[str, State]  # key of a source → its first state, drawn
    images: dict[str, str]  # the same as a file of its own


SERVICES = web.AppKey("SERVICES", Services)


def services_of(request: web.Request) -> Services:
    return request.app[SERVICES]
