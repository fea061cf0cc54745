"""What the tests of all games need: matches and states from text."""

from collections.abc import Iterator, Mapping
from itertools import count
from random import Random
from typing import Any

from ggp import Game, State
from ggp.boards import Layout, make_picture, picture_lines, plain_text
from ggp.boards.hints import hinted_boards
from ggp.boards.marks import make_marks
from ggp.gdl.reader import read
from ggp.gdl.state_machine import Facts
from ggp.interpreter.legality import refusal

FIRST_GAMES = (
    "biddingtictactoe",
    "breakthrough",
    "connectfour",
    "dotsandboxes",
    "fiveinarow",
    "noughtsandcrosses",
    "reversi",
    "tictactoe",
)
"""Of each kind something: what tests of the engines take for shipped games, since all of them would be too many."""


def follow(state: State, *moves: str) -> State:
    """The state after these moves, one a step, each made by the role that has it."""
    for move in moves:
        role = next((role for role in state.game.roles if move in state.legal_moves(role)), None)
        assert role is not None, f"{move} is legal for no role in {state.facts}"
        state = state.play({role: move})
    return state


def state_of(game: Game, facts: str) -> State:
    """The state that holds these facts, reachable or not."""
    return State(game, frozenset(node.term for node in read(facts)))


def refused_as(state: State, role: str, move: str) -> str | None:
    """The kind of reason for which a move is refused; None for a legal one."""
    refused = refusal(state.game.rulesheet, state.game.machine, state.terms, role, move)
    return None if refused is None else refused.kind


def random_match(game: Game, seed: int) -> Iterator[tuple[State, dict[str, str]]]:
    """Each state of a random match with the joint move that is played in it; the terminal state with none."""
    random = Random(seed)
    state = game.initial_state
    for step in count():
        assert step < 200, f"the match with seed {seed} does not end"
        if state.is_terminal:
            yield state, {}
            return
        moves = {role: random.choice(state.legal_moves(role)) for role in game.roles}
        yield state, moves
        state = state.play(moves)


def play_out(game: Game, seed: int) -> State:
    """The terminal state of a random match."""
    *_, (state, _) = random_match(game, seed)
    return state


def draw_state(facts: Facts, drawing: Mapping[str, Any]) -> str:
    """The state as lines of text, by the hints of the metadata alone; facts that they do not place are listed."""
    boards, marks = hinted_boards(drawing, {})
    return plain_text(picture_lines(make_picture(Layout(boards, make_marks([*marks], [], marks)), facts)))
