"""Comparisons → the strength of the players and the advantage of each role of each game, estimated together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamemaster.tournament.ratings.bradley_terry import PRIOR, Ratings, scaled
from gamemaster.tournament.ratings.entries import Comparisons, Floats
from gamemaster.tournament.ratings.estimates import ELO, Estimate, expected_value, normal_estimate
from gamemaster.tournament.ratings.logistic import Model, Observations, fitted

ROLE_PRIOR = 1.0  # drawn games of every role against the average role of its game


@dataclass(frozen=True, slots=True)
class Role:
    """What a role of a game is worth to who takes it."""

    game: str
    role: str
    advantage: Estimate  # in Elo points over the average role of the game; its difficulty is the negative of it
    share: float  # of the goal values, from 0 to 1, expected among equal players


@dataclass(frozen=True, slots=True)
class RoleRatings:
    """Strengths that the roles which a player happened to take do not distort, and the roles."""

    players: Ratings
    roles: tuple[Role, ...]  # of games for two roles or more


def role_ratings(comparisons: Comparisons, roles: tuple[tuple[str, str], ...]) -> RoleRatings:
    """Players and roles rated together; `roles` are those of `Entries.roles`.

    The expected share of the goal values of two players in a match is 1 / (1 + exp(-d)), where d is the difference of
    their strengths plus that of the advantages of their roles. The idea is that of the Agon rating of ggp.org
    (Schreiber, about 2013), which rates players and roles of games as opponents; here the whole is fitted at once by
    penalised maximum likelihood, so that the order of the matches does not matter. The prior of a player is that of
    `bradley_terry`, that of a role `ROLE_PRIOR` drawn games.
    """
    players = len(comparisons.players)
    compared = np.unique(np.concatenate((comparisons.first_role, comparisons.second_role)))
    known = [roles[number] for number in compared.tolist()]
    games = np.unique([game for game, _ in known], return_inverse=True)[1].astype(np.intp)
    takers = np.stack((comparisons.first, comparisons.second), axis=1)
    taken = np.stack((comparisons.first_role, comparisons.second_role), axis=1)
    keys = np.hstack((takers, players + np.searchsorted(compared, taken)))
    cells, cell = np.unique(keys, axis=0, return_inverse=True)
    model = Model(
        block=np.concatenate((np.zeros(players, dtype=np.intp), games + 1)),
        prior=np.concatenate((np.full(players, PRIOR), np.full(len(known), ROLE_PRIOR))),
        members=cells,
        signs=np.array((1.0, -1.0, 1.0, -1.0)),
    )
    _, pair = np.unique(comparisons.first * players + comparisons.second, return_inverse=True)
    observations = Observations(
        cell=cell.reshape(-1), pair=pair, group=comparisons.group, outcome=comparisons.share, weight=comparisons.weight
    )
    fit = fitted(model, observations)
    rated = scaled(
        comparisons.players,
        fit.coefficients[:players],
        fit.covariance[:players, :players],
        None,
        is_robust=fit.is_robust,
    )
    worth = fit.coefficients[players:] * ELO
    return RoleRatings(rated, _roles(known, worth, np.diag(fit.covariance)[players:] * ELO**2))


def _roles(known: Sequence[tuple[str, str]], advantages: Floats, variances: Floats) -> tuple[Role, ...]:
    found = []
    for number, (game, role) in enumerate(known):
        others = [other for other, (name, _) in enumerate(known) if name == game and other != number]
        shares = [expected_value(float(advantages[number] - advantages[other])) for other in others]
        advantage = normal_estimate(float(advantages[number]), float(variances[number]))
        found.append(Role(game, role, advantage, sum(shares) / len(shares)))
    return tuple(found)
