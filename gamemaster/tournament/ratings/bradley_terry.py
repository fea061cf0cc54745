"""Comparisons → ratings on the Elo scale, by maximum likelihood, with their covariance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamemaster.tournament.ratings.entries import Comparisons, Floats
from gamemaster.tournament.ratings.estimates import ELO, Estimate, likelihood_above, normal_estimate
from gamemaster.tournament.ratings.logistic import Model, Observations, fitted
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
    """Everybody must reach everybody along games that were not lost."""
    count = len(comparisons.players)
    reached = np.eye(count, dtype=bool)
    reached[comparisons.first[comparisons.outcome > 0], comparisons.second[comparisons.outcome > 0]] = True
    reached[comparisons.second[comparisons.outcome < 1], comparisons.first[comparisons.outcome < 1]] = True
    for middle in range(count):
        reached |= reached[:, middle, None] & reached[middle]
    if not reached.all():
        player = comparisons.players[int(np.argmin(reached.all(axis=1)))]
        raise SettingsError(f"without a prior there are no ratings: {player} won or lost too much, or did not meet all")
