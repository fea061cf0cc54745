"""Disturbs tournaments at random moments: `python -m tests.bench.chaos --kills 1000`.

The manager, its children (bots, what evaluates the rules) and the store's server are killed, children are stopped for
some seconds, the disk is full for a while, and the clock jumps. Whatever happens, no result may be lost, changed or
doubled, no process may stay, the schedule must be played to its end, and every record must replay. Bots play by seeds,
so where only managers are killed the results must also be those of a tournament that nobody disturbed.
"""

import argparse
import contextlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gamemaster.replay import replay
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.schedule import Schedule
from gamemaster.tournament.spec_files import check_spec, read_spec
from gamemaster.tournament.store import open_store
from ggp.errors import RecordError
from tests.gamemaster import games
from tests.gamemaster.test_commands import GGP
from tests.gamemaster.tournament import postgresql

MARK = "GGP_CHAOS"  # in the environment of all processes of this run
EARLY = 0.25  # of the lives are disturbed before a match has ended
PATIENCE = 60.0  # seconds for processes to end
WARMING = b"ggp.commands.cache"  # what compiles kernels in the background, and is meant to stay until it is done
DISK = "96m"  # room of the folder where the disk is full at times
LONGEST_PAUSE = 4.0  # seconds for which a child is stopped, or the disk is full
LONGEST_JUMP = 7200  # seconds by which the clock jumps, forwards or backwards
KINDS = ("manager", "child", "store", "pause", "disk", "clock")
KILLS = ("manager", "child", "store")
_FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")

SPEC = """
name = "event"
seed = {seed}
rounds = {rounds}
games = [{{rules = "tictactoe"}}, {{rules = "guessing.kif"}}]
players = [{{bot = "random"}}, {{bot = "legal"}}, {{name = "other", bot = "random"}}]
match = {{startclock = 1, playclock = 1, grace = 5.0}}
limits = {limits}
{store}
"""


@dataclass
class Tally:
    """What was seen so far."""

    done: Counter[str] = field(default_factory=Counter)  # kind of disturbance → how often
    early: int = 0  # managers killed before a match had ended in that life
    refused: int = 0  # lives that ended with a clear word, since the disk was full or the store gone
    results: int = 0  # of tournaments that are complete
    same: int = 0  # of these, as many as are those of an undisturbed tournament
    lost: int = 0
    changed: int = 0
    doubled: int = 0
    missing: int = 0  # of the schedule, at its end
    unreplayed: int = 0  # records that do not replay
    orphans: int = 0  # processes that stayed longer than we have patience
    longest: float = 0.0  # seconds that the last child needed to end
    problems: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return sum(self.done[kind] for kind in KILLS)

    @property
    def is_good(self) -> bool:
        wrong = self.lost, self.changed, self.doubled, self.missing, self.unreplayed, self.orphans
        return not any(wrong) and not self.problems


@dataclass(frozen=True)
class Event:
    """What is played."""

    rounds: int  # 12 matches each
    limits: str = "{processors = 4}"  # many matches at a time, and many processes that somebody has to end


