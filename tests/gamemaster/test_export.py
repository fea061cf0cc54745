"""Export: the record as ggp-base and Tiltyard write it."""

from pathlib import Path

import pytest

import ggp
from gamemaster.record import MatchRecord
from gamemaster.replay import exported, replay
from tests.gamemaster import games
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer, hangs_up, says, silent

FIELDS = {
    "matchId",
    "randomToken",
    "startTime",
    "gameMetaURL",
    "isCompleted",
    "isAborted",
    "states",
    "moves",
    "stateTimes",
    "previewClock",
    "startClock",
    "playClock",
    "playerNamesFromHost",
    "isPlayerHuman",
    "tournamentNameFromHost",
    "scrambled",
    "ggp",
}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> MatchRecord:
    xplayer = ScriptedPlayer({0: silent, 4: says("(mark 9 9)")})
    oplayer = ScriptedPlayer({"start": silent, 1: hangs_up, 3: says(")")})
    players = {"xplayer": xplayer, "oplayer": oplayer}
    return play_match(ggp.load("tictactoe"), players, tmp_path_factory.mktemp("record"))


def test_all_fields_are_there(record: MatchRecord) -> None:
    match = exported(record, tuple(replay(record)))
    assert match.keys() == FIELDS | {"errors", "goalValues"}
    assert (match["matchId"], match["randomToken"]) == (record.match, record.token)
    assert (match["isCompleted"], match["isAborted"], match["scrambled"]) == (True, False, False)
    assert (match["previewClock"], match["startClock"], match["playClock"]) == (-1, 10, 5)
    assert match["playerNamesFromHost"] == ["player of xplayer", "player of oplayer"]
    assert match["isPlayerHuman"] == [False, False]
    assert match["goalValues"] == list((record.goals or {}).values())
    assert match["startTime"] == match["stateTimes"][0] == round(record.started.timestamp() * 1000)


def test_there_is_one_entry_for_each_state(record: MatchRecord) -> None:
    match = exported(record, tuple(replay(record)))
    states = len(record.steps) + 1
    assert len(match["states"]) == len(match["stateTimes"]) == len(match["errors"]) == states
    assert len(match["moves"]) == states - 1


def test_terms_are_spaced_as_ggp_base_prints_them(record: MatchRecord) -> None:
    match = exported(record, tuple(replay(record)))
    cells = " ".join(f"( cell {row} {column} b )" for row in "123" for column in "123")
    assert match["states"][0] == f"( {cells} ( control xplayer ) )"
    assert match["moves"][1][0] == "noop"
    assert match["moves"][2][0].startswith("( mark ")


def test_faults_have_the_codes_of_ggp_base(record: MatchRecord) -> None:
    match = exported(record, tuple(replay(record)))
    errors = match["errors"]
    assert errors[:6] == [["", "TO"], ["TO", ""], ["", "CE"], ["", ""], ["", "IL null"], ["IL (mark 9 9)", ""]]
    assert all(entry == ["", ""] for entry in errors[6:])


def test_errors_are_left_out_when_there_are_none(tmp_path: Path) -> None:
    record = play_match(games.game(games.DICE), {"gambler": ScriptedPlayer()}, tmp_path, scramble=True)
    match = exported(record, tuple(replay(record)))
    assert match.keys() == FIELDS | {"goalValues"}
    assert match["playerNamesFromHost"] == ["player of gambler", "random"]
    assert match["scrambled"] is True


def test_a_match_that_was_not_completed_is_aborted_and_has_no_goal_values(tmp_path: Path) -> None:
    game = games.game(games.STUCK)
    record = play_match(game, {role: ScriptedPlayer() for role in game.roles}, tmp_path)
    match = exported(record, tuple(replay(record)))
    assert (match["isCompleted"], match["isAborted"]) == (False, True)
    assert "goalValues" not in match
    running = record.model_copy(update={"status": "running", "goals": None, "finished": None})
    match = exported(running, tuple(replay(running)))
    assert (match["isCompleted"], match["isAborted"]) == (False, False)


def test_a_state_that_the_rules_do_not_give_is_left_out(tmp_path: Path) -> None:
    record = play_match(games.game(games.ENDLESS), {"lonely": ScriptedPlayer()}, tmp_path)
    match = exported(record, tuple(replay(record)))
    assert len(match["states"]) == len(match["stateTimes"]) == len(match["moves"]) == 1
