"""Pictures one after the other → an animated SVG, GIF or WebP."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Literal, NamedTuple

from ggp.boards.drawing import make_drawing
from ggp.boards.marks import Picture
from ggp.boards.shapes import Drawing, Theme, drawing_png, drawing_svg

if TYPE_CHECKING:
    from PIL.Image import Image

_LAST = 3.0  # times as long as the others is the last picture shown
_LOOPS = 0  # for ever, as GIF and WebP say it


class Frame(NamedTuple):
    """A picture with a title, such as the moves that led to it."""

    title: str
    picture: Picture


def animated_svg(frames: Sequence[Frame], seconds: float = 1.0, *, theme: Theme = "auto") -> str:
    """One SVG that shows each picture for so many seconds, for ever; without scripts and references.

    Where animations are switched off, or not known, it shows the last picture.
    """
    drawings = [make_drawing(frame.picture, frame.title) for frame in frames]
    width, height = (max(sizes) for sizes in zip(*((each.width, each.height) for each in drawings), strict=True))
    total = seconds * (len(frames) - 1 + _LAST)
    parts = []
    for number, drawing in enumerate(drawings):
        is_last = number == len(drawings) - 1
        begin, end = number * seconds / total, 1.0 if is_last else (number + 1) * seconds / total
        shown = f"values='none;inline;none' keyTimes='0;{begin:.6f};{end:.6f}'"
        if number == 0:
            shown = f"values='inline;none' keyTimes='0;{end:.6f}'"
        elif is_last:
            shown = f"values='none;inline' keyTimes='0;{begin:.6f}'"
        step = (
            f"<animate attributeName='display' calcMode='discrete' dur='{total:g}s' repeatCount='indefinite' {shown}/>"
        )
        parts.append(
            f"<g display='{'inline' if is_last else 'none'}'>{step if len(drawings) > 1 else ''}"
            f"{drawing_svg(drawing, has_style=False)}</g>\n"
        )
    paper = Drawing(width, height, ())
    opening, closing = drawing_svg(paper, theme=theme).rsplit("</svg>", 1)
    return f"{opening}{''.join(parts)}</svg>{closing}"


def animated_image(
    frames: Sequence[Frame],
    kind: Literal["gif", "webp"],
    seconds: float = 1.0,
    *,
    theme: Literal["light", "dark"] = "light",
    scale: float = 1.5,
) -> bytes:
    """The same as the bytes of a GIF or WebP, with `scale` pixels for each unit of length."""
    images = [_image(frame, theme, scale) for frame in frames]
    size = max(image.width for image in images), max(image.height for image in images)
    placed = [_enlarged(image, size) for image in images]
    lengths = [round(1000 * seconds)] * (len(placed) - 1) + [round(1000 * seconds * _LAST)]
    out = BytesIO()
    more = {"lossless": True} if kind == "webp" else {"optimize": True}
    placed[0].save(
        out, format=kind.upper(), save_all=True, append_images=placed[1:], duration=lengths, loop=_LOOPS, **more
    )
    return out.getvalue()


def _image(frame: Frame, theme: Literal["light", "dark"], scale: float) -> "Image":
    from PIL import Image  # noqa: PLC0415 - only to write such files

    return Image.open(BytesIO(drawing_png(make_drawing(frame.picture, frame.title), theme=theme, scale=scale)))


def _enlarged(image: "Image", size: tuple[int, int]) -> "Image":
    """The same on paper of this size."""
    from PIL import Image  # noqa: PLC0415 - as above

    paper = Image.new("RGB", size, image.convert("RGB").getpixel((0, 0)))
    paper.paste(image.convert("RGB"), (0, 0))
    return paper
