"""Whether intervals cover what they say, and tests err as seldom as they say, on players of known strength.

python -m tests.bench.rating_validation [--events 1000] [--seed 1]
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gamemaster.tournament.ratings import bradley_terry, comparisons_of, entries_of, mean_goal, role_ratings
from ggp.elo import bounds, log_likelihood_ratio
from tests.gamemaster.tournament.simulated import Scenario, pair_distribution, simulated, strengths, true_elo

SCENARIOS = (
    Scenario("matches alone", 6, 5, in_pairs=False),
    Scenario("pairs", 6, 3),
    Scenario("one role is better", 6, 3, advantage=260),
    Scenario("openings differ", 6, 3, opening=350),
    Scenario("form differs", 6, 3, form=175),
    Scenario("many draws", 6, 3, draws=0.7),
    Scenario("draws, a better role", 6, 3, draws=0.7, advantage=175),
    Scenario("far apart", 6, 3, spread=400),
    Scenario("one round of 12", 12, 1),
    Scenario("two players, 5 pairs", 2, 5),
    Scenario("two players, 50 pairs", 2, 50, advantage=175),
    Scenario("three in a match", 5, 2, takers=3),
)
ROLE_SCENARIOS = (
    Scenario("roles exchanged", 6, 3, advantage=175),
    Scenario("roles not exchanged", 6, 5, advantage=175, in_pairs=False),
    Scenario("roles, many draws", 6, 3, advantage=175, draws=0.7),
)
SPRT_SCENARIOS = (
    Scenario("pairs", 2, 1),
    Scenario("one role is better", 2, 1, advantage=260),
    Scenario("openings differ", 2, 1, opening=350),
    Scenario("form differs", 2, 1, form=100),
    Scenario("many draws", 2, 1, draws=0.7),
)
HYPOTHESES = ((0.0, 50.0), (0.0, 200.0), (-50.0, 50.0))


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something was so, with its standard error; what comes from one event counts together."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{100 * self.value:5.1f} % ± {100 * self.error:.1f}"


def rate(events: Sequence[float]) -> Rate:
    """The mean over events."""
    return Rate(float(np.mean(events)), float(np.std(events, ddof=1)) / math.sqrt(len(events)))


def rating_coverage(scenario: Scenario, events: int, seed: int) -> tuple[Rate, Rate]:
    """How often the 95 % intervals of ratings, and of their differences, hold the truth."""
    chance = np.random.default_rng(seed)
    ratings_hold, differences_hold = [], []
    for _ in range(events):
        elo = strengths(scenario, chance)
        truth = elo if scenario.takers > 2 else true_elo(scenario, elo)
        names, results = simulated(scenario, elo, chance)
        ratings = bradley_terry(comparisons_of(entries_of(names, results)))
        found = [ratings.rating(name) for name in names]
        ratings_hold.append(np.mean([each.low <= true <= each.high for each, true in zip(found, truth, strict=True)]))
        both = [ratings.difference(names[one], names[other]) for one, other in combinations(range(len(names)), 2)]
        true_differences = [truth[one] - truth[other] for one, other in combinations(range(len(names)), 2)]
        differences_hold.append(
            np.mean([each.low <= true <= each.high for each, true in zip(both, true_differences, strict=True)])
        )
    return rate([float(each) for each in ratings_hold]), rate([float(each) for each in differences_hold])


def role_coverage(scenario: Scenario, events: int, seed: int) -> tuple[Rate, Rate]:
    """The same for the strengths apart from the roles, and for the advantage of the first role."""
    chance = np.random.default_rng(seed)
    skills_hold, roles_hold = [], []
    for _ in range(events):
        elo = strengths(scenario, chance)
        names, results = simulated(scenario, elo, chance)
        entries = entries_of(names, results)
        rated = role_ratings(comparisons_of(entries), entries.roles)
        found = [rated.players.rating(name) for name in names]
        skills_hold.append(float(np.mean([e.low <= true <= e.high for e, true in zip(found, elo, strict=True)])))
        first = rated.roles[0].advantage
        roles_hold.append(float(first.low <= scenario.advantage / 2 <= first.high))
    return rate(skills_hold), rate(roles_hold)


def goal_coverage(draw: Callable[[np.random.Generator], list[int]], truth: float, events: int, seed: int) -> Rate:
    """The same for the mean goal value of one player."""
    chance = np.random.default_rng(seed)
    found = [mean_goal(draw(chance)) for _ in range(events)]
    return rate([float(each is not None and each.low <= truth <= each.high) for each in found])


def sprt_errors(scenario: Scenario, elo0: float, elo1: float, tests: int, seed: int) -> tuple[Rate, Rate, float]:
    """How often H1 is accepted under H0, how often H0 under H1, and how many pairs a test takes in the mean."""
    chance = np.random.default_rng(seed)
    under_h0, under_h1 = (_distribution(scenario, elo) for elo in (elo0, elo1))
    of_h0 = [_test(under_h0, (elo0, elo1), chance) for _ in range(tests)]
    of_h1 = [_test(under_h1, (elo0, elo1), chance) for _ in range(tests)]
    pairs = float(np.mean([pairs for _, pairs in (*of_h0, *of_h1)]))
    return rate([float(better) for better, _ in of_h0]), rate([float(not better) for better, _ in of_h1]), pairs


def _test(
    likely: NDArray[np.float64], hypotheses: tuple[float, float], chance: np.random.Generator
) -> tuple[bool, int]:
    """Whether H1 is accepted where pairs come out with these probabilities, and after how many of them."""
    lower, upper = bounds(0.05, 0.05)
    counts = [0] * 5
    while True:
        for outcome in chance.choice(5, size=64, p=likely).tolist():
            counts[outcome] += 1
            ratio = log_likelihood_ratio(counts, *hypotheses)
            if not lower < ratio < upper:
                return ratio >= upper, sum(counts)


def _distribution(scenario: Scenario, elo: float) -> NDArray[np.float64]:
    """Of a pair's outcomes, for players whose mean result is what `elo` says."""
    wanted = 1 / (1 + 10 ** (-elo / 400))
    low, high = -2000.0, 2000.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if float(pair_distribution(scenario, middle) @ np.linspace(0, 1, 5)) < wanted:
            low = middle
        else:
            high = middle
    likely = pair_distribution(scenario, low)
    return np.asarray(likely / likely.sum())


