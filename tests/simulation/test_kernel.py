"""Operations on words, against integers of 512 bits and the published numbers of the random generator."""

import tomllib
from collections.abc import Callable
from operator import and_, xor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numba.core import types

from ggp import kernel as kernels
from ggp.kernel import (
    BOUNDS_CHECKED,
    LANES,
    TALLY_BITS,
    WORD,
    Int,
    Words,
    aligned_words,
    any_lane,
    blend,
    call,
    compile_object,
    count_both,
    fill_random,
    gate_and,
    gate_xor,
    kernel,
    load_object,
    lowest,
    machine_name,
    tally,
    vector_bits,
)
from tests.simulation.networks import ALL, number_of, put_number

pytestmark = pytest.mark.kernels

# xoshiro256+ from the state (1, 2, 3, 4), as the reference program of Blackman and Vigna prints them
PUBLISHED = (
    5, 211106232532999, 211106635186183, 9223759065350669058, 9250833439874351877, 13862484359527728515,
    2346507365006083650, 1168864526675804870, 34095955243042024, 3466914240207415127,
)  # fmt: skip


@kernel
def run_and(words: Words, left: Int, right: Int, out: Int) -> None:
    gate_and(words, left, right, out)


@kernel
def run_xor(words: Words, left: Int, right: Int, out: Int) -> None:
    gate_xor(words, left, right, out)


@kernel
def run_blend(words: Words, row: Int, other: Int, mask: Int) -> None:
    blend(words, row, other, mask)


@kernel
def run_any(words: Words, row: Int) -> bool:
    return any_lane(words, row)


@kernel
def run_count(words: Words, row: Int, other: Int) -> int:
    return count_both(words, row, other)


@kernel
def run_tally(words: Words, row: Int, other: Int, first: Int) -> None:
    tally(words, row, other, first)


@kernel
def run_random(words: Words, row: Int, count: Int, state: Words) -> None:
    fill_random(words, row, count, state)


@kernel
def run_lowest(value: np.uint64) -> int:
    return lowest(value)


def plain(function: Callable[..., object]) -> Callable[..., object]:
    """The function as Python runs it, without its warnings of numbers that wrap around."""

    def run(*arguments: object) -> object:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run


def random_rows(seed: int, rows: int) -> Words:
    random, words = Random(seed), aligned_words(rows)
    for row in range(rows):
        put_number(words, row, random.choice((0, ALL, random.getrandbits(LANES), 1 << random.randrange(LANES))))
    return words


def numbers(words: Words) -> list[int]:
    return [number_of(word) for word in words]


def literal(rows: list[int], value: int) -> int:
    return rows[value >> 1] ^ (ALL if value & 1 else 0)


@pytest.mark.parametrize(
    ("run", "combine"),
    [(run_and, and_), (plain(kernels.plain_and), and_), (run_xor, xor), (plain(kernels.plain_xor), xor)],
)
def test_gates(run: Callable[..., object], combine: Callable[[int, int], int]) -> None:
    random = Random(1)
    for seed in range(200):
        words = random_rows(seed, 6)
        expected = numbers(words)
        left, right, out = random.randrange(12), random.randrange(12), random.randrange(6)
        expected[out] = combine(literal(expected, left), literal(expected, right))
        run(words, left, right, out)
        assert numbers(words) == expected, (seed, left, right, out)


@pytest.mark.parametrize("run", [run_blend, plain(kernels.plain_blend)])
def test_blend(run: Callable[..., object]) -> None:
    random = Random(2)
    for seed in range(200):
        words = random_rows(seed, 4)
        expected = numbers(words)
        row, other, mask = (random.randrange(4) for _ in range(3))
        expected[row] = expected[row] & ~expected[mask] | expected[other] & expected[mask]
        run(words, row, other, mask)
        assert numbers(words) == expected, (seed, row, other, mask)


@pytest.mark.parametrize("run", [run_any, plain(kernels.plain_any)])
def test_any_lane(run: Callable[..., object]) -> None:
    words = aligned_words(3)
    assert not run(words, 1)
    for lane in range(LANES):
        words[:] = 0
        put_number(words, 1, 1 << lane)
        assert run(words, 1)
        assert not run(words, 0)
        assert not run(words, 2)


@pytest.mark.parametrize("run", [run_count, plain(kernels.plain_count)])
def test_count_both(run: Callable[..., object]) -> None:
    for seed in range(50):
        words = random_rows(seed, 3)
        rows = numbers(words)
        for row, other in ((0, 1), (2, 1), (1, 1)):
            assert run(words, row, other) == (rows[row] & rows[other]).bit_count()


@pytest.mark.parametrize("run", [run_tally, plain(kernels.plain_tally)])
def test_each_lane_has_a_counter(run: Callable[..., object]) -> None:
    random, words, expected = Random(6), aligned_words(4 + TALLY_BITS), [0] * LANES
    put_number(words, 3 + TALLY_BITS, 7)
    for _ in range(2 << TALLY_BITS):
        for row in (0, 1):
            put_number(words, row, random.choice((0, ALL, random.getrandbits(LANES))))
        run(words, 0, 1, 3)
        both = number_of(words[0]) & number_of(words[1])
        expected = [(count + (both >> lane & 1)) % (1 << TALLY_BITS) for lane, count in enumerate(expected)]
        digits = [number_of(words[3 + digit]) for digit in range(TALLY_BITS)]
        found = [sum((row >> lane & 1) << digit for digit, row in enumerate(digits)) for lane in range(LANES)]
        assert found == expected
    assert (number_of(words[2]), number_of(words[3 + TALLY_BITS])) == (0, 7)


