"""A tournament on many computers: Ray decides where each match is played, one manager keeps the schedule and the store.

Ray is loaded when a cluster is connected to, and only by `connection`.
"""

from gamemaster.tournament.cluster.connection import check_address
from gamemaster.tournament.cluster.venue import open_venue

__all__ = ["check_address", "open_venue"]
