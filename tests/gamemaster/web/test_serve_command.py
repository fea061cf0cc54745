"""The command `ggp serve`: starts, says where, stops; mistakes in one line."""

import asyncio
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from gamemaster.record import is_growing
from gamemaster.web.api.operations import SERVICES
from gamemaster.web.application import _address, _runner, make_app
from gamemaster.web.settings import Limits, ServeSettings
from tests.gamemaster.games import GUESSING
from tests.gamemaster.processes import PATIENCE, descendants, is_alive, until

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
        (("--records", "/proc/x"), "ggp: /proc/x: "),
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


@pytest.mark.parametrize("option", ["--visitor-connections", "--connections"])
async def test_connections_have_a_limit(tmp_path: Path, option: str) -> None:
    """Also of those on which nothing is asked; after one is closed another one may be opened."""
    async with serving(tmp_path, option, "2") as process:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().removeprefix("serving at ").strip()
        address = urlsplit(url)
        silent = [await asyncio.open_connection(address.hostname, address.port) for _ in range(2)]
        reader, third = await asyncio.open_connection(address.hostname, address.port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        third.close()
        silent[0][1].close()
        async with aiohttp.ClientSession() as session:
            async with asyncio.timeout(PATIENCE):
                while not await is_answered(session, url):  # noqa: ASYNC110 - nothing tells when the server has seen it
                    await asyncio.sleep(0.01)
        silent[1][1].close()
        process.kill()
        _, said = await process.communicate()
    assert said.decode().count("127.0.0.1: a connection too many was closed; 3 are open") == 1


async def is_answered(session: aiohttp.ClientSession, url: str) -> bool:
    with suppress(aiohttp.ClientConnectionError):
        async with session.get(f"{url}api/v1") as response:
            return response.status == 200
    return False


async def test_who_goes_is_not_worked_for_but_what_was_to_be_changed_is(tmp_path: Path) -> None:
    settings = ServeSettings(records=tmp_path, warm=False, limits=Limits(workers=1))
    app = make_app(settings)
    runner = _runner(app, settings)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    services, url = app[SERVICES], f"{_address(runner.addresses[0])}api/v1"
    async with aiohttp.ClientSession() as session:
        async with services.pool._turn("somebody else"), services.checks._turn("somebody else"):
            reads = asyncio.create_task(session.get(f"{url}/games/chess/start"))
            writes = asyncio.create_task(session.post(f"{url}/games", json={"name": "mine", "rulesheet": GUESSING}))
            await until(lambda: services.pool._waiting.total() == services.checks._waiting.total() == 1)
            reads.cancel()
            writes.cancel()
            await until(lambda: services.pool._waiting.total() == 0)
            assert services.checks._waiting.total() == 1
        await until(lambda: any(not entry.is_shipped for entry in services.catalogue.find()))
    await runner.cleanup()


SLOW = f"""
(role a) (init s) (legal a go) (<= (next s) (true s)) (goal a 0)
{" ".join(f"(n {number})" for number in range(10))}
(<= terminal {" ".join(f"(n ?x{number})" for number in range(14))} (distinct ?x0 ?x0))
"""  # the first question whether it is over takes years
BOTS = {role: {"kind": "bot", "bot": "mcts"} for role in ("xplayer", "oplayer")}
PEOPLE = {role: {"kind": "human"} for role in ("xplayer", "oplayer")}


class Visitor:
    """Holds up a service in every way that is known; all that it began goes on until the service ends."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.api = f"{url}api/v1"
        self._session = session
        self._address = urlsplit(url)
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def watches(self) -> None:
        for _ in range(5):
            response = await self._session.get(f"{self.api}/events")
            assert response.status == 200

    async def sends_halves(self) -> None:
        head = f"POST /api/v1/games HTTP/1.1\r\nHost: {self._address.netloc}\r\nContent-Type: application/json\r\n"
        for half in ("GET / HT", head, f"{head}Content-Length: 100\r\n\r\n" + "{"):
            _, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
            writer.write(half.encode())
            await writer.drain()
            self._writers.append(writer)

    async def searches(self) -> None:
        match, status = await self.begins(PEOPLE), 0
        while status != 200:  # until the match has begun
            async with self._session.get(f"{self.api}/matches/{match}/states/0") as response:
                status = response.status
        await self._asks(f"/matches/{match}/states/0/analysis", {"seconds": 20.0})

    async def hangs(self) -> None:
        for _ in range(4):
            await self._asks("/rulesheets/check", {"rulesheet": SLOW})

    async def begins(self, players: object, **clocks: int) -> str:
        order = {"game": "tictactoe", "players": players, "startclock": 60, "playclock": 60, **clocks}
        async with self._session.post(f"{self.api}/matches", json=order) as response:
            assert response.status == 201, await response.text()
            return str((await response.json())["match"])

    async def plays(self) -> None:
        await self.begins(BOTS)

    async def plays_against_bots(self) -> None:
        """Until one of them is asked, so that it thinks in a process of its own."""
        match = await self.begins({"xplayer": BOTS["xplayer"], "oplayer": {"kind": "bot", "bot": "montecarlo"}})
        status = ""
        while status != "running":
            async with self._session.get(f"{self.api}/matches/{match}") as response:
                status = (await response.json())["status"]

    async def leaves(self) -> None:
        await self.begins(PEOPLE)

    async def _asks(self, path: str, body: object) -> None:
        """Returns when the request is under way; nobody waits for the answer."""

        async def ask() -> None:
            with suppress(aiohttp.ClientError):
                await self._session.post(self.api + path, json=body)

        self._tasks.append(asyncio.create_task(ask()))
        async with self._session.get(self.api) as response:  # by now the service has the other request as well
            assert response.status == 200

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._tasks)


STATES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "streams": ("watches",),
    "halves": ("sends_halves",),
    "search": ("searches",),
    "hanging rules": ("hangs",),
    "bots that begin": ("plays",),
    "bots that think": ("plays_against_bots",),
    "people": ("leaves",),
    "everything": ("watches", "sends_halves", "searches", "hangs", "plays_against_bots", "leaves"),
}


ENDS = [
    *((state, signal.SIGTERM) for state in STATES),
    ("nothing", signal.SIGINT),
    *(pytest.param(state, signal.SIGINT, marks=pytest.mark.slow) for state in list(STATES)[1:]),
]  # both signals take the same way


@pytest.mark.parametrize(("state", "number"), ENDS, ids=str)
async def test_a_signal_ends_it_in_order_in_every_state(tmp_path: Path, state: str, number: signal.Signals) -> None:
    """Within 4.5 s, or it ends at once with exit code 1: the code tells, whatever else the machine does."""
    async with serving(tmp_path, "--matches", "20") as process, aiohttp.ClientSession() as session:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().removeprefix("serving at ").strip()
        visitor = Visitor(url, session)
        for name in STATES[state]:
            await getattr(visitor, name)()
        processes = descendants(process.pid)
        process.send_signal(number)
        assert await process.wait() == 0
        await until(lambda: not any(map(is_alive, processes)))
        await visitor.close()
    assert not any(map(is_growing, await asyncio.to_thread(lambda: list(tmp_path.glob("*.json")))))


async def test_what_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    async with serving(tmp_path, "--request-seconds", "0.5") as process, aiohttp.ClientSession() as session:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().removeprefix("serving at ").strip()
        address = urlsplit(url)
        head = f"POST /api/v1/games HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        for half, answer in ((b"", b""), (b"GET / HT", b""), (head.encode(), b""), (
            f"{head}Content-Length: 100\r\n\r\n{{".encode(), b"HTTP/1.1 408"
        )):  # fmt: skip
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(half)
            assert (await reader.read()).startswith(answer)
            writer.close()
        async with session.get(url) as response:
            assert response.status == 200
