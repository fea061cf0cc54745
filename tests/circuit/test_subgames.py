"""Games that are made of several: which facts belong together, from rules whose boards are known."""

import numpy as np
import pytest

from ggp.circuit.compilation import compile_game
from ggp.circuit.subgames import find_subgames
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import to_text
from ggp.library import find_rulesheet, game_names

FRAME = """
(role white) (role black) (init (control white))
(<= (next (control white)) (true (control black)))
(<= (next (control black)) (true (control white)))
(<= (legal ?r noop) (role ?r) (not (true (control ?r))))
(col 1) (col 2) (col 3) (board a) (board b)
(<= (free ?b ?x) (board ?b) (col ?x) (not (taken ?b ?x)))
(<= (taken ?b ?x) (true (mark ?b ?x ?r)))
(<= (next (mark ?b ?x ?r)) (true (mark ?b ?x ?r)))
(<= (row ?b ?r) (true (mark ?b 1 ?r)) (true (mark ?b 2 ?r)))
(<= (row ?b ?r) (true (mark ?b 2 ?r)) (true (mark ?b 3 ?r)))
(<= (full ?b) (board ?b) (not (free ?b 1)) (not (free ?b 2)) (not (free ?b 3)))
"""
IN_TURN = """
(<= (legal ?r (put ?b ?x)) (true (control ?r)) (free ?b ?x))
(<= (next (mark ?b ?x ?r)) (does ?r (put ?b ?x)))
"""  # in one board or the other
AT_ONCE = """
(<= (legal ?r (put ?x ?y)) (true (control ?r)) (free a ?x) (free b ?y))
(<= (next (mark a ?x ?r)) (does ?r (put ?x ?y)))
(<= (next (mark b ?y ?r)) (does ?r (put ?x ?y)))
"""  # in both
EITHER = """
(<= terminal (row ?b ?r)) (<= terminal (full a)) (<= terminal (full b))
(<= (goal ?r 100) (row ?b ?r)) (<= (goal ?r 0) (role ?r) (not (row a ?r)) (not (row b ?r)))
"""
BOTH = """
(<= over (full a) (full b)) (<= terminal over)
(<= (goal ?r 100) (row a ?r) (row b ?r)) (<= (goal ?r 50) (row a ?r) (not (row b ?r)))
(<= (goal ?r 50) (row b ?r) (not (row a ?r))) (<= (goal ?r 0) (role ?r) (not (row a ?r)) (not (row b ?r)))
"""
ACROSS = """
(<= terminal (full a)) (<= (goal ?r 100) (true (mark a ?x ?r)) (true (mark b ?x ?r)))
(<= (goal ?r 0) (role ?r) (not (pair ?r))) (<= (pair ?r) (true (mark a ?x ?r)) (true (mark b ?x ?r)))
"""  # each cell of a board together with the same one of the other


def subgames(text: str) -> list[set[str]]:
    compiled = compile_game(parse_rulesheet(text, "rules"))
    known = np.all(compiled.phases >= 0, axis=0) | (compiled.constants >= 0)
    return [{to_text(compiled.facts[fact]) for fact in facts} for facts in find_subgames(compiled.circuit, known)]


@pytest.mark.parametrize("moves", [IN_TURN, AT_ONCE])
@pytest.mark.parametrize("end", [EITHER, BOTH])
def test_two_boards_are_two_games(moves: str, end: str) -> None:
    found = subgames(FRAME + moves + end)
    boards = [{f"(mark {board} {col} {role})" for col in (1, 2, 3) for role in ("white", "black")} for board in "ab"]
    assert sorted(found, key=min) == boards


def test_boards_whose_cells_are_compared_are_one_game() -> None:
    assert subgames(FRAME + IN_TURN + ACROSS) == []


def test_what_the_outcome_does_not_look_at_is_no_game() -> None:
    only = EITHER.replace("(full b)", "(full a)").replace("?b ?r", "a ?r").replace("(not (row b ?r))", "")
    assert subgames(FRAME + IN_TURN + only) == []


@pytest.mark.parametrize("game", game_names())
def test_shipped_games_are_one(game: str) -> None:
    assert subgames(find_rulesheet(game).read_text(encoding="utf-8")) == []
