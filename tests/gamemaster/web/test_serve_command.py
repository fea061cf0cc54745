"""The command `ggp serve`: starts, says where, stops; mistakes in one line."""

import asyncio
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gamemaster.web.application import _address

CODE = "import ggp.commands; raise SystemExit(ggp.commands.main())"


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncIterator[Process]:
    command = (sys.executable, "-c", CODE, "serve", "--port", "0", "--records", str(folder), *options)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    async with serving(tmp_path, "--store", str(tmp_path / "store.sqlite")) as process:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        url = said.removeprefix("serving at ").strip()
        async with aiohttp.ClientSession() as session:
            longest = dict.fromkeys(("game", "player", "tournament"), 200 * "\N{GAME DIE}")
            for path, query in (("", {}), ("api/v1/matches", longest)):
                async with session.get(url + path, params=query) as response:
                    assert response.status == 200
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert (tmp_path / "store.sqlite").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--host", "0.0.0.0"), "ggp: --host 0.0.0.0: others can reach this address, so writing needs a token"),
        (("--token", "short"), "ggp: --token: between 8 and 200 characters"),
        (("--store", "{folder}"), "ggp: {folder}: "),
        (("--endpoint-port", "{taken}"), "ggp: --endpoint-port {taken}: "),
        (("--port", "{taken}"), "ggp: cannot listen on 127.0.0.1, port {taken}: "),
    ],
)
async def test_mistakes_are_told_in_one_line(tmp_path: Path, options: tuple[str, ...], complaint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = {"folder": str(tmp_path), "taken": str(taken.getsockname()[1])}
        async with serving(tmp_path, *(option.format(**words) for option in options)) as process:
            said, complained = await process.communicate()
    assert process.returncode == 2
    assert said == b""
    (line,) = complained.decode().splitlines()
    assert line.startswith(complaint.format(**words))


def test_an_address_is_one_to_click_on() -> None:
    assert _address(("::1", 8080, 0, 0)) == "http://[::1]:8080/"
    assert _address(("127.0.0.1", 8080)) == "http://127.0.0.1:8080/"
