"""Players and roles rated together."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.ratings import RoleRatings, bradley_terry, comparisons_of, entries_of, role_ratings
from gamemaster.tournament.ratings.bradley_terry import PRIOR, ROLE_PRIOR
from tests.bench.rating_validation import role_coverage
from tests.gamemaster.tournament.simulated import ELO, Scenario, result
from tests.gamemaster.tournament.test_ratings import holds, matches


def rated(results: Sequence[MatchResult]) -> RoleRatings:
    entries = entries_of((), results)
    return role_ratings(comparisons_of(entries).of_compared(), entries.roles)


def unfair() -> list[MatchResult]:
    """Two equal players; white wins 3 of 4, and `lucky` is white in 9 of 10."""
    won = [(100, 0)] * 3 + [(0, 100)]
    games = [(("lucky", "other"), goals) for goals in won * 9] + [(("other", "lucky"), goals) for goals in won]
    return matches(games * 4)


def test_unfair_roles_do_not_distort() -> None:
    results = unfair()
    plain = bradley_terry(comparisons_of(entries_of((), results)))
    assert plain.difference("lucky", "other").low > 20
    together = rated(results)
    difference = together.players.difference("lucky", "other")
    assert abs(difference.value) < 20
    assert difference.low < 0 < difference.high
    white, black = together.roles
    assert (white.role, black.role) == ("white", "black")
    assert white.advantage.value == pytest.approx(-black.advantage.value)
    assert white.share == pytest.approx(0.75, abs=0.02)
    assert 2 * white.advantage.value == pytest.approx(ELO * math.log(3), abs=20)
    assert white.advantage.low > 0


def test_exchanged_roles_leave_the_players_as_they_are() -> None:
    won = [(("a", "b"), (100, 0)), (("b", "a"), (0, 100)), (("a", "b"), (0, 100)), (("b", "a"), (50, 50))]
    results = matches(won * 10, group_of=2)
    plain = bradley_terry(comparisons_of(entries_of((), results)))
    assert rated(results).players.difference("a", "b").value == pytest.approx(plain.difference("a", "b").value, rel=0.1)


def test_it_is_the_maximum_of_the_penalised_likelihood() -> None:
    chance = np.random.default_rng(5)
    results = []
    for number in range(60):
        game, players = ("one", 2) if number % 2 else ("two", 3)
        takers = chance.permutation(4)[:players]
        pairing = Pairing(f"r001-{game}-{number:04}-x", 0, game, tuple(f"p{taker}" for taker in takers), 0)
        results.append(result(pairing, tuple(int(goal) for goal in chance.integers(0, 101, size=players))))
    found = rated(results)
    strengths = {name: elo / ELO for name, elo in zip(found.players.players, found.players.elo, strict=True)}
    advantages = {(role.game, role.role): role.advantage.value / ELO for role in found.roles}
    assert len(advantages) == 5
    best = _likelihood(results, strengths, advantages)
    for one, other in combinations(strengths, 2):
        for step in (1e-3, -1e-3):
            moved = strengths | {one: strengths[one] + step, other: strengths[other] - step}
            assert _likelihood(results, moved, advantages) < best
    for first, second in combinations(advantages, 2):
        if first[0] == second[0]:
            for step in (1e-3, -1e-3):
                changed = advantages | {first: advantages[first] + step, second: advantages[second] - step}
                assert _likelihood(results, strengths, changed) < best


def _likelihood(
    results: Sequence[MatchResult], strengths: dict[str, float], advantages: dict[tuple[str, str], float]
) -> float:
    """The slow way, match by match."""

    def gain(share: float, odds: float) -> float:
        return -share * math.log1p(math.exp(-odds)) - (1 - share) * math.log1p(math.exp(odds))

    total = sum(PRIOR * gain(0.5, strength) for strength in strengths.values())
    total += sum(ROLE_PRIOR * gain(0.5, advantage) for advantage in advantages.values())
    for each in results:
        game = each.pairing.game
        worth = [
            strengths[player] + advantages[game, role]
            for player, role in zip(each.pairing.players, each.roles, strict=True)
        ]
        for one, other in combinations(range(len(worth)), 2):
            goals = (each.goals[one] or 0) + (each.goals[other] or 0)
            share = (each.goals[one] or 0) / goals if goals else 0.5
            total += gain(share, worth[one] - worth[other]) / (len(worth) - 1)
    return total


def test_roles_that_nobody_was_compared_in_are_left_out() -> None:
    results = matches([(("a", "b"), (100, 0)), (("a",), (50,))])
    entries = entries_of((), results[:1])
    assert [role.role for role in rated(results[:1]).roles] == ["white", "black"]
    alone = rated(results[1:])
    assert alone.roles == ()
    assert alone.players.players == ()
    assert entries.roles == (("g", "white"), ("g", "black"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    [Scenario("exchanged", 5, 3, advantage=175), Scenario("not exchanged", 5, 6, advantage=175, in_pairs=False)],
    ids=lambda scenario: scenario.name,
)
def test_intervals_cover_true_strengths_and_advantages(scenario: Scenario) -> None:
    skills, advantages = role_coverage(scenario, 120, seed=1)
    assert holds(skills), str(skills)
    assert holds(advantages), str(advantages)
