"""The command `ggp draw`."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from PIL import Image, ImageSequence
from typer.testing import CliRunner, Result

import ggp
from gamemaster import Match, load_record
from ggp.commands.draw import add_commands
from ggp.errors import GgpError


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["draw", *arguments])


def test_the_command_draws_in_the_terminal() -> None:
    result = invoke("tictactoe", "--moves", "(mark 2 2) (mark 1 3)")
    assert result.stdout.splitlines() == ["   1 2 3", "1  . . o", "2  . x .", "3  . . .", "To move: X"]


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


def test_a_role_without_a_legal_move_is_told(tmp_path: Path) -> None:
    path = tmp_path / "stuck.kif"
    path.write_text("(role r) (init a) (<= (legal r go) (true b)) (<= terminal (true b)) (goal r 100)")
    assert "r has no legal move in this state" in str(invoke(str(path), "--steps", "1").exception)


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


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short match, as `ggp match` writes it."""
    path = tmp_path_factory.mktemp("records") / "match.json"
    Match("tictactoe", ["legal", "legal"], seed=1, playclock=60).run().save(path)
    return path


def test_a_record_is_drawn_as_a_moving_image(record: Path, tmp_path: Path) -> None:
    states = len(load_record(record)) + 1
    for kind in ("gif", "webp"):
        path = tmp_path / f"match.{kind}"
        assert invoke("--record", str(record), "--seconds", "0.5", "-o", str(path)).exit_code == 0
        with Image.open(path) as image:
            assert (image.format or "").lower() == kind
            assert image.n_frames == states  # type: ignore[attr-defined]
            assert len({frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(image)}) == states


def test_a_moving_svg_shows_one_state_at_a_time_and_the_last_where_nothing_moves(record: Path, tmp_path: Path) -> None:
    path = tmp_path / "match.svg"
    assert invoke("--record", str(record), "-o", str(path)).exit_code == 0
    text = path.read_text(encoding="utf-8")
    frames = ElementTree.fromstring(text).findall("{*}g[@display]")
    assert len(frames) == len(load_record(record)) + 1
    assert [frame.get("display") for frame in frames] == ["none"] * (len(frames) - 1) + ["inline"]
    assert all(len(frame.findall("{*}animate")) == 1 for frame in frames)
    assert "<script" not in text


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--record", "RECORD", "-o", "a.png"), "--output: with --record it must end in .svg, .gif or .webp"),
        (("--record", "RECORD"), "--output: with --record it must end in .svg, .gif or .webp"),
        (("tictactoe", "--record", "RECORD", "-o", "a.gif"), "--record: in place of a game, moves and steps"),
        (("--record", "absent.json", "-o", "a.gif"), "absent.json: No such file or directory"),
        ((), "a GAME is needed, or --record"),
    ],
)
def test_mistakes_with_records_are_told(arguments: tuple[str, ...], line: str, record: Path) -> None:
    done = invoke(*(str(record) if argument == "RECORD" else argument for argument in arguments))
    assert isinstance(done.exception, GgpError)
    assert str(done.exception) == line


def test_notebooks_show_states_and_games() -> None:
    game = ggp.load("tictactoe", "interpreter")
    assert game.initial_state._repr_svg_().startswith("<svg ")
    shown = game._repr_html_()
    assert game.metadata.title in shown
    assert "Evaluated by the interpreter" in shown
    assert shown.count("<svg") == 1
    hidden = ggp.load_text("(role a) (legal a b) (<= (sees a c) (does a b)) terminal (goal a 1)", "<b>", "interpreter")
    assert "<svg" not in hidden._repr_html_()
    assert "&lt;b&gt;" in hidden._repr_html_()
