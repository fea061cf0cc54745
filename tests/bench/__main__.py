"""Matches between two contenders: `python -m tests.bench GAME --players A B --matches 100 --seconds 1`.

GAME is a shipped game or a file; `tests/bench/contenders.py` has the contenders. Times are of the wall clock, so
nothing else should run at the same time, or --processor be given. Ctrl-C prints what there is; with --json the same
command goes on from there.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import make_contender, warm_up
from tests.bench.matches import Arena, ArenaSettings, Effort, Outcome, pair_scores, play_matches
from tests.bench.records import Record
from tests.bench.scores import Sprt, score

INTERRUPTED = 130  # exit code, as of shells


def main() -> int:
    arguments = _parse()
    settings = ArenaSettings(
        arguments.game, tuple(arguments.players), arguments.seconds if arguments.visits is None else None,
        arguments.visits, arguments.processor, arguments.seed, arguments.opening,
    )  # fmt: skip
    try:
        rulesheet = read_rulesheet(settings.game)
        machine = make_machine(rulesheet, "circuit")
        count = max(len(set(machine.roles) - {NATURE}) - 1, 1)
        first, second = ([make_contender(text, rulesheet) for _ in range(count)] for text in settings.players)
        return _run(Arena(machine, (first, second), settings), arguments.matches, arguments.sprt, arguments.json)
    except GgpError as error:
        print(error, file=sys.stderr)
        return 2


def _run(arena: Arena, matches: int, sprt: Sprt | None, file: Path | None) -> int:
    """The exit code."""
    record = Record(file, arena.settings) if file else None
    outcomes = list(record.open()) if record else []
    code = 0
    try:
        for contender in chain(*arena.sides):
            warm_up(contender, arena.machine)
        for outcome in play_matches(arena, tuple(outcomes), matches, sprt):
            outcomes.append(outcome)
            if record:
                record.add(outcome)
            print(_progress(outcomes, matches, sprt), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        code = INTERRUPTED
    print(*_summary(arena, outcomes, sprt), sep="\n")
    return code


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("--players", nargs=2, required=True, metavar=("A", "B"))
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each move")
    parser.add_argument("--processor", action="store_true", help="seconds of the thread, not of the wall clock")
    parser.add_argument("--playouts", dest="visits", type=int, help="instead: how often a move's state is visited")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--opening", type=int, default=0, help="random steps to begin with, the same in both orders")
    parser.add_argument("--sprt", type=_sprt, metavar="elo0=0,elo1=20", help="stop early by this test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the outcomes, and go on from those in it")
    return parser.parse_args()


def _sprt(text: str) -> Sprt:
    return Sprt(**{name: float(value) for name, _, value in (part.partition("=") for part in text.split(","))})


def _progress(outcomes: Sequence[Outcome], matches: int, sprt: Sprt | None) -> str:
    latest, pairs = outcomes[-1], pair_scores(outcomes)
    parts = [f"match {len(outcomes)} of {matches}: {latest.score:g} in {len(latest.steps)} steps"]
    if pairs:
        parts.append(str(score(pairs)))
    if sprt:
        parts.append(f"log likelihood ratio {sprt.ratio(pairs):.2f}")
    return "; ".join(parts)


def _summary(arena: Arena, outcomes: Sequence[Outcome], sprt: Sprt | None) -> list[str]:
    settings = arena.settings
    clock = " of the processor" if settings.of_processor else ""
    limit = f"{settings.seconds:g} s{clock}" if settings.visits is None else f"{settings.visits} visits"
    players = " against ".join(settings.players)
    lines = [f"{settings.game}: {players}, {limit} a move, seed {settings.seed}, {settings.opening} random steps first"]
    pairs = pair_scores(outcomes)
    if pairs:
        lines.append(f"score {score(pairs)} in {len(pairs)} pairs of matches")
    if sprt:
        lines.append(f"elo0={sprt.elo0:g} elo1={sprt.elo1:g}: accepted {sprt.verdict(pairs) or 'is neither yet'}")
    for numbers in sorted({outcome.roles for outcome in outcomes}):
        results = [outcome.score for outcome in outcomes if outcome.roles == numbers]
        won, drawn, lost = (results.count(value) for value in (1.0, 0.5, 0.0))
        names = " and ".join(arena.roles[number] for number in numbers)
        lines.append(f"as {names}: {won} won, {drawn} drawn, {lost} lost")
    return lines + [
        _efforts(name, [outcome.efforts[at] for outcome in outcomes]) for at, name in enumerate(settings.players)
    ]


def _efforts(name: str, efforts: Sequence[Effort]) -> str:
    moves = sum(effort.moves for effort in efforts) or 1
    return (
        f"{name}: {sum(effort.playouts for effort in efforts) / moves:,.0f} playouts, "
        f"{sum(effort.visits for effort in efforts) / moves:,.0f} visits and "
        f"{sum(effort.seconds for effort in efforts) / moves:.3f} s a move, at most "
        f"{max((effort.longest_seconds for effort in efforts), default=0.0):.3f} s; "
        f"{sum(effort.unanswered for effort in efforts)} moves unanswered"
    )


if __name__ == "__main__":
    sys.exit(main())
