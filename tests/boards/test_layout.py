"""Boards: rulesheet → layout, state → picture. Small rulesheets, each for one way in which rules describe a board."""

from collections.abc import Sequence
from typing import Any

import pytest

import ggp
from ggp.boards import (
    Board,
    Label,
    Layout,
    Picture,
    find_layout,
    hinted_words,
    make_picture,
    picture_lines,
    picture_svg,
    plain_text,
    profiles,
    role_colours,
)
from ggp.game import Game
from ggp.gdl.reader import read
from tests.boards import shipped
from tests.gamemaster.test_commands import ENDLESS
from tests.games.helpers import FIRST_GAMES

MOVES = "(role a) (role b) (<= (legal ?r wait) (role ?r)) (<= terminal never) (goal a 50) (goal b 50)"
KEEP = "(<= (next ?f) (true ?f))"
NUMBERS = "(number 1) (number 2) (number 3)"
LETTERS = "(letter a) (letter b) (letter c) (letter d)"


def game_of(text: str) -> Game:
    return ggp.load_text(f"{MOVES} {text}", engine="interpreter")


def layout_of(text: str) -> Layout:
    game = game_of(text)
    return find_layout(game.rulesheet, game.machine)


def picture_of(text: str, facts: str = "") -> Picture:
    """The initial state, or the state of these facts."""
    game = game_of(text)
    layout = find_layout(game.rulesheet, game.machine)
    state = frozenset(node.term for node in read(facts)) if facts else game.machine.initial_state
    return make_picture(layout, state)


def board_of(text: str, facts: str = "") -> Board:
    (board,) = picture_of(text, facts).boards
    return board


def drawn(text: str, facts: str = "") -> list[str]:
    return plain_text(picture_lines(picture_of(text, facts))).split("\n")


def terms(labels: Sequence[Label]) -> list[tuple[str, float]]:
    return [(label.term or label.text, label.at) for label in labels]


@pytest.mark.parametrize("name", ["biddingtictactoe", "breakthrough", "connectfour", "dotsandboxes", "fiveinarow",
                                  "noughtsandcrosses", "tictactoe"])  # fmt: skip
def test_what_the_rules_tell_is_what_people_have_written_down(name: str) -> None:
    """The hints in the metadata are by hand, from the prose of the games."""
    hinted, found = shipped.layout_of(name), shipped.layout_of(name, has_hints=False)
    for own, other in zip(found.boards, hinted.boards, strict=True):
        assert dict(own.places) == dict(other.places)
        assert other.shape in (own.shape, "holes")  # how it looks is more than the rules tell
        assert [terms(own.rows), terms(own.columns)] == [terms(other.rows), terms(other.columns)]
        assert {frozenset(pair) for pair in own.lines} == {frozenset(pair) for pair in other.lines}
    assert found.clicks == hinted.clicks


def test_the_same_layout_in_every_run() -> None:
    game = shipped.game_of("connectfour")
    assert find_layout(game.rulesheet, game.machine) == shipped.layout_of("connectfour", has_hints=False)


def test_contents_of_cells_and_the_empty_one() -> None:
    rules = (
        f"{NUMBERS} (<= (init (cell ?r ?c b)) (number ?r) (number ?c)) (<= (next (cell ?r ?c x)) (does a (mark ?r ?c)))"
    )
    rules += "(<= (legal a (mark ?r ?c)) (true (cell ?r ?c b))) (<= (next (cell ?r ?c ?p)) (true (cell ?r ?c ?p)))"
    board = board_of(rules, "(cell 1 1 b) (cell 2 3 x)")
    assert (board.shape, board.height, board.width) == ("squares", 3, 3)
    assert {str(cell.spot): [piece.name for piece in cell.pieces] for cell in board.cells if cell.pieces} == {
        "2 3": ["x"]
    }


