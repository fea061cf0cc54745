"""Replays recorded matches against a state machine: `python -m tests.conformance RULESHEETS TRACES`.

A trace is a gzipped file of JSON lines: the roles, then a line for each state with `state`, `terminal`, `goals`,
`legal` (absent at the end; or the number of moves and the SHA-256 of their sorted texts, joined by newlines) and the
`joint` move.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from ggp.engines import ENGINES, make_machine
from ggp.errors import GgpError
from ggp.gdl.reader import decode, read_term
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import to_text


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that the trace and the machine see differently."""

    match: int
    step: int
    what: str

    def __str__(self) -> str:
        return f"match {self.match}, step {self.step}: {self.what}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one trace."""

    name: str
    states: int
    disagreements: tuple[Disagreement, ...]


def check_trace(path: Path, rulesheets: Path, engine: str | None = None) -> Result:
    """Replays one trace; what cannot be evaluated is a disagreement too."""
    name = path.name.removesuffix(".jsonl.gz")
    rulesheet = rulesheets / f"{name}.kif"
    try:
        machine = make_machine(parse_rulesheet(decode(rulesheet.read_bytes(), str(rulesheet)), str(rulesheet)), engine)
    except (GgpError, OSError) as error:
        return Result(name, 0, (Disagreement(0, 0, str(error)),))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    found: list[Disagreement] = []
    roles = [role.lower() for role in records[0]["roles"]]  # the reference keeps the spelling of roles only
    if list(machine.roles) != roles:
        found.append(Disagreement(0, 0, f"roles {list(machine.roles)}, not {roles}"))
    expected: Facts = machine.initial_state
    for record in records[1:]:
        state = frozenset(map(read_term, record["state"]))
        expected = machine.initial_state if record["step"] == 0 else expected
        found += [
            Disagreement(record["match"], record["step"], what) for what in _differences(machine, expected, record)
        ]
        if "joint" in record:
            expected = machine.next_state(state, tuple(map(read_term, record["joint"])))
    return Result(name, len(records) - 1, tuple(found))


def _differences(machine: StateMachine, expected: Facts, record: dict[str, Any]) -> Iterator[str]:
    """What differs between a line of a trace and the machine, which had led to the expected state."""
    state = frozenset(map(read_term, record["state"]))
    if state != expected:
        yield f"state: {_sets(map(to_text, expected), record['state'])}"
    try:
        if machine.is_terminal(state) != record["terminal"]:
            yield f"terminal: {machine.is_terminal(state)}, not {record['terminal']}"
        goals = {role: machine.goal(state, role) for role in machine.roles}
        recorded = {role.lower(): value for role, value in record["goals"].items()}
        if goals != recorded:
            yield f"goals: {goals}, not {recorded}"
        for role, moves in record.get("legal", {}).items():
            legal = sorted(map(to_text, machine.legal_moves(state, role.lower())))
            if isinstance(moves, dict):
                if (len(legal), sha256("\n".join(legal).encode()).hexdigest()) != (moves["count"], moves["sha256"]):
                    yield f"legal moves of {role}: {len(legal)} and not the same {moves['count']}"
            elif legal != moves:
                yield f"legal moves of {role}: {_sets(legal, moves)}"
    except GgpError as error:
        yield str(error)


def _sets(ours: Any, theirs: Any) -> str:  # noqa: ANN401 - iterables of text
    ours, theirs = set(ours), set(theirs)
    return f"only ours {sorted(ours - theirs)}, only the trace's {sorted(theirs - ours)}"


def main() -> int:
    """Checks all traces of a folder; exit code 1 when any disagrees, 2 when there is none."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rulesheets", type=Path)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", metavar="GAME", help="these of the folder's traces")
    arguments = parser.parse_args()
    names = [f"{name}.jsonl.gz" for name in arguments.only or ["*"]]
    paths = sorted(path for name in names for path in arguments.traces.glob(name))
    if not paths:
        print(f"no traces in {arguments.traces}", file=sys.stderr)
        return 2
    check = partial(check_trace, rulesheets=arguments.rulesheets, engine=arguments.engine)
    with ProcessPoolExecutor(arguments.processes) as pool:
        results = list(pool.map(check, paths))
    for result in results:
        for disagreement in result.disagreements:
            print(f"{result.name}: {disagreement}")
    states = sum(result.states for result in results)
    failed = [result.name for result in results if result.disagreements]
    print(f"{len(results)} traces, {states} states: {len(results) - len(failed)} agree, {len(failed)} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
