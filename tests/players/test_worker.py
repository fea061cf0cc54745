"""Stage 9, services: real processes that think, which are stopped, killed and starved."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from ggp.errors import SettingsError
from ggp.protocol.messages import Abort, Start, Stop
from players import process
from players.pipe import FORK, PREPARING, READY, Begun, Found, Refused, decode, encode
from players.player import GamePlayer, MonotonicClock
from players.settings import PlayerSettings
from players.worker import ForkServer, ProcessWorker
from tests.players.doubles import NIM, PATIENCE, play, start

RULES = NIM.format(heap=9)


@pytest.fixture
async def server() -> AsyncIterator[ForkServer]:
    """Of the baselines, which need no kernels."""
    server = ForkServer("montecarlo")
    running = server.running()
    await anext(running)
    yield server
    await running.aclose()  # type: ignore[attr-defined]


class Stage:
    """A player on the clock of the machine."""

    def __init__(self, server: ForkServer, strategy: str = "montecarlo", overhead: int = 4096) -> None:
        self.clock = MonotonicClock()
        self.server = server
        settings = PlayerSettings(strategy, seed=1, memory=1, overhead=overhead)
        self.player = GamePlayer(settings, self.clock, server.worker)

    async def ask(self, message: Start | Stop | Abort | object) -> str:
        async with asyncio.timeout(PATIENCE):
            return await self.player.answer(message, self.clock.now())  # type: ignore[arg-type]

    @property
    def pid(self) -> int:
        [number] = self.server._alive
        return number


async def until(condition: Callable[[], bool]) -> None:
    """Looks again and again, as nobody tells."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def rules_for(name: str, startclock: int = 5, playclock: int = 1) -> Start:
    return start(name, rules=RULES, startclock=startclock, playclock=playclock)


async def test_each_match_has_a_process_that_ends_with_it(server: ForkServer) -> None:
    stage, seen = Stage(server), set[int]()
    for name in ("one", "two", "three"):
        assert await stage.ask(rules_for(name)) == "ready"
        seen.add(stage.pid)
        assert await stage.ask(play(match=name)) == "(take 1)"
        assert await stage.ask(play("(take 1) wait", name)) == "wait"
        assert await stage.ask(Stop(name, None)) == "done"
        await until(lambda: not server._alive)
    assert len(seen) == 3
    for number in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


async def test_a_process_that_does_nothing_at_all_costs_no_answer(server: ForkServer) -> None:
    """Stopped, it neither answers nor ends when it is told to: so it is ended, and the next match has another one."""
    stage = Stage(server)
    assert await stage.ask(rules_for("m")) == "ready"
    os.kill(stage.pid, signal.SIGSTOP)
    assert await stage.ask(play()) == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "nil"  # nobody has told what is legal there
    assert await stage.ask(Abort("m")) == "aborted"
    assert await stage.ask(rules_for("next")) == "ready"
    assert await stage.ask(play(match="next")) == "(take 1)"
    await until(lambda: len(server._alive) == 1)


