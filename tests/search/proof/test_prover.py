"""What a proof-number search claims, against exhaustive search of random small games."""

from collections import Counter
from functools import cache
from itertools import count
from math import inf

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.library import find_rulesheet
from ggp.search.proof.dfpn import BUSY, SHORT, WORK, claim_entry, find_entry, part_of, put_part
from ggp.search.proof.prover import _SLOW_CYCLES, Prover
from tests.circuit.agreement import Pair, make_pair
from tests.search.graphs import Shape, random_graph
from tests.search.test_mcts import nim
from tests.search.truth import World, explore

pytestmark = pytest.mark.kernels

TINY = 1e-9
SEEDS = 4
OPPOSED = {
    "turns": Shape(positions=20, beats=2),
    "many values": Shape(positions=20, ends=8, values=(0, 10, 30, 50, 60, 100), beats=2),
    "cycles": Shape(positions=16, cycles=True, values=(0, 100)),
    "cycles with draws": Shape(positions=16, cycles=True, ends=5),
}
OTHERS = {
    "each for itself": Shape(opposed=False, values=(0, 30, 100), positions=20, ends=8),
    "together": Shape(together=True, positions=20),
    "ends without values": Shape(odd=True, positions=20, ends=8),
}


def prover_of(pair: Pair, budget_bytes: int = 2**22) -> Prover:
    return Prover(pair.circuit, budget_bytes)


def test_what_the_first_look_shows_is_known() -> None:
    """Even before any descent has come back up."""
    pair = make_pair(parse_rulesheet(nim(3, kept=True)))
    prover = prover_of(pair)
    ask(prover, pair, pair.circuit.initial_state, most=1)
    assert prover.is_idle
    assert [bounds.tolist() for bounds in prover.bounds] == [[1.0, 0.0], [1.0, 0.0]]


def test_gates_prove_states_that_were_never_expanded() -> None:
    """Connect four, the first role has discs 4 5 of the lowest row: with 3 or 6 it has two places to win."""
    pair = make_pair(parse_rulesheet(find_rulesheet("connectfour").read_text(encoding="utf-8")))
    machine, state = pair.circuit, pair.circuit.initial_state
    for column, first in (("4", True), ("4", False), ("5", True), ("5", False)):
        state = machine.next_state(state, (("drop", column), "noop") if first else ("noop", ("drop", column)))
    prover = prover_of(pair)
    ask(prover, pair, state, most=1)
    known = prover.root_moves
    assert known is not None
    moves = machine.legal_moves(state, machine.roles[0])
    won = {
        str(move[1]): int(length) for move, low, length in zip(moves, known.low, known.length, strict=True) if low == 1
    }
    assert won == {"3": 2, "6": 2}
    state = machine.next_state(state, (("drop", "6"), "noop"))
    ask(prover, pair, state, most=1)
    known = prover.root_moves
    assert known is not None
    assert (known.low.tolist(), known.length.tolist()) == ([1.0] * 7, [1] * 7)


def ask(prover: Prover, pair: Pair, state: Facts, value: float = 0.5, most: int = 200) -> None:
    bits = pair.circuit.packed(state)
    assert bits is not None
    prover.go_to(bits, value)
    for _ in range(most):
        prover.advance(value, inf)


@cache
def worlds(shape: Shape) -> list[tuple[int, Pair, World]]:
    found = []
    for seed in range(SEEDS):
        pair = make_pair(parse_rulesheet(random_graph(shape, seed)))
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        found.append((seed, pair, world))
    return found


def inner_states(world: World) -> list[Facts]:
    return [state for state, position in world.positions.items() if position.value is None]


@pytest.mark.parametrize("entries", [8, 0])
@pytest.mark.parametrize("name", OPPOSED)
def test_bounds_are_those_of_exhaustive_search(name: str, entries: int) -> None:
    """entries: of the table, so few that nearly all has to make room again; 0: many."""
    seen: Counter[str] = Counter()
    for seed, pair, world in worlds(OPPOSED[name]):
        sure = [world.assured(role) for role in (0, 1)]
        prover = prover_of(pair)
        if prover.has_failed:
            seen["one value"] += 1
            continue
        if entries:
            prover._table = prover._table[:entries].copy()
        for at, state in enumerate(inner_states(world)):
            ask(prover, pair, state, value=((seed + at) % 3) / 2)
            assert not prover.has_failed
            low, high = prover.bounds
            for role in (0, 1):
                assert low[role] <= sure[role][state] + TINY
                assert high[role] >= 1 - sure[1 - role][state] - TINY
            is_exact = low[0] == high[0]
            seen["exact" if is_exact else "open"] += 1
            assert is_exact or world.cyclic or entries
    print(name, dict(seen))
    assert seen["exact"] > 0


