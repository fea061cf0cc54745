"""A process that evaluates rules for the service, which can bound its memory and end it at any moment.

Run as `python -m gamemaster.web.worker MEMORY NICENESS`. Requests come on standard input and answers go to standard
output, one after the other, each as JSON after its length in 4 bytes, big-endian. It ends when its input does.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Mapping
from typing import IO, Any

from gamemaster.web.tasks import Desk
from ggp.errors import GgpError

LENGTH = struct.Struct(">I")  # of what follows, in bytes


def main() -> None:
    """Answers until there are no more requests."""
    _bound(int(sys.argv[1]), int(sys.argv[2]))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not stand between the answers
    desk = Desk()
    while (request := _read(sys.stdin.buffer)) is not None:
        _write(output, _answer(desk, request, output))


def _bound(memory_bytes: int, niceness: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with the service, also in the middle of something
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends us in order


def _answer(desk: Desk, request: Mapping[str, Any], output: IO[bytes]) -> dict[str, Any]:
    try:
        return {"done": desk.do(request, lambda report: _write(output, {"report": report}))}
    except GgpError as error:
        return {"error": type(error).__name__, "detail": str(error)}
    except (RecursionError, MemoryError) as error:
        detail = f"the rules need too much: {type(error).__name__}"
        return {"error": "EvaluationError", "detail": detail, "is_worn": True}  # what is left may be too little


def _read(stream: IO[bytes]) -> Any:  # noqa: ANN401 - any JSON
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return json.loads(stream.read(LENGTH.unpack(head)[0]))


def _write(stream: IO[bytes], value: object) -> None:
    data = json.dumps(value, separators=(",", ":")).encode()
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


if __name__ == "__main__":
    main()
