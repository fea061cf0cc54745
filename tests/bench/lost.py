"""Points from positions that are lost, or drawn, by force: how a search plays on against others who err.

    python -m tests.bench.lost breakthrough --steps 30 --positions 50 --opponent mcts:playouts=1 --opponent-visits 30

States are those after about so many random steps from the start, the same for a seed, whose value a search proves; the
role that chooses there plays on once as it would (`mcts`), once by length alone: of moves that are proven to be worth
the same it takes one that loses latest. Both meet the same opponent with the same seeds. The last line says what they
got more than the value of the states, and the difference.
"""

import argparse
import sys
from collections.abc import Sequence
from math import sqrt
from random import Random

from ggp.engines import make_machine
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Choice, Contender, Limit, MctsContender, make_contender
from tests.bench.positions import position
from tests.bench.scores import Z

_PROOF_VISITS = 20_000  # that may be needed to know the value of a position


class LengthContender(MctsContender):
    """Of proven moves, it takes the one that wins soonest or loses latest."""

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        choice = super().choose(state, legal, limit)
        search = self._search
        assert search is not None
        role = self._machine.roles.index(self._role)
        reports, prospects = search.reader.reports(role)
        blind = [each._replace(conceded=0.0) for each in prospects]
        best = search.reader.best(reports, blind, role)
        return Choice(None if best is None else best.move, choice.playouts, choice.visits)


def find_positions(
    machine: CircuitMachine, steps: int, count: int, value: float, length: int, rng: Random
) -> list[tuple[Facts, str]]:
    """States with several moves of one role, worth so much to it and so far from the end by proof; and the role."""
    found: list[tuple[Facts, str]] = []
    while len(found) < count:
        state = position(machine, steps + rng.randrange(4), rng)
        choosing = [role for role in machine.roles if len(machine.legal_moves(state, role)) > 1]
        if len(choosing) != 1 or any(state == other for other, _ in found):
            continue
        search = BatchedMcts(machine, SearchSettings(memory_bytes=2**26), 1)
        search.go_to(state)
        search.run(lambda: search.is_proven, _PROOF_VISITS)  # noqa: B023 - run at once
        result = search.result(choosing[0])
        if search.is_solved and result.lower == result.upper == value:
            prospects = search.reader.reports(machine.roles.index(choosing[0]))[1]
            if max(each.length for each in prospects) >= length:
                found.append((state, choosing[0]))
    return found


def play_on(
    machine: CircuitMachine, state: Facts, players: dict[str, tuple[Contender, Limit]], role: str, seed: int
) -> float:
    """What the role gets in a match from a state on, 0 to 1."""
    for other, (contender, _) in players.items():
        contender.new_match(other, seed)
    while not machine.is_terminal(state):
        moves = []
        for other in machine.roles:
            legal = machine.legal_moves(state, other)
            contender, limit = players[other]
            move = legal[0] if len(legal) == 1 else contender.choose(state, legal, limit).move
            moves.append(legal[0] if move is None else move)
        state = machine.next_state(state, tuple(moves))
        for contender, _ in players.values():
            contender.advance(tuple(moves))
    return (machine.goal(state, role) or 0) / 100


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % interval of values that are about normal."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1) / len(values))
    return f"{mean:.1%} [{mean - Z * spread:.1%}, {mean + Z * spread:.1%}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", help="a shipped game or the path of a rulesheet")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--positions", type=int, default=50)
    parser.add_argument("--value", type=float, default=0.0, help="of the positions for the role that plays on, 0 to 1")
    parser.add_argument("--length", type=int, default=4, help="least number of steps to the end after the longest move")
    parser.add_argument("--settings", default="", help="of the search that plays on, as NAME=VALUE,…")
    parser.add_argument("--visits", type=int, default=2000, help="of it, for each move")
    parser.add_argument("--opponent", action="append", required=True, help="as in tests/bench/contenders.py")
    parser.add_argument("--opponent-visits", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=2, help="matches from each position")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rulesheet = read_rulesheet(given.game)
    machine = make_machine(rulesheet, "circuit")
    assert isinstance(machine, CircuitMachine)
    positions = find_positions(machine, given.steps, given.positions, given.value, given.length, Random(given.seed))
    player = make_contender(f"mcts:{given.settings}", rulesheet)
    assert isinstance(player, MctsContender)
    contenders = {"mcts": player, "length": LengthContender(machine, player._settings)}
    for text in given.opponent:
        opponent = make_contender(text, rulesheet)
        got: dict[str, list[float]] = {name: [] for name in contenders}
        for number, (state, role) in enumerate(positions):
            for name, contender in contenders.items():
                players = dict.fromkeys(machine.roles, (opponent, Limit(visits=given.opponent_visits)))
                players[role] = contender, Limit(visits=given.visits)
                seeds = [given.seed * 10_000 + number * given.repeats + at for at in range(given.repeats)]
                gained = [play_on(machine, state, players, role, seed) - given.value for seed in seeds]
                got[name].append(sum(gained) / len(gained))
        difference = [new - old for new, old in zip(got["mcts"], got["length"], strict=True)]
        print(
            f"{given.game}, {len(positions)} positions worth {100 * given.value:g}, against {text}, "
            f"{given.opponent_visits} visits: {interval(got['mcts'])}, by length alone {interval(got['length'])}, "
            f"difference {interval(difference)}",
            flush=True,
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
