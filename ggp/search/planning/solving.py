"""A program in aspif → an answer set, by clasp in a process of its own that can be paused, bounded and killed."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Thread

from ggp.grounding.gringo import clingo_library

# As in ggp.grounding.gringo: without clingo's Python package, ended with its parent, and bounded in memory.
_CHILD = """
import ctypes, os, resource, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[3]):
    sys.exit(1)
bytes = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
arguments = [b"clingo", b"--mode=clasp", b"--warn=none", b"--verbose=1", *map(os.fsencode, sys.argv[4:]), b"-"]
sys.exit(ctypes.CDLL(sys.argv[1]).clingo_main_(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)))
"""


class Solver:
    """One run of clasp; what it found is known once it is done."""

    def __init__(self, program: bytes, memory_bytes: int, options: tuple[str, ...] = ()) -> None:
        command = (
            sys.executable, "-I", "-S", "-c", _CHILD, clingo_library(), str(memory_bytes), str(os.getpid()), *options
        )  # fmt: skip
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603 - all of it is ours
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self._output = b""
        self._reader = Thread(target=self._exchange, args=(program,), daemon=True)
        self._reader.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is done after so long at most."""
        self._reader.join(seconds)
        return not self._reader.is_alive()

    @property
    def answer(self) -> bytes | None:
        """The names of an answer set; None when there is none, or none was found."""
        lines = self._output.split(b"\n")
        for at, line in enumerate(lines):
            if line.startswith(b"Answer:") and at + 1 < len(lines):
                return lines[at + 1]
        return None

    @property
    def is_refuted(self) -> bool:
        """Whether it is proven that there is no answer set."""
        return b"\nUNSATISFIABLE" in self._output

    def pause(self) -> None:
        """Let the process stand still."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def close(self) -> None:
        """Kill the process if it still runs."""
        self._process.kill()
        self._reader.join()

    def _send(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    def _exchange(self, program: bytes) -> None:
        with self._process as process, suppress(BrokenPipeError):
            self._output = process.communicate(program)[0]
