"""Rulesheet → findings: each check finds its mistake at its place, and nothing in a sound rulesheet."""

from collections.abc import Callable

import pytest

from ggp.errors import Place
from ggp.gdl.reader import place_in
from ggp.gdl.validator import validate
from ggp.library import find_rulesheet
from tests.games.helpers import FIRST_GAMES

SOUND = """(role r)
(init (p a))
(legal r m)
(<= (next (p ?x)) (true (p ?x)) (does r m))
(<= (view ?x) (true (p ?x)))
(<= terminal (view b))
(goal r 0)
"""


def findings(text: str) -> list[str]:
    return [f"{f.place.line}:{f.place.column} {f.severity} {f.check}" for f in validate(text, "f.kif")]


def test_a_sound_rulesheet_has_no_findings() -> None:
    assert findings(SOUND) == []


def test_what_a_role_did_as_a_percept_is_no_finding() -> None:
    assert findings(SOUND + "(<= (sees r (does r ?m)) (does r ?m))") == []


@pytest.mark.parametrize("name", FIRST_GAMES)
def test_the_shipped_rulesheets_have_no_findings(name: str) -> None:
    path = find_rulesheet(name)
    assert validate(path.read_text(encoding="utf-8"), path.name) == ()


@pytest.mark.parametrize(
    ("added", "finding"),
    [
        ("(<= (goal r ?x) (view ?x", "8:17 error syntax"),
        ("(<= (goal r 1)\n (true))", "9:2 error keyword-arity"),
        ("(base p (val a b))\n(base q)", "8:1 warning keyword-arity"),
        ("(<= (init (p b)) (true (p a)))", "8:1 error constant"),
        ("(<= (base (p b)) (view a))", "8:1 error constant"),
        ("(<= (goal r 1) (next (p a)))", "8:16 error head-only"),
        ("(<= (sees r p) (next (p a)))", "8:16 warning head-only"),
        ("(<= (goal r 1)\n  (not (init (p a))))", "9:8 error head-only"),
        ("(true (p c))", "8:1 error keyword-head"),
        ("(<= (does r m) (view a))", "8:1 error keyword-head"),
        ("(<= (role s) (view a))", "8:1 error keyword-head"),
        ("(<= (goal r 1) (true (p (does a b))))", "8:16 error keyword-function"),
        ("(<= (goal r 1) (true (p or)))", "8:16 error keyword-constant"),
        ("(<= (goal r ?x) (not (view ?x)))", "8:1 error safety"),
        ("(<= (goal r 1) (not (not (view ?x))) (distinct ?x b))", "8:1 error safety"),
        ("(<= (goal r 1) (view ?x) (distinct ?x ?y))", "8:1 error safety"),
        ("(<= (legal r n) (does r m))", "8:1 error does-before-move"),
        ("(<= terminal (next_is b))\n(<= (next_is ?x) (does r ?x))", "8:1 error does-before-move"),
        ("(goal ?r 1)", "8:1 error variable-in-fact"),
        ("(<= (goal ?r 1) (view a))", "8:1 warning all-roles"),
        ("(<= (goal ?r 1) (not (true (q ?r))))", "8:1 warning all-roles"),
        ("(<= (goal ?r 1) (or (view ?r) (true (q a))))", "8:1 warning all-roles"),
        ("(<= (goal ?r ?x) (true (q a)))", "8:1 error safety"),
        ("(<= (view ?x) (true (q ?x)) (not (view ?x)))", "8:1 error stratification"),
        (
            "(<= (goal r 1) (odd a))\n(<= (odd ?x) (view ?x) (not (even ?x)))\n(<= (even ?x) (view ?x) (not (odd ?x)))",
            "9:1 error stratification",
        ),
        ("(<= (view ?x) (true (p ?x)) (view ?y))", "8:1 error recursion-restriction"),
        ("(<= (view ?x) (true (p ?x)) (view (f ?x)))", "8:1 error recursion-restriction"),
        ("(<= (view (f ?x)) (view ?x))", "8:1 error recursion-restriction"),
        ("(<= (view ?x) (true (p ?x)) (or (view ?y) (true (p ?y))))", "8:1 error recursion-restriction"),
        ("(<= (view ?r))", "8:1 error safety"),
        ("(<= (view ?x) (and))", "8:1 error safety"),
        ("(<= (goal r ?x) (or (view ?x) (true (p a))))", "8:1 error safety"),
        ("(<= (goal r 1) (not (and (true (p ?x)) (view ?x))))", "8:1 error safety"),
        ("(<= (goal r 1))", "8:1 warning empty-body"),
        ("(<= (goal r 1) (or (view a)))", "8:16 warning short-or"),
        ("(<= (goal r 1) (or))", "8:16 warning short-or"),
        ("(<= (goal r 1) (or (view a) (or (view b) (view c))))", "8:29 warning nested-or"),
        ("(<= (goal r 1) (not (distinct a b)))", "8:16 warning not-over-sentence"),
        ("(<= (goal r 1) (view a b))\n(view c d)", "8:16 warning varying-arity"),
        ("(<= (goal r 1) (true (q (f a) (f a b))))", "8:16 warning varying-arity"),
        ("(<= (goal r 1) (true (p legal)))", "8:16 warning keyword-object"),
        ("(<= (goal r 1) (true (view a)))", "8:16 warning shared-name"),
        ("(<= (goal r 1) (true (late a)))\n(<= (late ?x) (view ?x))", "8:16 warning shared-name"),
        ("(<= (goal r 1) (distinct a (view b)))", "8:16 warning shared-name"),
        ("(<= (goal r 1) (distinct (f a) (f a b)))", "8:16 warning varying-arity"),
        ("(<= (goal r 1) (distinct a 'b'))", "8:16 warning unusual-characters"),
        ("(<= (goal r 1) (missing a))", "8:16 warning never-produced"),
        ("(unread a)", "8:1 warning never-used"),
        ('(<= (goal r 1) (true (p "a")))', "8:16 warning unusual-characters"),
        ("(<= (goal r 101) (view a))", "8:1 error goal-value"),
        ("(<= (goal r win) (view a))", "8:1 error goal-value"),
        ("(goal r (half 1))", "8:1 error goal-value"),
        ("(role (f r))", "8:1 error role"),
        ("(goal s 0)", "8:1 warning unknown-role"),
        ("(<= (legal s n) (view a))", "8:1 warning unknown-role"),
        ("(<= (sees s n) (view a))", "8:1 warning unknown-role"),
        ("(input s n)", "8:1 warning unknown-role"),
        ("(init (control s))\n(<= (legal ?x n) (true (control ?x)))", "8:1 warning unknown-role"),
        ("(init (control r))\n(<= (next (control s)) (role ?x) (true (control ?x)))", "9:1 warning unknown-role"),
        ("(<= (goal r 1) (open2))\n(<= open2 (view a))", "8:16 warning varying-arity"),
        ("(<= (goal r 1) (true (q open2 (open2))))", "8:31 warning varying-arity"),
        ("(<= (goal r 1) (true (q move (move a))))", "8:16 warning varying-arity"),
        ("(<= (goal ?r 100) (role ?r) (not (goal ?r 0)))", "8:1 warning stratification"),
        (
            "(<= (goal ?r 100) (role ?r) (not (goal ?r 0)))\n(<= (goal r 0) (view b) (not (goal r 100)))",
            "8:1 error stratification",
        ),
    ],
)
def test_each_check_finds_its_mistake_at_its_place(added: str, finding: str) -> None:
    assert finding in findings(SOUND + added)


