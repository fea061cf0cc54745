"""Playouts backed up into the tree from the start state, contenders beside each other: `python -m tests.bench.rate`.

They take turns in one process on one thread, each beginning anew; the median of several turns counts. Seconds are
those that the thread was given, so what else runs on the machine matters little. A visit is one way down the tree; it
may back up several playouts.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import thread_time

from ggp.engines import make_machine
from ggp.errors import GgpError
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Contender, Limit, make_contender, warm_up

GAMES = ("connectfour", "breakthrough", "reversi", "dotsandboxes", "fiveinarow")


@dataclass(frozen=True, slots=True)
class Rate:
    """Of one turn, for each second of its thread."""

    playouts: float
    visits: float


def measure(game: str, players: Sequence[str], seconds: float, runs: int) -> list[list[Rate]]:
    """For each player its rates."""
    rulesheet = read_rulesheet(game)
    machine = make_machine(rulesheet, "circuit")
    state, role = machine.initial_state, machine.roles[0]
    legal = machine.legal_moves(state, role)
    contenders = [make_contender(text, rulesheet) for text in players]

    def take_turn(contender: Contender, seed: int) -> Rate:
        contender.new_match(role, seed)
        began = thread_time()
        choice = contender.choose(state, legal, Limit(seconds))
        took = thread_time() - began
        return Rate(choice.playouts / took, choice.visits / took)

    for contender in contenders:
        warm_up(contender, machine)
    turns = [[take_turn(contender, run) for contender in contenders] for run in range(runs)]
    return [list(rates) for rates in zip(*turns, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rate", description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--players", nargs=2, default=("mcts", "openspiel"), metavar=("A", "B"))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print("playouts/s (visits/s), medians; the ratio of playouts with its lowest and highest", file=sys.stderr)
    print("| game | {} | {} | ratio |\n|---|---|---|---|".format(*arguments.players))
    for game in arguments.games:
        try:
            ours, theirs = measure(game, arguments.players, arguments.seconds, arguments.runs)
        except GgpError as error:
            print(f"{game}: {error}", file=sys.stderr)
            return 2
        ratios = [one.playouts / other.playouts for one, other in zip(ours, theirs, strict=True) if other.playouts]
        cells = [_cell(ours), _cell(theirs), f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"]
        print(f"| {game} | {' | '.join(cells)} |", flush=True)
    return 0


def _cell(rates: Sequence[Rate]) -> str:
    return f"{median(rate.playouts for rate in rates):,.0f} ({median(rate.visits for rate in rates):,.0f})"


if __name__ == "__main__":
    sys.exit(main())
