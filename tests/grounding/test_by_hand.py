"""Small rulesheets whose ground rules are written out here."""

import re

import numpy as np
import pytest

from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import NEVER, Budget, GroundRules, ground

pytestmark = pytest.mark.usefixtures("one_clingo")

FRAME = "(role r) (init (s 0)) (<= (legal r (go ?x)) (true (s ?x))) (<= terminal (true (s 2))) (goal r 50)"


def grounded(text: str, *, rewrite: bool = True, budget: Budget = Budget()) -> GroundRules:  # noqa: B008 - frozen
    return ground(make_logic_program(parse_rulesheet(text)), budget, rewrite=rewrite)


def rules_of(rules: GroundRules, atom: int) -> list[list[int]]:
    """The bodies of the rules with an atom as their head; a negated atom as its complement."""
    bounds = rules.first_literal
    return [
        [int(lit) >> 1 if not lit & 1 else ~(int(lit) >> 1) for lit in rules.literals[bounds[rule] : bounds[rule + 1]]]
        for rule in np.flatnonzero(rules.heads == atom)
    ]


def test_a_chain_of_states() -> None:
    rules = grounded(
        "(succ 0 1) (succ 1 2) (<= (next (s ?y)) (true (s ?x)) (succ ?x ?y) (does r (go ?x)))"
        "(<= (next (s ?x)) (true (s ?x)) (not (does r (go ?x))))" + FRAME,
        rewrite=False,
    )
    assert rules.roles == ("r",)
    assert rules.facts == (("s", "0"), ("s", "1"), ("s", "2"))
    assert rules.moves == ((("go", "0"), ("go", "1"), ("go", "2")),)
    assert rules.initial.tolist() == [True, False, False]
    assert [rules_of(rules, atom) for atom in rules.legal] == [[[0]], [[1]], [[2]]]
    assert rules_of(rules, int(rules.next[0])) == [[0, ~3]]
    assert sorted(map(sorted, rules_of(rules, int(rules.next[1])))) == [[~4, 1], [0, 3]]
    assert sorted(map(sorted, rules_of(rules, int(rules.next[2])))) == [[~5, 2], [1, 4]]
    assert rules_of(rules, rules.terminal) == [[2]]
    assert rules.goals == ((50,),)
    assert rules_of(rules, int(rules.goal_atoms[0])) == [[]]
    assert len(rules.heads) == len(rules.first_literal) - 1
    assert not np.isin(rules.heads, np.arange(6)).any()


def test_what_can_never_be() -> None:
    rules = grounded(
        "(role r) (role s) (init on) (legal r push) (<= (legal s wait) (true on))"
        "(<= terminal (not (true on)) (true x))"
        "(goal r 100) (goal r 1000) (goal r none) (<= (next off) (does r push))"
    )
    assert rules.facts == ("off", "on")
    assert rules.next[1] == NEVER
    assert rules.next[0] != NEVER
    assert rules.terminal == NEVER
    assert rules.goals == ((100,), ())
    assert rules.percepts == ((), ())
    assert rules.legal.tolist() == [rules.goal_atoms[0], *rules.legal.tolist()[1:]]  # both always hold


def test_goal_values_that_are_written_in_two_ways_are_one() -> None:
    rules = grounded(
        "(role r) (init a) (init b) (legal r m) (<= terminal (true a)) (<= (next a) (true b)) (<= (next b) (true a))"
        "(<= (goal r 05) (true a)) (<= (goal r 5) (true b))"
    )
    assert rules.goals == ((5,),)
    assert sorted(len(rules_of(rules, body[0])) for body in rules_of(rules, int(rules.goal_atoms[0]))) == [1, 1]


def test_percepts_by_role() -> None:
    rules = grounded(
        "(role r) (role random) (init a) (legal r m) (legal random m) (goal r 0) (<= terminal (true a))"
        "(<= (sees r (saw ?x)) (true ?x)) (<= (sees stranger x) (true a))"
    )
    assert rules.percepts == ((("saw", "a"),), ())
    assert len(rules.percept_atoms) == 1


