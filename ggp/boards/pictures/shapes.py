"""Shapes with named paints, of which a drawing is made, whichever file it becomes. Lengths are pixels, from the top."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]  # x, y
Anchor = Literal["start", "middle", "end"]

_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff", "cell": "#f8f5ee", "shade": "#e3dac8", "grid": "#b8ad9a", "ink": "#20242a", "dim": "#5d6670",
    "marked": "#ffd75e", "faint": "#cfc7b8", "white": "#ffffff", "black": "#23262b", "white-edge": "#3a3f47",
    "black-edge": "#d9dde2", "edge": "#20242a", "blue": "#0072b2", "red": "#d55e00", "green": "#009e73",
    "orange": "#e69f00", "purple": "#cc79a7", "sky": "#56b4e9", "yellow": "#f0e442", "grey": "#6b7077",
    "on-light": "#16181b", "on-dark": "#ffffff",
}  # fmt: skip
DARK: Mapping[str, str] = {
    **LIGHT,
    "paper": "#16191d", "cell": "#333c47", "shade": "#22282f", "grid": "#566170", "ink": "#e8ebee", "dim": "#a3adb8",
    "marked": "#8a6d00", "faint": "#414a56", "black": "#0b0c0e", "black-edge": "#c3cad2", "white": "#f4f5f6",
    "edge": "#e8ebee", "blue": "#3d9fdc", "red": "#f07a1f", "green": "#1fbf92", "purple": "#dc93bb", "sky": "#9ad4f7",
    "grey": "#8d949d", "on-dark": "#0b0c0e",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Brush:
    """The paints of a shape; None: not at all."""

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
class Group:
    """Shapes that are one thing, with what it is called and attributes for whoever looks it up."""

    shapes: tuple[Shape, ...]
    label: str = ""
    kind: str = ""  # of what: cell, line
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole picture."""

    width: float
    height: float
    groups: tuple[Group, ...]
    title: str = ""


def printable(text: str) -> str:
    """Without what no XML and no font can hold: control characters and halves of surrogate pairs."""
    return _INVALID.sub("\ufffd", text)


def approximate_width(text: str, size: float) -> float:
    """Of a line of text; no font is asked."""
    return 0.62 * size * len(text)
