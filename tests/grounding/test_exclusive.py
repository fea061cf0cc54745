"""Conditions about the square of a king, which is on one square at most: where that is proved, where it is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from ggp.cache import Cache
from ggp.circuit import compile as compiling
from ggp.circuit.compile import compile_game
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget, ground, reach
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import differences, make_pair, some_samples

pytestmark = pytest.mark.kernels

# Kings and rooks on a board of 4 by 4; a rook moves one square or two, and does not leave its king under attack.
BOARD = """
(role white) (role black) (other white black) (other black white)
(piece wk white king) (piece wr white rook) (piece bk black king) (piece br black rook)
(init (cell 1 1 wk)) (init (cell 2 4 wr)) (init (cell 4 3 wr)) (init (cell 4 4 bk)) (init (cell 1 3 br))
(d 1) (d 2) (d 3) (d 4) (after 1 2) (after 2 3) (after 3 4)
(<= (near ?x ?y) (after ?x ?y)) (<= (near ?x ?y) (after ?y ?x))
(<= (step ?x ?v ?y ?v) (near ?x ?y) (d ?v)) (<= (step ?u ?x ?u ?y) (near ?x ?y) (d ?u))
(<= (leap ?x ?v ?y ?v ?z ?v) (near ?x ?y) (near ?y ?z) (distinct ?x ?z) (d ?v))
(<= (leap ?u ?x ?u ?y ?u ?z) (near ?x ?y) (near ?y ?z) (distinct ?x ?z) (d ?u))
(<= (full ?x ?y) (true (cell ?x ?y ?a))) (<= (own ?p ?x ?y) (true (cell ?x ?y ?a)) (piece ?a ?p ?kind))
(<= (legal ?p (go ?a ?u ?v ?x ?y)) (turn ?p) (piece ?a ?p rook) (true (cell ?u ?v ?a)) (reaches ?u ?v ?x ?y)
    (not (own ?p ?x ?y)) (piece ?k ?p king) (true (cell ?s ?t ?k)) (not (attacked ?p ?x ?y ?s ?t ?u ?v)))
(<= (legal ?p (go ?k ?u ?v ?x ?y)) (turn ?p) (piece ?k ?p king) (true (cell ?u ?v ?k)) (step ?u ?v ?x ?y)
    (not (own ?p ?x ?y)))
(<= (legal ?p pass) (role ?p))
(<= (reaches ?u ?v ?x ?y) (step ?u ?v ?x ?y))
(<= (reaches ?u ?v ?x ?y) (leap ?u ?v ?m ?n ?x ?y) (not (full ?m ?n)))
(<= (attacked ?p ?cx ?cy ?s ?t ?ix ?iy) (other ?p ?o) (piece ?a ?o rook) (true (cell ?x ?y ?a)) (differ ?cx ?cy ?x ?y)
    (step ?x ?y ?s ?t) (d ?ix) (d ?iy))
(<= (attacked ?p ?cx ?cy ?s ?t ?ix ?iy) (other ?p ?o) (piece ?a ?o rook) (true (cell ?x ?y ?a)) (differ ?cx ?cy ?x ?y)
    (leap ?x ?y ?m ?n ?s ?t) (not (full ?m ?n)) (d ?ix) (d ?iy))
(<= (attacked ?p ?cx ?cy ?s ?t ?ix ?iy) (other ?p ?o) (piece ?a ?o rook) (true (cell ?x ?y ?a)) (differ ?cx ?cy ?x ?y)
    (leap ?x ?y ?ix ?iy ?s ?t))
(<= (differ ?x ?y ?s ?t) (d ?x) (d ?y) (d ?s) (d ?t) (distinct ?x ?s))
(<= (differ ?x ?y ?s ?t) (d ?x) (d ?y) (d ?s) (d ?t) (distinct ?y ?t))
(<= (next (cell ?x ?y ?a)) (does ?p (go ?a ?u ?v ?x ?y)))
(<= (next (cell ?x ?y ?a)) (true (cell ?x ?y ?a)) (not (touched ?x ?y)))
(<= (touched ?u ?v) (does ?p (go ?a ?u ?v ?x ?y))) (<= (touched ?x ?y) (does ?p (go ?a ?u ?v ?x ?y)))
(<= (lost ?p) (role ?p) (not (has ?p))) (<= (has ?p) (true (cell ?x ?y ?k)) (piece ?k ?p king))
(<= terminal (lost ?p)) (<= (goal ?p 0) (lost ?p)) (<= (goal ?p 100) (role ?p) (not (lost ?p)))
"""
TURNS = """(init (control white)) (<= (turn ?p) (true (control ?p)))
(<= (next (control ?o)) (true (control ?p)) (other ?p ?o))"""
AT_ONCE = "(<= (turn ?p) (role ?p))"
ANY_KING = "(<= (legal ?p (go ?k ?u ?v ?x ?y)) (turn ?p) (piece ?k ?o king) (true (cell ?u ?v ?k)) (step ?u ?v ?x ?y))"
CROWN = """(<= (legal ?p (crown ?x ?y)) (turn ?p) (piece ?a ?p rook) (true (cell ?x ?y ?a)))
(<= (touched ?x ?y) (does ?p (crown ?x ?y))) (<= (next (cell ?x ?y ?k)) (does ?p (crown ?x ?y)) (piece ?k ?p king))"""
RETURN = """(<= (legal ?p return) (turn ?p) (lost ?p))
(<= (next (cell 1 1 ?k)) (does ?p return) (piece ?k ?p king))"""
EXPOSED = """(<= (attacked ?p ?cx ?cy ?s ?t ?ix ?iy) (other ?p ?o) (piece ?a ?o king) (true (cell ?x ?y ?a))
    (differ ?cx ?cy ?x ?y) (step ?x ?y ?s ?t) (not (exposed ?p ?x ?y ?ix ?iy)))
