"""Elo points, with their uncertainty; pairs of matches → how much stronger a player is, and Wald's sequential test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Pairs: TypeAlias = tuple[int, int, int, int, int]  # how often a pair of matches gave 0, ½, 1, 1½ and 2 points

OUTCOMES: Floats = np.linspace(0, 1, 5)  # of a pair, as the mean of its two matches
FEWEST = 1e-3  # what stands for a count of 0
HALVES = 0.5  # pairs lost and pairs won that are added for the estimate, so that it is finite
TOLERANCE = 1e-12
MAX_ITERATIONS = 200

ELO = 400 / math.log(10)  # Elo points in a unit of the logarithm of odds: 400 points are odds of 10 to 1
CONFIDENCE = 0.95  # of all intervals

_STANDARD_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def normal_estimate(value: float, variance: float) -> Estimate:
    """The interval of a value whose error is normal."""
    margin = _STANDARD_NORMAL.inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(max(variance, 0.0))
    return Estimate(value, value - margin, value + margin)


def expected_value(elo: float) -> float:
    """The expected result, from 0 to 1, of who is stronger by so many Elo points."""
    return (1 + math.tanh(elo / ELO / 2)) / 2


def elo_of(value: float) -> float:
    """The other way round, for a value between 0 and 1 that is neither."""
    return ELO * math.log(value / (1 - value))


def bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Where the test ends: Wald (1945), Sequential tests of statistical hypotheses, Ann. Math. Statist. 16."""
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


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
