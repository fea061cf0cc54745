"""Matches, records and tournaments as objects of Python."""

import asyncio
import os
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import ggp
from gamemaster import Match, Record, Step, Tournament, load_record
from ggp.errors import NotStoredError, RecordError, SettingsError
from ggp.game import State
from tests.gamemaster.processes import descendants

QUICK: dict[str, Any] = {"startclock": 20, "playclock": 60, "seed": 1}


def last(state: State, role: str, clock: object) -> str:
    return state.legal_moves(role)[-1]


def test_an_opening_is_single_moves_or_joint_moves() -> None:
    joint, single = (
        Match("tictactoe", ["legal", "legal"], opening=opening, **QUICK).run()
        for opening in ("((mark 2 2) noop) (noop (mark 1 1))", "(mark 2 2) (mark 1 1)")
    )
    assert single.data.opening == joint.data.opening == (("(mark 2 2)", "noop"), ("noop", "(mark 1 1)"))
    assert single.data.rulesheet == joint.data.rulesheet
    assert [step.moves for step in single] == [step.moves for step in joint]


@pytest.fixture(scope="module")
def record() -> Record:
    return Match("tictactoe", {"xplayer": last, "oplayer": "legal"}, **QUICK).run()


def test_a_function_meets_a_bot_and_the_record_is_objects(record: Record) -> None:
    game = ggp.load("tictactoe", "interpreter")
    assert (record.status, record.goals) == ("terminal", {"xplayer": 100, "oplayer": 0})
    assert record.players == {"xplayer": "last", "oplayer": "legal"}
    assert record.faults == ()
    state = game.initial_state
    for number, step in enumerate(record):
        assert isinstance(step, Step)
        assert (step.number, step.state.terms) == (number, state.terms)
        state = state.play(step.moves)
        assert step.after.terms == state.terms
    assert len(record) == len(record.states) - 1 == 5
    assert record[-1].after.is_terminal
    assert record.data.players["xplayer"].bot == "last"
    with pytest.raises(IndexError):
        _ = record[5]


def test_rows_are_plain_values(record: Record) -> None:
    rows = record.rows()
    assert len(rows) == 10
    assert {type(value) for row in rows for value in row.values()} <= {str, int, float, type(None)}
    assert [row["move"] for row in rows if row["role"] == "xplayer"][:2] == ["(mark 3 3)", "noop"]


def test_rows_as_tables(record: Record) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    assert list(record.to_pandas()["move"]) == [row["move"] for row in record.rows()]
    assert record.to_arrow().to_pylist() == record.rows()


def test_a_record_is_saved_and_read_again(record: Record, tmp_path: Path) -> None:
    record.save(tmp_path / "match.json")
    assert load_record(tmp_path / "match.json").data == record.data
    with pytest.raises(RecordError, match="No such file"):
        record.save(tmp_path / "absent" / "match.json")


