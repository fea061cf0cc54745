"""Why a move is not legal: each kind of reason, in the words of the rulesheet."""

from collections.abc import Sequence
from typing import Any

import pytest

from ggp.errors import EvaluationError
from ggp.game import Game, load_text
from ggp.gdl.logic_program import LogicProgram, Relation
from ggp.gdl.reader import read_term
from ggp.interpreter import ask
from ggp.interpreter.legality import Refusals, refusal

RULES = """
(role north) (role south) (init (turn north)) (init (free 1)) (init (free 2))
(size 1) (size 2) (other north south) (other south north)
(<= (legal ?r (take ?n)) (true (turn ?r)) (true (free ?n)) (not (true (locked ?n))))
(<= (legal ?r (swap ?a ?b)) (true (turn ?r)) (true (free ?a)) (size ?b) (distinct ?a ?b))
(<= (legal ?r rest) (other ?r ?s) (true (turn ?s)))
(<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))
(<= (next (free ?n)) (true (free ?n)) (not (does north (take ?n))))
(<= terminal (true over)) (<= (goal ?r 50) (role ?r))
"""
INPUTS = """
(<= (input ?r (take ?n)) (role ?r) (size ?n)) (<= (input ?r rest) (role ?r))
(<= (input ?r (swap ?a ?b)) (role ?r) (size ?a) (size ?b) (distinct ?a ?b))
"""
NORTH = ("(turn north)", "(free 1)")
LATER = "(<= (next {0}) (not (true {0})))"  # so that the fact can ever hold


@pytest.fixture(params=[RULES, RULES + INPUTS, RULES + "(input north rest)"], ids=["none", "right", "wrong"])
def game(request: pytest.FixtureRequest) -> Game:
    """The same game without `input`, with it, and with a wrong one that must not be believed."""
    return load_text(request.param)


def why(game: Game, facts: tuple[str, ...], role: str, move: str) -> tuple[str, str] | None:
    found = refusal(game.rulesheet, game.machine, frozenset(map(read_term, facts)), role, move)
    return (found.kind, found.reason) if found else None


def test_a_legal_move_has_no_reason_in_any_spelling(game: Game) -> None:
    assert why(game, NORTH, "north", "(take 1)") is None
    assert why(game, NORTH, "north", " (TAKE 1 ) ; mine") is None
    assert why(game, NORTH, "south", "(rest)") is None


@pytest.mark.parametrize("text", ["", "(take", "take 1", ")", "((take) 1)", "()"])
def test_unreadable(game: Game, text: str) -> None:
    found = why(game, NORTH, "north", text)
    assert found is not None
    assert found[0] == "unreadable"


def test_a_variable_is_no_move(game: Game) -> None:
    assert why(game, NORTH, "north", "(take ?x)") == ("unreadable", "a move has no variables")


@pytest.mark.parametrize("move", ["(take 3)", "take", "(take 1 2)", "(fly 1)", "(swap 1 9)"])
def test_no_move_of_this_game(game: Game, move: str) -> None:
    assert why(game, NORTH, "north", move) == ("unknown", f"{move} is not a move of this game")
    assert why(game, (*NORTH, "over"), "south", move) == ("unknown", f"{move} is not a move of this game")


def test_a_reason_that_takes_too_long_is_none() -> None:
    game = load_text(RULES + INPUTS)
    refusals = Refusals(game.rulesheet, game.machine)
    state = frozenset(map(read_term, NORTH))
    with pytest.raises(EvaluationError, match="takes too long"):
        refusals.of(state, "north", "(take 2)", lambda: True)
    assert refusals.of(state, "north", "(take 1)", lambda: True) is None
    found = refusals.of(state, "north", "(take 2)")
    assert found is not None
    assert found.reason == "(true (free 2)) does not hold"


def test_what_input_lists_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_text(RULES + INPUTS)
    refusals = Refusals(game.rulesheet, game.machine)
    asked: list[object] = []

    def counting(program: LogicProgram, relations: Sequence[Relation], *rest: Any, **late: Any) -> Any:  # noqa: ANN401
        asked.extend(relations)
        return ask(program, relations, *rest, **late)

    monkeypatch.setattr("ggp.interpreter.legality.ask", counting)
    for facts in (NORTH, (*NORTH, "(free 2)")):
        found = refusals.of(frozenset(map(read_term, facts)), "north", "(fly 1)")
        assert found is not None
        assert found.kind == "unknown"
    assert asked == [("input", 2)]


def test_input_tells_moves_apart_that_domains_cannot() -> None:
    assert why(load_text(RULES), NORTH, "north", "(swap 1 1)") == ("condition", "(distinct 1 1) does not hold")
    assert why(load_text(RULES + INPUTS), NORTH, "north", "(swap 1 1)") == (
        "unknown",
        "(swap 1 1) is not a move of this game",
    )


