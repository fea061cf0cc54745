"""Game: breakthrough between white and black, sentence by sentence of the prose that describes it."""

from collections.abc import Collection, Iterator
from random import Random

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, random_match, refused_as, state_of

Cell = tuple[int, int]

INDICES = range(1, 9)
CELLS = [(x, y) for x in INDICES for y in INDICES]
OTHER = {"white": "black", "black": "white"}
ONWARD = {"white": 1, "black": -1}


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("breakthrough")


def position(game: ggp.Game, white: Collection[Cell], black: Collection[Cell], control: str = "white") -> ggp.State:
    pieces = dict.fromkeys(white, "white") | dict.fromkeys(black, "black")
    cells = " ".join(f"(cell {x} {y} {role})" for (x, y), role in pieces.items())
    return state_of(game, f"{cells} (control {control})")


def pieces_of(state: ggp.State) -> dict[Cell, str]:
    cells = [fact.strip("()").split() for fact in state.facts if fact.startswith("(cell ")]
    return {(int(x), int(y)): role for _, x, y, role in cells}


def move(start: Cell, end: Cell) -> str:
    return f"(move {start[0]} {start[1]} {end[0]} {end[1]})"


def moves_by_hand(pieces: dict[Cell, str], role: str) -> Iterator[str]:
    for (x, y), owner in pieces.items():
        for x2 in (x - 1, x, x + 1):
            end = (x2, y + ONWARD[role])
            blocked = pieces.get(end) is not None if x2 == x else pieces.get(end) == role
            if owner == role and end in CELLS and not blocked:
                yield move((x, y), end)


def test_start(game: ggp.Game) -> None:
    """
    "Breakthrough is played on a board of eight by eight cells; white has its sixteen pieces on the two lowest rows,
    black on the two highest."
    """
    state = game.initial_state
    assert {cell for cell, role in pieces_of(state).items() if role == "white"} == {
        (x, y) for x in INDICES for y in (1, 2)
    }
    assert {cell for cell, role in pieces_of(state).items() if role == "black"} == {
        (x, y) for x in INDICES for y in (7, 8)
    }
    assert len(state.facts) == 33


def test_players_alternate(game: ggp.Game) -> None:
    """
    "White begins, and the players take turns moving one piece."
    """
    assert game.roles == ("white", "black")
    for step, (state, moves) in enumerate(random_match(game, seed=1)):
        on_turn, waiting = game.roles if step % 2 == 0 else reversed(game.roles)
        assert f"(control {on_turn})" in state.facts
        if moves:
            assert moves[on_turn].startswith("(move ")
            assert state.legal_moves(waiting) == ("noop",)
            assert refused_as(state, on_turn, "noop") == "condition"


def test_one_step_onward(game: ggp.Game) -> None:
    """
    "A piece moves one cell, straight or diagonally onward, never sideways or backward."
    """
    for role in game.roles:
        for start in CELLS[8:-8]:
            if start[1] in (1, 8):
                continue
            rest = (1, 8) if role == "white" else (8, 1)
            pieces = {role: [start], OTHER[role]: [rest]}
            state = position(game, pieces["white"], pieces["black"], role)
            ends = [(start[0] + dx, start[1] + ONWARD[role]) for dx in (-1, 0, 1)]
            expected = {move(start, end) for end in ends if end in CELLS and (end != rest or end[0] != start[0])}
            assert set(state.legal_moves(role)) == expected


def test_the_board_has_an_edge(game: ggp.Game) -> None:
    """
    "A piece moves one cell": in the outer columns there is only one diagonal.
    """
    state = position(game, [(1, 3), (8, 3)], [(4, 8)])
    assert set(state.legal_moves("white")) == {move((1, 3), (x, 4)) for x in (1, 2)} | {
        move((8, 3), (x, 4)) for x in (7, 8)
    }
    for outside in ("(move 1 3 0 4)", "(move 8 3 9 4)", "(move 8 3 1 4)", "(move 1 8 1 9)"):
        assert refused_as(state, "white", outside) == "unknown"


