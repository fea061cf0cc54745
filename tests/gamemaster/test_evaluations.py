"""What players think: asked for with PLAY, read strictly, kept with the step, shown in the terminal."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import ggp
from gamemaster.match import Event, Stepped, run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord, read_record, record_json
from gamemaster.replay import exported, replay
from gamemaster.settings import make_settings
from gamemaster.tournament.store.schema import packed, packed_text, unpacked
from ggp.errors import RecordError
from ggp.gdl.terms import to_text
from ggp.protocol.evaluation import Evaluation
from tests.gamemaster import games
from tests.gamemaster.matches import ThreadRules, play_match
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, Trouble, When, response, says, thinks
from tests.gamemaster.test_display import shown

TICTACTOE = ggp.load("tictactoe")
ALL = (
    '{"value":61.5,"low":50,"high":100,"visits":1234,"playouts_per_second":5000,"seconds":1.5,'
    '"line":"((mark 3 3) noop) (noop (mark 1 1))"}'
)
KEPT = Evaluation(
    value=61.5,
    lower=50,
    upper=100,
    visits=1234,
    playouts_per_second=5000,
    seconds=1.5,
    principal_variation=(("(mark 3 3)", "noop"), ("noop", "(mark 1 1)")),
)


def match(troubles: dict[When, Trouble], folder: Path, **settings: object) -> MatchRecord:
    """Of two players, the first of whom says what it thinks."""
    return play_match(TICTACTOE, {"xplayer": ScriptedPlayer(troubles), "oplayer": ScriptedPlayer()}, folder, **settings)  # type: ignore[arg-type]


def test_it_is_kept_with_the_step_and_told_with_it(tmp_path: Path) -> None:
    events: list[Event] = []
    record = match({0: thinks(ALL), 2: thinks('{"value":50}')}, tmp_path, events=events)
    assert [step.evaluations for step in record.steps[:3]] == [
        {"xplayer": KEPT},
        {},
        {"xplayer": Evaluation(value=50)},
    ]
    assert record.faults == ()
    steps = [event for event in events if isinstance(event, Stepped)]
    assert steps[0].record.steps[0].evaluations == {"xplayer": KEPT}
    assert read_record(tmp_path / "record.json") == record


def test_nothing_is_made_of_what_was_not_asked_for(tmp_path: Path) -> None:
    record = match({"start": thinks(ALL), "stop": thinks(ALL)}, tmp_path)
    assert record.start["xplayer"].answer == "ready"
    assert not any(step.evaluations for step in record.steps)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("61.5", "not a JSON object"),
        ('{"value":101}', "value: Input should be less than or equal to 100"),
        ('{"value":50,"line":"((mark 1 1))"}', "a step of the variation has not 2 moves"),
        ('{"value":50,"line":"(a b) (a"}', "principal_variation:1:7: '(' is never closed"),
        ('{"value":50,"line":"' + "x" * 4000 + '"}', "more than 2000 characters"),
        ('{"value":50,"\u00fc":1}', "not ASCII"),
        ('{"value":50,"\\u001b[2J":1}', "no field is called '\\x1b[2J'"),
    ],
)
def test_what_nobody_can_read_is_no_fault(
    text: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        record = match({0: thinks(text), 1: thinks(text), 2: thinks(ALL)}, tmp_path)
    assert record.faults == ()
    assert record.status == "terminal"
    assert [sorted(step.evaluations) for step in record.steps[:3]] == [[], [], ["xplayer"]]
    notes = [line for line in caplog.messages if "thinks" in line]
    assert notes == [f"what the player of xplayer thinks is ignored: {reason}"]  # once in a match


async def _hidden(exchange: Exchange) -> None:
    """Says, in the words that the player was told, that everybody does the last that is legal."""
    machine, state = exchange.player._game.machine, exchange.player._state
    moves = " ".join(to_text(machine.legal_moves(state, role)[-1]) for role in machine.roles)
    said = json.dumps({"value": 50, "line": f"({moves}) (unheard_of noop)"})
    await exchange.send(response(exchange.answer.encode(), f"200 OK\r\nGGP-Evaluation: {said}"))


def test_what_a_player_thinks_in_other_words_is_kept_in_those_of_the_rulesheet(tmp_path: Path) -> None:
    record = match({0: _hidden}, tmp_path, scramble=True)
    line = record.steps[0].evaluations["xplayer"].principal_variation
    legal = {to_text(move) for move in TICTACTOE.machine.legal_moves(TICTACTOE.machine.initial_state, "xplayer")}
    assert line[0][0] in legal
    assert line[0][1] == "noop"
    assert line[1][0] == "unheard_of"  # a word that the player was never told stays as it is


def test_what_is_thought_beside_an_illegal_move_is_kept_and_beside_nothing_is_not(tmp_path: Path) -> None:
    async def wrong(exchange: Exchange) -> None:
        exchange.answer = "(mark 9 9)"
        await thinks(ALL)(exchange)

    async def refuses(exchange: Exchange) -> None:
        await exchange.send(response(b"(mark 1 1)", f"500 no\r\nGGP-Evaluation: {ALL}"))

    record = match({0: wrong, 2: refuses}, tmp_path)
    assert [fault.kind for _, _, fault in record.faults] == ["illegal", "malformed"]
    assert record.steps[0].evaluations == {"xplayer": KEPT}
    assert record.steps[2].evaluations == {}


def test_reading_it_costs_nobody_time(tmp_path: Path) -> None:
    """The clocks are those of a match without."""
    plain = match({}, tmp_path, events=[])
    told = match({0: thinks(ALL), 1: thinks('{"value":50,"line":"' + "(a b) " * 9 + '"}')}, tmp_path)
    assert [step.seconds for step in told.steps] == [step.seconds for step in plain.steps]


def test_a_record_without_it_is_as_it_always_was(tmp_path: Path) -> None:
    """Older programs read it, and what they wrote is read."""
    record = match({}, tmp_path)
    text = (tmp_path / "record.json").read_text(encoding="utf-8")
    assert "evaluations" not in text
    assert json.loads(text)["format"] == 1
    assert read_record(tmp_path / "record.json") == record


def test_a_record_with_it_is_kept_everywhere(tmp_path: Path) -> None:
    record = match({0: thinks(ALL)}, tmp_path)
    assert json.loads(record_json(record)) == json.loads(record.model_dump_json())
    parts = packed(record)
    assert unpacked(parts.record, packed_text(parts.rulesheet)) == record
    own = exported(record, tuple(replay(record)))["ggp"]["steps"]
    assert own[0]["evaluations"]["xplayer"]["value"] == 61.5
    assert own[1].keys() == {"seconds", "faults"}


@pytest.mark.parametrize(
    ("evaluations", "problem"),
    [
        ({"nobody": {"value": 5}}, "evaluations of nobody in step 0, which no player took"),
        ({"xplayer": {"line": [["noop"]]}}, "the variation of xplayer should have 2 moves in each step"),
    ],
)
def test_a_record_that_makes_no_sense_does_not_replay(
    evaluations: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    data = json.loads(record_json(match({}, tmp_path)))
    data["steps"][0]["evaluations"] = evaluations
    with pytest.raises(RecordError, match=problem):
        tuple(replay(MatchRecord.model_validate_json(json.dumps(data))))


@pytest.mark.parametrize(
    ("evaluation", "place"),
    [
        ({"value": 101}, "value"),
        ({"value": "50"}, "value"),
        ({"visits": -1}, "visits"),
        ({"mood": "good"}, "mood"),
        ({"line": [["a", "b"]] * 9}, "line"),
    ],
)
def test_a_record_is_refused_at_the_field(evaluation: dict[str, Any], place: str, tmp_path: Path) -> None:
    data = json.loads(record_json(match({}, tmp_path)))
    data["steps"][1]["evaluations"] = {"xplayer": evaluation}
    (tmp_path / "bad.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(RecordError, match=rf"bad\.json: steps\.1\.evaluations\.xplayer\.{place}: "):
        read_record(tmp_path / "bad.json")


def test_the_terminal_has_a_short_column(tmp_path: Path) -> None:
    events: list[Event] = []
    proven = thinks('{"value":100,"low":100,"high":100}')
    match({0: thinks(ALL), 2: proven, 4: says("nonsense (")}, tmp_path, events=events)
    lines = [line for line in shown(events).splitlines() if " s  " in line and "player of" in line]
    columns = [line.split(" s  ", 1)[1] for line in lines]
    assert columns[2:6] == ["  62  (mark 3 3)", "      noop", "noop", "(mark 3 2)"]
    assert columns[6] == "=100  (mark 3 1)"


async def _mcts_match(keep: list[MatchRecord]) -> None:
    """Of one of our own players, in the same process."""
    from players.service import listening, make_app  # noqa: PLC0415 - players and the game master meet in tests only
    from players.settings import PlayerSettings  # noqa: PLC0415

    app = make_app(PlayerSettings("montecarlo", seed=1))
    async with listening(app, "127.0.0.1", 0, 100_000) as port, ScriptedPlayer() as other:
        takers = {
            "xplayer": Player("xplayer", "x", f"http://127.0.0.1:{port}/"),
            "oplayer": Player("oplayer", "o", other.url),
        }
        settings = make_settings(startclock=1, playclock=1, seed=3, scramble=True, max_steps=3)
        keep.append(await run_match(ThreadRules(TICTACTOE), takers, settings, "m", lambda _: None, lambda _: None))


async def test_one_of_our_players_says_what_it_thinks() -> None:
    found: list[MatchRecord] = []
    await _mcts_match(found)
    (record,) = found
    assert record.faults == ()
    said = record.steps[0].evaluations["xplayer"]
    assert said.value is not None
    assert said.visits
    assert said.seconds is not None
    assert said.seconds <= 2.0  # the playclock and the grace; the lag of the loop is not in the record
    assert [sorted(step.evaluations) for step in record.steps] == [["xplayer"], [], ["xplayer"]]


def test_games_where_all_choose_at_once(tmp_path: Path) -> None:
    both = {
        role: ScriptedPlayer({0: thinks(f'{{"value":{value},"line":"((show 1) (show 2))"}}')})
        for role, value in (("left", 40), ("right", 60))
    }
    record = play_match(games.game(games.GUESSING), both, tmp_path)
    assert {role: said.value for role, said in record.steps[0].evaluations.items()} == {"left": 40, "right": 60}
    assert record.steps[0].evaluations["left"].principal_variation == (("(show 1)", "(show 2)"),)
