"""What the game master adds to a match: `python -m tests.bench.tournament_overhead`.

Tic-tac-toe between players that answer at once, over HTTP, in another process of this computer: seconds of a step,
seconds of a whole match of nine steps, and matches in a second with eight at a time, each of them in a tournament, with
its store.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from gamemaster.evaluator import RULES_BYTES, Evaluator, RemoteRules, find_source, load_rules
from gamemaster.match import Event, Started, Stepped, run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord
from gamemaster.settings import MatchSettings
from gamemaster.tournament.runner import MatchBegun, MatchFinished, News, run_tournament
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.store import open_store
from gamemaster.tournament.venue import LocalVenue
from tests.bench.instant_players import STEPS, instant_players

SETTINGS = MatchSettings(seed=1)


async def one_match(rules: RemoteRules, urls: Sequence[str]) -> tuple[float, list[float]]:
    """Seconds of a whole match and of each of its steps, the slower player's included."""
    moments: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, Started | Stepped):
            moments.append(time.perf_counter())

    def keep(_: MatchRecord) -> None:
        """Nowhere."""

    players = {role: Player(role, role, url) for role, url in zip(rules.game.roles, urls, strict=True)}
    began = time.perf_counter()
    record = await run_match(rules, players, SETTINGS, "match", keep, listen)
    seconds = time.perf_counter() - began
    assert record.faults == (), record.faults
    assert len(record.steps) == STEPS
    return seconds, [later - earlier for earlier, later in pairwise(moments)]


async def measure_matches(urls: Sequence[str], matches: int) -> None:
    """One match at a time."""
    evaluator = Evaluator(RULES_BYTES)
    rules = await load_rules(evaluator, find_source("tictactoe"))
    await one_match(rules, urls)
    took = [await one_match(rules, urls) for _ in range(matches)]
    await evaluator.close()
    steps = [step for _, each in took for step in each]
    whole = [seconds for seconds, _ in took]
    slow = statistics.quantiles(steps, n=10)[-1]
    print(f"{1e3 * statistics.median(steps):6.2f} ms a step, median of {len(steps)}; a tenth over {1e3 * slow:.2f} ms")
    print(f"{1e3 * statistics.median(whole):6.1f} ms a match, median of {matches}; longest {1e3 * max(whole):.1f} ms")


async def measure_tournament(urls: Sequence[str], at_a_time: int, folder: Path, matches: int) -> None:
    """All players against all, several matches at a time."""
    count = len(urls)
    spec = TournamentSpec.model_validate(
        {
            "name": "event",
            "rounds": max(1, round(matches / (count * (count - 1)))),
            "games": [{"rules": "tictactoe"}],
            "players": [{"name": f"p{number}", "url": url} for number, url in enumerate(urls)],
            "limits": {"matches": at_a_time, "per_host": at_a_time},
        }
    )
    begun: dict[str, float] = {}
    took: list[float] = []
    moments: list[float] = []

    def listen(news: News) -> None:
        match news:
            case MatchBegun(job):
                begun[job.match] = time.perf_counter()
            case MatchFinished(job, result):
                assert not any(result.faults), result
                moments.append(time.perf_counter())
                took.append(moments[-1] - begun.pop(job.match))

    venue = LocalVenue(spec, print)
    with open_store(str(folder / "event.sqlite")) as store:
        store.create(spec)
        await run_tournament(spec, store, venue, listen)
    await venue.close()
    rate = (len(moments) - at_a_time) / (moments[-1] - moments[at_a_time - 1])
    print(f"{rate:6.1f} matches a second in a tournament of {len(moments)}, {at_a_time} at a time", end="")
    print(f"; {1e3 * statistics.median(took):.0f} ms each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=100)
    words = parser.parse_args()
    with instant_players(16) as urls, tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure_matches(urls[:2], words.matches))
        for at_a_time in (1, 8):
            place = Path(folder) / str(at_a_time)
            place.mkdir()
            asyncio.run(measure_tournament(urls, at_a_time, place, 5 * words.matches))


if __name__ == "__main__":
    main()
