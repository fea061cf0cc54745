"""The order of atoms, against components found by plain reachability."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.circuit.build import Order, RuleIndex, index_rules, order_atoms

pytestmark = pytest.mark.kernels

Rules = list[tuple[int, list[int]]]  # head; atoms of the body, negative for negated (~atom)


def indexed(count: int, rules: Rules) -> RuleIndex:
    heads = np.array([head for head, _ in rules], np.int32)
    literals = [2 * atom if atom >= 0 else 2 * ~atom + 1 for _, body in rules for atom in body]
    first = np.cumsum([0, *(len(body) for _, body in rules)]).astype(np.int64)
    return index_rules(count, heads, first, np.array(literals, np.int32))


def random_rules(random: Random, count: int, inputs: int) -> Rules:
    density = random.choice((0.3, 0.8, 1.5, 3))
    found = []
    for _ in range(int(density * count)):
        body = [random.randrange(count) for _ in range(random.randint(0, 3))]
        found.append((random.randrange(inputs, count), [~atom if random.random() < 0.2 else atom for atom in body]))
    return found


def reached(below: dict[int, set[int]], start: set[int]) -> set[int]:
    found, work = set(start), list(start)
    while work:
        for atom in below.get(work.pop(), set()) - found:
            found.add(atom)
            work.append(atom)
    return found


def check(order: Order, rules: Rules, count: int, inputs: int, roots: list[int]) -> None:
    """Everything that is said of an order."""
    below: dict[int, set[int]] = {}
    for head, body in rules:
        below.setdefault(head, set()).update(atom if atom >= 0 else ~atom for atom in body)
    below = {head: {atom for atom in atoms if atom >= inputs} for head, atoms in below.items()}
    needed = reached(below, {root for root in roots if root >= inputs})
    atoms, component = order.atoms.tolist(), order.component.tolist()
    assert len(atoms) == len(set(atoms))
    assert set(atoms) == needed
    assert {atom for atom in range(count) if component[atom] >= 0} == needed
    assert [component[atom] for atom in atoms] == sorted(component[atom] for atom in atoms)
    after = {atom: reached(below, below.get(atom, set())) for atom in needed}
    for one in needed:
        assert bool(order.recursive[one]) == (one in after[one])
        for other in needed - {one}:
            assert (component[one] == component[other]) == (one in after[other] and other in after[one])
        for other in after[one]:
            assert component[other] <= component[one]
    assert set(component) - {-1} == set(range(len({component[atom] for atom in needed})))


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_random_rules(seed: int) -> None:
    random = Random(seed)
    count = random.choice((2, 6, 15, 40))
    inputs = random.randrange(count)
    rules = random_rules(random, count, inputs)
    roots = [random.randrange(count) for _ in range(random.randint(0, 4))]
    check(order_atoms(indexed(count, rules), inputs, np.array(roots, np.int32)), rules, count, inputs, roots)


def test_rules_are_found_by_head_in_their_order() -> None:
    index = indexed(5, [(3, [0]), (4, []), (3, [1, ~2]), (2, [4]), (3, [])])
    assert index.first_rule.tolist() == [0, 0, 0, 1, 4, 5]
    assert index.rules.tolist() == [3, 0, 2, 4, 1]
    assert index.literals.tolist() == [0, 2, 5, 8]


def test_an_atom_that_reads_itself_is_recursive() -> None:
    order = order_atoms(indexed(4, [(1, [0]), (2, [2]), (3, [1, ~2])]), 1, np.array([3], np.int32))
    assert order.atoms.tolist() == [1, 2, 3]
    assert order.recursive.tolist() == [0, 0, 1, 0]


def test_long_chains_and_long_cycles() -> None:
    length = 50_000
    chain: Rules = [(atom, [atom - 1]) for atom in range(1, length)]
    order = order_atoms(indexed(length, chain), 1, np.array([length - 1], np.int32))
    assert order.atoms.tolist() == list(range(1, length))
    assert not order.recursive.any()
    order = order_atoms(indexed(length, [*chain, (1, [length - 1])]), 1, np.array([length // 2], np.int32))
    assert sorted(order.atoms.tolist()) == list(range(1, length))
    assert set(order.component[1:].tolist()) == {0}
    assert order.recursive[1:].all()
