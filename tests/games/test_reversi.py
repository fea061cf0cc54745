"""Game: reversi between black and white, sentence by sentence of the prose that describes it."""

from collections.abc import Collection
from random import Random

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, play_out, random_match, refused_as, state_of

Cell = tuple[int, int]
Discs = dict[Cell, str]

INDICES = range(1, 9)
CELLS = [(x, y) for x in INDICES for y in INDICES]
CENTRE = [(4, 4), (4, 5), (5, 4), (5, 5)]
DIRECTIONS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)]
OTHER = {"black": "white", "white": "black"}


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("reversi")


def position(game: ggp.Game, black: Collection[Cell], white: Collection[Cell], control: str = "black") -> ggp.State:
    discs = dict.fromkeys(black, "black") | dict.fromkeys(white, "white")
    cells = " ".join(f"(cell {x} {y} {role})" for (x, y), role in discs.items())
    return state_of(game, f"{cells} (control {control})")


def discs_of(state: ggp.State) -> Discs:
    cells = [fact.strip("()").split() for fact in state.facts if fact.startswith("(cell ")]
    return {(int(x), int(y)): role for _, x, y, role in cells}


def place(cell: Cell) -> str:
    return f"(place {cell[0]} {cell[1]})"


def flanked(discs: Discs, cell: Cell, role: str) -> set[Cell]:
    """The discs that a disc on this cell turns, found by walking in each direction."""
    turned: set[Cell] = set()
    for dx, dy in DIRECTIONS:
        run = []
        x, y = cell[0] + dx, cell[1] + dy
        while discs.get((x, y)) == OTHER[role]:
            run.append((x, y))
            x, y = x + dx, y + dy
        if discs.get((x, y)) == role:
            turned.update(run)
    return turned


def moves_by_hand(discs: Discs, role: str) -> set[str]:
    return {place(cell) for cell in CELLS if cell not in discs and flanked(discs, cell, role)}


def ray(cell: Cell, direction: Cell) -> list[Cell]:
    """The cells from here to the edge."""
    return [end for n in range(8) if (end := (cell[0] + n * direction[0], cell[1] + n * direction[1])) in CELLS]


def test_start(game: ggp.Game) -> None:
    """
    "Reversi is played on a board of eight by eight cells. Four discs lie in the centre at the start, two of each
    colour, those of a colour diagonally opposite: white's at d4 and e5, black's at e4 and d5."
    """
    assert discs_of(game.initial_state) == {(4, 4): "white", (5, 5): "white", (5, 4): "black", (4, 5): "black"}
    for outside in ("(place 0 1)", "(place 9 1)", "(place 1 9)", "(place 4 4)"):
        assert refused_as(game.initial_state, "black", outside) == "unknown"


def test_players_alternate(game: ggp.Game) -> None:
    """
    "Black begins, and the players take turns."
    """
    assert game.roles == ("black", "white")
    state = game.initial_state
    assert set(state.legal_moves("black")) == {place(cell) for cell in ((3, 4), (4, 3), (5, 6), (6, 5))}
    for step, (state, moves) in enumerate(random_match(game, seed=1)):
        on_turn, waiting = game.roles if step % 2 == 0 else reversed(game.roles)
        assert f"(control {on_turn})" in state.facts
        if moves:
            assert state.legal_moves(waiting) == ("noop",)


def test_only_empty_cells_that_flank(game: ggp.Game) -> None:
    """
    "Who is on turn places a disc on an empty cell, so that it flanks at least one disc of the opponent."
    """
    state = follow(game.initial_state, place((4, 3)))
    assert set(state.legal_moves("white")) == {place(cell) for cell in ((3, 3), (3, 5), (5, 3))}
    assert refused_as(state, "white", place((4, 3))) == "condition"
    assert refused_as(state, "white", place((1, 1))) == "condition"
    assert refused_as(state, "black", place((3, 3))) == "turn"
    assert refused_as(state, "white", "noop") == "condition"
    with pytest.raises(IllegalMoveError):
        state.play({"white": place((4, 3))})


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("role", ["black", "white"])
def test_what_flanking_is(game: ggp.Game, role: str, direction: Cell) -> None:
    """
    "Discs are flanked that lie in a straight line, a row, column or diagonal, without a gap between the new disc and
    another of its colour. All discs flanked are turned over and so change their colour."
    """
    for cell in CELLS:
        line = ray(cell, direction)
        for length in range(2, len(line)):
            if cell in CENTRE:
                continue
            own, turned = line[length], line[1:length]
            discs = {role: [own], OTHER[role]: turned}
            state = position(game, discs["black"], discs["white"], role)
            assert place(cell) in state.legal_moves(role)
            after = follow(state, place(cell))
            assert discs_of(after) == dict.fromkeys(line[: length + 1], role)
            discs[role] = []
            assert place(cell) not in position(game, discs["black"], discs["white"], role).legal_moves(role)
            discs = {role: [own], OTHER[role]: turned[:-1]}
            assert place(cell) not in position(game, discs["black"], discs["white"], role).legal_moves(role)


