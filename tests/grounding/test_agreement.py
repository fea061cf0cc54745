"""Ground rules and the interpreter agree: on the shipped games, and on random small rulesheets."""

from collections.abc import Collection, Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings

from ggp.errors import GroundingError
from ggp.gdl.logic_program import Relation
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.grounding import Budget, automata, narrow, reach, rewrite, splits, tables
from ggp.grounding.prepare import Prepared
from ggp.grounding.tables import Extents
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


@pytest.fixture(params=["usual", "eager", "automata", "narrow"])
def eagerness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is rewritten: random rulesheets are so small that they would mostly stay as they are."""
    if request.param == "eager":
        monkeypatch.setattr(rewrite, "_SMALL", 0)
        monkeypatch.setattr(rewrite, "_LARGE", 5)
        monkeypatch.setattr(rewrite, "_MAX_EASY", 10)
        monkeypatch.setattr(rewrite, "_GAIN_UNFOLDED", 0.99)
        monkeypatch.setattr(splits, "GAIN", 0.999)
    if request.param == "automata":
        monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
        monkeypatch.setattr(reach, "_WIDE", 1)
    if request.param == "narrow":
        monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
        monkeypatch.setattr(reach, "_MUCH", 1)


@pytest.mark.usefixtures("eagerness")
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(rulesheets(), states)
def test_random_rulesheets(text: str, state: frozenset[Term]) -> None:
    text = "\n".join((text, *(f"(init {to_text(fact)})" for fact in sorted(state, key=to_text)), STEPS))
    rulesheet = parse_rulesheet(text)
    try:
        rules = grounded(text)
    except GroundingError as error:
        assume("terms can nest" not in str(error) or reach.QUICK.rules)  # refused when the first attempt fails
        raise
    assert assert_agree(rulesheet, rules, matches=2, steps=4)


COUNTING = """
(role r)
(bit 0) (bit 1) (bit 2)
(cell a) (cell b) (cell c)
(step a b) (step b c)
(init (mark a 0))
(<= (legal r (put ?c ?n)) (cell ?c) (bit ?n))
(<= (next (mark ?c ?n)) (does r (put ?c ?n)))
(<= (next (mark ?c ?n)) (true (mark ?c ?n)))
(<= (same ?n ?n) (bit ?n))
(<= (first ?z ?x ?y ?u) (same ?z ?x) (bit ?y) (bit ?u) (not (same ?z ?y)) (distinct ?z ?u))
(<= (once ?z ?x ?y ?u) (first ?z ?x ?y ?u))
(<= (once ?z ?x ?y ?u) (first ?z ?y ?x ?u))
(<= (once ?z ?x ?y ?u) (first ?z ?u ?x ?y))
(once 7 0 0 0)
(<= (good ?p) (step ?p ?q) (step ?q ?s) (true (mark ?p ?x)) (true (mark ?q ?y)) (true (mark ?s ?u))
    (not (true (mark ?p 2))) (once 1 ?x ?y ?u) (once 0 ?x ?y ?u))
(<= (zeros ?p) (true (mark a ?x)) (true (mark b ?y)) (true (mark ?p ?u)) (once 7 ?x ?y ?u))
(<= (even ?x) (true (mark a ?x)) (once 1 ?x 1 ?x))
(<= terminal (good a) (zeros c))
(<= (goal r 100) (good a))
(<= (goal r 50) (not (good a)) (zeros ?p))
(<= (goal r 20) (even ?x))
(<= (goal r 10) (once 1 0 2 2))
(<= (goal r 11) (once 1 1 0 2))
"""


def test_wide_relations_become_automata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
    monkeypatch.setattr(reach, "_WIDE", 50)
    made: list[bool] = []
    add = automata.Chains.add

    def counted(chains: automata.Chains, wide: automata.WideClause) -> bool:
        made.append(add(chains, wide))
        return made[-1]

    monkeypatch.setattr(automata.Chains, "add", counted)
    assert assert_agree(parse_rulesheet(COUNTING), grounded(COUNTING), matches=6, steps=9) > 20
    assert made == [True] * 5


CHECK = """
(role white) (role black)
(d 1) (d 2) (d 3) (d 4)
(other white black) (other black white)
(init (king white 1 1)) (init (king black 3 3)) (init (rook white 1 3)) (init (rook black 3 1)) (init (turn white))
(<= (legal ?p (go ?x ?y ?s ?t)) (true (turn ?p)) (true (king ?p ?x ?y)) (d ?s) (d ?t) (differ ?x ?y ?s ?t)
    (not (threat ?p ?s ?t ?x ?y)))
(<= (legal ?p (take ?x ?y)) (true (turn ?p)) (other ?p ?o) (true (rook ?o ?x ?y)) (true (king ?p ?s ?t))
    (not (threat ?p ?s ?t ?x ?y)) (not (threat ?p 1 4 ?x ?y)))
