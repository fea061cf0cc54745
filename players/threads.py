"""What thinks in threads of this process: for a strategy that exists only here, such as a function in a notebook."""

import asyncio
import logging
import time
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from players.pipe import Finding, Forget, Request
from players.process import MatchThinking
from players.strategies import MakeStrategy
from players.thinker import make_interpreter
from players.worker import Hear, Lost, MakeWorker, MatchWorker

log = logging.getLogger(__name__)


def in_threads(make_strategy: MakeStrategy) -> MakeWorker:
    """Workers for a `GamePlayer` whose settings name this strategy."""

    def make(hear: Hear, lost: Lost) -> MatchWorker:
        del lost  # threads do not end by themselves
        return ThreadWorker(hear, make_strategy)

    return make


class ThreadWorker:
    """Two threads, which cannot be ended: one that hangs is left alone, and has no share in later matches.

    Code that holds Python's lock for long delays everything in this process.
    """

    def __init__(self, hear: Hear, make_strategy: MakeStrategy) -> None:
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._thinking = MatchThinking(self._tell, make_interpreter, time.monotonic, make_strategy)
        self._is_over = False
        Thread(target=self._work, name="following", daemon=True).start()

    def send(self, request: Request) -> None:
        self._requests.put(request)

    def end(self) -> None:
        self._is_over = True
        self.send(Forget())

    def kill(self) -> None:
        self.end()

    def _work(self) -> None:
        request: Request | None = None
        while not isinstance(request, Forget):
            request = self._requests.get()
            self._thinking.hear(request)

    def _tell(self, finding: Finding) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._heard, finding)

    def _heard(self, finding: Finding) -> None:
        if not self._is_over:
            self._hear(finding)
