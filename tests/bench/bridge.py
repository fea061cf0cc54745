"""Moves of our rulesheets ⇄ actions of OpenSpiel, for the games that both have.

OpenSpiel is no dependency of the project, but one of its tests (the extra `openspiel`). To see that both
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
    to_move: Callable[[Any], Term]  # of an action: of its number, or of its text
    by_text: bool = False
    only_ours: frozenset[Term] = frozenset()  # moves that OpenSpiel's game does not have, which are not made
    joined: tuple[str, str] = (
        "",
        "",
    )  # a relation of our moves, and the one that OpenSpiel has for both: only one is legal
    bounds: frozenset[Term] = frozenset()  # facts by which our rules end a match that OpenSpiel may go on with
    ends_early: bool = False  # OpenSpiel ends matches, as drawn or by length, that our rules bound otherwise

    def moves(self, state: Any) -> dict[Term, int]:  # noqa: ANN401 - here and below: OpenSpiel is not annotated
        """What the player on turn in a state of OpenSpiel can do: our move → its action."""
        named = state.action_to_string if self.by_text else int
        found = {self.to_move(named(action)): action for action in state.legal_actions()}
        return {move: action for move, action in found.items() if move not in self.only_ours}

    def named_theirs(self, move: Term) -> Term:
        """Our move by the name that `to_move` gives it."""
        ours, theirs = self.joined
        return (theirs, *move[1:]) if isinstance(move, tuple) and move[0] == ours else move

    def is_known(self) -> bool:
        """Whether this version of OpenSpiel has the game with these parameters."""
        openspiel = load_openspiel()
        if self.game.partition("(")[0] not in openspiel.registered_names():
            return False
        try:
            self.new_state()
        except openspiel.SpielError:
            return False
        return True

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
    for bridge in BRIDGES:
        first = {bridge.named_theirs(move) for move in machine.legal_moves(machine.initial_state, machine.roles[0])}
        first -= bridge.only_ours
        if bridge.is_known() and bridge.moves(bridge.new_state()).keys() == first:
            return bridge
    raise SettingsError("no game of OpenSpiel is known to have these rules")


def disagreements(bridge: Bridge, machine: StateMachine, seed: int) -> Iterator[str]:
    """What the two see differently in a random match; stops where the match cannot go on."""
    rng, theirs, ours = Random(seed), bridge.new_state(), machine.initial_state
    while not theirs.is_terminal() and not machine.is_terminal(ours):
        on_turn = theirs.current_player()
        own = [{bridge.named_theirs(move): move for move in machine.legal_moves(ours, role)} for role in machine.roles]
        legal = [own_moves.keys() - bridge.only_ours for own_moves in own]
        moves = bridge.moves(theirs)
        if legal[on_turn] != moves.keys() or legal[1 - on_turn] != {WAIT}:
            yield f"seed {seed}: legal {legal}, not {list(moves)} of player {on_turn} in\n{theirs}"
            return
        joint_move: list[Term] = [WAIT, WAIT]
        joint_move[on_turn] = rng.choice(sorted(moves, key=to_text))
        bridge.apply(theirs, tuple(joint_move))
        joint_move[on_turn] = own[on_turn][joint_move[on_turn]]
        ours = machine.next_state(ours, tuple(joint_move))
    if (bridge.ends_early and not machine.is_terminal(ours)) or ours & bridge.bounds:
        return
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


def _named(size: int, action: int) -> Term:
    """A cell by letter and number; rows are counted from any side, since boards of this kind are symmetric."""
    row, column = divmod(action, size)
    return ("place", "abcdefghijklmnopqrs"[column], str(row + 1))


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


def line_move(boxes: int, action: int) -> Term:
    """Dots and boxes; the horizontal lines come first."""
    horizontal = boxes * (boxes + 1)
    if action < horizontal:
        row, column = divmod(action, boxes)
        ends = (column, row, column + 1, row)
    else:
        row, column = divmod(action - horizontal, boxes + 1)
        ends = (column, row, column, row + 1)
    return ("draw", *(str(index + 1) for index in ends))


def _stone(mirrored: str, text: str) -> Term:
    """A cell such as a1; the columns of our board in reverse if OpenSpiel's is its mirror image."""
    x, y = text[0], text[1:]
    return ("place", mirrored[::-1][mirrored.index(x)] if mirrored else x, y)


