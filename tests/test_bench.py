"""Measuring: sensible values, the same sizes whatever the threads; suites whose games end in every possible way."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from ggp.bench import measure as bench
from ggp.bench import suite
from ggp.bench.measure import BenchSettings, Measurement, measure
from ggp.bench.suite import SuiteSettings, append_row, find_rulesheets, measure_apart, read_rows
from ggp.commands.bench import add_commands, summary
from ggp.engines import ENGINES
from ggp.errors import GgpError, GroundingError, RulesheetError, SettingsError
from ggp.library import find_rulesheet
from ggp.signals import EXIT_INTERRUPTED

SHORT = BenchSettings(seconds=0.1, seed=7)
SUITE = SuiteSettings("interpreter", 0.05, 1, 7, None, uses_cache=False, limit_seconds=100.0, limit_bytes=4 << 30)

BROKEN = "(role r)\n(<= (goal r ?x)\n"
NESTED = """
(role r) (init (f z)) (legal r more) (legal r stop)
(<= (next (f (s ?x))) (true (f ?x)) (does r more))
(<= (next stopped) (does r stop))
(<= terminal (true stopped))
(goal r 70)
"""
DEAD_END = """
(role r) (init (at 0)) (<= (legal r go) (true (at 0)))
(<= (next (at 1)) (does r go)) (<= terminal (true (at 2))) (goal r 0)
"""


def measured(game: str, settings: BenchSettings = SHORT) -> Measurement:
    path = find_rulesheet(game)
    return measure(path.read_text(encoding="utf-8"), str(path), settings)


def run(*arguments: str) -> Result:
    app = Typer()
    add_commands(app)
    return CliRunner().invoke(app, arguments)


def means(found: Measurement) -> list[float]:
    values = found.outcomes.mean_goals.values()
    assert all(value is not None for value in values)
    return [value for value in values if value is not None]


@pytest.mark.parametrize(
    ("game", "goals", "length"),
    [("tictactoe", [64.8, 35.2], 7.63), ("breakthrough", [50.9, 49.1], 64.1), ("connectfour", [55.7, 44.3], 21.3)],
)
def test_random_play_has_its_known_means(game: str, goals: list[float], length: float) -> None:
    found = measured(game)
    assert found.engine == "circuit"
    assert found.kernel == bench.MACHINE_CODE
    assert found.outcomes.playouts > 500
    assert found.outcomes.unfinished == found.outcomes.stuck == found.outcomes.capped == 0
    tolerance = 300 / found.outcomes.playouts**0.5
    assert means(found) == pytest.approx(goals, abs=max(0.2, tolerance))
    assert found.outcomes.mean_length == pytest.approx(length, abs=max(0.1, tolerance))


def test_all_numbers_are_there_and_fit_together() -> None:
    found = measured("tictactoe")
    speed, start, sizes = found.steps_per_second, found.start, found.sizes
    assert 0 < speed.lowest <= speed.median <= speed.highest
    assert found.playouts_per_second == pytest.approx(speed.median * found.outcomes.playouts / found.outcomes.steps)
    assert found.interpreted_steps_per_second
    assert found.machine_code_seconds
    assert start.grounding_seconds
    assert start.building_seconds
    assert start.programs_seconds
    assert start.first_playout_seconds
    stages = start.grounding_seconds + start.building_seconds + start.programs_seconds
    assert start.first_playout_seconds > stages
    assert not start.is_cached
    assert sizes is not None
    assert (sizes.facts, sizes.moves, sizes.phases) == (29, 20, 2)
    assert max(sizes.legal_and_terminal_gates, sizes.goals_gates, sizes.next_gates) < sizes.gates
    assert len(sizes.step_instructions) == 2
    assert min(sizes.step_instructions) > sizes.next_gates
    assert found.peak_memory_bytes > 10_000_000
    assert found.computer.vector_bits in (128, 256, 512)
    assert found.computer.cores >= 1
    assert found.computer.processor


def test_threads_change_nothing_but_speed() -> None:
    one, two = (measured("tictactoe", replace(SHORT, threads=threads)) for threads in (1, 2))
    assert (one.threads, two.threads) == (1, 2)
    assert one.sizes == two.sizes
    assert (one.engine, one.kernel, one.computer) == (two.engine, two.kernel, two.computer)
    assert means(two) == pytest.approx(means(one), abs=0.5)
    assert two.outcomes.unfinished == 0


def test_the_interpreter_is_measured_alike() -> None:
    found = measured("tictactoe", BenchSettings(engine="interpreter", seconds=0.3))
    assert (found.engine, found.kernel, found.sizes, found.fallback) == ("interpreter", None, None, None)
    assert found.start.first_playout_seconds
    assert found.outcomes.playouts > 0
    assert found.outcomes.mean_length is not None
    assert 5 <= found.outcomes.mean_length <= 9
    assert sum(means(found)) == pytest.approx(100)


def test_what_cannot_be_grounded_is_measured_with_the_reason() -> None:
    found = measure(NESTED, "nested", SHORT)
    assert found.engine == "bytecode"
    assert found.fallback is not None
    assert "nest" in found.fallback
    assert found.outcomes.mean_length
    assert 1 < found.outcomes.mean_length < 3  # 2 is expected
    assert found.outcomes.mean_goals == {"r": 70}
    with pytest.raises(GroundingError):
        measure(NESTED, "nested", replace(SHORT, engine="circuit"))


@pytest.mark.parametrize("engine", ENGINES)
def test_playouts_that_are_given_up_are_counted_apart(engine: str) -> None:
    outcomes = measured("tictactoe", replace(SHORT, engine=engine, cap=3)).outcomes
    assert outcomes.capped > 0
    assert outcomes.playouts == 0
    assert outcomes.mean_length == pytest.approx(3)
    assert outcomes.mean_goals == {"xplayer": None, "oplayer": None}
    outcomes = measure(DEAD_END, "dead end", replace(SHORT, engine=engine)).outcomes
    assert outcomes.stuck > 0
    assert (outcomes.playouts, outcomes.mean_length) == (0, 1)


def test_goals_of_all_playouts_count_even_if_others_did_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "DRAIN_SECONDS", 0.0)
    found = measured("reversi")
    assert found.sizes is not None
    assert found.sizes.late_goals_instructions
    assert 0 < found.outcomes.unfinished <= 512
    assert sum(means(found)) == pytest.approx(100)


@pytest.mark.parametrize(
    "settings",
    [
        BenchSettings(seconds=0),
        BenchSettings(seconds=float("nan")),
        BenchSettings(seconds=float("inf")),
        BenchSettings(threads=0),
        BenchSettings(seed=-1),
        BenchSettings(cap=0),
        BenchSettings(cap=1 << 40, engine="circuit"),
        BenchSettings(engine="magic"),
    ],
)
def test_settings_have_their_ranges(settings: BenchSettings) -> None:
    with pytest.raises(SettingsError):
        measured("tictactoe", settings)


def test_broken_rules_are_a_mistake() -> None:
    with pytest.raises(GgpError, match="broken:2:1"):
        measure(BROKEN, "broken", SHORT)
    with pytest.raises(RulesheetError):
        measure("(role r) (<= (legal r ?x) (not (p ?x)))", "unsafe", SHORT)


def test_the_command_prints_text_and_json() -> None:
    done = run("tictactoe", "--seconds", "0.05", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["game"] == "tictactoe"
    assert found["import_seconds"] >= 0
    assert found["sizes"]["facts"] == 29
    assert set(found) == {"game", "import_seconds", *Measurement.__dataclass_fields__}
    done = run("tictactoe", "--seconds", "0.05")
    assert "tictactoe: machine code, 1 thread" in done.stdout
    assert "mean goals: xplayer 64." in done.stdout
    done = run("tictactoe", "--seconds", "0.05", "--engine", "interpreter")
    assert "tictactoe: interpreter, 1 thread" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("tictactoe", "--suite", "."),
        ("tictactoe", "--output", "rows"),
        ("tictactoe", "--limit", "3"),
        ("--suite", "absent"),
        ("--suite", str(Path(__file__).parent)),
        ("--suite", ".", "--limit", "0"),
        ("--suite", ".", "--memory", "nan"),
        ("absent",),
    ],
)
def test_mistakes_are_one_clear_line(arguments: tuple[str, ...]) -> None:
    error = run(*arguments).exception
    assert isinstance(error, GgpError)
    assert len(str(error).splitlines()) == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "rulesheets"
    found.mkdir()
    (found / "broken.kif").write_text(BROKEN, encoding="utf-8")
    (found / "good.kif").write_bytes(find_rulesheet("tictactoe").read_bytes())
    (found / "nested.kif").write_text(NESTED, encoding="utf-8")
    (found / "notes.txt").write_text("no rulesheet", encoding="utf-8")
    return found


def test_a_suite_has_a_row_for_every_game_and_keeps_what_it_has(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    arguments = ("--suite", str(folder), "--seconds", "0.05", "--output", str(output))
    done = run(*arguments)
    assert done.exit_code == 0
    rows = {row["game"]: row for row in map(json.loads, output.read_text(encoding="utf-8").splitlines())}
    assert list(rows) == ["broken", "good", "nested"]
    assert [row["outcome"] for row in rows.values()] == [suite.REFUSED, suite.MEASURED, suite.MEASURED]
    assert "broken.kif:2:1" in rows["broken"]["message"]
    assert rows["good"]["measurement"]["engine"] == "circuit"
    assert rows["good"]["measurement"]["import_seconds"] > 0
    assert rows["nested"]["measurement"]["engine"] == "bytecode"
    assert "games: 1 refused, 1 circuit, 1 bytecode" in done.stdout
    assert "good: circuit" in done.stderr

    before = output.read_bytes()
    output.write_bytes(before + b'{"game": "half')  # as when a run was ended while it wrote
    done = run(*arguments)
    assert "3 of 3 games were measured in earlier runs" in done.stderr
    assert "games: 1 refused, 1 circuit, 1 bytecode" in done.stdout
    (folder / "broken.kif").write_text(BROKEN + "\n", encoding="utf-8")
    done = run(*arguments, "--json")
    assert "2 of 3 games were measured in earlier runs" in done.stderr
    assert json.loads(done.stdout[done.stdout.index("{") :])["summary"]["games"]["refused"] == 1
    after = output.read_bytes()
    assert after.startswith(before)
    assert len(read_rows(output)) == 4


def test_an_output_file_is_of_rows_or_refused(tmp_path: Path) -> None:
    output = tmp_path / "rows"
    assert read_rows(output) == []
    row = {"game": "a", "sha256": "b", "settings": {}}
    append_row(output, row)
    append_row(output, row)
    assert read_rows(output) == [row, row]
    for other in ('{"game": "a"}\n', "text\n", "[]\n", "\x00\n"):
        output.write_text(other, encoding="utf-8")
        with pytest.raises(SettingsError, match="rows:1: not a row"):
            read_rows(output)
    output.write_bytes(b"\xff\n")
    with pytest.raises(SettingsError, match="no file of rows"):
        read_rows(output)
    with pytest.raises(SettingsError, match="directory"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    ("child", "settings", "outcome", "message"),
    [
        ("import time; time.sleep(1000)", replace(SUITE, limit_seconds=0.2), suite.LATE, "stopped at 0.2 s"),
        ("import time; time.sleep(1000)", replace(SUITE, limit_bytes=1 << 20), suite.LARGE, "stopped at 1 MiB"),
        ("import os; os.abort()", SUITE, suite.CRASHED, "exit code -6"),
        ("raise ValueError('no luck')", SUITE, suite.CRASHED, "exit code 1: ValueError: no luck"),
        ("print('no answer')", SUITE, suite.CRASHED, "exit code 0"),
    ],
)
def test_a_process_that_fails_makes_a_row(
    child: str,
    settings: SuiteSettings,
    outcome: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(suite, "_CHILD", child)
    row = measure_apart(tmp_path / "game.kif", b"", settings)
    assert (row["game"], row["outcome"], row["measurement"]) == ("game", outcome, None)
    assert message in row["message"]


def test_an_interrupt_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[int] = []

    def interrupt(pid: int) -> int:
        started.append(pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "_CHILD", "import time; time.sleep(1000)")
    monkeypatch.setattr(suite, "_resident_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measure_apart(tmp_path / "game.kif", b"", SUITE)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_an_interrupted_suite_shows_what_there_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original: Callable[..., dict[str, Any]] = suite.measure_apart

    def measure_or_interrupt(path: Path, data: bytes, settings: SuiteSettings) -> dict[str, Any]:
        if path.stem == "good":
            raise KeyboardInterrupt
        return original(path, data, settings)

    monkeypatch.setattr(suite, "measure_apart", measure_or_interrupt)
    done = run("--suite", str(folder), "--seconds", "0.05")
    assert done.exit_code == EXIT_INTERRUPTED
    assert "interrupted after 1 of 3 games" in done.stderr
    assert "games: 1 refused" in done.stdout


def test_a_summary_by_hand() -> None:
    def row(speed: float, start: float | None) -> dict[str, Any]:
        found = {"engine": "circuit", "steps_per_second": {"median": speed}, "start": {"first_playout_seconds": start}}
        return {"outcome": suite.MEASURED, "measurement": found}

    rows = [row(float(speed), None if speed == 1 else speed / 10) for speed in range(1, 41)]
    found = summary([*rows, {"outcome": suite.CRASHED, "measurement": None}])
    assert found["games"] == {"circuit": 40, "crashed": 1}
    assert found["steps_per_second"] == {"median": 20.5, "p5": 2.0, "p95": 38.0}
    assert found["first_playout_seconds"] == {"median": 2.1, "p5": 0.3, "p95": 3.9}
    assert summary([])["steps_per_second"] is None


def test_rulesheets_are_found_in_order(folder: Path, tmp_path: Path) -> None:
    assert [path.name for path in find_rulesheets(folder)] == ["broken.kif", "good.kif", "nested.kif"]
    with pytest.raises(SettingsError, match="no rulesheet"):
        find_rulesheets(tmp_path)
