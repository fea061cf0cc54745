"""Shapes → PNG, by matplotlib, which is slow to load and so is loaded here only when it is needed."""

import warnings
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Literal

from ggp.boards import Picture
from ggp.boards.pictures.scene import make_drawing
from ggp.boards.pictures.shapes import (
    DARK,
    LIGHT,
    Anchor,
    Brush,
    Circle,
    Drawing,
    Polygon,
    Polyline,
    Rect,
    Shape,
    Text,
    printable,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.patches import Patch

_DPI = 100
_POINTS = 72 / _DPI  # in a pixel
_ALIGNMENTS: Mapping[Anchor, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_FONT = 0.92  # the letters of matplotlib's font are wider than those of most


def board_png(
    picture: Picture, title: str = "", *, theme: Literal["light", "dark"] = "light", scale: float = 2.0
) -> bytes:
    """The picture as the bytes of a PNG; `scale` is how many pixels one of the drawing becomes."""
    return drawing_png(make_drawing(picture, title), theme=theme, scale=scale)


def drawing_png(drawing: Drawing, *, theme: Literal["light", "dark"] = "light", scale: float = 2.0) -> bytes:
    """Shapes as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see above
    from matplotlib.figure import Figure  # noqa: PLC0415

    paints = {**(DARK if theme == "dark" else LIGHT), "none": "none"}
    figure = Figure((drawing.width / _DPI, drawing.height / _DPI), dpi=_DPI * scale, facecolor=paints["paper"])
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.set_axis_off()
    for number, shape in enumerate(shape for group in drawing.groups for shape in group.shapes):
        artist = _artist(shape, paints)
        artist.set_zorder(number)
        axes.add_artist(artist)
    out = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it draws a box then, which is as well
        figure.savefig(out, format="png", dpi=_DPI * scale)
    return out.getvalue()


def _artist(shape: Shape, paints: Mapping[str, str]) -> "Artist":
    from matplotlib import lines, patches  # noqa: PLC0415
    from matplotlib.text import Text as TextArtist  # noqa: PLC0415

    match shape:
        case Rect():
            box = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
            rect = patches.FancyBboxPatch((shape.x, shape.y), shape.width, shape.height, box)
            return _painted(rect, shape.brush, paints)
        case Circle():
            return _painted(patches.Circle((shape.x, shape.y), shape.radius), shape.brush, paints)
        case Polygon():
            return _painted(patches.Polygon(shape.points, closed=True, joinstyle="round"), shape.brush, paints)
        case Polyline():
            xs, ys = zip(*shape.points, strict=True)
            colour = paints[shape.brush.stroke or "none"]
            return lines.Line2D(xs, ys, linewidth=shape.brush.width * _POINTS, color=colour, solid_capstyle="round")
        case Text():
            return TextArtist(
                shape.x, shape.y, printable(shape.text), color=paints[shape.paint],
                fontsize=shape.size * _POINTS * _FONT,
                horizontalalignment=_ALIGNMENTS[shape.anchor], verticalalignment="center_baseline",
                weight="bold" if shape.is_bold else "normal", parse_math=False,
            )  # fmt: skip


def _painted(patch: "Patch", brush: Brush, paints: Mapping[str, str]) -> "Patch":
    patch.set_facecolor(paints[brush.fill or "none"])
    patch.set_edgecolor(paints[brush.stroke or "none"])
    patch.set_linewidth(brush.width * _POINTS if brush.stroke else 0.0)
    return patch
