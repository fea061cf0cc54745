"""Which settings suit a game: matches count, few of them change nothing, and a stop leaves nothing half."""

from dataclasses import replace
from functools import cache
from threading import enumerate as enumerate_threads

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.learning.boards import find_patterns
from ggp.learning.inputs import find_inputs
from ggp.learning.net import make_net
from ggp.library import find_rulesheet
from ggp.search.mcts.search import SearchSettings
from ggp.search.mcts.tuning import MOST_MATCHES, VALUE_WEIGHT, Tuner, Variant, variants_of
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.simulation.games import GAMES

USUAL = SearchSettings(memory_bytes=2**20)


@cache
def machine_of(name: str) -> CircuitMachine:
    text = GAMES[name] if name in GAMES else find_rulesheet(name).read_text(encoding="utf-8")
    return make_pair(parse_rulesheet(text)).circuit


@pytest.mark.parametrize(
    ("matches", "points", "better", "still_open"),
    [
        (0, 0.0, False, True),
        (4, 4.0, False, True),  # luck
        (20, 18.0, True, True),
        (40, 20.0, False, True),
        (40, 8.0, False, False),
        (MOST_MATCHES, MOST_MATCHES / 2, False, False),
    ],
)
def test_a_variant_has_to_win_clearly(matches: int, points: float, better: bool, still_open: bool) -> None:
    variant = Variant(USUAL, matches=matches, points=points)
    best = Variant(USUAL)
    assert variant.is_better(best) == better
    assert variant.is_open(best) == still_open


def test_matches_are_played_in_every_role_from_any_state() -> None:
    machine = machine_of("tictactoe")
    tuner = Tuner(machine, USUAL, seed=3)
    state = machine.initial_state
    for number in range(1, 5):
        assert tuner.play(state, lambda: False)
        assert sum(variant.matches for variant in tuner.variants) == 2 * number
        assert all(0 <= variant.points <= variant.matches for variant in tuner.variants)
    assert tuner.best.settings == USUAL
    assert tuner.seconds >= tuner.last_seconds > 0


def test_what_needs_a_net_waits_for_one_and_a_newer_one_is_tried_again() -> None:
    machine = machine_of("tictactoe")
    tuner = Tuner(machine, USUAL)
    tuner.variants[-1].matches, tuner.variants[-1].points = 40, 5.0  # hopeless
    assert not tuner.play(machine.initial_state, lambda: False)
    prior, minimax, mixed = (variant for variant in tuner.variants if variant.needs_net)
    net = make_net(find_inputs(machine.compiled), len(machine.roles), sum(map(len, machine.compiled.moves)), 1)
    tuner.use_net(net)
    assert tuner.best is prior
    while not mixed.matches:  # after minimax, which is taken where it does as well as the others
        assert tuner.play(machine.initial_state, lambda: False)
    assert minimax.visits > 0
    before = mixed.matches, mixed.points
    tuner.use_net(net)
    assert (4 * mixed.matches, 4 * mixed.points) == before


def test_minimax_is_tried_only_where_two_roles_are_opposed() -> None:
    machine = machine_of("tictactoe3")
    tuner = Tuner(machine, USUAL)
    tuner.use_net(make_net(find_inputs(machine.compiled), len(machine.roles), sum(map(len, machine.compiled.moves)), 1))
    for _ in range(6):
        assert tuner.play(machine.initial_state, lambda: False) or tuner.is_done
    played = {each.settings.minimax_weight for each in tuner.variants if each.matches}
    assert played == {0.0}
    assert not any(tuner._may_challenge(each) for each in tuner.variants if each.settings.minimax_weight)


def test_a_variant_that_always_wins_is_taken() -> None:
    tuner = Tuner(machine_of("tictactoe"), USUAL)
    uniform = tuner.variants[-1]
    uniform.matches, uniform.points = 30, 30
    while tuner.best is tuner.variants[0]:
        assert tuner.play(tuner.machine.initial_state, lambda: False)
    assert tuner.best is uniform
    assert not any(variant.matches for variant in tuner.variants)


@pytest.mark.parametrize(("points", "is_better"), [(3.0, True), (2.0, False)])
def test_minimax_is_expected_to_gain_with_visits(points: float, *, is_better: bool) -> None:
    """Half of the points of six matches are enough for it, two are not; others have to win."""
    prior, minimax, mixed = (variant for variant in variants_of(USUAL) if variant.needs_net)
    for variant in (prior, minimax, mixed):
        variant.matches, variant.points = 6.0, points
    assert minimax.is_better(prior) is is_better
    assert not mixed.is_better(prior)
    prior.matches, prior.points = 30.0, 20.0  # so many as are enough against another choice
    assert prior.is_better(mixed)
    assert not prior.is_better(minimax)