class Victim:
    """A tournament that is disturbed, and resumed until it is complete."""

    def __init__(self, folder: Path, seed: int, event: Event, tally: Tally, server: postgresql.Server | None) -> None:
        folder.mkdir()
        (folder / "guessing.kif").write_text(games.GUESSING, encoding="utf-8")
        self.path = folder / "event.toml"
        self.store = str(folder / "event.sqlite") if server is None else server.new_schema()
        store = "" if server is None else f"results = {{store = {json.dumps(self.store)}}}"
        self.path.write_text(
            SPEC.format(seed=seed, rounds=event.rounds, limits=event.limits, store=store), encoding="utf-8"
        )
        self._server = server
        self._tally = tally
        self._mark = f"{MARK}={secrets.token_hex(8)}"
        self._known: Mapping[str, MatchResult] = {}
        self._filling = folder / "filling"
        self._clock = folder / "clock"
        self._clock.write_text("+0s", encoding="utf-8")

    def live(self, kinds: Sequence[str], chance: random.Random) -> bool:
        """One life of the manager, disturbed in these ways; whether it came to its own end."""
        with tempfile.TemporaryFile() as said:
            command = [*GGP, "tournament", "run", str(self.path), "--resume"]
            with subprocess.Popen(command, env=self._environment(kinds), stdout=said, stderr=said) as process:
                if kinds and chance.random() > EARLY:
                    _wait_for_result(process, said.fileno())
                disturbed = self._disturb_until_end(process, kinds, chance)
            said.seek(0)
            complaint = said.read().decode(errors="replace")
        if process.returncode == -signal.SIGKILL:
            self._tally.early += "\n[" not in f"\n{complaint}"
        elif process.returncode != 0:
            self._explain(process.returncode, complaint, disturbed)
        self._bury()
        self._compare()
        return process.returncode == 0

    def _environment(self, kinds: Sequence[str]) -> dict[str, str]:
        name, _, value = self._mark.partition("=")
        environment = {**os.environ, name: value}
        if "clock" in kinds:
            environment |= {
                "LD_PRELOAD": str(_FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(self._clock),
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_NO_CACHE": "1",
            }
        return environment

    def _disturb_until_end(
        self, process: "subprocess.Popen[bytes]", kinds: Sequence[str], chance: random.Random
    ) -> Counter[str]:
        disturbed: Counter[str] = Counter()
        while kinds:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.choice((chance.uniform(0.0, 1.0), chance.uniform(0.5, 3.0))))
            if process.poll() is not None:
                break
            kind = chance.choice(kinds)
            if self._disturb(kind, process, chance):
                disturbed[kind] += 1
                self._tally.done[kind] += 1
        process.wait()
        return disturbed

    def _disturb(self, kind: str, process: "subprocess.Popen[bytes]", chance: random.Random) -> bool:
        """Whether there was anything to disturb."""
        seconds = chance.uniform(0.2, LONGEST_PAUSE)
        match kind:
            case "manager":
                process.kill()
                process.wait()
            case "child" | "pause":
                children = [pid for pid in marked(self._mark) if pid != process.pid]
                return bool(children) and _signal_child(chance.choice(children), kind, seconds)
            case "store" if self._server is not None:
                self._server.stop("immediate")
                time.sleep(seconds / 4)
                self._server.start()
            case "disk" if self._server is None:
                with contextlib.suppress(OSError), self._filling.open("wb") as file:
                    while True:
                        file.write(bytes(1 << 20))
                time.sleep(seconds)
                self._filling.unlink(missing_ok=True)
            case "clock":
                self._clock.write_text(f"{chance.randint(-LONGEST_JUMP, LONGEST_JUMP):+d}s", encoding="utf-8")
            case _:
                return False
        return True

    def _explain(self, code: int, complaint: str, disturbed: Counter[str]) -> None:
        """A manager may give up where its disk, its store or what evaluates rules is gone, if it says so in a line."""
        if code == 2 and disturbed.keys() & {"disk", "store", "child"} and "Traceback" not in complaint:
            self._tally.refused += 1
        else:
            self._tally.problems.append(f"exit code {code}: {complaint.strip()[-2000:]}")

    def _bury(self) -> None:
        """Waits for the children to end by themselves."""
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
        if self._server is None and not Path(self.store).exists():
            return {}
        with open_store(self.store, create=False) as store:
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
        self._tally.same += sum(
            name in undisturbed and outcome(undisturbed[name]) == outcome(result)
            for name, result in self._known.items()
        )
        with open_store(self.store, create=False) as store:
            if store.tournament("event").status != "complete":
                self._tally.problems.append(f"{self.path.parent}: {store.tournament('event').status}")
            for name, result in self._known.items():
                record = store.record("event", name)
                if (record.status, len(record.steps)) != (result.ending, result.steps):
                    self._tally.problems.append(f"{name}: the record is not that of the result")
                try:
                    for _ in replay(record):
                        pass
                except RecordError as error:
                    self._tally.unreplayed += 1
                    self._tally.problems.append(f"{name}: {error}")
        if self._server is None:
            self._check_file()

    def _check_file(self) -> None:
        connection = sqlite3.connect(self.store)
        for pragma in ("integrity_check", "foreign_key_check"):
            found = connection.execute(f"PRAGMA {pragma}").fetchall()
            if found not in ([], [("ok",)]):
                self._tally.problems.append(f"{pragma}: {found}")
        connection.close()


