"""Text: a picture, or a state and hints → lines of text."""

from dataclasses import replace
from typing import Any

import pytest

import ggp
from ggp.boards import (
    Board,
    Cell,
    Label,
    LineSegment,
    Picture,
    Piece,
    Span,
    Spot,
    Wall,
    find_layout,
    make_picture,
    picture_lines,
    plain_text,
)
from ggp.boards.layout import GridPoint
from ggp.boards.marks import BoardShape, Mark
from ggp.commands.shared import styled
from ggp.gdl.reader import read
from ggp.gdl.state_machine import Facts
from tests.games.helpers import draw_state

BOARD = {"fact": "at", "row": 1, "column": 2, "piece": 3, "rows": ["1", "2"], "columns": ["a", "b", "c"]}
LINES = {"fact": "line", "from_row": 2, "from_column": 1, "to_row": 4, "to_column": 3}
LINES |= {"rows": ["3", "2", "1"], "columns": ["1", "2", "3"]}
BOXES = {"fact": "box", "row": 2, "column": 1, "owner": 3, "corner": "lower left"}


def facts(text: str) -> Facts:
    return frozenset(node.term for node in read(text))


def drawn(text: str, drawing: dict[str, Any]) -> list[str]:
    return draw_state(facts(text), drawing).split("\n")


def test_a_board_and_what_is_not_on_it() -> None:
    text = "(at 1 a x) (at 1 b none) (at 2 c o) (turn x) (coins x 9) (coins o 10) (coins z 2) over"
    hints = {"board": {**BOARD, "empty": "none", "marks": {"o": "O"}}}
    assert drawn(text, hints) == [
        "   a b c",
        "1  x . .",
        "2  . . O",
        "Coins: o 10, x 9, z 2",
        "Over",
        "Turn: x",
    ]


def test_columns_are_as_wide_as_the_widest_piece() -> None:
    assert drawn("(at 1 a wolf) (at 2 b s)", {"board": BOARD}) == [
        "   a    b    c",
        "1  wolf .    .",
        "2  .    s    .",
    ]


def test_rows_are_drawn_in_the_order_of_the_hints() -> None:
    assert drawn("(at 1 a x)", {"board": {**BOARD, "rows": ["2", "1"]}}) == ["   a b c", "2  . . .", "1  x . ."]


def test_facts_that_do_not_fit_on_the_board_are_listed() -> None:
    lines = drawn("(at 1 a x) (at 3 a x) (at 1 a)", {"board": BOARD})
    assert lines == ["   a b c", "1  x . .", "2  . . .", "At: 1 a", "at 3 a x"]


def test_several_pieces_on_one_cell() -> None:
    lines = drawn("(at 1 a x) (at 1 a y) (at 2 b wolf) (at 2 b s)", {"board": BOARD})
    assert lines == ["   a      b      c", "1  xy     .      .", "2  .      s/wolf ."]


def test_lines_between_dots() -> None:
    text = "(line 1 1 2 1) (line 3 2 3 3) (line 1 1 1 2) (line 1 1 3 1) (line 1 1 2 2) (line 9 1 9 2)"
    assert drawn(text, {"lines": LINES}) == [
        "   1   2   3",
        "3  +   +   +",
        "           |",
        "2  +   +   +",
        "   |",
        "1  +---+   +",
        "line: 1 1 2 2, 1 1 3 1, 9 1 9 2",
    ]


def test_a_line_can_be_given_from_either_end() -> None:
    assert drawn("(line 2 1 1 1)", {"lines": LINES}) == drawn("(line 1 1 2 1)", {"lines": LINES})


@pytest.mark.parametrize(
    ("corner", "dot"), [("lower left", "1 1"), ("lower right", "2 1"), ("upper left", "1 2"), ("upper right", "2 2")]
)
def test_owners_stand_in_their_squares(corner: str, dot: str) -> None:
    hints = {"lines": LINES, "boxes": {**BOXES, "corner": corner, "marks": {"someone": "s"}}}
    assert drawn(f"(box {dot} someone)", hints) == [
        "   1   2   3",
        "3  +   +   +",
        "",
        "2  +   +   +",
        "     s",
        "1  +   +   +",
    ]


def test_owners_outside_the_dots_are_listed() -> None:
    hints = {"lines": LINES, "boxes": BOXES}
    assert drawn("(box 3 1 me) (box 1 3 me) (box 7 7 me)", hints)[-1] == "box: 1 3 me, 3 1 me, 7 7 me"


def test_owners_are_cut_to_the_width_of_a_square() -> None:
    assert drawn("(box 1 1 someone)", {"lines": LINES, "boxes": BOXES})[4] == "    som"


def test_without_hints_values_and_facts_are_listed_by_relation() -> None:
    text = "(cell 10 1 x) (cell 9 1 x) (cell 2 1 (piece king white)) open (control white)"
    assert drawn(text, {}) == ["Control: white", "Open", "cell: 2 1 (piece king white), 9 1 x, 10 1 x"]


def test_facts_of_one_name_and_several_arities_stay_apart() -> None:
    assert drawn("a (a 1) (a b) (a 1 2 3)", {}) == ["A", "A: 1, b", "a 1 2 3"]


def test_long_numbers_are_sorted_too() -> None:
    long = "1" * 5_000
    lines = drawn(f"(n {long}2) (n {long}1) (n 2) (n 10) (n 09)", {})
    assert " ".join(lines).replace(",", "").split() == ["N:", "2", "09", "10", f"{long}1", f"{long}2"]


