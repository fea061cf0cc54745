"""Results → arrays: an entry for each player of each match, and comparisons between the players of a match."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gamemaster.tournament.pairings import MatchResult, Pairing
from ggp.elo import CONFIDENCE, Estimate

Ids: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

_NUMBERED = re.compile(r"r[0-9]+-[^-]+-([0-9]{1,12})-")


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """M matches in the order of the schedule, whatever order their results came in; E entries.

    Names are numbered in the order in which they stand in `players`, `games` and `roles`.
    """

    players: tuple[str, ...]
    games: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]  # game and role, in the order of the games and the rulesheets
    matches: tuple[MatchResult, ...]
    game: Ids  # (M,)
    group: Ids  # (M,) a number for matches that count together
    first: Ids  # (M + 1,) the entries of match m are first[m]:first[m + 1], in the order of its roles
    match: Ids  # (E,)
    player: Ids  # (E,)
    role: Ids  # (E,)
    goal: Floats  # (E,) goal values from 0 to 100; NaN where the rules gave none
    is_rated: Flags  # (M,) two players or more, all different, and all goal values are there


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """N comparisons of two players of one match; the first one has the lower number."""

    players: tuple[str, ...]
    match: Ids  # (N,)
    game: Ids  # (N,)
    group: Ids  # (N,)
    first: Ids  # (N,)
    second: Ids  # (N,)
    first_role: Ids  # (N,) as `Entries.roles` numbers them
    second_role: Ids  # (N,)
    outcome: Floats  # (N,) 1: the first has the higher goal value, 0: the second has, ½: both have the same
    share: Floats  # (N,) the first one's share of the two goal values; ½ where both are 0
    weight: Floats  # (N,) 1 / (k - 1) in a match of k players, so that each of them counts once

    def where(self, chosen: Flags) -> Self:
        """Some of them."""
        arrays = (getattr(self, name)[chosen] for name in self.__slots__ if name != "players")
        return type(self)(self.players, *arrays)

    def of_compared(self) -> Self:
        """The same without players that were never compared, numbered anew in the same order."""
        numbers, renumbered = np.unique(np.concatenate((self.first, self.second)), return_inverse=True)
        first, second = np.split(renumbered, 2)
        return replace(self, players=tuple(self.players[number] for number in numbers), first=first, second=second)


def entries_of(players: Sequence[str], results: Collection[MatchResult]) -> Entries:
    """All results as arrays; who is not among the players comes after them in the order of the alphabet."""
    matches = tuple(sorted(results, key=lambda result: _place(result.pairing)))
    strangers = {name for result in matches for name in result.pairing.players}.difference(players)
    everyone = (*dict.fromkeys(players), *sorted(strangers))
    numbers = {name: number for number, name in enumerate(everyone)}
    games = {name: number for number, name in enumerate(sorted({result.pairing.game for result in matches}))}
    named = dict.fromkeys((result.pairing.game, role) for result in matches for role in result.roles)
    roles = tuple(sorted(named, key=lambda role: games[role[0]]))
    role_numbers = {role: number for number, role in enumerate(roles)}
    groups: dict[tuple[str, str], int] = {}
    sizes = np.fromiter((len(result.roles) for result in matches), np.intp, len(matches))
    goals = [np.nan if goal is None else goal for result in matches for goal in result.goals]
    rated = [
        None not in result.goals and 2 <= len(result.goals) == len(set(result.pairing.players)) for result in matches
    ]
    return Entries(
        players=everyone,
        games=tuple(games),
        roles=roles,
        matches=matches,
        game=_ids([games[result.pairing.game] for result in matches]),
        group=_ids([groups.setdefault(_group(result), len(groups)) for result in matches]),
        first=np.concatenate(([0], np.cumsum(sizes))).astype(np.intp),
        match=np.repeat(np.arange(len(matches)), sizes),
        player=_ids([numbers[name] for result in matches for name in result.pairing.players]),
        role=_ids([role_numbers[result.pairing.game, role] for result in matches for role in result.roles]),
        goal=np.array(goals, dtype=np.float64),
        is_rated=np.array(rated, dtype=np.bool_),
    )


def comparisons_of(entries: Entries) -> Comparisons:
    """Every two players of every match that is rated."""
    sizes = np.diff(entries.first)
    ones, others = [_ids([])], [_ids([])]
    for size in np.unique(sizes[entries.is_rated]).tolist():
        starts = entries.first[:-1][entries.is_rated & (sizes == size)]
        for former, latter in combinations(range(size), 2):
            ones.append(starts + former)
            others.append(starts + latter)
    one, other = np.concatenate(ones), np.concatenate(others)
    order = np.argsort(one, kind="stable")  # which is also by match
    one, other = one[order], other[order]
    swapped = entries.player[one] > entries.player[other]
    one, other = np.where(swapped, other, one), np.where(swapped, one, other)
    own, goals = entries.goal[one], entries.goal[one] + entries.goal[other]
    match = entries.match[one]
    return Comparisons(
        players=entries.players,
        match=match,
        game=entries.game[match],
        group=entries.group[match],
        first=entries.player[one],
        second=entries.player[other],
        first_role=entries.role[one],
        second_role=entries.role[other],
        outcome=(np.sign(own - entries.goal[other]) + 1) / 2,
        share=np.divide(own, goals, out=np.full(len(own), 0.5), where=goals > 0),
        weight=1 / np.maximum(sizes[match] - 1, 1),
    )


def _place(pairing: Pairing) -> tuple[int, int, str]:
    """Round, number in it where the name of the match tells it, name."""
    numbered = _NUMBERED.match(pairing.id)
    return pairing.round, int(numbered[1]) if numbered else 0, pairing.id


def _group(result: MatchResult) -> tuple[str, str]:
    """A match without a group is one of its own."""
    pairing = result.pairing
    return ("group", pairing.group) if pairing.group else ("match", pairing.id)


def _ids(numbers: Sequence[int]) -> Ids:
    return np.array(numbers, dtype=np.intp)


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
