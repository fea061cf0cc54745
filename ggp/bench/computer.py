"""The computer that this runs on: its processor, its vectors, what a process takes of its memory."""

import os
import platform
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from ggp.kernel import vector_bits


@dataclass(frozen=True, slots=True)
class Computer:
    """Where it was measured."""

    processor: str
    cores: int  # that this process may use
    vector_bits: int


def peak_memory_bytes() -> int:
    """The most that this process has had in memory."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        for line in status.splitlines():
            if line.startswith("VmHWM:"):  # as ru_maxrss, but without what the process had that started this one
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def find_computer() -> Computer:
    """The computer that this runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Computer(_processor(), cores, vector_bits())


def _processor() -> str:
    """Its name as the system knows it."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        for line in about.splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
