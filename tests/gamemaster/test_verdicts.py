"""Matches that end though the rules go on, because both players agree on what will be."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import ggp
from gamemaster.record import MatchRecord
from gamemaster.referee import goal_values
from gamemaster.replay import replay
from ggp.errors import RecordError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.protocol.messages import Dialect
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer, thinks

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
    return play_match(TICTACTOE, players, folder, events=None, dialect=Dialect.GGP_BASE, **settings)


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