def test_rows_run_down_unless_something_says_otherwise() -> None:
    rules = f"{NUMBERS} (<= (init (at ?i ?j b)) (number ?i) (number ?j)) (init (at 1 3 x)) {KEEP}"
    assert drawn(rules, "(at 1 3 x)") == ["   1 2 3", "1  . . x", "2  . . .", "3  . . ."]


def test_names_of_variables_tell_rows_and_columns() -> None:
    rules = f"{NUMBERS} (<= (init (at ?col ?row b)) (number ?col) (number ?row)) (init (at 1 3 x)) {KEEP}"
    assert drawn(rules, "(at 1 3 x)") == ["   1 2 3", "1  . . .", "2  . . .", "3  x . ."]


def test_y_counts_upwards() -> None:
    rules = f"{NUMBERS} (<= (init (at ?x ?y b)) (number ?x) (number ?y)) (init (at 1 3 x)) {KEEP}"
    assert drawn(rules, "(at 1 3 x)") == ["   1 2 3", "3  x . .", "2  . . .", "1  . . ."]


def test_names_of_relations_tell_as_well() -> None:
    rules = f"{NUMBERS} {LETTERS} (<= (init (at ?i ?j b)) (letter ?i) (number ?j)) (init (at a 3 x)) {KEEP}"
    rules += "(nextrow a b) (nextrow b c) (nextrow c d) (<= (near ?i ?k) (true (at ?i ?j x)) (nextrow ?i ?k))"
    assert drawn(rules, "(at a 3 x)") == ["   1 2 3", "a  . . x", "b  . . .", "c  . . .", "d  . . ."]


def test_letters_beside_numbers_are_columns() -> None:
    rules = f"{NUMBERS} {LETTERS} (<= (init (at ?i ?j b)) (letter ?i) (number ?j)) (init (at a 3 x)) {KEEP}"
    assert drawn(rules, "(at a 3 x)") == ["   a b c d", "3  x . . .", "2  . . . .", "1  . . . ."]


def test_what_drops_into_a_column_lands_at_the_bottom() -> None:
    rules = f"{NUMBERS} {LETTERS} (<= (legal a (drop ?i)) (number ?i)) (height z1) (height z2) {KEEP}"
    rules += "(above z1 z2) (<= (next (disc z1 ?i red)) (does a (drop ?i)) (not (true (disc z1 ?i red))))"
    rules += "(<= (next (disc z2 ?i red)) (does a (drop ?i)) (true (disc z1 ?i red)))"
    assert drawn(rules, "(disc z1 3 red)") == ["    1 2 3", "z2  . . .", "z1  . . r"]


def test_constants_are_ordered_by_successors() -> None:
    rules = f"{NUMBERS} (after near middle) (after middle far) (far near) (far middle) (far far) {KEEP}"
    rules += "(<= (init (at ?i ?j b)) (far ?i) (number ?j)) (init (at far 1 x))"
    assert [label.text for label in board_of(rules).rows] == ["near", "middle", "far"]


def test_numbers_are_ordered_as_numbers() -> None:
    numbers = " ".join(f"(number {number})" for number in range(8, 13))
    rules = f"{numbers} (<= (init (at ?i ?j b)) (number ?i) (number ?j)) {KEEP}"
    assert [label.text for label in board_of(rules).columns] == ["8", "9", "10", "11", "12"]


def test_pieces_of_several_words() -> None:
    rules = (
        f"{LETTERS} {NUMBERS} (init (at a 1 white king)) (init (at c 3 black rook)) (init (at b 2 black king)) {KEEP}"
    )
    board = board_of(rules)
    pieces = {str(cell.spot): cell.pieces[0] for cell in board.cells if cell.pieces}
    assert {place: piece.name for place, piece in pieces.items()} == {
        "a 1": "white king", "c 3": "black rook", "b 2": "black king"
    }  # fmt: skip
    assert (pieces["a 1"].mark.symbol, pieces["a 1"].mark.colour) == ("king", "white")
    assert (pieces["c 3"].mark.symbol, pieces["c 3"].mark.colour) == ("rook", "black")
    assert board.shade == 0  # the lower left cell, two rows down, is dark


