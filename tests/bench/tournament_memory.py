"""The memory of a manager over a long tournament: `python -m tests.bench.tournament_memory --matches 10000`.

Tic-tac-toe between players that answer at once. Afterwards: how long standings take, and how long it takes to go on
with a tournament of so many results.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gamemaster.tournament.progress import Tracker
from gamemaster.tournament.runner import MatchFinished, News, Opened, run_tournament
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.standings import standings
from gamemaster.tournament.store import Store, open_store
from gamemaster.tournament.venue import LocalVenue
from tests.bench.instant_players import instant_players

PLAYERS = 16
LOOKS = 10


def resident() -> float:
    """MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def play(spec: TournamentSpec, store: Store) -> None:
    tracker = Tracker()
    began = time.perf_counter()

    def listen(news: News) -> None:
        tracker.take(news)
        if isinstance(news, Opened):
            print(f"{resident():7.1f} MiB before the first of {news.expected} matches")
        if isinstance(news, MatchFinished) and news.done % (news.expected // LOOKS) == 0:
            print(f"{resident():7.1f} MiB after {news.done} matches, {time.perf_counter() - began:.0f} s", flush=True)

    await run_tournament(spec, store, LocalVenue(spec, print), listen)


async def go_on(spec: TournamentSpec, store: Store) -> float:
    """Seconds until matches could begin again."""
    opened: list[float] = []

    def listen(news: News) -> None:
        if isinstance(news, Opened):
            opened.append(time.perf_counter())

    began = time.perf_counter()
    await run_tournament(spec, store, LocalVenue(spec, print), listen)
    return opened[0] - began


def event(urls: Sequence[str], matches: int) -> TournamentSpec:
    meetings = PLAYERS * (PLAYERS - 1)
    return TournamentSpec.model_validate(
        {
            "name": "event",
            "rounds": max(1, round(matches / meetings)),
            "games": [{"rules": "tictactoe"}],
            "players": [{"name": f"p{number}", "url": url} for number, url in enumerate(urls)],
            "limits": {"matches": 8, "per_host": 8},
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=10_000)
    words = parser.parse_args()
    with instant_players(PLAYERS) as urls, tempfile.TemporaryDirectory() as folder:
        spec = event(urls, words.matches)
        with open_store(str(Path(folder) / "event.sqlite")) as store:
            store.create(spec)
            asyncio.run(play(spec, store))
            began = time.perf_counter()
            values = standings([player.name for player in spec.players], store.results("event"))
            print(f"{time.perf_counter() - began:7.2f} s for the standings after {values.matches} matches")
            print(f"{asyncio.run(go_on(spec, store)):7.2f} s until it could go on")


if __name__ == "__main__":
    main()
