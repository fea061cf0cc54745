"""The processes that descend from one, and the sockets that they have: what the system says."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

PATIENCE = 20.0  # seconds for anything at all


def descendants(pid: int) -> set[int]:
    """Those that live; zombies do not."""
    found: set[int] = set()
    with suppress(OSError):  # it has ended meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                found |= ({child} if is_alive(child) else set()) | descendants(child)
    return found


def is_alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def with_tcp(processes: Iterable[int]) -> set[int]:
    """Those of the processes that have a TCP socket, in whatever state."""
    tables = [Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:] for name in ("tcp", "tcp6")]
    sockets = {f"socket:[{line.split()[9]}]" for table in tables for line in table}
    return {pid for pid in processes if sockets & _files(pid)}


def _files(pid: int) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(str(file.readlink()))
    return found


async def until(condition: Callable[[], bool]) -> None:
    """Looks again and again, as nobody tells."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
