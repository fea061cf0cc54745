"""Numbers with their uncertainty: likelihoods, the mean of goal values with its 95 % interval."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from ggp.elo import CONFIDENCE, Estimate

_STANDARD_NORMAL = NormalDist()


def likelihood_above(value: float, variance: float) -> float:
    """How likely a normal variable is above 0; a half where it is 0 without error."""
    if variance <= 0:
        return 0.5 if value == 0 else float(value > 0)
    return _STANDARD_NORMAL.cdf(value / math.sqrt(variance))


def student_quantile(tails: float, degrees: int) -> float:
    """What Student's t exceeds in absolute value with the probability `tails`, to four digits.

    G. W. Hill (1970), Algorithm 396: Student's t-quantiles, Communications of the ACM 13.
    """
    if degrees == 1:
        return 1 / math.tan(tails * math.pi / 2)
    if degrees == 2:
        return math.sqrt(2 / (tails * (2 - tails)) - 2)
    n = float(degrees)
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * tails) ** (2 / n)
    if y <= 0.05 + a:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (
            n + 2
        ) + 1 / y
        return math.sqrt(n * y)
    x = _STANDARD_NORMAL.inv_cdf(tails / 2)
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.sqrt(n * math.expm1(a * y * y))


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
