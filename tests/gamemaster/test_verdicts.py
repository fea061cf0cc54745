"""Matches that end though the rules go on, because both players agree on what will be."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import ggp
from gamemaster.record import MatchRecord
from gamemaster.referee import goal_values
from gamemaster.replay import replay
from gamemaster.verdicts import time_left
from ggp.errors import RecordError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.protocol.messages import Dialect
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer, Trouble, When, late, thinks

TICTACTOE = ggp.load("tictactoe")
Values = Sequence[float | None]


def expecting(values: Mapping[str, Values], folder: Path, **settings: int) -> MatchRecord:
    """A match between players that say in each step which goal value they expect, where that is no None."""
    players = {
        role: ScriptedPlayer(
            {
                step: thinks(f'{{"value": {value}}}') if value is not None else thinks("{}")
                for step, value in enumerate(said)
            }
        )
        for role, said in values.items()
    }
    return play_match(TICTACTOE, players, folder, events=None, dialect=Dialect.GGP_BASE, increments=None, **settings)


def test_a_player_that_both_expect_to_lose_has_lost(tmp_path: Path) -> None:
    values = {"xplayer": [60, 4, 3, 0, 0], "oplayer": [40, 96, 97, 99, 99]}
    record = expecting(values, tmp_path, resign_steps=3)
    assert (record.status, len(record.steps)) == ("adjudicated", 4)
    assert record.reason == "both players have expected for 3 steps that xplayer loses"
    assert record.goals == {"xplayer": 0, "oplayer": 100}
    assert record.forfeited == ()


def test_a_draw_that_both_expect_is_one(tmp_path: Path) -> None:
    values = {"xplayer": [50, 50, 51, 52, 50], "oplayer": [50, 49, 50, 48, 50]}
    record = expecting(values, tmp_path, draw_steps=2, draw_from=4)
    assert (record.status, len(record.steps)) == ("adjudicated", 4)
    assert record.goals == {"xplayer": 50, "oplayer": 50}


@pytest.mark.parametrize(
    "values",
    [
        {"xplayer": [0, 0, 0, 0, 0], "oplayer": [90, 90, 90, 90, 90]},
        {"xplayer": [0, 0, None, 0, 0], "oplayer": [100, 100, 100, 100, 100]},
        {"xplayer": [0, 0, 6, 0, 0], "oplayer": [100, 100, 100, 100, 100]},
    ],
    ids=["only one", "one says nothing", "not in a row"],
)
def test_where_players_do_not_agree_the_match_goes_on(values: Mapping[str, Values], tmp_path: Path) -> None:
    assert expecting(values, tmp_path, resign_steps=3).status == "terminal"


def test_no_match_is_adjudicated_unasked(tmp_path: Path) -> None:
    assert expecting({"xplayer": [0] * 9, "oplayer": [100] * 9}, tmp_path).status == "terminal"


def test_a_verdict_is_verified(tmp_path: Path) -> None:
    values = {"xplayer": [0, 0, 0], "oplayer": [100, 100, 100]}
    record = expecting(values, tmp_path, resign_steps=3)
    for wrong in (
        {"goals": {"xplayer": 100, "oplayer": 0}},
        {"steps": record.steps[:2]},
        {"status": "forfeit", "forfeited": ("xplayer",)},
        {"forfeited": ("oplayer",)},
    ):
        with pytest.raises(RecordError, match="the record does not replay"):
            list(replay(record.model_copy(update=wrong)))


def test_goal_values_that_the_rules_name() -> None:
    rulesheet = parse_rulesheet("(role a) (role b) (goal a 10) (<= (goal ?r 90) (role ?r)) (goal b 30)")
    assert goal_values(rulesheet, "a") == {10, 90}
    assert goal_values(rulesheet, "b") == {30, 90}
    assert goal_values(parse_rulesheet("(role a) (<= (goal a ?n) (true (n ?n))) (goal a 5)"), "a") == ()


def slow(seconds: float) -> Mapping[When, Trouble]:
    """In each step of the role that moves first."""
    return {step: late(seconds) for step in range(0, 9, 2)}


@pytest.mark.parametrize(("increment", "steps"), [(0, 5), (4, 7)])
def test_a_player_with_one_clock_for_all_moves_forfeits_when_it_is_over(
    increment: int, steps: int, tmp_path: Path
) -> None:
    """10 seconds and the increment with each move; a move takes 4 seconds, and the last of them ends the match."""
    players = {"xplayer": ScriptedPlayer(slow(4.0)), "oplayer": ScriptedPlayer()}
    record = play_match(TICTACTOE, players, tmp_path, increments={"xplayer": increment}, playclock=10)
    assert len(record.steps) == steps
    if increment == 4:
        assert record.status == "terminal"
        assert time_left(record, "xplayer") == pytest.approx(10, abs=0.2)
    else:
        assert (record.status, record.forfeited) == ("forfeit", ("xplayer",))
        assert record.reason == "the time of xplayer is over"
        assert record.goals == {"xplayer": 0, "oplayer": 100}
    assert time_left(record, "oplayer") is None


def test_waiting_gains_no_time(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(slow(4.0)), "oplayer": ScriptedPlayer()}
    record = play_match(TICTACTOE, players, tmp_path, increments={"xplayer": 3, "oplayer": 3}, playclock=10)
    shorter = record.model_copy(update={"steps": record.steps[:2]})  # a move of each
    left = [time_left(shorter, role) for role in record.players]
    assert left == [pytest.approx(9, abs=0.2), pytest.approx(13, abs=0.2)]


def test_without_an_increment_a_record_says_nothing_of_it(tmp_path: Path) -> None:
    record = play_match(TICTACTOE, {role: ScriptedPlayer() for role in TICTACTOE.roles}, tmp_path)
    assert "increment" not in record.model_dump_json()
