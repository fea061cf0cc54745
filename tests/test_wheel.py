"""The wheel in an environment without the checkout: what it holds; games, matches and pages work from anywhere."""

import json
import os
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATIENCE = 300.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with the wheel, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    [packages] = (folder / "lib").glob("python*/site-packages")
    # Its .pth files, such as the one that leads to the checkout, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--ignore-installed", str(wheel)], check=True, timeout=PATIENCE)
    return python.parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "GGP_CACHE": str(tmp_path / "cache")}


def run(clean: Path, environment: dict[str, str], folder: Path, *words: str) -> str:
    command = [str(clean / "ggp"), *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_types_rules_pages_and_templates(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"ggp/py.typed", "players/py.typed", "gamemaster/py.typed", "players/templates/strategy.txt"} <= set(names)
    assert any(name.startswith("ggp/rules/") and name.endswith("tictactoe.kif") for name in names)
    assert any(name.startswith("gamemaster/web/static/js/") for name in names)
    assert not any(name.startswith(("tests/", "docs/")) for name in names)
    about = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert "Classifier: Typing :: Typed" in about


def test_commands_work_from_anywhere(clean: Path, environment: dict[str, str], tmp_path: Path) -> None:
    where = subprocess.run(
        [str(clean / "python"), "-c", "import ggp, gamemaster, players; print(ggp.__file__, players.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(ROOT) not in where.stdout
    assert run(clean, environment, tmp_path, "--version").startswith("ggp ")
    assert "tictactoe" in run(clean, environment, tmp_path, "games")
    record = ("--record", "match.json", "--seed", "1", "--playclock", "5", "--startclock", "20")
    assert "no faults" in run(clean, environment, tmp_path, "match", "tictactoe", "legal", "random", *record)
    assert "the record holds" in run(clean, environment, tmp_path, "replay", "match.json")
    run(clean, environment, tmp_path, "draw", "--record", "match.json", "-o", "match.svg")
    assert (tmp_path / "match.svg").is_file()
    run(clean, environment, tmp_path, "player", "new", "my_bot")
    assert "no faults" in run(clean, environment, tmp_path, "match", "tictactoe", "my_bot.py:MyBot", "legal", *record)
    shell = {**environment, "SHELL": "/bin/bash", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert "_GGP_COMPLETE=complete_bash" in run(clean, shell, tmp_path, "--show-completion", "bash")


@pytest.fixture
def served(clean: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of pages."""
    command = [str(clean / "ggp"), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("serving at ").strip()
        process.terminate()


def test_pages_are_served_from_anywhere(served: str) -> None:
    with urllib.request.urlopen(served, timeout=PATIENCE) as page:
        assert "<html" in page.read().decode()
    with urllib.request.urlopen(f"{served}api/v1/games", timeout=PATIENCE) as answer:
        assert "tictactoe" in {game["id"] for game in json.load(answer)["games"]}
