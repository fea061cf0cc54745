"""Every shipped game plays as its golden playthrough says, state by state."""

import pytest

import ggp
from tests.games.playthroughs import FOLDER, path, playthrough


@pytest.mark.parametrize("name", ggp.games())
def test_the_game_plays_as_written(name: str) -> None:
    assert playthrough(ggp.load(name)) == path(name).read_text(encoding="utf-8")


def test_there_is_one_for_each_game() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.txt")) == list(ggp.games())
