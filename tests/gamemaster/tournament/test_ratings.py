"""Ratings: against the literature, a second implementation, and players of known strength."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.ratings import (
    Ratings,
    bayesian_ratings,
    bradley_terry,
    comparisons_of,
    course,
    entries_of,
    mean_goal,
)
from gamemaster.tournament.ratings.entries import student_quantile
from ggp.errors import SettingsError
from tests.bench.rating_validation import Rate, goal_coverage, rating_coverage
from tests.gamemaster.tournament.simulated import ELO, Scenario, result, simulated, strengths

# Wins of the row over the column in the American League East of 1987: Agresti (1990), Categorical Data Analysis,
# table 10.10; strengths relative to Baltimore with their standard errors as Turner & Firth (2012), Bradley-Terry models
# in R: the BradleyTerry2 package, Journal of Statistical Software 48, give them.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
PUBLISHED = {
    "Milwaukee": (1.5814, 0.3433),
    "Detroit": (1.4364, 0.3396),
    "Toronto": (1.2945, 0.3367),
    "New York": (1.2476, 0.3359),
    "Boston": (1.1077, 0.3339),
    "Cleveland": (0.6839, 0.3319),
    "Baltimore": (0.0, 0.0),
}


def matches(outcomes: Iterable[tuple[Sequence[str], Sequence[int | None]]], group_of: int = 0) -> list[MatchResult]:
    """A result for each of (players, goal values); so many in a row are one group, where that is not 0."""
    return [
        result(
            Pairing(f"r001-g-{number:05}-x", 0, "g", tuple(players), 0, f"g{number // group_of}" if group_of else ""),
            goals,
            number,
        )
        for number, (players, goals) in enumerate(outcomes)
    ]


def rated(
    results: Iterable[MatchResult], prior: float | None = None, anchor: tuple[str, float] | None = None
) -> Ratings:
    comparisons = comparisons_of(entries_of((), list(results))).of_compared()
    return bradley_terry(comparisons, anchor=anchor) if prior is None else bradley_terry(comparisons, prior, anchor)


def test_published_strengths_and_standard_errors_are_found() -> None:
    games = [
        ((TEAMS[one], TEAMS[other]), (100, 0))
        for one, row in enumerate(WINS)
        for other, count in enumerate(row)
        for _ in range(count)
    ]
    ratings = rated(matches(games), prior=0, anchor=("Baltimore", 0))
    for team, (strength, error) in PUBLISHED.items():
        number = ratings.players.index(team)
        assert ratings.elo[number] / ELO == pytest.approx(strength, abs=1e-4)
        assert math.sqrt(ratings.covariance[number][number]) / ELO == pytest.approx(error, abs=1e-4)


@pytest.mark.parametrize(("wins", "draws", "losses"), [(3, 0, 1), (10, 4, 6), (1, 1, 30)])
def test_two_players_have_the_rating_of_their_odds(wins: int, draws: int, losses: int) -> None:
    games = [(100, 0)] * wins + [(50, 50)] * draws + [(0, 100)] * losses
    ratings = rated(matches((("a", "b"), goals) for goals in games), prior=0)
    points, count = wins + draws / 2, wins + draws + losses
    assert ratings.difference("a", "b").value == pytest.approx(ELO * math.log(points / (count - points)))
    assert sum(ratings.elo) == pytest.approx(0)
    error = ELO / math.sqrt(points * (count - points) / count)
    difference = ratings.difference("a", "b")
    assert difference.high - difference.value == pytest.approx(1.95996 * error, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_second_implementation_agrees(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(3, 8)
    games = []
    for _ in range(40 * count):
        one, other = chance.sample(range(count), 2)
        games.append(((f"p{one}", f"p{other}"), chance.choice([(100, 0), (50, 50), (0, 100), (70, 30)])))
    ratings = rated(matches(games), prior=0)
    expected = _by_minorisation(games, ratings.players)
    assert ratings.elo == pytest.approx(expected, abs=1e-4)


def _by_minorisation(
    games: Sequence[tuple[tuple[str, str], tuple[int, int]]], players: Sequence[str]
) -> tuple[float, ...]:
    """Hunter (2004): the odds of each player are its points over the sum of 1 / (own odds + other's odds)."""
    odds = dict.fromkeys(players, 1.0)
    points = dict.fromkeys(players, 0.0)
    for (one, other), (own, theirs) in games:
        points[one] += 0.5 + 0.5 * ((own > theirs) - (own < theirs))
        points[other] += 0.5 - 0.5 * ((own > theirs) - (own < theirs))
    for _ in range(300):
        load = dict.fromkeys(players, 0.0)
        for (one, other), _ in games:
            load[one] += 1 / (odds[one] + odds[other])
            load[other] += 1 / (odds[one] + odds[other])
        odds = {player: points[player] / load[player] for player in players}
    mean = sum(math.log(value) for value in odds.values()) / len(odds)
    return tuple(ELO * (math.log(odds[player]) - mean) for player in players)


def test_an_anchor_moves_all_and_changes_no_difference() -> None:
    games = matches([(("a", "b"), (100, 0)), (("b", "c"), (100, 0)), (("c", "a"), (100, 0)), (("a", "b"), (50, 50))])
    free, anchored = rated(games), rated(games, anchor=("b", 1500))
    assert anchored.rating("b").value == anchored.rating("b").low == anchored.rating("b").high == 1500
    assert anchored.difference("a", "c").value == pytest.approx(free.difference("a", "c").value)
    assert anchored.difference("a", "c").low == pytest.approx(free.difference("a", "c").low)
    with pytest.raises(SettingsError, match="no player is called nobody"):
        rated(games, anchor=("nobody", 0))


def test_the_order_of_the_results_does_not_matter() -> None:
    scenario = Scenario("any", 5, 2, draws=0.3)
    chance = np.random.default_rng(3)
    names, results = simulated(scenario, strengths(scenario, chance), chance)
    shuffled = random.Random(1).sample(results, len(results))
    entries, others = entries_of(names, results), entries_of(names, shuffled)
    assert bradley_terry(comparisons_of(entries)) == bradley_terry(comparisons_of(others))
    assert bayesian_ratings(entries) == bayesian_ratings(others)
    assert course(comparisons_of(entries), 7) == course(comparisons_of(others), 7)


@pytest.mark.parametrize("in_pairs", [False, True])
@pytest.mark.parametrize("games", [2, 20, 200])
def test_who_wins_everything_has_a_finite_rating_and_a_wide_interval(games: int, *, in_pairs: bool) -> None:
    ratings = rated(matches([(("a", "b"), (100, 0))] * games, group_of=2 if in_pairs else 0))
    assert ratings.is_robust is in_pairs
    difference = ratings.difference("a", "b")
    assert 0 < difference.value < 3000
    # The least that is compatible with so many wins: probability^games = 5 %, one-sided.
    least = ELO * math.log(1 / (0.05 ** (-1 / games) - 1))
    assert difference.low < least
    assert difference.high > difference.value + 300
    assert ratings.superiority("a", "b") == pytest.approx(1 - ratings.superiority("b", "a"))
    assert 0.7 < ratings.superiority("a", "b") < 0.9999


def test_without_a_prior_who_wins_everything_is_refused() -> None:
    games = [(("a", "b"), (100, 0)), (("b", "c"), (100, 0)), (("b", "c"), (0, 100))]
    with pytest.raises(SettingsError, match=r"without a prior there are no ratings: [abc] won or lost too much"):
        rated(matches(games), prior=0)
    with pytest.raises(SettingsError, match="did not meet all"):
        rated(matches([(("a", "b"), (50, 50)), (("c", "d"), (50, 50))]), prior=0)


@pytest.mark.parametrize("in_pairs", [False, True])
def test_players_that_no_matches_connect_have_a_wide_interval_between_them(*, in_pairs: bool) -> None:
    games = [(("a", "b"), (50, 50))] * 20 + [(("c", "d"), (50, 50))] * 20
    apart = rated(matches(games, group_of=2 if in_pairs else 0))
    assert apart.elo == pytest.approx((0, 0, 0, 0))
    assert apart.difference("a", "c").high > 1000 > 2 * apart.difference("a", "b").high


def test_pairs_that_even_out_make_the_interval_narrower_and_pairs_that_repeat_wider() -> None:
    both = (("a", "b"), (100, 0)), (("a", "b"), (0, 100))
    alone = rated(matches(both * 100)).difference("a", "b")
    even = rated(matches(both * 100, group_of=2)).difference("a", "b")
    twice = rated(matches(tuple(each for each in both * 50 for _ in range(2)), group_of=2)).difference("a", "b")
    assert alone.value == pytest.approx(even.value, abs=1e-6)
    assert even.high < 0.3 * alone.high
    assert twice.high == pytest.approx(math.sqrt(2) * alone.high, rel=0.03)


def test_what_few_matches_of_each_two_players_show_together_widens_all_intervals() -> None:
    """Of 9 players each beats 4 others, and both matches of a pair always end alike."""
    won = [((f"p{one}", f"p{(one + step) % 9}"), (100, 0)) for one in range(9) for step in range(1, 5) for _ in "ab"]
    alone, together = rated(matches(won)), rated(matches(won, group_of=2))
    assert together.elo == pytest.approx([0] * 9, abs=1e-6)
    widened = math.sqrt(2 * 36 / (36 - 8))  # twice the variance; 8 of 36 pairs went into the ratings
    assert together.rating("p0").high == pytest.approx(widened * alone.rating("p0").high, rel=0.05)


def test_draws_in_pairs_say_more_than_wins_and_losses() -> None:
    drawn = rated(matches([(("a", "b"), (50, 50))] * 100, group_of=2)).difference("a", "b")
    decided = [(("a", "b"), (100, 0) if number % 4 < 2 else (0, 100)) for number in range(100)]
    assert drawn.high < 0.5 * rated(matches(decided, group_of=2)).difference("a", "b").high


def test_in_matches_of_several_players_each_one_counts_once() -> None:
    three = matches([(("a", "b", "c"), (100, 50, 0)), (("c", "b", "a"), (100, 50, 0))] * 3)
    comparisons = comparisons_of(entries_of((), three))
    assert comparisons.weight.tolist() == [0.5] * 18
    assert rated(three).is_robust
    assert rated(three).elo == pytest.approx((0, 0, 0), abs=1e-6)
    first = rated(matches([(("a", "b", "c"), (100, 50, 0))] * 3))
    assert first.elo[0] > first.elo[1] > first.elo[2]


def test_matches_without_all_goal_values_and_of_one_player_do_not_count() -> None:
    good = [(("a", "b"), (100, 0))]
    bad: list[tuple[Sequence[str], Sequence[int | None]]] = [
        (("a", "b"), (None, 0)),
        (("a",), (100,)),
        (("c", "c"), (100, 0)),
        (("a", "b", "c"), (0, 100, None)),
    ]
    ratings = rated(matches([*good, *bad]))
    assert ratings == rated(matches(good))
    assert ratings.players == ("a", "b")
    nobody = rated(matches(bad))
    assert nobody.players == ()
    assert nobody.elo == ()


def test_a_match_counts_where_the_schedule_has_it() -> None:
    results = matches((("a", "b"), (100, 0)) for _ in range(3))
    renamed = [
        replace(each, pairing=replace(each.pairing, id=name, round=round_))
        for each, name, round_ in zip(
            results, ("r001-z-0002-x", "r001-a-10000-x", "r000-a-0003-x"), (1, 1, 0), strict=True
        )
    ]
    order = [each.pairing.id for each in entries_of((), renamed).matches]
    assert order == ["r000-a-0003-x", "r001-z-0002-x", "r001-a-10000-x"]


def test_the_course_ends_with_the_ratings_of_all() -> None:
    scenario = Scenario("any", 4, 5)
    chance = np.random.default_rng(3)
    names, results = simulated(scenario, strengths(scenario, chance), chance)
    comparisons = comparisons_of(entries_of(names, results))
    moments = course(comparisons, 30)
    assert [moment.matches for moment in moments] == list(range(2, 61, 2))
    assert moments[-1].elo == pytest.approx(dict(zip(names, bradley_terry(comparisons).elo, strict=True)))
    assert len(course(comparisons, 100)) == 60
    assert set(moments[0].elo) == {"p0", "p1"}


def test_openskill_takes_a_match_as_a_ranking() -> None:
    results = matches([(("a", "b", "c"), (100, 50, 0)), (("b", "a", "c"), (50, 50, 0)), (("a", "b"), (None, 1))])
    first, second, third = bayesian_ratings(entries_of(("a", "b", "c"), results))
    assert first.strength.value > second.strength.value > third.strength.value
    assert all(each.deviation < 25 / 3 for each in (first, second, third))
    assert first.ordinal == pytest.approx(first.strength.value - 3 * first.deviation)
    (newcomer,) = bayesian_ratings(entries_of(("new",), []))
    assert newcomer.strength.value == 25
    assert newcomer.deviation == pytest.approx(25 / 3)


# Abramowitz & Stegun (1964), Handbook of Mathematical Functions, table 26.10
@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (60, 2.0)]
)
def test_quantiles_of_student(degrees: int, quantile: float) -> None:
    assert student_quantile(0.05, degrees) == pytest.approx(quantile, abs=6e-4)


