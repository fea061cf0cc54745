"""Values of games that are known from theory or the literature, proven by our own search."""

from functools import reduce
from operator import xor

import pytest

import ggp
from ggp.families import generate
from tests.games.helpers import follow
from tests.games.models import MODELS

SECONDS = 60.0


def value_of(rules: str) -> float:
    """What the first role has from the initial state; the search stops as soon as that is proven."""
    game = ggp.load_text(rules, "member", "circuit")
    found = ggp.analyse(game.initial_state, seconds=SECONDS)
    assert found.is_solved
    value = found.lines[0].goals[game.roles[0]]
    assert value is not None
    return value


@pytest.mark.slow
@pytest.mark.parametrize("heaps", ["1", "1,1", "1,2,3", "1,3,5,7", "2,4,6", "2,3,4", "1,4,5", "3,4,5"])
def test_nim_is_won_unless_the_heaps_add_up_to_nothing(heaps: str) -> None:
    """Bouton 1901: addition without carrying."""
    total = reduce(xor, map(int, heaps.split(",")))
    assert value_of(generate("nim", {"heaps": heaps}).rules) == (100 if total else 0)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (2, 5), (3, 3), (4, 3), (5, 4), (7, 4)])
def test_chomp_is_won_by_who_begins(columns: int, rows: int) -> None:
    assert value_of(generate("chomp", {"columns": columns, "rows": rows}).rules) == 100


@pytest.mark.slow
def test_chomp_with_one_piece_is_lost_by_who_begins() -> None:
    assert value_of(generate("chomp", {"columns": 1, "rows": 1}).rules) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("size", "value"), [(2, 100), (3, 100), (4, 100), (5, 0)])
def test_domineering_on_small_squares(size: int, value: int) -> None:
    """Breuker, Uiterwijk and van den Herik 2000: on 5 by 5 the second role wins."""
    assert value_of(generate("domineering", {"columns": size, "rows": size}).rules) == value


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (5, 4), (4, 5)])
def test_connect_four_on_small_boards_is_a_draw(columns: int, rows: int) -> None:
    """Tromp, John's Connect Four Playground: the table of values by width and height."""
    assert value_of(generate("connectfour", {"columns": columns, "rows": rows}).rules) == 50


@pytest.mark.slow
def test_two_by_two_boxes_are_won_by_who_begins() -> None:
    assert value_of(generate("boxes", {"columns": 2, "rows": 2}).rules) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["eightpuzzle", "fifteenpuzzle", "hanoi", "knightstour5", "lightsout", "maze", "meetstrategies", "nonogram",
     "pancakes", "pegsolitaire", "queens", "rubik2", "rushhour", "sokoban1", "sokoban2", "sokoban3", "sudoku4"],
)  # fmt: skip
def test_our_search_solves_puzzles(name: str) -> None:
    game = ggp.load(name, "circuit")
    found = ggp.analyse(game.initial_state, seconds=SECONDS)
    assert found.is_solved
    assert found.lines[0].goals == {game.roles[0]: 100}
    assert len(found.lines[0].steps) >= game.metadata.truths["shortest"]


def test_a_tour_of_the_large_board_by_the_rule_of_warnsdorff() -> None:
    """Leap to where fewest leaps go on; the tie is broken by the order of the moves."""
    model = MODELS["knightstour"](columns=8, rows=8)
    state, path = model.start, []
    while not model.is_solved(state):
        move, state = min(model.moves(state), key=lambda way: sum(1 for _ in model.moves(way[1])))
        path.append(move)
    game = ggp.load("knightstour", "interpreter")
    end = follow(game.initial_state, *path)
    assert end.is_terminal
    assert end.goals == {"solver": 100}


def test_the_solution_of_the_sudoku() -> None:
    game = ggp.load("sudoku", "interpreter")
    solution = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
    givens = game.metadata.family["parameters"]["givens"]
    moves = [f"(fill {at % 9 + 1} {at // 9 + 1} {solution[at]})" for at in range(81) if givens[at] == "0"]
    end = follow(game.initial_state, *moves)
    assert end.is_terminal
    assert end.goals == {"solver": 100}
