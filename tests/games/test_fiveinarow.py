"""Game: five in a row between x and o, sentence by sentence of the prose that describes it."""

from collections.abc import Collection
from random import Random

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, random_match, refused_as, state_of

LETTERS = "abcdefgh"
CELLS = [(x, y) for x in LETTERS for y in LETTERS]
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("fiveinarow")


def run(column: int, row: int, direction: tuple[int, int], length: int) -> list[tuple[str, str]]:
    """Contiguous cells from a cell on, or none where the board is too small."""
    places = [(column + direction[0] * step, row + direction[1] * step) for step in range(length)]
    if not all(0 <= x < 8 and 0 <= y < 8 for x, y in places):
        return []
    return [(LETTERS[x], LETTERS[y]) for x, y in places]


def runs(length: int) -> list[list[tuple[str, str]]]:
    found = [run(column, row, direction, length) for column in range(8) for row in range(8) for direction in DIRECTIONS]
    return [cells for cells in found if cells]


def position(game: ggp.Game, x: Collection[tuple[str, str]], o: Collection[tuple[str, str]] = ()) -> ggp.State:
    marks = dict.fromkeys(x, "x") | dict.fromkeys(o, "o")
    cells = " ".join(f"(cell {cell[0]} {cell[1]} {marks.get(cell, 'b')})" for cell in CELLS)
    return state_of(game, f"{cells} (control x)")


