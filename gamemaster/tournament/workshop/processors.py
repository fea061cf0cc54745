"""The processors of this computer: which there are, and which are taken."""

import os
from collections.abc import Iterable
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container, in Linux: microseconds in a period, or `max`, and the period


def usable_processors(quota: Path = QUOTA) -> tuple[int, ...]:
    """The numbers of those that this process may use, as many as its container may keep busy; at least one."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    most = _quota(quota)
    return tuple(sorted(allowed)[: max(1, int(most)) if most else None])


class Processors:
    """Processors, each of them free or taken."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._free = sorted(numbers)
        self.total = len(self._free)

    @property
    def free(self) -> int:
        return len(self._free)

    def take(self, count: int) -> tuple[int, ...] | None:
        """So many of them, those of the lowest numbers; None when fewer are free."""
        if count > len(self._free):
            return None
        taken, self._free = self._free[:count], self._free[count:]
        return tuple(taken)

    def give_back(self, taken: Iterable[int]) -> None:
        self._free = sorted([*self._free, *taken])


def _quota(path: Path) -> float:
    """How many processors a container may keep busy; 0 where nothing is said."""
    try:
        most, period = path.read_text(encoding="ascii").split()
        return int(most) / int(period)
    except (OSError, ValueError):
        return 0.0
