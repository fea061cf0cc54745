"""Standings: counted by hand, the same in any order, and as files."""

import csv
import io
import json
import random
from dataclasses import replace

import numpy as np
import pytest

from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.standings import Standings, Tally, standings
from gamemaster.tournament.standings_texts import as_csv, as_json, as_text
from tests.gamemaster.tournament.simulated import Scenario, result, simulated, strengths

PLAYERS = ("ann", "bob", "eve")


def played(
    number: int, game: str, players: tuple[str, ...], goals: tuple[int | None, ...], **fields: object
) -> MatchResult:
    pairing = Pairing(f"r001-{game}-{number:04}-x", 0, game, players, 0, f"{game}{number // 2}")
    return replace(result(pairing, goals, number), **fields)  # type: ignore[arg-type]


@pytest.fixture
def results() -> list[MatchResult]:
    """Ann wins twice and draws once against Bob; three of them meet once; one puzzle each; one match breaks off."""
    return [
        played(0, "duel", ("ann", "bob"), (100, 0)),
        played(1, "duel", ("bob", "ann"), (30, 40), faults=({"timeout": 2, "illegal": 1}, {})),
        played(2, "duel", ("ann", "bob"), (50, 50), seconds=(4.0, 1.0), longest=(3.5, 0.25)),
        played(3, "duel", ("bob", "ann"), (None, 100), ending="broken", steps=4),
        played(0, "trio", ("eve", "ann", "bob"), (60, 60, 10), faults=({"timeout": 1}, {}, {})),
        played(0, "puzzle", ("ann",), (80,)),
        played(1, "puzzle", ("eve",), (100,)),
    ]


@pytest.fixture
def counted(results: list[MatchResult]) -> Standings:
    return standings(PLAYERS, results)


def test_wins_draws_and_losses_are_by_the_highest_goal_value_of_the_others(counted: Standings) -> None:
    tallies = {line.player: line.tally for line in counted.lines}
    assert tallies == {
        "ann": Tally(6, 2, 2, 0, 430 / 6),
        "bob": Tally(5, 0, 1, 3, 90 / 4),
        "eve": Tally(2, 0, 1, 0, 80),
    }
    assert tallies["ann"].points == 3
    assert (counted.matches, counted.decided) == (7, 4)
    assert counted.endings == {"broken": 1, "terminal": 6}


def test_players_stand_in_the_order_of_their_ratings(counted: Standings) -> None:
    assert [line.rank for line in counted.lines] == [1, 2, 3]
    ratings = [line.rating.value for line in counted.lines if line.rating]
    assert ratings == sorted(ratings, reverse=True)
    assert counted.players[-1] == "bob"
    assert sum(ratings) == pytest.approx(0)


def test_equal_players_share_a_rank_and_keep_their_order() -> None:
    drawn = [played(0, "duel", ("b", "a"), (50, 50)), played(1, "duel", ("a", "b"), (50, 50))]
    lines = standings(("a", "b", "new"), drawn).lines
    assert [(line.rank, line.player) for line in lines] == [(1, "a"), (1, "b"), (3, "new")]
    assert lines[2].rating is None
    assert standings(("b", "a"), drawn).players == ("b", "a")


def test_each_game_has_its_table(counted: Standings) -> None:
    tables = {table.game: table for table in counted.games}
    assert list(tables) == ["duel", "puzzle", "trio"]
    assert [line.player for line in tables["duel"].lines] == ["ann", "bob"]
    assert (tables["duel"].players, tables["duel"].matches, tables["duel"].mean_steps) == (2, 4, 8.5)
    puzzle = tables["puzzle"]
    assert [(line.rank, line.player) for line in puzzle.lines] == [(1, "eve"), (2, "ann")]
    assert puzzle.lines[0].goal is not None
    assert puzzle.lines[0].goal.value == puzzle.lines[0].goal.high == 100
    assert all(line.rating is None and line.tally.decided == 0 for line in puzzle.lines)
    assert puzzle.roles[0].advantage is None


def test_roles_are_counted_with_their_advantage(counted: Standings) -> None:
    white, black = next(table for table in counted.games if table.game == "duel").roles
    assert (white.tally.wins, white.tally.draws, white.tally.losses) == (1, 1, 1)
    assert (black.tally.wins, black.tally.draws, black.tally.losses) == (1, 1, 1)
    assert white.advantage is not None
    assert white.share is not None
    assert (white.advantage.value > 0) == (white.share > 0.5)
    own = {(each.player, each.game, each.role): each.tally for each in counted.player_roles}
    assert own["ann", "duel", "white"] == Tally(2, 1, 1, 0, 75)
    assert own["eve", "trio", "white"] == Tally(1, 0, 1, 0, 60)
    assert ("eve", "duel", "white") not in own