def full_board_without_a_line() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The cells of x and those of o: pairs of columns, shifted in every second pair of rows."""
    x = [(a, b) for i, a in enumerate(LETTERS) for j, b in enumerate(LETTERS) if (i // 2 + j) % 2 == 0]
    return x, [cell for cell in CELLS if cell not in x]


def test_grid(game: ggp.Game) -> None:
    """
    "This game takes place on an 8x8 grid defined by the coordinates a through h along both the horizontal (x) and
    vertical (y) axes, forming a square board with cells identified by pairs such as (a,a), (b,c), and so forth."
    """
    assert game.initial_state.legal_moves("x") == tuple(f"(mark {x} {y})" for x, y in CELLS)
    assert len(CELLS) == 64


def test_players_alternate(game: ggp.Game) -> None:
    """
    "There are two players, designated as "x" and "o," who alternate turns, with player "x" starting the game initially
    in control."
    """
    assert game.roles == ("x", "o")
    assert "(control x)" in game.initial_state.facts
    for step, (state, moves) in enumerate(random_match(game, seed=1)):
        assert f"(control {'xo'[step % 2]})" in state.facts
        if moves:
            assert moves["xo"[step % 2]].startswith("(mark ")


def test_start(game: ggp.Game) -> None:
    """
    "Each cell on the board begins in an unoccupied state, marked by "b" for blank, and initially, every cell is
    blank."
    """
    assert game.initial_state.facts == (*(f"(cell {x} {y} b)" for x, y in CELLS), "(control x)")


def test_a_player_claims_one_empty_cell(game: ggp.Game) -> None:
    """
    "On a player's turn, they may perform an action to mark a single empty cell with their symbol ("x" or "o"), thereby
    claiming that position."
    "The state updates by changing the marked cell from blank to the player's symbol, while all other cells remain as
    they were unless marked anew."
    """
    state = game.initial_state
    for x, y in CELLS:
        after = follow(state, f"(mark {x} {y})")
        changed = {f"(cell {x} {y} b)", f"(cell {x} {y} x)", "(control x)", "(control o)"}
        assert set(after.facts) ^ set(state.facts) == changed
    answer = follow(state, "(mark a b)", "(mark b a)")
    assert {"(cell a b x)", "(cell b a o)", "(control x)"} <= set(answer.facts)


def test_format_and_legality_of_a_mark(game: ggp.Game) -> None:
    """
    "The format of an action is a mark command specifying the coordinates of the cell the player wishes to claim, and
    this move is legal only if the cell is currently blank and it is the acting player's turn."
    """
    state = follow(game.initial_state, "(mark d e)")
    assert refused_as(state, "o", "(mark e d)") is None
    assert refused_as(state, "o", "(mark d e)") == "condition"
    assert refused_as(state, "x", "(mark e d)") == "turn"
    for other_format in ("(mark d)", "mark", "(mark d e x)", "(claim d f)"):
        assert refused_as(state, "o", other_format) == "unknown"


def test_noop(game: ggp.Game) -> None:
    """
    "Alternatively, if it is not a player's turn, their only legal action is a noop, representing a pass or no
    operation."
    """
    state = game.initial_state
    assert state.legal_moves("o") == ("noop",)
    assert "noop" not in state.legal_moves("x")
    assert follow(state, "(mark a a)").legal_moves("x") == ("noop",)


def test_control_passes(game: ggp.Game) -> None:
    """
    "After a player marks a cell, control passes to the other player automatically."
    """
    state = follow(game.initial_state, "(mark a a)")
    assert "(control o)" in state.facts
    assert "(control x)" in follow(state, "(mark a b)").facts


def test_marks_stay_inside_and_one_to_a_cell(game: ggp.Game) -> None:
    """
    "The board's boundaries are implicitly enforced, as only coordinates from a to h are valid, and no cell may be
    occupied by more than one mark."
    """
    state = follow(game.initial_state, "(mark a a)")
    for outside in ("(mark a i)", "(mark i a)", "(mark 1 1)", "(mark a x)"):
        assert refused_as(state, "o", outside) == "unknown"
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"o": "(mark a a)"})
    assert "(true (cell a a b))" in refused.value.reason


def test_five_end_the_match(game: ggp.Game) -> None:
    """
    "The game ends when either player achieves a line of exactly five of their own marks consecutively in any row,
    column, or along either of the two diagonal directions, or when no empty cells remain on the board, resulting in a
    terminal state."
    "A line of five is defined by five contiguous cells along one of these directions, with each adjacent pair of cells
    connected by their sequential coordinates (e.g., a to b, b to c, etc.)."
    """
    lines = runs(5)
    assert len(lines) == 32 + 32 + 16 + 16
    for number, line in enumerate(lines):
        x, o = (line, []) if number % 2 == 0 else ([], line)
        assert position(game, x, o).is_terminal
        for gap in line:
            assert not position(game, [cell for cell in line if cell != gap]).is_terminal
        foreign = line[number % 5]
        assert not position(game, [cell for cell in line if cell != foreign], [foreign]).is_terminal


def test_four_apart_from_a_fifth_do_not_end_the_match(game: ggp.Game) -> None:
    """
    "five contiguous cells": five on six cells with a gap are no line, and no line goes round the edge.
    """
    for line in runs(6)[::3]:
        assert not position(game, [*line[:3], *line[4:]]).is_terminal
    wrapped = [("g", "a"), ("h", "a"), ("a", "b"), ("b", "b"), ("c", "b")]
    assert not position(game, wrapped).is_terminal
    assert not position(game, [(x, "a") for x in "fghab"]).is_terminal


def test_a_line_of_six_holds_a_line_of_five(game: ggp.Game) -> None:
    """
    "a line of exactly five of their own marks": a longer line holds five contiguous cells, which are a line of five.
    """
    for length in (6, 7, 8):
        line = runs(length)[0]
        assert position(game, line).is_terminal
        assert position(game, line).goals == {"x": 100, "o": 0}
    six = [("a", "d"), ("b", "d"), ("d", "d"), ("e", "d"), ("f", "d")]
    before = position(game, six, [("a", "a"), ("b", "a"), ("c", "a"), ("d", "a"), ("f", "h")])
    assert not before.is_terminal
    after = follow(before, "(mark c d)")
    assert after.is_terminal
    assert after.goals == {"x": 100, "o": 0}


def test_a_full_board_ends_the_match(game: ggp.Game) -> None:
    """
    "or when no empty cells remain on the board, resulting in a terminal state."
    "If no such line exists and the board is full, both players receive a score of 50 points, indicating a draw or
    stalemate."
    """
    x, o = full_board_without_a_line()
    assert len(x) == len(o) == 32
    random = Random(1)
    random.shuffle(x)
    random.shuffle(o)
    state = game.initial_state
    for cells in zip(x, o, strict=True):
        for a, b in cells:
            assert not state.is_terminal
            state = follow(state, f"(mark {a} {b})")
    assert state.is_terminal
    assert state.goals == {"x": 50, "o": 50}


def test_the_first_five_in_a_row_win(game: ggp.Game) -> None:
    """
    "Victory is awarded to the player who first forms such a five-in-a-row line, granting them a perfect score of 100
    points, while the opponent receives zero."
    """
    state = game.initial_state
    for step in range(4):
        state = follow(state, f"(mark {'abcd'[step]} a)", f"(mark {'abcd'[step]} b)")
        assert not state.is_terminal
        assert state.goals == {"x": 50, "o": 50}
    x_first = follow(state, "(mark e a)")
    assert x_first.is_terminal
    assert x_first.goals == {"x": 100, "o": 0}
    o_first = follow(state, "(mark h h)", "(mark e b)")
    assert o_first.is_terminal
    assert o_first.goals == {"x": 0, "o": 100}


def test_a_line_made_by_the_last_mark_wins(game: ggp.Game) -> None:
    """
    "If no such line exists and the board is full": a full board with a line is no draw.
    """
    x, o = full_board_without_a_line()
    line = [(letter, "d") for letter in "cdefg"]
    state = position(game, [*x, *line], [cell for cell in o if cell not in line])
    assert state.is_terminal
    assert state.goals == {"x": 100, "o": 0}
