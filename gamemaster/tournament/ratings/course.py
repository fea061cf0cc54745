"""Comparisons → how the ratings went while an event went on."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gamemaster.tournament.ratings.bradley_terry import bradley_terry
from gamemaster.tournament.ratings.entries import Comparisons


@dataclass(frozen=True, slots=True)
class Moment:
    """The ratings after so many rated matches; only of players who had met somebody."""

    matches: int
    elo: Mapping[str, float]


def course(comparisons: Comparisons, points: int) -> tuple[Moment, ...]:
    """At most so many moments, evenly spread over the matches in their order; the last one is after all of them."""
    matches = np.unique(comparisons.match)
    counts = sorted({round(len(matches) * (point + 1) / points) for point in range(points)} - {0})
    moments = []
    for count in counts:
        so_far = comparisons.where(comparisons.match <= matches[count - 1]).of_compared()
        ratings = bradley_terry(so_far, covariance=False)
        moments.append(Moment(count, dict(zip(ratings.players, ratings.elo, strict=True))))
    return tuple(moments)
