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
