"""Every shipped game plays as its golden playthrough says, state by state."""

import pytest

import ggp
from tests.games.helpers import FIRST_GAMES
from tests.games.playthroughs import FOLDER, path, playthrough


@pytest.mark.parametrize("name", FIRST_GAMES)
def test_the_game_plays_as_written(name: str) -> None:
    assert playthrough(ggp.load(name)) == path(name).read_text(encoding="utf-8")


def test_there_is_one_for_each_game() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.txt")) == list(FIRST_GAMES)
