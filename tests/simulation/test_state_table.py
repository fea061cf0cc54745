"""The table of states, against a dictionary."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.simulation.state_table import (
    EMPTY,
    add_key,
    add_state,
    capacity_within,
    find_state,
    forget_state,
    keep_state,
    make_state_table,
)

pytestmark = pytest.mark.kernels


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1), st.integers(1, 20))
def test_states_are_numbered_as_they_come(given_states: list[tuple[int, int]], capacity: int) -> None:
    table, numbers = make_state_table(2, capacity), dict[tuple[int, int], int]()
    states = np.array(given_states, np.uint64)
    for row, state in enumerate(given_states):
        if state not in numbers and len(numbers) < capacity:
            numbers[state] = len(numbers)
            assert find_state(table, states, row) == EMPTY
        assert add_state(table, states, row) == numbers.get(state, EMPTY)
    for row, state in enumerate(given_states):
        assert find_state(table, states, row) == numbers.get(state, EMPTY)
    assert int(table.size[0]) == len(numbers)


def test_states_are_found_until_they_are_forgotten() -> None:
    random, known = Random(1), set[int]()
    table = make_state_table(1, 300)
    table.states[:] = np.array([[random.getrandbits(64)] for _ in range(300)], np.uint64)
    for _ in range(4000):
        number = random.randrange(300)
        if number in known:
            forget_state(table, number)
            known.remove(number)
        else:
            keep_state(table, number)
            known.add(number)
        for other in random.sample(range(300), 5):
            assert (find_state(table, table.states, other) == other) == (other in known)
    forget_state(table, min(set(range(300)) - known))  # one that is not kept: nothing changes
    for number in range(300):
        assert (find_state(table, table.states, number) == number) == (number in known)


@pytest.mark.parametrize("budget_bytes", [1, 100, 5000, 2**20, 10**8])
@pytest.mark.parametrize("state_bytes", [9, 25, 400])
def test_states_within_a_budget(budget_bytes: int, state_bytes: int) -> None:
    capacity = capacity_within(budget_bytes, state_bytes)
    taken = capacity * state_bytes + 4 * (1 << ((4 * capacity + 2) // 3 - 1).bit_length())
    assert taken <= budget_bytes or capacity == 1
    assert capacity == 1 or taken > 0.5 * budget_bytes


def test_a_set_of_hashes() -> None:
    keys, known = np.zeros(256, np.uint64), set[int]()
    random = Random(2)
    for _ in range(400):
        key = random.randrange(1, 150) * 2**20 + random.randrange(1, 2)
        assert add_key(keys, np.uint64(key)) == (key not in known)
        known.add(key)