def test_straight_only_to_an_empty_cell(game: ggp.Game) -> None:
    """
    "Straight on, the cell must be empty: a piece in front, of whatever colour, blocks the way."
    """
    for white, black in (([(4, 4), (4, 5)], [(1, 8)]), ([(4, 4)], [(4, 5)])):
        state = position(game, white, black)
        assert refused_as(state, "white", "(move 4 4 4 5)") == "condition"
        with pytest.raises(IllegalMoveError):
            state.play({"white": "(move 4 4 4 5)"})
    assert refused_as(position(game, [(4, 4)], [(4, 5)], "black"), "black", "(move 4 5 4 4)") == "condition"


def test_beating(game: ggp.Game) -> None:
    """
    "Diagonally the cell may be empty or hold a piece of the opponent, which is beaten and leaves the board; a piece of
    one's own blocks the way."
    """
    state = position(game, [(4, 4), (5, 5)], [(3, 5), (4, 5)])
    assert set(state.legal_moves("white")) == {move((4, 4), (3, 5))} | {move((5, 5), (x, 6)) for x in (4, 5, 6)}
    after = follow(state, move((4, 4), (3, 5)))
    assert pieces_of(after) == {(3, 5): "white", (5, 5): "white", (4, 5): "black"}
    answer = follow(position(game, [(4, 4), (5, 5)], [(3, 5), (4, 5)], "black"), move((3, 5), (4, 4)))
    assert pieces_of(answer) == {(4, 4): "black", (5, 5): "white", (4, 5): "black"}


def test_beating_is_free(game: ggp.Game) -> None:
    """
    "Nobody has to beat."
    """
    state = position(game, [(4, 4)], [(3, 5)])
    assert set(state.legal_moves("white")) == {move((4, 4), (x, 5)) for x in (3, 4, 5)}


def test_all_moves_of_random_states(game: ggp.Game) -> None:
    """
    The sentences on moves together, and what a move changes: a piece goes from one cell to another.
    """
    for seed in range(5):
        for step, (state, moves) in enumerate(random_match(game, seed)):
            if not moves:
                break
            role = game.roles[step % 2]
            pieces = pieces_of(state)
            assert set(state.legal_moves(role)) == set(moves_by_hand(pieces, role))
            x1, y1, x2, y2 = map(int, moves[role].strip("()").split()[1:])
            del pieces[x1, y1]
            assert pieces_of(state.play(moves)) == pieces | {(x2, y2): role}


@pytest.mark.parametrize("column", INDICES)
def test_the_far_row_wins(game: ggp.Game, column: int) -> None:
    """
    "Who first brings a piece to the far row wins."
    """
    beside = column - 1 if column > 1 else 2
    before = position(game, [(column, 7)], [(beside, 8)])
    assert not before.is_terminal
    assert before.goals == {"white": 50, "black": 50}
    after = follow(before, move((column, 7), (column, 8)))
    assert after.is_terminal
    assert after.goals == {"white": 100, "black": 0}
    after = follow(position(game, [(beside, 1)], [(column, 2)], "black"), move((column, 2), (column, 1)))
    assert after.is_terminal
    assert after.goals == {"white": 0, "black": 100}


def test_the_own_first_row_does_not_win(game: ggp.Game) -> None:
    """
    "to the far row": pieces on the row where they start are no reason to end.
    """
    assert not position(game, [(1, 1)], [(8, 8)]).is_terminal


def test_the_last_piece(game: ggp.Game) -> None:
    """
    "Who has lost all pieces loses."
    """
    after = follow(position(game, [(4, 4), (1, 1)], [(5, 5)]), move((4, 4), (5, 5)))
    assert after.is_terminal
    assert after.goals == {"white": 100, "black": 0}
    after = follow(position(game, [(4, 4)], [(5, 5), (8, 8)], "black"), move((5, 5), (4, 4)))
    assert after.is_terminal
    assert after.goals == {"white": 0, "black": 100}


def test_no_draw(game: ggp.Game) -> None:
    """
    "There are no draws": whoever has pieces has a move, and every match has a winner.
    """
    random = Random(1)
    for _ in range(200):
        cells = random.sample([cell for cell in CELLS if 1 < cell[1] < 8], random.randrange(2, 33))
        cut = random.randrange(1, len(cells))
        for role in game.roles:
            assert position(game, cells[:cut], cells[cut:], role).legal_moves(role)
    for seed in range(10):
        *_, (state, _) = random_match(game, seed)
        assert set(state.goals.values()) == {0, 100}