def test_dark_cells_are_those_that_pieces_keep_to() -> None:
    rules = f"{LETTERS} {NUMBERS} (init (at b 1 wp)) (init (at c 2 bk)) (init (at a 2 bp)) {KEEP}"
    board = board_of(rules)
    (dark,) = {round(cell.down + cell.across) % 2 for cell in board.cells if cell.pieces}
    assert board.shade == dark


def test_the_piece_may_come_first() -> None:
    rules = f"{NUMBERS} (init (place thief 1 1)) (init (place guard 3 2)) {KEEP}"
    (cell,) = [cell for cell in board_of(rules).cells if cell.pieces and cell.pieces[0].name == "guard"]
    assert cell.spot.place == ("3", "2")


def test_cells_that_are_there_or_not() -> None:
    rules = f"{NUMBERS} (<= (init (tile ?i ?j)) (number ?i) (number ?j)) {KEEP}"
    board = board_of(rules, "(tile 1 1)")
    assert [cell.text for cell in board.cells][:2] == ["1 1: tile", "1 2: empty"]


def test_a_fact_about_a_cell_of_another_board_is_a_note() -> None:
    rules = f"{NUMBERS} (<= (init (at ?i ?j b)) (number ?i) (number ?j)) (init (at 1 1 x)) (init (last 2 2)) {KEEP}"
    board = board_of(rules)
    assert [cell.spot.place for cell in board.cells if cell.notes] == [("2", "2")]
    assert "2  .  .' ." in drawn(rules)


def test_several_relations_with_the_same_contents_are_boards_beside_each_other() -> None:
    rules = f"{NUMBERS} (<= (init (left ?i ?j b)) (number ?i) (number ?j))"
    rules += f"(<= (init (right ?i ?j b)) (number ?i) (number ?j)) (init (left 1 1 x)) (init (right 3 3 x)) {KEEP}"
    assert drawn(rules, "(left 1 1 x) (right 3 3 x)") == [
        "left        right",
        "   1 2 3       1 2 3",
        "1  x . .    1  . . .",
        "2  . . .    2  . . .",
        "3  . . .    3  . . x",
    ]


def test_an_argument_that_tells_boards_apart() -> None:
    rules = f"{NUMBERS} (lane near) (lane far) (<= (init (at ?l ?i ?j b)) (lane ?l) (number ?i) (number ?j)) {KEEP}"
    boards = picture_of(rules, "(at near 1 1 x)").boards
    assert [board.name for board in boards] == ["far", "near"]
    assert [(board.down, board.across) for board in boards] == [(0, 0), (0, 1)]
    assert sum(len(cell.pieces) for cell in boards[0].cells) == 0
    assert boards[1].cells[0].text == "near 1 1: x"


def test_boards_whose_cells_are_boards() -> None:
    rules = f"{NUMBERS} (<= (init (at ?i ?j ?k ?l b)) (number ?i) (number ?j) (number ?k) (number ?l)) {KEEP}"
    boards = picture_of(rules, "(at 2 3 1 2 x)").boards
    assert len(boards) == 9
    (board,) = [board for board in boards if any(cell.pieces for cell in board.cells)]
    assert (board.name, board.down, board.across) == ("2 3", 1, 2)
    (cell,) = [cell for cell in board.cells if cell.pieces]
    assert (cell.down, cell.across) == (0.0, 1.0)


def test_walls_by_the_name_of_the_relation_and_by_an_argument() -> None:
    rules = f"{NUMBERS} (<= (init (at ?i ?j b)) (number ?i) (number ?j)) (init (at 1 1 x)) {KEEP}"
    rules += "(init (blockednorth 2 2)) (init (wall 1 1 east)) (init (wall 3 2 north)) (init (wall 2 3 north))"
    walls = {(str(wall.spot), wall.side) for wall in board_of(rules).walls}
    assert walls == {("2 2", "top"), ("1 1", "right"), ("3 2", "top"), ("2 3", "top")}


