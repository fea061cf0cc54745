"""Games: sentences of the rules of board games, each with a state in which it shows (`board_games`)."""

from functools import cache

import pytest

import ggp
from ggp.gdl.reader import read
from ggp.gdl.terms import to_text
from tests.games.board_games import CASES, Case
from tests.games.helpers import follow, state_of


@cache
def load(name: str) -> ggp.Game:
    return ggp.load(name)


def words(text: str) -> list[str]:
    return [to_text(node.term) for node in read(text)]


def moves(state: ggp.State) -> set[str]:
    return {move for role in state.game.roles for move in state.legal_moves(role)}


def choices(state: ggp.State) -> set[str]:
    """Of the role that is not waiting."""
    return max((set(state.legal_moves(role)) for role in state.game.roles), key=lambda own: (own != {"noop"}, len(own)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.game}: {case.sentence}")
def test_sentence(case: Case) -> None:
    game = load(case.game)
    state = state_of(game, case.facts) if case.facts else follow(game.initial_state, *words(case.after))
    assert set(words(case.legal)) <= moves(state)
    assert not set(words(case.illegal)) & moves(state)
    if case.only:
        assert choices(state) == set(words(case.only))
    if case.move:
        state = follow(state, case.move)
    assert set(words(case.then)) <= set(state.facts)
    assert not set(words(case.gone)) & set(state.facts)
    if case.next_only:
        assert choices(state) == set(words(case.next_only))
    if case.is_end is not None:
        assert state.is_terminal == case.is_end
    if case.goals:
        assert tuple(state.goals[role] for role in game.roles) == case.goals
