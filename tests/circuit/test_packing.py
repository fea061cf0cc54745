"""States in rows and states in lanes: the kernels and their plain twins."""

from random import Random

import numpy as np
import pytest

from ggp.kernel import LANES, WORD, aligned_words
from ggp.simulation.evaluate import SPARE, flip_moves, put_bits, single_values, take_bits, transpose

pytestmark = pytest.mark.kernels

SIZES = [(1, 1), (63, 3), (64, 64), (65, 130), (200, 65), (512, 7), (130, 512)]  # bits, lanes


def random_words(random: Random, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    count = int(np.prod(shape))
    return np.array([random.getrandbits(64) for _ in range(count)], np.uint64).reshape(shape)


def bit(words: object, *index: int) -> int:
    """Bit index[-1] of a row of uint64, counted over its members."""
    *row, at = index
    return (int(words[(*row, at // 64)]) >> (at % 64)) & 1  # type: ignore[index]


def test_a_block_is_transposed() -> None:
    block = random_words(Random(1), 64)
    swapped = block.copy()
    transpose(swapped)
    for row in range(64):
        for column in range(64):
            assert (int(swapped[row]) >> column) & 1 == (int(block[column]) >> row) & 1


@pytest.mark.parametrize(("count", "lanes"), SIZES)
def test_bits_go_to_their_lanes_and_back(count: int, lanes: int) -> None:
    random = Random(count)
    bits = random_words(random, lanes + 5, (count + 63) // 64)
    words = aligned_words(count + 4 + SPARE)
    words[:-SPARE] = random_words(random, count + 4, WORD)
    before = words.copy()
    put_bits(words, 2, count, bits, 3, lanes)
    for row in range(count):
        for lane in range(lanes):
            assert bit(words, 2 + row, lane) == bit(bits, 3 + lane, row)
    assert np.array_equal(words[:2], before[:2])
    assert np.array_equal(words[2 + count : -SPARE], before[2 + count : -SPARE])
    back = np.zeros_like(bits)
    take_bits(words, 2, count, back, 3, lanes)
    for lane in range(lanes):
        for row in range(64 * bits.shape[1]):
            assert bit(back, 3 + lane, row) == (bit(bits, 3 + lane, row) if row < count else 0)
    assert not back[:3].any()
    assert not back[3 + lanes :].any()


def test_moves_are_flipped_on_and_off() -> None:
    random = Random(7)
    first_move = np.array([0, 3, 4, 104], np.int32)
    moves = np.array([[random.randrange(3), 0, random.randrange(100)] for _ in range(LANES + 2)], np.int32)
    words = aligned_words(107 + SPARE)
    assert flip_moves(words, 2, first_move, moves, 2, LANES)
    for lane in range(LANES):
        chosen = {2 + int(first_move[role] + moves[2 + lane, role]) for role in range(3)}
        assert {row for row in range(107) if bit(words, row, lane)} == chosen
    assert flip_moves(words, 2, first_move, moves, 2, LANES)
    assert not words.any()


@pytest.mark.parametrize("wrong", [(-1, 0), (3, 0), (0, 1)])
def test_moves_that_do_not_exist_flip_nothing(wrong: tuple[int, int]) -> None:
    words = aligned_words(5 + SPARE)
    moves = np.array([(0, 0), wrong], np.int32)
    assert not flip_moves(words, 1, np.array([0, 3, 4], np.int32), moves, 0, 2)
    assert not words.any()


def test_single_values_are_found() -> None:
    random = Random(9)
    first, values = np.array([0, 2, 2, 70, 71], np.int32), np.arange(71, dtype=np.int16)
    sets = [{at for at in range(71) if random.random() < 0.04} for _ in range(300)]
    bits = np.array(
        [[sum(1 << at % 64 for at in own if at // 64 == word) for word in range(2)] for own in sets], np.uint64
    )
    found = np.empty((300, 4), np.int16)
    single_values(bits, first, values, found)
    for own, row in zip(sets, found.tolist(), strict=True):
        parts = [own.intersection(range(first[part], first[part + 1])) for part in range(4)]
        assert row == [min(part) if len(part) == 1 else -1 for part in parts]
