"""Shipped games and their layouts, each made once for all tests."""

from functools import cache

import ggp
from ggp.boards import Layout, Picture, find_layout, make_picture


@cache
def game_of(name: str) -> ggp.Game:
    return ggp.load(name, "interpreter")


@cache
def layout_of(name: str, *, has_hints: bool = True) -> Layout:
    """With the hints of the metadata, or from the rules alone."""
    game = game_of(name)
    return find_layout(game.rulesheet, game.machine, game.metadata.drawing if has_hints else None)


def picture_of(name: str, steps: int = 0) -> Picture:
    """The state after some steps, in which each role makes its first legal move."""
    state = game_of(name).initial_state
    for _ in range(steps):
        if state.is_terminal:
            break
        state = state.play({role: state.legal_moves(role)[0] for role in state.game.roles})
    return make_picture(layout_of(name), state.terms)