def test_the_match_is_over(game: Game) -> None:
    assert why(game, (*NORTH, "over"), "north", "(take 1)") == ("over", "the match is over")


def test_not_this_roles_turn(game: Game) -> None:
    expected = ("turn", "it is not the turn of south, whose only move now is rest")
    assert why(game, NORTH, "south", "(take 1)") == expected


def test_the_first_condition_that_fails(game: Game) -> None:
    facts = (*NORTH, "(free 2)", "(locked 2)")
    assert why(game, NORTH, "north", "(take 2)") == ("condition", "(true (free 2)) does not hold")
    assert why(game, facts, "north", "(take 2)") == ("condition", "(true (locked 2)) holds")
    assert why(game, facts, "north", "rest") == ("condition", "(true (turn south)) does not hold")


def test_the_closest_rule_is_quoted() -> None:
    rules = RULES + "(<= (legal ?r (take ?n)) (true (never ?r)) (true (free ?n)))"
    assert why(load_text(rules), (*NORTH, "(free 2)", "(locked 2)"), "north", "(take 2)") == (
        "condition",
        "(true (locked 2)) holds",
    )


def test_the_last_move_left_is_not_the_turn_of_another_role() -> None:
    game = load_text(RULES)
    facts = ("(turn north)", "(free 1)", "(locked 2)")
    one_left = RULES.replace("(<= (legal ?r (swap ?a ?b))", "(<= (legal none (swap ?a ?b))")
    game = load_text(one_left)
    assert game.machine.legal_moves(frozenset(map(read_term, facts)), "north") == (("take", "1"),)
    assert why(game, facts, "north", "(take 2)") == ("condition", "(true (free 2)) does not hold")
    assert why(game, facts, "north", "rest") == ("condition", "(true (turn south)) does not hold")
    assert why(game, facts, "south", "(take 1)") == ("turn", "it is not the turn of south, whose only move now is rest")


def test_a_game_of_one_role_has_no_turns() -> None:
    game = load_text(
        "(role r) (init x) (legal r go) (<= (legal r (up ?n)) (true (at ?n))) (goal r 0) (<= terminal (true e))"
        "(<= (next (at 1)) (not (true (at 1))))"
    )
    assert why(game, ("x",), "r", "(up 1)") == ("condition", "(true (at 1)) does not hold")


def test_facts_of_a_relation_with_rules_are_never_the_reason() -> None:
    game = load_text(
        RULES + "(legal north shout) (<= (legal ?r sing) (true (merry ?r)))" + LATER.format("(merry north)")
    )
    assert why(game, NORTH, "north", "sing") == ("condition", "(true (merry north)) does not hold")


def test_conditions_are_quoted_as_they_were_written() -> None:
    many = " ".join(f"(or (true (a{i} ?n)) (true (b{i} ?n)))" for i in range(9))
    later = "".join(LATER.format(f"({letter}{i} 1)") for i in range(9) for letter in "ab")
    game = load_text(RULES + f"(<= (legal ?r (big ?n)) (size ?n) {many})" + later)
    assert why(game, NORTH, "north", "(big 1)") == ("condition", "(or (true (a0 1)) (true (b0 1))) does not hold")
    game = load_text(RULES + "(<= (legal ?r hum) (role ?r) (not (and (true (free ?n)) (size ?n))))")
    assert why(game, NORTH, "north", "hum") == (
        "condition",
        "(and (true (free ?n)) (size ?n)) holds",
    )


@pytest.mark.parametrize(
    "hint", ["(<= (input ?r (m ?x)) (role ?r))", "(n 0) (<= (n (s ?x)) (n ?x)) (<= (input r ?x) (n ?x))"]
)
def test_a_broken_input_is_not_asked(hint: str) -> None:
    assert why(load_text(RULES + hint), NORTH, "north", "(take 2)") == ("condition", "(true (free 2)) does not hold")


def test_without_input_only_moves_that_a_rule_may_give_are_a_matter_of_turns() -> None:
    rules = "(role w) (role b) (init (turn w)) (init x) (<= (next (turn w)) (true (turn b))) (goal w 0) (goal b 0)"
    rules += (
        "(<= (legal w push) (true (turn w))) (<= (legal w pull) (true (turn w))) (<= (legal b jump) (true (turn b)))"
    )
    rules += "(<= (legal b wait) (true (turn w))) (<= terminal (true e)) (<= (next (turn b)) (true (turn w)))"
    assert why(load_text(rules), ("(turn w)",), "b", "jump") == (
        "turn",
        "it is not the turn of b, whose only move now is wait",
    )
    assert why(load_text(rules), ("(turn w)",), "b", "push") == ("condition", "no rule can give b the move push")


def test_a_move_that_only_another_role_ever_has() -> None:
    game = load_text(RULES + "(<= (legal north pass) (true (turn north)))")
    facts = ("(turn south)", "(free 1)", "(free 2)")
    assert why(game, facts, "south", "pass") == ("condition", "no rule can give south the move pass")
