"""Entries → wins, draws, losses and mean goal values of whatever numbers them."""

from dataclasses import dataclass

import numpy as np

from gamemaster.tournament.ratings.entries import Entries, Flags, Ids
from gamemaster.tournament.standings.values import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """(E,) what each entry's match was to its player; none of the three where it is not decided."""

    won: Flags
    drawn: Flags
    lost: Flags


def outcomes_of(entries: Entries) -> Outcomes:
    """By comparing the own goal value with the others' highest."""
    own = entries.goal
    others = np.full(len(own), -np.inf)
    sizes = np.diff(entries.first)
    for size in np.unique(sizes[entries.is_rated]).tolist():
        starts = entries.first[:-1][entries.is_rated & (sizes == size)]
        for one in range(size):
            for other in range(size):
                if one != other:
                    others[starts + one] = np.maximum(others[starts + one], own[starts + other])
    decided = entries.is_rated[entries.match]
    return Outcomes(decided & (own > others), decided & (own == others), decided & (own < others))


def tallies_of(entries: Entries, outcomes: Outcomes, side: Ids, count: int, chosen: Flags) -> tuple[Tally, ...]:
    """A tally for each number below `count`; `side` numbers the entries, of which only those chosen are taken."""
    goals = chosen & ~np.isnan(entries.goal)
    counted = [
        np.bincount(side[flags], minlength=count).tolist()
        for flags in (chosen, chosen & outcomes.won, chosen & outcomes.drawn, chosen & outcomes.lost, goals)
    ]
    sums = np.bincount(side[goals], entries.goal[goals], count)
    return tuple(
        Tally(matches, wins, draws, losses, total / number if number else None)
        for matches, wins, draws, losses, number, total in zip(*counted, sums.tolist(), strict=True)
    )
