"""Game: chess, against python-chess where that is installed, and against published counts of paths."""

from random import Random

import pytest

import ggp
from ggp.gdl.state_machine import Facts, StateMachine
from tests.games.helpers import state_of

pytest.importorskip("chess", reason="python-chess is not installed: pip install chess")

import chess

from tests.games.chess_rules import facts_of, goals_of, is_over, moves_of

KNOWN = {  # Chess Programming Wiki, Perft Results: paths of 1, 2, … steps
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (48, 2039, 97862, 4085603),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2812, 43238),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (6, 264, 9467, 422333),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (44, 1486, 62379, 2103487),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (46, 2079, 89890, 3894594),
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1": (24, 496, 9483, 182838),
}
QUICK = 60  # paths
STATES = {  # what a sentence of the rules is about: a state, and whether it is an end
    "en passant would leave the king on a rank with a rook": ("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1", False),
    "a pawn that gives check may be captured in passing": ("8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1", False),
    "two checks at once: only the king may move": ("4k3/8/4r3/8/1b6/8/3P1P2/4K2R w K - 0 1", False),
    "no castling through an attacked cell": ("5r1k/8/8/8/8/8/8/R3K2R w KQ - 0 1", False),
    "the rook may be attacked and pass an attacked cell": ("1r5k/8/8/8/8/8/8/R3K3 w Q - 0 1", False),
    "no castling out of check": ("4r2k/8/8/8/8/8/8/R3K2R w KQ - 0 1", False),
    "the king does not hide behind itself": ("8/8/8/r2K3k/8/8/8/8 w - - 0 1", False),
    "mate": ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", True),
    "mate comes before fifty moves": ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 100 90", True),
    "stalemate": ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", True),
    "fifty moves without a capture or a move of a pawn": ("7k/8/8/8/8/8/R7/K7 w - - 100 90", True),
    "one step fewer than fifty moves": ("7k/8/8/8/8/8/R7/K7 w - - 99 90", False),
    "kings alone": ("7k/8/8/8/8/8/8/K7 w - - 0 1", True),
    "a knight": ("7k/8/8/8/8/8/N7/K7 w - - 0 1", True),
    "two knights of one role": ("7k/8/8/8/8/8/NN6/K7 w - - 0 1", False),
    "a knight against a knight": ("6nk/8/8/8/8/8/N7/K7 w - - 0 1", False),
    "bishops on one colour": ("5b1k/8/8/8/8/8/8/K1B5 w - - 0 1", True),
    "bishops on both colours": ("6bk/8/8/8/8/8/8/K1B5 w - - 0 1", False),
    "a bishop and a knight": ("7k/8/8/8/8/8/NB6/K7 w - - 0 1", False),
}


@pytest.fixture(scope="module")
def machine() -> StateMachine:
    return ggp.load("chess").machine


def agree(machine: StateMachine, board: chess.Board) -> None:
    """Moves, end and goals are those of python-chess."""
    state = facts_of(board)
    assert set(machine.legal_moves(state, machine.roles[0 if board.turn else 1])) == set(moves_of(board)), board.fen()
    assert machine.is_terminal(state) == is_over(board), board.fen()
    assert tuple(machine.goal(state, role) for role in machine.roles) == goals_of(board), board.fen()


def step(machine: StateMachine, board: chess.Board, rng: Random) -> None:
    """A random move by both rules leads to the same state."""
    moves = moves_of(board)
    move = rng.choice(sorted(moves, key=str))
    joint_move = (move, "noop") if board.turn else ("noop", move)
    after = machine.next_state(facts_of(board), joint_move)
    board.push(moves[move])
    assert after == facts_of(board), board.fen()


def walk(machine: StateMachine, fen: str, seed: int, steps: int) -> None:
    board, rng = chess.Board(fen), Random(seed)
    for _ in range(steps):
        agree(machine, board)
        if is_over(board):
            return
        step(machine, board, rng)


@pytest.mark.parametrize("what", STATES)
def test_states_that_the_rules_tell_of(machine: StateMachine, what: str) -> None:
    fen, is_end = STATES[what]
    board = chess.Board(fen)
    agree(machine, board)
    assert machine.is_terminal(facts_of(board)) == is_end


def paths(machine: StateMachine, fen: str, depth: int) -> int:
    layer = {facts_of(chess.Board(fen)): 1}
    for _ in range(depth):
        after: dict[Facts, int] = {}
        for state, count in layer.items():
            own = [machine.legal_moves(state, role) for role in machine.roles]
            for joint_move in ((one, other) for one in own[0] for other in own[1]):
                following = machine.next_state(state, joint_move)
                after[following] = after.get(following, 0) + count
        layer = after
    return sum(layer.values())


@pytest.mark.parametrize("fen", KNOWN)
def test_known_states(machine: StateMachine, fen: str) -> None:
    depths = [depth for depth, count in enumerate(KNOWN[fen], 1) if count <= QUICK]
    assert [paths(machine, fen, depth) for depth in depths] == [KNOWN[fen][depth - 1] for depth in depths]
    walk(machine, fen, seed=1, steps=8)


@pytest.mark.slow
@pytest.mark.parametrize("fen", KNOWN)
def test_more_paths_from_known_states(machine: StateMachine, fen: str) -> None:
    assert paths(machine, fen, 3) == KNOWN[fen][2]


@pytest.mark.parametrize("seed", range(2))
def test_random_matches(machine: StateMachine, seed: int) -> None:
    walk(machine, chess.STARTING_FEN, seed, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_more_random_matches(machine: StateMachine, seed: int) -> None:
    walk(machine, chess.STARTING_FEN, seed, 12_700)


def test_moves_have_these_names() -> None:
    """Castling is the king's move of two files; a pawn that reaches the last rank becomes one of four pieces."""
    game = ggp.load("chess")
    state = state_of(game, "(cell e 1 white_king) (cell h 1 white_rook) (cell e 8 black_king) (castling white short)"
                           "(cell a 7 white_pawn) (control white) (quiet 0)")  # fmt: skip
    assert "(move e 1 g 1)" in state.legal_moves("white")
    castled = state.play({"white": "(move e 1 g 1)", "black": "noop"})
    assert {"(cell g 1 white_king)", "(cell f 1 white_rook)"} <= set(castled.facts)
    kinds = ("queen", "rook", "bishop", "knight")
    assert {f"(promote a 7 a 8 {kind})" for kind in kinds} <= set(state.legal_moves("white"))
    assert "(move a 7 a 8)" not in state.legal_moves("white")
