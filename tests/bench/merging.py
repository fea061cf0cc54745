"""Reports of several searches of the same state → one of their sums, as if one tree had it all at the root."""

from collections.abc import Sequence
from typing import TypeAlias

from ggp.search.mcts.result import MoveReport

Part: TypeAlias = tuple[Sequence[MoveReport], Sequence[int]]  # of one tree; how far from the end, none where unknown


def merge(parts: Sequence[Part]) -> tuple[list[MoveReport], list[int]]:
    """The moves in the order of the first part, visits summed and values weighted by them.

    Bounds are the tightest of any tree; the distance from the end is that of the first tree that proves the move.
    """
    found: list[MoveReport] = []
    lengths: list[int] = []
    for report in parts[0][0]:
        same = [
            (one, distances[at] if distances else 0)
            for reports, distances in parts
            for at, one in enumerate(reports)
            if one.move == report.move
        ]
        found.append(_sum([one for one, _ in same]))
        lengths.append(next((length for one, length in same if one.lower == one.upper), 0))
    return found, lengths


def _sum(reports: Sequence[MoveReport]) -> MoveReport:
    """Reports of one move; the value lies within the bounds."""
    visits = sum(report.visits for report in reports)
    lower, upper = max(report.lower for report in reports), min(report.upper for report in reports)
    value = lower if lower == upper else None
    if visits:
        mean = sum(report.visits * report.value for report in reports if report.value is not None) / visits
        value = min(max(mean, lower), upper)
    return MoveReport(reports[0].move, visits, value, lower, upper)
