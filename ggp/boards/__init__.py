"""What a state looks like: `find_layout` once for a game, then `make_picture` for each state.

    from ggp.boards import find_layout, make_picture, move_cells

    layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)
    picture = make_picture(layout, state.terms)
    clicks = move_cells(layout, move)

Nothing is known here of a particular game: docs/boards.md says how it is found out.
"""

from ggp.boards.clicking import move_cells
from ggp.boards.finding import find_layout, hinted_layout
from ggp.boards.layouts import Layout
from ggp.boards.picture import Board, Cell, Entry, Label, Line, Picture, Piece, Spot, Value, Wall
from ggp.boards.picturing import make_picture

__all__ = [
    "Board",
    "Cell",
    "Entry",
    "Label",
    "Layout",
    "Line",
    "Picture",
    "Piece",
    "Spot",
    "Value",
    "Wall",
    "find_layout",
    "hinted_layout",
    "make_picture",
    "move_cells",
]