def test_with_patterns_minimax_has_to_win_as_others_do_and_half_of_the_value_less_clearly() -> None:
    machine = machine_of("connectfour")
    tuner, game = ready(Tuner(machine, USUAL)), machine.compiled
    for patterns in (find_patterns(game), None):
        moves = sum(map(len, game.moves))
        tuner.use_net(make_net(find_inputs(game), len(machine.roles), moves, 1, patterns=patterns))
        tuner.use_decisive()
        usual = tuner.variants[0]
        for variant in (each for each in tuner.variants if each.settings.minimax_weight):
            variant.matches, variant.points = 6.0, 3.0
            assert variant.is_better(usual) is (patterns is None)
            variant.matches, variant.points = 20.0, 18.0
            assert variant.is_better(usual)
            assert (variant.visits_ratio > 1) is (patterns is None)
        for variant in (each for each in tuner.variants if each.settings.value_weight == VALUE_WEIGHT):
            variant.matches, variant.points = 12.0, 7.5
            assert variant.is_better(usual) is (patterns is not None)
            variant.points = 6.0
            assert not variant.is_better(usual)


def test_a_weight_of_the_value_that_the_user_set_has_to_win_as_clearly_as_before() -> None:
    machine = machine_of("connectfour")
    game, usual = machine.compiled, replace(USUAL, value_weight=0.3)
    tuner, moves = Tuner(machine, usual), sum(map(len, game.moves))
    tuner.use_net(make_net(find_inputs(game), len(machine.roles), moves, 1, patterns=find_patterns(game)))
    less_certain = [each.settings.value_weight for each in tuner.variants if each.certain < Variant(usual).certain]
    assert less_certain == [VALUE_WEIGHT]


def test_minimax_that_wins_no_match_is_given_up_soon() -> None:
    prior, minimax, _ = (variant for variant in variants_of(USUAL) if variant.needs_net)
    minimax.matches = 4.0
    assert not minimax.is_open(prior)
    minimax.points = 1.0
    assert minimax.is_open(prior)


def test_matches_have_as_many_visits_as_there_is_time_for() -> None:
    tuner = Tuner(machine_of("tictactoe"), USUAL, seed=1)
    assert tuner.play(tuner.machine.initial_state, lambda: False)
    few, many = tuner._affordable(0.1, 2), tuner._affordable(1.0, 2)
    assert 0 < few < many
    assert tuner._affordable(1.0, 4) < many


def test_the_same_seed_gives_the_same_matches() -> None:
    found = []
    for _ in range(2):
        tuner = Tuner(machine_of("biddingtictactoe"), USUAL, seed=5)
        tuner._visits = 8000  # else it grows by the clock
        assert tuner.play(tuner.machine.initial_state, lambda: False)
        found.append([(variant.matches, variant.points) for variant in tuner.variants])
    assert found[0] == found[1]


def test_a_stop_leaves_no_result() -> None:
    tuner = Tuner(machine_of("connectfour"), USUAL)
    left = iter(range(30))
    assert not tuner.play(tuner.machine.initial_state, lambda: next(left, None) is None)
    assert not any(variant.matches for variant in tuner.variants)


def test_nothing_is_played_when_all_is_known() -> None:
    tuner = Tuner(machine_of("tictactoe"), USUAL)
    for variant in tuner.variants:
        variant.matches, variant.points = 40, 5.0
    assert tuner.is_done
    assert not tuner.play(tuner.machine.initial_state, lambda: False)


def ready(tuner: Tuner) -> Tuner:
    """Waits for its machine code."""
    for thread in enumerate_threads():
        if thread.name == "machine code":
            thread.join()
    return tuner


def test_decisive_moves_are_the_choice_as_soon_as_they_are_there() -> None:
    tuner = ready(Tuner(machine_of("connectfour"), USUAL))
    prior = tuner.variants[1]
    tuner._choose_variant(prior)
    assert tuner.use_decisive()
    assert tuner.best.settings == replace(prior.settings, decisive_moves=2)
    assert tuner.best.needs_net
    assert not tuner.use_decisive()
    near = [each for each in tuner.variants if tuner._may_challenge(each)]
    assert [each.settings.decisive_moves for each in near] == [2, 2]  # those that need no net


def test_one_step_has_to_show_that_it_is_better() -> None:
    tuner = ready(Tuner(machine_of("biddingtictactoe"), USUAL))
    assert tuner.use_decisive()
    assert tuner.best.settings == USUAL
    assert {each.settings.decisive_moves for each in tuner.variants} == {0, 1}


def test_where_decisive_moves_are_not_affordable_there_are_no_such_variants() -> None:
    tuner = ready(Tuner(machine_of("reversi"), USUAL))
    assert not tuner.use_decisive()
    assert not any(each.settings.decisive_moves for each in tuner.variants)
