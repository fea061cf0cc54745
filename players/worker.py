"""One thread for one match: jobs one after the other.

Not `asyncio.to_thread`: a call of a state machine cannot be interrupted, and the loop's own threads would be waited for
when the service stops. This thread is a daemon, so that the slowest rules cannot keep a process alive.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]

log = logging.getLogger(__name__)


class Worker:
    """Runs jobs in the order given, in a thread of its own."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, job: Job, then: Job) -> None:
        """`then` is called in the event loop when the job is over, however it ended."""
        self._jobs.put(lambda: self._call(job, then))

    def close(self) -> None:
        """Ends the thread after the jobs given so far."""
        self._jobs.put(None)

    def _run(self) -> None:
        while job := self._jobs.get():
            job()

    def _call(self, job: Job, then: Job) -> None:
        try:
            job()
        except Exception:
            log.exception("a fault of this program while thinking")
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(then)
