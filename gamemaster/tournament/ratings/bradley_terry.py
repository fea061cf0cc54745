"""Comparisons → strengths of players and advantages of roles on the Elo scale; rankings → Bayesian ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from openskill.models import PlackettLuce

from gamemaster.tournament.ratings.entries import Comparisons, Entries, Floats, Ids, likelihood_above
from ggp.elo import ELO, Estimate, expected_value, normal_estimate
from ggp.errors import SettingsError

PRIOR = 0.25  # drawn games of every player against one of mean strength


@dataclass(frozen=True, slots=True)
class Ratings:
    """Strengths in Elo points; their mean is 0 unless one of them was anchored."""

    players: tuple[str, ...]
    elo: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]  # in squared Elo points
    is_robust: bool  # the covariance takes into account that the matches of a group depend on each other

    def rating(self, player: str) -> Estimate:
        number = self.players.index(player)
        return normal_estimate(self.elo[number], self.covariance[number][number])

    def difference(self, player: str, other: str) -> Estimate:
        """How much stronger the player is than the other one."""
        return normal_estimate(*self._difference(player, other))

    def superiority(self, player: str, other: str) -> float:
        """The likelihood that the player is the stronger one."""
        return likelihood_above(*self._difference(player, other))

    def _difference(self, player: str, other: str) -> tuple[float, float]:
        one, two = self.players.index(player), self.players.index(other)
        between = self.covariance
        return self.elo[one] - self.elo[two], between[one][one] + between[two][two] - 2 * between[one][two]


def bradley_terry(
    comparisons: Comparisons, prior: float = PRIOR, anchor: tuple[str, float] | None = None, *, covariance: bool = True
) -> Ratings:
    """The ratings of all players.

    Bradley & Terry (1952), Rank analysis of incomplete block designs, Biometrika 39; a draw is half a win and half a
    loss. The prior is `prior` drawn games of every player against one of mean strength, in the spirit of the halves
    that Haldane and Anscombe (1956) add to both counts: it makes the estimates almost free of bias, and finite for who
    won or lost everything, whose intervals are then wide. Without it (0) the likelihood has a maximum only when no set
    of players won all its games against the rest (Ford 1957), else SettingsError.
    """
    count = len(comparisons.players)
    if prior <= 0:
        _check_maximum(comparisons)
    pairs, pair = np.unique(comparisons.first * count + comparisons.second, return_inverse=True)
    model = Model(
        block=np.zeros(count, dtype=np.intp),
        prior=np.full(count, prior),
        members=np.stack(np.divmod(pairs, max(count, 1)), axis=1),
        signs=np.array((1.0, -1.0)),
    )
    observations = Observations(
        cell=pair, pair=pair, group=comparisons.group, outcome=comparisons.outcome, weight=comparisons.weight
    )
    fit = fitted(model, observations, with_covariance=covariance)
    return scaled(comparisons.players, fit.coefficients, fit.covariance, anchor, is_robust=fit.is_robust)


def scaled(
    players: Sequence[str],
    strength: Floats,
    covariance: Floats,
    anchor: tuple[str, float] | None,
    *,
    is_robust: bool,
) -> Ratings:
    """Ratings from logarithms of odds, moved so that the anchored player has the rating given."""
    shift = np.eye(len(players))
    offset = 0.0
    if anchor is not None:
        name, offset = anchor
        if name not in players:
            raise SettingsError(f"no player is called {name}, so the ratings cannot be anchored to it")
        shift[:, list(players).index(name)] -= 1
    elo = shift @ strength * ELO + offset
    spread = shift @ covariance @ shift.T * ELO**2
    return Ratings(tuple(players), tuple(elo.tolist()), tuple(map(tuple, spread.tolist())), is_robust)


def _check_maximum(comparisons: Comparisons) -> None:
    """Every player must reach every other one along games that were not lost."""
    count = len(comparisons.players)
    reached = np.eye(count, dtype=bool)
    reached[comparisons.first[comparisons.outcome > 0], comparisons.second[comparisons.outcome > 0]] = True
    reached[comparisons.second[comparisons.outcome < 1], comparisons.first[comparisons.outcome < 1]] = True
    for middle in range(count):
        reached |= reached[:, middle, None] & reached[middle]
    if not reached.all():
        player = comparisons.players[int(np.argmin(reached.all(axis=1)))]
        raise SettingsError(f"without a prior there are no ratings: {player} won or lost too much, or did not meet all")


@dataclass(frozen=True, slots=True)
class RatingPoint:
    """The ratings after so many rated matches; only of players that had met another one."""

    matches: int
    elo: Mapping[str, float]


def course(comparisons: Comparisons, points: int) -> tuple[RatingPoint, ...]:
    """At most so many moments, evenly spread over the matches in their order; the last one is after all of them."""
    matches = np.unique(comparisons.match)
    counts = sorted({round(len(matches) * (point + 1) / points) for point in range(points)} - {0})
    moments = []
    for count in counts:
        so_far = comparisons.where(comparisons.match <= matches[count - 1]).of_compared()
        ratings = bradley_terry(so_far, covariance=False)
        moments.append(RatingPoint(count, dict(zip(ratings.players, ratings.elo, strict=True))))
    return tuple(moments)


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
    members = np.stack((comparisons.first, comparisons.second), axis=1)
    taken = np.stack((comparisons.first_role, comparisons.second_role), axis=1)
    keys = np.hstack((members, players + np.searchsorted(compared, taken)))
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
