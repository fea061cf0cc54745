"""Kernels that are given named tuples of arrays compute what Python does, and count references as it does."""

import gc
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import types
from numpy.typing import NDArray

from ggp.kernel import Int, kernel, lean, numba_inner
from ggp.kernel_compiler import BitcodeLibrary

pytestmark = pytest.mark.kernels


class Part(NamedTuple):
    values: NDArray[np.float64]


class Whole(NamedTuple):
    left: Part
    right: Part
    number: int


def make_whole() -> Whole:
    return Whole(Part(np.array([1.0, 2.0, 3.0])), Part(np.array([10.0, 20.0])), 2)


@numba_inner
def add_first(part: Part, by: float) -> float:
    part.values[0] += by
    return float(part.values[0])


@lean
def total(part: Part) -> float:
    found = 0.0
    for at in range(len(part.values)):
        found += part.values[at]
    return found


@lean
def changed(whole: Whole, times: Int) -> float:
    """The same function in the place of two calls, in a loop; a part that is given to another kernel."""
    found = 0.0
    for _ in range(times):
        part = whole.left
        found += add_first(part, 1.0) * add_first(whole.right, 2.0)
        found += total(part) + total(whole.right) * whole.number
    return found


@lean
def of_either(whole: Whole, other: Whole, steps: Int) -> float:
    """Variables that are assigned more than once: an argument, a part, and what depends on a branch."""
    found = 0.0
    part = whole.left
    for at in range(steps):
        found = 10.0 * found + total(part) + whole.number
        part = whole.right if at % 2 else other.left
        if at == 2:
            whole = other
    return found


@kernel
def left_values(whole: Whole) -> NDArray[np.float64]:
    return whole.left.values


@kernel
def exchanged(whole: Whole) -> Whole:
    return Whole(whole.right, whole.left, whole.number + 1)


@kernel
def number_below(number: Int, most: Int) -> int:
    if number >= most:
        raise ValueError("too large", number, 0.5)
    return number + 1


@kernel
def sum_of_numbers(count: Int, most: Int) -> int:
    found = 0
    for number in range(count):
        found += number_below(number, most)
    return found


def test_fields_of_arguments_are_read_and_changed() -> None:
    compiled, plain = make_whole(), make_whole()
    assert changed(compiled, 3) == changed.py_func(plain, 3)  # type: ignore[attr-defined]
    assert [part.values.tolist() for part in compiled[:2]] == [part.values.tolist() for part in plain[:2]]


@pytest.mark.parametrize("steps", range(6))
def test_variables_that_are_assigned_more_than_once(steps: int) -> None:
    whole, other = make_whole(), Whole(Part(np.array([5.0])), Part(np.array([7.0, 8.0])), 4)
    assert of_either(whole, other, steps) == of_either.py_func(whole, other, steps)  # type: ignore[attr-defined]


def test_references_to_arrays_are_counted() -> None:
    whole = make_whole()
    left, right = (sys.getrefcount(part.values) for part in whole[:2])
    for _ in range(100):
        found, other = left_values(whole), exchanged(whole)
    assert found.tolist() == [1.0, 2.0, 3.0]
    assert other.left.values.tolist() == [10.0, 20.0]
    assert other.number == 3
    del found, other
    gc.collect()
    assert (left, right) == tuple(sys.getrefcount(part.values) for part in whole[:2])
    found = left_values(whole)
    del whole
    gc.collect()
    assert found.tolist() == [1.0, 2.0, 3.0]  # though nothing else holds it


def test_a_kernel_is_called_from_python_and_from_kernels() -> None:
    assert total(make_whole().left) == 6.0
    assert changed(make_whole(), 1) == changed.py_func(make_whole(), 1)  # type: ignore[attr-defined]
    assert total(make_whole().right) == 30.0


def test_what_kernels_link_is_no_machine_code_and_its_errors_arrive() -> None:
    assert sum_of_numbers(5, 5) == 15
    with pytest.raises(ValueError, match="too large") as found:
        sum_of_numbers(8, 6)
    assert found.value.args == ("too large", 6, 0.5)
    for_kernels: Any = number_below.get_overload.__self__  # type: ignore[attr-defined]
    for_kernels.compile((types.int64, types.int64))
    assert {type(each.library) for each in for_kernels.overloads.values()} == {BitcodeLibrary}
