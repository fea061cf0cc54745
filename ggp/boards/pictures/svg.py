"""Shapes → SVG. Rulesheets are hostile text: all of it is escaped, and nothing of it is ever a name of ours."""

from collections.abc import Collection, Iterator
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from ggp.boards import Picture, Spot
from ggp.boards.pictures.scene import make_drawing
from ggp.boards.pictures.shapes import (
    DARK,
    LIGHT,
    Brush,
    Circle,
    Drawing,
    Group,
    Polygon,
    Polyline,
    Rect,
    Shape,
    Text,
    printable,
)

Theme = Literal["auto", "light", "dark"]

_BASELINE = 0.35  # of the size of letters: from their middle to the line that they stand on
_ROOT = "ggp-board"


def board_svg(
    picture: Picture,
    title: str = "",
    *,
    marked: Collection[Spot] = (),
    has_values: bool = True,
    has_style: bool = True,
    theme: Theme = "auto",
) -> str:
    """The picture as the text of an SVG image, without scripts and references.

    marked: cells to highlight. has_values: labelled values and other facts below the boards. has_style: with the
    colours in it, as a file needs it; a page that has `board_style()` in its own style sheet leaves them out.

    Every cell is a `<g class="cell" data-board="…" data-cell="…">` with the constants of its coordinates, separated by
    spaces; every line between dots a `<g class="line" data-board data-from data-to data-drawn="yes|no">`. Both have
    a `<title>` and an `aria-label`.
    """
    return drawing_svg(make_drawing(picture, title, marked, has_values=has_values), has_style=has_style, theme=theme)


def board_style(theme: Theme = "auto") -> str:
    """The style sheet of all boards: their colours, light or dark as the reader likes it, unless the theme says."""
    light, dark = ("".join(f"--{name}:{colour};" for name, colour in p.items()) for p in (LIGHT, DARK))
    rules = [f".{_ROOT}{{{dark if theme == 'dark' else light}font-family:system-ui,sans-serif}}"]
    if theme == "auto":
        rules.append(f"@media (prefers-color-scheme:dark){{.{_ROOT}{{{dark}}}}}")
    rules += [f".{_ROOT} .f-{name}{{fill:var(--{name})}}.{_ROOT} .s-{name}{{stroke:var(--{name})}}" for name in LIGHT]
    return "\n".join(rules)


def drawing_svg(drawing: Drawing, *, has_style: bool = True, theme: Theme = "auto") -> str:
    """Shapes as SVG."""
    wide, high = _n(drawing.width), _n(drawing.height)
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    label = f" aria-label={_attribute(drawing.title)}" if drawing.title else ""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" class="{_ROOT}" role="group"{label} {size}>']
    if drawing.title:
        lines.append(f"<title>{_text(drawing.title)}</title>")
    if has_style:
        lines.append(f"<style>{board_style(theme)}</style>")
        lines.append(_element(Rect(0, 0, drawing.width, drawing.height, Brush("paper"))))
    for group in drawing.groups:
        lines += _group(group)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _group(group: Group) -> Iterator[str]:
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
    """Classes of the style sheet; what is `none` is not seen and can still be clicked."""
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
    return escape(printable(text))


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