def test_points_that_are_named_by_a_letter_and_a_number() -> None:
    names = " ".join(f"(point {letter}{number})" for letter in "abc" for number in range(1, 5))
    board = board_of(f"{names} (<= (init (at ?p free)) (point ?p)) (init (at b2 red)) {KEEP}", "(at a1 red)")
    (cell,) = [cell for cell in board.cells if cell.pieces]
    assert (board.shape, cell.down, cell.across) == ("squares", 3.0, 0.0)


def test_points_in_rows_of_several_lengths_are_hexagons() -> None:
    names = "(point a1) (point a2) (point b1) (point b2) (point b3) (point c1) (point c2)"
    board = board_of(f"{names} (<= (init (at ?p free)) (point ?p)) (init (at b2 red)) {KEEP}")
    places = {str(cell.spot): (cell.down, cell.across) for cell in board.cells}
    assert board.shape == "hexagons"
    assert places["a1"] == (0.0, 0.5)
    assert places["b1"] == (1.0, 0.0)


def test_six_neighbours_make_hexagons() -> None:
    rules = (
        f"{NUMBERS} (succ 1 2) (succ 2 3) (<= (init (at ?i ?j b)) (number ?i) (number ?j)) (init (at 1 1 red)) {KEEP}"
    )
    for row, column in (("succ ?i ?k", ""), ("succ ?k ?i", ""), ("", "succ ?j ?l"), ("", "succ ?l ?j")):
        ends = f"{'?k' if row else '?i'} {'?l' if column else '?j'}"
        rules += f"(<= (near ?i ?j {ends}) ({row or column}) (number ?i) (number ?j))"
    rules += "(<= (near ?i ?j ?k ?l) (succ ?i ?k) (succ ?l ?j)) (<= (near ?i ?j ?k ?l) (succ ?k ?i) (succ ?j ?l))"
    board = board_of(rules)
    assert board.shape == "hexagons"
    assert {cell.across for cell in board.cells if cell.spot.place[1] == "1"} == {0.0, 0.5, 1.0}


LINES = """
(role a) (role b) (index 1) (index 2) (index 3) (succ 1 2) (succ 2 3) (init (control a))
(<= (legal a (draw ?i ?j ?k ?j)) (succ ?i ?k) (index ?j) (not (true (line ?i ?j ?k ?j))))
(<= (legal a (draw ?i ?j ?i ?l)) (succ ?j ?l) (index ?i) (not (true (line ?i ?j ?i ?l))))
(legal b wait)
(<= (next (line ?i ?j ?k ?l)) (does a (draw ?i ?j ?k ?l)))
(<= (next (line ?i ?j ?k ?l)) (true (line ?i ?j ?k ?l)))
(<= (next (control a)) (true (control a)))
(<= (next (box ?k ?l a)) (true (line ?i ?j ?k ?j)) (true (line ?i ?l ?k ?l)) (true (line ?i ?j ?i ?l))
    (true (line ?k ?j ?k ?l)) (succ ?i ?k) (succ ?j ?l))
(<= terminal never) (goal a 50) (goal b 50)
"""  # a box is named by its point with the highest numbers


def test_lines_between_points_and_boxes_of_their_own() -> None:
    game = ggp.load_text(LINES, engine="interpreter")
    layout = find_layout(game.rulesheet, game.machine)
    facts = "(line 1 1 1 2) (line 2 1 2 2) (line 1 1 2 1) (line 1 2 2 2) (box 2 2 a) (control a)"
    picture = make_picture(layout, frozenset(node.term for node in read(facts)))
    (board,) = picture.boards
    assert board.shape == "dots"
    assert len(board.lines) == 12
    assert sum(line.is_drawn for line in board.lines) == 4
    (box,) = board.boxes
    corners = {(line.from_down, line.from_across) for line in board.lines if line.is_drawn}
    corners |= {(line.to_down, line.to_across) for line in board.lines if line.is_drawn}
    assert (box.down, box.across) == (sum(d for d, _ in corners) / 4, sum(a for _, a in corners) / 4)
    assert [value.label for value in picture.values] == ["Control"]


