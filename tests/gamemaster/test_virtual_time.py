"""The virtual clock of the tests: it moves by timers alone."""

import asyncio
import select
import socket
import threading
import time

import pytest

from tests.gamemaster.virtual_time import run


def test_an_hour_passes_at_once() -> None:
    async def sleep() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    assert run(sleep()) == 3600.0
    assert time.monotonic() - began < 10


def test_timers_come_in_their_order() -> None:
    heard: list[float] = []

    async def at(seconds: float) -> None:
        await asyncio.sleep(seconds)
        heard.append(asyncio.get_running_loop().time())

    async def whole() -> None:
        await asyncio.gather(at(3), at(1), at(2.5))

    run(whole())
    assert heard == pytest.approx([1.0, 2.5, 3.0])


def test_the_clock_stands_still_while_a_thread_works() -> None:
    async def whole() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        release = threading.Event()
        work = asyncio.create_task(asyncio.to_thread(release.wait, 30))
        timer = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        await asyncio.to_thread(time.sleep, 0.02)  # longer than sockets are given, so that a clock that can move does
        during = loop.time()
        assert not timer.done()
        release.set()
        assert await work
        await timer
        return during, loop.time()

    assert run(whole()) == (0.0, 5.0)


def test_sockets_go_before_the_clock() -> None:
    async def whole() -> float:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            for _ in range(20):
                async with asyncio.timeout(0.001):
                    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                    writer.write(b"hello\n")
                    assert await reader.readline() == b"hello\n"
                    writer.close()
                    await writer.wait_closed()
        return asyncio.get_running_loop().time()

    assert run(whole()) == 0.0


def test_a_connection_is_refused_before_the_clock_moves() -> None:
    """Also where the system ignores the first request and refuses the second one, a second later."""

    async def whole() -> float:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
            select.select([full], [], [], 10)  # until the first connection is in the queue, which is full with it
            asked = asyncio.create_task(asyncio.open_connection(*full.getsockname()))
            await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            async with asyncio.timeout(5):
                await asked
        return asyncio.get_running_loop().time()

    assert run(whole()) == 0.0
