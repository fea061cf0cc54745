"""Locks that kernels take."""

from threading import Thread

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.kernel import Int, lean
from ggp.locks import Ids, KernelLock, lock, try_lock, unlock

pytestmark = pytest.mark.kernels

TURNS = 200_000


@lean
def count_up(locks: Ids, row: Int, column: Int, numbers: NDArray[np.int64], turns: Int) -> None:
    for _ in range(turns):
        lock(locks, row, column)
        numbers[0] += 1
        numbers[1] += numbers[0] & 1
        unlock(locks, row, column)


@lean
def attempt(locks: Ids, row: Int, column: Int) -> bool:
    return try_lock(locks, row, column)


@pytest.mark.parametrize("column", [0, 2])
def test_one_thread_at_a_time_has_a_lock(column: int) -> None:
    locks, numbers = np.zeros((3, 4), np.int32), np.zeros(2, np.int64)
    threads = [Thread(target=count_up, args=(locks, 1, column, numbers, TURNS)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers.tolist() == [3 * TURNS, 3 * TURNS // 2]
    assert not locks.any()


def test_a_lock_that_is_held_is_not_given() -> None:
    locks = np.zeros((6, 4), np.int32)[::2]  # rows with something between them
    with KernelLock((locks, 1, 0)):
        assert locks.tolist() == [[0] * 4, [1, 0, 0, 0], [0] * 4]
        assert not attempt(locks, 1, 0)
        assert attempt(locks, 2, 3)
    assert locks.tolist() == [[0] * 4, [0] * 4, [0, 0, 0, 1]]


def test_python_waits_for_a_kernel_and_a_kernel_for_python() -> None:
    locks, numbers = np.zeros((1, 1), np.int32), np.zeros(2, np.int64)
    thread = Thread(target=count_up, args=(locks, 0, 0, numbers, TURNS))
    thread.start()
    for _ in range(1000):
        with KernelLock((locks, 0, 0)):
            numbers[0] += 1
    thread.join()
    assert numbers[0] == TURNS + 1000