@pytest.mark.parametrize("name", OTHERS)
def test_no_claim_is_false_where_roles_are_not_opposed(name: str) -> None:
    failed = 0
    for _, pair, world in worlds(OTHERS[name]):
        sure = [world.assured(role) for role in (0, 1)]
        prover = prover_of(pair)
        for state in inner_states(world):
            if not prover.has_failed:
                ask(prover, pair, state)
            low, _ = prover.bounds
            if prover.has_failed:
                assert low.tolist() == [0, 0]
            else:
                assert all(low[role] <= sure[role][state] + TINY for role in (0, 1))
        failed += prover.has_failed
    assert failed > 0


@pytest.mark.parametrize("shape", [Shape(roles=1), Shape(roles=3), Shape(chance=True)])
def test_other_numbers_of_roles_are_not_tried(shape: Shape) -> None:
    pair = make_pair(parse_rulesheet(random_graph(shape, 1)))
    assert prover_of(pair).has_failed


def test_rules_that_take_long_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = make_pair(parse_rulesheet(nim(40, kept=True)))
    prover = prover_of(pair)
    now = count(0.0, 0.02)
    monkeypatch.setattr("ggp.search.proof.prover.thread_time", lambda: next(now))
    ask(prover, pair, pair.circuit.initial_state, most=_SLOW_CYCLES - 1)
    assert not prover.has_failed
    ask(prover, pair, pair.circuit.initial_state, most=1)
    assert prover.has_failed


def test_too_little_memory_is_not_tried() -> None:
    assert prover_of(make_pair(parse_rulesheet(nim(9, kept=False))), 2**16).has_failed


@pytest.mark.parametrize("heap", [13, 15, 17])
def test_a_win_is_played_in_as_many_steps_as_it_says(heap: int) -> None:
    """Whatever the other role takes."""
    pair = make_pair(parse_rulesheet(nim(heap, kept=True)))
    machine, prover = pair.circuit, prover_of(pair)
    state, left, said, seed = machine.initial_state, heap, 1000, heap
    while left:
        mover = next(role for role in machine.roles if ("take", "1") in machine.legal_moves(state, role))
        moves = machine.legal_moves(state, mover)
        if mover == machine.roles[0]:
            ask(prover, pair, state)
            assert [bounds[0] for bounds in prover.bounds] == [1.0, 1.0]
            known = prover.root_moves
            assert known is not None
            won = {
                move: length
                for move, length in zip(moves, known.length.tolist(), strict=True)
                if taken(move) == left % 4
            }
            move, length = min(won.items(), key=lambda each: each[1])
            assert length < said
            said = length
        else:
            seed = seed * 7 + 1
            move = moves[seed % len(moves)]
            said -= 1
        joint = tuple(move if role == mover else machine.legal_moves(state, role)[0] for role in machine.roles)
        state = machine.next_state(state, joint)
        left -= taken(move)
    assert machine.goal(state, machine.roles[0]) == 100


def taken(move: Term) -> int:
    return int(str(move[1]))


def test_descents_leave_no_mark_when_the_question_changes() -> None:
    pair = make_pair(parse_rulesheet(nim(40, kept=True)))
    machine = pair.circuit
    prover = prover_of(pair)
    state = machine.initial_state
    bits = machine.packed(state)
    assert bits is not None
    prover.go_to(bits, 0.5)
    for _ in range(3):
        prover.advance(0.5, inf)
    assert not prover.is_idle
    table = prover._table
    marked = sum(int(part_of(table, entry, BUSY, SHORT)) for entry in range(len(table)))
    assert marked > 0
    prover.go_to(bits, 0.5)
    assert not any(part_of(table, entry, BUSY, SHORT) for entry in range(len(table)))


def test_what_took_least_work_makes_room_unless_descents_are_on_it() -> None:
    table = np.zeros((4, 3), np.uint64)  # one bucket
    states = np.arange(1, 9, dtype=np.uint64).reshape(8, 1)
    for row in range(4):
        assert find_entry(table, states, row) == -1
        entry = int(claim_entry(table, states, row, 2))
        put_part(table, entry, WORK, 0xFFFF, 10 + row)
    assert sorted(int(find_entry(table, states, row)) for row in range(4)) == [0, 1, 2, 3]
    put_part(table, int(find_entry(table, states, 0)), BUSY, SHORT, 1)
    claim_entry(table, states, 4, 2)
    assert [int(find_entry(table, states, row)) >= 0 for row in range(5)] == [True, False, True, True, True]
    for row in (2, 3, 4):
        put_part(table, int(find_entry(table, states, row)), BUSY, SHORT, 1)
    assert claim_entry(table, states, 5, 2) == -1
    assert claim_entry(table, states, 4, 2) == find_entry(table, states, 4)
