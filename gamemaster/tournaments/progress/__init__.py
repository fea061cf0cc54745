"""How a tournament is shown as it goes: a full screen on a terminal, plain lines elsewhere."""

from gamemaster.tournaments.progress.lines import LineWriter
from gamemaster.tournaments.progress.live import LiveProgress
from gamemaster.tournaments.progress.plain import PlainProgress
from gamemaster.tournaments.progress.tracker import Tracker, duration

__all__ = ["LineWriter", "LiveProgress", "PlainProgress", "Tracker", "duration"]
