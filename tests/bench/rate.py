"""Playouts backed up into the tree from the start state, for each contender: `python -m tests.bench.rate`.

They take turns in one process on one thread, each beginning anew; the median of several turns counts. Seconds are
those that the thread was given, so what else runs on the machine matters little; for contenders of several threads
there are those of the wall clock. A visit is one way down the tree; it may back up several playouts.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, thread_time

from ggp.engines import make_machine
from ggp.errors import GgpError
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Contender, Limit, make_contender, warm_up

GAMES = ("connectfour", "breakthrough", "reversi", "dotsandboxes", "fiveinarow")


@dataclass(frozen=True, slots=True)
class Rate:
    """Of one turn, for each second."""

    playouts: float
    visits: float


def measure(
    game: str, players: Sequence[str], seconds: float, runs: int, clock: Callable[[], float] = thread_time
) -> list[list[Rate]]:
    """For each player its rates."""
    rulesheet = read_rulesheet(game)
    machine = make_machine(rulesheet, "circuit")
    state, role = machine.initial_state, machine.roles[0]
    legal = machine.legal_moves(state, role)
    contenders = [make_contender(text, rulesheet) for text in players]

    def take_turn(contender: Contender, seed: int) -> Rate:
        contender.new_match(role, seed)
        began = clock()
        choice = contender.choose(state, legal, Limit(seconds))
        took = clock() - began
        return Rate(choice.playouts / took, choice.visits / took)

    for contender in contenders:
        warm_up(contender, machine)
    turns = [[take_turn(contender, run) for contender in contenders] for run in range(runs)]
    return [list(rates) for rates in zip(*turns, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rate", description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--players", nargs="+", default=("mcts", "openspiel"), metavar="PLAYER")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--wall", action="store_true", help="count seconds of the wall clock")
    arguments = parser.parse_args()
    clock = perf_counter if arguments.wall else thread_time
    print("playouts/s (visits/s), medians; first : last in playouts with the lowest and highest", file=sys.stderr)
    print("| game |", *(f"{player} |" for player in arguments.players), "ratio |")
    print("|---|", *("---|" for _ in arguments.players), "---|")
    for game in arguments.games:
        try:
            rates = measure(game, arguments.players, arguments.seconds, arguments.runs, clock)
        except GgpError as error:
            print(f"{game}: {error}", file=sys.stderr)
            return 2
        pairs = zip(rates[0], rates[-1], strict=True)
        ratios = [one.playouts / other.playouts for one, other in pairs if other.playouts]
        cells = [*map(_cell, rates), f"{median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"]
        print(f"| {game} | {' | '.join(cells)} |", flush=True)
    return 0


def _cell(rates: Sequence[Rate]) -> str:
    return f"{median(rate.playouts for rate in rates):,.0f} ({median(rate.visits for rate in rates):,.0f})"


if __name__ == "__main__":
    sys.exit(main())
