"""Clicks: moves → the cells that are clicked for them."""

import pytest

import ggp
from ggp.boards import Layout, Spot, find_layout, move_cells
from ggp.gdl.reader import read_term
from ggp.gdl.terms import to_text
from tests.boards import shipped
from tests.boards.test_layout import LINES, NUMBERS


def layout_of(text: str) -> Layout:
    game = ggp.load_text(text, engine="interpreter")
    return find_layout(game.rulesheet, game.machine)


def clicks(layout: Layout, move: str) -> list[list[str]]:
    return [sorted(map(str, spots)) for spots in move_cells(layout, read_term(move))]


@pytest.mark.parametrize(
    ("game", "move", "cells"),
    [
        ("tictactoe", "(mark 2 3)", [["2 3"]]),
        ("tictactoe", "noop", []),
        ("tictactoe", "(mark 2 4)", []),
        ("tictactoe", "(unheard of)", []),
        ("breakthrough", "(move 1 2 1 3)", [["1 2"], ["1 3"]]),
        ("connectfour", "(drop 4)", [["4 1", "4 2", "4 3", "4 4", "4 5", "4 6"]]),
        ("dotsandboxes", "(draw 1 1 1 2)", [["1 1"], ["1 2"]]),
        ("biddingtictactoe", "(mark 1 3)", [["1 3"]]),
        ("biddingtictactoe", "(bid 3 no_tiebreaker)", []),
        ("reversi", "(place 3 4)", [["3 4"]]),
    ],
)
def test_shipped_games(game: str, move: str, cells: list[list[str]]) -> None:
    assert clicks(shipped.layout_of(game), move) == cells


@pytest.mark.parametrize("name", ["breakthrough", "connectfour", "dotsandboxes", "fiveinarow", "reversi"])
def test_each_move_of_a_board_game_has_clicks_of_its_own(name: str) -> None:
    game, layout = shipped.game_of(name), shipped.layout_of(name, has_hints=False)
    cells = {str(Spot(board.name, place)) for board in layout.boards for place in board.places}
    legal = {
        to_text(move) for role in game.roles for move in game.machine.legal_moves(game.machine.initial_state, role)
    }
    found = {move: clicks(layout, move) for move in legal if move.startswith("(")}
    assert len(found) >= 4
    assert all(spots and set(spots) <= cells for chosen in found.values() for spots in chosen)
    assert len({str(chosen) for chosen in found.values()} - {"[]"}) == len(found)


MARKS = """
(role a) (init (turn a)) {numbers} (letter d) (letter e) (letter f)
(<= (init (at ?i ?j b)) (number ?i) (letter ?j))
(<= (legal a (mark {move})) (true (at ?i ?j b)))
(<= (next (at ?i ?j x)) (does a (mark {move})))
(<= (next (at ?i ?j ?p)) (true (at ?i ?j ?p)) (not (does a (mark {move}))))
(<= terminal never) (goal a 0)
"""


@pytest.mark.parametrize(("move", "text"), [("?i ?j", "(mark 2 e)"), ("?j ?i", "(mark e 2)")])
def test_the_coordinates_of_a_move_may_be_the_other_way_round(move: str, text: str) -> None:
    rules = MARKS.format(numbers=NUMBERS, move=move)
    expected = [["2 e"]] if move == "?i ?j" else []
    assert clicks(layout_of(rules), text) == expected  # letters and numbers cannot be confused …
    same = rules.replace("(letter d) (letter e) (letter f)", "(letter 1) (letter 2) (letter 3)")
    assert clicks(layout_of(same), "(mark 1 3)") == [
        ["1 3" if move == "?i ?j" else "3 1"]
    ]  # … but two sets of numbers can


def test_other_arguments_are_ignored() -> None:
    rules = MARKS.format(numbers=NUMBERS, move="?p ?i ?j").replace("(at ?i ?j b)))", "(at ?i ?j b)) (sign ?p))")
    assert clicks(layout_of(f"{rules} (sign big) (sign small)"), "(mark big 1 d)") == [["1 d"]]


TWO = """
(role a) (number 1) (number 2) (number 3)
(<= (init (left ?i ?j b)) (number ?i) (number ?j)) (<= (init (right ?i ?j b)) (number ?i) (number ?j))
(<= (legal a (both ?i ?j ?k ?l)) (true (left ?i ?j b)) (true (right ?k ?l b)))
(<= (next (left ?i ?j x)) (does a (both ?i ?j ?k ?l))) (<= (next (right ?k ?l x)) (does a (both ?i ?j ?k ?l)))
(<= (next (left ?i ?j ?p)) (true (left ?i ?j ?p)) (not (does a (both ?i ?j 1 1))))
(<= (next (right ?i ?j ?p)) (true (right ?i ?j ?p)) (not (does a (both 1 1 ?i ?j))))
(<= terminal never) (goal a 0)
"""


def test_a_move_on_two_boards_has_a_click_on_each() -> None:
    assert clicks(layout_of(TWO), "(both 1 2 3 3)") == [["left 1 2"], ["right 3 3"]]


NESTED = """
(role a) (number 1) (number 2) (number 3)
(<= (init (at ?i ?j ?k ?l b)) (number ?i) (number ?j) (number ?k) (number ?l))
(<= (legal a (mark ?i ?j ?k ?l)) (true (at ?i ?j ?k ?l b)))
(<= (next (at ?i ?j ?k ?l x)) (does a (mark ?i ?j ?k ?l)))
(<= (next (at ?i ?j ?k ?l ?p)) (true (at ?i ?j ?k ?l ?p)))
(<= terminal never) (goal a 0)
"""


def test_a_move_can_name_the_board() -> None:
    assert clicks(layout_of(NESTED), "(mark 1 2 3 1)") == [["1 2 3 1"]]


def test_a_line_is_a_click_on_each_end() -> None:
    assert clicks(layout_of(LINES), "(draw 2 1 3 1)") == [["2 1"], ["3 1"]]
