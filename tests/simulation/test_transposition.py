"""The exchange between lanes and rows of arrays, against plain Python."""

from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.kernel import LANES, WORD, Int, Words, aligned_words, kernel
from ggp.transposition import collect, deal, mark, transpose_lanes

pytestmark = pytest.mark.kernels

ROWS = 70
FIRST = 3


@kernel
def run_transpose(words: Words, row: Int) -> None:
    transpose_lanes(words, row)


@kernel
def run_deal(words: Words, row: Int, field: tuple[Int, Int, Int, Int, Int], target: Any) -> None:  # noqa: ANN401
    deal(words, row, field, target)


@kernel
def run_collect(moves: NDArray[np.int64], part: tuple[Int, Int, Int], words: Words, place: tuple[Int, Int]) -> Int:
    return collect(moves, part[0], part[1], part[2], words, place[0], place[1])


@kernel
def run_mark(bits: NDArray[np.uint64], octets: NDArray[np.uint8], start: Int, value: Int) -> None:
    mark(bits[0], octets, start, value)


def random_words(seed: int) -> Words:
    words = aligned_words(ROWS)
    words[:] = np.random.default_rng(seed).integers(0, 1 << 64, words.shape, np.uint64)
    return words


def bit(words: Words, row: int, column: int, at: int) -> int:
    return int(words[row, column]) >> at & 1


def test_rows_and_bits_change_places() -> None:
    words = random_words(0)
    before = words.copy()
    run_transpose(words, FIRST)
    random = Random(0)
    for _ in range(2_000):
        column, i, j = random.randrange(WORD), random.randrange(64), random.randrange(64)
        assert bit(words, FIRST + i, column, j) == bit(before, FIRST + j, column, i)
    outside = np.r_[0:FIRST, FIRST + 64 : ROWS]
    assert (words[outside] == before[outside]).all()


@pytest.mark.parametrize(("count", "shift", "width"), [(LANES, 0, 63), (130, 5, 20), (1, 60, 3)])
def test_bits_of_lanes_are_dealt(count: int, shift: int, width: int) -> None:
    words, start, stride = random_words(1), 7, 2
    bits = np.zeros(start + LANES * stride, np.uint64)
    run_deal(words, FIRST, (count, shift, (1 << width) - 1, start, stride), bits)
    octets = np.zeros(start + LANES * width + 64, np.uint8)
    run_deal(words, FIRST, (count, shift, (1 << width) - 1, start, width), octets)
    for lane in range(count):
        value = int(words[FIRST + lane % 64, lane // 64]) >> shift & ((1 << width) - 1)
        assert int(bits[start + lane * stride]) == value
        assert octets[start + lane * width :][:width].tolist() == [value >> at & 1 for at in range(width)]
    assert not bits[start + count * stride :].any()
    assert not bits[:start].any()
    assert not octets[start + count * width + 64 - width :].any()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_numbers_are_collected(kind: type[np.signedinteger[Any]]) -> None:
    moves = np.random.default_rng(2).integers(-1, 100, (600, 3)).astype(kind)
    words = aligned_words(ROWS)
    words[FIRST, 0] = 1
    total = run_collect(moves, (80, 2, 500), words, (FIRST, 9))
    for lane in range(LANES):
        expected = (int(moves[80 + lane, 2]) + 1) << 9 if lane < 500 else 0
        assert int(words[FIRST + lane % 64, lane // 64]) == expected | (lane == 0)
    assert int(total) == int(np.bitwise_or.reduce(moves[80:580, 2] + 1))


def test_a_negative_number_leaves_high_bits() -> None:
    words = aligned_words(ROWS)
    assert int(run_collect(np.array([[-2]]), (0, 0, 1), words, (FIRST, 0))) == (1 << 64) - 1


def test_octets_are_marked() -> None:
    octets = np.full(80, 9, np.uint8)
    run_mark(np.array([0b1011 | 1 << 63], np.uint64), octets, 8, -1)
    expected = np.full(80, 9, np.uint8)
    expected[[8, 9, 11, 71]] = 255
    assert (octets == expected).all()