(<= (legal ?p wait) (role ?p))
(<= (threat ?p ?s ?t ?x ?y) (other ?p ?o) (or (row ?o ?u ?v ?s ?t) (column ?o ?u ?v ?s ?t)) (differ ?u ?v ?x ?y))
(<= (threat ?p ?s ?t ?x ?y) (other ?p ?o) (true (king ?o ?s ?v)) (d ?t) (d ?x) (d ?y))
(<= (row ?o ?u ?v ?s ?v) (true (rook ?o ?u ?v)) (d ?s) (distinct ?u ?s))
(<= (column ?o ?u ?v ?u ?t) (true (rook ?o ?u ?v)) (d ?t) (distinct ?v ?t))
(<= (differ ?x ?y ?s ?t) (d ?x) (d ?y) (d ?s) (d ?t) (distinct ?x ?s))
(<= (differ ?x ?y ?s ?t) (d ?x) (d ?y) (d ?s) (d ?t) (distinct ?y ?t))
(<= (next (king ?p ?s ?t)) (does ?p (go ?x ?y ?s ?t)))
(<= (next (king ?p ?x ?y)) (true (king ?p ?x ?y)) (not (went ?p)))
(<= (went ?p) (does ?p (go ?x ?y ?s ?t)))
(<= (next (rook ?p ?x ?y)) (true (rook ?p ?x ?y)) (other ?p ?o) (not (does ?o (take ?x ?y))))
(<= (next (turn ?o)) (true (turn ?p)) (other ?p ?o))
(<= terminal (true (king ?p 4 4)))
(<= (goal ?p 50) (role ?p))
"""


def test_a_wide_relation_that_is_only_negated_is_divided_by_its_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cells differ by their columns or rows: each case has four arguments, and what a king sees has two."""
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
    monkeypatch.setattr(reach, "_MUCH", 10)
    found: list[set[tuple[str, int]]] = []

    def seen(prepared: Prepared, large: Collection[Relation], evaluate: narrow.Evaluate) -> Prepared:
        after = narrow.narrowed(prepared, large, evaluate)
        found.append({clause.relation for clause in after.clauses})
        return after

    monkeypatch.setattr(reach, "narrowed", seen)
    assert assert_agree(parse_rulesheet(CHECK), grounded(CHECK), matches=6, steps=12) > 20
    assert ("threat", 5) not in found[0]
    assert sorted(arity for name, arity in found[0] if name.startswith("CASE")) == [2, 4, 4]


def test_variables_that_callers_bind_in_relations_that_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A king goes to the column before its own; what is asked for ?x and ?y is not what the divided relation is."""
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
    monkeypatch.setattr(reach, "_MUCH", 10)
    text = (
        CHECK.replace("(d ?s) (d ?t) (differ ?x ?y ?s ?t)", "(before ?s ?x) (d ?t)")
        .replace("(not (threat ?p 1 4 ?x ?y))", "")
        .replace("(d 4)", "(d 4) (before 1 2) (before 2 3) (before 3 4)")
        + "(<= (threat ?p ?s ?t ?x ?y) (other ?p ?o) (not (true (rook ?o ?x ?y))) (not (true (rook ?o ?s ?t))))"
    )
    assert assert_agree(parse_rulesheet(text), grounded(text), matches=20, steps=20) > 20


def test_relations_that_ask_for_few_rows_of_wide_ones_are_asked_themselves() -> None:
    """Each step of a chain has twice as many arguments, of which the first one asks for a single row."""
    names = [f"?b{number}" for number in range(24)]
    rules = [
        f"(<= (chain{size} {' '.join(names[:size])}) {' '.join(f'(bit {name})' for name in names[:size])}"
        f" (or (true (step {size})) (chain{size + 1} {' '.join(names[:size])} 0)))"
        for size in range(1, 24)
    ]
    steps = " ".join(f"(<= (next (step {size + 1})) (true (step {size})))" for size in range(1, 24))
    text = (
        "(role r) (bit 0) (bit 1) (init (step 1)) (legal r stop) (<= (legal r go) (chain1 0))"
        f"{' '.join(rules)} {steps}"
        "(<= (next over) (does r stop)) (<= terminal (true over)) (<= terminal (true (step 24))) (goal r 50)"
    )
    rules_of_all = grounded(text)
    assert len(rules_of_all.heads) < 200
    assert assert_agree(parse_rulesheet(text), rules_of_all, matches=2, steps=6)


def test_all_arguments_where_the_needed_ones_take_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both attempts with few rules fail, and the next is without conditions on what is needed."""
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
    monkeypatch.setattr(reach, "_SOME_RULES", 0)
    monkeypatch.setattr(reach, "_MANY_RULES", 0)
    tried: list[tuple[str, int]] = []

    def counted(way: reach._Way) -> reach._Way:
        def tries(prepared: Prepared, gringo: reach._Gringo) -> tuple[Prepared, Extents]:
            tried.append((way.__name__, gringo.budget.rules))
            return way(prepared, gringo)

        return tries

    for way in (reach._reach_all, reach._reach_combined, reach._reach_separate):
        monkeypatch.setattr(reach, way.__name__, counted(way))
    assert assert_agree(parse_rulesheet(COUNTING), grounded(COUNTING), matches=2, steps=9) > 5
    least = [(name, 0) for name in ("_reach_all", "_reach_combined", "_reach_separate")]
    assert tried == [*least, ("_reach_all", Budget().rules)]


def test_atoms_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are the same, with function terms in facts and moves, however few atoms that are."""
    text = find_rulesheet("breakthrough").read_text(encoding="utf-8")
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))  # so that all relations are listed
    whole = grounded(text)
    parts: list[int] = []

    def counted(count: int) -> Iterator[slice]:
        parts.append(len(list(some(count))))
        return some(count)

    some = tables._parts
    monkeypatch.setattr(tables, "_PART", 3)
    monkeypatch.setattr(tables, "_parts", counted)
    found = grounded(text)
    assert (found.facts, found.moves) == (whole.facts, whole.moves)
    for name in ("heads", "first_literal", "literals"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    assert max(parts) > 20


def test_the_steps_read_every_level() -> None:
    assert all(f"(p{level}_" in STEPS for level in range(LEVELS))
