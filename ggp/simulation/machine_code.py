"""Programs → machine code of one game, made in a thread. Programs run interpreted until it is there.

The code is straight-line, on vectors as wide as the machine's. With AVX-512 or AVX2 that of all but small games is
put together by `ggp.simulation.assembler`; else it is written in LLVM's language and kept in the cache.
"""

import hashlib
import logging
from collections.abc import Callable
from itertools import pairwise
from threading import Thread

import numpy as np

from ggp.cache import Cache, CacheEntry
from ggp.circuit.network import Ids
from ggp.circuit.schedule import Program
from ggp.kernel import MachineCode, compile_object, load_object, machine_name, vector_bits
from ggp.simulation.assembler import NARROW, assemble
from ggp.simulation.steps import Steps

CHUNK = 40_000  # instructions of one function; what crosses from one to the next goes through memory
_ROW_BYTES = 64
_POINTERS = ("current", "following", "rest")
_PARAMETERS = ", ".join(f"ptr noalias %{base}" for base in _POINTERS)
KIND = "native"
MOST_GATES = 100_000  # of all programs of a game; above, LLVM takes longer than it saves
LEAST_ASSEMBLED = 1_000  # below, LLVM's code is as fast, and soon made
MOST_ASSEMBLED = 4_000_000  # the same where LLVM is not needed: some 20 s
_OBJECT = "object"

_log = logging.getLogger(__name__)


def functions(steps: Steps) -> dict[str, Program]:
    """The programs by the names of their functions: step_<phase>, and goals where they are late."""
    found = {f"step_{phase}": program for phase, program in enumerate(steps.phases)}
    if steps.late_goals is not None:
        found["goals"] = steps.late_goals
    return found


def is_worthwhile(steps: Steps) -> bool:
    """Whether the game is small enough to be compiled."""
    return is_small(functions(steps))


def is_small(named: dict[str, Program]) -> bool:
    """Whether programs are few and short enough to be compiled."""
    most = MOST_ASSEMBLED if vector_bits() >= NARROW else MOST_GATES
    return sum(len(program.left) for program in named.values()) <= most


def compile_steps(steps: Steps, cache: Cache) -> MachineCode:
    """The machine code, 1 to 5 µs a gate; by LLVM 0.2 ms, unless it is in the cache."""
    return compile_programs(functions(steps), steps.layout.facts, f"{steps.layout}", cache)


def compile_programs(named: dict[str, Program], facts: int, about: str, cache: Cache) -> MachineCode:
    """The same of programs by name; facts: how many rows, from row 1 on, each of the two states has.

    about: what the rows mean, as text; it tells programs in the cache apart.
    """
    assembled = assemble_programs(named, facts)
    if assembled is not None:
        return assembled
    key = _key(about, named)
    found = cache.get(KIND, key)
    if found is not None:
        return load_object(found.arrays[_OBJECT].tobytes(), tuple(named))
    bits = vector_bits()
    texts = [write_function(name, program, facts, bits) for name, program in named.items()]
    data = compile_object(declarations(bits) + "\n".join(texts))
    cache.put(KIND, key, CacheEntry({_OBJECT: np.frombuffer(data, np.uint8)}))
    return load_object(data, tuple(named))


def assemble_programs(named: dict[str, Program], facts: int) -> MachineCode | None:
    """Code made without LLVM, None where that cannot be, or gains nothing."""
    bits, gates = vector_bits(), sum(len(program.left) for program in named.values())
    if bits < NARROW or not LEAST_ASSEMBLED <= gates <= MOST_ASSEMBLED:
        return None
    try:
        return assemble(named, facts, bits)
    except OSError:  # the system allows no memory that is written and then run
        return None


def compile_in_background(steps: Steps, cache: Cache, use: Callable[[MachineCode], None]) -> Thread:
    """Compile in a thread of its own, then hand over the code; trouble with LLVM is logged and changes nothing."""
    return make_in_background(lambda: compile_steps(steps, cache), use)


