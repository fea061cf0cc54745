"""How many random states some steps into a game are solved: `python -m tests.bench.positions connectfour --steps 12`.

States are those after so many random steps from the start, the same for a seed; each is searched anew.
"""

import argparse
import sys
from random import Random
from time import perf_counter

from ggp.circuit_machine import CircuitMachine
from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.machine import Facts
from ggp.searches.mcts import Search, Settings
from tests.bench.bridge import read_rulesheet


def position(machine: CircuitMachine, steps: int, rng: Random) -> Facts:
    """A state that is no end."""
    while True:
        state = machine.initial_state
        for _ in range(steps):
            if machine.is_terminal(state):
                break
            state = machine.next_state(
                state, tuple(rng.choice(machine.legal_moves(state, role)) for role in machine.roles)
            )
        if not machine.is_terminal(state):
            return state


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", help="a shipped game or the path of a rulesheet")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--positions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, solved = Random(given.seed), []
    try:
        machine = make_machine(read_rulesheet(given.game), "circuit")
    except GgpError as error:
        print(error, file=sys.stderr)
        return 2
    assert isinstance(machine, CircuitMachine)
    for number in range(given.positions):
        search = Search(machine, Settings(threads=given.threads), number)
        search.go_to(position(machine, given.steps, rng))
        began = perf_counter()
        search.run(lambda began=began: perf_counter() - began >= given.seconds)  # type: ignore[misc]
        seconds = perf_counter() - began
        solved += [seconds] if search.is_proven else []
        result = search.result(machine.roles[0])
        state = f"worth {100 * result.low:g}" if search.is_proven else "not solved"
        print(f"{number + 1}: {state}, {seconds:.1f} s, {search.visits:,} visits", flush=True)
    print(f"{len(solved)} of {given.positions} solved, the slowest of them in {max(solved, default=0.0):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
