"""Alpha-beta plays by the rules of the rulesheets, and finds what plain minimax finds."""

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.engines import make_machine
from ggp.errors import SettingsError
from tests.bench.alphabeta import (
    DRAWN,
    GAMES,
    LOST,
    LOUD,
    MORE,
    SAME,
    WIN,
    WON,
    AlphaBeta,
    Bot,
    Game,
    Words,
    find_game,
    next_boards,
    role_on_turn,
    successors,
)
from tests.bench.bridge import read_rulesheet

_RESULTS = {LOST: 0, DRAWN: 50, WON: 100}


@pytest.mark.parametrize("name", GAMES)
def test_boards_follow_each_other_as_the_rules_say(name: str) -> None:
    machine, game, rng = make_machine(read_rulesheet(name), "circuit"), GAMES[name], Random(5)
    for _ in range(8):
        state = machine.initial_state
        while True:
            found = successors(game, game.board(state))
            on_turn = role_on_turn(state)
            if machine.is_terminal(state):
                is_bound = ("quiet", "80") in state  # by their length: the search does not count
                assert is_bound or (isinstance(found, int) and machine.goal(state, on_turn) == _RESULTS[found])
                break
            boards = next_boards(game, machine, state)
            assert sorted(map(tuple, (board.tolist() for board in boards.values()))) == found
            move = rng.choice(list(boards))
            joint = tuple(move if role == on_turn else machine.legal_moves(state, role)[0] for role in machine.roles)
            state = machine.next_state(state, joint)


@pytest.mark.parametrize("name", GAMES)
def test_values_are_those_of_minimax(name: str) -> None:
    machine, game, rng = make_machine(read_rulesheet(name), "circuit"), GAMES[name], Random(7)
    search = AlphaBeta(machine)
    for steps in (0, 9, 20, 31):
        state = machine.initial_state
        for _ in range(steps):
            joint = tuple(rng.choice(machine.legal_moves(state, role)) for role in machine.roles)
            state = machine.next_state(state, joint)
        search.forget()
        boards = next_boards(game, machine, state)
        values = {move: minimax(game, board, 2) * (1 if board[MORE] & SAME else -1) for move, board in boards.items()}
        move, depth = search.best(state, lambda: False, most_depth=3)
        assert (depth, values[move]) == (3, max(values.values()))


def minimax(game: Game, board: Words, depth: int) -> int:
    """For the role on turn; forced captures are played to their end."""
    found = np.zeros((128, 4), np.uint64)
    count = game.expand(board, found)
    if count < 0:
        return int({LOST: -WIN, DRAWN: 0, WON: WIN}[count])
    if depth <= 0 and not found[0, MORE] & LOUD:
        return int(game.evaluate(board))
    return max(minimax(game, each, depth - 1) * (1 if each[MORE] & SAME else -1) for each in found[:count])


def test_other_games_have_no_evaluation() -> None:
    with pytest.raises(SettingsError, match="evaluations for breakthrough, reversi, draughts only"):
        find_game(make_machine(read_rulesheet("connectfour"), "circuit"))


class FewLooks:
    """A clock that is over when it was looked at so often."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    @property
    def is_over(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def test_the_bot_answers_legal_moves_and_searches_what_follows_meanwhile() -> None:
    state = ggp.load("reversi").initial_state
    role, nodes = role_on_turn(state.terms), []
    task: Any = SimpleNamespace(game=state.game, role=role)
    bot = Bot(task)
    clock: Any = FewLooks(3)
    move = bot.choose(state, clock)
    assert move in state.legal_moves(role)
    for looks, done in ((0, move), (2, move), (4, None)):
        clock = FewLooks(looks)
        bot.ponder(state, done, clock)
        nodes.append(bot.nodes)
    assert nodes[0] == 0 < nodes[1] < nodes[2]
