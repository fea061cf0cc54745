"""Where matches are played: processors, the bots that are kept running on them, and what else limits matches."""

from gamemaster.tournament.workshop.pool import Pool, settings_of
from gamemaster.tournament.workshop.processors import Processors, usable_processors
from gamemaster.tournament.workshop.workshop import Job, Place, Shortage, Workshop

__all__ = ["Job", "Place", "Pool", "Processors", "Shortage", "Workshop", "settings_of", "usable_processors"]
