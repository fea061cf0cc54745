"""Logistic regression: outcomes of comparisons → coefficients of players and roles, and their covariance.

Sums over comparisons take the place of products of large matrices: those would be spread over threads, which wait for
each other for seconds on a computer that is busy with matches.
"""

from dataclasses import dataclass

import numpy as np

from gamemaster.tournament.ratings.entries import Floats, Ids

MAX_ITERATIONS = 100
TOLERANCE = 1e-10  # of a coefficient
OWN_EVIDENCE = 1.0  # units of information, each worth four even games, at which a pair's own spread counts half


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """K coefficients with a mean of 0 in each block, and C cells: comparisons with the same expectation."""

    block: Ids  # (K,) players are one block, the roles of each game another
    prior: Floats  # (K,) drawn games against the mean of its block that were never played
    members: Ids  # (C, T) the coefficients that make up the logarithm of the odds of cell c
    signs: Floats  # (T,) how they enter it: 1 or -1

    @property
    def size(self) -> int:
        return len(self.block)

    @property
    def means(self) -> Floats:
        """(K, K) takes coefficients to the means of their blocks."""
        same = (self.block[:, None] == self.block).astype(np.float64)
        return np.asarray(same / np.maximum(same.sum(axis=1), 1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """N outcomes; those of a group depend on each other."""

    cell: Ids  # (N,)
    pair: Ids  # (N,) a number for the two players
    group: Ids  # (N,)
    outcome: Floats  # (N,) from 0 to 1
    weight: Floats  # (N,)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    coefficients: Floats  # (K,)
    covariance: Floats  # (K, K)
    is_robust: bool  # the covariance takes the dependence within groups into account


def fitted(model: Model, observations: Observations, *, with_covariance: bool = True) -> Fit:
    """The maximum of the (quasi-)likelihood, by Newton's method with step halving.

    Outcomes between 0 and 1 are allowed: Papke & Wooldridge (1996), Econometric methods for fractional response
    variables, Journal of Applied Econometrics 11. The covariance is the inverse Fisher information where every
    outcome stands alone, else the robust one of `_spread`.
    """
    cells = len(model.members)
    weight = _summed(observations.cell, observations.weight, cells)
    won = _summed(observations.cell, observations.weight * observations.outcome, cells)
    coefficients = _maximum(model, weight, won)
    is_robust = len(np.unique(observations.group)) < len(observations.group)
    if not with_covariance or model.size == 0:
        return Fit(coefficients, np.zeros((model.size, model.size)), is_robust)
    expected = _sigmoid(_odds(model, coefficients))
    prior = _prior_information(model, coefficients)
    information = _squared(model, weight * expected * (1 - expected)) + prior
    inverse = np.linalg.inv(information + model.means) - model.means  # in the space of all that have the means 0
    if is_robust:
        inverse = inverse @ (_spread(model, observations, expected) + prior) @ inverse
    return Fit(coefficients, np.asarray(inverse, dtype=np.float64), is_robust)


def _maximum(model: Model, weight: Floats, won: Floats) -> Floats:
    coefficients = np.zeros(model.size)
    likelihood = _likelihood(model, weight, won, coefficients)
    for _ in range(MAX_ITERATIONS):
        expected = _sigmoid(_odds(model, coefficients))
        pull = model.prior * (0.5 - _sigmoid(coefficients))
        gradient = _gathered(model, won - weight * expected) + pull - model.means @ pull
        information = _squared(model, weight * expected * (1 - expected)) + _prior_information(model, coefficients)
        step = np.linalg.solve(information + model.means, gradient)
        while (following := _likelihood(model, weight, won, coefficients + step)) < likelihood - 1e-9:
            step /= 2
        coefficients, likelihood = coefficients + step, following
        if np.abs(step).max(initial=0.0) < TOLERANCE:
            break
    return np.asarray(coefficients - model.means @ coefficients, dtype=np.float64)


def _likelihood(model: Model, weight: Floats, won: Floats, coefficients: Floats) -> float:
    """Its logarithm, for coefficients whose means are 0."""
    odds = _odds(model, coefficients)
    played = won @ odds - weight @ np.logaddexp(0, odds)
    return float(played + model.prior @ (coefficients / 2 - np.logaddexp(0, coefficients)))


def _prior_information(model: Model, coefficients: Floats) -> Floats:
    """That of the prior: M · diag(v) · M, where M takes off the means of the blocks."""
    value = _sigmoid(coefficients)
    v = model.prior * value * (1 - value)
    means = model.means
    spread = means * v  # both factors of a product in the same block
    return np.asarray(np.diag(v) - spread - spread.T + means * (means @ v)[:, None], dtype=np.float64)


def _spread(model: Model, observations: Observations, expected: Floats) -> Floats:
    """The covariance of the score, allowing for dependence within groups: the middle of the "sandwich".

    White (1982), Maximum likelihood estimation of misspecified models, Econometrica 50; by groups: Liang & Zeger
    (1986), Longitudinal data analysis using generalized linear models, Biometrika 73. With few games its own spread
    says little about a pair of players, and nothing where one has won all. So each pair's squared residuals count in
    proportion to its information, the rest is the nominal spread times the dispersion of all pairs together, in the
    manner of Morel, Bokossa & Neerchal (2003), Small sample correction for the variance of GEE estimators,
    Biometrical Journal 45.
    """
    cell, pair, weight = observations.cell, observations.pair, observations.weight
    nominal = weight * expected[cell] * (1 - expected[cell])
    residual = weight * (observations.outcome - expected[cell])
    information = np.bincount(pair, nominal)
    own = (information / (information + OWN_EVIDENCE))[pair]
    groups, group = np.unique(observations.group, return_inverse=True)
    free = model.size - len(np.unique(model.block))
    correction = len(groups) / max(len(groups) - free, 1)
    _, members = np.unique(group * (pair.max() + 1) + pair, return_inverse=True)
    squares = float((np.bincount(members, residual) ** 2).sum())
    dispersion = (correction * squares + OWN_EVIDENCE) / (float(information.sum()) + OWN_EVIDENCE)
    rest = _squared(model, _summed(cell, (1 - own) * nominal, len(model.members)))
    scores = _of_groups(model, group, cell, np.sqrt(own) * residual)
    return np.asarray(correction * scores + dispersion * rest, dtype=np.float64)


def _of_groups(model: Model, group: Ids, cell: Ids, residual: Floats) -> Floats:
    """(K, K) the sum over all groups of the score of the group times itself."""
    size = model.size
    keys = (group[:, None] * size + model.members[cell]).ravel()
    found, number = np.unique(keys, return_inverse=True)
    values = np.bincount(number, (residual[:, None] * model.signs).ravel())
    owners, coefficients = np.divmod(found, size)
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    counts = np.diff(firsts, append=len(found))
    total = np.zeros(size * size)
    for count in np.unique(counts).tolist():
        rows = firsts[counts == count][:, None] + np.arange(count)
        places = coefficients[rows][:, :, None] * size + coefficients[rows][:, None, :]
        products = values[rows][:, :, None] * values[rows][:, None, :]
        total += np.bincount(places.ravel(), products.ravel(), size * size)
    return total.reshape(size, size)


def _odds(model: Model, coefficients: Floats) -> Floats:
    """(C,) their logarithms."""
    return np.asarray((coefficients[model.members] * model.signs).sum(axis=1), dtype=np.float64)


def _gathered(model: Model, values: Floats) -> Floats:
    """(K,) the values of the cells, summed for each coefficient with its sign."""
    return np.bincount(model.members.ravel(), (values[:, None] * model.signs).ravel(), model.size).astype(np.float64)


def _squared(model: Model, values: Floats) -> Floats:
    """(K, K) the same for every two coefficients of a cell."""
    size, places = model.size, model.members
    total = np.zeros(size * size)
    for one, sign in enumerate(model.signs.tolist()):
        for other, other_sign in enumerate(model.signs.tolist()):
            total += sign * other_sign * np.bincount(places[:, one] * size + places[:, other], values, size * size)
    return total.reshape(size, size)


def _summed(ids: Ids, values: Floats, count: int) -> Floats:
    return np.bincount(ids, values, count).astype(np.float64)


def _sigmoid(odds: Floats) -> Floats:
    return np.asarray((1 + np.tanh(odds / 2)) / 2, dtype=np.float64)
