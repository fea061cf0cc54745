"""Picture → an image: `board_svg` gives text, `board_png` bytes, `board_style` the style sheet for pages of boards."""

from ggp.boards.pictures.png import board_png
from ggp.boards.pictures.svg import board_style, board_svg

__all__ = ["board_png", "board_style", "board_svg"]
