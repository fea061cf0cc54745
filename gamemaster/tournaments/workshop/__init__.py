"""Where matches are played: processors, the bots that are kept running on them, and what else limits matches."""

from gamemaster.tournaments.workshop.pool import Pool, settings_of
from gamemaster.tournaments.workshop.processors import Processors, usable_processors
from gamemaster.tournaments.workshop.workshop import Job, Place, Shortage, Workshop

__all__ = ["Job", "Place", "Pool", "Processors", "Shortage", "Workshop", "settings_of", "usable_processors"]
