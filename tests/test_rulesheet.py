"""Nodes → rulesheet: what has a meaning is taken, what has none is refused with its place and check."""

import pytest

from ggp.errors import RulesheetError
from ggp.gdl.rulesheet import And, Atom, Distinct, Not, Or, kif, parse_rulesheet


def test_rules_facts_and_connectives() -> None:
    sheet = parse_rulesheet("(role x) (<= (p ?x) (q ?x) (not (or (r) (distinct ?x b))) (AND s t))")
    fact, rule = sheet.rules
    assert (fact.head, fact.body, fact.is_fact) == (("role", "x"), (), True)
    assert rule.head == ("p", "?x")
    first, second, third = rule.body
    assert isinstance(first, Atom)
    assert first.term == ("q", "?x")
    assert isinstance(second, Not)
    assert isinstance(second.part, Or)
    assert isinstance(second.part.parts[0], Atom)
    assert second.part.parts[0].term == "r"
    assert isinstance(second.part.parts[1], Distinct)
    assert isinstance(third, And)
    assert len(third.parts) == 2


def test_printed_rules_read_back_to_the_same_rules() -> None:
    sheet = parse_rulesheet("(role x)(<= p)(<= (p) (or) (or q) (and) (not (not (true (f ?x)))))")
    again = parse_rulesheet("\n".join(kif(sheet)))
    assert kif(again) == kif(sheet) == ("(role x)", "(<= p)", "(<= p (or) (or q) (and) (not (not (true (f ?x)))))")


def test_the_hash_ignores_comments_case_and_white_space() -> None:
    assert parse_rulesheet("(ROLE x) ; y").sha256 == parse_rulesheet("( role\nx )").sha256
    assert parse_rulesheet("(role x)").sha256 != parse_rulesheet("(role y)").sha256


def test_percepts_are_those_of_sees_rules() -> None:
    assert parse_rulesheet("(role x) (<= (sees x done) (does x go))").has_percepts
    assert not parse_rulesheet("(role x) (<= (next seen) (true (sees x y)))").has_percepts


@pytest.mark.parametrize(
    ("text", "place", "check"),
    [
        ("(role x)\n(<=)", "2:1", "rule-form"),
        ("(<= (p)\n (not a b))", "2:2", "not-arity"),
        ("(<= (p) (distinct a))", "1:9", "distinct-arity"),
        ("(<= (p) (true a b))", "1:9", "keyword-arity"),
        ("(terminal now)", "1:1", "keyword-arity"),
        ("(<= (p) ?x)", "1:9", "variable-sentence"),
        ("(<= (or a b) c)", "1:5", "head-form"),
        ("(<= (p) (q ()))", "1:12", "term-form"),
        ("(p ((f x) y))", "1:4", "term-form"),
        ("(p (?f x))", "1:4", "term-form"),
        ("()", "1:1", "term-form"),
        ("(role x) (legal x (go a\x1b[31m))", "1:23", "control-character"),
        ("(<= (p) (q \0))", "1:12", "control-character"),
        ("(role \x9bx)", "1:7", "control-character"),
        ("(\u202ep)", "1:2", "control-character"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(text: str, place: str, check: str) -> None:
    with pytest.raises(RulesheetError) as caught:
        parse_rulesheet(text, "f.kif")
    assert str(caught.value).startswith(f"f.kif:{place}: ")
    assert caught.value.check == check


def test_control_characters_may_stand_in_comments_and_between_names() -> None:
    assert kif(parse_rulesheet("; \x1b[31m \u202e\r\n(role\x0bx)\x1c(\x85terminal)")) == ("(role x)", "terminal")


def test_base_and_input_with_other_arguments_are_relations_of_the_rulesheet() -> None:
    sheet = parse_rulesheet("(base p (val a b)) (base (p a)) (<= (input ?x) (base ?x ?y))")
    assert [rule.head for rule in sheet.rules] == [
        ("base", "p", ("val", "a", "b")),
        ("base", ("p", "a")),
        ("input", "?x"),
    ]
