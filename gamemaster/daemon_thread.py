"""Slow calls in threads that cannot keep the process alive, so that Ctrl-C ends a match whatever its rules do."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def aside(function: Callable[[], T]) -> T:
    """The result of a call in a daemon thread. One that is cancelled goes on, but nobody waits for it any more.

    Not `asyncio.to_thread`: a process waits for the threads of that, and a state machine cannot be interrupted.
    """
    return await asyncio.get_running_loop().run_in_executor(_DaemonThreads(), function)


class _DaemonThreads(Executor):
    """A new daemon thread for each call."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits, as every executor does
                future.set_exception(error)

        Thread(target=call, name="referee", daemon=True).start()
        return future
