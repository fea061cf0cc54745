"""Rewritten clauses: how many ground rules remain, and that they say the same."""

import itertools
from collections.abc import Callable, Sequence

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget, GroundRules, grounder, reach, rewrite, splits
from ggp.grounding.clingo import OverBudgetError
from ggp.grounding.prepare import Prepared
from ggp.grounding.tables import Extents, Table
from tests.grounding.agreement import assert_agree
from tests.grounding.test_by_hand import grounded

pytestmark = pytest.mark.usefixtures("one_clingo")

NUMBERS = " ".join(f"(d {number}) (succ {number} {number + 1})" for number in range(12)) + "(d 12)"
GAME = f"{NUMBERS} (role r) (goal r 50) "


def both(text: str, matches: int = 3) -> tuple[GroundRules, GroundRules]:
    """Without and with rewriting; both agree with the interpreter."""
    plain, rewritten = grounded(text, rewrite=False), grounded(text)
    for rules in (plain, rewritten):
        assert assert_agree(parse_rulesheet(text), rules, matches, steps=4) > matches
    return plain, rewritten


def test_conditions_that_share_nothing_are_not_multiplied() -> None:
    plain, rewritten = both(
        GAME + "(<= (init (p ?x)) (d ?x)) (<= (init (q ?x)) (d ?x)) (<= (legal r (drop ?x)) (true (p ?x)))"
        "(<= terminal (true (p ?x)) (not (true (q ?x))) (true (q ?y)) (not (true (p ?y))))"
        "(<= (next (p ?x)) (true (p ?x)) (not (does r (drop ?x)))) (<= (next (q ?x)) (does r (drop ?x)))"
    )
    assert len(plain.heads) > 13 * 13
    assert len(rewritten.heads) < 100


def test_chains_are_joined_step_by_step() -> None:
    edges = "(<= (next (e ?x ?y)) (true (e ?x ?y))) (<= (next (e ?x ?y)) (does r (add ?x ?y)))"
    plain, rewritten = both(
        GAME + "(init (e 0 1)) (<= (legal r (add ?x ?y)) (d ?x) (d ?y) (succ ?y ?z))" + edges + ""
        "(<= terminal (true (e 0 ?a)) (true (e ?a ?b)) (true (e ?b ?c)) (true (e ?c 5)))"
    )
    assert len(plain.heads) > 2 * len(rewritten.heads)


def test_what_a_move_leaves_alone_is_said_by_what_it_touches() -> None:
    plain, rewritten = both(
        GAME + "(<= (init (at ?x)) (d ?x)) (<= (legal r (swap ?x ?y)) (d ?x) (d ?y)) (<= terminal (not (true (at 3))))"
        "(<= (next (at ?z)) (true (at ?z)) (does r (swap ?x ?y)) (distinct ?z ?x) (distinct ?z ?y))"
        "(<= (next (at ?z)) (does r (swap ?z ?z)))"
    )
    assert len(plain.heads) > 13 * 12 * 12
    assert len(rewritten.heads) < 1_000


def test_two_roles_that_move_at_once_are_kept_apart() -> None:
    plain, rewritten = both(
        GAME + "(role s) (goal s 0) (<= (init (at ?x)) (d ?x)) (<= (legal ?r (hit ?x)) (role ?r) (d ?x))"
        "(<= terminal (not (true (at 3))) (not (true (at 4))))"
        "(<= (next (at ?z)) (true (at ?z)) (does ?r (hit ?x)) (distinct ?z ?x))"
        "(<= (next (pair ?x ?y)) (does r (hit ?x)) (does s (hit ?y)) (distinct ?x ?y))"
        "(<= (next (far ?x ?y)) (does ?r (hit ?x)) (true (pair ?x ?y)) (not (does ?r (hit ?y))))",
        matches=10,
    )
    assert len(rewritten.heads) < len(plain.heads)


def test_a_move_is_asked_in_two_places_but_each_role_for_itself() -> None:
    plain, rewritten = both(
        GAME + "(role s) (goal s 0) (<= (init (at ?x ?x)) (d ?x)) (<= terminal (not (true (at 3 ?p))))"
        "(<= (legal ?r (go ?x ?y)) (role ?r) (d ?x) (d ?y))"
        "(<= (next (at ?y ?p)) (does ?r (go ?x ?y)) (true (at ?x ?p)))"
        "(<= (next (at ?x ?p)) (true (at ?x ?p)) (not (does r (go ?x ?x))))",
        matches=10,
    )
    assert len(plain.heads) > 13**3
    assert len(rewritten.heads) < 2_000


