"""How fast pages come: `python -m tests.bench.page_loading [--matches 10000]`.

A store is filled with so many matches of one tournament, and each kind of page is asked for on loopback, one after the
other: the first time, and the median of more.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp

from gamemaster.tournament.store import open_store
from tests.bench.spectators import served, session
from tests.gamemaster.web.tournaments import NAME, a_finished_match, a_tournament, finish, pairings_of

TIMES = 15
PLAYERS = tuple(f"player{number}" for number in range(10))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        last = await fill(store, arguments.matches)
        async with served(Path(folder) / "records", "--store", str(store)) as url, session() as client:
            await asyncio.sleep(10)  # the service works out what the first visitors would wait for
            paths = ("/", "/games", "/games/tictactoe", "/matches", "/matches?offset=5000", "/matches?player=player3")
            match = f"/matches/{NAME}~{last}"
            more = (match, f"{match}?step=3", f"/tournaments/{NAME}", "/tournaments", "/play", f"/api/v1{match}")
            for path in (*paths, *more):
                first, *others = [await seconds(client, url + path) for _ in range(1 + TIMES)]
                print(f"{path[:50]:50} first {1000 * first:7.1f} ms, median {1000 * statistics.median(others):7.1f} ms")


async def fill(path: Path, matches: int) -> str:
    """A tournament with so many finished matches; the name of the last one."""
    record = await a_finished_match()
    pairings = len(pairings_of(a_tournament(1, PLAYERS)))
    spec = a_tournament(-(-matches // pairings), PLAYERS)
    with open_store(str(path)) as store:
        store.create(spec)
        with store.manage(NAME) as manager:
            for pairing in pairings_of(spec)[:matches]:
                finish(manager, record, pairing)
    return pairing.id


async def seconds(client: aiohttp.ClientSession, url: str) -> float:
    began = time.perf_counter()
    async with client.get(url) as response:
        await response.read()
        assert response.status == 200, (url, response.status)
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main())
