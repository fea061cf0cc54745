"""The search of games with one role: its solutions are what they claim, and what is proven agrees with all states."""

from collections.abc import Callable
from itertools import count

import pytest

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.planning.planner import Planner
from ggp.simulation.state_machine import CircuitMachine
from tests.search.planning.games import GAMES, best_value, machine_of, value_of

SMALL_BYTES = 1 << 26


def after(polls: int) -> Callable[[], bool]:
    """A clock that runs out when it is asked so often."""
    numbers = count()
    return lambda: next(numbers) >= polls


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("threads", [1, 2])
def test_best_solutions(name: str, threads: int) -> None:
    machine = machine_of(name)
    planner = Planner(machine, seed=1, budget_bytes=SMALL_BYTES, threads=threads)
    solution = planner.search(machine.initial_state, after(10_000))
    planner.close()
    expected = best_value(name)
    assert (None if solution is None else solution.value) == expected
    assert planner.best == solution
    if solution is not None:
        assert solution.is_best
        assert value_of(name, machine.initial_state, solution.moves) == expected


def test_the_end_of_a_line_is_kept() -> None:
    machine = machine_of("lights")
    planner = Planner(machine, seed=2, budget_bytes=SMALL_BYTES)
    solution = planner.search(machine.initial_state, after(10_000))
    assert solution is not None
    state = machine.initial_state
    for step, move in enumerate(solution.moves):
        state = machine.next_state(state, (move,))
        planner.advance(move)
        assert planner.best is not None
        assert planner.best.moves == solution.moves[step + 1 :]
        assert (planner.best.value, planner.best.is_best) == (100, True)
        assert planner.search(state, after(0)) == planner.best
    assert machine.is_terminal(state)
    planner.close()


def test_another_move_than_that_of_the_line() -> None:
    machine = machine_of("hopeless")
    planner = Planner(machine, seed=3, budget_bytes=SMALL_BYTES)
    solution = planner.search(machine.initial_state, after(10_000))
    assert solution is not None
    state = machine.initial_state
    for move in ("a", "a"):
        state = machine.next_state(state, (move,))
        planner.advance(move)
    assert planner.best is None
    found = planner.search(state, after(10_000))
    assert found is not None
    assert (len(found.moves), found.value, found.is_best) == (1, 5, True)
    planner.advance("no such move")
    assert planner.best is None
    planner.close()


def test_a_search_that_is_stopped_goes_on() -> None:
    machine = machine_of("slide")
    planner = Planner(machine, seed=4, budget_bytes=SMALL_BYTES)
    assert planner.search(machine.initial_state, after(0)) is None
    solution, calls = None, 0
    while (solution is None or not solution.is_best) and calls < 1000:
        solution, calls = planner.search(machine.initial_state, after(1)), calls + 1
    planner.close()
    assert solution is not None
    assert solution.value == 100
    assert 1 < calls < 1000


def test_states_that_the_circuit_does_not_know() -> None:
    machine = machine_of("lights")
    planner = Planner(machine, budget_bytes=SMALL_BYTES)
    assert planner.search(frozenset({"unheard_of"}), after(10)) is None
    planner.close()


def test_games_with_two_roles_are_refused() -> None:
    rulesheet = parse_rulesheet("(role a) (role b) (legal a x) (legal b x) (init y) terminal (goal a 0) (goal b 0)")
    with pytest.raises(ValueError, match="one role"):
        Planner(CircuitMachine(rulesheet, compile_game(rulesheet)))
