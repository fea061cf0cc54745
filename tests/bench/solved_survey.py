"""Which games for several roles are solved from their start: `python -m tests.bench.solved_survey FOLDER --seconds 10`.

One thread, real time after the circuit is there; nothing else should run at the same time. Games
beyond the circuit are left out.
"""

import argparse
import sys
from pathlib import Path
from time import monotonic

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation.state_machine import CircuitMachine


def line_of(machine: CircuitMachine, seconds: float) -> str:
    """What became of one game."""
    search = BatchedMcts(machine, SearchSettings(), 1)
    began = monotonic()
    search.run(lambda: monotonic() - began >= seconds)
    spent = monotonic() - began
    values = []
    for role in machine.roles:
        if role != NATURE:
            result = search.result(role)
            bounds = f"{result.lower * 100:g}" if result.lower == result.upper else "?"
            values.append(f"{role} {bounds}")
    if search.is_proven:
        return f"solved in {spent:.2f} s, {search.visits:,} visits: {', '.join(values)}"
    if search.solver.solution is not None:
        return f"all {search.solver.solution.states:,} states worked out: {', '.join(values)}"
    return f"not solved, {search.visits:,} visits"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    for path in sorted(given.folder.glob("*.kif")):
        try:
            machine = make_machine(parse_rulesheet(path.read_text(encoding="utf-8"), path.stem), "circuit")
        except GgpError as error:
            print(f"{path.stem}: {error}", flush=True)
            continue
        if isinstance(machine, CircuitMachine) and len(machine.roles) > 1:
            print(f"{path.stem}: {line_of(machine, given.seconds)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
