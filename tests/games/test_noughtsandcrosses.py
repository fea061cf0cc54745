"""Game: noughts and crosses between player 1 and player 2, sentence by sentence of the prose that describes it."""

from itertools import combinations, pairwise

import pytest

import ggp
from ggp.errors import IllegalMoveError
from ggp.gdl.state_machine import Facts
from tests.games.helpers import follow, play_out, random_match, refused_as, state_of

Cell = tuple[int, int]

CELLS = [(row, column) for row in range(3) for column in range(3)]
HORIZONTAL = {
    "Top row: positions (0,0), (0,1), (0,2)": [(0, 0), (0, 1), (0, 2)],
    "Middle row: positions (1,0), (1,1), (1,2)": [(1, 0), (1, 1), (1, 2)],
    "Bottom row: positions (2,0), (2,1), (2,2)": [(2, 0), (2, 1), (2, 2)],
}
VERTICAL = {
    "Left column: positions (0,0), (1,0), (2,0)": [(0, 0), (1, 0), (2, 0)],
    "Middle column: positions (0,1), (1,1), (2,1)": [(0, 1), (1, 1), (2, 1)],
    "Right column: positions (0,2), (1,2), (2,2)": [(0, 2), (1, 2), (2, 2)],
}
DIAGONAL = {
    "Top-left to bottom-right: positions (0,0), (1,1), (2,2)": [(0, 0), (1, 1), (2, 2)],
    "Top-right to bottom-left: positions (0,2), (1,1), (2,0)": [(0, 2), (1, 1), (2, 0)],
}
PATTERNS = HORIZONTAL | VERTICAL | DIAGONAL
DRAWN_MATCH = ["(mark 1 1)", "(mark 0 0)", "(mark 0 1)", "(mark 2 1)", "(mark 0 2)", "(mark 2 0)", "(mark 1 0)"]
DRAWN_MATCH += ["(mark 1 2)", "(mark 2 2)"]


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("noughtsandcrosses")


def mark(cell: Cell) -> str:
    return f"(mark {cell[0]} {cell[1]})"


def position(game: ggp.Game, x: list[Cell], o: list[Cell], control: str = "player1") -> ggp.State:
    symbols = dict.fromkeys(x, "x") | dict.fromkeys(o, "o")
    cells = " ".join(f"(cell {row} {column} {symbols.get((row, column), 'b')})" for row, column in CELLS)
    return state_of(game, f"{cells} (control {control})")


def win_patterns(game: ggp.Game) -> list[list[Cell]]:
    """The sets of three spaces that end a match, found by trying all."""
    return [list(three) for three in combinations(CELLS, 3) if position(game, list(three), []).is_terminal]


def test_overview(game: ggp.Game) -> None:
    """
    "Tic-Tac-Toe (also known as Noughts and Crosses) is a classic two-player strategy game played on a 3x3 grid."
    "Players take turns marking spaces with their symbol (X or O), aiming to be the first to get three of their marks
    in a row."
    """
    assert len(game.roles) == 2
    state = follow(game.initial_state, "(mark 0 0)", "(mark 1 0)")
    assert {"(cell 0 0 x)", "(cell 1 0 o)"} <= set(state.facts)
    assert follow(state, "(mark 0 1)", "(mark 1 1)", "(mark 0 2)").goals == {"player1": 100, "player2": 0}


def test_setup(game: ggp.Game) -> None:
    """
    "**Players**: Exactly 2 players"
    "**Board**: 3x3 grid (9 spaces total)"
    "Player 1: X"
    "Player 2: O"
    "**Starting Position**: Empty board with all spaces available"
    """
    assert game.roles == ("player1", "player2")
    state = game.initial_state
    assert state.facts == (*(f"(cell {row} {column} b)" for row, column in CELLS), "(control player1)")
    assert state.legal_moves("player1") == tuple(map(mark, CELLS))
    state = follow(state, "(mark 0 0)", "(mark 2 2)")
    assert {"(cell 0 0 x)", "(cell 2 2 o)"} <= set(state.facts)


