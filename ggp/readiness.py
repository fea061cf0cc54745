"""Whether the kernels are on disk. Numba compiles a kernel when it is first called: half a minute on a cold machine."""

import subprocess
import sys

from ggp.cache import kernel_folder

_MARK = "warm"


def is_warm() -> bool:
    """Whether all kernels of these sources were compiled before."""
    return (kernel_folder() / _MARK).exists()


def mark_warm() -> None:
    (kernel_folder() / _MARK).touch()


def warm_beside() -> None:
    """Compile all kernels in a process of its own, which nobody waits for."""
    silent = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-m", "ggp.warming"], stdin=silent, stdout=silent, stderr=silent, start_new_session=True
    )
