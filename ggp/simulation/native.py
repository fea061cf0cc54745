"""Steps → machine code of this game alone: made in a thread of its own, kept on disk, used as soon as it is there."""

import hashlib
import logging
from collections.abc import Callable
from threading import Thread

import numpy as np

from ggp.cache import Cache, Entry
from ggp.circuit.schedule import Program
from ggp.kernel import MachineCode, compile_object, load_object, machine_name, vector_bits
from ggp.simulation.steps import Steps
from ggp.simulation.straightline import declarations, write_function

KIND = "native"
MOST_GATES = 100_000  # of all programs of a game; above, LLVM takes longer than it saves
_OBJECT = "object"

_log = logging.getLogger(__name__)


def functions(steps: Steps) -> dict[str, Program]:
    """The programs by the names of their functions: step_<phase>, and goals where they are late."""
    found = {f"step_{phase}": program for phase, program in enumerate(steps.phases)}
    if steps.late_goals is not None:
        found["goals"] = steps.late_goals
    return found


def is_worthwhile(steps: Steps) -> bool:
    """Whether the game is small enough to be compiled."""
    return sum(len(program.left) for program in functions(steps).values()) <= MOST_GATES


def compile_steps(steps: Steps, cache: Cache) -> MachineCode:
    """The machine code, from the cache where it is; else it takes about 0.2 ms a gate."""
    named = functions(steps)
    key = _key(steps, named)
    found = cache.get(KIND, key)
    if found is not None:
        return load_object(found.arrays[_OBJECT].tobytes(), tuple(named))
    bits = vector_bits()
    texts = [write_function(name, program, steps.layout.facts, bits) for name, program in named.items()]
    data = compile_object(declarations(bits) + "\n".join(texts))
    cache.put(KIND, key, Entry({_OBJECT: np.frombuffer(data, np.uint8)}))
    return load_object(data, tuple(named))


def compile_beside(steps: Steps, cache: Cache, use: Callable[[MachineCode], None]) -> Thread:
    """Compile in a thread of its own, then hand over the code; trouble with LLVM is logged and changes nothing."""

    def work() -> None:
        try:
            use(compile_steps(steps, cache))
        except RuntimeError as error:  # what llvmlite raises
            _log.warning("no machine code for this game, the circuit is interpreted: %s", error)

    thread = Thread(target=work, name="machine code")  # no daemon: LLVM does not survive the end of the process
    thread.start()
    return thread


def _key(steps: Steps, named: dict[str, Program]) -> str:
    """A hash of the programs, where their rows are, and the machine."""
    digest = hashlib.sha256(f"{machine_name()} {steps.layout} {sorted(named)}".encode())
    for name in sorted(named):
        program = named[name]
        for array in (program.left, program.right, program.out, program.segments, program.feedback, program.outputs):
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
    return digest.hexdigest()
