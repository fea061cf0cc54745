"""Games: the number of paths at each depth, against numbers that do not come from this code (see `perft/`)."""

from itertools import takewhile
from pathlib import Path

import pytest

import ggp
from ggp.simulation.perft import perft

FILES = sorted(Path(__file__).with_name("perft").glob("*.txt"))


def quick_numbers(file: Path) -> tuple[int, ...]:
    """The numbers of a file from depth 1 on, up to the first that is marked as slow."""
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert [int(line[0]) for line in lines] == list(range(1, len(lines) + 1))
    return tuple(int(line[1]) for line in takewhile(lambda line: line[-1] != "slow", lines))


def test_each_game_has_numbers() -> None:
    """Numbers that want an explanation have a file here, the others are in the metadata (see `test_library`)."""
    numbers = {file.stem for file in FILES}
    assert all(name in numbers or "perft" in ggp.load(name, "interpreter").metadata.truths for name in ggp.games())


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_perft(file: Path) -> None:
    expected = quick_numbers(file)
    assert expected
    assert perft(ggp.load(file.stem, "circuit").machine, len(expected)) == expected


def turns(state: ggp.State, role: str) -> set[ggp.State]:
    """The states in which the other role is on turn, whatever number of jumps has led there."""
    found, waiting = set(), [state]
    while waiting:
        here = waiting.pop()
        for move in here.legal_moves(role):
            after = here.play({each: move if each == role else "noop" for each in ("white", "black")})
            if f"(control {role})" in after.facts:
                waiting.append(after)
            else:
                found.add(after)
    return found


@pytest.mark.parametrize("depth", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_turns_of_international_draughts_are_as_many_as_published(depth: int) -> None:
    """Turns of several jumps count once there, those with the same pieces taken as one."""
    layer = {ggp.load("draughts10", "circuit").initial_state: 1}
    counts = []
    for turn in range(depth):
        following: dict[ggp.State, int] = {}
        for state, paths in layer.items():
            for after in turns(state, ("white", "black")[turn % 2]):
                following[after] = following.get(after, 0) + paths
        layer = following
        counts.append(sum(layer.values()))
    assert counts == [9, 81, 658, 4265, 27117, 167140][:depth]