def _wait_for_result(process: "subprocess.Popen[bytes]", said: int) -> None:
    """Until a match has ended, or the manager; said: the file that it writes to."""
    while process.poll() is None and b"\n[" not in b"\n" + os.pread(said, 1 << 16, 0):
        time.sleep(0.05)


def _signal_child(pid: int, kind: str, seconds: float) -> bool:
    """Killed, or stopped for so long; False when it had ended by itself."""
    try:
        if kind == "child":
            os.kill(pid, signal.SIGKILL)
            return True
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


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


def run_chaos(
    folder: Path,
    kills: int,
    event: Event,
    seed: int,
    kinds: Sequence[str] = ("manager",),
    stop: Callable[[], bool] = lambda: False,
) -> Tally:
    """Tournaments one after the other, until so much was killed, or `stop()`; the last one is complete, too."""
    chance, tally = random.Random(seed), Tally()
    number = 0
    with _server_for(kinds) as server:
        while tally.kills < kills and not stop():
            number += 1
            undisturbed: Mapping[str, MatchResult] = {}
            if set(kinds) == {"manager"}:
                model = Victim(folder / f"undisturbed-{number}", number, event, Tally(), None)
                if not model.live((), chance):
                    tally.problems.append("the tournament that nobody disturbed did not end")
                    break
                undisturbed = model.results()
            # every second tournament is in the file, where a disk can be full, the others on the server
            victim = Victim(folder / f"event-{number}", number, event, tally, server if number % 2 else None)
            while not victim.live(kinds if tally.kills < kills and not stop() else (), chance):
                say(tally)
            victim.check(undisturbed)
    return tally


@contextlib.contextmanager
def _server_for(kinds: Sequence[str]) -> Iterator[postgresql.Server | None]:
    if "store" not in kinds:
        yield None
        return
    with postgresql.server() as server:
        yield server


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """A folder in memory with room for `DISK`; needs the rights of root."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


def say(tally: Tally) -> None:
    print(f"\r{dict(tally.done)}, {tally.results} results", end="", file=sys.stderr, flush=True)


def possible() -> dict[str, str]:
    """Kind of disturbance → why it cannot be made here; empty where it can."""
    missing = dict.fromkeys(KINDS, "")
    missing["store"] = postgresql.what_is_missing()
    missing["clock"] = "" if _FAKETIME.exists() else "libfaketime is not installed"
    missing["disk"] = "" if os.geteuid() == 0 and shutil.which("mount") else "only root can mount a small disk"
    return missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=25, help="12 matches each")
    parser.add_argument("--matches", type=int, default=8, help="at a time; few make lives shorter, so more of them")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    words = parser.parse_args()
    missing = possible()
    kinds = [kind for kind in words.kinds if not missing[kind]]
    for kind in set(words.kinds) - set(kinds):
        print(f"left out: {kind}: {missing[kind]}")
    place = small_disk() if "disk" in kinds else tempfile.TemporaryDirectory()
    began, stopped = time.monotonic(), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())  # the tournament is played to its end, and checked
    with place as folder:
        event = Event(words.rounds, f"{{matches = {words.matches}}}")
        tally = run_chaos(Path(folder), words.kills, event, words.seed, kinds, stop=stopped.is_set)
    print(f"\nseed {words.seed}, {time.monotonic() - began:.0f} s: {tally.kills} kills: {dict(tally.done)}; ", end="")
    print(f"{tally.early} managers before a match had ended; {tally.refused} gave up with a clear word")
    print(f"{tally.results} results: {tally.lost} lost, {tally.changed} changed, {tally.doubled} doubled, ", end="")
    print(f"{tally.missing} missing, {tally.unreplayed} records that do not replay; ", end="")
    print(f"{tally.same} are those of undisturbed tournaments")
    print(f"{tally.orphans} orphaned processes; the last child ended {tally.longest:.2f} s after its manager at most")
    print("\n".join(tally.problems))
    sys.exit(0 if tally.is_good else 1)


if __name__ == "__main__":
    main()