def _solved(count: int, chance: np.random.Generator) -> list[int]:
    """Goal values of a puzzle that is solved four times of five."""
    return [100 if solved else 0 for solved in (chance.random(count) < 0.8).tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1000, help="simulated for each line")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"coverage of 95 % intervals, {arguments.events} events each, seed {arguments.seed}\n")
    print(f"{'Bradley-Terry':24}{'ratings':>16}{'differences':>18}")
    for scenario in SCENARIOS:
        ratings, differences = rating_coverage(scenario, arguments.events, arguments.seed)
        print(f"{scenario.name:24}{ratings!s:>16}{differences!s:>18}", flush=True)
    print(f"\n{'with roles':24}{'skills':>16}{'advantages':>18}")
    for scenario in ROLE_SCENARIOS:
        skills, roles = role_coverage(scenario, arguments.events, arguments.seed)
        print(f"{scenario.name:24}{skills!s:>16}{roles!s:>18}", flush=True)
    print("\nmean goal values")
    for count in (3, 10, 100):
        solved = goal_coverage(partial(_solved, count), 80, arguments.events, arguments.seed)
        print(f"{f'{count} matches of 0 or 100':24}{solved!s:>16}")
    print(f"\n{'SPRT with alpha = beta = 0.05':44}{'H1 under H0':>16}{'H0 under H1':>17}{'pairs':>10}")
    for elo0, elo1 in HYPOTHESES:
        for scenario in SPRT_SCENARIOS:
            first, second, pairs = sprt_errors(scenario, elo0, elo1, arguments.events, arguments.seed)
            title = f"elo0={elo0:g}, elo1={elo1:g}: {scenario.name}"
            print(f"{title:44}{first!s:>16}{second!s:>17}{pairs:10.0f}", flush=True)


if __name__ == "__main__":
    main()
