"""Games: random matches next to a plain model of the whole game, in which every fact, move and goal has to agree."""

from itertools import takewhile
from random import Random

import pytest

import ggp
from tests.games.plain_games import PLAIN_GAMES, Rubik2, count_paths, spheres

PATHS = {"quick": 10_000, "slow": 100_000}  # that a test counts


def compare(name: str, seed: int, most: int) -> None:
    game, plain, rng = ggp.load(name), PLAIN_GAMES[name](), Random(seed)
    state, twin = game.initial_state, plain.start
    for step in range(most):
        where = f"{name}, seed {seed}, step {step}"
        is_over, goals = plain.outcome(twin)
        assert set(state.facts) == plain.facts(twin), where
        assert state.is_terminal == is_over, where
        assert state.goals == goals, where
        if is_over:
            return
        legal = plain.legal(twin)
        assert {role: set(state.legal_moves(role)) for role in game.roles} == legal, where
        moves = {role: rng.choice(sorted(legal[role])) for role in game.roles}
        state, twin = state.play(moves), plain.after(twin, moves)


@pytest.mark.parametrize("name", PLAIN_GAMES)
def test_a_random_match(name: str) -> None:
    compare(name, seed=1, most=60)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN_GAMES)
def test_random_matches_to_their_ends(name: str) -> None:
    for seed in range(60):
        compare(name, seed, most=5000)


@pytest.mark.parametrize("kind", ["quick", pytest.param("slow", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PLAIN_GAMES)
def test_the_plain_model_gives_the_numbers_of_the_metadata(name: str, kind: str) -> None:
    known = ggp.load(name).metadata.truths["perft"]
    numbers = known[: max(2, len(list(takewhile(lambda number: number <= PATHS[kind], known))))]
    assert len(numbers) >= 2
    assert count_paths(PLAIN_GAMES[name](), len(numbers)) == numbers


def test_the_cube_of_2_by_2_by_2_has_the_published_numbers_of_positions() -> None:
    """Of 0, 1, 2, … half or quarter turns: OEIS A079761."""
    solved, _ = Rubik2("", 20).start
    found = spheres(solved, 6)
    assert [len(sphere) for sphere in found] == [1, 9, 54, 321, 1847, 9992, 50136]


@pytest.mark.slow
def test_the_cube_of_2_by_2_by_2_starts_eleven_turns_away() -> None:
    """No cube within six turns of the start is within four of the cube in order, and one is within five."""
    (start, _), (solved, _) = PLAIN_GAMES["rubik2"]().start, Rubik2("", 20).start
    near, ends = spheres(start, 6), spheres(solved, 5)
    least = min(one + other for one, ones in enumerate(near) for other, others in enumerate(ends) if ones & others)
    assert least == 11 == ggp.load("rubik2").metadata.truths["shortest"]
