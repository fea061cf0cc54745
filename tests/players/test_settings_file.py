"""The settings file, the options that beat it, and that both have every parameter of the search."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from ggp.errors import SettingsError
from ggp.search.mcts.settings import SearchSettings
from ggp.settings import declared, read_toml
from players.commands import add_commands
from players.launch import make_settings
from players.settings import NO_OPTIONS, PlayerSettings


def written(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read_settings(path: Path) -> dict[str, Any]:
    return read_toml(path, PlayerSettings, SearchSettings, leave_out=NO_OPTIONS)


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["player", *arguments], env={"COLUMNS": "270", "TERM": "dumb"})


def test_a_file_sets_what_it_names(tmp_path: Path) -> None:
    path = written(tmp_path, 'name = "Deep"\nexploration = 1\nponder = false\nmemory = 64\nthreads = 2\n')
    settings = make_settings("mcts", read_settings(path))
    assert settings == PlayerSettings(
        "mcts", name="Deep", ponder=False, memory=64, search=SearchSettings(exploration=1.0, threads=2)
    )
    assert settings.search_settings == SearchSettings(exploration=1.0, memory_bytes=2**26, threads=2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# mine\nexploratoin = 1", "exploratoin: there is no such setting; the settings are name, seed,"),
        ("exploration = -1", "exploration: input should be greater than or equal to 0, not -1"),
        ('exploration = "much"', "exploration: input should be a valid number, not 'much'"),
        ("threads = 0", "threads: input should be greater than or equal to 1, not 0"),
        ("threads = 20000", "threads: input should be less than or equal to 64, not 20000"),
        ("threads = true", "threads: input should be a valid integer, not True"),
        ("batch = 100", "batch: input should be 8, 16, 32, 64, 128, 256 or 512, not 100"),
        ("ponder = 1", "ponder: input should be a valid boolean, not 1"),
        ("exploration 1", "Expected '=' after a key in a key/value pair (at line 1, column 13)"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    line = text.count("\n") + 1
    place = f"{path}" if "Expected" in reason else f"{path}, line {line}"
    assert str(caught.value).startswith(f"{place}: {reason}")


def test_a_file_takes_no_other_settings_than_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match="line 1: memory_bytes: there is no such setting; the settings are "
    ) as caught:
        read_settings(written(tmp_path, "memory_bytes = 1048576"))
    assert "memory_bytes" not in str(caught.value).split("; ")[1]


def test_more_memory_than_the_computer_has_is_refused_at_the_start(tmp_path: Path) -> None:
    done = invoke("mcts", "--settings", str(written(tmp_path, "memory = 99999999")))
    assert isinstance(done.exception, SettingsError)
    assert str(done.exception).startswith("--memory: this computer has ")


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent.toml: No such file or directory"):
        read_settings(tmp_path / "absent.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b'name = "\xe9"')
    with pytest.raises(SettingsError, match=r"latin.toml: not a text in UTF-8"):
        read_settings(path)


def test_options_beat_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[PlayerSettings] = []

    async def serve(
        settings: PlayerSettings, host: str, port: int, *, announce: bool, origins: Collection[str], forked: None
    ) -> None:
        seen.append(settings)

    monkeypatch.setattr("players.service.serve", serve)
    path = written(tmp_path, "exploration = 1\nfirst_play_urgency = 0.1\nseed = 5\nucb1_tuned = false\n")
    done = invoke("mcts", "--settings", str(path), "--exploration", "0.25", "--no-ponder", "--ucb1-tuned")
    assert done.exit_code == 0, done.output
    [settings] = seen
    assert settings.search == SearchSettings(exploration=0.25, first_play_urgency=0.1, ucb1_tuned=True)
    assert (settings.seed, settings.ponder) == (5, False)


@pytest.mark.parametrize(
    "wrong",
    [{"exploration": float("nan")}, {"virtual_loss": 1.5}, {"batch": 7}, {"threads": 0}, {"lookahead_moves": -1}],
)
def test_search_settings_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="must be"):
        SearchSettings(**wrong)
    with pytest.raises(SettingsError, match=f"--{next(iter(wrong)).replace('_', '-')}: input should be"):
        make_settings("mcts", wrong)


def test_help_tells_every_setting_with_its_default() -> None:
    text = invoke("--help").output
    for setting in (*declared(PlayerSettings), *declared(SearchSettings)):
        if setting.name in NO_OPTIONS:
            continue
        shown = re.escape(setting.shown_default)
        assert re.search(rf"{setting.option}\s.*[a-z].*\[default: \({shown}\)\]", text), setting.name
