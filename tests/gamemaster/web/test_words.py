"""How pages and reports write numbers, and say who won."""

from datetime import UTC, datetime

import pytest

from gamemaster.web.html.rendering import best_goal, outcome_words, signed
from gamemaster.web.models import MatchHead, Player
from gamemaster.web.views import CHANCE


@pytest.mark.parametrize(("value", "text"), [(-0.4, "+0"), (0.4, "+0"), (-0.6, "−1"), (12.3, "+12")])
def test_a_whole_number_has_its_sign_unless_it_is_nothing(value: float, text: str) -> None:
    assert signed(value) == text


def a_match(**goals: int) -> MatchHead:
    """One that is over; the role `random` is left to chance."""
    return MatchHead(
        id="m",
        game="g",
        tournament="",
        status="terminal",
        reason=None,
        resigned=None,
        players={role: CHANCE if role == "random" else Player(name=role, kind="bot") for role in goals},
        goals=goals,
        steps=1,
        faults=0,
        started=datetime.now(UTC),
        finished=None,
        url="",
    )


@pytest.mark.parametrize(
    ("goals", "text", "best"),
    [
        ({"white": 100, "black": 0}, "White wins", 100),
        ({"first": 50, "second": 50, "random": 0}, "A draw", None),
        ({"first": 0, "second": 0, "random": 100}, "A draw", None),
        ({"first": 47, "second": 53, "random": 100}, "Second wins", 53),
        ({"gambler": 0, "random": 0}, "", None),
    ],
)
def test_chance_neither_wins_nor_loses(goals: dict[str, int], text: str, best: int | None) -> None:
    match = a_match(**goals)
    assert outcome_words(match, {"words": {}, "moves": {}}) == text
    assert best_goal(match) == best
