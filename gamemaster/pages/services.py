"""The parts of the service that requests are answered with, as one value."""

from dataclasses import dataclass

from aiohttp import web

from gamemaster.pages.analysts import Analysts
from gamemaster.pages.catalogue import Catalogue
from gamemaster.pages.depot import Depot
from gamemaster.pages.evaluators import Pool
from gamemaster.pages.feed import Feed
from gamemaster.pages.guests import Guests
from gamemaster.pages.hall import Hall
from gamemaster.pages.models import State
from gamemaster.pages.safety import Guard
from gamemaster.pages.seats import Switchboard
from gamemaster.pages.settings import ServeSettings
from gamemaster.pages.shelf import Shelf
from gamemaster.pages.streams import Streams
from gamemaster.pages.tournaments import Tournaments
from gamemaster.pages.watchers import Watchers


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