def test_directions_from_a_middle_are_squares_in_squares() -> None:
    rules = "(beyond inner middle) (beyond middle outer) (ring inner) (ring middle) (ring outer)"
    rules += " ".join(f"(way {way})" for way in ("n", "ne", "e", "se", "s", "sw", "w", "nw"))
    board = board_of(f"{rules} (<= (init (hole ?r ?w empty)) (ring ?r) (way ?w)) (init (hole inner n white)) {KEEP}")
    places = {str(cell.spot): (cell.down, cell.across) for cell in board.cells}
    assert board.shape == "points"
    assert places["outer nw"] == (0.0, 0.0)
    assert places["inner n"] == (2.0, 3.0)
    assert ((0.0, 0.0), (0.0, 3.0)) in [tuple(sorted(guide)) for guide in board.guides]


HEAPS = """
(role a) (role b) (init (heap north 3)) (init (heap south 2)) (init (heap west 1)) (less 1 0) (less 2 1) (less 3 2)
(<= (legal a (take ?h)) (true (heap ?h ?n)) (less ?n ?m)) (legal a wait) (legal b wait)
(<= (next (heap ?h ?m)) (does a (take ?h)) (true (heap ?h ?n)) (less ?n ?m))
(<= (next (heap ?h ?n)) (true (heap ?h ?n)) (not (does a (take ?h))))
(<= terminal never) (goal a 50) (goal b 50)
"""


def test_named_cells_that_always_hold_something_are_a_row() -> None:
    game = ggp.load_text(HEAPS, engine="interpreter")
    layout = find_layout(game.rulesheet, game.machine)
    picture = make_picture(layout, game.machine.initial_state)
    assert plain_text(picture_lines(picture)).split("\n") == ["north  south  west", "3      2      1"]


def test_counters_of_roles_are_values() -> None:
    rules = "(init (coins a 3)) (init (coins b 0)) (init (turn a)) (init open) (<= (next (coins a 2)) (true open))"
    picture = picture_of(rules)
    assert picture.boards == ()
    assert {value.label: [(e.key, e.value) for e in value.entries] for value in picture.values} == {
        "Coins": [("a", "3"), ("b", "0")],
        "Open": [],
        "Turn": [("", "a")],
    }


STACKS = """
(role a) (block c) (block d) (init (on c d)) (legal a lift) (legal a wait)
(<= (next (on c d)) (true (on c d)) (does a wait)) (<= terminal never) (goal a 0)
"""


def test_what_lies_on_what_is_a_stack() -> None:
    game = ggp.load_text(STACKS.replace("(block c)", "(<= (next (on d c)) (does a lift))"), engine="interpreter")
    layout = find_layout(game.rulesheet, game.machine)
    picture = make_picture(layout, game.machine.initial_state)
    assert plain_text(picture_lines(picture)).split("\n") == ["c", "d"]


def test_what_is_not_understood_is_listed() -> None:
    picture = picture_of("(init (p 1 (f x) y)) (init (q 1)) (<= (next (q 1)) (true (q 1)))")
    assert picture.rest == (("p", "1", ("f", "x"), "y"),)
    assert set(picture.listed) == {("p", "1", ("f", "x"), "y"), ("q", "1")}


def test_every_fact_is_on_a_board_or_listed() -> None:
    for name in FIRST_GAMES:
        game, layout = shipped.game_of(name), shipped.layout_of(name)
        picture = make_picture(layout, game.machine.initial_state)
        on_boards = {place.relation[0] for board in layout.boards for place in board.placements}
        assert {fact[0] for fact in game.machine.initial_state} <= on_boards | {fact[0] for fact in picture.listed}
        assert not on_boards & {fact[0] for fact in picture.listed}


