"""The random choice as gates: every fraction that the random bits can be, so that probabilities are exact."""

from collections import Counter
from functools import cache
from random import Random

import numpy as np
import pytest

from ggp.circuit.choice import PRECISION, choose_move, random_bits
from ggp.circuit.network import Loops, add_input, check_capacity, make_network
from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES, Words, aligned_words
from ggp.simulation.evaluate import Code, join_programs, run_program

pytestmark = pytest.mark.kernels

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
SIZES = (*range(1, 18), 31, 32, 33, 61, 155)


@cache
def choice(moves: int) -> tuple[Program, Code]:
    """Rows: false, the legal moves, the random bits, the moves that are done, whether any is legal, scratch."""
    network = make_network(200 * moves * (3 + random_bits(moves)) + 1000)
    count = moves + random_bits(moves)
    inputs = np.array([add_input(network, number) for number in range(count)], np.int64)
    done, anything = choose_move(network, inputs[:moves], inputs[moves:])
    check_capacity(network)
    size = int(network.size[0])
    row_of_input = np.full(size, -1, np.int32)
    row_of_input[1 : 1 + count] = 1 + np.arange(count)
    outputs = np.array([*done.tolist(), anything], np.int32)
    rows = np.arange(1 + count, 2 + count + moves, dtype=np.int32)
    loops = Loops(np.zeros(0, np.int32), np.zeros(0, np.int32))
    program = make_program(
        network.left[:size], network.right[:size], loops, outputs, row_of_input, rows, 2 + count + moves
    )
    return program, join_programs((program,))


def run(moves: int, legal: Flags, fractions: list[int]) -> tuple[Flags, Flags]:
    """What is done, (moves, lanes), and whether any move is legal; one fraction for each of 512 lanes."""
    program, code = choice(moves)
    words: Words = aligned_words(program.rows)
    words[1 : 1 + moves] = packed(legal)
    bits = random_bits(moves)
    drawn = np.array([[fraction >> bit & 1 for fraction in fractions] for bit in range(bits)], np.bool_)
    words[1 + moves : 1 + moves + bits] = packed(drawn.reshape(bits, LANES))
    run_program(words, code, 0)
    found = unpacked(words[program.outputs])
    return found[:moves], found[moves]


def packed(flags: Flags) -> Words:
    return np.packbits(flags, axis=1, bitorder="little").view(np.uint64)


def unpacked(words: Words) -> Flags:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little").astype(np.bool_)


def twin(legal: Flags, fraction: int, bits: int) -> int | None:
    """The move that is done: the one whose number is the fraction of the count, rounded down."""
    possible = np.flatnonzero(legal).tolist()
    return possible[len(possible) * fraction >> bits] if possible else None


@pytest.mark.parametrize("moves", [*SIZES, 400, 601, 1100])
def test_random_legal_moves(moves: int) -> None:
    random, drawn, bits = Random(moves), np.random.default_rng(moves), random_bits(moves)
    for density in (0.0, 0.05, 0.3, 0.9, 1.0):
        legal = drawn.random((moves, LANES)) < density
        fractions = [random.choice((0, (1 << bits) - 1, random.getrandbits(bits or 1))) for _ in range(LANES)]
        fractions = [fraction if bits else 0 for fraction in fractions]
        done, anything = run(moves, legal, fractions)
        assert np.array_equal(anything, legal.any(axis=0))
        for lane in np.flatnonzero(anything).tolist():
            expected = twin(legal[:, lane], fractions[lane], bits)
            assert np.flatnonzero(done[:, lane]).tolist() == ([expected] if moves > 1 else [0]), (density, lane)


@pytest.mark.parametrize("moves", SIZES)
def test_every_move_is_as_likely_as_every_other(moves: int) -> None:
    bits = random_bits(moves)
    total = 1 << bits
    random = Random(moves)
    for count in {1, 2, moves // 2, moves} & set(range(1, moves + 1)) if moves < 61 else {moves, moves - 5}:
        possible = sorted(random.sample(range(moves), count))
        legal = np.zeros((moves, LANES), np.bool_)
        legal[possible] = True
        found: Counter[int] = Counter()
        for first in range(0, total, LANES):
            fractions = [min(fraction, total - 1) for fraction in range(first, first + LANES)]
            done, anything = run(moves, legal, fractions)
            assert anything.all()
            lanes = min(LANES, total - first)
            assert (done[:, :lanes].sum(axis=0) == 1).all()
            found.update(dict(enumerate(done[:, :lanes].sum(axis=1).tolist())))
        assert [move for move in range(moves) if found[move]] == possible
        assert sum(found.values()) == total
        for move in possible:
            assert found[move] in (total // count, -(-total // count))
            assert abs(found[move] * count / total - 1) <= 2**-PRECISION


def test_a_single_move_needs_no_random_bits() -> None:
    assert random_bits(0) == random_bits(1) == 0
    assert [random_bits(moves) for moves in (2, 3, 4, 255, 256)] == [
        PRECISION + bits for bits in (2, 2, 3, 8, 9)
    ]  # fmt: skip
    legal = np.arange(LANES).reshape(1, LANES) % 2 == 0
    done, anything = run(1, legal, [0] * LANES)
    assert np.array_equal(anything, legal[0])
    assert done[0][legal[0]].all()
