"""Marks: names of pieces → symbols, colours and letters."""

from itertools import combinations

import pytest

from ggp.boards.marks import COLOURS, Mark, Symbol, make_marks
from ggp.boards.pieces import piece_shapes
from ggp.boards.shapes import DARK, LIGHT, Circle, Polygon, Polyline, Rect, Shape, Text


def told(names: list[str], roles: list[str] | None = None) -> dict[str, tuple[str, str, str]]:
    return {name: (mark.symbol, mark.colour, mark.letters) for name, mark in make_marks(names, roles or []).items()}


@pytest.mark.parametrize(
    ("names", "roles", "marks"),
    [
        (["x", "o"], ["xplayer", "oplayer"], [("cross", "blue", "x"), ("ring", "red", "o")]),
        (["xplayer", "oplayer"], ["xplayer", "oplayer"], [("cross", "blue", "x"), ("ring", "red", "o")]),
        (["red", "yellow"], ["red", "yellow"], [("disc", "red", "r"), ("disc", "yellow", "y")]),
        (["white king", "black queen"], [], [("king", "white", "K"), ("queen", "black", "q")]),
        (["whitepawn", "blackpawn"], [], [("pawn", "white", "P"), ("pawn", "black", "p")]),
        (["wp", "bk"], ["white", "black"], [("pawn", "white", "P"), ("king", "black", "k")]),
        (["sp", "nk"], ["south", "north"], [("pawn", "blue", "p"), ("king", "red", "k")]),
        (["knight", "hole"], ["robot"], [("knight", "black", "n"), ("block", "grey", "#")]),
        (["3", "12"], [], [("text", "black", "3"), ("text", "black", "12")]),
        (["s0", "s1", "s2"], [], [("text", "black", "0"), ("text", "black", "1"), ("text", "black", "2")]),
        (["zerocoins", "onecoin"], [], [("text", "black", "0"), ("text", "black", "1")]),
        (["piece1", "piece2", "piece3"], [], [("badge", "blue", "1"), ("badge", "red", "2"), ("badge", "green", "3")]),
        (["b", "w"], ["wolf", "bear"], [("badge", "blue", "b"), ("badge", "red", "w")]),
        (["wb", "br", "wbr"], [], [("badge", "blue", "w"), ("badge", "red", "b"), ("badge", "green", "wb")]),
    ],
)
def test_names(names: list[str], roles: list[str], marks: list[tuple[str, str, str]]) -> None:
    assert list(told(names, roles).values()) == marks


def test_letters_tell_all_pieces_apart() -> None:
    names = ["bomber", "bomb", "bo", "b", "boss", "white bomb", "black bomb", "box", "1", "11", "b-o", "Ω", "(f x)"]
    letters = [letters for _, _, letters in told(names, ["boss", "b"]).values()]
    assert len(set(letters)) == len(names)
    assert all(letters)


def colourless(shape: Shape) -> tuple[object, ...]:
    if isinstance(shape, Text):
        return (shape.text,)
    return type(shape), getattr(shape, "points", None), getattr(shape, "radius", None)


def test_no_two_pieces_differ_by_colour_alone() -> None:
    names = ["red", "blue", "green", "yellow", "white", "black", "wolf", "sheep", "red king", "blue king", "coin"]
    marks = make_marks(names, ["red", "blue"])
    seen = {name: tuple(map(colourless, piece_shapes(mark, 0.0, 0.0, 1.0))) for name, mark in marks.items()}
    alike = [{one, other} for one, other in combinations(seen, 2) if seen[one] == seen[other]]
    assert alike == [{"white", "black"}]


def test_wishes() -> None:
    wishes = {"x": "X", "o": {"symbol": "disc", "colour": "white", "letters": "O"}, "z": 5, "absent": "q"}
    assert make_marks(["x", "o", "z"], [], wishes) == {
        "x": Mark("cross", "blue", "X"),
        "o": Mark("disc", "white", "O"),
        "z": Mark("badge", "green", "5"),
    }


@pytest.mark.parametrize("wish", [None, 1.5, [], True, {"symbol": 3}, {"colour": "pale"}, {"letters": ""}])
def test_odd_wishes_are_left_aside(wish: object) -> None:
    assert make_marks(["x"], [], {"x": wish}) == make_marks(["x"], [])


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("symbol", "tip"), [("wedge", -0.44), ("turned_wedge", 0.44)])
def test_pieces_of_shogi_point_to_where_they_go(symbol: Symbol, tip: float) -> None:
    outline, letter = piece_shapes(Mark(symbol, "white", "z"), 0.0, 0.0, 1.0)
    assert isinstance(outline, Polygon)
    assert isinstance(letter, Text)
    assert [y for x, y in outline.points if x == 0] == [tip]
    assert letter.text == "z"


def test_pieces_of_shogi_have_their_signs() -> None:
    names = ("K", "R", "B", "G", "S", "P", "+R", "+B", "+S", "+P")
    shapes = {name: piece_shapes(Mark("wedge", "black", name), 0.0, 0.0, 1.0) for name in names}
    assert len(set(shapes.values())) == len(names)
    for name in names:
        outline, *strokes = shapes[name]
        _, *turned = piece_shapes(Mark("turned_wedge", "black", name.lower()), 0.0, 0.0, 1.0)
        assert isinstance(outline, Polygon)
        for one, other in zip(strokes, turned, strict=True):
            assert isinstance(one, Polyline)
            assert isinstance(other, Polyline)
            assert other.points == tuple((-x, -y) for x, y in one.points)
            assert all(abs(x) < 0.3 and -0.3 < y < 0.36 for x, y in one.points), name


def test_dice_have_as_many_spots_as_they_show() -> None:
    for number in range(1, 7):
        _, *spots = piece_shapes(Mark("die", "white", str(number)), 0.0, 0.0, 1.0)
        assert len(set(spots)) == number
        assert all(isinstance(spot, Circle) for spot in spots)


def test_cards_have_their_letters() -> None:
    paper, letters = piece_shapes(Mark("card", "red", "K"), 0.0, 0.0, 1.0)
    assert isinstance(paper, Rect)
    assert paper.height > paper.width
    assert isinstance(letters, Text)
    assert (letters.text, letters.paint) == ("K", "red")


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(palette: dict[str, str]) -> None:
    for ground in ("paper", "cell", "shade"):
        assert contrast(palette["ink"], palette[ground]) >= 7
        assert contrast(palette["edge"], palette[ground]) >= 7
    assert contrast(palette["dim"], palette["paper"]) >= 4.5
    for colour in COLOURS:
        (text,) = [s for s in piece_shapes(Mark("badge", colour, "a"), 0.0, 0.0, 1.0) if isinstance(s, Text)]
        assert contrast(palette[text.paint], palette[colour]) >= 4.5, colour
    assert set(COLOURS) <= palette.keys()
