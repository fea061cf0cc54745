"""Export: everything in files, only what is missing the next time, and never half a file."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import ggp
from gamemaster.record import MatchRecord, read_record
from gamemaster.settings import derived
from gamemaster.tournament.console import export
from gamemaster.tournament.exporting import export_all
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.spec import GameSpec, PlayerSpec, TournamentSpec
from gamemaster.tournament.store import Store, open_store
from ggp.errors import DamagedStoreError, RecordError, StoreError
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer

SPEC = TournamentSpec(
    name="cup",
    seed=7,
    games=(GameSpec(rules="tictactoe"),),
    players=(PlayerSpec(name="ann", bot="random"), PlayerSpec(name="bob", bot="random")),
)


@dataclass(frozen=True)
class Event:
    store: Store
    pairings: tuple[Pairing, ...]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> MatchRecord:
    game = ggp.load("tictactoe")
    return play_match(game, {role: ScriptedPlayer() for role in game.roles}, tmp_path_factory.mktemp("record"))


@pytest.fixture
def event(record: MatchRecord, tmp_path: Path) -> Iterator[Event]:
    """Two matches of a tournament; their records differ in their names only."""
    pairings = tuple(
        Pairing(f"r001-tictactoe-000{number}-x", 0, "tictactoe", players, derived(7, "x") % 2**63, "g")
        for number, players in enumerate((("ann", "bob"), ("bob", "ann")), 1)
    )
    with open_store(str(tmp_path / "store.sqlite")) as store:
        store.create(SPEC)
        with store.manage("cup") as manager:
            for pairing in pairings:
                manager.begin(pairing)
                manager.finish(pairing, record.model_copy(update={"match": pairing.id, "token": pairing.id.ljust(32)}))
        yield Event(store, pairings)


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Path → what is in it, and when it was written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_everything_is_exported(event: Event, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    done = export_all(event.store, "cup", folder)
    assert (done.written, done.kept, done.problems) == (2, 0, ())
    ids = [pairing.id for pairing in event.pairings]
    expected = {"standings.txt", "standings.json", "standings.csv", "report.html"}
    assert set(files(folder)) == expected | {f"{part}/{name}.json" for part in ("matches", "tiltyard") for name in ids}
    assert read_record(folder / "matches" / f"{ids[0]}.json") == event.store.record("cup", ids[0])
    theirs = json.loads((folder / "tiltyard" / f"{ids[1]}.json").read_text())
    assert (theirs["matchId"], theirs["tournamentNameFromHost"]) == (ids[1], "cup")
    assert len(theirs["states"]) == len(theirs["moves"]) + 1
    page = (folder / "report.html").read_text()
    assert ", interrupted" in page
    assert f'href="matches/{ids[0]}.json"' in page
    assert json.loads((folder / "standings.json").read_text())["matches"] == 2


def test_what_is_there_and_the_same_is_left_alone(event: Event, tmp_path: Path) -> None:
    export_all(event.store, "cup", tmp_path / "out")
    before = files(tmp_path / "out")
    again = export_all(event.store, "cup", tmp_path / "out")
    assert (again.written, again.kept) == (0, 2)
    assert files(tmp_path / "out") == before


def test_an_export_that_broke_off_is_finished(event: Event, tmp_path: Path) -> None:
    export_all(event.store, "cup", tmp_path / "out")
    before = {name: text for name, (text, _) in files(tmp_path / "out").items()}
    name = f"{event.pairings[0].id}.json"
    ours, theirs = tmp_path / "out" / "matches" / name, tmp_path / "out" / "tiltyard" / name
    for damage in (ours.unlink, theirs.unlink, lambda: ours.write_text("{")):
        damage()
        assert export_all(event.store, "cup", tmp_path / "out").written == 1
        assert {name: text for name, (text, _) in files(tmp_path / "out").items()} == before


def test_a_record_that_does_not_replay_is_a_problem_and_no_end(event: Event, tmp_path: Path) -> None:
    third = Pairing("r001-tictactoe-0003-x", 0, "tictactoe", ("ann", "bob"), 1, "h")
    good = event.store.record("cup", event.pairings[0].id)
    step = good.steps[0].model_copy(update={"moves": ("(mark 9 9)", "noop")})
    bad = good.model_copy(update={"match": third.id, "token": "b" * 32, "steps": (step, *good.steps[1:])})
    with event.store.manage("cup") as manager:
        manager.begin(third)
        manager.finish(third, bad)
    for _ in range(2):
        done = export_all(event.store, "cup", tmp_path / "out")
        assert done.written + done.kept == 2
        (problem,) = done.problems
        assert problem.startswith(f"{third.id}: the record does not replay: step 0: ")
    assert read_record(tmp_path / "out" / "matches" / f"{third.id}.json") == bad
    assert not (tmp_path / "out" / "tiltyard" / f"{third.id}.json").exists()


def test_mistakes_are_one_line(event: Event, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no tournament is called 'plate'"):
        export_all(event.store, "plate", tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"file/standings\.txt: it cannot be written: "):
        export_all(event.store, "cup", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b""


def damage(event: Event, statement: str) -> None:
    with sqlite3.connect(event.store.place) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("value", ["x'00ff80'", "'text'"])
def test_a_damaged_record_is_named_and_the_rest_written(value: str, event: Event, tmp_path: Path) -> None:
    damage(event, f"UPDATE records SET record = {value} WHERE match_id = (SELECT min(id) FROM matches)")
    done = export_all(event.store, "cup", tmp_path / "out")
    assert (done.written, done.kept) == (1, 0)
    (problem,) = done.problems
    assert f"store.sqlite: match {event.pairings[0].id}: its record cannot be read: records: " in problem
    assert [path.stem for path in (tmp_path / "out" / "matches").iterdir()] == [event.pairings[1].id]


def test_damaged_rules_are_named_with_each_match(event: Event, tmp_path: Path) -> None:
    damage(event, "UPDATE rulesheets SET text = 'text'")
    done = export_all(event.store, "cup", tmp_path / "out")
    assert done.written == 0
    assert [f"match {pairing.id}: its record cannot be read: rulesheets: " in problem
            for pairing, problem in zip(event.pairings, done.problems, strict=True)] == [True, True]  # fmt: skip


def test_a_match_without_its_record_is_named(event: Event, tmp_path: Path) -> None:
    damage(event, "DELETE FROM records WHERE match_id = (SELECT min(id) FROM matches)")
    done = export_all(event.store, "cup", tmp_path / "out")
    assert (done.written, len(done.problems)) == (1, 1)
    assert f"match {event.pairings[0].id} has no record" in done.problems[0]


@pytest.mark.parametrize("column", ["started", "finished"])
def test_a_damaged_moment_is_named_and_counts_in_no_table(column: str, event: Event, tmp_path: Path) -> None:
    damage(event, f"UPDATE matches SET {column} = '2026-99-99' WHERE id = (SELECT min(id) FROM matches)")
    said = f"matches.{column} of {event.pairings[0].id}: '2026-99-99' is no moment"
    done = export_all(event.store, "cup", tmp_path / "out")
    assert (done.written, done.problems) == (1, (f"{event.store.place}: {said}",))
    assert json.loads((tmp_path / "out" / "standings.json").read_text())["matches"] == 1
    for ask in (lambda: event.store.results("cup"), lambda: event.store.matches("cup")):
        with pytest.raises(DamagedStoreError, match=re.escape(f"store.sqlite: the store is damaged: {said}")):
            ask()


def test_the_exit_code_says_whether_all_was_exported(
    event: Event, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, to = event.store.place, tmp_path / "out"
    assert export(where, to, "cup", as_json=False) == 0
    damage(event, "UPDATE records SET record = x'00' WHERE match_id = (SELECT min(id) FROM matches)")
    assert export(where, to, "cup", as_json=False) == 1
    assert f"match {event.pairings[0].id}: its record cannot be read" in capsys.readouterr().out
    assert export(where, to, "cup", as_json=True) == 1
