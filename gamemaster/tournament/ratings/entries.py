"""Results → arrays: an entry for each player of each match, and comparisons between the players of a match."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gamemaster.tournament.results import MatchResult, Pairing

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
