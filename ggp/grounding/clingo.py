"""clingo: ground programs as text in aspif, written and read here; and its runs, in a process of its own.

A program is given in the language of gringo, or in *aspif*, the format for ground programs that gringo writes and clasp
reads (Kaminski, Schaub, Wanko: A Tutorial on Hybrid Answer Set Solving with clingo, 2017). Rules pass as text and not
through clingo's Python API, as a call for each of millions of rules would take longer than grounding them. Atoms count
from 1; a literal is an atom, or minus an atom.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path
from threading import Thread
from time import thread_time
from types import TracebackType
from typing import BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GroundingError
from ggp.grounding.rules import NEVER, GroundRules, Ids, Offsets, needed_atoms
from ggp.kernel import kernel

Numbers: TypeAlias = NDArray[np.int64]  # of statements as they are written, each ended by STOP

STOP = int(np.iinfo(np.int64).min)

_SERVER = Path(__file__).with_name("clingo_process.py")
_GROUND = ("--mode=gringo", "--output=intermediate", "--warn=none", "-")
_LIST = ("--mode=gringo", "--text", "--warn=none", "-")
_SOLVE = ("--mode=clasp", "--outf=2", "--warn=none", "-")
TIME, RULES = "time", "rules"  # resources
_DEEPEST = 1_000  # terms inside each other; no term of a message may hold a fifth of that
_LONGEST_RULE = 10_000_000  # bytes of text
NESTING = f"levels of nested terms ({_DEEPEST:,})"
_OUT_OF_MEMORY = 33  # exit code of clingo
_NO_MEMORY = "cannot allocate memory", "std::bad_alloc"  # what the libraries of C and C++ say before they end a process
_CHUNK_BYTES = 1 << 20
_CLOCK_ERROR = 0.5  # of its limit, that a run may seem to have taken less: the system counts whole ticks against that
_HEADER = b"asp 1 0 0\n"
_END = b"0\n"
_NEWLINE, _SPACE, _OPENING, _CLOSING, _MINUS, _ZERO = 10, 32, 40, 41, 45, 48
_DIGITS = 20  # of a number, at most


@dataclass(frozen=True, slots=True)
class Budget:
    """What grounding may use."""

    seconds: float = 120.0  # of processor time, of this thread and of clingo
    memory: int = 2 << 30  # bytes: of clingo's process, and of its output that was read
    rules: int = 8_000_000
    output: int = 1 << 29  # bytes


class OverBudgetError(GroundingError):
    """Grounding was stopped; `resource` is the word for what ran out."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"grounding ran out of {resource}", is_lasting=resource != TIME)
        self.resource = resource


