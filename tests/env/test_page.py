"""The examples of docs/environments.md do what they show, from arrays to a player that joins a tournament."""

import doctest
import json
import os
import re
import runpy
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ggp.game import State, load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
NEEDED = {"Gymnasium": "gymnasium", "PettingZoo": "pettingzoo", "OpenSpiel": "pyspiel"}


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
    failures, attempts = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert failures == 0, "".join(said)
    assert attempts > 9


@pytest.mark.slow
def test_tables_are_learned_and_no_play_wins_against_them(tmp_path: Path) -> None:
    for text, name in re.findall(r"```python\n(# (\w+\.py)\n.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ggp = tmp_path / "bin" / "ggp"
    ggp.parent.mkdir()
    ggp.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from ggp.commands import main; main()' \"$@\"\n")
    ggp.chmod(0o755)
    path = os.pathsep.join([str(ggp.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    commands = re.findall(r"^\$ (.*)$", PAGE.split("## From an environment")[1].split("\n## ")[0], re.MULTILINE)
    began, tournaments = time.monotonic(), 0
    for command in commands:
        is_tournament = command.startswith("ggp tournament")
        words = f"{command} --json" if is_tournament else command.replace("python ", f"{sys.executable} ", 1)
        done = subprocess.run(
            words, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
        if is_tournament:
            tallies = {line["player"]: line["tally"] for line in json.loads(done.stdout)["standings"]["lines"]}
            assert (tallies["Learned"]["matches"], tallies["Learned"]["losses"]) == (100, 0)
            assert tallies["Learned"]["wins"] >= 50
            tournaments += 1
            game = re.findall(r"--games (\S+)", command)[0]
            assert least_goals(tmp_path, game) == [50, 50], "both games are draws"
    assert tournaments == 2
    assert time.monotonic() - began < 600


def least_goals(folder: Path, game: str) -> list[int]:
    """What the learned player has at least in each role, whatever the other one does."""
    rules = load(folder / game if game.endswith(".kif") else game)
    learned = runpy.run_path(str(folder / "learned.py"))["Learned"]
    found = []
    for role in rules.roles:
        player, other = learned(SimpleNamespace(game=rules, role=role)), next(one for one in rules.roles if one != role)
        known: dict[tuple[str, ...], int] = {}
        found.append(_least_goal(player, rules.initial_state, role, other, known))
        assert len(known) > 100
    return found


def _least_goal(player: Any, state: State, role: str, other: str, known: dict[tuple[str, ...], int]) -> int:  # noqa: ANN401
    if state.is_terminal:
        goal = state.goals[role]
        assert goal is not None
        return goal
    if state.facts not in known:
        own = player.choose(state, 0.0)
        following = (state.play({role: own, other: move}) for move in state.legal_moves(other))
        known[state.facts] = min(_least_goal(player, one, role, other, known) for one in following)
    return known[state.facts]
