"""Mutated rulesheets and messages: `python -m tests.bench.fuzz rulesheets --cases 50000`, `… messages --cases 100000`.

The seed and the number of a case determine it, so a finding is tried again by `--only NUMBER`. Rulesheets are judged by
both engines in processes of bounded memory. A finding is a case that takes more than its processor seconds, and
everything that is not one of our errors. What was found once and mended stays in `tests/corpus`, which a test tries.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from time import monotonic
from typing import TypeAlias

from gamemaster.transport import MessageCodec
from ggp.circuit.compile import compile_game
from ggp.errors import EvaluationError, GgpError, GroundingError
from ggp.gdl.reader import decode, read
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.gdl.validator import validate
from ggp.grounding import Budget
from ggp.interpreter import Interpreter
from ggp.library import find_rulesheet, game_names, read_bytes
from ggp.protocol.messages import parse_info, parse_message
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import Sample, differences, samples

CORPUS = Path(__file__).parents[1] / "corpus"
STATES = 12  # of random matches that both engines are asked about
FINDINGS = ("differs", "fault", "late", "died")
_PATIENCE = 10  # times the seconds of a case, on a busy machine
_MEMORY = 4 << 30  # bytes of address space of a process that judges
_LONGEST = 60_000  # characters of a rulesheet that is mutated: larger ones take too long to be tried often


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a case: a word, and what a person needs to understand a finding."""

    word: str
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.word in FINDINGS


Judge: TypeAlias = Callable[[str], Verdict]


# Mutations of terms -------------------------------------------------------------------------------------------------

_SPARE: tuple[Term, ...] = ("a", "?x", "?y", "0", "50", "101", "-1", "x" * 300, ("f", "a"), ("f", ("f", "?x")))
_WORDS = (
    *("role", "init", "true", "does", "next", "legal", "goal", "terminal", "base", "input", "distinct", "not", "or"),
    *("and", "sees", "random", "<="),
)


def mutated(sheets: Sequence[tuple[Term, ...]], random: Random) -> str:
    """A rulesheet with some things changed; now and then the text itself, rarely in more than a few places."""
    rules = list(random.choice(sheets))
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        _MUTATIONS[random.randrange(len(_MUTATIONS))](rules, sheets, random)
    text = "\n".join(map(to_text, rules))
    return _torn(text, random) if random.random() < 0.05 else text


def _delete_rule(rules: list[Term], _: Sequence[tuple[Term, ...]], random: Random) -> None:
    if rules:
        del rules[random.randrange(len(rules))]


def _double_rule(rules: list[Term], _: Sequence[tuple[Term, ...]], random: Random) -> None:
    if rules:
        rules.append(_changed(random.choice(rules), random))


def _take_rule(rules: list[Term], sheets: Sequence[tuple[Term, ...]], random: Random) -> None:
    """From another game."""
    other = random.choice(sheets)
    if other:
        rules.insert(random.randrange(len(rules) + 1), random.choice(other))


def _change_rule(rules: list[Term], _: Sequence[tuple[Term, ...]], random: Random) -> None:
    if rules:
        place = random.randrange(len(rules))
        rules[place] = _changed(rules[place], random)


def _swap_bodies(rules: list[Term], _: Sequence[tuple[Term, ...]], random: Random) -> None:
    with_bodies = [place for place, rule in enumerate(rules) if isinstance(rule, tuple) and len(rule) > 2]
    if len(with_bodies) >= 2:
        one, two = random.sample(with_bodies, 2)
        first, second = rules[one], rules[two]
        assert isinstance(first, tuple)
        assert isinstance(second, tuple)
        rules[one], rules[two] = (*first[:2], *second[2:]), (*second[:2], *first[2:])


def _rename(rules: list[Term], _: Sequence[tuple[Term, ...]], random: Random) -> None:
    """One word becomes another everywhere."""
    words = sorted({word for rule in rules for word in _words(rule)})
    if words:
        old, new = random.choice(words), random.choice([*words, *_WORDS])
        rules[:] = [_replaced(rule, old, new) for rule in rules]


_MUTATIONS = (_delete_rule, _double_rule, _take_rule, _change_rule, _change_rule, _change_rule, _swap_bodies, _rename)


def _changed(term: Term, random: Random) -> Term:
    """One place in a term is something else."""
    if not isinstance(term, tuple) or not term or random.random() < 0.15:
        return _other(term, random)
    place = random.randrange(len(term))
    return (*term[:place], _changed(term[place], random), *term[place + 1 :])


