"""A long search with little memory, watched: `python -m tests.bench.search_memory GAME --minutes 10`.

Plays random matches, searches in each state, looks at the books and at the resident memory; exits with 1 when the books
do not add up or the memory grows.
"""

import argparse
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.grounding import Budget
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COLLAPSED, EDGE_COUNT, NODES, SLOTS
from ggp.simulation.state_machine import CircuitMachine
from tests.search.books import check_statistics, check_structure
from tests.search.replay import check_replay

GROWTH = 1.1  # the most that memory may be more than after the first tenth of the time
MEBIBYTE = 2**20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", help="a shipped game or the path of a rulesheet")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each search")
    parser.add_argument("--mebibytes", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stay", action="store_true", help="search the initial state only")
    return parser.parse_args()


def rulesheet_of(name: str) -> Rulesheet:
    path = Path(name)
    return parse_rulesheet((path if path.is_file() else find_rulesheet(name)).read_text(encoding="utf-8"), name)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def searches(search: BatchedMcts, given: argparse.Namespace) -> Iterator[float]:
    """Search after search until the time is over; after each the moment."""
    random, machine, began = Random(given.seed), search.machine, monotonic()
    state = machine.initial_state
    while monotonic() - began < 60 * given.minutes:
        until = min(monotonic() + given.seconds, began + 60 * given.minutes)
        search.run(lambda until=until: monotonic() >= until)  # type: ignore[misc]
        yield monotonic() - began
        if given.stay:
            continue
        legal = [machine.legal_moves(state, role) for role in machine.roles]
        state = machine.next_state(state, tuple(map(random.choice, legal)))
        if machine.is_terminal(state) or not all(machine.legal_moves(state, role) for role in machine.roles):
            state = machine.initial_state
        search.go_to(state)


def main() -> int:
    given = arguments()
    rulesheet = rulesheet_of(given.game)
    machine = CircuitMachine(rulesheet, compile_game(rulesheet, Budget()))
    search = BatchedMcts(
        machine, SearchSettings(memory_bytes=given.mebibytes * MEBIBYTE, threads=given.threads), given.seed
    )
    settled, failed = 0, False
    for seconds in searches(search, given):
        numbers, resident = search.tree.numbers, resident_bytes()
        check_statistics(search.tree, check_structure(search.tree))
        check_replay(search, machine, most=20, seed=int(seconds))
        settled = resident if seconds < 6 * given.minutes or not settled else settled
        failed = failed or resident > GROWTH * settled
        print(
            f"{seconds:6.0f} s  {resident / MEBIBYTE:6.0f} MiB  nodes {numbers[NODES]}  slots {numbers[SLOTS]}"
            f"  edges {numbers[EDGE_COUNT]}  taken apart {numbers[COLLAPSED]}  visits {search.visits}",
            flush=True,
        )
    print("memory grew" if failed else "memory stayed where it was")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
