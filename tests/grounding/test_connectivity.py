"""Reachability from one node in place of all pairs: where it is taken, where not, and that it says the same."""

from random import Random

import pytest

from ggp.engines import make_machine
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term
from ggp.grounding import ground
from ggp.interpreter import Interpreter

pytestmark = pytest.mark.kernels

# Two roles place and remove stones on a board of 3 by 3; a role has 100 points if all its stones are connected.
BOARD = """
(role red) (role blue) (init (control red)) (init (stone 1 1 red)) (init (stone 3 3 red)) (init (stone 2 2 blue))
(n 1) (n 2) (n 3) (after 1 2) (after 2 3)
(<= (adjacent ?x1 ?y ?x2 ?y) (after ?x1 ?x2) (n ?y)) (<= (adjacent ?x1 ?y ?x2 ?y) (after ?x2 ?x1) (n ?y))
(<= (adjacent ?x ?y1 ?x ?y2) (after ?y1 ?y2) (n ?x)) (<= (adjacent ?x ?y1 ?x ?y2) (after ?y2 ?y1) (n ?x))
(<= (legal ?r (put ?x ?y)) (true (control ?r)) (n ?x) (n ?y) (not (taken ?x ?y)))
(<= (legal ?r (take ?x ?y)) (true (control ?r)) (true (stone ?x ?y ?s)))
(<= (legal ?r wait) (role ?r) (not (true (control ?r))))
(<= (taken ?x ?y) (true (stone ?x ?y ?r)))
(<= (next (control red)) (true (control blue))) (<= (next (control blue)) (true (control red)))
(<= (next (stone ?x ?y ?r)) (does ?r (put ?x ?y)))
(<= (next (stone ?x ?y ?r)) (true (stone ?x ?y ?r)) (not (lifted ?x ?y))) (<= (lifted ?x ?y) (does ?r (take ?x ?y)))
(<= terminal (all red) (all blue))
(<= (goal ?r 100) (all ?r)) (<= (goal ?r 0) (role ?r) (not (all ?r)))
(<= (all ?r) (role ?r) (not (apart ?r)))
"""
APART = """(<= (apart ?r) (true (stone ?x1 ?y1 ?r)) (true (stone ?x2 ?y2 ?r)) (or (distinct ?x1 ?x2) (distinct ?y1 ?y2))
(not (linked ?r ?x1 ?y1 ?x2 ?y2)))"""
APART_FROM_ANY = """(<= (apart ?r) (true (stone ?x1 ?y1 ?r)) (true (stone ?x2 ?y2 ?r))
(not (linked ?r ?x1 ?y1 ?x2 ?y2)))"""
PAIR = """(<= (linked ?r ?x1 ?y1 ?x2 ?y2) (true (stone ?x1 ?y1 ?r)) (true (stone ?x2 ?y2 ?r))
(adjacent ?x1 ?y1 ?x2 ?y2))"""
ITSELF = "(<= (linked ?r ?x ?y ?x ?y) (true (stone ?x ?y ?r)))"
RIGHT = """(<= (linked ?r ?x1 ?y1 ?x3 ?y3) (linked ?r ?x1 ?y1 ?x2 ?y2) (adjacent ?x2 ?y2 ?x3 ?y3)
(true (stone ?x3 ?y3 ?r)))"""
LEFT = """(<= (linked ?r ?x1 ?y1 ?x3 ?y3) (true (stone ?x1 ?y1 ?r)) (adjacent ?x1 ?y1 ?x2 ?y2)
(true (stone ?x2 ?y2 ?r)) (linked ?r ?x2 ?y2 ?x3 ?y3))"""

ANY_OTHER = "(or (distinct ?x1 ?x2) (distinct ?y1 ?y2))"
ENDS = PAIR + RIGHT
LOOSE = APART.replace("(apart ?r)", "(loose ?r)") + "(<= (goal red 0) (loose red))"
WHERE = APART.replace("(apart ?r)", "(apart_from ?r ?x1)") + "(<= (apart ?r) (apart_from ?r ?x))"
FOREIGN = APART.replace("(true (stone ?x2 ?y2 ?r))", "(true (stone ?x2 ?y2 ?s)) (distinct ?r ?s)")

TAKEN = {
    "pairs": BOARD + APART + ENDS,
    "from the left": BOARD + APART + PAIR + LEFT,
    "each to itself": BOARD + APART + ITSELF + RIGHT,
    "any two": BOARD + APART_FROM_ANY + ITSELF + RIGHT,
    "asked twice": BOARD + APART + LOOSE + ENDS,
    "when asked": BOARD + APART.replace("(not (linked", "(true (control ?c)) (not (linked") + ENDS,
}
NOT_TAKEN = {
    "one way only": BOARD.replace("(after ?x2 ?x1)", "(after ?x1 ?x2)") + APART + ENDS,
    "in other columns only": BOARD + APART.replace(ANY_OTHER, "(distinct ?x1 ?x2)") + ENDS,
    "a stone alone": BOARD + APART_FROM_ANY + ENDS,
    "asked for itself": BOARD + APART + ENDS + "(<= (goal red 50) (linked red 1 1 3 3))",
    "over stones of any role": BOARD + APART + PAIR + RIGHT.replace("(stone ?x3 ?y3 ?r)", "(stone ?x3 ?y3 ?any)"),
    "over all cells": BOARD + APART + PAIR + RIGHT.replace("(true (stone ?x3 ?y3 ?r)))", ")"),
    "to stones of the other role": BOARD + FOREIGN + ENDS,
    "where one is": BOARD + WHERE + ENDS,
    "no chains": BOARD + APART + PAIR,
}


def rewritten(text: str) -> int:
    return dict(ground(make_logic_program(parse_rulesheet(text))).report.rewritings)["connectivity"]


@pytest.mark.parametrize("name", TAKEN)
def test_where_it_is_taken(name: str) -> None:
    assert rewritten(TAKEN[name]) == 1


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_where_it_is_not(name: str) -> None:
    assert rewritten(NOT_TAKEN[name]) == 0


@pytest.mark.parametrize("name", [*TAKEN, *NOT_TAKEN])
def test_the_circuit_says_the_same_as_the_interpreter(name: str) -> None:
    rulesheet = parse_rulesheet({**TAKEN, **NOT_TAKEN}[name])
    circuit, oracle, random = make_machine(rulesheet, "circuit"), Interpreter(rulesheet), Random(1)
    seen = set()
    for _ in range(12):
        state = oracle.initial_state
        for _ in range(25):
            goals = [oracle.goal(state, role) for role in oracle.roles]
            assert goals == [circuit.goal(state, role) for role in oracle.roles]
            assert oracle.is_terminal(state) == circuit.is_terminal(state)
            seen.add(tuple(goals))
            legal: list[tuple[Term, ...]] = [oracle.legal_moves(state, role) for role in oracle.roles]
            state = oracle.next_state(state, tuple(map(random.choice, legal)))
    assert len(seen) > 1
