"""The service's end of the processes that think: how they are made, asked, heard and ended.

All of it is in the event loop, and nothing here waits.
"""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Protocol, TypeAlias

from ggp.cache import kernel_folder
from ggp.errors import SettingsError
from players.pipe import END, FAILED, FORK, FRAME, PREPARING, READY, Finding, Forget, Request, decode, encode

FORGET_SECONDS = 0.3  # in which a process ends by itself after its match, before it is ended

_LONGEST_LINE = 2**20  # bytes of a finding
_READ_BYTES = 2**16
_PROGRESS_SECONDS = 10  # between two lines of the log

Hear: TypeAlias = Callable[[Finding], None]
Lost: TypeAlias = Callable[[str], None]  # why a process has ended that should not have, for a person

log = logging.getLogger(__name__)


class MatchWorker(Protocol):
    """What thinks about one match."""

    def send(self, request: Request) -> None:
        """Returns at once; findings come later."""

    def end(self) -> None:
        """After its match: nothing is heard of it any more, but it has a moment to forget what it knows."""

    def kill(self) -> None:
        """At once."""


MakeWorker: TypeAlias = Callable[[Hear, Lost], MatchWorker]


class ForkedServer:
    """A fork server that this process has forked, before it had an event loop, and the channel to it."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Until it has ended; once only."""
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class ForkServer:
    """The process that makes those of matches; when it has ended, the next match starts it again."""

    def __init__(self, strategy: str, forked: ForkedServer | None = None) -> None:
        """forked: is there already."""
        self._strategy = strategy
        self._forked = forked
        self._process: subprocess.Popen[bytes] | ForkedServer | None = None
        self._channel: socket.socket | None = None
        self._heard = b""
        self._reason = ""  # why it could not begin, in its words
        self._unborn: deque[ProcessWorker] = deque()  # asked for, in their order
        self._alive: dict[int, ProcessWorker] = {}
        self._ready: asyncio.Future[bool] | None = None  # whether the last process has come so far, once that is known

    @property
    def is_ready(self) -> bool:
        """Whether no match would wait for anything."""
        return self._channel is not None and self._ready is not None and self._ready.done()

    async def running(self, _: object = None) -> AsyncIterator[None]:
        """A cleanup context of aiohttp: begins when no match would wait for anything. SettingsError as by `prepare`."""
        try:
            await self.prepare()
            yield
        finally:
            self.close()
            await asyncio.sleep(0)  # for transports, which the loop closes

    async def prepare(self) -> None:
        """Starts it, and waits until no match would wait for anything.

        SettingsError, with the reason where there is one, when the process ends instead.
        """
        self.start()
        assert self._ready is not None
        if not await asyncio.shield(self._ready):  # one who waits may be cancelled, and others wait as well
            raise SettingsError(self._reason or f"player {self._strategy!r} did not start; standard error may tell why")

    def start(self) -> None:
        """Starts it unless it runs; matches that begin before it is ready wait for that. OSError where it cannot be."""
        if self._channel is None:
            self._begin()

    def worker(self, hear: Hear, lost: Lost) -> MatchWorker:
        """A process for a match, which takes requests at once; OSError where there is no room for another one."""
        self.start()
        return ProcessWorker(self, hear, lost)

    def close(self) -> None:
        """Ends all processes at once."""
        self._end_process()  # first, else it would find its channel closed
        self._drop_channel()
        for worker in (*self._unborn, *self._alive.values()):
            worker.kill()
        self._unborn.clear()
        self._alive.clear()

    def fork(self, worker: "ProcessWorker", theirs: socket.socket) -> None:
        """Asks for a process that listens to the socket."""
        self._unborn.append(worker)
        if self._channel is not None:
            with suppress(OSError):  # it has ended: the socket, too, is closed then
                socket.send_fds(self._channel, [FRAME.pack(FORK, 0, 0)], [theirs.fileno()])

    def kill(self, number: int) -> None:
        """Asks for the end of a process."""
        if self._channel is not None:
            with suppress(OSError):
                self._channel.send(FRAME.pack(END, number, 0))

    def _begin(self) -> None:
        self._end_process()
        if self._forked is None:
            self._process, ours = self._spawn()
        else:
            self._process, ours, self._forked = self._forked, self._forked.channel, None
        loop = asyncio.get_running_loop()
        self._channel, self._ready, self._heard = ours, loop.create_future(), b""
        ours.setblocking(False)
        loop.add_reader(ours, self._read)

    def _spawn(self) -> tuple["subprocess.Popen[bytes]", socket.socket]:
        """A process, and our end of the channel to it; OSError where the system makes none."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = (sys.executable, "-P", "-m", "players.process", str(theirs.fileno()), str(os.getpid()))
            try:
                process = subprocess.Popen(  # noqa: S603 - all of it is ours
                    (*command, self._strategy, str(logging.getLogger().getEffectiveLevel())),
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    process_group=0,  # Ctrl-C in a terminal is for the service
                )
            except OSError:
                ours.close()
                raise
        return process, ours

    def _read(self) -> None:
        assert self._channel is not None
        try:
            data = self._channel.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        self._heard += data
        while len(self._heard) >= FRAME.size:
            code, number, status = FRAME.unpack(self._heard[: FRAME.size])
            if code == FAILED:
                self._reason = self._heard[FRAME.size :].decode(errors="replace")
                return  # nothing else follows
            self._heard = self._heard[FRAME.size :]
            self._hear(code, number, status)

    def _hear(self, code: bytes, number: int, status: int) -> None:
        if code == FORK:
            worker = self._unborn.popleft()
            if number:
                self._alive[number] = worker
                worker.born(number)
            else:
                worker.ended("the system has no room for its process")
        elif code == END and number in self._alive:
            self._alive.pop(number).ended(_how(status))
        elif code == PREPARING:
            self._say_how_far(0)
        elif code == READY:
            self._decide(is_ready=True)

    def _say_how_far(self, seconds: int) -> None:
        """Until the kernels are there: a user who has started the player is to see that it is at work."""
        if self._ready is None or self._ready.done() or self._channel is None:
            return
        files = sum(1 for _ in kernel_folder().glob("*.kernel"))
        log.info("compiling kernels, once for all players here: %d are there after %d s", files, seconds)
        asyncio.get_running_loop().call_later(_PROGRESS_SECONDS, self._say_how_far, seconds + _PROGRESS_SECONDS)

    def _end(self) -> None:
        """The process has ended by itself, and those of matches with it."""
        self._drop_channel()
        workers = [*self._unborn, *self._alive.values()]
        self._unborn.clear()
        self._alive.clear()
        for worker in workers:
            worker.ended("the process that made it has ended")

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()  # which ends those of matches, too
            self._process.wait()
            self._process = None

    def _drop_channel(self) -> None:
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None
        self._decide(is_ready=False)

    def _decide(self, *, is_ready: bool) -> None:
        """Tells those who wait; only the first word counts."""
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(is_ready)


class ProcessWorker(asyncio.Protocol):
    """A process of its own."""

    def __init__(self, server: ForkServer, hear: Hear, lost: Lost) -> None:
        self._server = server
        self._hear = hear
        self._lost = lost
        self._number = 0  # of the process; 0 before it is known
        self._is_over = False  # nothing more is to be heard of it
        self._is_killed = False
        self._received = bytearray()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with theirs:
            server.fork(self, theirs)
        self._connecting = self._loop.create_task(self._connect(ours))

    def send(self, request: Request) -> None:
        data = encode(request)
        if self._transport is None:
            self._unsent.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def end(self) -> None:
        self._is_over = True
        self.send(Forget())
        self._loop.call_later(FORGET_SECONDS, self.kill)

    def kill(self) -> None:
        self._is_over = self._is_killed = True
        if self._number:
            self._server.kill(self._number)
        if self._transport is not None:
            self._transport.abort()

    def born(self, number: int) -> None:
        """Told the number of the process."""
        self._number = number
        if self._is_killed:
            self._server.kill(number)

    def ended(self, how: str) -> None:
        """Told that the process has ended: its number may be that of another one soon."""
        self._number = 0
        if self._transport is not None:
            self._transport.abort()
        if not self._is_over:
            self._is_over = True
            self._lost(how)

    async def _connect(self, ours: socket.socket) -> None:
        await self._loop.create_connection(lambda: self, sock=ours)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        for data in self._unsent:
            transport.write(data)
        self._unsent.clear()
        if self._is_killed:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while not self._is_over and (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            try:
                finding = decode(line)
            except ValueError:
                self._give_up()
                return
            self._hear(finding)
        if len(self._received) > _LONGEST_LINE:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The process has ended, or is about to: its parent says how."""
        if self._is_killed:
            return
        self._is_killed = True  # also where its number is not known yet
        if self._number:
            self._server.kill(self._number)

    def _give_up(self) -> None:
        """It says what it should not."""
        self._received.clear()
        if self._transport is not None:
            self._transport.abort()


def _how(status: int) -> str:
    if status >= 0:
        return f"its process ended with exit code {status}"
    with suppress(ValueError):
        return f"its process was ended by {signal.Signals(-status).name}"
    return f"its process was ended by signal {-status}"
