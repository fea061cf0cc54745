"""Coroutines next to the rest of the process: ended by signals, and slow calls that cannot keep the process alive."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from threading import Thread
from typing import Any, Generic, ParamSpec, TypeVar

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


@dataclass(frozen=True, slots=True)
class Timed(Generic[T]):
    """What came of work that had so much time."""

    result: T | None  # None when the time was over
    seconds: float  # that it took, without the lag
    lag: float  # seconds in which the event loop was held up meanwhile


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> Timed[T]:
    """Does work that has so many seconds; those in which the event loop was held up do not count.

    What has arrived when the time is over is still taken. Whatever the work raises is raised.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    task = asyncio.ensure_future(work)
    lag = _Lag(min(1.0, max(_TICK, seconds / 200)))
    try:
        while not task.done() and (left := began + seconds + lag.seconds - clock()) > 0:
            await asyncio.wait([task], timeout=left)
        for _ in range(_TURNS):
            if not task.done():
                await asyncio.sleep(0)
        took = max(0.0, clock() - began - lag.seconds)
        return Timed(task.result() if task.done() else None, took, lag.seconds)
    finally:
        lag.stop()
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it has been looked at


_TICK = 0.05  # seconds at least between two looks at the clock
_NOISE = 0.01  # seconds that a look may be late
_TURNS = 20  # of the event loop, in which what has arrived is read


class _Lag:
    """How long the event loop was held up since this was made: timers that it should have set off came late."""

    def __init__(self, every: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._every = every
        self._seconds = 0.0
        self._begin()

    @property
    def seconds(self) -> float:
        return self._seconds + self._late()

    def stop(self) -> None:
        self._timer.cancel()

    def _begin(self) -> None:
        self._due = self._loop.time() + self._every
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._seconds += self._late()
        self._begin()

    def _late(self) -> float:
        late = self._loop.time() - self._due
        return late if late > _NOISE else 0.0


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
