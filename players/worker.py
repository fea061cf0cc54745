"""One thread for one match: jobs one after the other.

Not `asyncio.to_thread`: those threads cannot be interrupted, and they would be waited for when the service stops. This
one is interrupted, because a single call of a state machine in Python may last longer than any match; and it is a
daemon, so that not even a call outside of Python can keep a process alive.
"""

import asyncio
import ctypes
import logging
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]

log = logging.getLogger(__name__)


class _Stopped(BaseException):
    """Raised wherever a job just is; no `except Exception` of rules or searches keeps it."""


class Worker:
    """Runs jobs in the order given, in a thread of its own."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._last: Job | None = None
        self._lock = Lock()  # held while a job becomes one that may be interrupted, or no longer is
        self._is_running = False
        self._is_stopped = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job, then: Job) -> None:
        """`then` is called in the event loop when the job is over, however it ended."""
        self._jobs.put(lambda: self._call(job, then))

    def stop(self, last: Job) -> None:
        """Interrupts the job that is running and drops those that wait; `last` is all that the thread still does."""
        if self._is_stopped:
            return
        with self._lock:
            self._last = last
            self._is_stopped = True
            if self._is_running:
                self._interrupt(_Stopped)
        self._jobs.put(None)

    def warn(self, line: str) -> None:
        """Logs from a job: in the event loop, as an interrupted thread could keep the lock of the log for ever."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(log.warning, "%s", line)

    def _run(self) -> None:
        while (job := self._jobs.get()) and not self._is_stopped:
            job()
        if self._last is not None:
            self._last()

    def _call(self, job: Job, then: Job) -> None:
        fault: Exception | None = None
        with suppress(_Stopped):  # at most one comes in a thread's life, and none after this block
            try:
                with self._lock:
                    self._is_running = not self._is_stopped
                if self._is_running:
                    job()
            except Exception as error:  # noqa: BLE001 - logged below
                fault = error
            finally:
                with self._lock:
                    self._is_running = False
                    self._interrupt(None)
        if fault is not None:
            log.error("a fault of this program while thinking", exc_info=fault)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(then)

    def _interrupt(self, kind: type[BaseException] | None) -> None:
        """Makes the thread raise an exception, or takes one back that it has not raised yet."""
        raised = None if kind is None else ctypes.py_object(kind)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident or 0), raised)
