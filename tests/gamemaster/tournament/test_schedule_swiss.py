"""Swiss tournaments, and the matching that they rest on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamemaster.tournament.formats import pair_up
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.schedule import Schedule
from tests.gamemaster.tournament.scheduling import all_tied, by_chance, by_seeding, played, result_of, spec_of

ROLES = {"alpha": 2, "beta": 2}


def rounds_of(schedule: Schedule) -> list[list[frozenset[str]]]:
    """Who met in each round, in order."""
    rounds: dict[int, dict[frozenset[str], None]] = {}
    for pairing in schedule.pairings:
        rounds.setdefault(pairing.round, {})[frozenset(pairing.players)] = None
    return [list(pairs) for pairs in rounds.values()]


@settings(max_examples=40)
@given(players=st.integers(2, 12), rounds=st.integers(1, 14), games=st.integers(1, 2), chance=st.integers(0, 999))
def test_nobody_plays_twice_in_a_round_and_byes_are_shared(players: int, rounds: int, games: int, chance: int) -> None:
    names = ["alpha", "beta"][:games]
    schedule = played(spec_of(players, names, format="swiss", rounds=rounds), ROLES, by_chance(chance))
    assert len(schedule.pairings) == schedule.expected == rounds * (players // 2) * 2 * games
    rested: Counter[str] = Counter()
    for pairs in rounds_of(schedule):
        playing = [name for pair in pairs for name in pair]
        assert len(set(playing)) == len(playing) == players - players % 2
        rested.update({f"p{number}" for number in range(players)} - set(playing))
    assert +Counter(schedule.byes) == rested
    assert max(rested.values(), default=0) <= -(-rounds // players)


@settings(max_examples=40)
@given(players=st.integers(2, 9), rounds=st.integers(1, 9), chance=st.integers(0, 999))
def test_nobody_meets_again_while_there_is_a_way(players: int, rounds: int, chance: int) -> None:
    schedule = played(spec_of(players, format="swiss", rounds=rounds), ROLES, by_chance(chance))
    names = [f"p{number}" for number in range(players)]
    met: Counter[frozenset[str]] = Counter()
    rested: Counter[str] = Counter()
    for pairs in rounds_of(schedule):
        most = max(met[pair] for pair in pairs)
        fewest = min(rested[name] for name in names)
        for resting in [name for name in names if rested[name] == fewest] if players % 2 else [None]:
            playing = [name for name in names if name != resting]
            assert not any(all(met[pair] < most for pair in way) for way in all_ways(playing))
        met.update(pairs)
        rested.update(set(names) - set().union(*pairs))


def all_ways(names: Sequence[str]) -> Iterator[list[frozenset[str]]]:
    """All ways to pair some players."""
    if not names:
        yield []
        return
    first, *others = names
    for other in others:
        for way in all_ways([name for name in others if name != other]):
            yield [frozenset((first, other)), *way]


def test_eight_players_by_hand() -> None:
    """The better one always wins. 1: upper against lower half. 2: 0-2 1-3 among winners, 4-6 5-7. 3: 0-1, then
    2 3 4 5 with a point each: 2-4 3-5, and 6-7."""
    schedule = played(spec_of(8, format="swiss", rounds=3), ROLES, by_seeding)
    assert rounds_of(schedule) == [
        [{"p0", "p4"}, {"p1", "p5"}, {"p2", "p6"}, {"p3", "p7"}],
        [{"p0", "p2"}, {"p1", "p3"}, {"p4", "p6"}, {"p5", "p7"}],
        [{"p0", "p1"}, {"p2", "p4"}, {"p3", "p5"}, {"p6", "p7"}],
    ]
    assert schedule.ranking == ("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7")


def test_five_players_by_hand() -> None:
    """A bye is as good as a win. 1: 4 rests. 2: 0, 1 and 4 have a point, the lowest without bye is 3; 4 falls to 2,
    who wins. 3: 0 has two points, everybody else has one, and the lowest without bye is 2; 0 has met 1."""

    def goals(pairing: Pairing) -> tuple[int, ...]:
        if set(pairing.players) == {"p2", "p4"}:
            return tuple(100 * (name == "p2") for name in pairing.players)
        return by_seeding(pairing)

    schedule = played(spec_of(5, format="swiss", rounds=3), ROLES, goals)
    assert rounds_of(schedule) == [
        [{"p0", "p2"}, {"p1", "p3"}],
        [{"p0", "p1"}, {"p2", "p4"}],
        [{"p0", "p3"}, {"p1", "p4"}],
    ]
    assert dict(schedule.byes) == {"p4": 1, "p3": 1, "p2": 1}


@pytest.mark.parametrize("games", [["alpha"], ["alpha", "beta"]])
def test_a_bye_counts_as_a_win_of_every_match(games: list[str]) -> None:
    spec = spec_of(3, games, format="swiss")
    assert played(spec, ROLES, all_tied).ranking == ("p2", "p0", "p1")
    assert played(spec, ROLES, by_seeding).ranking == ("p0", "p2", "p1")


def test_a_match_that_broke_off_counts_as_a_draw_and_one_without_goal_value_as_lost() -> None:
    spec = spec_of(4, format="swiss", rounds=2)
    schedule = Schedule(spec, ROLES)
    for pairing in list(schedule.open):
        # p1 against p3: p3 has a goal value of 1, p1 has none. p0 against p2: both have none.
        schedule.add(result_of(pairing, [1 if name == "p3" else None for name in pairing.players]))
    assert schedule.ranking == ("p3", "p0", "p2", "p1")
    assert rounds_of(schedule)[1] == [{"p3", "p0"}, {"p2", "p1"}]


def test_the_next_round_waits_for_the_last_match() -> None:
    schedule = Schedule(spec_of(4, format="swiss", rounds=2), ROLES)
    first = list(schedule.open)
    assert len(first) == 4
    assert [len(schedule.add(result_of(pairing, (1, 0)))) for pairing in first] == [0, 0, 0, 4]
    assert not schedule.is_complete
    assert schedule.expected == 8


@pytest.mark.parametrize(("players", "rounds"), [(24, 13), (17, 8)])
def test_nobody_meets_again_in_half_as_many_rounds_as_players(players: int, rounds: int) -> None:
    """Whoever has met fewer than half of the others can always meet somebody new (Dirac, 1952)."""
    schedule = played(spec_of(players, format="swiss", rounds=rounds), ROLES, by_seeding)
    met = Counter(pair for pairs in rounds_of(schedule) for pair in pairs)
    assert set(met.values()) == {1}
    assert len(met) == rounds * (players // 2)


def first_by_backtracking(names: Sequence[str], barred: dict[str, set[str]]) -> list[tuple[str, str]] | None:
    if not names:
        return []
    first, *others = names
    for other in reversed(others):
        if other not in barred[first]:
            rest = first_by_backtracking([name for name in others if name != other], barred)
            if rest is not None:
                return [(first, other), *rest]
    return None


@settings(max_examples=150)
@given(players=st.integers(0, 5), share=st.floats(0.2, 0.9), chance=st.integers(0, 9999))
def test_a_matching_is_the_first_that_backtracking_finds(players: int, share: float, chance: int) -> None:
    names = [f"p{number}" for number in range(2 * players)]
    rng = Random(chance)
    barred: dict[str, set[str]] = {name: set() for name in names}
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            if rng.random() < share:
                barred[one].add(other)
                barred[other].add(one)
    assert pair_up(names, lambda left: reversed(left[1:]), barred) == first_by_backtracking(names, barred)
