"""Scores of pairs of matches → score with its interval, and whether to stop.

A pair is two matches in which two contenders swap roles; its score is the mean of the two, one of five. The pair, not
the match, is what is independent of the others: who has the better role in one match has the worse in the next, so the
variance is that of pairs ("pentanomial").
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt
from typing import Literal

OUTCOMES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a pair
Z = 1.959964  # of a normal variable, exceeded on either side in 5 % of cases

_PRIOR_PAIRS = 0.2  # of each outcome, so that pairs that are all alike do not seem to be certain
_SPRT_PAIRS = 1e-3  # the same, as little as keeps logarithms finite
_HALVINGS = 50


@dataclass(frozen=True, slots=True)
class Score:
    """The mean over pairs with its 95 % interval, 0 to 1."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1%} [{self.low:.1%}, {self.high:.1%}]"


def score(pairs: Sequence[float]) -> Score:
    """Wilson's interval (1927) for as many matches as would have the variance of these pairs; ValueError for none."""
    if not pairs:
        raise ValueError("no pair of matches")
    mean = sum(pairs) / len(pairs)
    shares = _shares(pairs, _PRIOR_PAIRS)
    centre = sum(share * outcome for share, outcome in zip(shares, OUTCOMES, strict=True))
    variance = sum(share * (outcome - centre) ** 2 for share, outcome in zip(shares, OUTCOMES, strict=True))
    matches = len(pairs) * centre * (1 - centre) / variance
    middle = (mean + Z * Z / (2 * matches)) / (1 + Z * Z / matches)
    half = Z * sqrt(mean * (1 - mean) / matches + Z * Z / (4 * matches * matches)) / (1 + Z * Z / matches)
    return Score(mean, max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True, slots=True)
class Sprt:
    """Wald's sequential test (1945) of a rating difference elo0 against elo1, greater; errors of 5 % on either side."""

    elo0: float = 0.0
    elo1: float = 20.0
    error: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1 or not 0 < self.error < 0.5:
            raise ValueError("elo0 must be less than elo1, and the error lie between 0 and 0.5")

    def ratio(self, pairs: Sequence[float]) -> float:
        """The logarithm of the likelihood ratio, each at the distribution of its mean that fits the pairs best.

        Michel Van den Bergh, "The generalized sequential probability ratio test" (2020), as in fishtest.
        """
        if not pairs:
            return 0.0
        shares = _shares(pairs, _SPRT_PAIRS)
        score0, score1 = expected_score(self.elo0), expected_score(self.elo1)
        tilt0, tilt1 = _tilt(shares, score0), _tilt(shares, score1)
        return len(pairs) * sum(
            share * (log1p(tilt0 * (outcome - score0)) - log1p(tilt1 * (outcome - score1)))
            for share, outcome in zip(shares, OUTCOMES, strict=True)
        )

    def verdict(self, pairs: Sequence[float]) -> Literal["elo0", "elo1"] | None:
        """Which of the two is accepted; None while neither is."""
        ratio, bound = self.ratio(pairs), log((1 - self.error) / self.error)
        if abs(ratio) < bound:
            return None
        return "elo1" if ratio > 0 else "elo0"


def expected_score(elo: float) -> float:
    """Of a rating difference."""
    return float(1 / (1 + 10 ** (-elo / 400)))


def _shares(pairs: Sequence[float], prior: float) -> list[float]:
    """Of each outcome, with so many pairs of each added; ValueError for a score that no pair can have."""
    counts = Counter(pairs)
    if not counts.keys() <= set(OUTCOMES):
        raise ValueError(f"the score of a pair is one of {OUTCOMES}")
    total = len(pairs) + len(OUTCOMES) * prior
    return [(counts[outcome] + prior) / total for outcome in OUTCOMES]


def _tilt(shares: Sequence[float], mean: float) -> float:
    """The t at which shares divided by 1 + t (outcome - mean) have this mean: the likeliest that do."""
    low, high = -1 / (OUTCOMES[-1] - mean), 1 / (mean - OUTCOMES[0])
    for _ in range(_HALVINGS):
        tilt = (low + high) / 2
        excess = sum(
            share * (outcome - mean) / (1 + tilt * (outcome - mean))
            for share, outcome in zip(shares, OUTCOMES, strict=True)
        )
        low, high = (tilt, high) if excess > 0 else (low, tilt)
    return (low + high) / 2
