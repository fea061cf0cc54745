"""Record and its file: whole at every moment, and refused with file and field when it is not one."""

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

import ggp
from gamemaster.faults import make_fault
from gamemaster.record import (
    MatchRecord,
    PlayerRecord,
    RecordWriter,
    StartRecord,
    StepRecord,
    is_being_written,
    is_growing,
    read_record,
    record_json,
    record_path,
    replace_file,
)
from gamemaster.settings import make_settings
from ggp.errors import RecordError
from tests.gamemaster import games

TIME = datetime(2026, 1, 31, 17, 45, tzinfo=UTC)


def a_record(steps: int = 2) -> MatchRecord:
    """A match of the game of one role, with a fault in START and in the last step."""
    game = games.game(games.COUNTDOWN)
    fault = make_fault("malformed", "no “move”", "\x00 ünreadable\n")
    player = PlayerRecord(name="somebody", url="http://192.0.2.7:9147/", bot_seed=2**64 - 1, scramble_seed=5)
    step = StepRecord(moves=("wait",), seconds={"lonely": 0.25}, time=TIME)
    return MatchRecord(
        ggp="0",
        match="m",
        token="t" * 32,
        game=game.name,
        rulesheet=game.rulesheet.text,
        rulesheet_sha256=game.rulesheet.sha256,
        engine=game.engine,
        roles=game.roles,
        players={"lonely": player},
        settings=make_settings(seed=1, grace=2.5),
        started=TIME,
        start={"lonely": StartRecord(seconds=1.5, fault=fault)},
        steps=(*[step] * (steps - 1), step.model_copy(update={"faults": {"lonely": fault}})) if steps else (),
    )


def ended(record: MatchRecord) -> MatchRecord:
    return record.model_copy(update={"status": "terminal", "goals": {"lonely": 100}, "finished": TIME})


