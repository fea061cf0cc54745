"""Goal values of one player → their mean with an interval: the measure in games for one role."""

import math
from collections.abc import Sequence

from gamemaster.tournament.ratings.estimates import CONFIDENCE, Estimate, student_quantile

LOWEST, HIGHEST = 0.0, 100.0


def mean_goal(goals: Sequence[float]) -> Estimate | None:
    """The mean and the 95 % interval of what it estimates; None when there are no goal values.

    The interval is Student's with one more goal value of 0 and one of 100, as Agresti & Caffo (2000), Simple and
    effective confidence intervals for proportions, The American Statistician 54, do for wins and losses: without these,
    a few equal goal values would seem to leave no doubt.
    """
    count = len(goals)
    if count == 0:
        return None
    mean = math.fsum(goals) / count
    widened = (*goals, LOWEST, HIGHEST)
    centre = math.fsum(widened) / len(widened)
    variance = math.fsum((goal - centre) ** 2 for goal in widened) / (count + 1)
    margin = student_quantile(1 - CONFIDENCE, count + 1) * math.sqrt(variance / len(widened))
    return Estimate(mean, max(LOWEST, min(mean, centre - margin)), min(HIGHEST, max(mean, centre + margin)))
