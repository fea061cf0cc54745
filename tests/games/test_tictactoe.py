"""Game: tic-tac-toe between xplayer and oplayer, sentence by sentence of the prose that describes it."""

from itertools import combinations, pairwise, permutations

import pytest

import ggp
from ggp.errors import IllegalMoveError
from ggp.gdl.reader import read_term
from tests.games.helpers import follow, random_match, refused_as, state_of

CELLS = [(row, column) for row in (1, 2, 3) for column in (1, 2, 3)]
ROWS = [[(row, column) for column in (1, 2, 3)] for row in (1, 2, 3)]
COLUMNS = [[(row, column) for row in (1, 2, 3)] for column in (1, 2, 3)]
DIAGONALS = [[(1, 1), (2, 2), (3, 3)], [(1, 3), (2, 2), (3, 1)]]
LINES = ROWS + COLUMNS + DIAGONALS
DRAWN_MATCH = ["(mark 2 2)", "(mark 1 1)", "(mark 1 2)", "(mark 3 2)", "(mark 1 3)", "(mark 3 1)", "(mark 2 1)"]
DRAWN_MATCH += ["(mark 2 3)", "(mark 3 3)"]


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("tictactoe")


def mark(cell: tuple[int, int]) -> str:
    return f"(mark {cell[0]} {cell[1]})"


def position(game: ggp.Game, x: list[tuple[int, int]], o: list[tuple[int, int]], control: str = "xplayer") -> ggp.State:
    signs = dict.fromkeys(x, "x") | dict.fromkeys(o, "o")
    cells = " ".join(f"(cell {row} {column} {signs.get((row, column), 'b')})" for row, column in CELLS)
    return state_of(game, f"{cells} (control {control})")


def test_grid(game: ggp.Game) -> None:
    """
    "The game is played on a 3-by-3 grid with rows and columns indexed from 1 to 3, establishing a coordinate system
    where each cell is identified by a pair of indices (row, column)."
    """
    assert game.initial_state.legal_moves("xplayer") == tuple(map(mark, CELLS))


def test_players_alternate(game: ggp.Game) -> None:
    """
    "There are two players, named xPlayer and oPlayer, who alternate turns starting with xPlayer."
    """
    assert game.roles == ("xplayer", "oplayer")
    for step, (state, moves) in enumerate(random_match(game, seed=1)):
        if moves:
            on_turn, waiting = game.roles if step % 2 == 0 else reversed(game.roles)
            assert moves[on_turn].startswith("(mark ")
            assert state.legal_moves(waiting) == ("noop",)


def test_start(game: ggp.Game) -> None:
    """
    "At the beginning, the control is assigned to xPlayer, and the board is empty with no marks placed."
    """
    empty = [f"(cell {row} {column} b)" for row, column in CELLS]
    assert game.initial_state.facts == (*empty, "(control xplayer)")


def test_any_empty_cell_takes_the_players_own_mark(game: ggp.Game) -> None:
    """
    "On a player's turn, if they have control, they may place their respective mark—'x' for xPlayer and 'o' for
    oPlayer—in any empty cell; a cell is considered empty if it has not been marked previously by either player."
    """
    for first, second in permutations(CELLS, 2):
        state = follow(game.initial_state, mark(first))
        assert set(state.legal_moves("oplayer")) == {mark(cell) for cell in CELLS if cell != first}
        assert f"(cell {first[0]} {first[1]} x)" in state.facts
        state = follow(state, mark(second))
        assert set(state.legal_moves("xplayer")) == {mark(cell) for cell in CELLS if cell not in (first, second)}
        assert f"(cell {second[0]} {second[1]} o)" in state.facts


def test_noop_of_the_player_without_control(game: ggp.Game) -> None:
    """
    "Alternatively, the player without control may perform a noop action, which essentially passes the turn without
    making a move."
    """
    state = game.initial_state
    assert state.legal_moves("oplayer") == ("noop",)
    after = state.play({"xplayer": "(mark 2 2)", "oplayer": "noop"})
    assert set(after.facts) - set(state.facts) == {"(cell 2 2 x)", "(control oplayer)"}


def test_what_is_legal_depends_on_control(game: ggp.Game) -> None:
    """
    "Actions are legal only if the acting player currently has control and the targeted cell for placement is empty;
    noop actions are only legal for the player who does not have control at that moment."
    """
    state = follow(game.initial_state, "(mark 2 2)")
    assert "(mark 1 1)" in state.legal_moves("oplayer")
    assert refused_as(state, "oplayer", "(mark 2 2)") == "condition"
    assert refused_as(state, "oplayer", "noop") == "condition"
    assert refused_as(state, "xplayer", "(mark 1 1)") == "turn"
    assert refused_as(state, "xplayer", "noop") is None


