"""Compares circuit and interpreter on random matches: `python -m tests.circuit.differential RULESHEETS`."""

import argparse
import sys
from itertools import takewhile
from pathlib import Path
from random import Random
from time import perf_counter

from ggp.errors import GroundingError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import parse_rulesheet
from tests.circuit.agreement import batch_differences, differences, make_pair, samples


def compare(path: Path, seconds: float, seed: int) -> tuple[int, list[str]]:
    """How many states were compared, and what differs; one by one and in one batch."""
    pair = make_pair(parse_rulesheet(decode(path.read_bytes(), str(path)), str(path)))
    if pair.circuit.initial_state != pair.interpreter.initial_state:
        return 0, ["the initial states"]
    end = perf_counter() + seconds
    found = list(takewhile(lambda _: perf_counter() < end, samples(pair.interpreter, Random(seed))))[:1000]
    wrong = [each for sample in found[:200] for each in differences(pair.circuit, pair.interpreter, sample)]
    return len(found), wrong + list(batch_differences(pair.compiled, pair.interpreter, found))


def main() -> int:
    """One line for each rulesheet; exit code 1 when any differs, 2 when there is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rulesheets", type=Path, help="a folder, or one rulesheet")
    parser.add_argument("--seconds", type=float, default=3.0, help="of random matches for each rulesheet")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    paths = sorted(arguments.rulesheets.glob("*.kif")) if arguments.rulesheets.is_dir() else [arguments.rulesheets]
    failed = 0
    for path in paths:
        try:
            states, wrong = compare(path, arguments.seconds, arguments.seed)
        except GroundingError as error:
            print(f"{path.stem}: no circuit: {error}", flush=True)
            continue
        failed += bool(wrong)
        print(f"{path.stem}: {states} states, {len(wrong)} differences", *wrong[:3], sep="\n    ", flush=True)
    return 1 if failed else 0 if paths else 2


if __name__ == "__main__":
    sys.exit(main())
