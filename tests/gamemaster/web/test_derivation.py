"""Rulesheets that begin with a state of another: the same game from there on."""

from random import Random

import pytest

import ggp
from gamemaster.web.evaluators.derivation import RulesheetOrigin, derived_rulesheet, origin_of
from ggp.game import Game
from ggp.gdl.rulesheet import parse_rulesheet
from tests.games.helpers import FIRST_GAMES

READS_INIT = """
(role lonely)
(init (left 2)) (init (home a))
(pred 2 1) (pred 1 0)
(<= (next (left ?m)) (true (left ?n)) (pred ?n ?m))
(<= (next (home b)) (true (home ?x)))
(<= (begun_at ?n) (init (left ?n)))
(<= (legal lonely (from ?n ?x)) (begun_at ?n) (true (home ?x)))
(<= terminal (true (left 0)))
(<= (goal lonely 100) (not (init (home b))))
"""  # rules that read the initial state, which GDL forbids and published rulesheets do


def after(game: Game, seed: int, steps: int) -> ggp.State:
    rng, state = Random(seed), game.initial_state
    for _ in range(steps):
        if state.is_terminal:
            break
        state = state.play({role: rng.choice(state.legal_moves(role)) for role in game.roles})
    return state


def derived(state: ggp.State) -> Game:
    return ggp.load_text(derived_rulesheet(state.game.rulesheet, state.terms).text, "derived", "interpreter")


@pytest.mark.parametrize("name", FIRST_GAMES)
def test_a_game_goes_on_as_it_would_have(name: str) -> None:
    game = ggp.load(name, "interpreter")
    state = after(game, 3, 5)
    other = derived(state).initial_state
    rng = Random(7)
    for _ in range(3):
        assert other.terms == state.terms
        assert other.is_terminal == state.is_terminal
        assert other.goals == state.goals
        if state.is_terminal:
            break
        moves = {role: rng.choice(state.legal_moves(role)) for role in game.roles}
        assert {role: other.legal_moves(role) for role in game.roles} == {
            role: state.legal_moves(role) for role in game.roles
        }
        state, other = state.play(moves), other.play(moves)


def test_what_rules_read_of_the_initial_state_stays() -> None:
    game = ggp.load_text(READS_INIT, "reads-init", "interpreter")
    state = game.initial_state.play({})
    assert state.legal_moves("lonely") == ("(from 2 b)",)
    other = derived(state).initial_state
    assert other.facts == state.facts
    assert other.legal_moves("lonely") == ("(from 2 b)",)
    assert other.goals == {"lonely": 100}


def test_functions_that_are_called_init_keep_their_name() -> None:
    rules = "(role a) (init (on (init 1))) (<= (seen ?x) (init ?x)) (legal a go) (goal a 0)"
    rulesheet = parse_rulesheet(f"{rules} (<= terminal (true (on (init 2))))")
    found = derived_rulesheet(rulesheet, frozenset({("on", ("init", "2"))}))
    assert "(begun (on (init 1)))" in found.text
    assert "(<= (seen ?x) (begun ?x))" in found.text
    assert "(<= terminal (true (on (init 2))))" in found.text
    assert ggp.load_text(found.text, "x", "interpreter").initial_state.is_terminal


def test_the_origin_is_told_and_changes_no_rule() -> None:
    game = ggp.load("tictactoe", "interpreter")
    origin = RulesheetOrigin("event~r001-tictactoe.2_x", 12)
    plain = derived_rulesheet(game.rulesheet, game.initial_state.terms)
    told = derived_rulesheet(game.rulesheet, game.initial_state.terms, origin)
    assert origin_of(told.text) == origin
    assert origin_of(plain.text) is None
    assert told.sha256 == plain.sha256


@pytest.mark.parametrize("name", ["<script>", "../up", "a b", "", "x" * 300])
def test_an_origin_with_an_odd_name_is_none(name: str) -> None:
    assert origin_of(f"; goes on from match {name} after 3 steps\n(role a)") is None
