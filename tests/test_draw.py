"""The command `ggp draw`."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ggp.commands.draw import add_commands
from ggp.errors import GgpError


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["draw", *arguments])


def test_the_command_draws_in_the_terminal() -> None:
    result = invoke("tictactoe", "--moves", "(mark 2 2) (mark 1 3)")
    assert result.stdout.splitlines() == ["   1 2 3", "1  . . o", "2  . x .", "3  . . .", "control xplayer"]


def test_the_command_writes_images(tmp_path: Path) -> None:
    vector, raster, dark = tmp_path / "a.svg", tmp_path / "a.PNG", tmp_path / "dark.svg"
    assert invoke("tictactoe", "-o", str(vector)).exit_code == 0
    assert invoke("tictactoe", "-o", str(raster)).exit_code == 0
    assert invoke("tictactoe", "--dark", "-o", str(dark)).exit_code == 0
    assert vector.read_text(encoding="utf-8").startswith("<svg ")
    assert raster.read_bytes().startswith(b"\x89PNG")
    assert "prefers-color-scheme" in vector.read_text(encoding="utf-8")
    assert "prefers-color-scheme" not in dark.read_text(encoding="utf-8")
    assert invoke("tictactoe", "-o", "-").stdout == vector.read_text(encoding="utf-8")


def test_random_steps_follow_from_the_seed() -> None:
    pictures = {seed: invoke("tictactoe", "--steps", "4", "--seed", seed).stdout for seed in ("1", "2")}
    assert pictures["1"] == invoke("tictactoe", "--steps", "4", "--seed", "1").stdout
    assert pictures["1"] != pictures["2"]
    assert sum(pictures["1"].count(letter) for letter in ("x ", "x\n", "o ", "o\n")) >= 4
    assert invoke("tictactoe", "--steps", "99").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tictactoe", "-o", "picture.gif"], "--output: picture.gif must end in .svg or .png"),
        (["tictactoe", "-o", "/absent/picture.svg"], "--output: /absent/picture.svg: No such file or directory"),
        (["tictactoe", "--moves", "(mark 9 9)"], "(mark 9 9) is not legal for xplayer"),
    ],
)
def test_mistakes_of_the_user(arguments: list[str], message: str) -> None:
    with pytest.raises(GgpError, match=re.escape(message)):
        raise invoke(*arguments).exception or AssertionError
