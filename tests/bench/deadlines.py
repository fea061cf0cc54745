"""Whether answers leave in time, and how much of the clock is used: `python -m tests.bench.deadlines --moves 1000`.

A player plays the first role of a game over HTTP against random moves, with busy processes beside it. Then, without
HTTP, how long its search goes on after it was told to stop: `--stops 200`.
"""

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import ggp
from ggp.gdl.reader import read, read_term
from ggp.gdl.terms import to_text
from ggp.library import find_rulesheet
from ggp.protocol.messages import Play, Start, Stop, format_message
from players.settings import PlayerSettings
from players.strategy import Thought
from players.thinker import Thinker, make_interpreter

BUSY = "while True: pass"
LONGEST = 60.0  # seconds to wait for an answer that is late


@dataclass(slots=True)
class Measured:
    """Seconds from the question to the answer."""

    all: list[float] = field(default_factory=list)
    unsettled: list[float] = field(default_factory=list)  # where there was a choice, and it was not proven
    notes: list[str] = field(default_factory=list)

    def lines(self, playclock: int) -> list[str]:
        late = sum(seconds > playclock for seconds in self.all)
        brief = sum(seconds < 0.8 * playclock for seconds in self.unsettled)
        used = sorted(self.unsettled)
        beside = sum("visits" not in note for note in self.notes)
        return [
            f"{len(self.all)} moves, {late} late, longest {max(self.all):.3f} s of {playclock} s",
            f"{beside} moves found before the fast engine was ready",
            f"{len(used)} with something to find out, {brief} below 80 % of the clock"
            + (f", shortest {used[0]:.3f} s, median {used[len(used) // 2]:.3f} s" if used else ""),
        ]


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep processors busy."""
    with ExitStack() as stack:
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-c", BUSY])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


@contextmanager
def served(*options: str) -> Iterator[tuple[int, list[str]]]:
    """A player `mcts` in a process of its own: its port, and the lines of its log as they come."""
    command = [sys.executable, "-m", "players", "mcts", "--port", "0", "--announce", "--seed", "1", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        log: list[str] = []
        reader = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
        try:
            port = json.loads(process.stdout.readline())["port"]
            reader.start()
            yield port, log
        finally:
            process.terminate()
            process.wait()


def play(game: str, moves: int, clocks: tuple[int, int], *options: str) -> Measured:
    """Matches until so many moves have been asked for."""
    loaded = ggp.load(game, "interpreter")
    rules = _rules(game)
    rng, measured = random.Random(1), Measured()
    with served(*options) as (port, log):
        match = 0
        while len(measured.all) < moves:
            match += 1
            name, own = f"m{match}", loaded.roles[match % len(loaded.roles)]
            ready = _say(port, format_message(Start(name, own, rules, *clocks)))
            assert ready == "ready", (ready, log)
            state, told = loaded.initial_state, None
            while not state.is_terminal and len(measured.all) < moves:
                began = time.perf_counter()
                answer = _say(port, format_message(Play(name, told)))
                seconds = time.perf_counter() - began
                measured.all.append(seconds)
                note = _note(log, len(measured.all))
                if len(state.legal_moves(own)) > 1 and not re.search("proven|the best there is", note):
                    measured.unsettled.append(seconds)
                    measured.notes.append(note)
                chosen = {role: rng.choice(state.legal_moves(role)) for role in loaded.roles} | {own: answer}
                state = state.play(chosen)
                told = tuple(read_term(chosen[role]) for role in loaded.roles)
            _say(port, format_message(Stop(name, told)))
    return measured


def stops(game: str, count: int) -> list[float]:
    """Seconds of processor time for which a search goes on after it was told to stop, at random moments; sorted."""
    rng = random.Random(2)
    rules = _rules(game)
    role = ggp.load(game, "interpreter").roles[0]
    thinker = Thinker(Start("m", role, rules, 10, 10), PlayerSettings("mcts", seed=1), make_interpreter)
    found = []
    for _ in range(count):
        thought = Thought(time.monotonic, time.monotonic() + LONGEST)
        thread = threading.Thread(target=thinker.ponder, args=(thinker.state, None, thought))
        thread.start()
        time.sleep(rng.uniform(0.02, 0.3))
        began = time.process_time()
        thought.cancel()
        thread.join()
        found.append(time.process_time() - began)
    return sorted(found)


def _rules(game: str) -> str:
    """Without comments, which a message of one line cannot have."""
    return " ".join(to_text(node.term) for node in read(find_rulesheet(game).read_text(encoding="utf-8")))


def _say(port: int, message: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    connection.request("POST", "/", message.encode())
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def _note(log: list[str], answers: int) -> str:
    """What the player said before its latest answer, of which it logs every one."""
    until = time.monotonic() + 5.0
    places: list[int] = []
    while len(places) < answers and time.monotonic() < until:
        time.sleep(0.001)
        places = [at for at, line in enumerate(log) if " PLAY " in line]
    before = log[places[-1] - 1] if len(places) == answers else ""
    return "" if re.search(r"\d (PLAY|START|STOP|ABORT) ", before) else before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="breakthrough")
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--playclock", type=int, default=1)
    parser.add_argument("--startclock", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("options", nargs="*", help="of the player, after --")
    given = parser.parse_args()
    with busy(given.busy):
        if given.moves:
            measured = play(given.game, given.moves, (given.startclock, given.playclock), *given.options)
            print(*measured.lines(given.playclock), sep="\n", flush=True)
            print(*[note.strip() for note in measured.notes[:3]], sep="\n")
        if given.stops:
            found = stops(given.game, given.stops)
            print(
                f"{len(found)} stops: median {found[len(found) // 2] * 1000:.1f} ms, longest {found[-1] * 1000:.1f} ms"
            )


if __name__ == "__main__":
    main()