def test_first_with_three_wins(game: ggp.Game) -> None:
    """
    "Be the first player to place three of your marks in a horizontal, vertical, or diagonal row."
    """
    state = follow(game.initial_state, "(mark 0 0)", "(mark 1 0)", "(mark 0 1)", "(mark 1 1)")
    assert not state.is_terminal
    state = follow(state, "(mark 2 2)", "(mark 1 2)")
    assert state.is_terminal
    assert state.goals == {"player1": 0, "player2": 100}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_win_patterns(game: ggp.Game, pattern: str) -> None:
    """
    "A player wins by achieving three marks in a row in any of the following patterns:" the parameters.
    """
    spaces = PATTERNS[pattern]
    assert position(game, spaces, []).is_terminal
    assert position(game, spaces, []).goals == {"player1": 100, "player2": 0}
    assert position(game, [], spaces).is_terminal
    assert position(game, [], spaces).goals == {"player1": 0, "player2": 100}
    for mixed in (spaces[:1], spaces[:2]):
        state = position(game, mixed, [space for space in spaces if space not in mixed])
        assert not state.is_terminal


def test_no_other_pattern_wins(game: ggp.Game) -> None:
    """
    "in any of the following patterns": and in no other.
    """
    assert sorted(win_patterns(game)) == sorted(map(sorted, PATTERNS.values()))


def test_draw(game: ggp.Game) -> None:
    """
    "The game ends in a draw (tie) when:"
    "All 9 spaces on the board are filled"
    "Neither player has achieved three marks in a row"
    """
    before = follow(game.initial_state, *DRAWN_MATCH[:-1])
    assert not before.is_terminal
    after = follow(before, DRAWN_MATCH[-1])
    assert after.is_terminal
    assert after.goals == {"player1": 50, "player2": 50}
    x = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 1)]
    full_and_won = position(game, x, [space for space in CELLS if space not in x], control="player2")
    assert full_and_won.is_terminal
    assert full_and_won.goals == {"player1": 100, "player2": 0}


def test_turn_order(game: ggp.Game) -> None:
    """
    "Player 1 (X) always moves first"
    "Players alternate turns throughout the game"
    "Each turn consists of placing one mark in an empty space"
    """
    for seed in range(3):
        states = [state for state, _ in random_match(game, seed)]
        for step, (state, after) in enumerate(pairwise(states)):
            on_turn, waiting = game.roles if step % 2 == 0 else reversed(game.roles)
            symbol = "x" if step % 2 == 0 else "o"
            assert state.legal_moves(waiting) == ("noop",)
            (new,) = {fact for fact in after.facts if fact.startswith("(cell ")} - set(state.facts)
            assert new.endswith(f"{symbol})")
            assert new.replace(symbol, "b") in state.facts
            assert f"(control {on_turn})" in state.facts


def test_marks_are_never_changed(game: ggp.Game) -> None:
    """
    "Once a space is marked, it cannot be changed or overwritten"
    """
    for seed in range(3):
        marked: set[str] = set()
        for state, _ in random_match(game, seed):
            assert marked <= set(state.facts)
            marked = {fact for fact in state.facts if fact.endswith((" x)", " o)"))}


def test_goes_on_until_won_or_drawn(game: ggp.Game) -> None:
    """
    "The game continues until a win condition or draw condition is met"
    """
    state = game.initial_state
    for move in DRAWN_MATCH:
        assert not state.is_terminal
        assert state.goals == {"player1": 50, "player2": 50}
        state = follow(state, move)
    assert state.is_terminal


def test_valid_moves(game: ggp.Game) -> None:
    """
    "A move is considered valid if and only if:"
    "It is the player's turn"
    "The target space is within the board boundaries (row and column between 0-2)"
    "The target space is currently empty (not already marked by either player)"
    """
    state = follow(game.initial_state, "(mark 1 1)", "(mark 0 0)")
    everywhere = [(row, column) for row in range(-1, 4) for column in range(-1, 4)]
    valid = {cell for cell in everywhere if refused_as(state, "player1", mark(cell)) is None}
    assert valid == set(CELLS) - {(1, 1), (0, 0)}
    assert all(refused_as(state, "player2", mark(cell)) is not None for cell in everywhere)