@pytest.mark.parametrize("way", ["record", "file"])
def test_the_folder_is_on_the_disk_once_the_file_is_in_place(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    synchronized: list[tuple[bool, bool]] = []  # whether it was a folder, and whether the file was in place

    def fsync(file: int) -> None:
        synchronized.append((stat.S_ISDIR(os.fstat(file).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    if way == "record":
        RecordWriter(path).write(ended(a_record()))
    else:
        replace_file(path, b"whole")
    assert synchronized == [(False, False), (True, True)]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_record_is_read_as_it_was_written(steps: int, tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record.json")
    writer.write(a_record(steps))
    assert read_record(writer.path) == a_record(steps)
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_a_growing_record_is_the_same_as_one_written_at_once(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record.json")
    whole = a_record(5)
    for steps in range(6):
        writer.write(whole.model_copy(update={"steps": whole.steps[:steps]}))
        assert len(read_record(writer.path).steps) == steps
    writer.write(ended(whole))
    assert writer.path.read_text(encoding="utf-8") == record_json(ended(whole))
    assert read_record(writer.path) == ended(whole)


def test_the_file_is_json_with_a_line_for_each_step(tmp_path: Path) -> None:
    text = record_json(a_record(3))
    assert json.loads(text) == json.loads(a_record(3).model_dump_json())
    assert sum('{"moves":["wait"]' in line for line in text.splitlines()) == 3


def test_a_step_adds_to_the_file_and_rewrites_nothing(tmp_path: Path) -> None:
    writer, whole = RecordWriter(tmp_path / "record.json"), a_record(40)
    before = b""
    for steps in range(41):
        writer.write(whole.model_copy(update={"steps": whole.steps[:steps]}))
        after = writer.path.read_bytes()
        assert after.startswith(before)
        before, first = after, writer.path.stat().st_ino
    writer.write(ended(whole))
    assert writer.path.stat().st_ino == first
    assert writer.path.read_bytes().startswith(before)
    assert json.loads(writer.path.read_bytes()) == json.loads(record_json(ended(whole)))


def test_a_record_is_valid_wherever_its_writing_stopped(tmp_path: Path) -> None:
    """Each prefix is the record of the lines that are whole; none says that a match has ended that had not."""
    whole, path = ended(a_record(3)), tmp_path / "torn.json"
    data = record_json(whole).encode()
    head = data.index(b' ,"start"')
    seen = set()
    for length in range(head, len(data) + 1):
        path.write_bytes(data[:length])
        record = read_record(path)
        steps = len(record.steps)
        seen.add((bool(record.start), steps, record.status))
        assert record.steps == whole.steps[:steps]
        assert record == whole if record.status != "running" else record.finished is None
    starts = {(False, 0, "running"), (True, 0, "running")}
    assert seen == {*starts, *((True, steps, "running") for steps in (1, 2, 3)), (True, 3, "terminal")}


def test_a_damaged_record_is_refused_with_its_line(tmp_path: Path) -> None:
    path, lines = tmp_path / "bad.json", record_json(a_record(3)).splitlines()
    lines[-4] = lines[-4].replace(":", ";")
    for text in (lines, lines[:-2]):  # whole, and growing
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        with pytest.raises(RecordError, match=rf"bad\.json: Invalid JSON: .* at line {len(lines) - 3} "):
            read_record(path)


def test_a_file_that_was_moved_away_is_written_anew(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record.json")
    writer.write(a_record(1))
    writer.path.unlink()
    writer.write(a_record(2))
    assert read_record(writer.path) == a_record(2)


def test_who_writes_a_record_is_known_until_its_end(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record.json")
    writer.write(a_record(1))
    assert (is_growing(writer.path), is_being_written(writer.path)) == (True, True)
    writer.write(ended(a_record(1)))
    assert (is_growing(writer.path), is_being_written(writer.path)) == (False, False)
    other = RecordWriter(tmp_path / "other.json")
    other.write(a_record(1))
    other.close()  # as when its process was killed
    assert (is_growing(other.path), is_being_written(other.path)) == (True, False)


def test_a_write_that_fails_leaves_the_record_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RecordWriter(tmp_path / "record.json")
    writer.write(a_record(1))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match=r"record\.json: the record cannot be written: No space left on device"):
        writer.write(a_record(2))
    assert len(read_record(writer.path).steps) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize("where", ["nosuch/record.json", ".", "pipe"])
def test_a_place_where_no_file_can_be_is_refused_before_the_match(where: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordError, match=str(tmp_path)):
        RecordWriter(tmp_path / where)
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_is_followed_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "record.json")
    RecordWriter(tmp_path / "link.json").write(a_record())
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "record.json").is_file()


def test_a_folder_takes_a_record_under_the_name_of_the_match(tmp_path: Path) -> None:
    assert record_path(str(tmp_path), "m") == tmp_path / "m.json"
    assert record_path(f"{tmp_path}/new/deep/", "m") == tmp_path / "new" / "deep" / "m.json"
    assert (tmp_path / "new" / "deep").is_dir()
    assert record_path(str(tmp_path / "file.json"), "m") == tmp_path / "file.json"
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="file: File exists"):
        record_path(f"{tmp_path}/file/", "m")


BROKEN = {
    "no JSON": ("steps", None, "Invalid JSON"),
    "another format": ("format", 2, "format: "),
    "a field of its own": ("colour", "red", "colour: Extra inputs are not permitted"),
    "a text for a number": ("settings.playclock", "5", "settings.playclock: "),
    "a step without moves": ("steps.1.moves", "delete", "steps.1.moves: Field required"),
    "an unknown fault": ("start.lonely.fault.kind", "sleepy", "start.lonely.fault.kind: "),
    "a field of its own in a fault": ("start.lonely.fault.why", "x", "start.lonely.fault.why: "),
    "negative seconds": ("steps.0.seconds.lonely", -1, "steps.0.seconds.lonely: "),
    "an unknown status": ("status", "over", "status: Input should be 'running', 'terminal', 'step limit', "),
    "no time": ("started", "yesterday", "started: "),
    "a time that no clock shows": (
        "finished",
        "0001-01-01T00:00:00+23:59",
        "finished: a time of the years 1970 to 2999",
    ),
    "a step at the end of time": ("steps.0.time", "9999-12-31T23:59:59Z", "steps.0.time: a time of the years"),
    "no address": ("players.lonely.url", "http://[bad", "players.lonely.url: Invalid IPv6 URL"),
    "a role without a player": ("roles", ["lonely", "other"], "players: not those of the roles"),
    "goals of others": ("goals", {"other": 5}, "goals: not those of the roles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_record_is_refused_with_file_and_field(name: str, tmp_path: Path) -> None:
    place, value, message = BROKEN[name]
    data = json.loads(record_json(a_record()))
    *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    part = data
    for key in way:
        part = part[key]
    if value == "delete":
        del part[last]
    else:
        part[last] = value
    path = tmp_path / "bad.json"
    path.write_text("{" if value is None else json.dumps(data), encoding="utf-8")
    with pytest.raises(RecordError, match=f"bad.json: {message}"):
        read_record(path)


@pytest.mark.parametrize("name", ["nosuch.json", "."])
def test_what_is_no_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"No such file|Is a directory"):
        read_record(tmp_path / name)


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b'{"format": "\xff"}')
    with pytest.raises(RecordError, match=r"bad\.json: Invalid JSON"):
        read_record(tmp_path / "bad.json")


def test_the_hash_is_that_of_the_rulesheet() -> None:
    assert a_record().rulesheet_sha256 == ggp.load_text(games.COUNTDOWN).rulesheet.sha256


@pytest.mark.parametrize(
    ("player", "reason", "kind", "resigned"),
    [
        ({"url": "http://127.0.0.1:8080/seats/x1/"}, "lonely resigned", "human", "lonely"),
        ({"url": "http://127.0.0.1:9147/", "bot": "mcts"}, "the service was stopped", "bot", None),
        ({"url": "http://192.0.2.7:9147/seats"}, "somebody resigned", "external", None),
    ],
)
def test_records_of_0_1_are_read(
    player: dict[str, str], reason: str, kind: str, resigned: str | None, tmp_path: Path
) -> None:
    """They say in a URL and in the reason what are fields now."""
    old = json.loads(record_json(a_record())) | {"status": "aborted", "reason": reason}
    del old["resigned"], old["players"]["lonely"]["kind"], old["players"]["lonely"]["clocks"]
    old["players"]["lonely"] |= player
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old), encoding="utf-8")
    record = read_record(file)
    assert (record.players["lonely"].kind, record.resigned) == (kind, resigned)
    assert MatchRecord.model_validate_json(record_json(record)) == record
