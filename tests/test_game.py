"""Games and states as a person uses them."""

from pathlib import Path

import pytest

import ggp
from ggp.errors import IllegalMoveError, RulesheetError, SettingsError, UnknownGameError, UnknownRoleError


def test_the_example_of_the_readme() -> None:
    game = ggp.load("tictactoe")
    state = game.initial_state
    assert state.legal_moves("xplayer")[:2] == ("(mark 1 1)", "(mark 1 2)")
    state = state.play({"xplayer": "(mark 2 2)", "oplayer": "noop"})
    assert not state.is_terminal
    assert set(state.goals) == {"xplayer", "oplayer"}
    assert "(cell 2 2 x)" in state.facts
    assert game.engine == "interpreter"
    assert game.roles == ("xplayer", "oplayer")


def test_states_are_values() -> None:
    game = ggp.load("tictactoe")
    one = game.initial_state.play({"xplayer": "(mark 1 1)"}).play({"oplayer": "(mark 2 2)"})
    other = game.initial_state.play({"xplayer": ("mark", "1", "1")}).play({"oplayer": "(MARK 2 2)"})
    assert one == other
    assert len({one, other, game.initial_state}) == 2


def test_a_move_that_is_not_legal_says_why() -> None:
    state = ggp.load("tictactoe").initial_state
    with pytest.raises(IllegalMoveError, match="no move of this game") as caught:
        state.play({"xplayer": "(mark 7 1)"})
    assert (caught.value.role, caught.value.move) == ("xplayer", "(mark 7 1)")
    with pytest.raises(IllegalMoveError, match="it has 9 legal moves to choose from"):
        state.play({})
    with pytest.raises(UnknownRoleError, match="no role is called 'zplayer'"):
        state.play({"zplayer": "noop"})
    with pytest.raises(UnknownRoleError):
        state.legal_moves("zplayer")


def test_games_are_loaded_from_files_and_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.kif"
    path.write_text("(role r) (legal r a) (goal r 1) (<= terminal (true x))", encoding="utf-8")
    assert ggp.load(path).name == "mine"
    assert ggp.load_text(path.read_text(encoding="utf-8"), "other").name == "other"


def test_what_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnknownGameError, match=r"the games are .*tictactoe"):
        ggp.load("chess960")
    path = tmp_path / "bad.kif"
    path.write_bytes(b"(role r)\n(<= \xff)")
    with pytest.raises(ggp.GgpError, match=r"bad\.kif:2:5: byte 0xff is not UTF-8"):
        ggp.load(path)
    path.write_text("(role r)\n(<=)", encoding="utf-8")
    with pytest.raises(RulesheetError, match=r"bad\.kif:2:1: a rule needs a head"):
        ggp.load(path)
    with pytest.raises(SettingsError, match="no engine is called 'magic'"):
        ggp.load("tictactoe", engine="magic")


def test_metadata_with_a_mistake_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.kif"
    path.write_text("(role r) (legal r a) (goal r 1) (<= terminal (true x))", encoding="utf-8")
    path.with_suffix(".toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: Invalid value"):
        ggp.load(path)
    path.with_suffix(".toml").write_text("colour = 'red'", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: no field is called 'colour'; the fields are title, "):
        ggp.load(path)
    path.with_suffix(".toml").write_text("title = 3", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: the field 'title' is no string"):
        ggp.load(path)