def _other(term: Term, random: Random) -> Term:
    parts = term if isinstance(term, tuple) else (term,)
    spare = random.choice(_SPARE)
    return random.choice(
        (
            ("not", term),
            ("or", term, spare),
            (*parts, spare),
            parts[:-1],
            ("f", term),
            random.choice(_WORDS),
            tuple(random.sample(parts, len(parts))),
            ("distinct", term, random.choice(parts)) if parts else spare,
            spare,
        )
    )


def _words(term: Term) -> Iterator[str]:
    if isinstance(term, str):
        yield term
    else:
        for part in term:
            yield from _words(part)


def _replaced(term: Term, old: str, new: str) -> Term:
    if isinstance(term, str):
        return new if term == old else term
    return tuple(_replaced(part, old, new) for part in term)


def _torn(text: str, random: Random) -> str:
    for _ in range(random.randrange(1, 5)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 5, 200)))
        text = text[:start] + random.choice(("", "(", ")", "((", "; ", "\0", "\ud800", "é", "?", "|", '"')) + text[end:]
    return text


def rulesheets(folder: Path | None) -> list[tuple[Term, ...]]:
    """The shipped games, the corpus, and those of a folder, as terms."""
    paths = [find_rulesheet(name) for name in game_names()] + sorted(CORPUS.glob("*.kif"))
    paths += sorted(folder.glob("*.kif")) if folder is not None else []
    found = []
    for path in paths:
        text = decode(path.read_bytes(), str(path))
        with contextlib.suppress(GgpError):
            if len(text) <= _LONGEST:
                found.append(tuple(node.term for node in read(text)))
    return found


# Judging rulesheets -------------------------------------------------------------------------------------------------


def judge_rulesheet(text: str) -> Verdict:
    """Both engines on the states of a random match; every failure but our own errors is a finding."""
    try:
        validate(text, "case")
        rulesheet = parse_rulesheet(text, "case")
    except GgpError:
        return Verdict("refused")
    seen: list[Sample] = []
    with contextlib.suppress(GgpError):
        interpreter = Interpreter(rulesheet)
        seen += _some_states(interpreter)
    if not seen:
        return Verdict("no meaning")
    try:
        machine = CircuitMachine(rulesheet, compile_game(rulesheet, Budget(seconds=6, memory=1 << 30, rules=200_000)))
    except GgpError as error:
        return Verdict("no circuit" if isinstance(error, GroundingError) else "no meaning for the circuit")
    if machine.initial_state != interpreter.initial_state:
        return Verdict("differs", "the initial states")
    try:
        wrong = next((text for sample in seen for text in differences(machine, interpreter, sample)), None)
    except EvaluationError:
        return Verdict("no meaning in a state")
    return Verdict("agrees") if wrong is None else Verdict("differs", wrong)


def _some_states(interpreter: Interpreter) -> Iterator[Sample]:
    """Until the rules have no meaning."""
    with contextlib.suppress(GgpError):
        yield from islice(samples(interpreter, Random(0), 8), STATES)


