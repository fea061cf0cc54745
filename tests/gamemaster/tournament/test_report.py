"""The report: one page that needs nothing else, safe with any names, the same bytes for the same results."""

import random
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import numpy as np
import pytest

from gamemaster.tournament.exporting import match_file, report
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import GameSpec, PlayerSpec, SprtSpec, TournamentSpec
from tests.gamemaster.tournament.simulated import Scenario, result, simulated, strengths
from tests.gamemaster.tournament.test_standings import played

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$\\frac{}$ & 名前 👾", "_{{ 7*7 }}")
EMPTY = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What is in a page; fails where elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}>"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def spec_for(names: list[str] | tuple[str, ...], **fields: object) -> TournamentSpec:
    values = {
        "name": "cup",
        "seed": 7,
        "games": (GameSpec(rules="game.kif"),),
        "players": tuple(PlayerSpec(name=name, bot="random") for name in names),
    }
    return TournamentSpec.model_validate(values | fields)


def event(players: int = 4, takers: int = 2, seed: int = 1) -> tuple[list[str], list[MatchResult]]:
    scenario = Scenario("any", players, 2, draws=0.2, takers=takers)
    chance = np.random.default_rng(seed)
    return simulated(scenario, strengths(scenario, chance), chance)


def called(results: list[MatchResult], names: list[str], others: tuple[str, ...]) -> list[MatchResult]:
    """The same results of players who are called otherwise."""
    new = dict(zip(names, others, strict=True))
    return [
        replace(each, pairing=replace(each.pairing, players=tuple(new[name] for name in each.pairing.players)))
        for each in results
    ]


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    names, results = event()
    page = Page(report(spec_for(names), results, status="complete"))
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "base", "form"} == set()
    references = [value for _, attributes in page.tags for name, value in attributes.items() if name.endswith("href")]
    assert all(re.match(r"#[\w-]+$|matches/[\w.-]+\.json$", reference or "") for reference in references)
    identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    assert {reference[1:] for reference in references if reference and reference[0] == "#"} <= set(identifiers)
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert "default-src 'none'" in report(spec_for(names), results)
    assert "4 players in 1 game: 24 matches, complete" in page.text


def test_every_match_is_linked_to_its_record() -> None:
    names, results = event()
    linked = Page(report(spec_for(names), results))
    links = {attributes["href"] for tag, attributes in linked.tags if tag == "a"}
    assert {f"matches/{each.pairing.id}.json" for each in results} <= links
    alone = Page(report(spec_for(names), results, link=None))
    assert not any((attributes.get("href") or "").startswith("matches") for _, attributes in alone.tags)


@pytest.mark.parametrize("takers", [2, 3])
def test_hostile_names_are_only_text(takers: int) -> None:
    names, results = event(takers=takers)
    harmless = tuple(str(number).ljust(len(name), "x") for number, name in enumerate(HOSTILE))  # plots look at lengths
    plain = Page(report(spec_for(harmless), called(results, names, harmless)))
    page = Page(report(spec_for(HOSTILE), called(results, names, HOSTILE)))
    elements = [(tag, sorted(attributes)) for tag, attributes in page.tags]
    assert elements == [(tag, sorted(attributes)) for tag, attributes in plain.tags]
    for name in HOSTILE:
        assert page.text.count(name) >= 8


def test_the_same_results_give_the_same_bytes() -> None:
    names, results = event()
    shuffled = random.Random(1).sample(results, len(results))
    assert report(spec_for(names), results) == report(spec_for(names), shuffled)


def test_only_the_section_about_time_depends_on_clocks() -> None:
    names, results = event()
    later = [
        replace(
            each,
            seconds=tuple(3 * taken for taken in each.seconds),
            longest=tuple(2 * slowest for slowest in each.longest),
            started=each.started + timedelta(days=900 + number),
            finished=each.finished + timedelta(days=1000 - number),
        )
        for number, each in enumerate(results)
    ]
    first, second = report(spec_for(names), results), report(spec_for(names), later)
    assert first != second
    assert without_time(first) == without_time(second)


def without_time(text: str) -> str:
    left, count = re.subn(r'<section id="time">.*?</section>', "", text, flags=re.DOTALL)
    assert count == 1
    return left


def test_the_sequential_test_is_reported() -> None:
    results = []
    for number in range(60):
        won = (100, 0) if number % 2 == 0 else (0, 100)
        results.append(played(number, "game", ("a", "b") if number % 2 == 0 else ("b", "a"), won))
    spec = spec_for(("a", "b"), sprt=SprtSpec(elo0=0, elo1=200))
    page = Page(report(spec, results))
    assert page.text.count("a is stronger by 200 Elo points rather than by 0 (H1)") == 2
    assert "30: 0, 0, 0, 0, 30 with 0, ½, 1, 1½ and 2 points" in page.text
    assert "it is not decided yet" in Page(report(spec, results[:2])).text
    assert "(H0)" in Page(report(spec_for(("b", "a"), sprt=SprtSpec(elo0=0, elo1=200)), results)).text


def test_a_knock_out_names_its_winner_when_it_is_complete() -> None:
    spec = spec_for(("a", "b", "c", "d"), format="knock-out")
    results: list[MatchResult] = []
    while True:
        played_so_far = {each.pairing.id for each in results}
        pairings = [each for each in next_pairings(spec, {"game": 2}, results) if each.id not in played_so_far]
        if not pairings:
            break
        assert "By the rules of" not in report(spec, results)
        results += [
            result(pairing, [100 * (player == min(pairing.players)) for player in pairing.players])
            for pairing in pairings
        ]
    page = Page(report(spec, results))
    assert "By the rules of a knock-out: 1. a, 2. " in page.text


def test_puzzles_and_no_results_make_a_page_too() -> None:
    nothing = Page(report(spec_for(("a", "b")), []))
    assert "None has been finished." in nothing.text
    puzzles = Page(report(spec_for(("a", "b")), [played(0, "game", ("a",), (80,)), played(1, "game", ("b",), (None,))]))
    assert "The games are for one player" in puzzles.text
    assert "Cross table" not in puzzles.text
    assert "80.0" in puzzles.text


def test_files_are_named_by_words() -> None:
    assert match_file("r001-game-0001-a-vs-b") == "r001-game-0001-a-vs-b.json"
    for name in ("../../etc/passwd", "", ".", "..", "a/b", "é", "x" * 500, "a b", "-rf", "nul\0"):
        file = match_file(name)
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.json", file)
        assert len(file) < 130
    assert match_file("a/b") != match_file("a b")
