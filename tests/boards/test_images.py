"""Pictures: picture → SVG and PNG. What rulesheets say is hostile text in them."""

import re
from dataclasses import replace
from io import BytesIO
from xml.etree import ElementTree

import pytest
from PIL import Image

import ggp
from ggp.boards import (
    Cell,
    Picture,
    Piece,
    Spot,
    Value,
    ValueEntry,
    find_layout,
    make_picture,
    picture_png,
    picture_style,
    picture_svg,
    thumbnail_svg,
)
from ggp.boards.drawing import make_drawing
from ggp.boards.shapes import Rect, Text
from tests.boards import shipped
from tests.boards.test_layout import LINES, picture_of
from tests.games.helpers import FIRST_GAMES

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def checked(svg: str) -> ElementTree.Element:
    """The parsed picture, after a check that it has no scripts, references or identifiers."""
    root = parsed(svg.encode("utf-8", errors="strict").decode())
    assert not re.search(r"url\(|@import", svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "style", "title", "g", "rect", "circle", "polygon", "polyline", "text"
    }  # fmt: skip
    allowed = re.compile(
        r"x|y|cx|cy|r|rx|width|height|points|class|role|aria-label|data-[a-z]+|fill|stroke"
        r"|stroke-(width|linejoin|linecap)|font-(size|weight)|text-anchor|viewBox|pointer-events"
    )
    for element in root.iter():
        assert all(allowed.fullmatch(attribute) for attribute in element.attrib), element.attrib
    return root


OTHERS = sorted(set(ggp.games()) - set(FIRST_GAMES))


def groups(svg: str, kind: str) -> list[ElementTree.Element]:
    return [group for group in parsed(svg).iter(f"{SVG}g") if group.get("class") == kind]


