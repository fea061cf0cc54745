"""Ground rules and the interpreter agree: on the shipped games, and on random small rulesheets."""

import pytest
from hypothesis import HealthCheck, given, settings

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.grounding import rewrite
from ggp.library import find_rulesheet
from tests.games.helpers import FIRST_GAMES
from tests.grounding.agreement import assert_agree
from tests.grounding.test_by_hand import grounded
from tests.test_differential import LEVELS, rulesheets, states

pytestmark = pytest.mark.usefixtures("one_clingo")

STEPS = """
(role r) (role s)
(<= (legal ?r (keep ?x ?y)) (role ?r) (true (p0_2 ?x ?y)))
(<= (legal ?r (drop ?x)) (role ?r) (p1_1 ?x))
(legal r wait) (legal s wait)
(<= (next (p0_1 ?x)) (does ?r (keep ?x ?y)) (p3_1 ?z) (distinct ?x ?z))
(<= (next (p0_2 ?x ?y)) (true (p0_2 ?x ?y)) (does r (keep ?z ?u)) (not (does s (drop ?x))))
(<= (next (p0_2 ?x ?y)) (p2_2 ?x ?y) (does s (drop ?z)) (distinct ?x ?z) (distinct ?y ?z))
(<= (next (p0_2 ?y ?x)) (p1_2 ?x ?y) (not (true (p0_2 ?x ?any))))
(<= (next p0_0) (does r (keep ?x ?y)) (does s (keep ?y ?z)))
(<= (next p0_0) (p3_0))
(<= (goal r 100) (p3_1 ?x) (p2_2 ?x ?y))
(<= (goal ?r 10) (role ?r) (not (p2_0)))
(<= terminal (p3_2 ?x ?y) (p2_1 ?y))
(<= (sees ?r (told ?x)) (does ?r (keep ?x ?y)))
"""


@pytest.mark.parametrize("name", FIRST_GAMES)
def test_shipped_games(name: str) -> None:
    text = find_rulesheet(name).read_text(encoding="utf-8")
    assert assert_agree(parse_rulesheet(text), grounded(text), matches=1, steps=10)


@pytest.fixture(params=["usual", "eager"])
def eagerness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is rewritten: random rulesheets are so small that they would mostly stay as they are."""
    if request.param == "eager":
        monkeypatch.setattr(rewrite, "_SMALL", 0)
        monkeypatch.setattr(rewrite, "_LARGE", 5)
        monkeypatch.setattr(rewrite, "_MAX_EASY", 10)
        monkeypatch.setattr(rewrite, "_GAIN_UNFOLDED", 0.99)
        monkeypatch.setattr(rewrite, "_GAIN", 0.999)


@pytest.mark.usefixtures("eagerness")
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(rulesheets(), states)
def test_random_rulesheets(text: str, state: frozenset[Term]) -> None:
    text = "\n".join((text, *(f"(init {to_text(fact)})" for fact in sorted(state, key=to_text)), STEPS))
    rulesheet = parse_rulesheet(text)
    assert assert_agree(rulesheet, grounded(text), matches=2, steps=4)


def test_the_steps_read_every_level() -> None:
    assert all(f"(p{level}_" in STEPS for level in range(LEVELS))