def test_definitions_are_unfolded() -> None:
    places = "(<= (cell ?p ?v) (true (c ?p ?v)))"
    plain, rewritten = both(
        GAME + "(init (c 0 0)) (init (c 1 0)) (init (c 2 0)) (init (c 3 0)) (<= (legal r (put ?p ?v)) (d ?p) (d ?v))"
        "(<= (same ?a ?b ?c ?e) (mod ?a ?m) (mod ?b ?m) (mod ?c ?m) (mod ?e ?m))"
        "(mod 0 a) (mod 1 b) (mod 2 a) (mod 3 b) (mod 4 a) (mod 5 b) (mod 6 a) (mod 7 b) (mod 8 a) (mod 9 b)"
        "(<= (next (c ?p ?v)) (does r (put ?p ?v))) (<= (next (c ?p ?v)) (true (c ?p ?v)))"
        f"(<= terminal (cell 4 ?a) (cell 5 ?b) (cell 6 ?c) (cell 7 ?e) (same ?a ?b ?c ?e)) {places}"
    )
    assert len(plain.heads) > 1_000
    assert len(rewritten.heads) < 700
    assert dict(rewritten.report.rewritings)["unfolded"] >= 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "QUICK", Budget(rules=2_000))
    monkeypatch.setattr(reach, "_MANY_RULES", 2_000)
    monkeypatch.setattr(reach, "_MUCH", 500.0)


@pytest.mark.usefixtures("impatient")
def test_large_relations_hold_for_what_is_asked_only() -> None:
    text = (
        GAME + "(init (c 2)) (init (c 3)) (<= (legal r (put ?p)) (d ?p)) (<= (next (c ?p)) (does r (put ?p)))"
        "(<= (next (c ?p)) (true (c ?p))) (<= (sum ?x 0 ?x ?u) (d ?x) (d ?u))"
        "(<= (sum ?x ?y ?z ?u) (succ ?v ?y) (succ ?x ?w) (sum ?w ?v ?z ?u))"
        "(<= terminal (true (c ?x)) (true (c ?y)) (distinct ?x ?y) (sum ?x ?y 11 0))"
    )
    _, rewritten = both(text)
    assert len(rewritten.heads) < 400


