"""Signals end the program at once, whatever it is doing, and without a traceback.

A KeyboardInterrupt does not: it is raised wherever the program happens to be. Python ignores it in callbacks from C, as
numba's, by which kernels are loaded, so that the program goes on; a kernel whose callback was ignored has no code, and
crashes the process when it is called. Coroutines have `loop.add_signal_handler`, which replaces what is set here.
"""

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

KILLED = 128  # plus the number of a signal is the exit code after it
EXIT_INTERRUPTED = KILLED + signal.SIGINT

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE_SECONDS = 1.0  # for a call that does not come back to Python, such as LLVM's
_SHOW_CURSOR = "\x1b[?25h"  # what draws on a terminal hides it


def end_on_signals() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP end this process with exit code 128 + number; for the main thread."""
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as for what a shell runs in the background, or `nohup`
            signal.signal(number, _end)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    from threading import Thread  # noqa: PLC0415 - the signals come first

    Thread(target=_watch, args=(reading,), name="signals", daemon=True).start()


@contextmanager
def noted() -> Iterator[list[int]]:
    """A list that gets SIGINT while this lasts; nothing else happens."""
    signals: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def interrupting() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt while this lasts: for what runs no kernels and has something to put right."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def leave(code: object) -> None:
    """Ends the process now if the exit code is that of a signal: threads and what is half done are not waited for."""
    if isinstance(code, int) and code > KILLED:
        atexit._run_exitfuncs()
        _end(code - KILLED)


def _end(number: int, _: FrameType | None = None) -> None:
    with suppress(Exception):
        if sys.stderr.isatty():
            sys.stderr.write(_SHOW_CURSOR)
            sys.stderr.flush()
        sys.stdout.flush()
    os._exit(KILLED + number)


def _watch(reading: int) -> None:
    """Ends the process when the main thread does not come to it."""
    from threading import Event  # noqa: PLC0415 - as above

    while numbers := os.read(reading, 1):
        is_ours = signal.getsignal(numbers[0]) is _end
        Event().wait(_GRACE_SECONDS)
        if is_ours and signal.getsignal(numbers[0]) is _end:
            os._exit(KILLED + numbers[0])
