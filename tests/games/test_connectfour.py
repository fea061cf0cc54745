"""Game: connect four between red and yellow, sentence by sentence of the prose that describes it."""

from collections.abc import Collection

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, random_match, refused_as, state_of

Cell = tuple[int, int]

CELLS = [(x, y) for x in range(1, 8) for y in range(1, 7)]
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
DRAWN_MATCH = "441365675334466335442232661515577771217122"  # the columns, one a step
WON_BY_THE_LAST_DISC = "733651575511722656534266327317322716144444"
DROPS = tuple(f"(drop {x})" for x in range(1, 8))


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("connectfour")


def runs(length: int) -> list[list[Cell]]:
    """All contiguous cells of this number in a row, column or diagonal."""
    found = [[(x + dx * n, y + dy * n) for n in range(length)] for x, y in CELLS for dx, dy in DIRECTIONS]
    return [cells for cells in found if cells[-1] in CELLS]


def position(
    game: ggp.Game, moved: Collection[Cell], other: Collection[Cell] = (), control: str = "yellow"
) -> ggp.State:
    """The state with the discs of the role that has just moved and of the role in control."""
    has_moved = "red" if control == "yellow" else "yellow"
    discs = dict.fromkeys(moved, has_moved) | dict.fromkeys(other, control)
    cells = " ".join(f"(cell {x} {y} {role})" for (x, y), role in discs.items())
    return state_of(game, f"{cells} (control {control})")


def test_board(game: ggp.Game) -> None:
    """
    "Connect four is played on an upright board of seven columns with six cells each, which is empty at the start."
    """
    assert game.initial_state.facts == ("(control red)",)
    assert game.initial_state.legal_moves("red") == DROPS
    for outside in ("(drop 0)", "(drop 8)", "(drop 1 1)", "drop"):
        assert refused_as(game.initial_state, "red", outside) == "unknown"


def test_players_alternate(game: ggp.Game) -> None:
    """
    "Two players, red and yellow, take turns, and red begins."
    """
    assert game.roles == ("red", "yellow")
    for step, (state, moves) in enumerate(random_match(game, seed=1)):
        on_turn, waiting = game.roles if step % 2 == 0 else reversed(game.roles)
        assert f"(control {on_turn})" in state.facts
        if moves:
            assert moves[on_turn].startswith("(drop ")
            assert state.legal_moves(waiting) == ("noop",)
            assert refused_as(state, waiting, "(drop 1)") == "turn"
            assert refused_as(state, on_turn, "noop") == "condition"


def test_a_disc_falls(game: ggp.Game) -> None:
    """
    "Who is on turn drops a disc of the own colour into a column, where it falls down to the bottom or on the disc
    that was dropped there last."
    """
    state = game.initial_state
    for x in (3, 7, 1):
        for y in range(1, 7):
            role = game.roles[(y + 1) % 2]
            after = follow(state, f"(drop {x})")
            assert set(after.facts) - set(state.facts) >= {f"(cell {x} {y} {role})"}
            assert set(after.facts) ^ set(state.facts) == {
                f"(cell {x} {y} {role})",
                "(control red)",
                "(control yellow)",
            }
            state = after


def test_a_full_column_takes_no_disc(game: ggp.Game) -> None:
    """
    "A column with six discs is full and takes no more."
    """
    state = follow(game.initial_state, *["(drop 4)"] * 5)
    assert "(drop 4)" in state.legal_moves("yellow")
    state = follow(state, "(drop 4)")
    assert state.legal_moves("red") == tuple(move for move in DROPS if move != "(drop 4)")
    assert refused_as(state, "red", "(drop 4)") == "condition"
    with pytest.raises(IllegalMoveError):
        state.play({"red": "(drop 4)"})


@pytest.mark.parametrize("control", ["red", "yellow"])
def test_four_in_a_line_win(game: ggp.Game, control: str) -> None:
    """
    "The first player with four discs in a row, column or diagonal, without a gap between them, wins the match."
    """
    lines = runs(4)
    assert len(lines) == 24 + 21 + 12 + 12
    winner, loser = ("red", "yellow") if control == "yellow" else ("yellow", "red")
    for line in lines:
        state = position(game, line, control=control)
        assert state.is_terminal
        assert state.goals == {winner: 100, loser: 0}
        for gap in line:
            rest = [cell for cell in line if cell != gap]
            assert not position(game, rest, control=control).is_terminal
            assert not position(game, rest, [gap], control).is_terminal


def test_a_line_with_a_gap_or_round_the_edge_is_none(game: ggp.Game) -> None:
    """
    "in a row, column or diagonal, without a gap between them"
    """
    for line in runs(5):
        for gap in line[1:-1]:
            assert not position(game, [cell for cell in line if cell != gap]).is_terminal
    assert not position(game, [(6, 1), (7, 1), (1, 1), (2, 1)]).is_terminal
    assert not position(game, [(6, 1), (7, 1), (1, 2), (2, 2)]).is_terminal
    assert not position(game, [(1, 5), (1, 6), (2, 1), (2, 2)]).is_terminal


def test_a_longer_line_wins(game: ggp.Game) -> None:
    """
    "four discs in a row": a line of five, six or seven holds four.
    """
    for length in (5, 6, 7):
        for line in runs(length):
            assert position(game, line).goals == {"red": 100, "yellow": 0}


def test_the_first_line_ends_the_match(game: ggp.Game) -> None:
    """
    "The first player with four discs in a row … wins the match."
    """
    state = follow(game.initial_state, *["(drop 1)", "(drop 2)"] * 3)
    assert not state.is_terminal
    assert state.goals == {"red": 50, "yellow": 50}
    red_first = follow(state, "(drop 1)")
    assert red_first.is_terminal
    assert red_first.goals == {"red": 100, "yellow": 0}
    yellow_first = follow(state, "(drop 7)", "(drop 2)")
    assert yellow_first.is_terminal
    assert yellow_first.goals == {"red": 0, "yellow": 100}


def played(game: ggp.Game, columns: str) -> tuple[ggp.State, ggp.State]:
    """The last two states of a match that fills the board."""
    assert len(columns) == 42
    before = follow(game.initial_state, *(f"(drop {x})" for x in columns[:-1]))
    return before, follow(before, f"(drop {columns[-1]})")


def test_a_full_board_is_a_draw(game: ggp.Game) -> None:
    """
    "If the board is full and nobody has such a line, the match is a draw."
    """
    before, state = played(game, DRAWN_MATCH)
    assert not before.is_terminal
    assert before.legal_moves("yellow") == ("(drop 2)",)
    assert state.is_terminal
    assert state.goals == {"red": 50, "yellow": 50}


def test_a_line_made_by_the_last_disc_wins(game: ggp.Game) -> None:
    """
    "If the board is full and nobody has such a line": a full board with a line is no draw.
    """
    before, state = played(game, WON_BY_THE_LAST_DISC)
    assert not before.is_terminal
    assert state.is_terminal
    assert state.goals == {"red": 0, "yellow": 100}


def test_discs_stay(game: ggp.Game) -> None:
    """
    "A disc that has been dropped stays where it is."
    """
    for seed in range(5):
        before: set[str] = set()
        for number, (state, _) in enumerate(random_match(game, seed)):
            cells = {fact for fact in state.facts if fact.startswith("(cell ")}
            assert len(cells) == number
            assert before <= cells
            before = cells
