"""Plots: ratings and values → SVG within a page. Names are hostile text in it."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from ggp.plots import Curve, course_plot, rating_plot, value_plot

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$\\frac{}$ & 名前 👾", "_{{ 7*7 }}")


class Rating(NamedTuple):
    value: float
    low: float
    high: float


def ratings(*names: str) -> Markup:
    rated = [Rating(v, v - 50, v + 60) for v in (9.0, 3.0, -2.0, -10.0)]
    return rating_plot(list(zip(names, rated, strict=False)), "a title")


def course(*names: str) -> Markup:
    return course_plot([Curve(name, ((1, 1.0), (5, 2.0), (9, -3.0))) for name in names], "a title", "matches", "Elo")


def values(*names: str) -> Markup:
    return value_plot([Curve(name, ((0, 0.0), (4, 100.0))) for name in names], 4, 2)


@pytest.mark.parametrize("plot", [ratings, course, values])
def test_hostile_names_are_only_text(plot: Callable[..., Markup]) -> None:
    root = ElementTree.fromstring(f"<div>{plot(*HOSTILE)}</div>")
    assert {element.tag for element in root.iter()} <= {
        "div",
        "svg",
        "title",
        "g",
        "path",
        "circle",
        "text",
        "ul",
        "li",
    }
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not attributes & {"id", "style", "href", "fill", "stroke"}  # the page's style sheet has the colours
    texts = [text for element in root.iter() for text in (element.text or "", element.get("aria-label") or "")]
    assert all(any(name in text for text in texts) for name in HOSTILE)


@pytest.mark.parametrize("plot", [ratings, course])
def test_long_names_are_cut_and_shown_whole_when_pointed_at(plot: Callable[..., Markup]) -> None:
    root = ElementTree.fromstring(plot("a" * 40))
    (label,) = [element for element in root.iter("text") if element.get("class") == "label"]
    assert label.text == "a" * 21 + "…"
    assert [title.text for title in label.iter("title")] == ["a" * 40]


def test_a_point_and_an_interval_for_each_rating() -> None:
    root = ElementTree.fromstring(ratings("first", "second"))
    points = [float(point.attrib["cx"]) for point in root.iter("circle")]
    spans = [path.attrib["d"] for path in root.iter("path") if path.get("class") == "whisker"]
    for point, span in zip(points, spans, strict=True):
        low, high = (float(end.split()[0]) for end in span.removeprefix("M").split("H"))
        assert (point - low) / (high - low) == pytest.approx(50 / 110, abs=0.01)
    assert points[0] > points[1]
    assert "first: 9, from -41 to 69" in [title.text for title in root.iter("title")]


def test_names_at_the_ends_of_curves_do_not_cover_each_other() -> None:
    curves = [Curve(f"p{number}", tuple((n, 100 + number / 100) for n in (1, 2))) for number in range(8)]
    root = ElementTree.fromstring(course_plot(curves, "equal", "matches", "Elo"))
    labels = {element.text or "": float(element.attrib["y"]) for element in root.iter("text") if element.get("class")}
    assert sorted(labels, key=labels.__getitem__) == [f"p{number}" for number in range(7, -1, -1)]
    assert min(later - earlier for earlier, later in pairwise(sorted(labels.values()))) > 15


def test_the_first_eight_curves_have_a_name_and_differ_by_more_than_their_colour() -> None:
    root = ElementTree.fromstring(course(*(f"p{number}" for number in range(11))))
    shown = [group.attrib["class"] for group in root.iter("g")]
    assert shown == [f"s{number}" for number in range(1, 9)]
    dashes = [path.attrib["stroke-dasharray"] for path in root.iter("path") if path.get("class") == "curve"]
    assert all(one != other for one, other in pairwise(dashes))
    assert len([path for path in root.iter("path") if path.get("class") == "axis" and "L" in path.attrib["d"]]) == 3


def test_values_of_a_match() -> None:
    plot = value_plot([Curve("x", ((0, 0.0), (4, 100.0))), Curve("o", ((1, 50.0),))], 4, 2)
    assert plot.count('class="point"') == 3
    assert 'd="M44 146L410 14"' in plot
    assert '<path class="here" d="M227 14V146"/>' in plot
    assert "x 0 in state 0, 100 in state 4, all from 0 to 100; o 50 in state 1." in plot
    assert 'd="M44 80"' in value_plot([Curve("a", ((0, 50.0),))], 0, 0)


def test_nothing_to_show_is_no_plot() -> None:
    assert (rating_plot([], "t"), course_plot([], "t", "x", "y"), value_plot([], 4, 0)) == ("", "", "")
