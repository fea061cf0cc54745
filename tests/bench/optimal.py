"""How a player compares with perfect play.

    python -m tests.bench.optimal connectfour --player learned:learning=30    optimal moves in random states
    python -m tests.bench.optimal connectfour --player mcts --endings         won states that stay won
    python -m tests.bench.optimal connectfour --player mcts --initial         the same, of the initial state
    python -m tests.bench.optimal dotsandboxes --player mcts --count 20       the same

Connect four: random states after 6 to 30 steps; a move is optimal where no other has a better value. With --endings:
random states after 8 steps that the role on turn wins by one move or two. With --initial: the initial state, which is
won for the first role; the first reply is drawn, since all are lost. Dots and boxes: states with 24 lines left, of
quick matches of the search, that are won for the role on turn. The player ends the match against perfect play, which
does the one of equal moves that a search likes best. Seconds are those of the thread.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import repeat
from random import Random

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import to_text
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.alphabeta import joint_move, role_on_turn
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Contender, Limit, make_contender, warm_up
from tests.bench.perfect import LINES_LEFT, ConnectFour, DotsAndBoxes, PerfectPlay
from tests.bench.positions import position
from tests.bench.scores import score

VISITS = 300  # of each state of the matches whose endings are played
FIRST_STEPS, LAST_STEPS = 6, 30  # of random states of connect four
WON_STEPS, MOST_WINNING = 8, 2  # before its endings, and the moves that win them
_MEMORY_BYTES = 2**25


def optimal_moves(machine: CircuitMachine, contender: Contender, limit: Limit, seed: int) -> Iterator[bool | None]:
    """Whether the contender's move is optimal, for one random state after the other; None where every move is."""
    solver, rng = ConnectFour(machine), Random(seed)
    while True:
        state = position(machine, rng.randint(FIRST_STEPS, LAST_STEPS), rng)
        on_turn = role_on_turn(state)
        legal = machine.legal_moves(state, on_turn)
        values = {move: round(value) for move, value in solver.values(state).items()}
        best = {move for move in legal if values[move] == max(values.values())}
        if len(best) == len(legal):
            yield None
            continue
        contender.new_match(on_turn, rng.getrandbits(31))
        yield contender.choose(state, legal, limit).move in best


def won_states(machine: CircuitMachine, solver: ConnectFour | DotsAndBoxes, rng: Random) -> Iterator[Facts]:
    """Random ones that are won for the role on turn."""
    is_connect_four = isinstance(solver, ConnectFour)
    while True:
        state = position(machine, WON_STEPS, rng) if is_connect_four else _ending(machine, rng)
        winning = sum(round(value) > 0 for value in solver.values(state).values())
        if winning and not (is_connect_four and winning > MOST_WINNING):
            yield state


def stay_won(
    machine: CircuitMachine,
    contender: Contender,
    limit: Limit,
    solver: ConnectFour | DotsAndBoxes,
    states: Iterable[Facts],
    rng: Random,
) -> Iterator[bool]:
    """Whether the contender wins as the role on turn against perfect play, for one state after the other."""
    perfect = PerfectPlay(machine, solver, rng.getrandbits(31))
    for given in states:
        state, role, moves = given, role_on_turn(given), list[str]()
        contender.new_match(role, rng.getrandbits(31))
        while not machine.is_terminal(state):
            on_turn = role_on_turn(state)
            legal = machine.legal_moves(state, on_turn)
            if on_turn == role and len(legal) > 1:
                move = contender.choose(state, legal, limit).move or rng.choice(legal)
            else:
                is_drawn = given == machine.initial_state and len(moves) == 1
                move = rng.choice(perfect.best(state)) if is_drawn else perfect.choose(state)
            moves.append(to_text(move))
            joint = joint_move(machine, state, move)
            state = machine.next_state(state, joint)
            contender.advance(joint)
        print(*moves)
        yield machine.goal(state, role) == 100


def _ending(machine: CircuitMachine, rng: Random) -> Facts:
    """Of a match of the search with itself, after a few random steps."""
    settings = SearchSettings(memory_bytes=_MEMORY_BYTES, retrograde=False, proof=False)
    search = BatchedMcts(machine, settings, rng.getrandbits(31))
    state = position(machine, 4, rng)
    while len(legal := machine.legal_moves(state, on_turn := role_on_turn(state))) > LINES_LEFT:
        search.go_to(state)
        search.run(lambda: False, VISITS)
        move = search.result(on_turn).best or rng.choice(legal)
        state = machine.next_state(state, joint_move(machine, state, move))
    search.close()
    return state


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=("connectfour", "dotsandboxes"))
    parser.add_argument("--player", default="mcts", help="as in tests/bench/contenders.py")
    parser.add_argument("--seconds", type=float, default=1.0, help="of the processor, for each move")
    parser.add_argument("--count", type=int, default=100, help="states or endings")
    parser.add_argument("--endings", action="store_true", help="of connect four, too")
    parser.add_argument("--initial", action="store_true", help="connect four, as the first role")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.initial and given.game != "connectfour":
        parser.error("--initial is for connectfour only")
    try:
        rulesheet = read_rulesheet(given.game)
        machine, contender = make_machine(rulesheet, "circuit"), make_contender(given.player, rulesheet)
        assert isinstance(machine, CircuitMachine)
    except GgpError as error:
        print(error, file=sys.stderr)
        return 2
    warm_up(contender, machine)
    limit = Limit(given.seconds, None, True)
    are_moves = given.game == "connectfour" and not given.endings and not given.initial
    asked: Iterator[bool | None]
    if are_moves:
        asked = optimal_moves(machine, contender, limit, given.seed)
    else:
        solver = ConnectFour(machine) if given.game == "connectfour" else DotsAndBoxes(machine)
        rng = Random(given.seed)
        states = repeat(machine.initial_state) if given.initial else won_states(machine, solver, rng)
        asked = stay_won(machine, contender, limit, solver, states, rng)
    outcomes, free = [], 0
    for number, outcome in zip(range(given.count), asked, strict=False):
        free += outcome is None
        outcomes += [] if outcome is None else [float(outcome)]
        if outcome is not None:
            print(f"{number + 1}: {int(sum(outcomes))} of {len(outcomes)}", flush=True)
    what = "moves optimal where some are not" if are_moves else "won states stay won"
    print(f"{given.player}, {given.seconds:g} s of the processor a move: {score(outcomes)} {what}, of {len(outcomes)}")
    if free:
        share = (sum(outcomes) + free) / given.count
        print(f"and {free} states in which every move is optimal: {100 * share:.1f} % of {given.count} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
