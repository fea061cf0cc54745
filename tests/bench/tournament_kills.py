"""Kills the manager of tournaments at random moments: `python -m tests.bench.tournament_kills --kills 100`.

Whatever the moment, no result may be lost, changed or doubled, no bot may stay, and the schedule must be played to its
end. Bots play by seeds, so the results must also be those of a tournament that nobody disturbed.
"""

import argparse
import os
import random
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gamemaster.tournament.results import MatchResult
from gamemaster.tournament.schedule import Schedule
from gamemaster.tournament.spec_files import check_spec, read_spec
from gamemaster.tournament.store import open_store
from tests.gamemaster import games
from tests.gamemaster.test_commands import GGP

MARK = "GGP_KILLS"  # in the environment of all processes of this run
PATIENCE = 60.0  # seconds for processes to end, and for the first news
WARMING = b"ggp.commands.cache"  # what compiles kernels in the background, and is meant to stay until it is done
EARLY = 0.25  # of the kills come before a match has ended
LATER = 1.5  # seconds after the first match that has ended, at most, until the others come

SPEC = """
name = "event"
seed = {seed}
rounds = {rounds}
games = [{{rules = "tictactoe"}}, {{rules = "guessing.kif"}}]
players = [{{bot = "random"}}, {{bot = "legal"}}, {{name = "other", bot = "random"}}]
match = {{startclock = 1, playclock = 1, grace = 5.0}}
limits = {{processors = 4}}
"""


@dataclass
class Tally:
    """What was seen so far."""

    kills: int = 0
    early: int = 0  # kills before a match had ended in that life
    results: int = 0  # of tournaments that are complete
    same: int = 0  # of these, as many as are those of an undisturbed tournament
    lost: int = 0
    changed: int = 0
    doubled: int = 0
    missing: int = 0  # of the schedule, at its end
    orphans: int = 0  # processes that stayed longer than we have patience
    longest: float = 0.0  # seconds that the last bot needed to end
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.changed or self.doubled or self.missing or self.orphans or self.problems)


