"""Our moves and OpenSpiel's actions; where OpenSpiel is installed, matches by both rules side by side."""

import math
from random import Random

import pytest

from ggp.engines import make_machine
from ggp.errors import SettingsError
from ggp.gdl.terms import to_text
from ggp.interpreter import Interpreter
from tests.bench.bridge import BRIDGES, Bridge, disagreements, find_bridge, read_rulesheet
from tests.bench.hidden import TWINS, Theirs, read_rules

GAMES = (
    "tictactoe", "noughtsandcrosses", "connectfour", "breakthrough", "reversi", "dotsandboxes", "hex7", "y9",
    "havannah4", "go5", "draughts", "clobber", "morris",
)  # fmt: skip
NEWER = ("fiveinarow", "gomoku")  # that older versions of OpenSpiel do not have


def bridge_of(game: str) -> Bridge:
    return next(bridge for bridge in BRIDGES if bridge.game.startswith(game))


@pytest.mark.parametrize(
    ("game", "action", "move"),
    [
        ("tic_tac_toe", 5, "(mark 2 3)"),  # x(1,2)
        ("connect_four", 6, "(drop 7)"),  # x6
        ("breakthrough", 98, "(move 1 2 1 3)"),  # a7a6, by who begins, whose rows these are here
        ("breakthrough", 112, "(move 2 2 3 3)"),  # b7c6
        ("breakthrough", 584, "(move 1 7 1 6)"),  # a2a3
        ("othello", 19, "(place 4 3)"),  # d3
        ("othello", 64, "noop"),
        ("dots_and_boxes", 9, "(draw 5 2 6 2)"),  # (h,1,4)
        ("dots_and_boxes", 41, "(draw 6 2 6 3)"),  # (v,1,5)
        ("gomoku", 15, "(mark b h)"),  # 1,7
        ("hex", "c2", "(place c 2)"),
        ("havannah", "b5", "(place f 5)"),  # its board is our mirror image
        ("go(board_size=5", "B c3", "(place c 3)"),
        ("go(board_size=9", "W j9", "(place i 9)"),  # columns leave i out
        ("go(board_size=5", "W PASS", "pass"),
        ("checkers", "a3b4", "(move h 6 g 5)"),
        ("checkers", "b4d6", "(jump g 5 e 3)"),
    ],
)
def test_actions_are_moves(game: str, action: int | str, move: str) -> None:
    assert to_text(bridge_of(game).to_move(action)) == move


@pytest.mark.parametrize("game", [*GAMES, *NEWER])
def test_both_play_by_the_same_rules(game: str) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    machine = make_machine(read_rulesheet(game), "circuit")
    if game in NEWER and not any(bridge.is_known() for bridge in BRIDGES if bridge.game.startswith("gomoku")):
        pytest.skip("this version of OpenSpiel does not have the game")
    bridge = find_bridge(machine)
    assert not [what for seed in range(2) for what in disagreements(bridge, machine, seed)]


@pytest.mark.parametrize("game", TWINS)
@pytest.mark.parametrize("seed", range(8))
def test_games_with_hidden_information_have_the_same_moves_and_ends(game: str, seed: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    machine, theirs, rng = make_machine(read_rules(game), "circuit"), Theirs(TWINS[game], seed), Random(seed)
    state, roles = machine.initial_state, [role for role in machine.roles if role != "random"]
    while not machine.is_terminal(state):
        assert not theirs.state.is_terminal()
        if not theirs.state.is_chance_node():
            on_turn = roles[theirs.state.current_player()]
            known = theirs.state.legal_actions()
            assert {TWINS[game].actions[move] for move in machine.legal_moves(state, on_turn)} == set(known)
        joint_move = tuple(rng.choice(machine.legal_moves(state, role)) for role in machine.roles)
        theirs.advance(joint_move, joint_move[0], ())
        state = machine.next_state(state, joint_move)
    assert theirs.state.is_terminal()
    expected = [math.copysign(1, value) if value else 0 for value in theirs.state.returns()]
    goals = [machine.goal(state, role) or 0 for role in roles]
    assert [math.copysign(1, goal - 50) if goal != 50 else 0 for goal in goals] == expected


def test_different_rules_are_noticed() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    machine = Interpreter(read_rulesheet("reversi"))
    assert not list(disagreements(bridge_of("othello"), machine, 1))
    mirrored = Bridge("othello", lambda action: bridge_of("othello").to_move(action if action == 64 else action ^ 7))
    assert "legal" in next(disagreements(mirrored, machine, 1))


def test_a_game_that_only_we_have_has_no_bridge() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    with pytest.raises(SettingsError, match="no game of OpenSpiel"):
        find_bridge(Interpreter(read_rulesheet("biddingtictactoe")))