@pytest.mark.parametrize(
    "added",
    [
        "(<= (view ?x) (true (p (e ?x ?y))) (view ?y))",
        "(<= (view (f ?x)) (seen (f ?x)))\n(<= (seen ?x) (view ?x))",
        "(<= (view ?x) (true (p ?x)) (or (view ?x) (and (true (p ?y)) (view ?y))))",
        "(<= (view ?x) (true (p ?x)) (or))",
        "(<= (goal r ?x) (or (view ?x) (true (p ?x))))",
        "(<= (goal r 1) (true (p ?x)) (not (or (view ?x) (distinct ?x b))))",
        "(<= (goal ?r 9) (role ?r) (not (goal ?r 5)) (not (goal ?r 0)))\n(<= (goal ?r 5) (role ?r) (not (goal ?r 0)))",
        "(<= (goal ?r 00) (role ?r))",
        "(base p (val a b)) (<= (goal r 1) (base p ?x))",
    ],
)
def test_what_gdl_allows_is_no_error(added: str) -> None:
    assert [finding for finding in findings(SOUND + added) if " error " in finding] == []


def test_lists_of_values_that_gdl_does_not_know_are_one_warning_each() -> None:
    lists = "(base p (val a b))\n(base q (val a b c) (val a))"
    assert findings(SOUND + lists) == ["8:1 warning keyword-arity", "9:1 warning keyword-arity"]