def test_lowest() -> None:
    random = Random(3)
    for at in range(64):
        assert run_lowest(np.uint64(1 << at | random.getrandbits(64) << at & (1 << 64) - 1)) == at


class Xoshiro:
    """xoshiro256+, one stream, written down from the paper."""

    def __init__(self, state: list[int]) -> None:
        self.state = state

    def draw(self) -> int:
        a, b, c, d = self.state
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ (b << 17 & (1 << 64) - 1), (d << 45 | d >> 19) & (1 << 64) - 1]
        return (a + (d ^ b)) & (1 << 64) - 1


def test_the_reference_draws_the_published_numbers() -> None:
    stream = Xoshiro([1, 2, 3, 4])
    assert tuple(stream.draw() for _ in PUBLISHED) == PUBLISHED


@pytest.mark.parametrize("run", [run_random, plain(kernels.plain_random)])
def test_each_column_is_a_random_stream_of_its_own(run: Callable[..., object]) -> None:
    random = Random(4)
    columns = [[1, 2, 3, 4], *([random.getrandbits(64) for _ in range(4)] for _ in range(WORD - 1))]
    state = np.array(columns, np.uint64).T.copy()
    streams = [Xoshiro(column) for column in columns]
    words = aligned_words(20)
    drawn = []
    for row, count in ((3, 2), (0, 0), (1, 1), (7, 12)):
        before = words.copy()
        run(words, row, count, state)
        expected = [[stream.draw() for stream in streams] for _ in range(count)]
        assert words[row : row + count].tolist() == expected
        assert np.array_equal(
            np.delete(words, range(row, row + count), 0), np.delete(before, range(row, row + count), 0)
        )
        assert state.T.tolist() == [stream.state for stream in streams]
        drawn += [values[0] for values in expected]
    assert tuple(drawn[: len(PUBLISHED)]) == PUBLISHED


def test_words_start_at_a_multiple_of_their_size() -> None:
    for count in range(1, 40):
        words = aligned_words(count)
        assert words.shape == (count, WORD)
        assert words.ctypes.data % 64 == 0
        assert words.flags.c_contiguous
        assert not words.any()


def test_machine_code_gets_the_places_of_its_rows() -> None:
    text = """
    define void @swap(ptr %current, ptr %following, ptr %rest) {
    %a = load <8 x i64>, ptr %current, align 64
    %b = load <8 x i64>, ptr %following, align 64
    store <8 x i64> %a, ptr %following, align 64
    store <8 x i64> %b, ptr %current, align 64
    ret void
    }
    define void @first(ptr %current, ptr %following, ptr %rest) {
    store <8 x i64> zeroinitializer, ptr %rest, align 64
    ret void
    }
    """
    code = load_object(compile_object(text), ("swap", "first"))
    words = random_rows(6, 5)
    words[0] = 1
    expected = numbers(words)
    call(code.addresses["swap"], words, 4, 1)
    expected[4], expected[1] = expected[1], expected[4]
    assert numbers(words) == expected
    call(code.addresses["first"], words, 4, 1)
    assert numbers(words) == [0, *expected[1:]]


def test_a_mistake_in_machine_code_is_told() -> None:
    with pytest.raises(RuntimeError):
        compile_object("define void @f() { ret i64 }")


def test_the_machine_has_a_name_and_a_width() -> None:
    assert vector_bits() in (128, 256, 512)
    assert "\n" not in machine_name()
    assert machine_name() == machine_name()


@pytest.mark.skipif(not BOUNDS_CHECKED, reason="without the check an index out of range reads garbage")
@pytest.mark.parametrize("arguments", [(0, 12, 1), (0, 2, 6)])
def test_indices_out_of_range_are_seen(arguments: tuple[int, int, int]) -> None:
    for run in (run_and, run_xor):
        with pytest.raises(IndexError):
            run(random_rows(1, 6), *arguments)


def test_libraries_whose_private_parts_are_used_have_upper_bounds() -> None:
    """`numba.core` may change with every version."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounded = [name for name in project["dependencies"] if name.startswith(("numba", "llvmlite"))]
    assert len(bounded) == 2
    assert all("<" in name for name in bounded)


def test_constants_of_other_kernels_share_their_code() -> None:
    """As numba asks for it where a kernel calls another with one."""

    def more(number: Int, by: Int = 1) -> Int:
        return number + by

    compiled: Any = kernel(more)
    literal: Any = types.literal
    for constant in (1, 2, -7):
        _, _, arguments, _ = compiled.get_call_template((literal(constant),), {"by": literal(constant)})
        assert arguments == (types.int64, types.int64)
    (called,) = compiled.get_call_template.args  # the dispatcher for calls from kernels
    assert called.signatures == [(types.int64, types.int64)]
    assert compiled(20, 22) == 42