def test_mean_goal_values() -> None:
    assert mean_goal([]) is None
    always = mean_goal([100] * 5)
    assert always is not None
    assert (always.value, always.high) == (100, 100)
    assert 40 < always.low < 75
    once = mean_goal([30])
    assert once is not None
    assert (once.value, once.low, once.high) == (30, 0, 100)
    many = mean_goal([40, 60] * 500)
    assert many is not None
    assert many.low == pytest.approx(50 - 1.96 * 10 / math.sqrt(1000), abs=0.1)


def holds(rate: Rate) -> bool:
    """Coverage that 93 to 98 % would give with a chance of 1 - 6e-5: four standard errors on either side."""
    return 0.93 - 4 * rate.error < rate.value < 0.98 + 4 * rate.error


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("one role is better", 4, 4, advantage=260),
        *(
            pytest.param(scenario, marks=pytest.mark.slow)
            for scenario in (
                Scenario("alone", 4, 8, in_pairs=False),
                Scenario("pairs repeat", 4, 4, form=175),
                Scenario("draws", 4, 4, draws=0.7),
                Scenario("three in a match", 4, 3, takers=3),
            )
        ),
    ],
    ids=lambda scenario: scenario.name,
)
def test_intervals_cover_the_true_strengths(scenario: Scenario) -> None:
    ratings, differences = rating_coverage(scenario, 120, seed=1)
    assert holds(ratings), str(ratings)
    assert holds(differences), str(differences)


def test_intervals_cover_the_true_mean_goal_value() -> None:
    rate = goal_coverage(lambda chance: chance.integers(0, 101, size=8).tolist(), 50, 400, seed=1)
    assert holds(rate), str(rate)
