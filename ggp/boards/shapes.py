"""Shapes with named colours, and what they become: SVG, or PNG by matplotlib. Lengths are pixels, from the upper left.

Rulesheets are hostile text: all of it is escaped, and none of it becomes the name of an element, class or attribute.
"""

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.patches import Patch


Point: TypeAlias = tuple[float, float]  # x, y
Anchor = Literal["start", "middle", "end"]
Theme = Literal["auto", "light", "dark"]

_NARROW, _WIDE = frozenset("fijlrtI1.,:;'|() "), frozenset("mwMWQOGDS–…")  # letters
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_BASELINE = 0.35  # from the middle of letters to their baseline, by their size
_ROOT = "ggp-board"
_PAINT = re.compile(r"(?<=[\" ][fs]-)[a-z-]+")
_DPI = 100
_POINTS = 72 / _DPI  # in a pixel
_ALIGNMENTS: Mapping[Anchor, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_FONT = 0.92  # the letters of matplotlib's font are wider than those of most

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff", "cell": "#f8f5ee", "shade": "#e3dac8", "grid": "#b8ad9a", "ink": "#20242a", "dim": "#5d6670",
    "marked": "#ffd75e", "faint": "#cfc7b8", "white": "#ffffff", "black": "#23262b", "white-edge": "#3a3f47",
    "black-edge": "#d9dde2", "edge": "#20242a", "sheet": "#2b62a8", "blue": "#0072b2", "red": "#cc3311",
    "green": "#009e73",
    "orange": "#e69f00", "purple": "#cc79a7", "sky": "#56b4e9", "yellow": "#f0e442", "grey": "#6b7077",
    "on-light": "#16181b", "on-dark": "#ffffff",
}  # fmt: skip
DARK: Mapping[str, str] = {
    **LIGHT,
    "paper": "#16191d", "cell": "#333c47", "shade": "#22282f", "grid": "#566170", "ink": "#e8ebee", "dim": "#a3adb8",
    "marked": "#8a6d00", "faint": "#414a56", "black": "#0b0c0e", "black-edge": "#c3cad2", "white": "#f4f5f6",
    "edge": "#e8ebee", "sheet": "#2a5188", "blue": "#3d9fdc", "red": "#f0603f",
    "green": "#1fbf92", "purple": "#dc93bb", "sky": "#9ad4f7",
    "grey": "#8d949d", "on-dark": "#0b0c0e",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Brush:
    """The colours of a shape, by name; None: no fill, or no stroke; "none": invisible, but it can be clicked."""

    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0  # of the stroke


@dataclass(frozen=True, slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    brush: Brush
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Circle:
    x: float
    y: float
    radius: float
    brush: Brush


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    brush: Brush


@dataclass(frozen=True, slots=True)
class Polyline:
    """Joined segments with round ends."""

    points: tuple[Point, ...]
    brush: Brush


@dataclass(frozen=True, slots=True)
class Text:
    """One line; `y` is its middle."""

    x: float
    y: float
    text: str
    size: float
    paint: str = "ink"
    anchor: Anchor = "middle"
    is_bold: bool = False


Shape: TypeAlias = Rect | Circle | Polygon | Polyline | Text


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Shapes that belong together, with their description and data attributes for scripts."""

    shapes: tuple[Shape, ...]
    label: str = ""
    kind: str = ""  # its class: cell, line …
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole picture."""

    width: float
    height: float
    groups: tuple[ShapeGroup, ...]
    title: str = ""


def placed(shape: Shape, x: float, y: float, scale: float = 1.0) -> Shape:
    """The shape scaled around (0, 0) and then moved; strokes and letters keep their size."""
    match shape:
        case Rect():
            width, height, radius = scale * shape.width, scale * shape.height, scale * shape.radius
            return Rect(x + scale * shape.x, y + scale * shape.y, width, height, shape.brush, radius)
        case Circle():
            return replace(shape, x=x + scale * shape.x, y=y + scale * shape.y, radius=scale * shape.radius)
        case Text():
            return replace(shape, x=x + scale * shape.x, y=y + scale * shape.y)
        case Polygon() | Polyline():
            return replace(shape, points=tuple((x + scale * u, y + scale * v) for u, v in shape.points))


def printable(text: str) -> str:
    """The text with U+FFFD for characters that XML forbids: control characters and lone surrogates."""
    return _INVALID.sub("\ufffd", text)


def approximate_width(text: str, size: float) -> float:
    """About the width of a line of text, in any font: a little more rather than less."""
    return size * sum(0.4 if letter in _NARROW else 0.95 if letter in _WIDE else 0.68 for letter in text)


def picture_style(theme: Theme = "auto", paints: Collection[str] = tuple(LIGHT)) -> str:
    """The style sheet of all pictures, or of those that have these paints only.

    Light or dark as the reader's system says, unless a theme is given.
    """
    light, dark = ("".join(f"--{name}:{p[name]};" for name in paints) for p in (LIGHT, DARK))
    rules = [f".{_ROOT}{{{dark if theme == 'dark' else light}font-family:system-ui,sans-serif}}"]
    if theme == "auto":
        rules.append(f"@media (prefers-color-scheme:dark){{.{_ROOT}{{{dark}}}}}")
    rules += [f".{_ROOT} .f-{name}{{fill:var(--{name})}}.{_ROOT} .s-{name}{{stroke:var(--{name})}}" for name in paints]
    return "\n".join(rules)


def drawing_svg(drawing: Drawing, *, has_style: bool = True, has_names: bool = True, theme: Theme = "auto") -> str:
    """Shapes as SVG. has_names: parts have titles; a file that pages show as an image needs none."""
    wide, high = _n(drawing.width), _n(drawing.height)
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    label = f" aria-label={_attribute(drawing.title)}" if drawing.title else ""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" class="{_ROOT}" role="group"{label} {size}>']
    if drawing.title:
        lines.append(f"<title>{_text(drawing.title)}</title>")
    parts = [_element(Rect(0, 0, drawing.width, drawing.height, Brush("paper")))] if has_style else []
    for group in drawing.groups:
        parts += _group(group) if has_names else map(_element, group.shapes)
    if has_style:
        used = {paint for part in parts for paint in _PAINT.findall(part)}
        lines.append(f"<style>{picture_style(theme, LIGHT if has_names else sorted(used))}</style>")
    lines += parts
    return "\n".join([*lines, "</svg>"]) + "\n"


def _group(group: ShapeGroup) -> Iterator[str]:
    attributes = [f"class={_attribute(group.kind)}"] if group.kind else []
    attributes += [f"data-{name}={_attribute(value)}" for name, value in group.data.items()]
    if group.label:
        attributes += ['role="img"', f"aria-label={_attribute(group.label)}"]
    yield " ".join(["<g", *attributes]) + ">"
    if group.label:
        yield f"<title>{_text(group.label)}</title>"
    yield from map(_element, group.shapes)
    yield "</g>"


def _element(shape: Shape) -> str:
    match shape:
        case Rect():
            place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'
            corner = f' rx="{_n(shape.radius)}"' if shape.radius else ""
            return f"<rect {place}{corner} {_brush(shape.brush)}/>"
        case Circle():
            return f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}" {_brush(shape.brush)}/>'
        case Polygon():
            return f'<polygon points="{_points(shape.points)}" stroke-linejoin="round" {_brush(shape.brush)}/>'
        case Polyline():
            return f'<polyline points="{_points(shape.points)}" stroke-linecap="round" {_brush(shape.brush)}/>'
        case Text():
            place = f'x="{_n(shape.x)}" y="{_n(shape.y + _BASELINE * shape.size)}" font-size="{_n(shape.size)}"'
            weight = ' font-weight="700"' if shape.is_bold else ""
            kind = f'text-anchor="{shape.anchor}"{weight} class="f-{shape.paint}"'
            return f"<text {place} {kind}>{_text(shape.text)}</text>"


def _brush(brush: Brush) -> str:
    """Classes of the style sheet; `none` is invisible and can still be clicked."""
    classes = [f"f-{brush.fill}"] if brush.fill and brush.fill != "none" else []
    classes += [f"s-{brush.stroke}"] if brush.stroke and brush.stroke != "none" else []
    attributes = [f'class="{" ".join(classes)}"'] if classes else []
    if brush.fill is None or brush.fill == "none":
        attributes.append('fill="none"')
    if brush.stroke == "none":
        attributes.append('stroke="transparent"')
    if brush.stroke:
        attributes.append(f'stroke-width="{_n(brush.width)}"')
    if "none" in (brush.fill, brush.stroke):
        attributes.append('pointer-events="all"')
    return " ".join(attributes)


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(number: float) -> str:
    """Short: two digits after the point at most."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(printable(text), quote=False)


def _attribute(text: str) -> str:
    return f'"{escape(printable(text))}"'


def drawing_png(drawing: Drawing, *, theme: Literal["light", "dark"] = "light", scale: float = 2.0) -> bytes:
    """Shapes as the bytes of a PNG. matplotlib is slow to load, so it is loaded here only."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - as said above
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
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it draws a box instead, which is fine
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
