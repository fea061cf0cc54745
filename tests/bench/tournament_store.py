"""How fast a store is: `python -m tests.bench.tournament_store --matches 10000 [--url URL]`."""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ggp
from gamemaster.faults import FaultKind, make_fault
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.store import Manager, Store, open_store
from tests.gamemaster.tournament.store_matches import a_pairing, a_record, a_spec

NAME = "bench"
PLAYERS = tuple(f"player{number}" for number in range(10))
GAMES = ("tictactoe", "connectfour", "breakthrough")
KINDS: tuple[FaultKind, ...] = ("timeout", "illegal", "malformed")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--url", default="", help="of the database; a file in a temporary folder by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or str(Path(folder) / "bench.sqlite")
        with open_store(url) as store:
            fill(store, arguments.matches)
        if not arguments.url:
            print(f"{Path(url).stat().st_size / 2**20:8.1f} MiB on disk")
        read(url)


def fill(store: Store, count: int) -> None:
    store.create(a_spec(NAME, PLAYERS))
    pairings = [make_pairing(number) for number in range(count)]
    spent: dict[str, list[float]] = {"begin": [], "keep": [], "finish": []}
    rules = ggp.load("tictactoe", "interpreter").rulesheet.text
    with store.manage(NAME) as manager:
        for number, pairing in enumerate(pairings):
            play(manager, pairing, number, rules, spent)
    for name, seconds in spent.items():
        median, worst = statistics.median(seconds), max(seconds)
        print(f"{median * 1000:8.2f} ms {name}, median of {len(seconds)}; worst {worst * 1000:.1f} ms")


def make_pairing(number: int) -> Pairing:
    players = (PLAYERS[number % 10], PLAYERS[(number + 1 + number // 10 % 9) % 10])
    return a_pairing(number, players, GAMES[number // 90 % 3])


def play(manager: Manager, pairing: Pairing, number: int, rules: str, spent: dict[str, list[float]]) -> None:
    fault = {3: {"white": make_fault(KINDS[number % 3], "a fault")}} if number % 5 == 0 else {}
    record = a_record(
        pairing, goals={"white": number * 7 % 101, "black": 100 - number * 7 % 101}, faults=fault, rules=rules
    )
    first = record.model_copy(update={"steps": record.steps[:1], "status": "running", "finished": None, "goals": None})
    spent["begin"].append(seconds_of(lambda: manager.begin(pairing)))
    spent["keep"].append(seconds_of(lambda: manager.keep(pairing, first)))
    spent["finish"].append(seconds_of(lambda: manager.finish(pairing, record)))


def read(url: str) -> None:
    show("open", lambda: open_store(url).close())
    with open_store(url) as store:
        middle = store.matches(NAME, limit=1).rows[0].pairing
        show("results", lambda: store.results(NAME))
        show("one record", lambda: store.record(NAME, middle))
        show("tournaments", store.tournaments)
        show("statistics", lambda: store.statistics(NAME))
        show("statistics of all", store.statistics)
        show("matches, the first 100", lambda: store.matches(NAME))
        show("matches, the last 100", lambda: store.matches(NAME, offset=store.tournament(NAME).counts.finished - 100))
        show("matches of a player", lambda: store.matches(NAME, player=PLAYERS[3], offset=1000))
        show("matches of a game", lambda: store.matches(NAME, game=GAMES[1], offset=1000))
        show("matches that failed", lambda: store.matches(NAME, status="failed"))
        show("matches of all, the first 100", lambda: store.matches(None))
        show("revision", store.revision)
        show("running", lambda: store.running(NAME))


def show(name: str, call: Callable[[], object]) -> None:
    """The median of eleven, the first, and the median of the processor's time, which other programs change less."""
    times, processor = [], []
    for _ in range(11):
        began = time.process_time()
        times.append(seconds_of(call))
        processor.append(time.process_time() - began)
    first, median, used = times[0] * 1000, statistics.median(times) * 1000, statistics.median(processor) * 1000
    print(f"{median:8.2f} ms {name}; the first time {first:.2f} ms; {used:.2f} ms of the processor")


def seconds_of(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