def test_the_cross_table_compares_every_two_players(counted: Standings) -> None:
    cross = {(each.player, each.opponent): (each.wins, each.draws, each.losses) for each in counted.meetings}
    assert cross == {
        ("ann", "bob"): (3, 1, 0),
        ("bob", "ann"): (0, 1, 3),
        ("ann", "eve"): (0, 1, 0),
        ("eve", "ann"): (0, 1, 0),
        ("eve", "bob"): (1, 0, 0),
        ("bob", "eve"): (0, 0, 1),
    }


def test_time_and_faults_are_summed(counted: Standings) -> None:
    conduct = {each.player: each for each in counted.conduct}
    assert conduct["bob"].faults == {"timeout": 2, "illegal": 1}
    assert conduct["bob"].faulty == 1
    assert conduct["eve"].faults == {"timeout": 1}
    assert conduct["ann"].faults == {}
    assert conduct["ann"].seconds == pytest.approx(4 + 5 * 1.5)
    assert conduct["ann"].longest == 3.5
    assert conduct["ann"].steps == 54


def test_several_players_get_a_bayesian_rating_too(counted: Standings, results: list[MatchResult]) -> None:
    strength = {each.player: each.strength.value for each in counted.bayesian}
    assert strength["ann"] > strength["bob"]
    assert standings(PLAYERS, [each for each in results if each.pairing.game != "trio"]).bayesian == ()


def test_no_results_and_no_players_are_standings_too() -> None:
    assert standings((), []).lines == ()
    alone = standings(("ann", "bob"), [])
    assert [(line.rank, line.player, line.tally.matches) for line in alone.lines] == [(1, "ann", 0), (1, "bob", 0)]
    assert "ann" in as_text(alone)
    assert json.loads(as_json(alone))["matches"] == 0


def test_puzzles_alone_are_ranked_by_goal_values() -> None:
    solved = [played(0, "puzzle", ("ann",), (80,)), played(1, "puzzle", ("bob",), (90,))]
    lines = standings(("ann", "bob"), solved).lines
    assert [(line.player, line.goal.value if line.goal else None) for line in lines] == [("bob", 90), ("ann", 80)]


def test_any_order_of_the_results_gives_the_same_bytes() -> None:
    scenario = Scenario("any", 6, 2, draws=0.2)
    chance = np.random.default_rng(1)
    names, games = simulated(scenario, strengths(scenario, chance), chance)
    shuffled = random.Random(2).sample(games, len(games))
    for form in (as_json, as_csv, as_text):
        assert form(standings(names, games)) == form(standings(names, shuffled))


def test_json_has_everything(counted: Standings) -> None:
    values = json.loads(as_json(counted))
    assert values["format"] == 1
    assert values["lines"][0]["player"] == counted.players[0]
    assert values["lines"][0]["tally"]["wins"] == counted.lines[0].tally.wins
    assert values["games"][0]["roles"][0]["advantage"].keys() == {"value", "low", "high"}
    assert values["superiority"]["ann"]["bob"] == pytest.approx(1 - values["superiority"]["bob"]["ann"])
    assert values["superiority"]["ann"]["ann"] == 0.5
    assert len(values["ratings"]["covariance"]) == len(values["ratings"]["players"]) == 3


def test_csv_has_a_line_for_each_player_and_game(counted: Standings) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(counted))))
    assert [(row["game"], row["player"]) for row in rows][3:] == [
        ("duel", "ann"),
        ("duel", "bob"),
        ("puzzle", "eve"),
        ("puzzle", "ann"),
        *(("trio", line.player) for line in counted.games[2].lines),
    ]
    first = counted.lines[0]
    assert first.rating is not None
    assert float(rows[0]["rating"]) == pytest.approx(first.rating.value, abs=1e-4)
    assert rows[5]["rating"] == ""


def test_text_is_aligned_whatever_the_names() -> None:
    games = [played(0, "duel", ("ann", "名前\x1b[31m"), (100, 0))]
    text = as_text(standings(("ann", "名前\x1b[31m"), games))
    assert "\x1b" not in text
    head, first, second = text.splitlines()[:3]
    assert first.startswith("   1  ann  ")
    assert second.startswith("   2  名前\\x1b[31m")
    column = head.index("matches") + len("matches") - 1
    assert first[column] == "1"
    assert second[column - 2] == "1"  # two letters are as wide as four
