"""Random matches as evidence: what they report for games with each kind of trouble."""

import pytest

from ggp.engines import ENGINES
from ggp.game import load, load_text
from ggp.simulation.evidence import gather_evidence
from tests.simulation.games import SINGLE_MOVES

ENDLESS = "(role r) (legal r a) (goal r 1) (<= terminal (true never)) (init x) (<= (next x) (true x))"
STUCK = (
    "(role r) (role s) (legal r a) (<= (legal s b) (true x)) (init x) (goal r 1) (goal s 1) (<= terminal (true never))"
)
UNCLEAR = "(role r) (role s) (legal r a) (legal s a) (init x) (<= terminal (not (true x))) (goal r 1) (goal r 2)"
BROKEN = "(role r) (legal r a) (goal r 1) (<= terminal (nat ?x) (not (nat ?x))) (nat z) (<= (nat (s ?x)) (nat ?x))"


pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_a_clean_game(engine: str) -> None:
    evidence = gather_evidence(load("tictactoe", engine).machine, matches=30, seed=7)
    assert evidence.is_clean
    assert evidence.ended == evidence.matches == 30
    assert 5 * 30 <= evidence.steps <= 9 * 30
    assert set(evidence.wins) == {"xplayer", "oplayer"}
    assert 1 <= evidence.wins["oplayer"] < evidence.wins["xplayer"] <= 29


def test_the_same_seed_plays_the_same_matches(engine: str) -> None:
    machine = load("tictactoe", engine).machine
    assert gather_evidence(machine, 5, seed=1) == gather_evidence(machine, 5, seed=1)
    assert gather_evidence(machine, 5, seed=1) != gather_evidence(machine, 5, seed=2)


def test_matches_that_do_not_end(engine: str) -> None:
    evidence = gather_evidence(load_text(ENDLESS, engine=engine).machine, matches=2, max_steps=9)
    assert (evidence.ended, evidence.longest, evidence.is_clean) == (0, 9, False)


def test_a_role_without_a_move(engine: str) -> None:
    evidence = gather_evidence(load_text(STUCK, engine=engine).machine, matches=3)
    assert evidence.stuck == {"s": 3}
    assert not evidence.is_clean


def test_goals_that_are_missing_or_several(engine: str) -> None:
    evidence = gather_evidence(load_text(UNCLEAR, engine=engine).machine, matches=3)
    assert evidence.unclear_goals == {"r": 3, "s": 3}
    assert evidence.ended == 3


def test_nature_has_no_goals(engine: str) -> None:
    rules = (
        UNCLEAR.replace("(role s)", "(role random)").replace("legal s", "legal random").replace("goal r 2", "goal r 1")
    )
    evidence = gather_evidence(load_text(rules, engine=engine).machine, matches=3)
    assert evidence.is_clean
    assert evidence.wins == {"r": 0}


def test_time_is_limited(engine: str) -> None:
    evidence = gather_evidence(load_text(ENDLESS, engine=engine).machine, matches=1000, max_steps=50_000, seconds=0.0)
    assert (evidence.cut_off, evidence.ended, evidence.is_clean) == (1000, 0, False)
    found = gather_evidence(load_text(ENDLESS, engine=engine).machine, matches=3, max_steps=10**5, seconds=0.2)
    assert 0 < found.cut_off <= 3
    assert 0 < found.longest < 10**5


def test_rules_that_cannot_be_evaluated(engine: str) -> None:
    evidence = gather_evidence(load_text(BROKEN).machine, matches=3)
    assert "beyond" in evidence.error
    assert not evidence.is_clean


def test_lengths_are_those_of_the_interpreter(engine: str) -> None:
    """A match of three steps, given up after fewer; a match that gets stuck after one."""
    evidence = gather_evidence(load_text(SINGLE_MOVES, engine=engine).machine, matches=600)
    assert (evidence.ended, evidence.steps, evidence.longest) == (600, 1800, 3)
    evidence = gather_evidence(load_text(SINGLE_MOVES, engine=engine).machine, matches=3, max_steps=2)
    assert (evidence.ended, evidence.steps, evidence.longest) == (0, 6, 2)
    evidence = gather_evidence(load_text(STUCK, engine=engine).machine, matches=3)
    assert (evidence.ended, evidence.steps, evidence.longest) == (0, 3, 1)