def test_all_directions_at_once(game: ggp.Game) -> None:
    """
    "All discs flanked are turned over", in all directions, but none beyond the first of one's own.
    """
    cell = (4, 3)
    lines = [ray(cell, direction)[1:3] for direction in DIRECTIONS]
    beyond = [(4, 6), (7, 3)]
    black = [line[1] for line in lines]
    state = position(game, black, [line[0] for line in lines] + beyond)
    after = discs_of(follow(state, place(cell)))
    assert {disc for disc, role in after.items() if role == "white"} == set(beyond)
    assert {disc for disc, role in after.items() if role == "black"} == {cell, *black, *(line[0] for line in lines)}


def test_turned_discs_turn_no_others(game: ggp.Game) -> None:
    """
    "between the new disc and another of its colour": discs that are turned over flank nothing themselves.
    """
    state = position(game, [(6, 1), (3, 4)], [(4, 1), (5, 1), (3, 3), (4, 2)])
    after = discs_of(follow(state, place((3, 1))))
    assert after == {
        (3, 1): "black",
        (4, 1): "black",
        (5, 1): "black",
        (6, 1): "black",
        (3, 3): "white",
        (4, 2): "white",
        (3, 4): "black",
    }


def test_random_states(game: ggp.Game) -> None:
    """
    The sentences on moves together: the legal moves and their effects by walking over the board.
    """
    for seed in range(5):
        for step, (state, moves) in enumerate(random_match(game, seed)):
            role = game.roles[step % 2]
            discs = discs_of(state)
            possible = moves_by_hand(discs, role)
            assert state.is_terminal == (not possible and not moves_by_hand(discs, OTHER[role]))
            if not moves:
                break
            assert set(state.legal_moves(role)) == (possible or {"noop"})
            if moves[role] != "noop":
                _, x, y = moves[role].strip("()").split()
                cell = (int(x), int(y))
                discs |= dict.fromkeys(flanked(discs, cell, role) | {cell}, role)
            assert discs_of(state.play(moves)) == discs


def test_passing(game: ggp.Game) -> None:
    """
    "Who cannot place a disc passes, and then the opponent is on turn again; nobody may pass who can place one."
    """
    state = position(game, [(1, 1)], [(2, 1), (8, 8)], "white")
    assert not state.is_terminal
    assert state.legal_moves("white") == ("noop",)
    assert state.legal_moves("black") == ("noop",)
    after = state.play({"white": "noop", "black": "noop"})
    assert set(after.facts) ^ set(state.facts) == {"(control white)", "(control black)"}
    assert after.legal_moves("black") == (place((3, 1)),)


def test_the_shortest_match(game: ggp.Game) -> None:
    """
    "The match ends when neither player can place a disc", even if there are empty cells: white has no disc left after
    nine steps.
    """
    cells = [(5, 6), (6, 4), (5, 3), (4, 6), (3, 5), (6, 6), (5, 7), (6, 5), (7, 5)]
    state = game.initial_state
    for cell in cells:
        assert not state.is_terminal
        state = follow(state, place(cell))
    assert set(discs_of(state).values()) == {"black"}
    assert state.is_terminal
    assert state.goals == {"black": 100, "white": 0}


def test_a_full_board_ends_the_match(game: ggp.Game) -> None:
    """
    "The match ends when neither player can place a disc", at the latest when the board is full.
    """
    assert position(game, CELLS[:40], CELLS[40:]).is_terminal
    assert len(discs_of(play_out(game, 1))) <= 64


def test_more_discs_win(game: ggp.Game) -> None:
    """
    "Then the player with more discs on the board wins; with equal numbers it is a draw."
    """
    for black in (0, 1, 31, 32, 33, 48, 64):
        goals = position(game, CELLS[:black], CELLS[black:]).goals
        assert goals["black"] == (100 if black > 32 else 50 if black == 32 else 0)
        assert goals["white"] == 100 - goals["black"]
    random = Random(1)
    for _ in range(200):
        cells = random.sample(CELLS, random.randrange(65))
        cut = random.choice([random.randrange(len(cells) + 1), len(cells) // 2])
        black, white = cut, len(cells) - cut
        goals = position(game, cells[:cut], cells[cut:], random.choice(game.roles)).goals
        expected = 100 if black > white else 50 if black == white else 0
        assert goals == {"black": expected, "white": 100 - expected}
