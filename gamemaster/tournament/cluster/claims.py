"""The processors of a node: each match on it gets some that no other match there has."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gamemaster.tournament.workshop import usable_processors


@contextmanager
def claimed(count: int, folder: Path | None = None) -> Iterator[Sequence[int] | None]:
    """So many processors for this process alone; None where fewer are free, or the system cannot tell.

    Ray counts processors but has no numbers for them. A claim is the lock on a byte of a file, which the system gives
    back however the process ends.
    """
    file = _open(folder or Path(tempfile.gettempdir()))
    try:
        numbers = _lock(file, count)
        yield numbers if len(numbers) == count else None
    finally:
        if file is not None:
            os.close(file)


def _open(folder: Path) -> int | None:
    """A file that only this user can open; None where that is not to be had."""
    if not hasattr(os, "getuid"):
        return None
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(folder / f"ggp-processors-{os.getuid()}", flags, 0o600)
    except OSError:
        return None


def _lock(file: int | None, count: int) -> Sequence[int]:
    if file is None:
        return ()
    import fcntl  # noqa: PLC0415 - there is none where there are no users

    taken: list[int] = []
    for number in usable_processors():
        if len(taken) == count:
            break
        with suppress(OSError):  # another process has it
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            taken.append(number)
    return taken
