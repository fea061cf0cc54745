"""The examples of docs/environments.md do what they show, from arrays to a player that joins a tournament."""

import doctest
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
NEEDED = {"Gymnasium": "gymnasium", "PettingZoo": "pettingzoo", "OpenSpiel": "pyspiel"}
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def sections() -> list[tuple[str, str]]:
    """The title and the examples of each part of the page that has any."""
    parts = [part.split("\n", 1) for part in re.split(r"^##? ", PAGE, flags=re.MULTILINE)[1:]]
    found = [(title, "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))) for title, text in parts]
    return [(title, code) for title, code in found if code]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("last", [title for title, _ in sections() if title != "Environments"])
def test_examples_print_what_is_shown(last: str) -> None:
    needed = NEEDED.get(last)
    if needed and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    code = "\n".join(part for title, part in sections() if title in ("Environments", last))
    example = doctest.DocTestParser().get_doctest(code, {}, last, "environments.md", 0)
    said: list[str] = []
    failures, attempts = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append)
    assert failures == 0, "".join(said)
    assert attempts > 9


@pytest.mark.slow
def test_a_table_is_learned_and_its_player_loses_no_match_of_a_tournament(tmp_path: Path) -> None:
    for text, name in re.findall(r"```python\n(# (\w+\.py)\n.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ggp = tmp_path / "bin" / "ggp"
    ggp.parent.mkdir()
    ggp.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from ggp.commands import main; main()' \"$@\"\n")
    ggp.chmod(0o755)
    path = os.pathsep.join([str(ggp.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    learning, tournament = re.findall(r"^\$ (.*)$", PAGE.split("## From an environment")[1], re.MULTILINE)
    for command in (learning.replace("python ", f"{sys.executable} ", 1), f"{tournament} --json"):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
    tallies = {line["player"]: line["tally"] for line in json.loads(done.stdout)["standings"]["lines"]}
    assert tallies["Learned"]["matches"] == 10
    assert tallies["Learned"]["losses"] == 0
    assert tallies["Learned"]["wins"] >= 5
