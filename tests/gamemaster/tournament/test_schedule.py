"""Schedules: fair, complete, and the same whenever they are worked out again."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamemaster.settings import derived
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.schedule import MOST_MATCHES, Schedule, next_pairings, schedule_of
from gamemaster.tournament.spec import TournamentSpec
from ggp.errors import SettingsError
from tests.gamemaster.tournament.scheduling import all_tied, by_chance, played, result_of, spec_of

ROLES = {"alpha": 2, "be-ta": 2, "alone": 1, "three": 3, "four": 4, "five": 5}


@st.composite
def events(
    draw: st.DrawFn, formats: Sequence[str] = ("round robin", "gauntlet", "swiss", "knock-out")
) -> TournamentSpec:
    format_ = draw(st.sampled_from(formats))
    of_two = format_ in ("swiss", "knock-out")
    players = draw(st.integers(2, 9 if of_two else 6))
    fitting = [name for name, roles in ROLES.items() if roles == 2 or (not of_two and roles <= players)]
    return spec_of(
        players,
        draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=3, unique=True)),
        seed=draw(st.integers(0, 2**63 - 1)),
        format=format_,
        rounds=1 if format_ == "knock-out" else draw(st.integers(1, 3)),
        best_of=draw(st.integers(1, 5)) if format_ == "knock-out" else 1,
    )


def names_of(spec: TournamentSpec) -> list[str]:
    return [player.name for player in spec.players]


@settings(max_examples=30)
@given(spec=events(), chance=st.integers(0, 99))
def test_a_schedule_depends_on_the_results_and_not_on_their_order(spec: TournamentSpec, chance: int) -> None:
    schedule = played(spec, ROLES, by_chance(chance))
    pairings = schedule.pairings
    results = [result_of(pairing, by_chance(chance)(pairing)) for pairing in pairings]
    shuffled = Random(chance).sample(results, len(results))
    assert next_pairings(spec, ROLES, results) == next_pairings(spec, ROLES, shuffled) == pairings
    assert next_pairings(spec, ROLES, [*results, *shuffled]) == pairings
    assert played(spec, ROLES, by_chance(chance), Random(chance)).pairings == pairings
    assert schedule.expected == len(pairings)


@settings(max_examples=30)
@given(spec=events(), chance=st.integers(0, 99))
def test_what_is_known_stays_known(spec: TournamentSpec, chance: int) -> None:
    schedule = Schedule(spec, ROLES)
    known = list(schedule.pairings)
    while not schedule.is_complete:
        pairing = next(iter(schedule.open))
        new = schedule.add(result_of(pairing, by_chance(chance)(pairing)))
        assert not set(new) & set(known)
        known += new
        assert sorted(known, key=id_of) == sorted(schedule.pairings, key=id_of)
    results = [result_of(pairing, by_chance(chance)(pairing)) for pairing in known]
    some = results[: len(results) // 2]
    assert set(next_pairings(spec, ROLES, some)) <= set(known)


def id_of(pairing: Pairing) -> str:
    return pairing.id


@settings(max_examples=30)
@given(spec=events(), chance=st.integers(0, 99))
def test_every_pairing_can_be_played_and_has_its_own_name(spec: TournamentSpec, chance: int) -> None:
    pairings = played(spec, ROLES, by_chance(chance)).pairings
    assert len({pairing.id for pairing in pairings}) == len(pairings)
    assert len({pairing.seed for pairing in pairings}) == len(pairings)
    for pairing in pairings:
        assert re.fullmatch(r"r\d{3}-[a-z_]+-\d{4}-[a-z0-9-]+", pairing.id)
        assert pairing.seed == derived(spec.seed, pairing.id) % 2**63
        assert len(set(pairing.players)) == len(pairing.players) == ROLES[pairing.game]
        assert spec.settings_of(pairing.game, pairing.seed).seed == pairing.seed


@settings(max_examples=30)
@given(spec=events(("round robin", "gauntlet", "swiss")), chance=st.integers(0, 99))
def test_those_who_meet_take_every_role_equally_often_in_every_round(spec: TournamentSpec, chance: int) -> None:
    groups: dict[str, list[Pairing]] = {}
    for pairing in played(spec, ROLES, by_chance(chance)).pairings:
        groups.setdefault(pairing.group, []).append(pairing)
    for matches in groups.values():
        assert len({(match.game, match.round, frozenset(match.players)) for match in matches}) == 1
        roles = ROLES[matches[0].game]
        if roles <= 3:
            assert sorted(match.players for match in matches) == sorted(permutations(sorted(matches[0].players)))
        else:
            assert len(matches) == roles
            for takers in zip(*[match.players for match in matches], strict=True):
                assert sorted(takers) == sorted(matches[0].players)


@settings(max_examples=30)
@given(spec=events(("round robin",)))
def test_in_a_round_robin_everybody_meets_everybody_in_every_round_and_game(spec: TournamentSpec) -> None:
    met = {
        (pairing.round, pairing.game, frozenset(pairing.players), pairing.group)
        for pairing in next_pairings(spec, ROLES, ())
    }
    assert Counter((round_, game, players) for round_, game, players, _ in met) == Counter(
        (round_, game.name, frozenset(players))
        for round_, game in product(range(spec.rounds), spec.games)
        for players in combinations(names_of(spec), ROLES[game.name])
    )


@settings(max_examples=30)
@given(spec=events(("gauntlet",)))
def test_in_a_gauntlet_the_first_meets_everybody(spec: TournamentSpec) -> None:
    first, *others = names_of(spec)
    met = {
        (pairing.round, pairing.game, frozenset(pairing.players), pairing.group)
        for pairing in next_pairings(spec, ROLES, ())
    }
    wanted = Counter(
        (round_, game.name, frozenset((first, *rest)))
        for round_, game in product(range(spec.rounds), spec.games)
        if ROLES[game.name] > 1
        for rest in combinations(others, ROLES[game.name] - 1)
    )
    alone = Counter(
        (round_, game.name, frozenset((name,)))
        for round_, game in product(range(spec.rounds), spec.games)
        if ROLES[game.name] == 1
        for name in names_of(spec)
    )
    assert Counter((round_, game, players) for round_, game, players, _ in met) == wanted + alone


@pytest.mark.parametrize("players", [2, 3, 6, 7, 12])
def test_a_round_robin_keeps_everybody_equally_busy(players: int) -> None:
    count = players // 2
    for games in (["alpha"], ["alpha", "be-ta"]):
        pairings = next_pairings(spec_of(players, games), ROLES, ())
        for first in range(0, len(pairings), count):
            busy = [name for pairing in pairings[first : first + count] for name in pairing.players]
            assert len(set(busy)) == len(busy) == 2 * count


def test_games_alternate_and_so_do_roles() -> None:
    games = [pairing.game for pairing in next_pairings(spec_of(4, ["alpha", "alone", "be-ta"]), ROLES, ())]
    assert games == ["alpha"] * 4 + ["alone"] * 4 + ["be-ta"] * 4 + (["alpha"] * 4 + ["be-ta"] * 4) * 2
    pairings = next_pairings(spec_of(2, rounds=20), ROLES, ())
    assert all(one.players == other.players[::-1] for one, other in zip(pairings[::2], pairings[1::2], strict=True))
    begins = Counter(pairing.players[0] for pairing in pairings[::2])
    assert min(begins.values()) >= 3  # the order is drawn


def test_the_order_follows_from_the_seed() -> None:
    def orders(seed: int, game: str) -> list[tuple[str, ...]]:
        return [pairing.players for pairing in next_pairings(spec_of(5, [game], seed=seed, rounds=3), ROLES, ())]

    for game in ("alpha", "three", "five"):
        assert orders(1, game) == orders(1, game) != orders(2, game)
    five = next_pairings(spec_of(5, ["five"], rounds=6), ROLES, ())
    assert len({frozenset(pairing.players for pairing in five if pairing.round == round_) for round_ in range(6)}) > 3


def test_more_rounds_go_on_where_fewer_ended() -> None:
    for format_ in ("round robin", "gauntlet"):
        few = next_pairings(spec_of(5, ["alpha", "three"], rounds=2, format=format_), ROLES, ())
        assert next_pairings(spec_of(5, ["alpha", "three"], rounds=3, format=format_), ROLES, ())[: len(few)] == few


def test_a_schedule_by_hand() -> None:
    """Four players by the circle method: 0-3 1-2, 0-2 3-1, 0-1 2-3."""
    pairings = next_pairings(spec_of(["Ann", "Bob!", "ÄÖ", "d d"]), ROLES, ())
    met = [frozenset(pairing.players) for pairing in pairings]
    turns = [met[first : first + 4] for first in (0, 4, 8)]
    ann, bob, umlauts, last = "Ann", "Bob!", "ÄÖ", "d d"
    assert turns == [
        [{ann, last}, {bob, umlauts}] * 2,
        [{ann, umlauts}, {last, bob}] * 2,
        [{ann, bob}, {umlauts, last}] * 2,
    ]
    words = {ann: "ann", bob: "bob", umlauts: "player", last: "d-d"}
    assert [pairing.id for pairing in pairings] == [
        f"r001-alpha-{number:04}-{'-vs-'.join(words[name] for name in pairing.players)}"
        for number, pairing in enumerate(pairings, 1)
    ]


def test_a_result_of_another_tournament_is_refused() -> None:
    pairing, _ = next_pairings(spec_of(2), ROLES, ())
    result = result_of(replace(pairing, seed=pairing.seed + 1), (1, 2))
    with pytest.raises(
        SettingsError, match=f"{pairing.id}: the result is of another tournament than the one specified"
    ):
        next_pairings(spec_of(2), ROLES, [result])


def test_a_result_that_the_schedule_does_not_have_is_left_aside() -> None:
    long, short = (spec_of(3, rounds=rounds) for rounds in (3, 2))
    results = [result_of(pairing, (1, 0)) for pairing in next_pairings(long, ROLES, ())]
    finished = schedule_of(short, ROLES, results)
    assert finished.is_complete
    assert len(finished.pairings) == 12


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (spec_of(2, ["three"]), "three: the game takes 3 players, and there are 2"),
        (spec_of(1), "alpha: the game takes 2 players, and there is 1"),
        (
            spec_of(4, ["alpha", "three"], format="swiss"),
            "three: a swiss takes games for two players, and this one takes 3",
        ),
        (
            spec_of(4, ["alone"], format="knock-out"),
            "alone: a knock-out takes games for two players, and this one takes 1",
        ),
        (spec_of(100, ["four"]), f"these are 15684900 matches; a tournament has at most {MOST_MATCHES}"),
        (spec_of(2, rounds=1_000_000), f"these are 2000000 matches; a tournament has at most {MOST_MATCHES}"),
        (
            spec_of(9, format="swiss", rounds=1_000_000),
            f"these are 8000000 matches; a tournament has at most {MOST_MATCHES}",
        ),
    ],
)
def test_what_cannot_be_scheduled_is_refused(spec: TournamentSpec, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        next_pairings(spec, ROLES, ())
    assert str(caught.value) == message


def test_thousands_of_results_one_by_one() -> None:
    """Slow only where it is quadratic."""
    schedule = played(spec_of(2, rounds=1500), ROLES, all_tied)
    assert len(schedule.pairings) == 3000
    assert schedule.is_complete