class _Looking(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_record_is_a_page_with_buttons_and_no_scripts(record: Record) -> None:
    page = _Looking()
    page.feed(record._repr_html_())
    tags = [tag for tag, _ in page.found]
    states = [attributes["id"] for tag, attributes in page.found if tag == "input"]
    assert tags.count("input") == tags.count("svg") == 6
    assert "script" not in tags
    targets = [attributes["for"] for tag, attributes in page.found if tag == "label"]
    assert set(targets) == set(states)
    assert targets[:4] == [states[0], states[0], states[1], states[5]]
    assert targets[-4:] == [states[0], states[4], states[5], states[5]]


def test_steps_come_as_they_are_made_and_leaving_them_ends_the_match() -> None:
    match = Match("tictactoe", ["legal", "legal"], **QUICK)
    with pytest.raises(SettingsError, match="has not begun"):
        _ = match.record
    for step in match.steps():
        assert step.moves["xplayer"] == "(mark 1 1)"
        break
    assert match.record.status in ("aborted", "terminal")  # it may have been over by then
    with pytest.raises(SettingsError, match="a match is run once"):
        match.run()


async def test_a_match_runs_where_there_is_an_event_loop_and_leaves_no_process() -> None:
    before = descendants(os.getpid())
    await asyncio.sleep(0)
    record = Match("tictactoe", ["legal", "random"], **QUICK).run()  # as in a notebook, which has a loop of its own
    assert record.status == "terminal"
    assert descendants(os.getpid()) <= before


def test_a_step_that_its_reader_refuses_ends_the_match() -> None:
    def refuse(step: Step) -> None:
        raise ZeroDivisionError

    match = Match("tictactoe", ["legal", "legal"], **QUICK)
    with pytest.raises(ZeroDivisionError):
        match.run(refuse)
    assert match.record.status in ("aborted", "terminal")


def test_a_class_that_goes_wrong_costs_its_match(caplog: pytest.LogCaptureFixture) -> None:
    class Wrong:
        def __init__(self, task: object) -> None:
            """Nothing is kept."""

        def choose(self, state: State, clock: object) -> str:
            return "no move at all)"

    record = Match(ggp.load("tictactoe", "interpreter"), [Wrong, "legal"], **QUICK).run()
    assert (record.status, record.faults) == ("terminal", ())
    assert any("test_matches.py:Wrong answered no legal move" in line for line in caplog.messages)


@pytest.mark.parametrize(
    ("players", "reason"),
    [
        (["legal"], r"the game takes 2 players \(xplayer, oplayer\), not 1"),
        ("legal", "not a text"),
        ({"xplayer": "legal"}, "not those of xplayer"),
        (["legal", "deep"], "no bot is called 'deep'"),
        (["legal", 5], "a player is a text, a function or a class, not 5"),
        (["legal", lambda: None], r"does not take \(state, role, clock\)"),
    ],
)
def test_what_cannot_be_played_is_told(players: object, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Match("tictactoe", players, **QUICK)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"playclock": 0}, "^playclock: input should be greater than or equal to 1, not 0$"),
        ({"playclok": 1}, r"^a match has no setting playclok \(did you mean playclock\?\)$"),
        ({"memory": 0}, "^memory: input should be greater than or equal to 1, not 0$"),
        ({"opening": 3}, "^opening: moves as text are expected, not 3$"),
        ({"players": ["legal=x:1", "legal"]}, r"^players\['xplayer'\]: a bot of the match is called 'legal' already$"),
        ({"players": 3}, r"^the game takes 2 players \(xplayer, oplayer\), not 3$"),
    ],
)
def test_a_wrong_parameter_of_a_match_is_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Match(**{"game": "tictactoe", "players": ["legal", "legal"], **given})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"games": []}, "^games: there is none, and at least one is needed$"),
        ({"games": "tictactoe"}, "^games: a list is expected, not 'tictactoe'$"),
        ({"games": [3]}, r"^games\[0\]: a game is the name of a shipped one or the path of a rulesheet, not 3$"),
        ({"players": []}, "^players: there is none, and at least one is needed$"),
        ({"players": None}, "^players: a list is expected, not None$"),
        ({"players": ["legal", last]}, r"^players\[1\]: .* code of your own as FILE.py:NAME, not <function last"),
        ({"players": ["mcts", "mcts=x:1"]}, r"^players\[1\].name: another one has it already: 'mcts'$"),
        ({"playclock": 0}, "^playclock: input should be greater than or equal to 1, not 0$"),
        ({"match": {"grace": -1}}, "^match.grace: input should be"),
        ({"match": 3}, "^match: a mapping from settings of matches to values is expected, not 3$"),
        ({"limits": {"matches": 0}}, "^limits.matches: "),
        ({"format": "league"}, "^format: "),
        ({"nosuch": 1}, "^nosuch: there is no such field; the fields are name, seed"),
    ],
)
def test_a_wrong_parameter_of_a_tournament_is_named(given: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=reason):
        Tournament(**{"games": ["tictactoe"], "players": ["legal", "random"], "folder": tmp_path, **given})


def test_a_whole_tournament_in_ten_lines(tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text("def last(state, role, clock):\n    return state.legal_moves(role)[-1]\n")
    tournament = Tournament(
        ["tictactoe"], ["legal", f"me={tmp_path}/bots.py:last"], folder=tmp_path / "event", seed=1, playclock=60
    )
    seen: list[str] = []
    standings = tournament.run(lambda result: seen.append(result.pairing.id))
    assert set(standings.players) == {"legal", "me"}
    assert len(seen) == len(tournament.results) == 2
    assert tournament.run().matches == 2  # nothing is left to play
    rows = tournament.rows()
    assert [row["goal"] for row in rows if row["role"] == "xplayer"] == [100, 100]
    assert tournament.record(rows[0]["match"]).goals == {"xplayer": 100, "oplayer": 0}
    assert "me" in str(tournament)
    assert (tournament._repr_svg_() or "").startswith("<svg")
    assert tournament.report().startswith("<!DOCTYPE html>")


def test_a_tournament_goes_on_only_with_the_fields_that_it_was_begun_with(tmp_path: Path) -> None:
    defaults: dict[str, Any] = {"playclock": 60, "seed": 1}

    def tournament(players: Sequence[str] = ("legal", "random"), **fields: object) -> Tournament:
        return Tournament(["tictactoe"], players, folder=tmp_path, **{**defaults, **fields})

    begun = tournament()
    assert (begun.rows(), begun.standings.matches, begun._repr_svg_()) == ([], 0, None)  # nothing is played yet
    assert "legal" in str(begun)
    assert begun.report().startswith("<!DOCTYPE html>")
    with pytest.raises(NotStoredError):
        begun.record("tictactoe-1")
    begun.run()

    place = re.escape(str(tmp_path / "tictactoe.sqlite"))
    for other, reason in (
        (tournament(playclock=9), "playclock: 9, but {} has this tournament with 60; another folder or name begins"),
        (tournament(seed=2), "seed: 2, but {} has this tournament with 1; "),
        (
            tournament(["legal", "mine=random"]),
            r"players\[1\].name: 'mine', but {} has this tournament with 'random'; ",
        ),
        (tournament(["legal", "random", "legal"]), r"players: \[{{.*, but {} has this tournament with \[{{"),
    ):
        for use in (other.run, other.rows, other.report):
            with pytest.raises(SettingsError, match="^" + reason.format(place)):
                use()
    assert begun.run().matches == 2
    assert tournament(rounds=2, limits={"matches": 1}).run().matches == 4
    drawn = Tournament(["tictactoe"], ["legal", "random"], folder=tmp_path, playclock=60)
    assert (len(drawn.results), drawn.spec.seed) == (4, 1)
