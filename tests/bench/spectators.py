"""What spectators cost the clocks: `python -m tests.bench.spectators [--spectators 100] [--matches 3]`.

A real service plays matches between bots that answer at once, first without spectators, then with as many as wanted,
who read all events of the match in a process of their own. Printed are, of each step, the seconds that the game master
measured for the slower answer (what the clocks see), and the seconds of the whole step.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import aiohttp

from gamemaster.record import MatchRecord

BOTS = {"black": {"kind": "bot", "bot": "legal"}, "white": {"kind": "bot", "bot": "legal"}}
ORDER = {"game": "reversi", "players": BOTS, "startclock": 10, "playclock": 5, "seed": 1}
PATIENCE = 120.0


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spectators", type=int, default=100)
    parser.add_argument("--matches", type=int, default=3)
    arguments = parser.parse_args()
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


async def crowd(url: str, spectators: int) -> None:
    """Listens until the match is over; prints how many steps each has heard of. One listens in any case."""
    os.nice(10)  # real spectators are at other computers
    async with session() as client:
        heard = await asyncio.gather(*(spectate(client, url) for _ in range(max(spectators, 1))))
    print(json.dumps(heard))


async def spectate(client: aiohttp.ClientSession, url: str) -> int:
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
    else:
        asyncio.run(main())
