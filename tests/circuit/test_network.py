"""Gates as they are built: the truth tables of random expressions, and the form of the network."""

from random import Random
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.circuit.network import (
    INPUT,
    LOOP,
    Network,
    add_input,
    add_loop,
    both,
    check_capacity,
    differ,
    either,
    make_network,
)
from ggp.errors import GroundingError

pytestmark = pytest.mark.kernels

INPUTS = 4
ROWS = 1 << (1 << INPUTS)  # a truth table is a number of 16 bits
VARIABLES = [sum(1 << row for row in range(1 << INPUTS) if row >> at & 1) for at in range(INPUTS)]

Expression: TypeAlias = "int | tuple[str, Expression, bool, Expression, bool]"
OPERATIONS = {"&": both, "|": either, "^": differ}

# an expression: the number of a variable or constant, or an operation on two others, each possibly inverted
leaves = st.integers(-1, INPUTS - 1)
expressions = st.recursive(
    leaves, lambda below: st.tuples(st.sampled_from("&|^"), below, st.booleans(), below, st.booleans()), max_leaves=40
)


def built(network: Network, expression: Expression) -> int:
    """The literal of an expression."""
    match expression:
        case int(number):
            return 2 * (1 + number)
        case (operation, left, left_inverted, right, right_inverted):
            a, b = built(network, left) ^ left_inverted, built(network, right) ^ right_inverted
            return int(OPERATIONS[operation](network, a, b))


def table_of(expression: Expression) -> int:
    match expression:
        case int(number):
            return 0 if number < 0 else VARIABLES[number]
        case (operation, left, left_inverted, right, right_inverted):
            a = table_of(left) ^ (ROWS - 1 if left_inverted else 0)
            b = table_of(right) ^ (ROWS - 1 if right_inverted else 0)
            return a & b if operation == "&" else a | b if operation == "|" else a ^ b


def tables(network: Network) -> list[int]:
    """The truth table of each node."""
    found = [0]
    for left, right in nodes(network)[1:]:
        if left == INPUT:
            found.append(VARIABLES[right])
            continue
        a, b = (found[literal >> 1] ^ (ROWS - 1 if literal & 1 else 0) for literal in (left, right))
        found.append(a & b if left < right else a ^ b)
    return found


def nodes(network: Network) -> list[tuple[int, int]]:
    size = int(network.size[0])
    return list(zip(network.left[:size].tolist(), network.right[:size].tolist(), strict=True))


def small_network() -> Network:
    network = make_network(400)
    assert [add_input(network, number) for number in range(INPUTS)] == [2 * (1 + number) for number in range(INPUTS)]
    return network


@given(st.lists(expressions, min_size=1, max_size=3))
def test_random_expressions(wanted: list[Expression]) -> None:
    network = small_network()
    for expression in wanted:
        literal = built(network, expression)
        found = tables(network)[literal >> 1] ^ (ROWS - 1 if literal & 1 else 0)
        assert found == table_of(expression)
    check_capacity(network)
    gates = nodes(network)[1 + INPUTS :]
    assert len(set(gates)) == len(gates)
    for node, (left, right) in enumerate(gates, 1 + INPUTS):
        assert min(left, right) >= 2
        assert max(left, right) < 2 * node
        assert left >> 1 != right >> 1
        assert left < right or (left | right) & 1 == 0


def test_what_needs_no_gate() -> None:
    network = small_network()
    a, b = 2, 4
    product = both(network, a, b)
    size = int(network.size[0])
    assert size == 2 + INPUTS
    assert [both(network, a, other) for other in (0, 1, a, a ^ 1)] == [0, a, a, 0]
    assert [either(network, a, other) for other in (0, 1, a, a ^ 1)] == [a, 1, a, 1]
    assert [differ(network, a, other) for other in (0, 1, a, a ^ 1)] == [a, a ^ 1, 0, 1]
    assert [both(network, b, a), both(network, product, a), both(network, product, b ^ 1)] == [product, product, 0]
    assert both(network, product ^ 1, a ^ 1) == a ^ 1
    assert network.size[0] == size
    rest = both(network, product ^ 1, a)  # a, and not both: a without b
    assert nodes(network)[rest >> 1] == (a, b ^ 1)
    one = differ(network, a, b)
    assert [differ(network, b, a), differ(network, a ^ 1, b), differ(network, a ^ 1, b ^ 1)] == [one, one ^ 1, one]
    assert network.size[0] == size + 2


def test_loop_nodes_are_like_inputs() -> None:
    network = small_network()
    loop = add_loop(network, 0)
    assert nodes(network)[loop >> 1] == (LOOP, 0)
    gate = both(network, loop, 2)
    assert nodes(network)[gate >> 1] == (2, loop)
    assert both(network, loop, loop ^ 1) == 0


def test_gates_are_found_again_among_many() -> None:
    random = Random(5)
    network = make_network(20_000)
    literals = [int(add_input(network, number)) for number in range(300)]
    made = {}
    for _ in range(9_000):
        operation = random.choice((both, differ))
        pair = tuple(literal ^ random.randint(0, 1) for literal in random.sample(literals, 2))
        made[operation, pair] = operation(network, *pair)
    size = int(network.size[0])
    check_capacity(network)
    for (operation, (a, b)), literal in made.items():
        assert operation(network, b, a) == literal
    assert network.size[0] == size
    gates = nodes(network)[301:]
    assert len(set(gates)) == len(gates)


def test_a_full_network_stays_full() -> None:
    network = make_network(40)
    literals = [int(add_input(network, number)) for number in range(20)]
    check_capacity(network)
    for a in literals:
        for b in literals:
            both(network, a, b)
            differ(network, a, b ^ 1)
    assert network.size[0] < 40
    assert np.all(network.left[: network.size[0]] < 80)
    with pytest.raises(GroundingError, match="more than 40 gates"):
        check_capacity(network)
    assert add_input(network, 99) == 0
    with pytest.raises(GroundingError):
        check_capacity(network)
