"""Compiled game → its rules as functions of many states at once, each a row of bits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.circuit import Circuit
from ggp.circuit.compilation import CompiledGame
from ggp.circuit.network import Ids
from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES, Int, Words, aligned_words, lean
from ggp.simulation.packing import SPARE, Bits, Indices, flip_moves, put_bits, single_values, take_bits
from ggp.simulation.running import Code, join_programs, run_program

LOOK, GOALS, NEXT, PERCEPTS = range(4)  # programs


class Rows(NamedTuple):
    """What kernels know of a game; the state is in rows 1 … F, the moves follow."""

    code: Code
    facts: int
    first_move: Ids  # (roles + 1,) where each role's moves start
    first_output: NDArray[np.int64]  # (4,) the first row that each program writes
    outputs: NDArray[np.int64]  # (4,) how many


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
        self.rows, self.size = _make_rows(circuit, self.first_move)
        self._free: list[Words] = []

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
        """Words that nobody else uses; those of the moves are 0."""
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


def _make_rows(circuit: Circuit, first_move: Ids) -> tuple[Rows, int]:
    """The programs, and how many rows they need."""
    terminal = np.array([circuit.terminal], np.int32)
    outputs = [np.concatenate([circuit.legal, terminal]), circuit.goals, circuit.next, circuit.percepts]
    counts = list(map(len, outputs))
    firsts = (1 + circuit.inputs + np.concatenate([[0], np.cumsum(counts)])).astype(np.int64)
    row_of_input = np.full(len(circuit.left), -1, np.int32)
    row_of_input[1 : 1 + circuit.inputs] = np.arange(1, 1 + circuit.inputs)
    programs: list[Program] = []
    for first, literals in zip(firsts.tolist(), outputs, strict=False):
        rows = np.arange(first, first + len(literals), dtype=np.int32)
        made = make_program(
            circuit.left, circuit.right, circuit.loops, literals.astype(np.int32), row_of_input, rows, int(firsts[-1])
        )
        programs.append(made)
    rows_of = Rows(join_programs(tuple(programs)), circuit.facts, first_move, firsts[:-1], np.array(counts, np.int64))
    return rows_of, max(program.rows for program in programs) + SPARE


@lean
def evaluate(rows: Rows, words: Words, program: Int, states: Bits, moves: Indices, found: Bits) -> bool:
    """Fill `found` with the outputs of a program; False, with nothing done, when a move does not exist.

    moves: (n, roles), or (0, roles) for a program that reads none.
    """
    return evaluate_rows(rows, words, program, states, moves, found, states.shape[0])


@lean
def evaluate_rows(
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
        run_program(words, rows.code, program)
        if has_moves:
            flip_moves(words, first_move_row, rows.first_move, moves, start, lanes)
        take_bits(words, first_row, outputs, found, start, lanes)
    return True
