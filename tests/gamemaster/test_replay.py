"""Replay: a record that holds gives its states; one that does not is refused at the step that is wrong."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import ggp
from gamemaster.faults import make_fault
from gamemaster.record import MatchRecord, StartRecord
from gamemaster.replay import replay
from ggp.errors import RecordError
from ggp.gdl.terms import to_text
from tests.gamemaster import games
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer, says

Change = Callable[[MatchRecord], MatchRecord]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> MatchRecord:
    """Tic-tac-toe with an illegal answer of oplayer in step 3."""
    players = {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer({3: says("(mark 3 3)")})}
    return play_match(ggp.load("tictactoe"), players, tmp_path_factory.mktemp("record"))


@pytest.fixture(scope="module")
def dice(tmp_path_factory: pytest.TempPathFactory) -> MatchRecord:
    players = {"gambler": ScriptedPlayer()}
    return play_match(games.game(games.DICE), players, tmp_path_factory.mktemp("record"))


@pytest.fixture(scope="module")
def forfeit(tmp_path_factory: pytest.TempPathFactory) -> MatchRecord:
    """Forfeited in the step in which the rules end the match."""
    players = {"left": ScriptedPlayer({0: says("busy"), 1: says("busy")}), "right": ScriptedPlayer()}
    folder = tmp_path_factory.mktemp("record")
    return play_match(games.game(games.GUESSING), players, folder, forfeit_after=2)


def changed(record: MatchRecord, **fields: object) -> MatchRecord:
    return record.model_copy(update=fields)


def with_step(number: int, **fields: object) -> Change:
    def change(record: MatchRecord) -> MatchRecord:
        steps = list(record.steps)
        steps[number] = steps[number].model_copy(update=fields)
        return changed(record, steps=tuple(steps))

    return change


def test_records_in_which_the_rules_ended_a_match_before_its_forfeit_hold(forfeit: MatchRecord) -> None:
    is_same = any(len(set(step.moves)) == 1 for step in forfeit.steps)
    goals = dict.fromkeys(("left", "right"), 100 if is_same else 0)
    older = changed(forfeit, status="terminal", reason=None, forfeited=(), goals=goals)
    assert len(list(replay(older))) == 3
    with pytest.raises(RecordError, match="status should not be terminal"):
        list(replay(changed(older, steps=older.steps[:1])))


def test_the_states_are_those_of_the_match(record: MatchRecord) -> None:
    states = list(replay(record))
    assert states[0].step is None
    assert [replayed.step for replayed in states[1:]] == list(record.steps)
    assert states[1].state is not None
    assert "(cell 3 3 x)" in map(to_text, states[1].state)
    state = ggp.load("tictactoe").initial_state
    for replayed, step in zip(states[1:], record.steps, strict=True):
        state = state.play(dict(zip(record.roles, step.moves, strict=True)))
        assert replayed.state == state.terms


def test_a_match_that_was_killed_replays_as_far_as_it_went(record: MatchRecord) -> None:
    killed = changed(record, status="running", goals=None, finished=None, steps=record.steps[:3])
    assert len(list(replay(killed))) == 4


WRONG: dict[str, tuple[Change, str]] = {
    "another rulesheet": (
        lambda record: changed(record, rulesheet=record.rulesheet.replace("100", "99")),
        "rulesheet_sha256 should be",
    ),
    "an unreadable rulesheet": (lambda record: changed(record, rulesheet="(role x"), "is never closed"),
    "roles in another order": (lambda record: changed(record, roles=record.roles[::-1]), "roles should be"),
    "a role that a terminal would obey": (lambda record: changed(record, roles=("\x1b[31m",)), r"not \\x1b\[31m$"),
    "a missing player": (lambda record: changed(record, players={}), "players should be of"),
    "an illegal move": (with_step(2, moves=("(mark 3 3)", "noop")), r"step 2: \(mark 3 3\) is not legal for xplayer: "),
    "a move that is none": (with_step(2, moves=("((", "noop")), r"step 2: \(\( is not legal for xplayer: "),
    "a long move": (
        with_step(2, moves=(f"(mark {'1' * 10_000} 1)", "noop")),
        r"step 2: \(mark 1{194}… \(10009 characters\) is not legal for xplayer: .{1,240}$",
    ),
    "a move too few": (with_step(2, moves=("noop",)), "step 2: 1 moves for 2 roles"),
    "a fault of a stranger": (with_step(1, faults={"zplayer": make_fault("timeout", "late")}), "which no player took"),
    "another seed": (
        lambda record: changed(record, settings=replace(record.settings, seed=8)),
        "step 3: the game master's move for oplayer should be",
    ),
    "other goals": (lambda record: changed(record, goals={"xplayer": 0, "oplayer": 100}), "goals should be"),
    "no goals": (lambda record: changed(record, goals=None), "goals should be"),
    "another ending": (lambda record: changed(record, status="step limit"), "status should not be step limit"),
    "an early end": (lambda record: changed(record, steps=record.steps[:4]), "the rules go on with step 4"),
    "goals of a match under way": (
        lambda record: changed(record, status="running", finished=None),
        "goals in a match that is running",
    ),
    "another scramble seed": (
        lambda record: changed(record, settings=replace(record.settings, scramble=True)),
        "scramble_seed of xplayer should be",
    ),
    "no START": (lambda record: changed(record, start={}), "start should be of oplayer xplayer"),
    "a START without answer and fault": (
        lambda record: changed(record, start={**record.start, "xplayer": StartRecord(seconds=0.1)}),
        "start of xplayer should have either an answer or a fault",
    ),
    "a step without seconds": (with_step(1, seconds={}), "seconds of step 1 should be of oplayer xplayer"),
    "no end": (lambda record: changed(record, finished=None), "finished should be there"),
    "a step after the end": (
        lambda record: changed(record, steps=(*record.steps, record.steps[-1])),
        "comes after the end: the state is terminal",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_hold_is_named(name: str, record: MatchRecord) -> None:
    change, message = WRONG[name]
    with pytest.raises(RecordError, match=f"^the record does not replay: .*{message}"):
        list(replay(change(record)))


def test_moves_of_the_role_random_must_follow_from_the_seed(dice: MatchRecord) -> None:
    list(replay(dice))
    (bet, roll) = dice.steps[0].moves
    other = "(roll 1)" if roll != "(roll 1)" else "(roll 2)"
    with pytest.raises(RecordError, match=r"step 0: the game master's move for random should be \(roll"):
        list(replay(with_step(0, moves=(bet, other))(dice)))


def test_times_do_not_matter(record: MatchRecord) -> None:
    late = record.started + timedelta(days=1)
    assert len(list(replay(with_step(0, time=late)(record)))) == len(record.steps) + 1


@pytest.mark.parametrize("text", [games.STUCK, games.ENDLESS])
def test_a_broken_match_breaks_again(text: str, tmp_path: Path) -> None:
    game = games.game(text)
    record = play_match(game, {role: ScriptedPlayer() for role in game.roles}, tmp_path)
    assert record.status == "broken"
    with pytest.raises(RecordError, match="status should not be terminal after 1 steps"):
        list(replay(changed(record, status="terminal")))
