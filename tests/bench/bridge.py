"""Moves of our rulesheets ⇄ actions of OpenSpiel, for the games that both have.

OpenSpiel is no dependency of the project; `pip install open_spiel` into an environment of its own. To see that both
play by the same rules: `python -m tests.bench.bridge GAME... --matches 100`, with names of shipped games or files.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from random import Random
from types import ModuleType
from typing import Any

from ggp.engines import make_machine
from ggp.errors import SettingsError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.library import find_rulesheet, read_bytes

WAIT: Term = "noop"  # of the role that is not on turn, and the pass


@dataclass(frozen=True, slots=True)
class Bridge:
    """One game in both worlds; our roles are OpenSpiel's players 0 and 1 in this order."""

    game: str  # with its parameters, as OpenSpiel loads it
    to_move: Callable[[int], Term]  # of an action

    def moves(self, state: Any) -> dict[Term, int]:  # noqa: ANN401 - here and below: OpenSpiel is not annotated
        """What the player on turn in a state of OpenSpiel can do: our move → its action."""
        return {self.to_move(action): action for action in state.legal_actions()}

    def new_state(self) -> Any:  # noqa: ANN401
        return load_openspiel().load_game(self.game).new_initial_state()

    def apply(self, state: Any, joint_move: tuple[Term, ...]) -> None:  # noqa: ANN401
        """Changes a state of OpenSpiel as a step of ours does; KeyError for a move that is not legal there."""
        state.apply_action(self.moves(state)[joint_move[state.current_player()]])


def load_openspiel() -> ModuleType:
    try:
        return import_module("pyspiel")
    except ImportError:
        raise SettingsError("OpenSpiel is not installed here: pip install open_spiel") from None


def read_rulesheet(game: str) -> Rulesheet:
    """Of a shipped game or a file."""
    path = find_rulesheet(game)
    return parse_rulesheet(decode(read_bytes(path), str(path)), str(path))


def find_bridge(machine: StateMachine) -> Bridge:
    """The one whose first moves are those of the machine; SettingsError when there is none."""
    first = set(machine.legal_moves(machine.initial_state, machine.roles[0]))
    for bridge in BRIDGES:
        if bridge.moves(bridge.new_state()).keys() == first:
            return bridge
    raise SettingsError("no game of OpenSpiel is known to have these rules")


def disagreements(bridge: Bridge, machine: StateMachine, seed: int) -> Iterator[str]:
    """What the two see differently in a random match; stops where the match cannot go on."""
    rng, theirs, ours = Random(seed), bridge.new_state(), machine.initial_state
    while not theirs.is_terminal() and not machine.is_terminal(ours):
        on_turn = theirs.current_player()
        legal = [set(machine.legal_moves(ours, role)) for role in machine.roles]
        moves = bridge.moves(theirs)
        if legal[on_turn] != moves.keys() or legal[1 - on_turn] != {WAIT}:
            yield f"seed {seed}: legal {legal}, not {list(moves)} of player {on_turn} in\n{theirs}"
            return
        joint_move: list[Term] = [WAIT, WAIT]
        joint_move[on_turn] = rng.choice(sorted(moves, key=to_text))
        bridge.apply(theirs, tuple(joint_move))
        ours = machine.next_state(ours, tuple(joint_move))
    if not theirs.is_terminal() or not machine.is_terminal(ours):
        yield f"seed {seed}: only one is at its end in\n{theirs}"
    else:
        goals = [machine.goal(ours, role) for role in machine.roles]
        expected = [round(50 + 50 * value) for value in theirs.returns()]
        if goals != expected:
            yield f"seed {seed}: goals {goals}, not {expected} in\n{theirs}"


def _cell(relation: str, names: str, action: int) -> Term:
    """A square board whose rows and columns bear these names."""
    row, column = divmod(action, len(names))
    return (relation, names[row], names[column])


def _disc(relation: str, columns: str, action: int) -> Term:
    """Othello; which column is the first depends on the colours at the start."""
    row, column = divmod(action, 8)
    return WAIT if action == 64 else (relation, columns[column], str(row + 1))


def _drop(action: int) -> Term:
    return ("drop", str(action + 1))


def _advance(size: int, action: int) -> Term:
    """Breakthrough; OpenSpiel counts rows from above, where the player starts who begins."""
    rest, direction = divmod(action // 2, 6)  # the last bit says whether a piece is beaten
    row, column = divmod(rest, size)
    to_row = row + (1 if direction < 3 else -1)
    to_column = column + direction % 3 - 1
    return ("move", *(str(index + 1) for index in (column, row, to_column, to_row)))


def _line(boxes: int, action: int) -> Term:
    """Dots and boxes; the horizontal lines come first."""
    horizontal = boxes * (boxes + 1)
    if action < horizontal:
        row, column = divmod(action, boxes)
        ends = (column, row, column + 1, row)
    else:
        row, column = divmod(action - horizontal, boxes + 1)
        ends = (column, row, column, row + 1)
    return ("draw", *(str(index + 1) for index in ends))


BRIDGES = (
    Bridge("tic_tac_toe", partial(_cell, "mark", "123")),
    Bridge("tic_tac_toe", partial(_cell, "mark", "012")),
    Bridge("connect_four", _drop),
    Bridge("connect_four(columns=8)", _drop),
    Bridge("breakthrough(rows=8,columns=8)", partial(_advance, 8)),
    Bridge("breakthrough(rows=6,columns=6)", partial(_advance, 6)),
    Bridge("othello", partial(_disc, "place", "12345678")),
    Bridge("othello", partial(_disc, "move", "87654321")),
    Bridge("dots_and_boxes(num_rows=5,num_cols=5)", partial(_line, 5)),
    Bridge("gomoku(size=8,connect=5)", partial(_cell, "mark", "abcdefgh")),  # ten times as fast as its mnk
)


def main() -> int:
    """Compares random matches of the games; exit code 1 when any disagrees."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="+")
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = False
    for game in arguments.games:
        machine = make_machine(read_rulesheet(game), "circuit")
        bridge = find_bridge(machine)
        seeds = range(arguments.seed, arguments.seed + arguments.matches)
        found = [what for seed in seeds for what in disagreements(bridge, machine, seed)]
        print(f"{game} and {bridge.game}: {len(found)} of {arguments.matches} matches disagree", *found[:1], sep="\n")
        failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
