"""The text of an answer set program → what gringo makes of it, in a process of its own that can be bounded."""

import importlib.util
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Timer

from ggp.errors import GroundingError

_CHUNK_BYTES = 1 << 20
_FAILURES = {33: "memory"}  # exit codes of clingo

# The library is called without its Python package, which takes three times as long to start. The process ends when the
# one that started it does, and bounds its own memory.
_CHILD = """
import ctypes, os, resource, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[3]):
    sys.exit(1)
bytes = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
arguments = [b"clingo", b"--mode=gringo", b"--output=intermediate", b"--warn=none", b"-"]
sys.exit(ctypes.CDLL(sys.argv[1]).clingo_main_(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)))
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """What grounding may take."""

    seconds: float = 60.0
    memory: int = 4 << 30  # bytes of the process that grounds
    rules: int = 5_000_000
    output: int = 1 << 30  # bytes


class OverBudgetError(GroundingError):
    """Grounding was stopped; `resource` is the word for what ran out."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"grounding ran out of {resource}")
        self.resource = resource


def run_gringo(program: bytes, budget: Budget) -> bytes:
    """Its output in aspif; OverBudgetError when it takes too much."""
    command = (sys.executable, "-I", "-S", "-c", _CHILD, clingo_library(), str(budget.memory), str(os.getpid()))
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603 - all of it is ours
    timer = Timer(budget.seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        output, resource = _exchange(process, program, budget)
        process.kill() if resource else process.wait()
        late = not timer.is_alive()
    finally:
        timer.cancel()
        process.kill()
        with process:
            message = process.stderr.read() if process.stderr else b""
    if resource or late or process.returncode in _FAILURES:
        raise OverBudgetError(resource or ("time" if late else _FAILURES[process.returncode]))
    if process.returncode != 0:
        raise GroundingError(f"gringo failed ({process.returncode}): {message.decode(errors='replace').strip()}")
    return output


def _exchange(process: subprocess.Popen[bytes], program: bytes, budget: Budget) -> tuple[bytes, str]:
    """Writes the program and reads the output; and what ran out meanwhile, if anything did."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended; its exit code says why
        try:
            process.stdin.write(program)
        finally:
            process.stdin.close()
    chunks: list[bytes] = []
    size = 0
    rules = 0
    while chunk := process.stdout.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]
        chunks.append(chunk)
        size += len(chunk)
        rules += chunk.count(b"\n")
        if size > budget.output:
            return b"", "room for its output"
        if rules > budget.rules:
            return b"", "rules"
    return b"".join(chunks), ""


@cache
def clingo_library() -> str:
    """The shared library inside of the package clingo."""
    spec = importlib.util.find_spec("clingo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("_clingo*")):
            return str(path)
    raise GroundingError("clingo is not installed")
