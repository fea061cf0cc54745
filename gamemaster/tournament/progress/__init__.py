"""How a tournament is shown as it goes: a full screen on a terminal, plain lines elsewhere."""

from gamemaster.tournament.progress.lines import LineWriter
from gamemaster.tournament.progress.live import LiveProgress
from gamemaster.tournament.progress.plain import PlainProgress
from gamemaster.tournament.progress.tracker import Tracker, duration

__all__ = ["LineWriter", "LiveProgress", "PlainProgress", "Tracker", "duration"]