def make_in_background(make: Callable[[], MachineCode | None], use: Callable[[MachineCode], None]) -> Thread:
    """The same for any machine code; nothing is used where None is made."""

    def work() -> None:
        try:
            code = make()
            if code is not None:
                use(code)
        except RuntimeError as error:  # what llvmlite raises
            _log.warning("no machine code for this game, the circuit is interpreted: %s", error)

    thread = Thread(target=work, name="machine code")  # no daemon: LLVM does not survive the end of the process
    thread.start()
    return thread


def _key(about: str, named: dict[str, Program]) -> str:
    """A hash of the programs, where their rows are, and the machine."""
    digest = hashlib.sha256(f"{machine_name()} {about} {sorted(named)}".encode())
    for name in sorted(named):
        program = named[name]
        for array in (program.left, program.right, program.out, program.segments, program.feedback, program.outputs):
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


class _Writer:
    """One function's text; values by row, as (name, whether it is the complement)."""

    def __init__(self, name: str, vector_bits: int, facts: int) -> None:
        self._type = f"<{vector_bits // 64} x i64>"
        self._align = vector_bits // 8
        self._facts = facts
        self._values: dict[int, tuple[str, bool]] = {}
        self._count = 0
        self.lines = [
            f"define internal void @{name}(ptr noalias %current, ptr noalias %following, ptr noalias %rest) {{"
        ]

    def forget(self) -> None:
        self._values.clear()

    def block(self, label: str) -> None:
        self.lines += [f"br label %{label}", f"{label}:"]

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def pointer(self, row: int) -> str:
        base, at = "%rest", row
        if 1 <= row <= self._facts:
            base, at = "%current", row - 1
        elif self._facts < row <= 2 * self._facts:
            base, at = "%following", row - 1 - self._facts
        found = self.name()
        self.lines.append(f"{found} = getelementptr i8, ptr {base}, i64 {at * _ROW_BYTES}")
        return found

    def read(self, literal: int) -> tuple[str, bool]:
        """A value and whether the literal is its complement."""
        row = literal >> 1
        if row == 0:
            return "zeroinitializer", bool(literal & 1)
        if row not in self._values:
            pointer, found = self.pointer(row), self.name()
            self.lines.append(f"{found} = load {self._type}, ptr {pointer}, align {self._align}")
            self._values[row] = found, False
        name, inverted = self._values[row]
        return name, inverted != bool(literal & 1)

    def plain(self, literal: int) -> str:
        name, inverted = self.read(literal)
        return self._operation("xor", name, "splat (i64 -1)") if inverted else name

    def _operation(self, operation: str, left: str, right: str) -> str:
        found = self.name()
        self.lines.append(f"{found} = {operation} {self._type} {left}, {right}")
        return found

    def gate(self, left: int, right: int, out: int) -> None:
        (first, first_inverted), (second, second_inverted) = self.read(left), self.read(right)
        if out < 0:
            self._values[~out] = self._operation("xor", first, second), first_inverted != second_inverted
        elif first_inverted and second_inverted:
            self._values[out] = self._operation("or", first, second), True
        else:
            if first_inverted:
                first = self._operation("xor", first, "splat (i64 -1)")
            if second_inverted:
                second = self._operation("xor", second, "splat (i64 -1)")
            self._values[out] = self._operation("and", first, second), False

    def store(self, row: int, value: str) -> None:
        self.lines.append(f"store {self._type} {value}, ptr {self.pointer(row)}, align {self._align}")

    def written(self, row: int) -> bool:
        return row in self._values

    def changed(self, pairs: list[tuple[str, str]]) -> str:
        """An i1: whether any of the pairs differs in any lane."""
        total = "zeroinitializer"
        for old, new in pairs:
            total = self._operation("or", total, self._operation("xor", old, new))
        width = self._type.split()[0][1:]
        found, bit = self.name(), self.name()
        self.lines.append(f"{found} = call i64 @llvm.vector.reduce.or.v{width}i64({self._type} {total})")
        self.lines.append(f"{bit} = icmp ne i64 {found}, 0")
        return bit


