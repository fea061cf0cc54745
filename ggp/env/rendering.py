"""A state of an environment → a picture, by the drawing of `ggp.boards`."""

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.boards import Layout, make_picture, picture_lines, picture_png, plain_text
from ggp.errors import HiddenStateError
from ggp.game import State


def draw_png(state: State, layout: Layout) -> bytes:
    return picture_png(make_picture(layout, state.terms))


def draw_text(state: State, layout: Layout) -> str:
    return plain_text(picture_lines(make_picture(layout, state.terms)))


def draw_rgb(state: State, layout: Layout) -> NDArray[np.uint8]:
    """(height, width, 3) as wide and high as the PNG."""
    from matplotlib.image import imread  # noqa: PLC0415 - slow to load

    pixels: NDArray[Any] = imread(BytesIO(draw_png(state, layout)), format="png")
    return np.round(pixels[..., :3] * 255).astype(np.uint8)


def check_visible(state: State) -> None:
    """HiddenStateError for a game whose rules hide the state: a picture would show it to every role."""
    if state.game.rulesheet.has_percepts:
        raise HiddenStateError(f"{state.game.name}: the rules hide the state from the roles, so it is not drawn")