(<= (exposed ?p ?x ?y ?ix ?iy) (piece ?a ?p rook) (true (cell ?u ?v ?a)) (differ ?u ?v ?ix ?iy) (step ?u ?v ?x ?y))"""

PROVED = {
    "in turns": BOARD + TURNS,
    "at once": BOARD + AT_ONCE,
    "any king, in turns": BOARD + TURNS + ANY_KING,
    "asked in the definition of what is asked": BOARD + TURNS + EXPOSED,
    "a king that returns once it is lost": BOARD + TURNS + RETURN,
}
NOT_PROVED = {
    "a rook becomes a king": BOARD + TURNS + CROWN,
    "any king, at once": BOARD + AT_ONCE + ANY_KING,
    "a king that stays where it moves from": BOARD + TURNS + "(<= (next (cell 1 1 wk)) (true (cell 1 1 wk)))",
    "a king that returns at any time": BOARD + TURNS + RETURN.replace("(lost ?p)", ""),
}
NOT_SUPPOSED = {
    "two kings at first": BOARD + TURNS + "(init (cell 2 2 wk))",
    "asked for any square": BOARD + TURNS + "(<= (safe ?p) (role ?p) (d ?s) (not (attacked ?p 1 1 ?s 4 2 2)))"
    "(<= (goal ?p 50) (safe ?p))",
    "asked positively": BOARD + TURNS + "(<= (goal ?p 50) (attacked ?p 1 1 2 2 3 3))",
}


@pytest.fixture(autouse=True)
def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick attempt fails."""
    monkeypatch.setenv("GGP_CACHE", "off")
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=5.0, rules=0))
    monkeypatch.setattr(reach, "_MUCH", 10)


def supposed(text: str, *, supposes: bool = True) -> list[set[str]]:
    """The pieces of each group of which the rules suppose that it is exclusive."""
    rules = ground(make_logic_program(parse_rulesheet(text)), supposes=supposes)
    return [{str(rules.facts[fact][-1]) for fact in group} for group in rules.exclusive]


@pytest.mark.parametrize("name", PROVED)
def test_a_king_is_on_one_square(name: str) -> None:
    assert sorted(supposed(PROVED[name]), key=str) == [{"bk"}, {"wk"}]
    assert supposed(PROVED[name], supposes=False) == []
    compiled = compile_game(parse_rulesheet(PROVED[name]))
    assert [len(group) for group in compiled.exclusive] == [16, 16]
    assert dict(compiled.report.rewritings)["exclusive"] == 2


@pytest.mark.parametrize("name", NOT_PROVED)
def test_a_king_may_be_on_two_squares(name: str) -> None:
    assert len(supposed(NOT_PROVED[name])) == 2
    assert compile_game(parse_rulesheet(NOT_PROVED[name])).exclusive == ()


@pytest.mark.parametrize("name", NOT_SUPPOSED)
def test_nothing_is_supposed(name: str) -> None:
    assert supposed(NOT_SUPPOSED[name]) == []


@pytest.mark.parametrize("name", [*PROVED, *NOT_PROVED, *NOT_SUPPOSED])
def test_the_circuit_says_the_same_as_the_interpreter(name: str) -> None:
    pair = make_pair(parse_rulesheet({**PROVED, **NOT_PROVED, **NOT_SUPPOSED}[name]))
    found = some_samples(pair.interpreter, seed=1, count=300)
    assert [text for sample in found for text in differences(pair.circuit, pair.interpreter, sample)] == []


@pytest.mark.parametrize("name", NOT_PROVED)
def test_without_a_proof_the_circuit_would_say_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "are_exclusive", lambda *_: True)
    pair = make_pair(parse_rulesheet(NOT_PROVED[name]))
    found = some_samples(pair.interpreter, seed=1, count=3000)
    circuit = CircuitMachine(pair.circuit.rulesheet, replace(pair.compiled, exclusive=()))
    assert any(True for sample in found for _ in differences(circuit, pair.interpreter, sample))


def test_groups_are_kept_in_the_cache(tmp_path: Path) -> None:
    rulesheet, cache = parse_rulesheet(PROVED["in turns"]), Cache(tmp_path)
    made, found = (compile_game(rulesheet, cache=cache) for _ in range(2))
    assert not made.report.cached
    assert found.report.cached
    assert found.exclusive == made.exclusive != ()


def test_the_interpreter_answers_for_two_kings_of_a_role() -> None:
    pair = make_pair(parse_rulesheet(PROVED["in turns"]))
    state = pair.interpreter.initial_state | {("cell", "4", "1", "wk")}
    moves = pair.interpreter.legal_moves(state, "white")
    assert set(pair.circuit.legal_moves(state, "white")) == set(moves)
    assert pair.circuit.packed(state) is None