class Victim:
    """A tournament that is killed and resumed until it is complete."""

    def __init__(self, folder: Path, seed: int, rounds: int, chance: random.Random, tally: Tally) -> None:
        folder.mkdir()
        (folder / "guessing.kif").write_text(games.GUESSING, encoding="utf-8")
        self.path = folder / "event.toml"
        self.path.write_text(SPEC.format(seed=seed, rounds=rounds), encoding="utf-8")
        self.store = folder / "event.sqlite"
        self._chance = chance
        self._tally = tally
        self._mark = f"{MARK}={secrets.token_hex(8)}"
        self._known: Mapping[str, MatchResult] = {}

    def live(self, *, is_killed: bool) -> bool:
        """One life of the manager; whether it came to its own end."""
        command = [*GGP, "tournament", "run", str(self.path), "--resume"]
        name, _, value = self._mark.partition("=")
        pipe = subprocess.PIPE
        environment = {**os.environ, name: value}
        with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
            if is_killed:
                self._wait(process)
                process.send_signal(signal.SIGKILL)
            _, complaint = process.communicate()
        if process.returncode not in (0, -signal.SIGKILL):
            self._tally.problems.append(f"exit code {process.returncode}: {complaint.strip()}")
        self._tally.kills += process.returncode == -signal.SIGKILL
        self._bury()
        self._compare()
        return process.returncode == 0

    def _wait(self, process: "subprocess.Popen[str]") -> None:
        """Until a random moment."""
        assert process.stdout is not None
        if self._chance.random() < EARLY:
            time.sleep(self._chance.uniform(0.0, 3.0))
            self._tally.early += 1
            return
        for line in process.stdout:
            if line.startswith("["):
                break
        time.sleep(self._chance.uniform(0.0, LATER))

    def _bury(self) -> None:
        """Waits for the bots to end by themselves."""
        began = time.monotonic()
        while left := marked(self._mark):
            if time.monotonic() - began > PATIENCE:
                self._tally.orphans += len(left)
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                break
            time.sleep(0.02)
        self._tally.longest = max(self._tally.longest, time.monotonic() - began)

    def _compare(self) -> None:
        """What had a result before this life has the same one now."""
        results = self.results()
        self._tally.lost += len(self._known.keys() - results.keys())
        self._tally.changed += sum(results[name] != result for name, result in self._known.items() if name in results)
        self._known = results

    def results(self) -> Mapping[str, MatchResult]:
        if not self.store.exists():
            return {}
        with open_store(str(self.store), create=False) as store:
            if "event" not in {stored.spec.name for stored in store.tournaments()}:
                return {}
            results = store.results("event")
        self._tally.doubled += len(results) - len({result.pairing.id for result in results})
        return {result.pairing.id: result for result in results}

    def check(self, undisturbed: Mapping[str, MatchResult]) -> None:
        """That a tournament which is complete has everything."""
        spec = read_spec(self.path)
        schedule = Schedule(spec, check_spec(spec))
        for result in self._known.values():
            schedule.add(result)
        self._tally.missing += len(schedule.open)
        self._tally.results += len(self._known)
        self._tally.same += sum(outcome(undisturbed[name]) == outcome(self._known[name]) for name in self._known)
        with open_store(str(self.store), create=False) as store:
            if store.tournament("event").status != "complete":
                self._tally.problems.append(f"{self.path.parent}: {store.tournament('event').status}")
            for name, result in self._known.items():
                record = store.record("event", name)
                if (record.status, len(record.steps)) != (result.ending, result.steps):
                    self._tally.problems.append(f"{name}: the record is not that of the result")
        connection = sqlite3.connect(self.store)
        for pragma in ("integrity_check", "foreign_key_check"):
            found = connection.execute(f"PRAGMA {pragma}").fetchall()
            if found not in ([], [("ok",)]):
                self._tally.problems.append(f"{pragma}: {found}")
        connection.close()


def outcome(result: MatchResult) -> object:
    """What follows from the seed as long as nobody is late."""
    return result.pairing, result.goals, result.steps, result.faults


def marked(mark: str) -> list[int]:
    """Living processes whose environment says so."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            state = re.sub(r".*\) ", "", (folder / "stat").read_text(encoding="utf-8"))[0]
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in environment and state not in "ZX" and WARMING not in words:
            found.append(int(folder.name))
    return found


def run_kills(folder: Path, kills: int, rounds: int, seed: int) -> Tally:
    """Tournaments one after the other, until the manager was killed so often; the last one is complete, too."""
    chance, tally = random.Random(seed), Tally()
    number = 0
    while tally.kills < kills:
        number += 1
        undisturbed = Victim(folder / f"undisturbed-{number}", number, rounds, chance, Tally())
        if not undisturbed.live(is_killed=False):
            tally.problems.append("the tournament that nobody disturbed did not end")
            break
        victim = Victim(folder / f"event-{number}", number, rounds, chance, tally)
        while not victim.live(is_killed=tally.kills < kills):
            say(tally)
        victim.check(undisturbed.results())
    return tally


def say(tally: Tally) -> None:
    print(f"\r{tally.kills} kills, {tally.results} results", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=25, help="12 matches each")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = run_kills(Path(folder), words.kills, words.rounds, words.seed)
    print(f"\nseed {words.seed}: {tally.kills} kills, {tally.early} of them before a match had ended")
    print(f"{tally.results} results: {tally.lost} lost, {tally.changed} changed, {tally.doubled} doubled, ", end="")
    print(f"{tally.missing} missing; {tally.same} are those of undisturbed tournaments")
    print(f"{tally.orphans} orphaned processes; the last bot ended {tally.longest:.2f} s after its manager at most")
    print("\n".join(tally.problems))
    sys.exit(0 if tally.is_good else 1)


if __name__ == "__main__":
    main()
