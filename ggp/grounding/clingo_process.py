"""The process in which clingo runs: it loads clingo once and forks for each run. See `ggp.grounding.clingo`.

Started by its path, `clingo_process.py CHANNEL PARENT PATHS`, because importing its package would load numba. A request
is one message on the channel: the bytes of memory and the whole seconds of processor time (0: any) that the run may use
and clingo's arguments, separated by NUL, along with the files that become its standard input, output and error. The
answer is the exit code of the run and its seconds of processor time as text.
"""

import ctypes
import os
import socket
import sys
from collections.abc import Callable


def serve(channel: socket.socket) -> None:
    """Answers requests until the other end is closed; runs take place one after the other."""
    main = find_main(sys.path)
    while True:
        request, files, _, _ = socket.recv_fds(channel, 1 << 12, 3)
        if not request:
            return
        run = os.fork()
        if run == 0:
            channel.close()
            memory_bytes, seconds, *arguments = request.decode().split("\0")
            _confine(int(memory_bytes), int(seconds), files)
            sys.exit(main(arguments))
        for file in files:
            os.close(file)
        _, status, used = os.wait4(run, 0)
        channel.send(b"%d %f" % (os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))


def find_main(paths: list[str]) -> Callable[[list[str]], int]:
    """clingo's main function: arguments → exit code.

    The C API (`clingo.h`) of the library in the package clingo loads in half the time of the Python API, which is used
    where that library has another name.
    """
    for folder in (f"{path}/clingo" for path in paths):
        if os.path.isdir(folder):  # noqa: PTH112 - here and below: pathlib takes longer to load than the library
            for name in sorted(os.listdir(folder)):  # noqa: PTH208
                if name.startswith("_clingo."):
                    library = ctypes.CDLL(f"{folder}/{name}")
                    if hasattr(library, "clingo_main"):
                        return _Main(library)
    from clingo.application import Application, clingo_main  # noqa: PLC0415

    class Plain(Application):
        """clingo as it comes."""

    return lambda arguments: clingo_main(Plain(), arguments)


class _Main:
    """`clingo_main` of the C API."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._main = library.clingo_main

    def __call__(self, arguments: list[str]) -> int:
        application = (ctypes.c_void_p * 8)()  # a clingo_application_t without any function of ours
        given = (ctypes.c_char_p * len(arguments))(*map(os.fsencode, arguments))
        return int(self._main(application, given, ctypes.c_size_t(len(arguments)), None))


def _confine(memory_bytes: int, seconds: int, files: list[int]) -> None:
    """Bounds memory and processor time of this process, gives it its files, and lets it end when nobody reads them."""
    import resource  # noqa: PLC0415 - there is none on Windows
    import signal  # noqa: PLC0415

    _end_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)


def _end_with_parent() -> None:
    """Lets the system kill this process when its parent ends, where the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


if __name__ == "__main__":
    _end_with_parent()
    if os.getppid() != int(sys.argv[2]):
        sys.exit(1)
    sys.path[:] = sys.argv[3].split(os.pathsep)
    serve(socket.socket(fileno=int(sys.argv[1])))
