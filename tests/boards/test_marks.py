"""Marks: names of pieces → symbols, colours and letters."""

from itertools import combinations

import pytest

from ggp.boards.marks import COLOURS, Mark, make_marks
from ggp.boards.pieces import piece_shapes
from ggp.boards.shapes import DARK, LIGHT, Shape, Text


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