def test_messages_name_what_the_rulesheet_names() -> None:
    pair = "(or (true (p ?x)) (view ?x) (not (seen ?x)) (not (or (seen ?y) (distinct ?y ?z))))"
    found = validate(f"{SOUND}(<= (seen ?x) {' '.join([pair] * 5)})\n(seen a)\n(seen b)", "f.kif")
    assert {finding.check for finding in found} >= {"safety", "stratification"}
    for finding in found:
        assert finding.message == finding.message.lower()
        assert "'seen'" in finding.message or finding.severity == "warning"


def test_shared_names_do_not_depend_on_the_order_of_the_text() -> None:
    lines = ["(<= (goal r 1) (view a))", "(<= (late ?x) (true (p (late ?x))))"]
    for order in (lines, lines[::-1]):
        assert sum("shared-name" in found for found in findings(SOUND + "\n".join(order))) == 1


@pytest.mark.parametrize("line", ["(<= (q ?x))", "(<= p or)"])
def test_each_of_many_findings_has_its_line(line: str) -> None:
    found = validate(f"{line}\n" * 2_000)
    assert {finding.place.line for finding in found if finding.severity == "error"} >= set(range(1, 2_001))


def test_all_findings_are_placed_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(text: str, source: str) -> Callable[[int], Place]:
        asked.append(source)
        return place_in(text, source)

    monkeypatch.setattr("ggp.gdl.validator.place_in", counted)
    monkeypatch.setattr("ggp.gdl.rulesheet.place_in", counted)
    validate("(<= (q ?x))\n" * 50)
    validate("(<=)\n" * 50)
    assert len(asked) <= 4


@pytest.mark.parametrize("name", ["role", "legal", "terminal", "goal"])
def test_a_rulesheet_needs_its_parts(name: str) -> None:
    without = "\n".join(line for line in SOUND.splitlines() if f"({name} " not in line and f" {name} " not in line)
    assert f"1:1 error has-{name}" in findings(without)


def test_all_lines_without_a_meaning_are_reported_at_once() -> None:
    deep = "(f " * 100 + "a" + ")" * 100
    assert findings(f"(<= p or)\n(<= p <=)\n(<= p (not distinct))\n(<= p (<= a b))\n(p {deep})\n{deep}") == [
        "1:7 error sentence-form",
        "2:7 error sentence-form",
        "3:12 error sentence-form",
        "4:7 error sentence-form",
        "5:301 error term-form",
    ]
    assert findings("(role r)\n(<=)\n(<= (p) (not a b))\n()") == [
        "2:1 error rule-form",
        "3:9 error not-arity",
        "4:1 error term-form",
    ]


def test_a_finding_reads_like_a_compiler_s() -> None:
    (first, *_) = validate(SOUND + "(<= (goal r ?x) (not (view ?x)))", "f.kif")
    assert str(first) == "f.kif:8:1: error: ?x in a rule for 'goal' is not in a positive condition [safety]"
