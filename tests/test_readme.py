"""The examples in the README and the pages for users print what is shown below them, except times and names."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", ["README.md", "docs/games.md"])
def test_commands_print_what_is_shown(page: str, tmp_path: Path) -> None:
    ggp = tmp_path / "bin" / "ggp"
    ggp.parent.mkdir()
    ggp.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from ggp.commands import main; main()' \"$@\"\n")
    ggp.chmod(0o755)
    (tmp_path / "rules").symlink_to(ROOT / "rules")
    environment = {**os.environ, "PATH": f"{ggp.parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    commands = list(examples((ROOT / page).read_text(encoding="utf-8")))
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


def test_the_python_examples_work() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, "python.md", "python.md", 0)
    failures, attempts = doctest.DocTestRunner().run(test)
    assert failures == 0
    assert attempts >= 12


def test_the_readme_is_short_and_opens_with_the_two_commands() -> None:
    assert README.index("make demo") < README.index("make test") < 400
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).is_file(), link


def test_the_readme_names_every_page() -> None:
    assert all(f"(docs/{page.name})" in README for page in PAGES)