class Clingo:
    """A process for runs of clingo, one run at a time, which can be bounded in memory, paused and killed.

    It loads clingo in parallel with the caller when it is made, and anew after it was killed. One thread makes and uses
    it, since Linux ends the process together with that thread; any may call `pause`, `resume` and `kill`.
    """

    def __init__(self) -> None:
        self.seconds = 0.0  # of processor time that runs of `ground_text` took
        self._begin()

    def __enter__(self) -> "Clingo":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start(self, arguments: Sequence[str], memory_bytes: int, seconds: float = 0.0) -> "Run":
        """Begins a run, once the one before has ended; `seconds` of processor time, rounded up, end it, unless 0."""
        if self._process.poll() is not None:
            self.close()
            self._begin()
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        request = "\0".join((str(memory_bytes), str(ceil(seconds)), *arguments))
        with suppress(ConnectionError):  # the process has ended, as `Run.exit_code` shows
            socket.send_fds(self._channel, [request.encode()], theirs)
        for file in theirs:
            os.close(file)
        return Run(
            os.fdopen(pipes[0][1], "wb"), os.fdopen(pipes[1][0], "rb"), os.fdopen(pipes[2][0], "rb"), self._channel
        )

    def pause(self) -> None:
        """Suspends the run."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        """Ends the run, if there is one."""
        self._send(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Ends the process."""
        self.kill()
        self._channel.close()

    def _begin(self) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            paths = os.pathsep.join(path for path in sys.path if path)
            self._process = subprocess.Popen(  # noqa: S603 - all of it is ours
                (sys.executable, "-I", "-S", str(_SERVER), str(theirs.fileno()), str(os.getpid()), paths),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # signals go to the group: the process and the run that it forked
            )

    def _send(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # another thread has just waited for it, which `poll` does not see
                os.killpg(self._process.pid, number)


class ProcessorTime:
    """The processor time of this thread, and of gringo on its behalf, since it was made."""

    def __init__(self, clingo: Clingo) -> None:
        self._clingo = clingo
        self._start = thread_time() + clingo.seconds

    def spent(self) -> float:
        """Seconds."""
        return thread_time() + self._clingo.seconds - self._start


@dataclass(frozen=True, slots=True)
class Run:
    """A run of clingo that has begun."""

    input: BinaryIO
    output: BinaryIO
    messages: BinaryIO
    channel: socket.socket

    def write(self, program: bytes) -> None:
        """Gives it the whole program; what it does not read, because it has ended, is dropped."""
        with suppress(BrokenPipeError):
            try:
                self.input.write(program)
            finally:
                self.input.close()

    def end(self) -> tuple[int | None, float]:
        """Its exit code, once it has ended, None when it was killed; and the seconds of processor time that it took."""
        try:
            exit_code, seconds = self.channel.recv(64).split()
            return int(exit_code), float(seconds)
        except (ConnectionError, ValueError):
            return None, 0.0

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self.input.close()
        self.output.close()
        self.messages.close()


def ground_text(clingo: Clingo, program: bytes, budget: Budget) -> bytearray:
    """What gringo makes of a program, in aspif; OverBudgetError when it takes too much."""
    if budget.seconds <= 0:
        raise OverBudgetError(TIME)
    run = clingo.start(_GROUND, max(budget.memory - budget.output, budget.memory // 2), budget.seconds)
    exit_code = None
    message = ""
    try:
        run.write(program)
        output, resource = _read_output(run.output, budget)
        if not resource:
            message = run.messages.read().decode(errors="replace").strip()
        run.close()  # ends a run that still writes
        exit_code, seconds = run.end()
    finally:
        if exit_code is None:
            clingo.kill()
        run.close()
    clingo.seconds += seconds
    is_at_limit = exit_code == -signal.SIGKILL and seconds >= (1.0 - _CLOCK_ERROR) * budget.seconds
    if is_at_limit or (exit_code not in (0, None) and seconds >= budget.seconds):
        resource = TIME
    if resource or exit_code == _OUT_OF_MEMORY or any(words in message for words in _NO_MEMORY):
        raise OverBudgetError(resource or "memory")
    if exit_code != 0:
        what = f"gringo failed ({exit_code}): {message}" if exit_code else "clingo's process was killed"
        raise GroundingError(what, is_lasting=False)
    return output


def list_rules(clingo: Clingo, program: bytes, seconds: float, most: int, take: Callable[[bytes], bool]) -> bool:
    """Hands gringo's rules over, each as a line of text, until `take` returns False; whether these were all.

    It ends after so many rules, so much processor time of gringo or of this thread, perhaps within a rule, or with the
    beginning of a rule that is too long; seconds: more than 0.
    """
    run, began = clingo.start(_LIST, Budget().memory, seconds), thread_time()
    exit_code = None
    try:
        writer = Thread(target=run.write, args=(program,), daemon=True)
        writer.start()
        lines = enumerate(iter(lambda: run.output.readline(_LONGEST_RULE), b""))
        is_whole = all(
            number < most
            and thread_time() - began < seconds
            and (rule.endswith(b"\n") or len(rule) == _LONGEST_RULE)
            and take(rule)
            and rule.endswith(b"\n")
            for number, rule in lines
        )
        run.output.close()  # ends a run that still writes
        writer.join()
        exit_code, used = run.end()
    finally:
        if exit_code is None:
            clingo.kill()
        run.close()
    clingo.seconds += used
    return is_whole and exit_code == 0


def nests_without_end(clingo: Clingo, program: bytes, seconds: float, most: int) -> bool:
    """Whether terms are nested deeper than any that can be used, as far as so much time and so many rules show."""
    is_deep = False

    def is_usable(rule: bytes) -> bool:
        nonlocal is_deep
        is_deep = rule.count(b"(") > _DEEPEST and _depth(rule) > _DEEPEST
        return not is_deep

    if seconds > 0:
        list_rules(clingo, program, seconds, most, is_usable)
    return is_deep


def _depth(rule: bytes) -> int:
    """Of brackets."""
    letters = np.frombuffer(rule, np.uint8)
    return int(np.cumsum((letters == _OPENING).astype(np.int32) - (letters == _CLOSING)).max())


def _read_output(pipe: BinaryIO, budget: Budget) -> tuple[bytearray, str]:
    """The output; and which resource ran out meanwhile, if one did."""
    output = bytearray()
    rules = 0
    while chunk := pipe.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]
        output += chunk
        rules += chunk.count(b"\n")
        if len(output) > budget.output:
            return bytearray(), "room for its output"
        if rules > budget.rules:
            return bytearray(), RULES
    return output, ""


class ClaspRun:
    """A run of clasp on a program in aspif; its result is known once it is done.

    `seconds` of processor time, rounded up, end it, unless 0.
    """

    def __init__(
        self, clingo: Clingo, program: bytes, memory_bytes: int, options: Sequence[str] = (), seconds: float = 0.0
    ) -> None:
        self._clingo = clingo
        self._run = clingo.start((*options, *_SOLVE), memory_bytes, seconds)
        self.answers: list[list[str]] = []  # the names that hold in each answer set that was found
        self.is_refuted = False  # whether it is proven that there is no answer set
        self.is_complete = False  # whether all that the options ask for was found
        self.seconds = 0.0  # of processor time
        self._reader = Thread(target=self._exchange, args=(program,), daemon=True)
        self._reader.start()

    def wait(self, seconds: float) -> bool:
        """Whether it is done after so long at most."""
        self._reader.join(seconds)
        return not self._reader.is_alive()

    @property
    def answer(self) -> list[str] | None:
        """The last answer set; None where none was found."""
        return self.answers[-1] if self.answers else None

    def close(self) -> None:
        """Ends the run, if it has not ended."""
        if not self.wait(0):
            self._clingo.kill()
            self._reader.join()

    def _exchange(self, program: bytes) -> None:
        self._run.write(program)
        output = self._run.output.read()
        exit_code, self.seconds = self._run.end()
        self._run.close()
        if exit_code is None or not 0 <= exit_code < _OUT_OF_MEMORY or not output:  # perhaps ended within its output
            return
        result = json.loads(output)
        self.is_complete = result["Models"]["More"] == "no"
        for witness in (one for call in result["Call"] for one in call.get("Witnesses", ())):
            self.answers.append(witness["Value"])
        self.is_refuted = result["Result"] == "UNSATISFIABLE"


class GroundProgram:
    """A ground program that is written statement by statement."""

    def __init__(self) -> None:
        self._parts: list[Numbers | list[int]] = []
        self._names: list[str] = []

    def rule(self, head: int, *body: int) -> None:
        self._parts.append([1, 0, 1, head, 0, len(body), *body, STOP])

    def choice(self, head: int, *body: int) -> None:
        """The head may hold if all of the body does."""
        self._parts.append([1, 1, 1, head, 0, len(body), *body, STOP])

    def constraint(self, *body: int) -> None:
        """Not all of the body holds."""
        self._parts.append([1, 0, 0, 0, len(body), *body, STOP])

    def at_most_one(self, atoms: Sequence[int]) -> None:
        self._parts.append([1, 0, 0, *_two_of(atoms), STOP])

    def two_of(self, head: int, atoms: Sequence[int]) -> None:
        """The head holds if two of the atoms do."""
        self._parts.append([1, 0, 1, head, *_two_of(atoms), STOP])

    def statements(self, numbers: Numbers) -> None:
        """Adds statements as numbers, each ended by STOP."""
        self._parts.append(numbers)

    def rows(self, *columns: int | Numbers) -> None:
        """Adds a statement for each row; a number is the same in all of them."""
        self._parts.append(np.stack(np.broadcast_arrays(*columns, STOP), axis=1).ravel())

    def show(self, name: str, atom: int) -> None:
        """Answers name the atom."""
        self._names.append(f"4 {len(name)} {name} 1 {atom}\n")

    def text(self) -> bytes:
        return b"".join((_HEADER, *map(_written, self._joined()), "".join(self._names).encode(), _END))

    def _joined(self) -> Iterator[Numbers]:
        """The statements in arrays that are worth a call of a kernel."""
        small: list[int] = []
        for part in self._parts:
            if isinstance(part, list):
                small += part
            else:
                yield np.array(small, np.int64)
                yield part
                small = []
        yield np.array(small, np.int64)


class Template(NamedTuple):
    """Rules as they are written at any step."""

    numbers: Numbers
    atoms: NDArray[np.int64]  # (n,) the atom that stands there, -1 where the number does
    signs: NDArray[np.int64]  # (n,)


def make_template(rules: GroundRules, outputs: NDArray[np.int64]) -> Template:
    """The rules that the outputs need."""
    sizes = np.diff(rules.first_literal)
    outputs = outputs[outputs != NEVER]
    needed = needed_atoms(
        rules.heads.astype(np.int64), rules.first_literal, rules.literals >> 1, outputs, rules.atom_count
    )
    kept = np.flatnonzero(needed[rules.heads])
    sizes = sizes[kept]
    starts = np.concatenate([[0], np.cumsum(sizes + 7)])
    total = int(starts[-1])
    numbers = np.zeros(total, np.int64)
    atoms = np.full(total, -1, np.int64)
    signs = np.ones(total, np.int64)
    starts = starts[:-1]
    numbers[starts] = numbers[starts + 2] = 1
    atoms[starts + 3] = rules.heads[kept]
    numbers[starts + 5] = sizes
    numbers[starts + 6 + sizes] = STOP
    inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts + 6, sizes) + inner
    literals = rules.literals[np.repeat(rules.first_literal[kept], sizes) + inner]
    atoms[places] = literals >> 1
    signs[places] = 1 - 2 * (literals & 1)
    return Template(numbers, atoms, signs)


def filled(template: Template, atoms: NDArray[np.int64]) -> Numbers:
    """The rules of a template with the atoms of a step."""
    numbers: Numbers = template.numbers.copy()
    known = template.atoms >= 0
    numbers[known] = template.signs[known] * atoms[template.atoms[known]]
    return numbers


def _two_of(atoms: Sequence[int]) -> Iterator[int]:
    """A body that holds if two of the atoms do."""
    yield from (1, 2, len(atoms))
    for atom in atoms:
        yield from (atom, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Aspif:
    """Rules and names as they were read. Choice rules are left out."""

    heads: Ids  # (R,)
    first_literal: Offsets  # (R + 1,) rule r reads literals[first_literal[r]:first_literal[r + 1]]
    literals: Ids
    names: tuple[bytes, ...]
    named: Ids  # the atom of each name; 0: it always holds


def parse_aspif(data: bytes | bytearray) -> Aspif:
    """The arrays of an output; ValueError when it breaks off."""
    if not data.endswith(b"\n" + _END):
        raise ValueError("the output breaks off")
    text = np.frombuffer(data, np.uint8)
    rule_bound, literal_bound = _count(text)
    heads = np.empty(rule_bound, np.int32)
    first_literal = np.empty(rule_bound + 1, np.int64)
    literals = np.empty(literal_bound, np.int32)
    names = np.empty((rule_bound, 3), np.int64)
    rules, used, shown = _parse(text, heads, first_literal, literals, names)
    spans = names[:shown]
    return Aspif(
        heads[:rules].copy(),
        first_literal[: rules + 1].copy(),
        literals[:used].copy(),
        tuple(bytes(data[start:end]) for start, end in spans[:, :2].tolist()),
        spans[:, 2].astype(np.int32),
    )


def parse_names(data: bytes | bytearray) -> list[bytes]:
    """The names of all atoms in an output."""
    at = data.find(b"\n4 ")
    lines = BytesIO(data[at + 1 :] if at >= 0 else b"")  # line by line: one call to split all would hold the GIL
    return [line.split(b" ", 3)[2] for line in lines if line.startswith(b"4 ")]


@kernel
def _count(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Lines and spaces: no fewer than the rules and literals."""
    lines = 0
    spaces = 0
    for byte in text:
        lines += byte == _NEWLINE
        spaces += byte == _SPACE
    return lines, spaces


@kernel
def _number(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """The number that starts here, and the place behind it and the byte that ends it."""
    sign = 1
    if text[at] == _MINUS:
        sign = -1
        at += 1
    value = 0
    while text[at] >= _ZERO:
        value = 10 * value + text[at] - _ZERO
        at += 1
    return sign * value, at + 1


@kernel
def _parse(
    text: NDArray[np.uint8], heads: Ids, first_literal: Offsets, literals: Ids, names: Offsets
) -> tuple[int, int, int]:
    """Fills the arrays; gives the numbers of rules, literals and names."""
    rules = 0
    used = 0
    shown = 0
    first_literal[0] = 0
    at = 0
    size = len(text)
    while at < size:
        if text[at] == _ZERO + 1:
            choice, at = _number(text, at + 2)
            head_count, at = _number(text, at)
            head = 0
            for _ in range(head_count):
                head, at = _number(text, at)
            _, at = _number(text, at)
            count, at = _number(text, at)
            if choice == 0:
                heads[rules] = head
                for _ in range(count):
                    literal, at = _number(text, at)
                    literals[used] = literal
                    used += 1
                rules += 1
                first_literal[rules] = used
        elif text[at] == _ZERO + 4:
            length, at = _number(text, at + 2)
            names[shown, 0] = at
            names[shown, 1] = at + length
            count, at = _number(text, at + length + 1)
            names[shown, 2] = 0
            for _ in range(count):
                names[shown, 2], at = _number(text, at)
            shown += 1
        else:
            at += 1
        while text[at - 1] != _NEWLINE:
            at += 1
    return rules, used, shown


def _written(numbers: Numbers) -> bytes:
    room = np.empty((_DIGITS + 2) * len(numbers), np.uint8)
    return room[: _write(numbers, room)].tobytes()


@kernel
def _write(numbers: Numbers, room: NDArray[np.uint8]) -> int:
    """The numbers as text; gives the number of bytes."""
    at = 0
    digits = np.empty(_DIGITS, np.uint8)
    for number in numbers:
        if number == STOP:
            room[at - 1] = _NEWLINE
            continue
        if number < 0:
            room[at] = _MINUS
            at += 1
        value = abs(number)
        count = 0
        while True:
            digits[count] = _ZERO + value % 10
            value //= 10
            count += 1
            if value == 0:
                break
        while count:
            count -= 1
            room[at] = digits[count]
            at += 1
        room[at] = _SPACE
        at += 1
    return at