def test_long_lists_are_folded_between_facts() -> None:
    lines = drawn(" ".join(f"(cell {row} {column} blank)" for row in range(8) for column in range(8)), {})
    assert len(lines) > 5
    assert all(len(line) <= 100 for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert all(line.rstrip(",").endswith("blank") for line in lines)


def test_no_facts_at_all() -> None:
    assert draw_state(frozenset(), {}) == ""


@pytest.mark.parametrize(
    "hints",
    [
        {"board": {}},
        {"board": "at"},
        {"board": {**BOARD, "piece": "3"}},
        {"board": {**BOARD, "piece": 0}},
        {"board": {**BOARD, "rows": []}},
        {"board": {**BOARD, "columns": "abc"}},
        {"lines": {**LINES, "from_row": None}},
        {"boxes": BOXES},
        {"sphere": 7},
    ],
)
def test_hints_that_do_not_fit_are_left_aside(hints: dict[str, Any]) -> None:
    assert drawn("(at 1 a x) (turn x)", hints) == ["Turn: x", "at 1 a x"]


@pytest.mark.parametrize(
    "changes", [{"piece": 9}, {"rows": [1, 2]}, {"marks": 3}, {"marks": {"x": 5}}, {"empty": ["x"]}]
)
def test_odd_hints_do_no_harm(changes: dict[str, Any]) -> None:
    lines = drawn("(at 1 a x) (turn x)", {"board": {**BOARD, **changes}})
    assert lines[0] == "   a b c"
    assert "Turn: x" in lines


def board(
    cells: tuple[Cell, ...],
    shape: BoardShape = "squares",
    walls: tuple[Wall, ...] = (),
    lines: tuple[LineSegment, ...] = (),
    guides: tuple[tuple[GridPoint, GridPoint], ...] = (),
) -> Board:
    rows = tuple(Label(str(row), float(row)) for row in range(2))
    columns = tuple(Label(str(column), float(column)) for column in range(2))
    return Board("", "", shape, 2.0, 2.0, rows, columns, cells, walls=walls, lines=lines, guides=guides)


def lines(*boards: Board, width: int = 100) -> list[str]:
    return plain_text(picture_lines(Picture(boards, (), (), ()), width)).split("\n")


def cells(*letters: str) -> tuple[Cell, ...]:
    """Two rows of two cells; the second row of hexagons starts half a cell to the right."""
    pieces = [(Piece(letter, Mark("badge", "red", letter)),) if letter else () for letter in letters]
    return tuple(Cell(Spot("", (str(n),)), n // 2, n % 2, piece) for n, piece in enumerate(pieces))


def test_walls_and_signs_between_cells() -> None:
    place = Spot("", ("0",))
    walls = (Wall(place, 0, 0, "right"), Wall(place, 0, 1, "bottom", ">"), Wall(place, 1, 0, "bottom"))
    assert lines(board(cells("x", "", "", "y"), walls=walls)) == [
        "   0   1",
        "",
        "0  x | .",
        "       >",
        "1  .   y",
        "  ---",
    ]


def test_hexagons_stand_between_those_of_the_row_above() -> None:
    shifted = tuple(replace(cell, across=cell.across + cell.down / 2) for cell in cells("x", "", "", "y"))
    assert lines(board(shifted, "hexagons")) == ["   0 1", "0  x .", "1   . y"]


def test_a_row_has_the_names_of_its_cells_above_them() -> None:
    row = tuple(replace(cell, down=0.0, across=float(n)) for n, cell in enumerate(cells("x", "", "y", "z")))
    assert lines(replace(board(row, "row"), rows=(), columns=())) == ["0  1  2  3", "x  .  y  z"]


def test_boards_that_are_too_wide_stand_below_each_other() -> None:
    one = replace(board(cells("x", "", "", "")), title="one")
    two = replace(one, title="two", across=1)
    assert lines(one, two) == ["one       two", "   0 1       0 1", "0  x .    0  x .", "1  . .    1  . ."]
    assert lines(one, two, width=12) == [
        "one", "   0 1", "0  x .", "1  . .", "", "two", "   0 1", "0  x .", "1  . ."
    ]  # fmt: skip


def test_lines_have_owners_and_guides_lead_from_point_to_point() -> None:
    ends = (Spot("", ("0",)), Spot("", ("1",)))
    line = LineSegment(*ends, 0, 0, 0, 1, is_drawn=True, owner=Piece("x", Mark("cross", "blue", "x")))
    drawn_line = picture_lines(Picture((board(cells("", "", "", ""), "dots", lines=(line,)),), (), (), ()))
    assert Span("---", "blue") in drawn_line[1]
    guided = board(cells("x", "", "", "y"), "points", guides=(((0, 0), (0, 1)), ((0, 0), (1, 0))))
    assert lines(guided) == ["   0   1", "0  x---.", "   |", "1  .   y"]


def test_letters_have_the_colours_of_their_pieces() -> None:
    picture = Picture((board(cells("x", "", "", "")),), (), (), ())
    assert Span("x", "red") in picture_lines(picture)[1]
    texts = [(text.plain, [str(span.style) for span in text.spans]) for text in styled(picture_lines(picture))]
    assert texts[1] == ("0  x .", ["dim", "bold red", "dim"])


def test_values_in_words() -> None:
    game = ggp.load("dotsandboxes", engine="interpreter")
    layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)
    picture = make_picture(layout, game.initial_state.terms)
    assert plain_text(picture_lines(picture)).split("\n")[-2:] == ["Boxes: O 0, X 0", "To move: X"]
    bare = Picture((), (), (), ())
    assert picture_lines(bare) == ()
