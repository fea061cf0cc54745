"""What a state looks like, found out from the rules; docs/boards.md says how. No game is known here by its name.

    layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)   # once for a game
    picture = make_picture(layout, state.terms)                                 # for each state
    svg, text = picture_svg(picture), plain_text(picture_lines(picture))
    clicks = move_cells(layout, move)

Files, in reading order:

* `marks`: what a state looks like, as values, and how pieces look, by their names
* `layout`: how the facts of a game become pictures; `finding`: rules → layout, by way of
  `profiles` (of relations, and orders of constants), `groups` (relations about the same cells) and `grids`,
  or `hints` (what the metadata of a game say)
* `text`: picture → lines of text; `drawing`: picture → shapes; `shapes`: shapes → SVG and PNG; `animation`: pictures
  one after the other → SVG, GIF and WebP
"""

from ggp.boards.animation import Frame, animated_image, animated_svg
from ggp.boards.drawing import picture_png, picture_svg, thumbnail_svg
from ggp.boards.finding import find_layout
from ggp.boards.hints import hinted_words, role_colours
from ggp.boards.layout import Layout, make_picture, move_cells
from ggp.boards.marks import Board, Cell, Label, LineSegment, Mark, Picture, Piece, Spot, Value, ValueEntry, Wall
from ggp.boards.shapes import picture_style
from ggp.boards.text import Span, Style, TextLine, list_facts, picture_lines, plain_text

__all__ = [
    "Board",
    "Cell",
    "Frame",
    "Label",
    "Layout",
    "LineSegment",
    "Mark",
    "Picture",
    "Piece",
    "Span",
    "Spot",
    "Style",
    "TextLine",
    "Value",
    "ValueEntry",
    "Wall",
    "animated_image",
    "animated_svg",
    "find_layout",
    "hinted_words",
    "list_facts",
    "make_picture",
    "move_cells",
    "picture_lines",
    "picture_png",
    "picture_style",
    "picture_svg",
    "plain_text",
    "role_colours",
    "thumbnail_svg",
]
