"""Knock-outs: the bracket, and duels until one of two is out."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamemaster.tournament.formats import EXTRA_PAIRS, bracket
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.schedule import Schedule
from tests.gamemaster.tournament.scheduling import all_tied, by_chance, by_seeding, played, result_of, spec_of

ROLES = {"alpha": 2, "beta": 2, "gamma": 2}


def duels_of(schedule: Schedule) -> dict[str, list[Pairing]]:
    duels: dict[str, list[Pairing]] = {}
    for pairing in schedule.pairings:
        duels.setdefault(pairing.group, []).append(pairing)
    return duels


@settings(max_examples=40)
@given(players=st.integers(2, 20), best_of=st.integers(1, 6), games=st.integers(1, 3), chance=st.integers(0, 999))
def test_everybody_but_one_loses_one_duel(players: int, best_of: int, games: int, chance: int) -> None:
    spec = spec_of(players, [*ROLES][:games], format="knock-out", best_of=best_of)
    schedule = played(spec, ROLES, by_chance(chance))
    duels = duels_of(schedule)
    assert len(duels) == players - 1
    pairs = [(matches[0].round, set(matches[0].players)) for matches in duels.values()]
    last = {name: max(round_ for round_, pair in pairs if name in pair) for name in schedule.ranking}
    for round_, pair in pairs:  # of two who meet, one plays in no later round
        assert sum(last[name] == round_ for name in pair) == (2 if round_ == max(last.values()) else 1)
    for round_ in range(max(last.values()) + 1):
        playing = Counter(name for number, pair in pairs if number == round_ for name in pair)
        assert set(playing.values()) == {1}
    assert sorted(schedule.ranking) == sorted(player.name for player in spec.players)
    assert [last[name] for name in schedule.ranking] == sorted(last.values(), reverse=True)


@settings(max_examples=40)
@given(best_of=st.integers(1, 6), games=st.integers(1, 3), chance=st.integers(0, 999))
def test_a_duel_ends_when_it_is_decided_and_not_before(best_of: int, games: int, chance: int) -> None:
    spec = spec_of(2, [*ROLES][:games], format="knock-out", best_of=best_of)
    schedule = played(spec, ROLES, by_chance(chance))
    matches = schedule.pairings
    lead = [0]
    for pairing in matches:
        value = dict(zip(pairing.players, by_chance(chance)(pairing), strict=True))
        lead.append(lead[-1] + (value["p0"] > value["p1"]) - (value["p0"] < value["p1"]))
    played_ = len(matches)
    if played_ <= best_of:
        assert abs(lead[-1]) > best_of - played_
        assert schedule.ranking[0] == ("p0" if lead[-1] > 0 else "p1")
        assert abs(lead[-2]) <= best_of - (played_ - 1)
    else:
        assert (played_ - best_of) % 2 == 0
        assert all(lead[number] == 0 for number in range(best_of, played_ - 1, 2))
        assert lead[-1] != 0 or played_ == best_of + 2 * EXTRA_PAIRS


@pytest.mark.parametrize(("best_of", "games"), [(1, 1), (4, 1), (5, 2), (6, 3)])
def test_roles_are_exchanged_in_turn_and_games_change_after_two(best_of: int, games: int) -> None:
    spec = spec_of(2, [*ROLES][:games], format="knock-out", best_of=best_of)
    matches = played(spec, ROLES, all_tied).pairings
    assert len(matches) == best_of + 2 * EXTRA_PAIRS
    for part in (matches[:best_of], matches[best_of:]):
        assert all(one.players == other.players[::-1] for one, other in pairwise(part))
        assert all(one.game == other.game for one, other in zip(part[::2], part[1::2], strict=False))
    names = [*ROLES][:games]
    pairs = [match.game for match in matches[:best_of:2]] + [match.game for match in matches[best_of::2]]
    assert pairs == [names[number % games] for number in range(len(pairs))]


def test_who_begins_is_drawn() -> None:
    first = [
        next(iter(Schedule(spec_of(2, format="knock-out", seed=seed), ROLES).open)).players[0] for seed in range(40)
    ]
    assert min(Counter(first).values()) >= 8
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    ("goals", "winner"),
    [
        ([(50, 50)] * 9, "p0"),  # all is equal: the better seeded
        ([(50, 50)] * 8 + [(60, 60)], "p0"),
        ([(50, 50), (40, 60), (60, 40)] + [(50, 50)] * 6, "p0"),
        ([(0, 0), (0, 30), (20, 0)] + [(50, 50)] * 6, "p1"),  # one win each, but p1 has more in all
    ],
)
def test_a_tie_that_stays_is_decided_by_goal_values_and_then_by_seeding(
    goals: Sequence[tuple[int, int]], winner: str
) -> None:
    spec = spec_of(2, format="knock-out", best_of=1)
    schedule = Schedule(spec, ROLES)
    values = iter(goals)
    while not schedule.is_complete:
        pairing = next(iter(schedule.open))
        one, other = next(values)
        value = {"p0": one, "p1": other}
        schedule.add(result_of(pairing, [value[name] for name in pairing.players]))
    assert schedule.ranking[0] == winner


def test_only_matches_that_will_be_played_for_sure_are_known() -> None:
    """Best of five: three at once; at 3–0 it is over, at 2–1 there is one more, at 2–2 the last one."""
    spec = spec_of(2, format="knock-out", best_of=5)
    for wins, more in (("000", []), ("0010", [1]), ("00110", [1, 1]), ("01101", [1, 1])):
        schedule = Schedule(spec, ROLES)
        assert len(schedule.open) == 3
        counts = []
        for winner in wins:
            pairing = next(iter(schedule.open))
            new = schedule.add(result_of(pairing, [100 * (name == f"p{winner}") for name in pairing.players]))
            counts.append(len(new))
        assert [count for count in counts if count] == more
        assert schedule.is_complete


def test_a_bracket_keeps_the_best_apart() -> None:
    assert bracket(1) == [0]
    assert bracket(8) == [0, 7, 3, 4, 1, 6, 2, 5]
    schedule = played(spec_of(6, format="knock-out"), ROLES, by_seeding)
    met = [
        [set(matches[0].players) for matches in duels_of(schedule).values() if matches[0].round == r] for r in range(3)
    ]
    assert met == [
        [{"p3", "p4"}, {"p2", "p5"}],  # p0 and p1 have byes
        [{"p0", "p3"}, {"p1", "p2"}],
        [{"p0", "p1"}],
    ]
    assert schedule.byes == {"p0": 1, "p1": 1}
    assert schedule.ranking == ("p0", "p1", "p2", "p3", "p4", "p5")


def test_a_round_waits_for_all_duels_of_the_round_before() -> None:
    schedule = Schedule(spec_of(4, format="knock-out", best_of=2), ROLES)
    assert schedule.expected == 6
    first, second = (list(pairings) for pairings in duels_of(schedule).values())
    for pairing in first:
        assert schedule.add(result_of(pairing, by_seeding(pairing))) == ()
    assert not [pairing for pairing in schedule.pairings if pairing.round]
    for pairing in second:
        new = schedule.add(result_of(pairing, by_seeding(pairing)))
    assert {pairing.round for pairing in new} == {1}
    assert schedule.expected == 6
