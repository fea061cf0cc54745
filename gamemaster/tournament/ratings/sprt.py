"""Matches in pairs with the roles exchanged → whether one player is better than the other, as soon as that is clear."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.ratings.entries import Comparisons, comparisons_of, entries_of
from ggp.elo import Estimate, Pairs, bounds, elo_estimate, log_likelihood_ratio
from ggp.errors import SettingsError

Decision = Literal["H0", "H1", "open"]

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


def pair_outcomes(comparisons: Comparisons) -> Pairs:
    """The outcomes of all whole pairs, seen from the player with the lower number."""
    groups, group, sizes = np.unique(comparisons.group, return_inverse=True, return_counts=True)
    points = np.bincount(group, comparisons.outcome, len(groups))
    roles = np.bincount(group, comparisons.first_role - comparisons.second_role, len(groups))
    whole = points[(sizes == 2) & (roles == 0)]
    counts = np.bincount(np.rint(whole * 2).astype(np.intp), minlength=5).tolist()
    return counts[0], counts[1], counts[2], counts[3], counts[4]