def write_function(name: str, program: Program, facts: int, vector_bits: int) -> str:
    """The text of `void name(ptr current, ptr following, ptr rest)`, for all lanes, one vector after the other.

    The first two point to the rows of the two states, the third to row 0 of the words. Values that are needed beyond a
    chunk of instructions go through their rows.
    """
    pieces = _pieces(program)
    kept = _kept_rows(program, pieces)
    functions, names = [], []
    for number, (start, end, first, last) in enumerate(pieces):
        names.append(f"{name}_{number}")
        writer = _Writer(names[-1], vector_bits, facts)
        _write_piece(writer, program, (start, end), program.feedback[first:last], kept[number])
        functions.append("\n".join([*writer.lines, "ret void", "}"]))
    head = f"define void @{name}({_PARAMETERS}) {{"
    shifts = range(0, _ROW_BYTES, vector_bits // 8)
    moved = [f"%{base}{shift} = getelementptr i8, ptr %{base}, i64 {shift}" for shift in shifts for base in _POINTERS]
    calls = [
        f"call void @{piece}({', '.join(f'ptr %{base}{shift}' for base in _POINTERS)})"
        for piece in names
        for shift in shifts
    ]
    return "\n".join([*functions, head, *moved, *calls, "ret void", "}"])


def declarations(vector_bits: int) -> str:
    """What the functions of `write_function` call."""
    width = vector_bits // 64
    return f"declare i64 @llvm.vector.reduce.or.v{width}i64(<{width} x i64>)\n"


def _pieces(program: Program) -> list[tuple[int, int, int, int]]:
    """Chunks of the segments: instructions from, to; feedback from, to. A loop is one chunk however long."""
    found = []
    for start, end, first, last in program.segments.tolist():
        if first != last:
            found.append((start, end, first, last))
        else:
            cuts = [*range(start, end, CHUNK), end]
            found += [(one, two, 0, 0) for one, two in pairwise(cuts)]
    return found


def _kept_rows(program: Program, pieces: list[tuple[int, int, int, int]]) -> list[Ids]:
    """The rows that each piece has to leave in memory: outputs, and what later pieces read."""
    rows = np.where(program.out < 0, ~program.out, program.out)
    read = np.zeros(program.rows, np.bool_)
    read[program.outputs] = True
    kept = []
    for start, end, first, last in reversed(pieces):
        own = np.unique(rows[start:end])
        kept.append(own[read[own]].astype(np.int32))
        read[own] = False
        read[program.outputs] = True
        read[program.left[start:end] >> 1] = True
        read[program.right[start:end] >> 1] = True
        read[program.feedback[first:last, 1] >> 1] = True
    return kept[::-1]


def _write_piece(writer: _Writer, program: Program, span: tuple[int, int], feedback: Ids, kept: Ids) -> None:
    start, end = span
    loops = feedback.tolist()
    if loops:
        for row, _ in loops:
            writer.store(row, "zeroinitializer")
        writer.block("again")
    instructions = zip(
        program.left[start:end].tolist(), program.right[start:end].tolist(), program.out[start:end].tolist(),
        strict=True,
    )  # fmt: skip
    old = {row: writer.plain(2 * row) for row, _ in loops}
    for left, right, out in instructions:
        writer.gate(left, right, out)
    new = [(row, writer.plain(literal)) for row, literal in loops]
    for row in kept.tolist():
        if writer.written(row):
            writer.store(row, writer.plain(2 * row))
    if loops:
        for row, value in new:
            writer.store(row, value)
        again = writer.changed([(old[row], value) for row, value in new])
        writer.lines += [f"br i1 {again}, label %again, label %done", "done:"]