def _work(orders: Connection, make: Callable[[int], str], judge: Judge) -> None:
    """In a process of its own: a number comes in, a verdict goes out."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError):
        while True:
            text = make(orders.recv())
            try:
                verdict = judge(text)
            except (Exception, RecursionError, MemoryError):  # noqa: BLE001 - that is what is looked for
                verdict = Verdict("fault", traceback.format_exc(limit=-6))
            orders.send((verdict.word, verdict.detail))


class Worker:
    """A process that judges one case at a time and is replaced when it takes too long or dies."""

    def __init__(self, make: Callable[[int], str], judge: Judge) -> None:
        self._make = make
        self._judge = judge
        self.case = -1
        self.began = self._before = 0.0
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_work, args=(theirs, self._make, self._judge), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def spent(self) -> float:
        """Processor seconds since the case began; those of clingo are bounded by its budget."""
        return _processor_seconds(self.process.pid or 0) - self._before

    def order(self, case: int) -> None:
        self.case, self.began, self._before = case, monotonic(), _processor_seconds(self.process.pid or 0)
        self.pipe.send(case)

    def answer(self) -> Verdict:
        """Once the pipe is readable."""
        try:
            return Verdict(*self.pipe.recv())
        except (EOFError, ConnectionError):
            self.process.join()
            code = self.process.exitcode
            self._start()
            return Verdict("died", f"exit code {code}")

    def replace(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self._start()


def _processor_seconds(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def try_rulesheets(
    cases: Sequence[int], seed: int, folder: Path | None, seconds: float, workers: int, out: Path | None
) -> Counter[str]:
    """Word → how many cases; findings are printed, and their texts kept in `out`."""
    sheets = rulesheets(folder)

    def make(case: int) -> str:
        return mutated(sheets, Random(f"{seed} {case}"))

    counts: Counter[str] = Counter()

    def note(case: int, verdict: Verdict) -> None:
        counts[verdict.word] += 1
        if verdict.is_finding:
            print(f"\ncase {case}: {verdict.word}: {verdict.detail}", flush=True)
            if out is not None:
                out.mkdir(parents=True, exist_ok=True)
                (out / f"{seed}-{case}.kif").write_text(make(case), encoding="utf-8", errors="surrogatepass")
        done = counts.total()
        if done % 50 == 0 or done == len(cases):
            print(f"\r{done} of {len(cases)}: {dict(counts)}", end="", file=sys.stderr, flush=True)

    # loads all kernels: processes that are forked have them
    judge_rulesheet(read_bytes(find_rulesheet("tictactoe")).decode())
    todo = iter(cases)
    idle = [Worker(make, judge_rulesheet) for _ in range(workers)]
    busy: dict[Connection, Worker] = {}
    while True:
        while idle and (case := next(todo, None)) is not None:
            worker = idle.pop()
            worker.order(case)
            busy[worker.pipe] = worker
        if not busy:
            return counts
        for pipe in wait(list(busy), 0.5):
            assert isinstance(pipe, Connection)
            worker = busy.pop(pipe)
            note(worker.case, worker.answer())
            idle.append(worker)
        for pipe, worker in list(busy.items()):
            if worker.spent > seconds or monotonic() - worker.began > _PATIENCE * seconds:
                del busy[pipe]
                worker.replace()
                note(worker.case, Verdict("late", f"no verdict within {seconds:g} s"))
                idle.append(worker)


# Messages -----------------------------------------------------------------------------------------------------------

_MESSAGES = (
    "(INFO)",
    "(PING)",
    "(PREVIEW ((role a)) 10)",
    "(START m1 a ((role a) (init (step 1)) (<= (legal a go) (true (step 1))) (<= terminal (true end))) 2 1)",
    "(PLAY m1 NIL)",
    "(PLAY m1 (go))",
    "(PLAY m1 3 GO ((SEEN A) B))",
    "(STOP m1 (go))",
    "(ABORT m1)",
    "( ( name X ) ( status available ) ( species Y ) )",
    "(mark 1 1) (explanation because)",
    "noop",
)
_HEADERS = (
    "Content-Encoding: gzip",
    "Content-Encoding: br",
    "Transfer-Encoding: chunked",
    "Content-Length: 9999999",
    "Content-Length: -1",
    "Content-Length: x",
    "Expect: 100-continue",
    "Connection: keep-alive",
    "Connection: Upgrade\r\nUpgrade: websocket",
    "Content-Type: text/acl; charset=nonsense",
    "Origin: http://elsewhere.example",
    "X: \x80\xff",
    ": nothing",
    "A" * 9000 + ": 1",
)


def message(random: Random) -> str:
    """A message or reply, mostly changed."""
    text = random.choice(_MESSAGES)
    if random.random() < 0.4:
        with contextlib.suppress(GgpError):
            text = " ".join(to_text(_changed(node.term, random)) for node in read(text))
    if random.random() < 0.4:
        text = _torn(text, random)
    if random.random() < 0.02:
        text = "(" * random.choice((100, 5_000, 100_000)) + text
    return text


def request(random: Random) -> bytes:
    """An HTTP request with a message, often not quite one."""
    body = message(random).encode(errors="replace" if random.random() < 0.5 else "surrogatepass")
    line = random.choice(("POST / HTTP/1.0",) * 6 + ("GET / HTTP/1.1", "OPTIONS / HTTP/1.1", "POST /", "\x16\x03\x01"))
    headers = [f"Content-Length: {len(body)}"] if random.random() < 0.9 else []
    headers += random.sample(_HEADERS, random.choice((0, 0, 0, 1, 2)))
    data = "\r\n".join([line, *headers, "", ""]).encode("latin-1", "replace") + body
    if random.random() < 0.1:
        data = data[: random.randrange(len(data) + 1)]
    if random.random() < 0.1:
        place = random.randrange(len(data) + 1)
        data = data[:place] + random.randbytes(random.randrange(1, 40)) + data[place:]
    return data


def judge_reply(text: str) -> Verdict:
    """As a message, as an answer to INFO and PLAY, as an evaluation."""
    codec = MessageCodec("m1", "a", has_percepts=False, scrambler=None)
    for parse in (parse_message, parse_info, codec.move, lambda said: codec.evaluation(said, 2)):
        try:
            parse(text)
        except GgpError:
            continue
        except (Exception, RecursionError):  # noqa: BLE001 - that is what is looked for
            return Verdict("fault", f"{text[:200]!r}: {traceback.format_exc(limit=-4)}")
    return Verdict("read or refused")


async def _send(port: int, data: bytes) -> str:
    """The status of the response, or how the connection ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        if writer.can_write_eof():
            writer.write_eof()
        async with asyncio.timeout(20):
            head = await reader.read(12)
    except TimeoutError:
        return "silence"
    except OSError:
        return "closed"
    finally:
        writer.transport.abort()
    return head[9:12].decode("latin-1") if head.startswith(b"HTTP/") else "closed"


