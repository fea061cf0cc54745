"""Games that cannot be grounded: the message names the relation that explodes, its place, how often, and a remedy."""

from itertools import pairwise

import pytest

from ggp.errors import GroundingError
from ggp.grounding import Budget, diagnosis
from ggp.grounding.reach import _Attempts
from tests.grounding.test_by_hand import grounded

pytestmark = pytest.mark.usefixtures("one_clingo")

VALUES = " ".join(f"(d {number}) (succ {number} {number + 1})" for number in range(20)) + "(d 20)"
# The domains allow 21⁴ rows of `diagonal`, of which there are 21. It comes first.
GAME = f"""{VALUES} (role r) (init (at 0)) (goal r 50)
(<= (legal r (go ?x)) (d ?x) (true (at ?y)) (diagonal ?x ?x ?y ?y))
(<= (diagonal ?x ?y ?u ?v) (d ?x) (d ?y) (d ?u) (d ?v) (same ?x ?y) (same ?u ?v) (same ?x ?u))
(<= (same ?x ?x) (d ?x))
(<= (next (at ?x)) (does r (go ?y)) (succ ?y ?x))
(<= (next (at ?x)) (does r (go ?x)))
(<= (next (at ?x)) (true (at ?x)))
"""


def message_of(rules: str, budget: Budget) -> str:
    with pytest.raises(GroundingError) as caught:
        grounded(GAME + rules, budget=budget)
    return str(caught.value)


def test_a_relation_of_parts_that_have_nothing_in_common() -> None:
    message = message_of(
        "(<= terminal (reaches ?x ?y ?z ?x) (true (at ?y)))\n"
        "(<= (reaches ?x ?y ?z ?u) (true (at ?x)) (linked ?y ?z) (true (at ?u)))\n"
        "(<= (linked ?y ?z) (true (at ?y)) (true (at ?z)))",
        Budget(rules=20_000),
    )
    assert ":9:1: grounding ran out of rules: 'reaches' has" in message
    assert "no condition joins ?x with ?y, ?z: write a relation for each" in message


def test_a_recursion_that_passes_arguments_on() -> None:
    message = message_of(
        "(<= terminal (line ?x ?y ?z ?u) (true (at ?x)) (true (at ?y)) (true (at ?z)) (true (at ?u)))\n"
        "(<= (line ?x ?y ?z ?u) (succ ?x ?y) (true (at ?z)) (true (at ?u)))\n"
        "(<= (line ?x ?y ?z ?u) (succ ?x ?v) (true (at ?v)) (line ?v ?y ?z ?u))",
        Budget(rules=20_000),
    )
    assert "'line' has " in message
    assert ":10:1: grounding ran out of rules" in message
    assert "its recursion passes argument 2 and 3 and 4 on unchanged" in message


def test_a_join_with_values_that_the_head_leaves_out() -> None:
    names = [f"?v{number}" for number in range(9)]
    body = " ".join(f"(near {one} {other})" for one, other in pairwise(names))
    tests = " ".join(f"(not (far {one} {other}))" for one in names for other in names if one < other)
    message = message_of(
        f"(<= terminal (some ?v0))\n(<= (some ?v0) {body} {tests})\n"
        "(<= (near ?x ?y) (true (at ?x)) (true (at ?y)))\n"
        "(<= (far ?x ?y) (true (at ?x)) (true (at ?y)) (succ ?x ?y))",
        Budget(seconds=3.0),
    )
    assert ":9:1: grounding ran out of" in message
    assert "'some' " in message
    assert "split its body: write a relation for the conditions that read ?v1, without it" in message


def test_lists_without_end() -> None:
    message = message_of(
        "(init (list nil))\n(<= (next (list (cons ?x ?rest))) (true (list ?rest)) (does r (go ?x)))",
        Budget(seconds=5.0, rules=20_000),
    )
    assert ":9:1: grounding ran out of rules: 'next' has" in message
    assert "terms that hold terms can nest without limit: add a condition" in message


GROWING = """(role r) (init (f z)) (legal r more) (legal r stop) (goal r 70)
(<= (next (f ?x)) (true (f ?x)) (does r stop))
(<= (next (f GROWN)) (true (f ?x)) (does r more))
(<= terminal (true (f z)) (true (f GROWN)))"""


@pytest.mark.parametrize("grown", ["(s ?x)", "(p ?x z)", "(p z (s ?x))"])
def test_terms_without_end_are_named(grown: str) -> None:
    with pytest.raises(GroundingError) as caught:
        grounded(GROWING.replace("GROWN", grown))
    assert ":3:1: grounding ran out of levels of nested terms (1,000): 'next' has no bound" in str(caught.value)
    assert "terms that hold terms can nest without limit" in str(caught.value)


def test_a_static_relation_without_end_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are states followed then."""
    monkeypatch.setattr(_Attempts, "grounder", lambda *_: lambda _: pytest.fail("a relation without end was evaluated"))
    with pytest.raises(GroundingError, match="'nat' has no bound"):
        grounded(
            "(role r) (legal r a) (goal r 1) (<= terminal (nat ?x) (not (nat ?x))) (nat z) (<= (nat (s ?x)) (nat ?x))"
        )


@pytest.mark.parametrize("counted", [1, 100_000])
def test_terms_without_end_are_named_however_few_are_counted(counted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_MOST_RULES", counted)
    with pytest.raises(GroundingError) as caught:
        grounded(GROWING.replace("GROWN", "(s ?x)"), budget=Budget(rules=300))
    assert ":3:1: grounding ran out of rules: 'next' has " in str(caught.value)
    assert "terms that hold terms can nest without limit" in str(caught.value)