SHOOTING = (
    GAME
    + "(init (at 3)) (init (at 9)) (<= (legal r (go ?x ?y ?z)) (true (at ?x)) (succ ?x ?y) (open ?z) (past ?x ?y ?z))"
    "(<= (open ?z) (d ?z) (not (true (at ?z)))) (<= (free ?own ?y) (open ?y) (d ?own)) (<= (free ?own ?own) (d ?own))"
    "(<= (past ?own ?x ?y) (succ ?x ?y) (d ?own))"
    "(<= (past ?own ?x ?z) (succ ?x ?y) (free ?own ?y) (past ?own ?y ?z))"
    "(<= (next (at ?y)) (does r (go ?x ?y ?z))) (<= (next (at ?z)) (does r (go ?x ?y ?z)))"
    "(<= (next (at ?x)) (true (at ?x)) (not (leaves ?x))) (<= (leaves ?x) (does r (go ?x ?y ?z)))"
    "(<= terminal (true (at 12)))"
)  # a piece moves, and shoots along a line that its own cell is free in


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("combines", [True, False])
def test_what_is_asked_need_not_combine_what_has_nothing_in_common(
    combines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where combinations would be too many, it is asked for fewer arguments: all that a shot can hit from a cell."""
    name, other = ("_reach_combined", "_reach_separate")[:: 1 if combines else -1]
    way: reach._Way = getattr(reach, name)
    asked: list[int] = []

    def counted(prepared: Prepared, gringo: reach._Gringo) -> tuple[Prepared, Extents]:
        found = way(prepared, gringo)
        asked.extend(len(table[0]) for relation, table in found[0].tables.items() if relation[0].startswith("DEMAND"))
        return found

    def failing(prepared: Prepared, gringo: reach._Gringo) -> tuple[Prepared, Extents]:
        raise OverBudgetError("rules")

    monkeypatch.setattr(reach, name, counted)
    monkeypatch.setattr(reach, other, failing)
    both(SHOOTING, matches=10)
    assert max(asked) == (3 if combines else 2)


@pytest.mark.parametrize("most", [0, 3, 30])
def test_a_clause_that_takes_too_long_is_left_as_it_is(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is looked at within a clause, too: it has dozens of ways to be split."""
    text = (
        GAME + "(init (e 0 1)) (<= (legal r (add ?x ?y)) (d ?x) (d ?y) (succ ?y ?z))"
        "(<= (next (e ?x ?y)) (true (e ?x ?y))) (<= (next (e ?x ?y)) (does r (add ?x ?y)))"
        "(<= terminal (true (e 0 ?a)) (true (e ?a ?b)) (true (e ?b ?c)) (true (e ?c 5)))"
    )
    looks = itertools.count(1)

    def split_until_late(prepared: Prepared, extents: Extents, is_late: Callable[[], bool]) -> rewrite.Rewritten:
        return rewrite.split_clauses(prepared, extents, lambda: next(looks) > most)

    plain, whole = grounded(text, rewrite=False), grounded(text)
    monkeypatch.setattr(grounder, "split_clauses", split_until_late)
    hurried = grounded(text)
    assert next(looks) > most + 1
    assert len(whole.heads) < len(hurried.heads) == len(plain.heads)
    assert assert_agree(parse_rulesheet(text), hurried, matches=3, steps=4) > 3


CHAIN = (
    GAME + "(init (e 0 1)) (<= (legal r (add ?x ?y)) (d ?x) (d ?y) (succ ?y ?z))"
    "(<= (next (e ?x ?y)) (true (e ?x ?y))) (<= (next (e ?x ?y)) (does r (add ?x ?y)))"
    "(<= (edge ?x ?y) (true (e ?x ?y)) (true (e ?y ?x))) (<= (edge ?x ?y) (true (e ?x ?y)) (succ ?x ?y))"
    "(<= terminal (edge ?o ?a) (true (e ?a ?b)) (true (e ?b ?c)) (true (e ?c ?f)) (edge ?f ?o))"
)


def test_unfolding_is_given_up_once_it_costs_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = grounded(CHAIN)
    given_up: list[float] = []
    charge = rewrite._Relations.charge

    def noted(relations: rewrite._Relations, cost: float) -> None:
        try:
            charge(relations, cost)
        except rewrite.TooCostlyError:
            given_up.append(cost)
            raise

    monkeypatch.setattr(rewrite._Relations, "charge", noted)
    assert len(grounded(CHAIN).heads) == len(whole.heads)
    assert given_up


def test_no_part_of_a_large_join_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The join of what is taken out is made to count it, for its rows, and for what the new relation reaches."""
    monkeypatch.setattr(rewrite, "_MAX_EASY", 10)
    monkeypatch.setattr(rewrite, "_MAX_ROWS", 3_000)
    joins: list[tuple[str, ...]] = []
    joined, shrunk = rewrite._Bodies.joined, rewrite._Splitter._shrunk

    def noted(bodies: rewrite._Bodies, parts: Sequence[splits.BodyPart], limit: int) -> Table | None:
        joins.append(tuple(str(part.literal.atom) for part in parts))
        return joined(bodies, parts, limit)

    def within(
        splitter: rewrite._Splitter, parts: tuple[splits.BodyPart, ...], head: frozenset[str]
    ) -> tuple[tuple[splits.BodyPart, ...], Table | None]:
        joins.clear()
        found = shrunk(splitter, parts, head)
        times.append(max(map(joins.count, joins)))
        return found

    times: list[int] = []
    monkeypatch.setattr(rewrite._Bodies, "joined", noted)
    monkeypatch.setattr(rewrite._Splitter, "_shrunk", within)
    names = [f"?{letter}" for letter in "abcdfgh"]
    circle = " ".join(f"(true (e {one} {other}))" for one, other in zip(names, [*names[1:], names[0]], strict=True))
    text = CHAIN + f"(<= (goal r 20) {circle})"
    assert assert_agree(parse_rulesheet(text), grounded(text), matches=2, steps=4) > 2
    assert max(times) == 3
