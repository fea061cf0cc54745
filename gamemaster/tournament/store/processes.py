"""Which process this is, and whether another one still lives, as far as that can be told from here."""

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process of some computer."""

    host: str  # for people
    machine: str  # equal for two processes if and only if they see each other by their ids
    pid: int
    start: str  # tells it from a later process with the same id; empty where the system does not say


def this_process() -> Process:
    host = socket.gethostname()
    return Process(host, _machine(host), os.getpid(), _start(os.getpid()) or "")


def is_alive(process: Process) -> bool | None:
    """None where it cannot be told: the process is of another computer, or this system has no way to ask."""
    if process.machine != _machine(socket.gethostname()) or sys.platform == "win32":
        return None
    start = _start(process.pid)
    if start is not None:
        return start == process.start
    if _has_proc():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _machine(host: str) -> str:
    """One start of a kernel and one name space of process ids, as containers have their own; else the host's name."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(PROC / 'self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return host


def _has_proc() -> bool:
    return _start(os.getpid()) is not None


def _start(pid: int) -> str | None:
    """When a process began, in ticks since the computer did; None where there is none, or it is dead and not buried."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in ("Z", "X") else fields[18]
