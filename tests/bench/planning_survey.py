"""What the planner reaches in games for one role: `python -m tests.bench.planning_survey FOLDER`.

Each match has a start clock and a play clock, of real time. Nothing else should run at the same time.
"""

import argparse
import sys
from pathlib import Path
from time import monotonic

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.rulesheet import Rule, Rulesheet, name_and_arity, parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.search.planning.planner import Planner, Solution
from ggp.simulation.state_machine import CircuitMachine


def roles_of(rulesheet: Rulesheet) -> list[Rule]:
    return [rule for rule in rulesheet.rules if name_and_arity(rule.head)[0] == "role"]


def searched(planner: Planner, state: Facts, seconds: float) -> tuple[Solution | None, float]:
    """The best line after so long, and after how many seconds it was known."""
    began = monotonic()
    known: Solution | None = None
    at = 0.0

    def stop() -> bool:
        nonlocal known, at
        if planner.best != known:
            known, at = planner.best, monotonic() - began
        return monotonic() - began >= seconds

    line = planner.search(state, stop)
    return line, at if line == known else monotonic() - began


def match(machine: CircuitMachine, clocks: tuple[float, float], seed: int, threads: int) -> str:
    """A whole match in one line of text."""
    planner = Planner(machine, seed, threads=threads)
    try:
        state = machine.initial_state
        first, seconds = searched(planner, state, clocks[0])
        steps = 0
        while not machine.is_terminal(state):
            line, _ = searched(planner, state, clocks[1])
            move = line.moves[0] if line and line.moves else machine.legal_moves(state, machine.roles[0])[0]
            state = machine.next_state(state, (move,))
            planner.advance(move)
            steps += 1
    finally:
        planner.close()
    found = "no line" if first is None else f"{first.value}{' proven best' if first.is_best else ''} in {seconds:.1f} s"
    return f"{found}; the match ends with {machine.goal(state, machine.roles[0])} after {steps} steps"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of rulesheets; otherwise all of the folder")
    parser.add_argument("--startclock", type=float, default=30.0)
    parser.add_argument("--playclock", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    for path in sorted(given.folder.glob("*.kif")):
        if given.only and path.stem not in given.only:
            continue
        try:
            rulesheet = parse_rulesheet(path.read_text(encoding="utf-8"), path.stem)
            if len(roles_of(rulesheet)) != 1:
                continue
            began = monotonic()
            machine = make_machine(rulesheet, "circuit")
            assert isinstance(machine, CircuitMachine)
            spent = monotonic() - began  # a player grounds while its start clock runs
            clocks = (max(given.startclock - spent, 0.0), given.playclock)
            print(f"{path.stem}: {match(machine, clocks, given.seed, given.threads)}", flush=True)
        except GgpError as error:
            print(f"{path.stem}: {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
