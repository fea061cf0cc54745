"""Coroutines next to the rest of the process: ended by signals, and slow calls that cannot keep the process alive."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor, Future
from threading import Thread
from typing import Any, ParamSpec, TypeVar

KILLED = 128  # plus the number of a signal is the exit code after it

P = ParamSpec("P")
T = TypeVar("T")


async def until_signal(work: Coroutine[Any, Any, object]) -> int:
    """Does the work; a signal cancels it, and a second one does so again while it ends in order. The exit code."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    received: list[int] = []

    def give_up(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, give_up, number)
    try:
        await work
    except asyncio.CancelledError:
        if not received:
            raise
        return KILLED + received[0]
    return 0


async def all_of(asked: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, T]:
    """The results under the same keys; all run at the same time."""
    async with asyncio.TaskGroup() as group:
        tasks = {key: group.create_task(asking) for key, asking in asked.items()}
    return {key: task.result() for key, task in tasks.items()}


async def in_daemon_thread(function: Callable[[], T]) -> T:
    """The result of a call in a daemon thread. If this is cancelled, the call goes on, but its result is dropped.

    Not `asyncio.to_thread`: a process waits for the threads of that when it ends, and rules that run for ever in a
    state machine cannot be interrupted.
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
            except BaseException as error:  # noqa: BLE001 - raised where the result is awaited, as every executor does
                future.set_exception(error)

        Thread(target=call, name="referee", daemon=True).start()
        return future