async def try_messages(cases: Sequence[int], seed: int, at_once: int) -> Counter[str]:
    """All cases as text to the parsers, and as requests to the service of a player, which must survive them."""
    counts: Counter[str] = Counter()
    for case in cases:
        verdict = judge_reply(message(Random(f"{seed} {case}")))
        counts[verdict.word] += 1
        if verdict.is_finding:
            print(f"case {case}: {verdict.detail}", flush=True)
    command = (sys.executable, "-m", "players", "legal", "--port", "0", "--announce")
    pipe = asyncio.subprocess.PIPE
    player = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert player.stdout is not None
    assert player.stderr is not None
    log: list[bytes] = []
    port = json.loads(await player.stdout.readline())["port"]
    reading = asyncio.create_task(_keep_tracebacks(player.stderr, log))
    todo = iter(cases)

    async def send_some() -> None:
        for case in todo:
            status = await _send(port, request(Random(f"{seed} request {case}")))
            counts[status] += 1
            if status.startswith("5"):
                print(f"case {case}: HTTP status {status}", flush=True)
            if counts.total() % 1000 == 0:
                print(f"\r{dict(counts)}", end="", file=sys.stderr, flush=True)

    await asyncio.gather(*(send_some() for _ in range(at_once)))
    counts["final INFO " + await _send(port, b"POST / HTTP/1.0\r\nContent-Length: 6\r\n\r\n(INFO)")] += 1
    print(f"\nthe player needs {_peak(player.pid) >> 20} MiB at most", flush=True)
    began = monotonic()
    player.terminate()
    await player.wait()
    await reading
    print(f"it ended {monotonic() - began:.2f} s after SIGTERM; lines of tracebacks in its log: {len(log)}")
    counts["tracebacks"] = len(log)
    return counts


async def _keep_tracebacks(stream: asyncio.StreamReader, log: list[bytes]) -> None:
    while line := await stream.readline():
        if b"Traceback" in line or b"Error:" in line:
            log.append(line)


def _peak(pid: int) -> int:
    """Bytes."""
    words = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").split()
    return int(words[words.index("VmHWM:") + 1]) << 10


def main() -> int:
    """Exit code 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("rulesheets", "messages"))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, nargs="+", help="these cases alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="of more rulesheets to mutate")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a processor for each rulesheet")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="a folder for the texts of findings")
    words = parser.parse_args()
    cases = words.only or range(words.first, words.first + words.cases)
    began = monotonic()
    if words.kind == "messages":
        counts = asyncio.run(try_messages(cases, words.seed, 50))
    else:
        counts = try_rulesheets(cases, words.seed, words.folder, words.seconds, words.workers, words.out)
    print(f"\nseed {words.seed}, {len(cases)} cases, {monotonic() - began:.0f} s: {dict(counts)}")
    return 1 if any(word in FINDINGS or word[0] == "5" for word in counts) or counts["tracebacks"] else 0


if __name__ == "__main__":
    sys.exit(main())
