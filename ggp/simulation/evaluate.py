"""Compiled game → its rules as functions of states: of many states at once, or of one.

From the bottom up: programs run on words (`run_program`), states as rows of bits put into lanes and taken out again
(`put_bits`, `take_bits`), and on these `Batches` for many states and `Single` for one.

Outside, a state is a row of bits: bit i of a row of uint64 is bit i % 64 of its member i // 64. Inside, lane l of a
word is bit l % 64 of its member l // 64. The last SPARE rows of the words serve the exchange.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Circuit, Ids
from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES, WORD, Int, MachineCode, Words, aligned_words, call, gate_and, gate_xor, inner, lean

PROGRAMS = ("look", "goals", "next", "percepts")
LOOK, GOALS, NEXT, PERCEPTS = range(len(PROGRAMS))  # programs of `Rows`
SPARE = 64 // WORD
UNKNOWN = 0.5  # the value, from 0 to 1, of an end for which the rules give no goal value or several

Bits = NDArray[np.uint64]  # (n, ceil(number of bits / 64)); what is beyond the last bit is 0
Indices = NDArray[np.int32]


class Code(NamedTuple):
    """Programs one after the other, as kernels read them."""

    left: Ids
    right: Ids
    out: Ids
    segments: Ids  # (S, 4), of all programs
    feedback: Ids  # (K, 2)
    first_segment: Ids  # (P + 1,) program p has the segments first_segment[p]:first_segment[p + 1]


def join_programs(programs: tuple[Program, ...]) -> Code:
    """The programs as one value for kernels; they share their rows."""
    segments, gates, loops, first = [], 0, 0, [0]
    for program in programs:
        segments.append(program.segments + np.array([gates, gates, loops, loops], np.int32))
        gates += len(program.left)
        loops += len(program.feedback)
        first.append(first[-1] + len(program.segments))
    return Code(
        np.concatenate([program.left for program in programs]),
        np.concatenate([program.right for program in programs]),
        np.concatenate([program.out for program in programs]),
        np.concatenate(segments).astype(np.int32),
        np.concatenate([program.feedback for program in programs]),
        np.array(first, np.int32),
    )


@lean
def run_program(words: Words, code: Code, program: Int) -> None:
    """Evaluate one of the programs on all lanes."""
    run_segments(words, code, np.int64(code.first_segment[program]), np.int64(code.first_segment[program + 1]))


@inner
def run_segments(words: Words, code: Code, first_segment: Int, end_segment: Int) -> None:
    """Evaluate some segments of the programs."""
    for segment in range(first_segment, end_segment):
        start, end, first, last = code.segments[segment]
        if first == last:
            _run_gates(words, code, start, end)
            continue
        for at in range(first, last):
            gate_and(words, 0, 0, code.feedback[at, 0])
        while True:
            _run_gates(words, code, start, end)
            if not _feed_back(words, code, first, last):
                break


@inner
def _run_gates(words: Words, code: Code, start: Int, end: Int) -> None:
    for at in range(start, end):
        out = code.out[at]
        if out >= 0:
            gate_and(words, code.left[at], code.right[at], out)
        else:
            gate_xor(words, code.left[at], code.right[at], ~out)


@inner
def _feed_back(words: Words, code: Code, first: Int, last: Int) -> bool:
    """Give the loop nodes their results; whether any lane of any changed."""
    changed = np.uint64(0)
    for at in range(first, last):
        row, literal = code.feedback[at]
        mask = np.uint64(0) - np.uint64(literal & 1)
        for column in range(WORD):
            value = words[literal >> 1, column] ^ mask
            changed |= words[row, column] ^ value
            words[row, column] = value
    return bool(changed != 0)


@lean
def transpose(block: NDArray[np.uint64]) -> None:
    """Swap bit j of block[i] with bit i of block[j], for all i and j below 64 (Warren, Hacker's Delight, 7-3)."""
    mask = np.uint64(0x00000000FFFFFFFF)
    width = 32
    while width:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for at in range(first, first + width):
                moved = ((block[at] >> shift) ^ block[at + width]) & mask
                block[at] ^= moved << shift
                block[at + width] ^= moved
        width >>= 1
        mask ^= mask << np.uint64(width)


@lean
def put_bits(words: Words, first_row: Int, count: Int, bits: Bits, start: Int, lanes: Int) -> None:
    """Rows first_row … take the first `count` bits of the rows `start` … of `bits`, one row for each lane."""
    block = words[words.shape[0] - SPARE :].reshape(64)
    for column in range((lanes + 63) // 64):
        filled = min(64, lanes - 64 * column)
        for word in range((count + 63) // 64):
            for lane in range(filled):
                block[lane] = bits[start + 64 * column + lane, word]
            for lane in range(filled, 64):
                block[lane] = 0
            transpose(block)
            row = first_row + 64 * word
            for at in range(min(64, count - 64 * word)):
                words[row + at, column] = block[at]


@lean
def take_bits(words: Words, first_row: Int, count: Int, bits: Bits, start: Int, lanes: Int) -> None:
    """The reverse of `put_bits`."""
    block = words[words.shape[0] - SPARE :].reshape(64)
    for column in range((lanes + 63) // 64):
        filled = min(64, lanes - 64 * column)
        for word in range((count + 63) // 64):
            row = first_row + 64 * word
            present = min(64, count - 64 * word)
            for at in range(present):
                block[at] = words[row + at, column]
            for at in range(present, 64):
                block[at] = 0
            transpose(block)
            for lane in range(filled):
                bits[start + 64 * column + lane, word] = block[lane]


@lean
def flip_moves(words: Words, first_row: Int, first_move: Indices, moves: Indices, start: Int, lanes: Int) -> bool:
    """Flip the bits of moves[start + lane, role], numbered within the role; whether all are moves of their roles.

    The rows are 0 without moves: called once more, it makes them so again. Nothing is flipped when a number is wrong.
    """
    roles = first_move.shape[0] - 1
    for lane in range(lanes):
        for role in range(roles):
            move = np.int64(moves[start + lane, role])
            if not 0 <= move < first_move[role + 1] - first_move[role]:
                return False
    for lane in range(lanes):
        bit = np.uint64(1) << np.uint64(lane & 63)
        for role in range(roles):
            row = first_row + first_move[role] + np.int64(moves[start + lane, role])
            words[row, (lane >> 6) & (WORD - 1)] ^= bit
    return True


@lean
def single_values(bits: Bits, first: Indices, values: NDArray[np.int16], found: NDArray[np.int16]) -> None:
    """found[n, k] becomes the value whose bit is set in row n from first[k] to before first[k + 1], -1 unless one is.

    Bit i stands for values[i].
    """
    for row in range(bits.shape[0]):
        for part in range(first.shape[0] - 1):
            count = 0
            found[row, part] = -1
            for at in range(first[part], first[part + 1]):
                if (bits[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1):
                    count += 1
                    found[row, part] = values[at]
            if count > 1:
                found[row, part] = -1


@inner
def copy_state(target: Bits, to: Int, source: Bits, row: Int) -> None:
    """target[to] becomes source[row]."""
    for word in range(source.shape[1]):
        target[to, word] = source[row, word]


class Rows(NamedTuple):
    """What kernels know of a game; the state is in rows 1 … F, the moves follow."""

    code: Code
    facts: int
    first_move: Ids  # (roles + 1,) where each role's moves start
    first_output: NDArray[np.int64]  # (4,) the first row that each program writes
    outputs: NDArray[np.int64]  # (4,) how many
    addresses: NDArray[np.int64]  # (4,) machine code of each program, 0 for none; filled in by another thread


class Batches:
    """A game's rules for any number of states; may be used by several threads.

    states: (n, fact_words), fact f is bit f, as in `CompiledGame.facts`; only states that agree with the constants of
    the game have a meaning. moves: (n, roles), each the index of a legal move among the moves of its role.
    """

    def __init__(self, compiled: CompiledGame) -> None:
        circuit = compiled.circuit
        self.game = compiled
        self.initial = pack(circuit.initial[np.newaxis])
        self.first_move = np.concatenate([[0], np.cumsum(circuit.moves)]).astype(np.int32)
        self.first_goal = np.concatenate([[0], np.cumsum(list(map(len, compiled.goals)))]).astype(np.int32)
        self.first_percept = np.concatenate([[0], np.cumsum(list(map(len, compiled.percepts)))]).astype(np.int32)
        self.goal_values = np.array([value for values in compiled.goals for value in values], np.int16)
        self.rows, self.programs = _make_rows(circuit, self.first_move)
        self.size = max(program.rows for program in self.programs.values()) + SPARE
        self._code: MachineCode | None = None
        self._free: list[Words] = []  # words that no call uses; threads take and give back by atomic pop and append

    def use(self, code: MachineCode) -> None:
        """Evaluate by machine code from now on: the functions `PROGRAMS`."""
        self._code = code  # keeps them in memory
        self.rows.addresses[:] = [code.addresses[name] for name in PROGRAMS]

    def look(self, states: Bits) -> tuple[Bits, NDArray[np.bool_]]:
        """What is legal, as bits over the moves of all roles in a row; and which states are terminal."""
        found = self._evaluate(LOOK, states, None)
        moves = int(self.first_move[-1])
        terminal = (found[:, moves // 64] >> np.uint64(moves % 64)) & np.uint64(1) != 0
        found[:, moves // 64] &= np.uint64((1 << moves % 64) - 1)
        return found[:, : _words(moves)], terminal

    def legal(self, states: Bits) -> Bits:
        return self.look(states)[0]

    def terminal(self, states: Bits) -> NDArray[np.bool_]:
        return self.look(states)[1]

    def goal_bits(self, states: Bits) -> Bits:
        """Which goal values the rules give, as bits over `CompiledGame.goals` of all roles in a row."""
        return self._evaluate(GOALS, states, None)

    def goals(self, states: Bits) -> NDArray[np.int16]:
        """(n, roles) the goal value of each role, -1 where the rules give none or several."""
        found = np.empty((len(states), len(self.game.roles)), np.int16)
        single_values(self.goal_bits(states), self.first_goal, self.goal_values, found)
        return found

    def next_states(self, states: Bits, moves: Indices) -> Bits:
        return self._evaluate(NEXT, states, moves)

    def percepts(self, states: Bits, moves: Indices) -> Bits:
        """What each role is told after the step, as bits over `CompiledGame.percepts` of all roles in a row."""
        return self._evaluate(PERCEPTS, states, moves)

    def _evaluate(self, program: int, states: Bits, moves: Indices | None) -> Bits:
        shape = (len(states), _words(self.game.circuit.facts))
        if states.shape != shape or states.dtype != np.uint64:
            raise ValueError(f"states have shape (n, {shape[1]}) and type uint64, not {states.shape}, {states.dtype}")
        roles = len(self.game.roles)
        if moves is None:
            given = np.zeros((0, roles), np.int32)
        elif moves.shape != (len(states), roles):
            raise ValueError(f"moves have shape {(len(states), roles)}, not {moves.shape}")
        else:
            given = np.ascontiguousarray(moves, np.int32)
        found = np.zeros((len(states), _words(int(self.rows.outputs[program]))), np.uint64)
        words = self._take()
        known = evaluate(self.rows, words, program, np.ascontiguousarray(states), given, found)
        self._free.append(words)
        if not known:
            raise ValueError("a move has a number that its role does not have")
        return found

    def _take(self) -> Words:
        """Words that no other thread uses; those of the moves are 0."""
        try:
            return self._free.pop()
        except IndexError:
            return aligned_words(self.size)


def pack(flags: NDArray[np.bool_]) -> Bits:
    """(n, k) truth values → rows of bits."""
    size = 8 * _words(flags.shape[1])
    packed = np.zeros((len(flags), size), np.uint8)
    found = np.packbits(flags, axis=1, bitorder="little")
    packed[:, : found.shape[1]] = found
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack(bits: Bits, count: int) -> NDArray[np.bool_]:
    """Rows of bits → (n, count) truth values."""
    octets = np.ascontiguousarray(bits, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").view(np.bool_)


def _words(count: int) -> int:
    """How many uint64 hold so many bits; at least one."""
    return max(1, (count + 63) // 64)


def _make_rows(circuit: Circuit, first_move: Ids) -> tuple[Rows, dict[str, Program]]:
    """What kernels know, and the programs by their names."""
    terminal = np.array([circuit.terminal], np.int32)
    outputs = [np.concatenate([circuit.legal, terminal]), circuit.goals, circuit.next, circuit.percepts]
    counts = list(map(len, outputs))
    firsts = (1 + circuit.inputs + np.concatenate([[0], np.cumsum(counts)])).astype(np.int64)
    row_of_input = np.full(len(circuit.left), -1, np.int32)
    row_of_input[1 : 1 + circuit.inputs] = np.arange(1, 1 + circuit.inputs)
    programs: dict[str, Program] = {}
    for name, first, literals in zip(PROGRAMS, firsts.tolist(), outputs, strict=False):
        rows = np.arange(first, first + len(literals), dtype=np.int32)
        programs[name] = make_program(
            circuit.left, circuit.right, circuit.loops, literals.astype(np.int32), row_of_input, rows, int(firsts[-1])
        )
    rows_of = Rows(
        join_programs(tuple(programs.values())), circuit.facts, first_move, firsts[:-1], np.array(counts, np.int64),
        np.zeros(len(programs), np.int64),
    )  # fmt: skip
    return rows_of, programs


@inner
def run_rows(rows: Rows, words: Words, program: Int) -> None:
    """Evaluate a program on all lanes."""
    address = rows.addresses[program]
    if address:
        call(address, words, 1, 1 + rows.facts)
    else:
        run_program(words, rows.code, program)


@lean
def evaluate(rows: Rows, words: Words, program: Int, states: Bits, moves: Indices, found: Bits) -> bool:
    """Fill `found` with the outputs of a program; False, with nothing done, when a move does not exist.

    moves: (n, roles), or (0, roles) for a program that reads none.
    """
    return evaluate_rows(rows, words, program, states, moves, found, states.shape[0])


@lean
def evaluate_rows(  # noqa: PLR0913, PLR0917 - kernel: rows and arrays apart
    rows: Rows, words: Words, program: Int, states: Bits, moves: Indices, found: Bits, count: Int
) -> bool:
    """The same for the first `count` rows; programs before NEXT read no moves."""
    has_moves = program >= NEXT
    first_row, outputs = int(rows.first_output[program]), int(rows.outputs[program])
    first_move_row = 1 + rows.facts
    for start in range(0, count, LANES):
        lanes = min(LANES, count - start)
        put_bits(words, 1, rows.facts, states, start, lanes)
        if has_moves and not flip_moves(words, first_move_row, rows.first_move, moves, start, lanes):
            return False
        run_rows(rows, words, program)
        if has_moves:
            flip_moves(words, first_move_row, rows.first_move, moves, start, lanes)
        take_bits(words, first_row, outputs, found, start, lanes)
    return True


class Single:
    """A game's rules for one state; may be used by several threads.

    A state is the numbers of its facts, in any order; moves are (roles,) numbers within each role.
    """

    def __init__(self, batches: Batches) -> None:
        self._rows = batches.rows
        self._size = batches.size
        self._first_move = batches.first_move[:-1] + np.int32(batches.rows.facts)
        self._free: list[Words] = []  # all inputs are 0

    def look(self, state: Indices) -> list[int]:
        """What is legal, by numbers over the moves of all roles, ascending; in a terminal state one more than these."""
        return self._evaluate(LOOK, state).tolist()  # type: ignore[no-any-return]

    def goals(self, state: Indices) -> list[int]:
        """By numbers over the goal values of all roles, ascending."""
        return self._evaluate(GOALS, state).tolist()  # type: ignore[no-any-return]

    def next_state(self, state: Indices, moves: Indices) -> Indices:
        return self._evaluate(NEXT, np.concatenate((state, moves + self._first_move)))

    def percepts(self, state: Indices, moves: Indices) -> list[int]:
        """By numbers over the percepts of all roles, ascending."""
        return self._evaluate(PERCEPTS, np.concatenate((state, moves + self._first_move))).tolist()  # type: ignore[no-any-return]

    def _evaluate(self, program: int, inputs: Indices) -> Indices:
        try:
            words = self._free.pop()
        except IndexError:
            words = aligned_words(self._size)
        found = np.empty(self._rows.outputs[program], np.int32)
        count = evaluate_one(self._rows, words, program, inputs, found)
        self._free.append(words)
        return found[:count]


@lean
def evaluate_one(rows: Rows, words: Words, program: Int, inputs: Indices, found: Indices) -> int:
    """Write the numbers of the outputs that hold, and return how many; `words` must have, and keep, inputs of 0."""
    for number in inputs:
        words[1 + number, 0] = 1
    run_rows(rows, words, program)
    for number in inputs:
        words[1 + number, 0] = 0
    first_row = int(rows.first_output[program])
    count = 0
    for number in range(rows.outputs[program]):
        if words[first_row + number, 0] & np.uint64(1):
            found[count] = number
            count += 1
    return count
