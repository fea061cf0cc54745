"""Matches in pairs with the roles exchanged → whether one player is better than the other, as soon as that is clear."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gamemaster.tournament.ratings.entries import Comparisons, Floats, comparisons_of, entries_of
from gamemaster.tournament.ratings.estimates import ELO, Estimate, elo_of, expected_value, normal_estimate
from gamemaster.tournament.results import MatchResult
from ggp.errors import SettingsError

Decision = Literal["H0", "H1", "open"]
Pairs: TypeAlias = tuple[int, int, int, int, int]  # how often a pair of matches gave 0, ½, 1, 1½ and 2 points

OUTCOMES: Floats = np.linspace(0, 1, 5)  # of a pair, as the mean of its two matches
FEWEST = 1e-3  # what stands for a count of 0
HALVES = 0.5  # pairs lost and pairs won that are added for the estimate, so that it is finite
TOLERANCE = 1e-12
MAX_ITERATIONS = 200
HIGHEST = 2000  # Elo points of a hypothesis


@dataclass(frozen=True, slots=True)
class Sprt:
    """How a sequential test stands: is the player better than the opponent?"""

    player: str
    opponent: str
    elo0: float  # H0: the player is so much stronger
    elo1: float  # H1: the player is so much stronger
    alpha: float  # how often H1 may be accepted although H0 is true
    beta: float  # how often H0 may be accepted although H1 is true
    pairs: Pairs  # seen from the player
    llr: float  # the logarithm of the likelihood ratio
    lower: float  # at which H0 is accepted
    upper: float  # at which H1 is accepted
    elo: Estimate  # how much stronger the player is; taken at a moment that chance chose, so it exaggerates a little

    @property
    def decision(self) -> Decision:
        if self.llr >= self.upper:
            return "H1"
        return "H0" if self.llr <= self.lower else "open"


def sprt_of(
    results: Collection[MatchResult], elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05, *, player: str
) -> Sprt:
    """How the test of the player against the only opponent stands.

    A pair is a group of exactly two matches with the roles exchanged and all goal values; whatever else there is does
    not count, such as a match whose partner has not been played. `elo0` and `elo1` are logistic Elo points.
    SettingsError for a test that makes no sense.
    """
    if not -HIGHEST <= elo0 < elo1 <= HIGHEST:
        raise SettingsError(
            f"elo0 must be less than elo1, both from -{HIGHEST} to {HIGHEST}, not {elo0:g} and {elo1:g}"
        )
    if not (0 < alpha < 0.5 and 0 < beta < 0.5):
        raise SettingsError(f"alpha and beta must be between 0 and 0.5, not {alpha:g} and {beta:g}")
    comparisons = comparisons_of(entries_of((player,), results))
    opponents = [name for name in comparisons.players if name != player]
    opponent = opponents[0] if opponents else ""
    against = comparisons.where((comparisons.first == 0) & (comparisons.second == 1))
    pairs = pair_outcomes(against)
    lower, upper = bounds(alpha, beta)
    ratio = log_likelihood_ratio(pairs, elo0, elo1)
    return Sprt(player, opponent, elo0, elo1, alpha, beta, pairs, ratio, lower, upper, elo_estimate(pairs))


def bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Where the test ends: Wald (1945), Sequential tests of statistical hypotheses, Ann. Math. Statist. 16."""
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def pair_outcomes(comparisons: Comparisons) -> Pairs:
    """The outcomes of all whole pairs, seen from the player with the lower number."""
    groups, group, sizes = np.unique(comparisons.group, return_inverse=True, return_counts=True)
    points = np.bincount(group, comparisons.outcome, len(groups))
    roles = np.bincount(group, comparisons.first_role - comparisons.second_role, len(groups))
    whole = points[(sizes == 2) & (roles == 0)]
    counts = np.bincount(np.rint(whole * 2).astype(np.intp), minlength=5).tolist()
    return counts[0], counts[1], counts[2], counts[3], counts[4]


def log_likelihood_ratio(pairs: Sequence[float], elo0: float, elo1: float) -> float:
    """log(L1 / L0), where each is the highest likelihood of the pairs under its hypothesis.

    Michel Van den Bergh (2019), The generalized maximum likelihood ratio for the expectation value of a distribution;
    Fishtest and fastchess use the same.
    """
    if sum(pairs) == 0:
        return 0.0
    counts = np.maximum(np.array(pairs, dtype=np.float64), FEWEST)
    under0, under1 = (_with_mean(counts / counts.sum(), expected_value(elo)) for elo in (elo0, elo1))
    return float(counts @ (np.log(under1) - np.log(under0)))


def elo_estimate(pairs: Sequence[float]) -> Estimate:
    """How much stronger the player is, by the mean of the pairs and their spread; finite for whatever counts.

    Half a pair lost and half a pair won are added, as Haldane and Anscombe (1956) did for odds.
    """
    counts = np.array(pairs, dtype=np.float64) + np.array((HALVES, 0, 0, 0, HALVES))
    total = float(counts.sum())
    mean = float(counts @ OUTCOMES) / total
    variance = float(counts @ (OUTCOMES - mean) ** 2) / total**2
    slope = ELO / (mean * (1 - mean))
    return normal_estimate(elo_of(mean), variance * slope**2)


def _with_mean(observed: Floats, mean: float) -> Floats:
    """The most likely distribution with this mean: observed / (1 + x · values), where `values` are to have the mean 0.

    Their mean falls as x grows; x is found by Newton's method, and by bisection where that leads out of the bounds.
    """
    values = OUTCOMES - mean
    pairs = list(zip(observed.tolist(), values.tolist(), strict=True))
    low, high, x = -1 / max(values.tolist()), -1 / min(values.tolist()), 0.0
    for _ in range(MAX_ITERATIONS):
        terms = [value / (1 + x * value) for _, value in pairs]
        excess = sum(share * term for (share, _), term in zip(pairs, terms, strict=True))
        low, high = (x, high) if excess > 0 else (low, x)
        before, x = x, x + excess / sum(share * term**2 for (share, _), term in zip(pairs, terms, strict=True))
        if not low < x < high:
            x = (low + high) / 2
        if abs(x - before) <= TOLERANCE * max(1.0, abs(x)):
            break
    found: Floats = observed / (1 + x * values)
    return found
