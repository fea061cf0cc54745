"""Work that may have no end → work that stops: rules of strangers are evaluated here, and nobody waits for them.

It runs in a thread of its own. When its time is up the thread is told to end, which it does at its next step in Python
(PyThreadState_SetAsyncExc); what it had open is lost, so it works on things that nobody else uses.
"""

import ctypes
from collections.abc import Callable
from threading import Thread

_GRACE = 0.5  # seconds to end in


class _TooLongError(BaseException):
    """Ends the work; no handler of ordinary exceptions stops it."""


def run_bounded(work: Callable[[], None], seconds: float) -> bool:
    """Whether the work was done in time. An exception of the work itself is raised here."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            failures.append(error)

    thread = Thread(target=run, name="bounded work", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        assert thread.ident is not None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_TooLongError))
        thread.join(_GRACE)
        return False
    for error in failures:
        if isinstance(error, _TooLongError):
            return False
        raise error
    return True
