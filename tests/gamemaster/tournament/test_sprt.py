"""The sequential test: against published values, a second way to the same, and simulated matches."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest

from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.ratings import sprt_of
from ggp.elo import OUTCOMES, _with_mean, bounds, elo_estimate, expected_value, log_likelihood_ratio
from ggp.errors import SettingsError
from tests.bench.rating_validation import rate, sprt_errors
from tests.gamemaster.tournament.simulated import Scenario, result

# Tests of Stockfish on Fishtest, as the pull requests of official-stockfish/Stockfish on GitHub quote them: the
# logarithm of the likelihood ratio to two digits, its hypotheses in logistic Elo points, the pairs.
FISHTEST = (
    ("3209, short", 2.94, (-0.25, 1.25), (253, 4282, 17604, 4431, 286)),
    ("3209, long", 2.97, (0.25, 1.25), (58, 3302, 33130, 3518, 84)),
    ("3098, short", 2.96, (-0.25, 1.25), (491, 7345, 29693, 7670, 465)),
    ("3098, long", 2.97, (0.25, 1.25), (53, 2220, 21459, 2445, 47)),
    ("2971, short", 2.96, (-0.5, 1.5), (17, 253, 1042, 337, 39)),
    ("2971, long", 2.93, (0.25, 1.75), (11, 407, 3238, 513, 11)),
    ("2951, short", 2.95, (-0.5, 1.5), (59, 754, 2467, 865, 75)),
    ("2493, short", 2.94, (-1.0, 3.0), (424, 2948, 5832, 3045, 460)),
    ("3331, short", 2.94, (-0.25, 1.25), (115, 2196, 11328, 2317, 136)),
)


@pytest.mark.parametrize(("name", "ratio", "hypotheses", "pairs"), FISHTEST)
def test_published_ratios_are_found(
    name: str, ratio: float, hypotheses: tuple[float, float], pairs: tuple[int, ...]
) -> None:
    assert log_likelihood_ratio(pairs, *hypotheses) == pytest.approx(ratio, abs=0.0101)


def test_the_bounds_are_those_of_wald() -> None:
    assert bounds(0.05, 0.05) == pytest.approx((-2.94, 2.94), abs=0.005)
    assert bounds(0.01, 0.2) == pytest.approx((math.log(0.2 / 0.99), math.log(80)))


@pytest.mark.parametrize("counts", [(1, 2, 3, 4, 5), (30, 1, 1, 1, 1), (0.001, 0.001, 0.001, 0.001, 8)])
@pytest.mark.parametrize("mean", [0.1, 0.5, 0.76])
def test_no_distribution_with_the_same_mean_is_likelier(counts: tuple[float, ...], mean: float) -> None:
    observed = np.array(counts) / sum(counts)
    best = _with_mean(observed, mean)
    assert best.sum() == pytest.approx(1)
    assert best @ OUTCOMES == pytest.approx(mean)
    chance = np.random.default_rng(1)
    for _ in range(200):
        step = chance.standard_normal(5)
        step -= step.mean()
        centred = OUTCOMES - OUTCOMES.mean()
        step -= centred * (step @ centred) / (centred @ centred)  # keeps the sum and the mean
        other = best + step * 0.2 * best.min() / np.abs(step).max()
        assert observed @ np.log(other) <= observed @ np.log(best) + 1e-12


Goals: TypeAlias = tuple[int | None, int | None]


def pairs_of(outcomes: Sequence[tuple[Goals, Goals]]) -> list[MatchResult]:
    """Pairs of matches; goal values are those of `a` and `b`, who is white in the first of both."""
    results = []
    for number, (first, second) in enumerate(outcomes):
        group = f"g{number}"
        results.append(result(Pairing(f"r001-g-{2 * number:04}-x", 0, "g", ("a", "b"), 0, group), first))
        results.append(result(Pairing(f"r001-g-{2 * number + 1:04}-x", 0, "g", ("b", "a"), 0, group), second[::-1]))
    return results


WON, DRAWN, LOST = (100, 0), (50, 50), (20, 30)


def test_pairs_are_counted_from_the_player() -> None:
    outcomes = [(WON, WON)] * 4 + [(WON, DRAWN)] * 3 + [(WON, LOST), (DRAWN, DRAWN)] + [(LOST, DRAWN), (LOST, LOST)]
    test = sprt_of(pairs_of(outcomes), 0, 50, player="a")
    assert test.pairs == (1, 1, 2, 3, 4)
    assert (test.player, test.opponent, test.decision) == ("a", "b", "open")
    assert test.llr == log_likelihood_ratio((1, 1, 2, 3, 4), 0, 50) > 0
    other = sprt_of(pairs_of(outcomes), -50, 0, player="b")
    assert other.pairs == (4, 3, 2, 1, 1)
    assert other.llr == pytest.approx(-test.llr)
    assert other.elo.value == pytest.approx(-test.elo.value)
    assert other.elo.low == pytest.approx(-test.elo.high)


def test_only_whole_pairs_with_exchanged_roles_count() -> None:
    results = pairs_of([(WON, WON), (WON, LOST), (WON, (None, 0))])
    assert sprt_of(results, 0, 50, player="a").pairs == (0, 0, 1, 0, 1)
    assert sprt_of(results[:3], 0, 50, player="a").pairs == (0, 0, 0, 0, 1)
    twice = [replace(each, pairing=replace(each.pairing, players=("a", "b"))) for each in results[:2]]
    assert sprt_of(twice, 0, 50, player="a").pairs == (0, 0, 0, 0, 0)
    alone = [replace(each, pairing=replace(each.pairing, group="")) for each in results]
    assert sprt_of(alone, 0, 50, player="a").pairs == (0, 0, 0, 0, 0)
    nothing = sprt_of([], 0, 50, player="a")
    assert (nothing.llr, nothing.decision, nothing.opponent) == (0, "open", "")


@pytest.mark.parametrize(("outcome", "decision"), [(WON, "H1"), (LOST, "H0"), (DRAWN, "H0")])
def test_it_decides_when_it_is_clear(outcome: tuple[int, int], decision: str) -> None:
    assert sprt_of(pairs_of([(outcome, outcome)] * 100), 0, 200, player="a").decision == decision
    assert sprt_of(pairs_of([(outcome, outcome)] * 2), 0, 200, player="a").decision == "open"


@pytest.mark.parametrize(
    ("elo0", "elo1", "alpha", "message"),
    [
        (10, 10, 0.05, "elo0 must be less than elo1"),
        (0, 5000, 0.05, "from -2000 to 2000"),
        (0, 10, 0.5, "alpha and beta must be between 0 and 0.5"),
        (float("nan"), 10, 0.05, "elo0 must be less"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(elo0: float, elo1: float, alpha: float, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        sprt_of([], elo0, elo1, alpha, player="a")


def test_the_estimate_is_finite_and_covers() -> None:
    everything = elo_estimate((0, 0, 0, 0, 10))
    assert 300 < everything.value < 800
    assert everything.low < 400  # ten pairs won are no rare luck for who wins 90 % of them
    chance = np.random.default_rng(1)
    likely = np.array([0.1, 0.2, 0.2, 0.3, 0.2])
    covered = []
    for _ in range(400):
        estimate = elo_estimate(chance.multinomial(40, likely).tolist())
        covered.append(float(estimate.low <= 400 * math.log10(0.575 / 0.425) <= estimate.high))
    found = rate(covered)
    assert expected_value(400 * math.log10(0.575 / 0.425)) == pytest.approx(0.575) == likely @ OUTCOMES
    assert 0.93 - 4 * found.error < found.value < 0.98 + 4 * found.error


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [Scenario("pairs", 2, 1), Scenario("one role is better", 2, 1, advantage=260)])
def test_it_errs_as_seldom_as_it_says(scenario: Scenario) -> None:
    """With true rates of 5 %, more than 13 % of 100 tests err with a chance of 1e-3; rates of 20 % would be found."""
    first, second, pairs = sprt_errors(scenario, -75, 75, 100, seed=1)
    assert first.value <= 0.13
    assert second.value <= 0.13
    assert 5 < pairs < 40
