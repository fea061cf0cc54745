"""What policies of merged histories get from a role that errs, exactly: `python -m tests.bench.trembles GAME`.

One policy is found without trembles, the others with them. Against each of them plays the first one with so large a
share of random moves, in either role.
"""

import argparse

import numpy as np

from ggp.engines import make_machine
from ggp.equilibrium.game_tree import Values
from ggp.equilibrium.merged import MergedSolver, value_nodes
from ggp.equilibrium.merged_tree import MergedForm
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.bridge import read_rulesheet

_ERRORS = (0.0, 0.05, 0.2, 0.5, 1.0)


def value_of(form: MergedForm, own: Values, other: Values, role: int) -> float:
    """Of a role (0 or 1) by its strategy against that of the other one; a goal value."""
    owner = np.repeat(form.role, np.diff(form.first))
    value = np.zeros(len(form.sets))
    value_nodes(form, role, np.where(owner == role, own, other), value)
    return float(value[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("--trembles", type=float, nargs="*", default=[0.05, 0.1, 0.2])
    parser.add_argument("--recall", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=120)
    parser.add_argument("--memory", type=int, default=512, help="in MiB")
    arguments = parser.parse_args()
    machine = make_machine(read_rulesheet(arguments.game), "circuit")
    assert isinstance(machine, CircuitMachine)
    found: dict[float, Values] = {}
    for tremble in (0.0, *arguments.trembles):
        solver = MergedSolver(machine, arguments.recall, arguments.memory * 2**20, tremble=tremble)
        while solver.form is None or solver.iterations < arguments.iterations:
            solver.advance()
        form, found[tremble] = solver.form, solver.average()
        del solver
    uniform = np.repeat(1.0 / np.diff(form.first), np.diff(form.first))
    for share in _ERRORS:
        other = (1 - share) * found[0.0] + share * uniform
        for tremble, own in found.items():
            values = [value_of(form, own, other, role) for role in (0, 1)]
            print(f"{share:.0%} errors, tremble {tremble}: {values[0]:.2f}, {values[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
