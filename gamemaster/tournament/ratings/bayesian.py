"""Matches of any number of players → Bayesian ratings, by openskill."""

from dataclasses import dataclass

import numpy as np
from openskill.models import PlackettLuce

from gamemaster.tournament.ratings.entries import Entries
from gamemaster.tournament.ratings.estimates import Estimate, normal_estimate


@dataclass(frozen=True, slots=True)
class BayesianRating:
    """What is believed of a player's strength, in openskill's units: 25 at first, with a standard deviation of 8.3."""

    player: str
    strength: Estimate
    deviation: float
    ordinal: float  # three deviations below the mean: what the player has shown with near certainty


def bayesian_ratings(entries: Entries) -> tuple[BayesianRating, ...]:
    """The ratings after all matches of two players or more, each taken as one ranking by the goal values.

    Weng & Lin (2011), A Bayesian approximation method for online ranking, Journal of Machine Learning Research 12:
    the Plackett-Luce model. Each match changes the ratings that the next one starts from, so the order has some
    effect; it is always that of `Entries`, whatever order the matches were finished in.
    """
    model = PlackettLuce()
    ratings = [model.rating() for _ in entries.players]
    goals, players = entries.goal.tolist(), entries.player.tolist()
    for match in np.flatnonzero(entries.is_rated).tolist():
        start, end = entries.first[match : match + 2].tolist()
        members = players[start:end]
        teams = model.rate([[ratings[player]] for player in members], scores=goals[start:end])
        for player, team in zip(members, teams, strict=True):
            ratings[player] = team[0]
    return tuple(
        BayesianRating(name, normal_estimate(rating.mu, rating.sigma**2), rating.sigma, rating.ordinal())
        for name, rating in zip(entries.players, ratings, strict=True)
    )