def test_a_mark_changes_its_cell_and_passes_control(game: ggp.Game) -> None:
    """
    "When a player places their mark in a cell, the game state updates to reflect this new mark on the board, and
    control passes to the other player."
    """
    state = follow(game.initial_state, "(mark 1 3)")
    after = follow(state, "(mark 3 1)")
    assert set(after.facts) ^ set(state.facts) == {
        "(cell 3 1 b)",
        "(cell 3 1 o)",
        "(control oplayer)",
        "(control xplayer)",
    }
    assert "(control xplayer)" in after.facts


def test_control_switches_even_without_a_mark(game: ggp.Game) -> None:
    """
    "If a player does not place a mark, the control still switches accordingly."
    """
    state = game.initial_state
    for role in ("oplayer", "xplayer"):
        state = ggp.State(game, game.machine.next_state(state.terms, ("noop", "noop")))
        assert f"(control {role})" in state.facts
    assert state.facts == game.initial_state.facts


def test_marks_stay_inside_and_one_to_a_cell(game: ggp.Game) -> None:
    """
    "The game enforces implicit constraints such that marks cannot be placed outside the 3x3 grid or on already
    occupied cells, and only one mark can occupy each cell at any time."
    """
    state = follow(game.initial_state, "(mark 2 2)")
    for outside in ("(mark 0 1)", "(mark 4 1)", "(mark 1 0)", "(mark 1 4)", "(mark 7 7)"):
        assert refused_as(state, "oplayer", outside) == "unknown"
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"oplayer": "(mark 2 2)"})
    assert "(true (cell 2 2 b))" in refused.value.reason
    for reached, _ in random_match(game, seed=2):
        cells = [read_term(fact)[1:3] for fact in reached.facts if fact.startswith("(cell ")]
        assert len(cells) == len(set(cells)) == 9


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_either_player_ends_the_match(game: ggp.Game, line: list[tuple[int, int]]) -> None:
    """
    "The game reaches a terminal state under three conditions: when either player forms a winning line of three marks
    in a row, column, or diagonal; or when there are no empty cells remaining and no winning line has been formed,
    resulting in a draw."
    """
    rest = [cell for cell in CELLS if cell not in line]
    no_line = next(list(three) for three in combinations(rest, 3) if list(three) not in LINES)
    x_moves = [line[0], rest[0], line[1], rest[1], line[2]]
    x_wins = follow(game.initial_state, *map(mark, x_moves))
    assert x_wins.is_terminal
    o_moves = [no_line[0], line[0], no_line[1], line[1], no_line[2]]
    before = follow(game.initial_state, *map(mark, o_moves))
    assert not before.is_terminal
    assert follow(before, mark(line[2])).is_terminal


def test_a_full_board_ends_the_match(game: ggp.Game) -> None:
    """
    "or when there are no empty cells remaining and no winning line has been formed, resulting in a draw."
    """
    before = follow(game.initial_state, *DRAWN_MATCH[:-1])
    assert not before.is_terminal
    assert follow(before, DRAWN_MATCH[-1]).is_terminal


def test_what_a_line_is(game: ggp.Game) -> None:
    """
    "A winning line is defined as three identical marks aligned horizontally, vertically, or diagonally across the
    grid."
    """
    ends = [list(three) for three in combinations(CELLS, 3) if position(game, list(three), []).is_terminal]
    assert sorted(ends) == sorted(map(sorted, LINES))
    for line in LINES:
        assert not position(game, line[:2], line[2:]).is_terminal


def test_scores(game: ggp.Game) -> None:
    """
    "Scoring reflects these conditions: a player receives 100 points if they have formed a winning line, 50 points if
    the game ends in a draw (no lines and no empty spaces), and 0 points if the opponent forms a winning line or if the
    game ends prematurely with empty spaces but no line."
    """
    for line in LINES:
        assert position(game, line, []).goals == {"xplayer": 100, "oplayer": 0}
        assert position(game, [], line).goals == {"xplayer": 0, "oplayer": 100}
    state = game.initial_state
    for move in DRAWN_MATCH:
        assert state.goals == {"xplayer": 0, "oplayer": 0}
        state = follow(state, move)
    assert state.goals == {"xplayer": 50, "oplayer": 50}


def test_a_line_made_by_the_last_mark_wins(game: ggp.Game) -> None:
    """
    "50 points if the game ends in a draw (no lines and no empty spaces)": a full board with a line is no draw.
    """
    x = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 2)]
    state = position(game, x, [cell for cell in CELLS if cell not in x], control="oplayer")
    assert state.is_terminal
    assert state.goals == {"xplayer": 100, "oplayer": 0}


def test_objective(game: ggp.Game) -> None:
    """
    "Thus, the game's objective is for each player to strategically place their marks to create a line of three while
    preventing the opponent from doing so, with turns alternating between players and moves constrained to empty cells
    within the 3x3 board."
    """
    for seed in range(10):
        states = [state for state, _ in random_match(game, seed)]
        for state, after in pairwise(states):
            lost = set(state.facts) - set(after.facts)
            assert sum(fact.endswith(" b)") for fact in lost) == 1
            assert not any(fact.endswith((" x)", " o)")) for fact in lost)
        assert set(states[-1].goals.values()) in ({0, 100}, {50})
