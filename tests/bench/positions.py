"""How many random states some steps into a game are solved: `python -m tests.bench.positions connectfour --steps 12`.

States are those after so many random steps from the start, the same for a seed; each is searched anew, by a tree with
proofs in parallel, or with `--proof` by a proof-number search alone.
"""

import argparse
import sys
from dataclasses import dataclass
from math import inf
from random import Random
from time import perf_counter

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.state_machine import Facts
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.proof.prover import Prover
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.bridge import read_rulesheet

MIDDLE = 0.5


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


@dataclass(frozen=True, slots=True)
class Attempt:
    """value: of the state for the first role, 0 to 1; None when time was over before."""

    value: float | None
    seconds: float
    work: str


def search_state(machine: CircuitMachine, state: Facts, settings: SearchSettings, seconds: float, seed: int) -> Attempt:
    """By a tree."""
    search = BatchedMcts(machine, settings, seed)
    search.go_to(state)
    began = perf_counter()
    search.run(lambda: search.is_proven or perf_counter() - began >= seconds)
    result = search.result(machine.roles[0])
    return Attempt(result.lower if search.is_proven else None, perf_counter() - began, f"{search.visits:,} visits")


def prove_state(machine: CircuitMachine, state: Facts, settings: SearchSettings, seconds: float) -> Attempt:
    """Without a tree, which would say which question to ask first: is the first role's value above the middle?"""
    prover = Prover(machine, settings.memory_bytes // 4)
    bits = machine.packed(state)
    assert bits is not None
    prover.go_to(bits, MIDDLE)
    began = perf_counter()
    while not prover.is_idle and perf_counter() - began < seconds:
        prover.advance(MIDDLE, inf)
    low, high = (float(bounds[0]) for bounds in prover.bounds)
    return Attempt(low if low == high else None, perf_counter() - began, f"{prover.work_done:,} states")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", help="a shipped game or the path of a rulesheet")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--positions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--proof", action="store_true", help="by a proof-number search alone")
    given = parser.parse_args()
    rng, solved = Random(given.seed), []
    try:
        machine = make_machine(read_rulesheet(given.game), "circuit")
    except GgpError as error:
        print(error, file=sys.stderr)
        return 2
    assert isinstance(machine, CircuitMachine)
    settings = SearchSettings(threads=given.threads)
    for number in range(given.positions):
        state = position(machine, given.steps, rng)
        if given.proof:
            attempt = prove_state(machine, state, settings, given.seconds)
        else:
            attempt = search_state(machine, state, settings, given.seconds, number)
        solved += [] if attempt.value is None else [attempt.seconds]
        worth = "not solved" if attempt.value is None else f"worth {100 * attempt.value:g}"
        print(f"{number + 1}: {worth}, {attempt.seconds:.1f} s, {attempt.work}", flush=True)
    print(f"{len(solved)} of {given.positions} solved, the slowest of them in {max(solved, default=0.0):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