@pytest.mark.parametrize("name", [*FIRST_GAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_shipped_games(name: str) -> None:
    """Valid and harmless SVG, all shapes within the picture, no cell twice."""
    picture = shipped.picture_of(name, 5)
    svg = picture_svg(picture, name)
    root = checked(svg)
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    for element in root.iter():
        for coordinate, most in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert 0 <= float(element.get(coordinate, "0")) <= most
    cells = [(group.get("data-board"), group.get("data-cell")) for group in groups(svg, "cell")]
    assert len(cells) == len(set(cells)) == sum(len(board.cells) for board in picture.boards)


def test_cells_say_what_they_are() -> None:
    svg = picture_svg(shipped.picture_of("tictactoe", 1), "Tic-tac-toe")
    (cell,) = [group for group in groups(svg, "cell") if group.get("data-cell") == "1 1"]
    assert cell.get("data-board") == ""
    assert cell.get("role") == "img"
    assert cell.get("aria-label") == "1 1: x"
    assert [title.text for title in cell.iter(f"{SVG}title")] == ["1 1: x"]
    assert parsed(svg).get("aria-label") == "Tic-tac-toe"


def test_lines_say_from_where_to_where() -> None:
    game = ggp.load_text(LINES, engine="interpreter")
    state = game.initial_state.play({"a": "(draw 1 1 2 1)"})
    svg = picture_svg(make_picture(find_layout(game.rulesheet, game.machine), state.terms))
    lines = {(line.get("data-from"), line.get("data-to")): line.get("data-drawn") for line in groups(svg, "line")}
    assert len(lines) == 12
    assert lines["1 1", "2 1"] == "yes"
    assert lines["1 1", "1 2"] == "no"


def test_marked_cells_are_highlighted() -> None:
    picture = shipped.picture_of("tictactoe")
    plain, marked = picture_svg(picture), picture_svg(picture, marked=[Spot("", ("2", "2"))])
    assert 'class="f-marked s-grid"' not in plain
    assert marked.count('class="f-marked s-grid"') == 1


def test_values_can_be_left_out() -> None:
    picture = shipped.picture_of("tictactoe")
    assert "To move" in picture_svg(picture)
    assert "To move" not in picture_svg(picture, has_values=False)


def test_names_can_be_left_out() -> None:
    picture = shipped.picture_of("reversi")
    whole, bare = picture_svg(picture, "Reversi"), thumbnail_svg(picture, "Reversi")
    assert [element.tag for element in checked(bare).iter()].count(f"{SVG}circle") == whole.count("<circle")
    assert "<title>Reversi</title>" in bare
    assert bare.count("<title>") == 1
    assert "data-cell" not in bare
    assert len(bare) < len(whole) * 0.7
    for paint in {name for text in re.findall(r'class="([^"]*)"', bare) for name in text.split()} - {"ggp-board"}:
        assert f".{paint}{{" in bare
    assert ".f-orange{" not in bare


def test_every_class_has_its_rule() -> None:
    style = picture_style()
    svg = "".join(
        picture_svg(shipped.picture_of(name, 5), has_style=False) for name in ("connectfour", "dotsandboxes", "reversi")
    )
    used = {name for found in re.findall(r'class="([^"]*)"', svg) for name in found.split() if name[:2] in ("f-", "s-")}
    assert used
    assert all(f".{name}{{" in style for name in used)


def test_themes() -> None:
    assert "prefers-color-scheme" in picture_style()
    assert "prefers-color-scheme" not in picture_style("dark")
    assert picture_style("dark") != picture_style("light")
    assert "<style>" in picture_svg(shipped.picture_of("tictactoe"))
    assert "style" not in picture_svg(shipped.picture_of("tictactoe"), has_style=False)


HOSTILE = (
    "<script>alert(1)</script>",
    '"onload="alert(1)',
    "&amp;",
    "]]>",
    "'x'",
    "\x01\x02",
    "\ud800",
    "\U0001f600",
    "a" * 500,
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    """As a piece, a coordinate, a label and a listed fact: it is text, and only text."""
    picture = picture_of(
        "(n 1) (n 2) (<= (init (at ?i ?j b)) (n ?i) (n ?j)) (init (at 1 1 evil)) (init (label evil))"
        "(init (p a b (f evil))) (<= (next ?f) (true ?f))"
    )
    svg = picture_svg(_renamed(picture, name), name)
    root = checked(svg)
    assert root.findtext(f"{SVG}title") == re.sub("[\x01\x02\ud800]", "\ufffd", name)
    picture_png(_renamed(picture, name), name, scale=1.0)


def _renamed(picture: Picture, name: str) -> Picture:
    """With the piece, its cell and everything else called so."""

    def cell(old: Cell) -> Cell:
        pieces = tuple(Piece(name, replace(piece.mark, letters=name)) for piece in old.pieces)
        return replace(old, pieces=pieces, spot=Spot(name, (name, name)), notes=(name,))

    boards = tuple(
        replace(
            board,
            title=name,
            cells=tuple(map(cell, board.cells)),
            rows=tuple(replace(r, text=name) for r in board.rows),
        )
        for board in picture.boards
    )
    return Picture(boards, (Value(name, (ValueEntry(name, name),)),), (("p", name, name, name),), ())


def test_hostile_rules_from_text_to_picture() -> None:
    picture = picture_of('(n <b>) (n &lt) (<= (init (at ?i ?j "/>)) (n ?i) (n ?j)) (<= (next ?f) (true ?f))')
    root = checked(picture_svg(picture))
    text = " ".join(element.text or "" for element in root.iter())
    assert all(word in text for word in ("<b>", "&lt", '"/>'))


def test_long_lists_of_facts_end_in_a_number() -> None:
    facts = " ".join(f"(init (p {number} {number} (f {number})))" for number in range(400))
    drawing = make_drawing(picture_of(facts))
    texts = [shape.text for group in drawing.groups for shape in group.shapes if isinstance(shape, Text)]
    assert len(texts) <= 31
    assert re.fullmatch(r"… and \d+ more lines", texts[-1])


def test_a_state_without_anything_is_a_picture_too() -> None:
    root = checked(picture_svg(Picture((), (), (), ()), "nothing"))
    assert [element.tag.removeprefix(SVG) for element in root] == ["title", "style", "rect"]


def test_png() -> None:
    picture = shipped.picture_of("tictactoe", 3)
    drawing = make_drawing(picture, "t")
    light, dark = (Image.open(BytesIO(picture_png(picture, "t", theme=theme))) for theme in ("light", "dark"))
    assert light.format == "PNG"
    assert light.size == (round(2 * drawing.width), round(2 * drawing.height))
    assert light.convert("L").getpixel((2, 2)) == 255
    assert dark.convert("L").getpixel((2, 2)) == 25


def test_cells_are_where_the_picture_says() -> None:
    """Rows from the top, columns from the left."""
    picture = shipped.picture_of("breakthrough")
    drawing = make_drawing(picture)
    places = {}
    for group in drawing.groups:
        if group.kind == "cell":
            rect = group.shapes[0]
            assert isinstance(rect, Rect)
            places[group.data["cell"]] = (rect.x, rect.y)
    assert places["1 8"][1] < places["1 1"][1]
    assert places["1 1"][0] < places["8 1"][0]
    assert places["1 1"][1] == places["8 1"][1]
