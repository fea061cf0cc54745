"""What grounding costs and gives: `python -m tests.bench.grounding_survey RULESHEETS`, a line for each rulesheet."""

import argparse
from pathlib import Path

from ggp.errors import GgpError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget, ground


def line(path: Path, budget: Budget, *, plain: bool) -> str:
    """Seconds, rules and literals of one rulesheet; and how many rules it has without rewriting."""
    try:
        program = make_logic_program(parse_rulesheet(decode(path.read_bytes(), str(path)), str(path)))
        rules = ground(program, budget)
    except GgpError as error:
        return f"{path.stem:28} {error}"
    before = ""
    if plain:
        try:
            before = f"plain {len(ground(program, budget, rewrite=False).heads):,}; "
        except GgpError as error:
            before = f"plain: {error}; "
    moves = sum(map(len, rules.moves))
    rewritings = " ".join(f"{name} {times}" for name, times in rules.report.rewritings)
    return (
        f"{path.stem:28} {rules.report.seconds:7.2f} s {len(rules.heads):9,} rules {len(rules.literals):10,} literals "
        f"{rules.atom_count:8,} atoms {len(rules.facts):6,} facts {moves:6,} moves; "
        f"{before}{rewritings}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rulesheets", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--plain", action="store_true", help="also without rewriting")
    arguments = parser.parse_args()
    paths = [
        path for given in arguments.rulesheets for path in (sorted(given.glob("*.kif")) if given.is_dir() else [given])
    ]
    for path in paths:
        print(line(path, Budget(seconds=arguments.seconds), plain=arguments.plain), flush=True)


if __name__ == "__main__":
    main()
