"""The shape of the code: public names, quick imports, words. Import contracts exclude circular imports."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import ggp
from ggp.library import find_rulesheet

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for package in ("ggp", "players", "gamemaster") for path in (ROOT / package).rglob("*.py"))


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_public_api() -> None:
    names = "Analysis Game GgpError Search State StateBatch TreeNode analyse analyses games load load_text"
    assert ggp.__all__ == names.split()
    assert dir(ggp) == sorted(ggp.__all__)
    for name in ggp.__all__:
        assert getattr(ggp, name) is not None
        assert re.search(rf"\b{name}\b", ggp.__doc__ or ""), f"{name} is not in the documentation"
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = ggp.absent


def test_packages_are_typed_and_export_what_they_declare() -> None:
    for package in ("ggp", "players", "gamemaster"):
        assert (ROOT / package / "py.typed").is_file()
    for path in SOURCES:
        if path.name == "__init__.py":
            front_door = import_module(".".join(path.parent.relative_to(ROOT).parts))
            for name in getattr(front_door, "__all__", ()):
                assert getattr(front_door, name, None) is not None, f"{front_door.__name__}.{name}"


def test_pinned_versions_run_on_the_oldest_python_that_is_promised() -> None:
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = f"{promised.removeprefix('>=')}.0"
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    for installed in distributions():
        if installed.name in pinned and "Requires-Python" in installed.metadata:
            needed = installed.metadata["Requires-Python"]
            assert oldest in SpecifierSet(needed), f"{installed.name} {installed.version} needs Python {needed}"


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = {"aiohttp", "asyncio", "pydantic", "typer", "rich", "numpy", "numba", "clingo"}
    loaded = set(run("import sys, ggp; print(*sys.modules)").split())
    assert not loaded & heavy
    loaded = set(run("import sys, ggp; ggp.load('tictactoe', 'interpreter'); print(*sys.modules)").split())
    assert not loaded & heavy


def test_the_command_line_loads_nothing_heavy_before_it_knows_what_to_do() -> None:
    code = "import sys; sys.argv = ['ggp']; from ggp.commands import make_command; make_command(); print(*sys.modules)"
    loaded = set(run(code).split())
    assert "typer" in loaded
    assert not loaded & {"aiohttp", "pydantic", "tomlkit", "numpy", "numba", "clingo", "jinja2", "networkx"}


def test_code_names_no_constant_of_a_game() -> None:
    constants = re.compile(r"\b(noop|xplayer|oplayer|tictactoe|dotsandboxes)\b", re.IGNORECASE)
    docstring = re.compile(r'("""(?:.|\n)*?"""|#.*)')
    for path in SOURCES:
        code = docstring.sub("", path.read_text(encoding="utf-8"))
        if path.parent.name not in ("commands",) and path.name != "commands.py":  # help texts have examples
            assert not constants.search(code), path


def test_no_module_outgrows_its_noun() -> None:
    for path in SOURCES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path


def test_shipped_games_are_found_from_anywhere(tmp_path: Path) -> None:
    code = "import ggp; print(*ggp.games())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "tictactoe" in found.stdout.split()
    assert find_rulesheet("tictactoe").is_file()
