"""An event loop whose clock jumps ahead when nothing is left to do, so that no test sleeps.

Sockets are real. The clock stands still while a socket has something to say or a thread works for the loop, and moves
only by timers: it is exact, and playclocks of an hour pass in milliseconds.
"""

import asyncio
import os
import selectors
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SETTLE = 0.002  # real seconds in which what was written to a socket of this computer arrives at its other end
# Real seconds in which a connection of this computer is made or refused, if it ever is. That is at once, except where a
# connection with the same two ports was closed within the last minute and the server has stopped since: then the system
# answers only the second request, a second later.
CONNECTED = 1.5
TCP_SYN_SENT = 2  # in the kernel's tcp_info
STUCK = 30.0  # real seconds without anything happening after which a test has failed

Events = list[tuple[selectors.SelectorKey, int]]


class _Selector(selectors.DefaultSelector):
    """The real selector, but a wait in which nothing happens costs `SETTLE`, and then the clock jumps."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.jobs = 0  # that threads are doing for the loop
        self._connecting: dict[int, float] = {}  # port → when it was seen to ask for a connection first
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._sender = socket.create_connection(server.getsockname())
            self._receiver, _ = server.accept()
        self._receiver.settimeout(STUCK)

    def select(self, timeout: float | None = None) -> Events:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if timeout is None or self.jobs:
            events = super().select(STUCK)
            assert events, "nothing is left that could happen"
            return events
        events = super().select(SETTLE)
        if not events:
            self._wait_for_network()
            events = super().select(max(0.0, self._time_to_connect()))
        if not events:
            self.now += timeout
        return events

    def close(self) -> None:
        super().close()
        self._sender.close()
        self._receiver.close()

    def _time_to_connect(self) -> float:
        """Real seconds that are left for connections that are asked for, and neither made nor refused."""
        now = time.monotonic()
        writing = [key.fd for key in self.get_map().values() if key.events & selectors.EVENT_WRITE]
        ports = [port for descriptor in writing if (port := _connecting_from(descriptor)) is not None]
        self._connecting = {port: self._connecting.get(port, now) for port in ports}
        return max((began + CONNECTED - now for began in self._connecting.values()), default=0.0)

    def _wait_for_network(self) -> None:
        """A busy system delivers late, but in order: a byte sent now arrives after what was sent before."""
        self._sender.send(b".")
        self._receiver.recv(1)


def _connecting_from(descriptor: int) -> int | None:
    """The port from which a connection is asked for; None where it is made, or for something else."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        if copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == TCP_SYN_SENT:
            return int(copy.getsockname()[1])
    return None


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at 0.0 s."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def hold_up(self, seconds: float) -> None:
        """As if whoever calls this had kept the loop busy for so long."""
        self._clock.now += seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        self._clock.jobs += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._job_done)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Without the limit of later versions of Python: no virtual time passes while threads end."""
        del timeout
        await super().shutdown_default_executor()

    def _job_done(self, _: asyncio.Future[T]) -> None:
        self._clock.jobs -= 1


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
