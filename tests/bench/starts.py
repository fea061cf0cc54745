"""Processor time from text to first playout, stage by stage: `python -m tests.bench.starts FOLDER...`.

Each rulesheet is started in a process of its own in which nothing is known of the game, but all kernels are on disk. A
stage counts what it takes itself, without the stages that it calls; `clingo` is the processes in which clingo runs. The
imports come before, and are shown apart.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from math import nan
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from ggp.errors import GgpError

STAGES = {
    "parse": ("ggp.gdl.rulesheet.parse_rulesheet", "ggp.circuit.compile.make_logic_program"),
    "prepare": ("ggp.grounding.grounder.prepare",),
    "wait": ("ggp.circuit.compile.Clingo", "ggp.grounding.reach.ground_text", "ggp.grounding.grounder.ground_text"),
    "reach": ("ggp.grounding.grounder.find_extents",),
    "rewrite": ("ggp.grounding.grounder.split_clauses",),
    "read": ("ggp.grounding.grounder.parse_aspif",),
    "number": ("ggp.grounding.grounder._number_rules",),
    "build": ("ggp.circuit.compile.build_circuit", "ggp.circuit.compile._check_cones"),
    "reachability": ("ggp.circuit.compile.find_unreachable", "ggp.circuit.compile.without_facts"),
    "phases": ("ggp.circuit.compile.find_phases",),
    "specialise": ("ggp.circuit.compile.specialise",),
    "steps": ("ggp.simulation.steps.make_steps",),
    "schedule": ("ggp.simulation.steps.make_program",),
    "choice": ("ggp.simulation.steps.choose_move",),
    "play": ("ggp.simulation.playout.play",),
    "kernels": ("ggp.kernel.KernelFiles.load_overload",),
}
MOST_SECONDS = 20.0  # for the first playout, once it may begin
COLUMNS = ("total", "imports", *STAGES, "other", "clingo")


class Stages:
    """Processor seconds of each stage, without those that it calls."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((*STAGES, "other"), 0.0)
        self._open = ["other"]
        self._since = process_time()

    def switch(self) -> None:
        now = process_time()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def watch(self, stage: str, path: str) -> None:
        """Counts the calls of a function, by the module or class that calls it, as part of a stage."""
        module, _, name = path.rpartition(".")
        try:
            owner: Any = import_module(module)
        except ModuleNotFoundError:
            module, _, kind = module.rpartition(".")
            owner = getattr(import_module(module), kind)
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - those of the function
            self.switch()
            self._open.append(stage)
            try:
                return function(*arguments, **options)
            finally:
                self.switch()
                self._open.pop()

        setattr(owner, name, timed)


def start(path: Path) -> dict[str, Any]:
    """Starts a game in this process; its row of the table."""
    began = process_time()
    from ggp.bench import measure as _  # noqa: F401, PLC0415 - loads all that a start needs, which is measured
    from ggp.cache import Cache  # noqa: PLC0415
    from ggp.circuit import compile as compiling  # noqa: PLC0415
    from ggp.gdl import rulesheet as reading  # noqa: PLC0415
    from ggp.simulation import playout, steps  # noqa: PLC0415

    imports = process_time() - began
    stages = Stages()
    for stage, names in STAGES.items():
        for name in names:
            stages.watch(stage, name)
    wall = perf_counter()
    stages.switch()
    row: dict[str, Any] = {"game": path.stem}
    try:
        sheet = reading.parse_rulesheet(path.read_text(errors="surrogateescape"), path.name)
        compiled = compiling.compile_game(sheet, cache=Cache(None))
        made = steps.make_steps(compiled.circuit, compiled.phases)
        simulator = playout.Simulator(made, compiled.circuit.initial, playout.DEFAULT_CAP)
        lanes = simulator.block(0, 0)
        until = perf_counter() + MOST_SECONDS
        while not playout.playouts_over(lanes) and perf_counter() < until:
            playout.play(simulator.plan, lanes, 8)
        circuit = compiled.circuit
        digest = sha256()
        for array in (circuit.left, circuit.right, circuit.outputs, circuit.loops.results, compiled.phases):
            digest.update(array.tobytes())
        digest.update(repr((compiled.facts, compiled.moves, compiled.goals, compiled.percepts)).encode())
        row |= {"gates": circuit.gates, "rules": compiled.report.rules, "circuit": digest.hexdigest()[:16]}
    except GgpError as error:
        row |= {"error": str(error)}
    stages.switch()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    clingo = used.ru_utime + used.ru_stime
    total = sum(stages.seconds.values()) + clingo
    return row | {"wall": perf_counter() - wall, "total": total, "imports": imports, **stages.seconds, "clingo": clingo}


def apart(path: Path) -> dict[str, Any]:
    """The row of a rulesheet, which is started in a subprocess; that may crash."""
    command = (sys.executable, "-m", "tests.bench.starts", "--one", str(path))
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return {"game": path.stem, "error": f"exit code {done.returncode}"}
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rulesheets", type=Path, nargs="*")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="adds a line for each rulesheet to this file")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(start(arguments.one)))
        return
    paths = [
        path for given in arguments.rulesheets for path in (sorted(given.glob("*.kif")) if given.is_dir() else [given])
    ]
    print(f"{'':28}", *(f"{name[:7]:>7}" for name in COLUMNS), flush=True)
    rows = []
    for path in paths:
        row = apart(path)
        rows.append(row)
        cells = [f"{row.get(name, nan):7.3f}" for name in COLUMNS]
        print(f"{row['game']:28}", *cells, row.get("error", ""), flush=True)
        if arguments.json:
            with arguments.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    rows = [row for row in rows if "total" in row]
    if len(rows) > 1:
        cuts = {name: quantiles([row[name] for row in rows], n=100, method="inclusive") for name in COLUMNS}
        for label, index in (("median", 49), ("p95", 94), ("p99", 98)):
            print(f"{label:28}", *(f"{cuts[name][index]:7.3f}" for name in COLUMNS))
        print(f"{'sum':28}", *(f"{sum(row[name] for row in rows):7.2f}" for name in COLUMNS))
        print(f"{'median of all, s':28}", f"{median(row['total'] for row in rows):.3f}")


if __name__ == "__main__":
    main()