def test_no_such_thing() -> None:
    rules = grounded(
        "(role r) (init (p a b)) (init q) (legal r m) (goal r 0) (<= (next q) (not (true (p a ?x))))"
        "(<= (next (p a b)) (true q) (true (p a b))) (<= terminal (true q) (not (true (p ?x ?x))))"
    )
    there_is = rules_of(rules, int(rules.next[rules.facts.index("q")]))
    assert [len(body) for body in there_is] == [1]
    assert rules_of(rules, ~there_is[0][0]) == [[rules.facts.index(("p", "a", "b"))]]
    assert rules_of(rules, rules.terminal) == [[rules.facts.index("q")]]


def test_facts_that_never_change_leave_no_trace() -> None:
    rules = grounded(
        "(role r) (init (wall a)) (init (at a)) (init (at b)) (legal r m) (goal r 0) (<= terminal (true (at b)))"
        "(<= (next (wall ?x)) (true (wall ?x))) (<= (next (at ?x)) (true (at ?x)) (true (wall ?x)))"
    )
    at, wall = rules.facts.index(("at", "a")), rules.facts.index(("wall", "a"))
    assert rules_of(rules, int(rules.next[at])) == [[at]]
    assert rules_of(rules, int(rules.next[wall])) == [[]]
    assert rules.next[rules.facts.index(("at", "b"))] == NEVER


def test_rules_that_no_output_needs_are_left_out() -> None:
    rules = grounded(
        "(init (s 1)) (<= (idle ?x) (true (s ?x)) (not (does r (go 0)))) (<= (next (s 0)) (idle 1))" + FRAME,
        rewrite=False,
    )
    idle = rules_of(rules, int(rules.next[0]))[0][0]
    assert sorted(rules_of(rules, idle)[0]) == [~2, 1]
    assert len(rules.heads) == 5  # two moves, the goal, the next fact, idle 1; not idle 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(<= (next (s ?x)) (true ?x))", "nest without limit"),
        ("(<= (p ?x) (not (true (s ?x)))) (<= (next (s ?y)) (p ?y))", "no condition binds ?x in a rule for 'p'"),
        ("(<= (true (s 1)) (true (s 0)))", "has 'true' as its head"),
        ("(<= (goal r 10) (does r (go 0)))", "'goal' depends on 'does'"),
        ("(<= (init (s 1)) (true (s 0)))", "'init' depends on 'true'"),
        ("(<= p (true (s 0)) (not q)) (<= q (true (s 0)) (not p)) (<= (next (s 1)) p)", "depends on its own negation"),
    ],
)
def test_what_only_evaluation_can_play(text: str, message: str) -> None:
    with pytest.raises(GroundingError, match=message.replace("?", r"\?")):
        grounded(text + FRAME, budget=Budget(seconds=20.0, rules=2_000))


def test_a_part_of_a_rule_is_named_by_its_text() -> None:
    part = "(and (true (s ?x)) (distinct ?x ?z))"
    with pytest.raises(GroundingError, match=rf"no condition binds \?z in {re.escape(part)}$"):
        grounded(f"(<= (goal r 10) (not {part})) {FRAME}")


def test_a_negation_of_other_values_of_the_same_relation() -> None:
    rules = grounded("(<= (goal r 10) (not (goal r 90))) (<= (goal r 90) (true (s 0)))" + FRAME)
    assert rules.goals == ((10, 50, 90),)
    assert rules_of(rules, int(rules.goal_atoms[0])) == [[~int(rules.goal_atoms[2])]]


def test_the_budget_names_the_rule() -> None:
    values = " ".join(f"(d {number})" for number in range(10))
    text = f"{values}\n(<= (legal r (m ?x ?y ?z ?u))\n(d ?x) (d ?y) (d ?z) (d ?u)) {FRAME}"
    with pytest.raises(GroundingError, match=r":2:1: grounding ran out of rules: 'legal' has 10,001 instances; .*"):
        grounded(text, budget=Budget(rules=5_000))
    with pytest.raises(GroundingError, match="ran out of room for its output"):
        grounded(text, budget=Budget(output=5_000))
    with pytest.raises(GroundingError, match="ran out of time"):
        grounded(text, budget=Budget(seconds=0.0))
    text = text.replace("(m ?x", "(m ?v ?x").replace("(d ?x)", "(d ?x) (d ?v)")
    with pytest.raises(GroundingError, match="ran out of memory"):
        grounded(text, budget=Budget(memory=32 << 20))
