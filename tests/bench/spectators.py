"""What spectators cost the clocks: `python -m tests.bench.spectators [--spectators 100] [--matches 3]`; with
`--requests 300 --seconds 60` what a service under load takes for its answers, and whether it disturbs its matches.

A real service plays matches between bots that answer at once, first without spectators, then with as many as wanted,
who read all events of the match in a process of their own. Printed are, of each step, the seconds that the game master
measured for the slower answer (what the clocks see), and the seconds of the whole step.

Under load, matches go on between players that take 0.3 s for each move, spectators follow their events, and so many
requests a second come at fixed moments, of pages and of the API, as if from many addresses; the time of a request
counts from the moment when it was due. The visitors are in a process of their own on the same computer.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path

import aiohttp

from gamemaster.record import MatchRecord
from tests.gamemaster.scripted import ScriptedPlayer, Trouble, When, late

BOTS = {"black": {"kind": "bot", "bot": "legal"}, "white": {"kind": "bot", "bot": "legal"}}
ORDER = {"game": "reversi", "players": BOTS, "startclock": 10, "playclock": 5, "seed": 1}
PATIENCE = 120.0
TAKES = 0.3  # seconds that a player takes for a move, under load
SLOW: dict[When, Trouble] = dict.fromkeys(range(200), late(TAKES))
LANES = 2  # matches at a time, under load
PATHS = (
    "/", "/matches", "/matches/ID", "/api/v1/matches/ID", "/games", "/games/reversi", "/api/v1/matches?limit=20",
    "/api/v1/matches/ID/states/3", "/api/v1/games", "/static/style.css", "/api/v1/matches/ID/states/1/picture",
    "/tournaments",
)  # fmt: skip


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spectators", type=int, default=100)
    parser.add_argument("--matches", type=int, default=3)
    parser.add_argument("--requests", type=int, default=0, help="a second; only under load")
    parser.add_argument("--seconds", type=float, default=60.0, help="of load")
    arguments = parser.parse_args()
    if arguments.requests:
        await under_load(arguments.spectators, arguments.requests, arguments.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as url, session() as client:
            await play(client, url, 0)  # everything is warm after it
            alone = [await play(client, url, 0) for _ in range(arguments.matches)]
            watched = [await play(client, url, arguments.spectators) for _ in range(arguments.matches)]
    for name, measured in (("answers", answers), ("steps", whole_steps)):
        before = [value for record in alone for value in measured(record)]
        after = [value for record in watched for value in measured(record)]
        print(f"{name}, without spectators:     {described(before)}")
        print(f"{name}, with {arguments.spectators:3} spectators:    {described(after)}")
        added = statistics.median(after) - statistics.median(before), max(after) - max(before)
        print(f"{name}, added by spectators:    median {1000 * added[0]:6.1f} ms, worst {1000 * added[1]:6.1f} ms")


@asynccontextmanager
async def served(folder: Path, *options: str) -> AsyncIterator[str]:
    """The address of a service in a process of its own."""
    code = "import ggp.commands; raise SystemExit(ggp.commands.main())"
    command = (sys.executable, "-P", "-c", code, "serve", "--port", "0", "--records", str(folder), *options)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            said = (await process.stdout.readline()).decode()
        yield said.rpartition(" ")[2].strip().rstrip("/")
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


@asynccontextmanager
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as opened:
        yield opened


async def play(client: aiohttp.ClientSession, url: str, spectators: int) -> MatchRecord:
    """A match, looked at by so many."""
    async with client.post(f"{url}/api/v1/matches", json=ORDER) as response:
        match = (await response.json())["match"]
    crowd = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __spec__.name,
        "crowd",
        f"{url}/api/v1/matches/{match}/events",
        str(spectators),
        stdout=PIPE,
    )
    heard, _ = await crowd.communicate()
    async with client.get(f"{url}/api/v1/matches/{match}/record") as response:
        record = MatchRecord.model_validate_json(await response.text())
    steps = json.loads(heard)
    assert len(steps) == max(spectators, 1)
    assert all(count >= len(record.steps) - 2 for count in steps), "somebody has missed steps"
    return record


async def under_load(spectators: int, rate: int, seconds: float) -> None:
    """Prints how long requests took, and what the game master measured for the players meanwhile, and before."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--trusted-proxy", "127.0.0.1", "--allow-players", "127.0.0.1")
        async with served(Path(folder), *options) as url, session() as client, AsyncExitStack() as stack:
            pairs = [[await stack.enter_async_context(ScriptedPlayer(SLOW)) for _ in BOTS] for _ in range(LANES)]
            await follow(client, url, pairs[0])
            alone = [await follow(client, url, pairs[0])]
            command = (sys.executable, "-m", __spec__.name, "visitors", url, *map(str, (spectators, rate, seconds)))
            visiting = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
            waiting = asyncio.create_task(visiting.communicate())
            watched: list[MatchRecord] = []

            async def lane(players: Sequence[ScriptedPlayer]) -> None:
                while not waiting.done():
                    watched.append(await follow(client, url, players))

            await asyncio.gather(*map(lane, pairs))
            told = json.loads((await waiting)[0])
    print(f"{spectators} spectators who heard {told['events']} events, {rate} requests a second for {seconds:g} s")
    print(f"requests:                {described(told['times'])}, {told['failures']} failed")
    for path, times in told["paths"].items():
        print(f"  {path:<22} {described(times)}")
    for name, records in (("before", alone), ("under load", watched)):
        late = [value - TAKES for record in records for value in answers(record)]
        faults = sum(len(record.faults) for record in records)
        print(f"answers, {name + ':':<15} {described(late)} more than the player took, {faults} faults")
    print(f"load average: {' '.join(f'{value:.1f}' for value in os.getloadavg())}")


