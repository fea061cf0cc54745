"""The table of all games in `docs/games.md`, measured anew: `python -m tests.bench.games_table`.

Each game runs in a process of its own. With `--metadata` the mean length and the branching of random matches are
written into the metadata of the games as well.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import ggp
from ggp.library import find_rulesheet, read_metadata, rules_folder

PAGE = Path(__file__).parent.parent.parent / "docs" / "games.md"
MATCHES = 10
STATES = 1_500  # after which no more matches are begun
SECTION = "## All games\n"
HEAD = """
Measured by `python -m tests.bench.games_table` on one thread of {computer}: the seconds from the text to the first
playout without a cache, random steps a second, and of random matches the mean number of steps and of legal moves of a
role that has more than one. The load average at the end was {load:.1f}.
{count} games; first playout {start:.2f} s in the median and {slowest:.2f} s at most;
{steps:,.0f} M steps/s in the median and {least:.1f} M at least.

| folder | game | facts | gates | first playout, s | M steps/s | steps | moves | known value |
|---|---|---|---|---|---|---|---|---|
"""


def measured(name: str, seconds: float) -> dict[str, Any]:
    """What `ggp bench` measures, in a process of its own."""
    command = [sys.executable, "-m", "ggp", "bench", name, "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {
        "computer": f"an {found['computer']['processor']} with {found['computer']['cores']} cores",
        "facts": found["sizes"]["facts"],
        "gates": found["sizes"]["gates"],
        "start": found["start"]["first_playout_seconds"],
        "speed": found["steps_per_second"]["median"] / 1e6,
        "length": found["outcomes"]["mean_length"],
    }


def branching(name: str) -> float:
    """The mean number of legal moves of a role that has more than one, in random matches of a fixed seed."""
    game = ggp.load(name)
    machine, rng = game.machine, Random(1)
    counts: list[int] = []
    for _ in range(MATCHES):
        if len(counts) > STATES:
            break
        state = machine.initial_state
        while not machine.is_terminal(state):
            legal = [machine.legal_moves(state, role) for role in machine.roles]
            counts += [len(moves) for moves in legal if len(moves) > 1]
            state = machine.next_state(state, tuple(map(rng.choice, legal)))
    return sum(counts) / max(1, len(counts))


def note(path: Path, length: float, moves: float) -> None:
    """Writes both numbers into the table `truths` of a file of metadata."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^(length|branching) = .*\n", "", text, flags=re.MULTILINE)
    numbers = f"[truths]\nlength = {length:.1f}\nbranching = {moves:.1f}\n"
    path.write_text(text.replace("[truths]\n", numbers, 1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for the playouts of each game")
    parser.add_argument("--metadata", action="store_true", help="write lengths and branching into the metadata")
    parser.add_argument("--rows", type=Path, help="a file of rows that goes on where it ended")
    arguments = parser.parse_args()
    known = _read(arguments.rows)
    names = ggp.games()
    for name in names:
        if name not in known:
            known[name] = {**measured(name, arguments.seconds), "branching": branching(name)}
            print(name, flush=True)
            if arguments.rows:
                arguments.rows.write_text(json.dumps(known), encoding="utf-8")
        if arguments.metadata:
            row = known[name]
            note(find_rulesheet(name).with_suffix(".toml"), row["length"], row["branching"])
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(SECTION)
    PAGE.write_text(before + SECTION + _table({name: known[name] for name in names}), encoding="utf-8")


def _read(path: Path | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path and path.exists() else {}
    return found


def _table(rows: dict[str, dict[str, Any]]) -> str:
    starts = [row["start"] for row in rows.values()]
    speeds = [row["speed"] for row in rows.values()]
    text = HEAD.format(
        computer=next(iter(rows.values()))["computer"], count=len(rows), start=median(starts), slowest=max(starts),
        steps=median(speeds), least=min(speeds), load=os.getloadavg()[0],
    )  # fmt: skip
    paths = {name: find_rulesheet(name) for name in rows}
    for name in sorted(rows, key=lambda name: (paths[name].parent.name, name)):
        row, metadata = rows[name], read_metadata(paths[name])
        link = f"[{metadata.title}](../rules/{paths[name].relative_to(rules_folder())})"
        cells = (
            paths[name].parent.name, link, f"{row['facts']:,}", f"{row['gates']:,}", f"{row['start']:.2f}",
            f"{row['speed']:,.1f}", f"{row['length']:.1f}", f"{row['branching']:.1f}",
            metadata.truths.get("value", ""),
        )  # fmt: skip
        text += f"| {' | '.join(cells)} |\n"
    return text


if __name__ == "__main__":
    main()
