"""Intervals and the sequential test, on simulated pairs."""

from math import isclose, log10
from random import Random

import pytest

from tests.bench.scores import OUTCOMES, Sprt, expected_score, score

# shares of the outcomes 0, 1/4, 1/2, 3/4, 1 of a pair
INDEPENDENT = (1 / 16, 1 / 4, 3 / 8, 1 / 4, 1 / 16)
FIRST_ROLE_WINS = (0.0, 0.05, 0.9, 0.05, 0.0)
STRONG = (0.0, 0.01, 0.05, 0.14, 0.8)
DRAWN = (0.03, 0.12, 0.5, 0.25, 0.1)


def mean(shares: tuple[float, ...]) -> float:
    return sum(share * outcome for share, outcome in zip(shares, OUTCOMES, strict=True))


def draw(shares: tuple[float, ...], pairs: int, rng: Random) -> list[float]:
    return rng.choices(OUTCOMES, shares, k=pairs)


@pytest.mark.parametrize("shares", [INDEPENDENT, FIRST_ROLE_WINS, STRONG, DRAWN])
@pytest.mark.parametrize("pairs", [20, 100])
def test_the_interval_holds_the_truth_in_95_of_100_cases(shares: tuple[float, ...], pairs: int) -> None:
    rng = Random(5)
    scores = [score(draw(shares, pairs, rng)) for _ in range(500)]
    held = sum(each.low <= mean(shares) <= each.high for each in scores)
    assert 0.92 <= held / 500 <= (1.0 if shares is FIRST_ROLE_WINS else 0.98)


def test_pairs_whose_matches_cancel_say_more_than_as_many_single_matches() -> None:
    cancelling = score([0.5] * 50)
    scattered = score([0.0, 1.0] * 25)
    assert cancelling.mean == scattered.mean == 0.5
    assert cancelling.high - cancelling.low < 0.05
    assert scattered.high - scattered.low > 0.25


def test_the_interval_is_that_of_single_matches_where_these_are_independent() -> None:
    found = score([1.0] * 400 + [0.5] * 800 + [0.0] * 400)
    half = 1.96 * (0.25 / 3200) ** 0.5
    assert isclose(found.low, 0.5 - half, abs_tol=1e-3)
    assert isclose(found.high, 0.5 + half, abs_tol=1e-3)


def test_no_interval_leaves_the_range_or_is_certain() -> None:
    all_won, all_lost = score([1.0] * 50), score([0.0] * 50)
    assert 0.93 < all_won.low < 0.98
    assert all_won.high == 1.0
    assert all_lost.low == 0.0
    assert isclose(all_lost.high, 1 - all_won.low)


def test_scores_that_no_pair_has_are_refused() -> None:
    with pytest.raises(ValueError, match="no pair"):
        score([])
    with pytest.raises(ValueError, match="one of"):
        score([0.6])
    with pytest.raises(ValueError, match="less than"):
        Sprt(20, 0)


def test_a_rating_difference_is_a_score() -> None:
    assert expected_score(0) == 0.5
    assert isclose(expected_score(400), 10 / 11)


def test_the_ratio_of_independent_matches_is_near_that_of_the_normal_approximation() -> None:
    pairs = draw(INDEPENDENT, 2000, Random(3))
    test = Sprt(-10, 10)
    found = sum(pairs) / len(pairs)
    variance = sum((pair - found) ** 2 for pair in pairs) / len(pairs)
    low, high = expected_score(-10), expected_score(10)
    expected = len(pairs) * (high - low) * (2 * found - low - high) / (2 * variance)
    assert isclose(test.ratio(pairs), expected, rel_tol=0.05, abs_tol=0.05)


@pytest.mark.parametrize("shares", [INDEPENDENT, DRAWN, FIRST_ROLE_WINS])
@pytest.mark.parametrize("truth", ["elo0", "elo1"])
def test_the_sequential_test_errs_as_rarely_as_it_says(shares: tuple[float, ...], truth: str) -> None:
    elo = 400 * log10(mean(shares) / (1 - mean(shares)))
    test = Sprt(elo, elo + 100) if truth == "elo0" else Sprt(elo - 100, elo)
    rng, wrong = Random(7), 0
    for _ in range(100):
        pairs: list[float] = []
        while not test.verdict(pairs):
            pairs += draw(shares, 1, rng)
        wrong += test.verdict(pairs) != truth
    assert wrong <= 10


def test_the_sequential_test_begins_undecided() -> None:
    assert Sprt().ratio([]) == 0.0
    assert Sprt().verdict([]) is None
    assert Sprt().verdict([0.5, 0.75]) is None
