"""Whether the kernels are on disk. Numba compiles a kernel when it is first called: half a minute on a cold machine."""

import subprocess
import sys
import time

from ggp.cache import kernel_folder

_MARK = "warm"
_BEGUN = "begun"
_LONGEST = 300.0  # seconds for which a process that compiles them is believed to be at work


def is_warm() -> bool:
    """Whether all kernels of these sources were compiled before."""
    return (kernel_folder() / _MARK).exists()


def mark_warm() -> None:
    (kernel_folder() / _MARK).touch()


def warm_beside() -> None:
    """Compile all kernels in a process of its own, which nobody waits for; nothing where one is at it."""
    begun = kernel_folder() / _BEGUN
    try:
        begun.open("x").close()
    except FileExistsError:
        if time.time() - begun.stat().st_mtime < _LONGEST:
            return
        begun.touch()
    except OSError:
        return
    subprocess.run(["/bin/sh", "-c", '"$0" -m ggp.warming >/dev/null 2>&1 </dev/null &', sys.executable], check=False)
