"""Ratings → plots as SVG text that stands within a page: its colours are variables, its names are real text.

A page may set --plot-ink, --plot-soft, --plot-grid and --plot-0 to --plot-7; there are defaults for white paper. There
are no scripts, no styles and no references to anything outside, and the same ratings give the same bytes.
"""

import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gamemaster.tournament.ratings import Estimate, Moment

WIDTH = 460.0  # of all plots, in units of the picture
ROW = 22.0  # height of a player in the plot of ratings
HEIGHT = 300.0  # of the plot of their course
COLOURED = 8  # players that have a colour of their own
LONGEST_NAME = 22  # characters of a name that are shown; pointing at it shows the rest
FONT_SIZE = 11.5

_INK, _SOFT, _GRID = "#010101", "#020202", "#030303"  # stand for variables until the picture is done
_LINES = tuple(f"#0400{number:02x}" for number in range(COLOURED))
_VARIABLES = {
    _INK: "var(--plot-ink, #1b1f24)",
    _SOFT: "var(--plot-soft, #5c6670)",
    _GRID: "var(--plot-grid, #d8dde3)",
    _LINES[0]: "var(--plot-0, #0072b2)",
    _LINES[1]: "var(--plot-1, #d55e00)",
    _LINES[2]: "var(--plot-2, #007a5a)",
    _LINES[3]: "var(--plot-3, #b0518a)",
    _LINES[4]: "var(--plot-4, #8a6d00)",
    _LINES[5]: "var(--plot-5, #3a8fc7)",
    _LINES[6]: "var(--plot-6, #7a4bb5)",
    _LINES[7]: "var(--plot-7, #444b53)",
}
_DASHES = ("-", "--", "-.", ":")  # in turn, so that no line is told by its colour alone
_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"
_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings are of the whole process


@contextmanager
def _settings() -> Iterator[None]:
    """The same ones whatever a user has set, for one thread at a time."""
    with _ONE_AT_A_TIME, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["svg.fonttype"] = "none"  # texts stay texts
        mpl.rcParams["font.size"] = FONT_SIZE
        yield


@_settings()
def rating_plot(ratings: Sequence[tuple[str, Estimate]], title: str) -> str:
    """A row for each player in the order given: a dot for the rating, a line for its 95 % interval."""
    names = [name for name, _ in ratings]
    longest = max((len(_shortened(name)) for name in names), default=0)
    figure, axes = _figure(ROW * len(ratings) + 50, left=24 + FONT_SIZE * 0.62 * longest, right=24)
    for row, (_, rating) in enumerate(ratings):
        axes.plot([rating.low, rating.high], [row, row], color=_LINES[0], linewidth=2, solid_capstyle="round")
        axes.plot([rating.value], [row], "o", color=_LINES[0], markersize=5)
        axes.annotate(
            _placeholder(row),
            (0, row),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            xytext=(-10, 0),
            ha="right",
            va="center",
            color=_INK,
        )
    axes.set_ylim(len(ratings) - 0.4, -0.6)
    axes.set_yticks([])
    axes.axvline(0, color=_SOFT, linewidth=1)
    axes.set_xlabel("Elo points, with 95 % intervals", color=_SOFT)
    return _text(figure, title, names)


@_settings()
def course_plot(moments: Sequence[Moment], players: Sequence[str], title: str) -> str:
    """A line for each player; those that come first have a colour and their name at its end."""
    figure, axes = _figure(HEIGHT, left=54, right=138)
    shown = players[:COLOURED]
    for player in players[COLOURED:]:
        axes.plot(*_points(moments, player), color=_GRID, linewidth=1)
    ends: dict[int, float] = {}
    for number, player in enumerate(shown):
        matches, elo = _points(moments, player)
        dashes = _DASHES[number % len(_DASHES)]
        axes.plot(matches, elo, dashes, color=_LINES[number], linewidth=1.8, marker="o", markersize=2.5)
        if elo:
            ends[number] = elo[-1]
    axes.set_xlabel("rated matches, in the order of the schedule", color=_SOFT)
    axes.set_ylabel("Elo points", color=_SOFT)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.get_ylim()
    for number, height in _apart(ends, (high - low) * 1.6 * FONT_SIZE / HEIGHT).items():
        axes.annotate(
            _placeholder(number),
            (1, height),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            xytext=(8, 0),
            va="center",
            color=_LINES[number],
            annotation_clip=False,
        )
    return _text(figure, title, shown)


def _figure(height: float, left: float, right: float) -> tuple[Figure, Axes]:
    """A figure with axes; margins in units of the picture."""
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    box = (left / WIDTH, 40 / height, 1 - (left + right) / WIDTH, 1 - 50 / height)
    axes = figure.add_axes(box)
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_GRID)
    axes.tick_params(colors=_SOFT, length=0)
    axes.grid(visible=True, color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def _points(moments: Sequence[Moment], player: str) -> tuple[list[int], list[float]]:
    there = [moment for moment in moments if player in moment.elo]
    return [moment.matches for moment in there], [moment.elo[player] for moment in there]


def _apart(heights: Mapping[int, float], gap: float) -> dict[int, float]:
    """The same moved as little as needed for no two to be closer than the gap; their order is kept."""
    ordered = sorted(heights, key=lambda number: heights[number])
    blocks: list[tuple[list[int], float]] = []  # those that touch each other, and the middle of them
    for number in ordered:
        members, middle = [number], heights[number]
        while blocks and blocks[-1][1] + gap * (len(blocks[-1][0]) + len(members)) / 2 > middle:
            before, centre = blocks.pop()
            middle = (centre * len(before) + middle * len(members)) / (len(before) + len(members))
            members = before + members
        blocks.append((members, middle))
    return {
        number: middle + gap * (place - (len(members) - 1) / 2)
        for members, middle in blocks
        for place, number in enumerate(members)
    }


def _text(figure: Figure, title: str, names: Sequence[str]) -> str:
    """The figure as SVG; names come into it only here, so that no text of a player is ever drawn or parsed."""
    file = io.StringIO()
    mpl.rcParams["svg.hashsalt"] = title  # two plots of one page share no identifiers
    figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())  # noqa: S314 - it was written here
    for element in [*root]:
        if element.tag == f"{{{_SVG}}}metadata":
            root.remove(element)
    used = set(
        re.findall(r"#([\w-]+)", " ".join(value for element in root.iter() for value in element.attrib.values()))
    )
    for element in root.iter():
        for child in [*element]:
            if child.tag == f"{{{_SVG}}}style":
                element.remove(child)
        _plain(element, used)
        _name(element, names)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "class": "plot"}
    head = ElementTree.Element(f"{{{_SVG}}}title")
    head.text = title
    root.insert(0, head)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return ElementTree.tostring(root, encoding="unicode")


def _plain(element: ElementTree.Element, used: set[str]) -> None:
    """Styles become attributes, which any page allows; identifiers that nothing refers to go."""
    if element.attrib.get("id") not in used:
        element.attrib.pop("id", None)
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name and name != "font-family":  # that of the page
            element.attrib[name] = value
    for name, value in element.attrib.items():
        element.attrib[name] = _VARIABLES.get(value, value)


def _placeholder(number: int) -> str:
    return f"name{number}"


def _name(element: ElementTree.Element, names: Sequence[str]) -> None:
    """A name in place of what stood for it, shortened if need be."""
    found = re.fullmatch(r"name(\d+)", element.text or "")
    if element.tag != f"{{{_SVG}}}text" or not found:
        return
    name = names[int(found[1])]
    element.text = _shortened(name)
    whole = ElementTree.SubElement(element, f"{{{_SVG}}}title")
    whole.text = name


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
