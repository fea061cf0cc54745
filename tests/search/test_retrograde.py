"""All states of a small game: values agree with those worked out one by one, and the search plays by them."""

from collections import Counter

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.retrograde import RetrogradeSolver
from tests.circuit.agreement import Pair, make_pair
from tests.search.graphs import Shape, random_graph
from tests.search.test_mcts import nim
from tests.search.truth import World, explore
from tests.simulation.games import GAMES

pytestmark = pytest.mark.kernels

SHAPES = {
    "opposed": Shape(positions=24),
    "opposed, cycles": Shape(positions=24, cycles=True),
    "any values": Shape(values=(0, 30, 100), opposed=False),
    "three roles": Shape(roles=3, beats=3, positions=24, opposed=False),
    "chance": Shape(chance=True, beats=4, positions=24),
    "at once": Shape(together=True, positions=24),
}
SEEDS = 5


def solver_of(pair: Pair, budget_bytes: int = 2**20) -> RetrogradeSolver:
    machine = pair.circuit
    bits = machine.packed(machine.initial_state)
    assert bits is not None
    found = RetrogradeSolver(machine, bits, budget_bytes)
    for _ in range(100_000):
        if found.has_failed or found.is_settled:
            return found
        found.advance()
    raise AssertionError("it does not come to its end")


def check_values(pair: Pair, world: World, found: RetrogradeSolver) -> Counter[str]:
    seen: Counter[str] = Counter()
    outcomes = None if world.cyclic else world.outcomes()
    assert found.states == len(world.positions)
    for state in world.positions:
        bits = pair.circuit.packed(state)
        assert bits is not None
        number = found.find(bits)
        assert number is not None
        low, high, length = found.bounds(number)
        assert (low <= high + 1e-9).all()
        vectors = None if outcomes is None else outcomes[state]
        if vectors is not None:
            for role in range(len(world.roles)):
                assert low[role] <= min(vector[role] for vector in vectors) + 1e-9
                assert high[role] >= max(vector[role] for vector in vectors) - 1e-9
            if len(vectors) == 1 and len(world.roles) - len(world.nature) == 2 and is_opposed(world):
                assert (abs(high - low) < 1e-9).all()
                seen["exact"] += 1
        position = world.positions[state]
        assert (length == 0) == (position.value is not None)
    return seen


def is_opposed(world: World) -> bool:
    ends = [position.value for position in world.positions.values() if position.value is not None]
    return all(value[0] + value[1] == 1 for value in ends)


@pytest.mark.parametrize("name", SHAPES)
def test_values_are_those_of_exhaustive_search(name: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        pair = make_pair(parse_rulesheet(random_graph(SHAPES[name], seed)))
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        found = solver_of(pair)
        assert found.has_failed == world.together
        if not found.has_failed:
            seen.update(check_values(pair, world, found))
            seen["settled"] += 1
    assert seen["settled"] > 0 or name == "at once"
    assert seen["exact"] > 0 or name not in ("opposed", "chance")


def test_what_is_too_large_is_given_up() -> None:
    pair = make_pair(parse_rulesheet(nim(60, kept=True)))
    assert solver_of(pair, 2**12).has_failed


@pytest.mark.parametrize("heap", [9, 12, 16])
def test_a_search_that_knows_all_states_needs_no_more_visits(heap: int) -> None:
    machine = make_pair(parse_rulesheet(nim(heap, kept=False))).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22, lookahead_moves=0), 1)
    search.run(lambda: False, 5000)
    assert search.is_solved
    assert search.solver.solution is not None
    state = machine.initial_state
    left = heap
    while not machine.is_terminal(state):
        role = max(machine.roles, key=lambda each: len(machine.legal_moves(state, each)))
        search.go_to(state)
        assert search.is_solved
        result = search.result(role)
        assert result.value == result.lower == result.upper == float(left % 4 != 0)
        assert result.best is not None
        if left % 4:
            assert result.best == ("take", str(left % 4))
        left -= int(str(result.best[1]))
        joint = tuple(result.best if each == role else machine.legal_moves(state, each)[0] for each in machine.roles)
        state = machine.next_state(state, joint)


def test_expected_values_count_what_random_others_give_away() -> None:
    """Both replies draw at best; after the first one, two of three answers lose, after the second none does."""
    pair = make_pair(parse_rulesheet(TRAP))
    found = solver_of(pair)
    machine = pair.circuit
    bits = machine.packed(machine.initial_state)
    assert bits is not None
    number = found.find(bits)
    assert number is not None
    low, high, _ = found.bounds(number)
    assert low.tolist() == high.tolist() == [0.5, 0.5]
    assert found.expected(number, 0) == pytest.approx((1 + 1 + 0.5) / 3)
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22), 1)
    search.run(lambda: False, 200)
    assert search.is_solved
    assert search.solver.solution is not None  # though the tree has solved it before
    assert search.result("one").best == "trap"


TRAP = """
(role one) (role two) (init start)
(<= (legal one quiet) (true start)) (<= (legal one trap) (true start)) (<= (legal two wait) (true start))
(<= (legal one wait) (not (true start)))
(<= (legal two a) (not (true start))) (<= (legal two b) (not (true start))) (<= (legal two c) (not (true start)))
(<= (next trapped) (does one trap)) (<= (next calm) (does one quiet))
(<= (next won) (true trapped) (does two a)) (<= (next won) (true trapped) (does two b))
(<= (next drawn) (true trapped) (does two c)) (<= (next drawn) (true calm))
(<= terminal (true won)) (<= terminal (true drawn))
(<= (goal one 100) (true won)) (<= (goal two 0) (true won))
(<= (goal one 50) (true drawn)) (<= (goal two 50) (true drawn))
(<= (goal one 0) (not (true won)) (not (true drawn))) (<= (goal two 100) (not (true won)) (not (true drawn)))
"""


def test_values_are_not_looked_for_when_that_is_not_wanted() -> None:
    machine = make_pair(parse_rulesheet(GAMES["turns"])).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=2**22, retrograde=False), 1)
    search.run(lambda: False, 3000)
    assert search.solver.solution is None
