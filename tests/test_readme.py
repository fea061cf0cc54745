"""The examples in the README and the pages for users print what is shown below them, except times and names."""

import ast
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from ggp.commands import make_command

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))
GAP = "…"
MASKS = (
    (re.compile(r"\d+\.\d\d s"), "TIME"),
    (re.compile(r"tictactoe-\d{8}-\d{6}-[0-9a-f]{4}"), "MATCH"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"record: .*/"), "record: "),
    (re.compile(r" +$"), ""),
)


def examples(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines below it."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def masked(line: str) -> str:
    for pattern, word in MASKS:
        line = pattern.sub(word, line)
    return line


def files(text: str) -> Iterator[tuple[str, str]]:
    """The name and text of each file that a page shows: the first line of such a block is a comment with its name."""
    for block in re.findall(r"```(?:python|kif)\n(.*?)```", text, re.DOTALL):
        named = re.match(r"[#;] (\w+\.\w+)\n", block)
        if named:
            yield named[1], block


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/games.md",
        *(pytest.param(page, marks=pytest.mark.slow) for page in ("docs/write-a-bot.md", "docs/play.md")),
        "docs/tutorial.md",
    ],
)
def test_commands_print_what_is_shown(page: str, tmp_path: Path) -> None:
    ggp = tmp_path / "bin" / "ggp"
    ggp.parent.mkdir()
    ggp.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from ggp.commands import main; main()' \"$@\"\n")
    ggp.chmod(0o755)
    (tmp_path / "rules").symlink_to(ROOT / "rules")
    environment = {**os.environ, "PATH": f"{ggp.parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    shown = (ROOT / page).read_text(encoding="utf-8")
    for name, text in files(shown):
        (tmp_path / name).write_text(text)
    commands = list(examples(shown))
    assert len(commands) >= 3
    for command, expected in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        rest = iter([masked(line) for line in done.stdout.splitlines()])
        skipping = False
        for line in map(masked, expected):
            if line == GAP:
                skipping = True
                continue
            found = next((other for other in rest if other == line or not skipping), None)
            assert found == line, f"{command}: {found!r}, not {line!r}"
            skipping = False
        assert skipping or next(rest, None) is None, command


@pytest.mark.parametrize(("page", "least"), [("python.md", 30), ("boards.md", 6)])
def test_the_python_examples_work(page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    failures, attempts = doctest.DocTestRunner().run(test)
    assert failures == 0
    assert attempts >= least


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_pages_import_is_there(page: Path) -> None:
    """Of examples that are parts of something larger, and are not run."""
    text = page.read_text(encoding="utf-8")
    for line in re.findall(
        r"^(?:    |>>> |)((?:from (?:ggp|players|gamemaster)[\w.]* )import \w[\w, ]*)", text, re.MULTILINE
    ):
        try:
            exec(line, {})
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in ("ggp", "players", "gamemaster"):
                raise
            pytest.skip(f"{package}, of an extra, is not installed")


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs").rglob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(notebook: Path) -> None:
    """Cell by cell, without Jupyter; what a cell ends with can be shown."""
    names: dict[str, Any] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not kept"
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), notebook.name, "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), notebook.name, "exec"), names)
            continue
        shown = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
        for form in ("_repr_svg_", "_repr_html_"):
            if hasattr(shown, form):
                assert getattr(shown, form)().startswith("<")


def test_the_readme_is_short_and_opens_with_the_two_commands() -> None:
    assert README.index("make demo") < README.index("make test") < 400
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).is_file(), link


def test_the_readme_names_every_page() -> None:
    assert all(f"(docs/{page.name})" in README for page in PAGES)


def commands_in(text: str) -> Iterator[str]:
    """Every line of a block of code that begins with `ggp`, without its remark."""
    for line in re.findall(r"^(?:    |\$ )(ggp .*)$", text, re.MULTILINE):
        command = re.split(r" {2,}|  ?# | 2>&1| \| | > ", line)[0]
        if not re.search(r"[…\[\\]", command):
            yield command


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_command_is_one(page: Path) -> None:
    """Also of those that run for ever, or need another computer: sub-command, options and their values are there."""
    for command in commands_in(page.read_text(encoding="utf-8")):
        parse(make_command(), "ggp", shlex.split(command)[1:])


def parse(command: Any, name: str, words: list[str], parent: Any = None) -> None:  # noqa: ANN401 - typer's own
    """Raises the mistake that the command line would tell."""
    if words and words[-1] in ("-h", "--help", "--version"):
        return
    context = command.make_context(name, list(words), parent=parent)
    rest = [*getattr(context, "_protected_args", ()), *context.args]
    if rest and isinstance(command, TyperGroup):
        found, inner, rest = command.resolve_command(context, rest)
        parse(inner, found or "", rest, context)


@pytest.mark.slow
def test_the_site_is_built(tmp_path: Path) -> None:
    """With all links and the whole reference, and nothing from other hosts."""
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        text = (tmp_path / page.with_suffix(".html").name).read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link)[^>]* (?:src|href)="(https?://[^"]+)', text)
        assert not loaded, page.name
    reference = (tmp_path / "reference" / "ggp.html").read_text(encoding="utf-8")
    for name in ("ggp.game.State.legal_moves", "ggp.trees.Search.run", "ggp.batches.StateBatch.playouts"):
        assert f'id="{name}"' in reference
