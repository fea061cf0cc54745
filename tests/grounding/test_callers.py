"""Variables that only the callers of a relation bind: such rules are grounded, and mean what the interpreter says."""

import pytest

from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding.prepare import prepare
from tests.grounding.agreement import assert_agree
from tests.grounding.test_by_hand import grounded

pytestmark = pytest.mark.usefixtures("one_clingo")

GAME = (
    "(role r) (goal r 50) (init (at a 1)) (row 1 2) (row 2 3) (row 3 4) (column a b) (column b c)"
    "(<= terminal (true (at ?x 4))) (<= (legal r (go ?x ?y)) (true (at ?u ?v)) (move ?u ?v ?x ?y))"
    "(<= (next (at ?x ?y)) (does r (go ?x ?y)))"
)


def asked(text: str) -> dict[str, list[str]]:
    """The values of each variable that only callers bind, by the relation of the rule, its number and the variable."""
    prepared = prepare(make_logic_program(parse_rulesheet(text)))
    found: dict[str, list[str]] = {}
    for number, clause in enumerate(prepared.clauses):
        for literal in clause.body:
            if literal.relation[0].startswith("ASKED"):
                rows = prepared.tables[literal.relation]
                name = f"{clause.relation[0]} {number} {literal.arguments[0]}"
                found[name] = sorted(str(row[0]) for row in rows)
    return found


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (move ?u ?v ?u ?y) (row ?v ?y)) (<= (move ?u ?v ?x ?v) (column ?u ?x))",
        "(<= (move ?u ?v ?x ?y) (ray ?u ?v ?x ?y)) (<= (ray ?u ?v ?u ?y) (row ?v ?y))"
        "(<= (ray ?u ?v ?x ?v) (column ?u ?x))",
        "(<= (move ?u ?v ?u ?y) (row ?v ?y)) (<= (move ?u ?v ?x ?y) (column ?u ?x) (row ?y ?z) (not (same ?v ?y)))"
        "(<= (same ?x ?x))",
        "(<= (move ?u ?v ?x ?y) (column ?u ?x) (row ?y ?z) (apart ?u ?x ?y ?v)) (<= (move ?u ?v ?u ?y) (row ?v ?y))"
        "(<= (apart ?a ?b ?c ?d) (distinct ?c ?d)) (<= (apart ?a ?b ?c ?d) (not (true (at ?a ?c))))",
        "(<= (move ?u ?v ?u ?y) (ray ?v ?y)) (<= (ray ?v ?y) (sum ?v ?n ?y) (row ?n ?m)) (<= (sum ?x 1 ?z) (row ?x ?z))"
        "(<= (sum ?x 0 ?x)) (<= (sum ?x ?y ?z) (row ?y0 ?y) (row ?z0 ?z) (sum ?x ?y0 ?z0))",
        "(<= (move ?u ?v ?u ?y) (row ?v ?y)) (<= (move ?u 1 ?x 3) (column ?x ?u) (unread ?x))"
        "(<= (unread ?x) (never ?x)) (<= (never ?x) (never ?x))"
        "(<= (never ?x) (true (off ?y)) (same ?x ?y)) (<= (same ?x ?x))",
    ],
)
def test_such_rules_mean_what_the_interpreter_says(rules: str) -> None:
    sheet = parse_rulesheet(GAME + rules)
    for rewrite in (False, True):
        assert assert_agree(sheet, grounded(GAME + rules, rewrite=rewrite), matches=5, steps=6) > 5


def test_the_values_are_those_that_are_asked_for() -> None:
    found = asked(GAME + "(<= (move ?u ?v ?u ?y) (row ?v ?y)) (<= (move b ?v c ?v))")
    assert [values for name, values in found.items() if "?u" in name] == [["a", "c"]]
    assert [values for name, values in found.items() if "?v" in name] == [["1", "2", "3", "4"]]


def test_a_reader_that_binds_one_of_two_is_enough() -> None:
    rules = (
        "(n 0) (n 1) (<= (plus 0 ?y ?y)) (<= (most ?x ?y) (n ?k) (plus ?k ?x ?y)) (<= (move ?u ?v ?u ?y) (row ?v ?y))"
    )
    assert asked(f"{GAME}{rules}(<= (goal r 40) (true (at ?u ?v)) (most ?v ?w))")
    assert asked(f"{GAME}{rules}(<= (goal r 40) (true (at ?u ?v)) (most ?w ?v))")
    with pytest.raises(GroundingError, match=r"no condition binds \?y in a rule for 'plus'"):
        asked(f"{GAME}{rules}(<= (goal r 40) (most ?v ?w))")


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (goal r ?x) (true (at a ?y)))",
        "(<= (p ?x) (true (at a ?y))) (<= (goal r 40) (p ?x))",
        "(<= (p ?x) (true (at a ?y))) (<= (goal r 40) (true (at b 1)) (not (p ?x)))",
        "(<= (p ?x) (true (at a ?y))) (<= (next (at ?x 1)) (p ?x))",
        "(<= (p ?x) (distinct ?y ?x)) (<= (goal r 40) (p 1))",
        "(<= (p ?x) (true (at a ?y))) (q (f 1)) (<= (goal r 40) (q ?z) (p ?z))",
        "(<= (p (f ?x)) (true (at a ?y))) (<= (goal r 40) (true (at ?x ?y)) (p (f ?x)))",
    ],
)
def test_what_callers_leave_unbound_is_refused(rules: str) -> None:
    with pytest.raises(GroundingError, match=r"no condition binds \?"):
        asked(f"{GAME}(<= (move ?u ?v ?u ?y) (row ?v ?y)){rules}")