def _go(text: str) -> Term:
    """`B c3`, `W PASS`; columns leave the letter i out."""
    point = text.split()[1].lower()
    return "pass" if point == "pass" else ("place", chr(ord(point[0]) - (point[0] > "i")), point[1:])


def _draughts(text: str) -> Term:
    """From cell to cell, such as c3d4; the board stands on its head."""
    x, y, x2, y2 = tuple(text)
    turned = ("abcdefgh"["hgfedcba".index(x)], str(9 - int(y)), "abcdefgh"["hgfedcba".index(x2)], str(9 - int(y2)))
    return ("jump" if abs(int(y) - int(y2)) == 2 else "move", *turned)


def _from_to(text: str) -> Term:
    x, y, x2, y2 = tuple(text)
    return ("move", x, y, x2, y2)


def _morris(text: str) -> Term:
    """`Point 0` places or takes, `Move 0 -> 1` moves; points are counted from the upper left."""
    points = [_MORRIS_POINTS[int(word)] for word in text.replace("->", "").split()[1:]]
    return ("place" if len(points) == 1 else "move", *"".join(points))


_MORRIS_POINTS = "a7 d7 g7 b6 d6 f6 c5 d5 e5 a4 b4 c4 e4 f4 g4 c3 d3 e3 b2 d2 f2 a1 d1 g1".split()  # noqa: SIM905
_SWAP: frozenset[Term] = frozenset(("swap",))

BRIDGES = (
    Bridge("tic_tac_toe", partial(_cell, "mark", "123")),
    Bridge("tic_tac_toe", partial(_cell, "mark", "012")),
    Bridge("connect_four", _drop),
    Bridge("connect_four(columns=8)", _drop),
    Bridge("breakthrough(rows=8,columns=8)", partial(_advance, 8)),
    Bridge("breakthrough(rows=6,columns=6)", partial(_advance, 6)),
    Bridge("othello", partial(_disc, "place", "12345678")),
    Bridge("othello", partial(_disc, "move", "87654321")),
    Bridge("dots_and_boxes(num_rows=5,num_cols=5)", partial(line_move, 5)),
    Bridge("gomoku(size=8,connect=5)", partial(_cell, "mark", "abcdefgh")),  # ten times as fast as its mnk
    Bridge("hex(board_size=7)", partial(_stone, ""), by_text=True, only_ours=_SWAP),
    Bridge("hex(board_size=11)", partial(_stone, ""), by_text=True, only_ours=_SWAP),
    Bridge("y(board_size=9)", partial(_stone, ""), by_text=True),
    Bridge("havannah(board_size=4)", partial(_stone, "abcdefg"), by_text=True),
    Bridge("go(board_size=5,komi=7.5)", _go, by_text=True, ends_early=True),
    Bridge("go(board_size=7,komi=7.5)", _go, by_text=True, ends_early=True),
    Bridge("go(board_size=9,komi=7.5)", _go, by_text=True, ends_early=True),
    Bridge("checkers", _draughts, by_text=True, ends_early=True),
    Bridge("clobber", _from_to, by_text=True),
    Bridge(
        "nine_mens_morris",
        _morris,
        by_text=True,
        joined=("take", "place"),
        ends_early=True,
        bounds=frozenset((("quiet", "100"),)),
        only_ours=frozenset((("move", "a", "4", "a", "7"), ("move", "d", "7", "a", "7"))),
    ),  # it has them in flight only
    Bridge("gomoku(size=15,connect=5)", partial(_named, 15)),
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
