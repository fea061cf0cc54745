"""Work that may have no end → work that stops: rules of strangers are evaluated here, and nobody waits for them.

It runs in a thread of its own. When its time is up the thread is told to end, which it does at its next step in Python
(PyThreadState_SetAsyncExc); what it had open is lost, so it works on things that nobody else uses. What counts is the
processor's time where it can be read, so that a busy computer makes no difference to what is found.
"""

import ctypes
import sys
import time
import weakref
from collections.abc import Callable
from threading import Thread, get_ident
from types import CodeType, FrameType

_LOOK = 0.05  # seconds between two looks at the time, and between two attempts to end the work
_GRACE = 2.0  # seconds to end in
_PATIENCE = 2  # times as many seconds may go by as may be used


class _TooLongError(BaseException):
    """Ends the work; no handler of ordinary exceptions stops it."""


def run_bounded(work: Callable[[], None], seconds: float) -> bool:
    """Whether the work was done in time. An exception of the work itself is raised here."""
    failures: list[BaseException] = []
    clocks: list[int] = []

    def run() -> None:
        try:
            if hasattr(time, "pthread_getcpuclockid"):
                clocks.append(time.pthread_getcpuclockid(get_ident()))
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            failures.append(error)

    thread = Thread(target=run, name="bounded work", daemon=True)
    thread.start()
    _wait(thread, clocks, seconds)
    if thread.is_alive():
        _end(thread, run.__code__)
        return False
    for error in failures:
        if isinstance(error, _TooLongError):
            return False
        raise error
    return True


def _wait(thread: Thread, clocks: list[int], seconds: float) -> None:
    """Until the work is done, or has used its time."""
    began = time.monotonic()
    while thread.is_alive():
        passed = used = time.monotonic() - began
        if clocks and passed < _PATIENCE * seconds:
            try:
                used = time.clock_gettime(clocks[0])
            except OSError:
                return  # the thread has just ended
        if used >= seconds:
            return
        thread.join(min(seconds - used, _LOOK))


def _end(thread: Thread, body: CodeType) -> None:
    """Tells the thread to end, until it does."""
    until = time.monotonic() + _GRACE
    assert thread.ident is not None
    while thread.is_alive() and time.monotonic() < until:
        if _can_hear(sys._current_frames().get(thread.ident), body):  # it stands still there as long as this runs
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_TooLongError))
            thread.join(_LOOK)
        else:
            thread.join(_LOOK / 50)


def _can_hear(frame: FrameType | None, body: CodeType) -> bool:
    """Whether what is raised in this innermost frame ends the work: not while nothing is done any more in the body of
    the thread, nor where Python ignores exceptions, such as in callbacks of weak references.
    """
    if frame is None or frame.f_code is body:
        return False
    while frame is not None and frame.f_code is not body:
        if frame.f_code.co_filename == weakref.__file__ or frame.f_code.co_name == "__del__":
            return False
        frame = frame.f_back
    return frame is not None