def test_rejected_because_it_is_not_the_players_turn(game: ggp.Game) -> None:
    """
    "A move is invalid and will be rejected if:"
    "It is not the player's turn"
    """
    state = game.initial_state
    assert refused_as(state, "player2", "(mark 0 0)") == "turn"
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"player1": "(mark 1 1)", "player2": "(mark 0 0)"})
    assert refused.value.role == "player2"
    assert refused.value.reason
    assert refused_as(follow(state, "(mark 1 1)"), "player1", "(mark 0 0)") == "turn"


@pytest.mark.parametrize("move", ["(mark 3 0)", "(mark 0 3)", "(mark -1 0)", "(mark 7 7)"])
def test_rejected_because_it_is_outside(game: ggp.Game, move: str) -> None:
    """
    "The row or column is outside the valid range (0-2)"
    """
    state = game.initial_state
    for role in game.roles:
        assert refused_as(state, role, move) == "unknown"
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"player1": move})
    assert refused.value.reason


def test_rejected_because_the_space_is_occupied(game: ggp.Game) -> None:
    """
    "The target space is already occupied by any mark"
    """
    state = follow(game.initial_state, "(mark 1 1)")
    assert refused_as(state, "player2", "(mark 1 1)") == "condition"
    state = follow(state, "(mark 0 0)")
    for occupied in ((0, 0), (1, 1)):
        assert refused_as(state, "player1", mark(occupied)) == "condition"
        with pytest.raises(IllegalMoveError) as refused:
            state.play({"player1": mark(occupied)})
        assert f"(true (cell {occupied[0]} {occupied[1]} b))" in refused.value.reason


def test_rejected_because_the_match_is_over(game: ggp.Game) -> None:
    """
    "The game has already ended (win or draw)"
    """
    won = follow(game.initial_state, "(mark 0 0)", "(mark 1 0)", "(mark 0 1)", "(mark 1 1)", "(mark 0 2)")
    drawn = follow(game.initial_state, *DRAWN_MATCH)
    for state, role, move in ((won, "player2", "(mark 2 2)"), (drawn, "player2", "(mark 0 0)")):
        assert refused_as(state, role, move) == "over"
        with pytest.raises(IllegalMoveError) as refused:
            state.play({role: move})
        assert refused.value.reason


def test_flow(game: ggp.Game) -> None:
    """
    "**Initialization**: Game starts with an empty 3x3 board"
    "**Player 1's Turn**: Player 1 (X) makes the first move"
    "**Alternating Turns**: Players continue alternating until game ends"
    "**Game End**: Game concludes when a player wins or the board is full"
    "**Result**: Winner is declared, or game is marked as a draw"
    """
    results = set()
    for seed in range(12):
        end = play_out(game, seed)
        results.add(tuple(end.goals.values()))
        full = not any(fact.endswith(" b)") for fact in end.facts)
        assert full or 100 in end.goals.values()
    assert results == {(100, 0), (0, 100), (50, 50)}


def test_strategy_notes_on_spaces(game: ggp.Game) -> None:
    """
    "The center position (1,1) is strategically valuable as it participates in 4 win patterns"
    "Corner positions (0,0), (0,2), (2,0), (2,2) each participate in 3 win patterns"
    "Edge positions (0,1), (1,0), (1,2), (2,1) each participate in 2 win patterns"
    """
    patterns = win_patterns(game)
    expected = {(1, 1): 4} | dict.fromkeys([(0, 0), (0, 2), (2, 0), (2, 2)], 3)
    expected |= dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)], 2)
    assert {space: sum(space in pattern for pattern in patterns) for space in CELLS} == expected


def test_perfect_play_is_a_draw(game: ggp.Game) -> None:
    """
    "With perfect play from both players, the game will always end in a draw"
    """
    values: dict[Facts, int] = {}

    def value(state: ggp.State) -> int:
        """What player 1 gets when both play perfectly."""
        if state.terms not in values:
            values[state.terms] = _best(state)
        return values[state.terms]

    def _best(state: ggp.State) -> int:
        if state.is_terminal:
            return state.goals["player1"] or 0
        maximising = "(control player1)" in state.facts
        role = "player1" if maximising else "player2"
        best = -1 if maximising else 101
        for move in state.legal_moves(role):
            reply = value(state.play({role: move}))
            best = max(best, reply) if maximising else min(best, reply)
            if best == (100 if maximising else 0):
                break
        return best

    assert value(game.initial_state) == 50