async def test_a_process_that_is_killed_costs_at_most_a_line(
    server: ForkServer, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(server, "legal")
    assert await stage.ask(rules_for("m", playclock=20)) == "ready"
    assert await stage.ask(play()) == "(take 1)"
    os.kill(stage.pid, signal.SIGKILL)
    assert await stage.ask(play("(take 2) wait")) == "wait"
    assert await stage.ask(play("wait (take 1)")) == "(take 1)"
    assert await stage.ask(Stop("m", None)) == "done"
    assert caplog.messages == ["m: its process was ended by SIGKILL; legal plays on in another one"]


async def test_a_process_that_is_killed_while_it_thinks_is_replaced(
    server: ForkServer, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(server)
    assert await stage.ask(rules_for("m", playclock=20)) == "ready"
    answering = asyncio.create_task(stage.ask(play()))
    await asyncio.sleep(0)
    os.kill(stage.pid, signal.SIGSEGV)
    assert await answering == "(take 1)"  # at once, and not when the time is up
    assert caplog.messages == ["m: its process was ended by SIGSEGV; legal plays on in another one"]


async def test_a_process_that_fails_says_so_by_its_exit_code(
    server: ForkServer, capfd: pytest.CaptureFixture[str]
) -> None:
    ended: list[str] = []
    worker = server.worker(lambda _: None, ended.append)
    assert isinstance(worker, ProcessWorker)
    await until(lambda: worker._transport is not None)
    assert worker._transport is not None
    worker._transport.write(b"no request\n")
    await until(lambda: bool(ended))
    assert ended == ["its process ended with exit code 1"]


@pytest.mark.parametrize("listen", [lambda channel: process._ForkServer(channel).serve(), process.think_for])
def test_a_service_that_ends_before_it_has_read_everything_is_no_fault(
    listen: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system then resets the connection instead of closing it."""
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)  # this process runs other tests after it
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    ours, theirs = socket.socketpair()
    theirs.sendall(b"not read")
    ours.close()
    with theirs:
        listen(theirs)  # and nothing is raised


async def test_the_fork_server_is_started_again(server: ForkServer, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(server, "legal")
    assert await stage.ask(rules_for("m", playclock=20)) == "ready"
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGKILL)
    assert await stage.ask(play()) == "(take 1)"
    assert await stage.ask(play("(take 1) wait")) == "wait"
    await until(lambda: bool(caplog.messages))  # how fast the process is missed is the kernel's affair
    assert await stage.ask(play("wait (take 1)")) == "(take 1)"
    assert caplog.messages == ["m: the process that made it has ended; legal plays on in another one"]


async def test_processes_end_with_those_that_made_them(server: ForkServer) -> None:
    stage = Stage(server)
    assert await stage.ask(rules_for("m")) == "ready"
    number = stage.pid
    os.kill(number, signal.SIGSTOP)
    server.close()

    def is_gone() -> bool:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        return False

    await until(is_gone)


async def test_memory_is_bounded(server: ForkServer) -> None:
    """Rules that need more are declined; the next match is played."""
    stage = Stage(server, overhead=256)
    facts = " ".join(f"(p {number})" for number in range(500_000))
    for _ in range(2):
        assert await stage.ask(start("huge", rules=f"{facts} {RULES}", startclock=60)) == "busy"
        assert await stage.ask(rules_for("m")) == "ready"
        assert await stage.ask(play()) == "(take 1)"
        assert await stage.ask(Stop("m", None)) == "done"


async def test_a_system_without_room_for_a_process_costs_its_match_only(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def refuse() -> int:
        raise BlockingIOError

    channel, other = socket.socketpair()
    with monkeypatch.context() as patched, channel, other:
        patched.setattr(os, "fork", refuse)
        assert process._ForkServer(channel)._fork(os.dup(channel.fileno())) == 0
    server._unborn.append(worker := ProcessWorker.__new__(ProcessWorker))
    worker._transport, worker._is_over, worker._lost = None, False, told.append
    server._hear(FORK, 0, 0)
    assert told == ["the system has no room for its process"]
    assert not server._alive


async def test_a_process_that_hangs_up_before_its_number_is_known_is_ended(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, killed = ProcessWorker(server, lambda _: None, lambda _: None), list[int]()
    worker.connection_lost(None)
    with monkeypatch.context() as patched:
        patched.setattr(server, "kill", killed.append)
        await until(lambda: worker._number > 0)
    assert killed == [worker._number]
    server.kill(worker._number)
    await until(lambda: not server._alive)


async def test_a_fork_server_that_cannot_start_is_a_mistake(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    running = ForkServer("legal").running()
    with pytest.raises(SettingsError, match="player 'legal' did not start"):
        await anext(running)


async def test_how_far_the_kernels_are_is_said_again_and_again(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has started the player sees that it is at work; as soon as it is ready, nothing more is said."""
    monkeypatch.setattr("players.worker._PROGRESS_SECONDS", 0)
    ready = server._ready = asyncio.get_running_loop().create_future()
    with caplog.at_level(logging.INFO):
        server._hear(PREPARING, 0, 0)
        await until(lambda: len(caplog.messages) > 2)
        server._hear(READY, 0, 0)
        assert ready.done()
        await asyncio.sleep(0)
        count = len(caplog.messages)
        await asyncio.sleep(0)
    assert len(caplog.messages) == count
    assert all(line.startswith("compiling kernels, once for all players here: ") for line in caplog.messages)


@pytest.mark.parametrize("said", [Begun("(take 1)"), Begun(None), Refused(), Found(3, "a", "note", "{}", "", True)])
def test_what_is_said_is_read(said: Begun | Refused | Found) -> None:
    assert decode(encode(said)) == said


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'["Begun"]', b'["Other", {}]', b'["Begun", {"x": 1}]', b"\xff"])
def test_what_nobody_says_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any
        decode(line)


async def test_a_worker_that_says_what_it_should_not_is_ended(server: ForkServer) -> None:
    lost: list[str] = []
    worker = server.worker(lambda _: None, lost.append)
    assert isinstance(worker, ProcessWorker)
    await until(lambda: worker._transport is not None and worker._number > 0)
    worker.data_received(b"this is no JSON\n")
    await until(lambda: bool(lost))
    assert len(lost) == 1


async def test_nothing_is_logged_about_processes_that_end_as_they_should(
    server: ForkServer, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(server)
    with caplog.at_level(logging.INFO):
        for number in range(10):
            asyncio.get_running_loop().call_later(0.01 * number, stage.player.close)
            await stage.ask(rules_for(f"m{number}"))
            await stage.ask(Abort(f"m{number}"))
        await until(lambda: not server._alive)
    assert caplog.messages == []