async def follow(client: aiohttp.ClientSession, url: str, players: Sequence[ScriptedPlayer]) -> MatchRecord:
    """A match between these, to its end."""
    external = {
        role: {"kind": "external", "url": player.url, "name": role} for role, player in zip(BOTS, players, strict=True)
    }
    async with client.post(f"{url}/api/v1/matches", json={**ORDER, "players": external}) as response:
        match = (await response.json())["match"]
    await spectate(client, f"{url}/api/v1/matches/{match}/events")
    async with client.get(f"{url}/api/v1/matches/{match}/record") as response:
        return MatchRecord.model_validate_json(await response.text())


async def visitors(url: str, spectators: int, rate: int, seconds: float) -> None:
    """Prints what they saw: the seconds that each request took, by its path, and how many events came."""
    until = time.monotonic() + seconds
    times: dict[str, list[float]] = {}
    failures = 0

    async def request(client: aiohttp.ClientSession, number: int, due: float) -> None:
        nonlocal failures
        path = PATHS[number % len(PATHS)]
        where = path.replace("ID", matches[number % len(matches)])
        async with client.get(url + where, headers=address(number % 100)) as response:
            await response.read()
            failures += response.status >= 500  # the third state is not there at the beginning
        times.setdefault(path, []).append(time.monotonic() - due)

    async def watch(client: aiohttp.ClientSession, number: int) -> int:
        heard = 0
        while time.monotonic() < until:
            running = matches[number % len(matches)]
            with contextlib.suppress(TimeoutError):
                async with (
                    asyncio.timeout(until - time.monotonic()),
                    client.get(f"{url}/api/v1/matches/{running}/events", headers=address(number)) as response,
                ):
                    async for line in response.content:
                        heard += line.startswith(b"event: step")
            await asyncio.sleep(0.2)  # the next match is about to begin
        return heard

    async def look(client: aiohttp.ClientSession) -> None:
        while time.monotonic() < until:
            async with client.get(f"{url}/api/v1/matches?status=running", headers=address(200)) as response:
                found = [one["id"] for one in (await response.json())["matches"] if one["status"] == "running"]
            matches[:] = found or matches
            await asyncio.sleep(0.5)

    matches = [""]
    async with session() as client, asyncio.TaskGroup() as group:
        while matches == [""]:
            async with client.get(f"{url}/api/v1/matches?status=running") as response:
                matches = [one["id"] for one in (await response.json())["matches"]] or [""]
        group.create_task(look(client))
        watching = [group.create_task(watch(client, number)) for number in range(spectators)]
        began = time.monotonic()
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(request(client, number, due))
    every = [value for found in times.values() for value in found]
    told = {"times": every, "paths": times, "failures": failures, "events": sum(task.result() for task in watching)}
    print(json.dumps(told))


def address(number: int) -> dict[str, str]:
    return {"X-Forwarded-For": f"198.51.100.{number % 250}"}


async def crowd(url: str, spectators: int) -> None:
    """Listens until the match is over; prints how many steps each has heard of. One listens in any case."""
    os.nice(10)  # real spectators are at other computers
    async with session() as client:
        heard = await asyncio.gather(*(spectate(client, url) for _ in range(max(spectators, 1))))
    print(json.dumps(heard))


async def spectate(client: aiohttp.ClientSession, url: str) -> int:
    """How many steps were heard of, until the match is over."""
    steps = 0
    async with client.get(url) as response:
        async for line in response.content:
            steps += line.startswith(b"event: step")
            if line.startswith(b"event: end"):
                break
    return steps


def answers(record: MatchRecord) -> list[float]:
    return [max(step.seconds.values()) for step in record.steps]


def whole_steps(record: MatchRecord) -> list[float]:
    return [(later.time - earlier.time).total_seconds() for earlier, later in pairwise(record.steps)]


def described(values: Sequence[float]) -> str:
    ordered = sorted(values)
    middle, most = statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]
    worst = 1000 * ordered[-1]
    return f"median {1000 * middle:6.1f} ms, 99 % {1000 * most:6.1f} ms, worst {worst:6.1f} ms ({len(ordered)})"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    if sys.argv[1:2] == ["crowd"]:
        asyncio.run(crowd(sys.argv[2], int(sys.argv[3])))
    elif sys.argv[1:2] == ["visitors"]:
        asyncio.run(visitors(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])))
    else:
        asyncio.run(main())
