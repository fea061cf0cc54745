"""Kernels compiled ahead of their first use, and the shipped games with them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import ggp
from ggp.cache import default_cache
from ggp.library import game_names
from ggp.readiness import mark_warm

if TYPE_CHECKING:
    from ggp.simulation.state_machine import CircuitMachine


def warm_games() -> Iterator[str]:
    """Compile all kernels by using them, and the shipped games; gives the name of each game that is done."""
    from ggp.search.loading import load_kernels  # noqa: PLC0415 - numba is slow to load

    for name in game_names():
        machine: Any = ggp.load(name, "circuit").machine
        _warm(machine)
        yield name
    load_kernels()
    yield "searches"
    mark_warm()


def _warm(machine: "CircuitMachine") -> None:
    from ggp.simulation.native import compile_steps, is_worthwhile  # noqa: PLC0415 - numba is slow to load

    state = machine.initial_state
    moves = tuple(machine.legal_moves(state, role)[0] for role in machine.roles)
    machine.is_terminal(machine.next_state(state, moves))
    for role in machine.roles:
        machine.goal(state, role)
        machine.percepts(state, moves, role)
    simulator = machine.simulator()
    simulator.playouts(1)
    if is_worthwhile(simulator.steps):
        simulator.use(compile_steps(simulator.steps, default_cache()))
        simulator.playouts(1)


if __name__ == "__main__":
    for _ in warm_games():
        pass
