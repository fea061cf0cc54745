"""Reports of several searches of the same state → one of their sums, as if one tree had it all at the root."""

from collections.abc import Sequence
from typing import TypeAlias

from ggp.search.mcts.result import MoveReport, Prospect

Part: TypeAlias = tuple[Sequence[MoveReport], Sequence[Prospect]]  # of one tree; none where they are unknown


def merge(parts: Sequence[Part]) -> tuple[list[MoveReport], list[Prospect]]:
    """The moves in the order of the first part, visits summed and values weighted by them.

    Bounds are the tightest of any tree; what follows a move is as the first tree says that proves it.
    """
    found: list[MoveReport] = []
    merged: list[Prospect] = []
    for report in parts[0][0]:
        same = [
            (one, prospects[at] if prospects else Prospect())
            for reports, prospects in parts
            for at, one in enumerate(reports)
            if one.move == report.move
        ]
        found.append(_sum([one for one, _ in same]))
        merged.append(next((prospect for one, prospect in same if one.lower == one.upper), Prospect()))
    return found, merged


def _sum(reports: Sequence[MoveReport]) -> MoveReport:
    """Reports of one move; the value lies within the bounds."""
    visits = sum(report.visits for report in reports)
    lower, upper = max(report.lower for report in reports), min(report.upper for report in reports)
    value = lower if lower == upper else None
    if visits:
        mean = sum(report.visits * report.value for report in reports if report.value is not None) / visits
        value = min(max(mean, lower), upper)
    return MoveReport(reports[0].move, visits, value, lower, upper)