def test_rules_without_end_are_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_SECONDS", 0.2)
    game = ggp.load_text(ENDLESS, engine="interpreter")
    layout = find_layout(game.rulesheet, game.machine)
    assert make_picture(layout, game.machine.initial_state).values[0].label == "A"


@pytest.mark.parametrize(
    "rules", ["(role a) terminal", "(role a) (<= (init (p ?x)) (q ?x))", "(role a) (init p) (<= (legal a go) (true z))"]
)
def test_odd_rules_have_an_empty_layout(rules: str) -> None:
    game = ggp.load_text(rules, engine="interpreter")
    assert find_layout(game.rulesheet, game.machine).boards == ()


WORDS = """
(role xplayer) (role oplayer) (init (cell 1 1 red)) (init (control xplayer)) (init (coins oplayer 3)) (legal ?r noop)
(<= (legal ?r noop) (role ?r)) (<= terminal (true (control oplayer))) (goal xplayer 1) (goal oplayer 1)
"""
HINTS: dict[str, Any] = {
    "board": {
        "fact": "cell", "row": 2, "column": 1, "piece": 3, "rows": ["2", "1"], "columns": ["1", "2"], "shape": "holes",
        "column_letters": True, "marks": {"red": {"symbol": "disc", "plain": True}},
    },
    "words": {"control": "To move", "coins": "Coins", "xplayer": "X", "oplayer": 5},
    "moves": {"drop": "column {1}", "noop": ""},
}  # fmt: skip


def test_people_may_call_relations_and_roles_as_they_like() -> None:
    assert hinted_words(HINTS, "words") == {"control": "To move", "coins": "Coins", "xplayer": "X"}
    assert hinted_words(HINTS, "moves") == {"drop": "column {1}", "noop": ""}
    assert hinted_words({"words": ["control"]}, "words") == {}
    game = ggp.load_text(WORDS, "words")
    picture = make_picture(find_layout(game.rulesheet, game.machine, HINTS), game.initial_state.terms)
    shown = {value.label: [(entry.key, entry.value) for entry in value.entries] for value in picture.values}
    assert shown == {"Coins": [("oplayer", "3")], "To move": [("", "X")]}


def test_names_without_words_of_people_are_written_as_people_do() -> None:
    picture = picture_of("(init (last_bid a light_hollow))")
    assert [(value.label, value.entries[0].value) for value in picture.values] == [("Last bid", "light hollow")]


def test_columns_have_letters_in_pictures_and_coordinates_where_moves_are_typed() -> None:
    game = ggp.load_text(WORDS, "words")
    picture = make_picture(find_layout(game.rulesheet, game.machine, HINTS), game.initial_state.terms)
    assert plain_text(picture_lines(picture)).splitlines()[0].split() == ["1", "2"]
    svg = picture_svg(picture)
    assert ">b</text>" in svg
    assert ">2</text>" in svg  # the row
    assert ">r</text>" not in svg  # the disc is plain
    without = {**HINTS, "board": {**HINTS["board"], "marks": {}}}
    lettered = make_picture(find_layout(game.rulesheet, game.machine, without), game.initial_state.terms)
    assert ">r</text>" in picture_svg(lettered)


def test_roles_have_the_colours_of_their_pieces() -> None:
    assert role_colours({}, ("white", "black")) == {"white": "white", "black": "black"}
    assert role_colours({}, ("xplayer", "oplayer")) == {"xplayer": "blue", "oplayer": "red"}
    hints = {"board": [{"marks": {"first": {"symbol": "disc", "colour": "green"}}}], "boxes": "nothing"}
    assert role_colours(hints, ("first", "second"))["first"] == "green"
