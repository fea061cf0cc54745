"""Games and states as a person uses them."""

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from errno import EACCES
from pathlib import Path

import pytest

import ggp
from ggp.engines import ENGINES
from ggp.errors import (
    EvaluationError,
    IllegalMoveError,
    RulesheetError,
    SettingsError,
    UnknownGameError,
    UnknownRoleError,
)
from ggp.game import State
from ggp.library import Metadata

SMALL = "(role r) (legal r a) (goal r 1) (<= terminal (true x))"


def test_the_example_of_the_readme() -> None:
    game = ggp.load("tictactoe")
    state = game.initial_state
    assert state.legal_moves("xplayer")[:2] == ("(mark 1 1)", "(mark 1 2)")
    state = state.play({"xplayer": "(mark 2 2)", "oplayer": "noop"})
    assert not state.is_terminal
    assert set(state.goals) == {"xplayer", "oplayer"}
    assert "(cell 2 2 x)" in state.facts
    assert game.engine in ENGINES
    assert game.roles == ("xplayer", "oplayer")


def test_states_are_values() -> None:
    game = ggp.load("tictactoe")
    one = game.initial_state.play({"xplayer": "(mark 1 1)"}).play({"oplayer": "(mark 2 2)"})
    other = game.initial_state.play({"xplayer": ("mark", "1", "1")}).play({"oplayer": "(MARK 2 2)"})
    assert one == other
    assert len({one, other, game.initial_state}) == 2


@pytest.mark.parametrize("engine", ["circuit", "bytecode", "interpreter"])
def test_states_are_equal_across_engines_copies_and_processes(engine: str) -> None:
    game = ggp.load("tictactoe", engine)
    state = game.initial_state.play({"xplayer": "(mark 2 2)"})
    others = [
        ggp.load("tictactoe", engine).initial_state.play({"xplayer": "(mark 2 2)"}),
        game.with_engine("interpreter").state(state.facts),
        copy.deepcopy(state),
        pickle.loads(pickle.dumps(state)),
    ]
    for other in others:
        assert (other, hash(other)) == (state, hash(state))
        assert other.play({"oplayer": "(mark 1 1)"}) == state.play({"oplayer": "(mark 1 1)"})
    again = pickle.loads(pickle.dumps(game))
    assert (again.name, again.engine, again.metadata) == (game.name, engine, game.metadata)
    assert state != game.initial_state
    assert ggp.load_text(game.rulesheet.text + "(more)").state(state.facts) != state
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        move = {"oplayer": "(mark 1 1)"}
        assert pool.submit(State.play, state, move).result() == state.play(move)


def test_a_move_that_is_not_legal_says_why() -> None:
    state = ggp.load("tictactoe").initial_state
    with pytest.raises(IllegalMoveError, match="not a move of this game") as caught:
        state.play({"xplayer": "(mark 7 1)"})
    assert (caught.value.role, caught.value.move) == ("xplayer", "(mark 7 1)")
    with pytest.raises(IllegalMoveError, match="it has 9 legal moves to choose from"):
        state.play({})
    with pytest.raises(UnknownRoleError, match="no role is called 'zplayer'"):
        state.play({"zplayer": "noop"})
    with pytest.raises(UnknownRoleError):
        state.legal_moves("zplayer")


def test_roles_in_any_spelling() -> None:
    state = ggp.load("tictactoe").initial_state
    assert state.legal_moves("xPlayer") == state.legal_moves("xplayer")
    assert state.play({"XPLAYER": "(mark 1 1)"}) == state.play({"xplayer": "(mark 1 1)"})


def test_nothing_is_played_after_the_end() -> None:
    game = ggp.load_text("(role r) (legal r go) (init a) (<= (next b) (true a)) (<= terminal (true b)) (goal r 0)")
    state = game.initial_state.play({})
    assert state.is_terminal
    with pytest.raises(IllegalMoveError, match="the match is over"):
        state.play({})
    with pytest.raises(IllegalMoveError, match="the match is over"):
        state.play({"r": "go"})


def test_moves_are_a_mapping() -> None:
    state = ggp.load("tictactoe").initial_state
    for given in (["(mark 1 1)", "noop"], None, "(mark 1 1)"):
        with pytest.raises(SettingsError, match="moves are a mapping from roles to moves"):
            state.play(given)  # type: ignore[arg-type]


def test_a_role_without_a_legal_move_is_named() -> None:
    rules = "(role a) (role b) (legal a go) (init s) (<= (legal b go) (true never)) (<= terminal (not (true s)))"
    with pytest.raises(EvaluationError, match="b has no legal move in this state, and the match is not over"):
        ggp.load_text(f"{rules} (goal a 0) (goal b 0)").initial_state.play({})


def test_a_move_is_text_or_a_term() -> None:
    state = ggp.load("tictactoe").initial_state
    with pytest.raises(IllegalMoveError, match="a move is text or a term"):
        state.play({"xplayer": 5})  # type: ignore[dict-item]


def test_games_are_loaded_from_files_and_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.kif"
    path.write_text("(role r) (legal r a) (goal r 1) (<= terminal (true x))", encoding="utf-8")
    assert ggp.load(path).name == "mine"
    assert ggp.load_text(path.read_text(encoding="utf-8"), "other").name == "other"


def test_what_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnknownGameError, match=r"`ggp games` lists the games"):
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


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_rules_without_a_role_are_refused_by_every_engine(engine: str | None) -> None:
    with pytest.raises(RulesheetError, match=r"x:1:1: no role is named \[role\]"):
        ggp.load_text("", "x", engine)


def test_metadata_with_a_mistake_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.kif"
    path.write_text("(role r) (legal r a) (goal r 1) (<= terminal (true x))", encoding="utf-8")
    path.with_suffix(".toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: Invalid value"):
        ggp.load(path)
    path.with_suffix(".toml").write_text("title = 'red'\ncolour = 'red'", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: no field is called 'colour'; the fields are title, "):
        ggp.load(path)
    path.with_suffix(".toml").write_text("title = 3", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: the field 'title' is not a string"):
        ggp.load(path)
    path.with_suffix(".toml").write_text(f"title = {'9' * 5_000}", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: "):
        ggp.load(path)
    path.with_suffix(".toml").unlink()
    path.with_suffix(".toml").symlink_to(path.with_suffix(".toml"))
    with pytest.raises(SettingsError, match=r"mine\.toml: Too many levels of symbolic links$"):
        ggp.load(path)


def test_metadata_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.kif"
    path.write_text(SMALL, encoding="utf-8")
    path.with_suffix(".toml").write_text("[project]\nname = 'x'", encoding="utf-8")
    assert ggp.load(path).metadata == Metadata()
    path.with_suffix(".toml").unlink()
    path.with_suffix(".toml").mkdir()
    assert ggp.load(path).metadata == Metadata()


def test_files_that_the_system_refuses_say_why_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnknownGameError, match=r"is a folder$"):
        ggp.load(tmp_path)
    with pytest.raises(UnknownGameError, match=r"^'\(role r\)\\n.*…': File name too long$") as caught:
        ggp.load("(role r)\n" * 1_000)
    assert len(str(caught.value)) < 200
    loop = tmp_path / "loop.kif"
    loop.symlink_to(loop)
    with pytest.raises(UnknownGameError, match=r"Too many levels of symbolic links$"):
        ggp.load(loop)
    for nothing in ("", "a\0b", "tictactoe.kif/x"):
        with pytest.raises(UnknownGameError, match="no game or file is called"):
            ggp.load(nothing)


def test_a_name_too_long_for_metadata_has_none(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    path.write_text(SMALL, encoding="utf-8")
    assert ggp.load(path).metadata == Metadata()


def test_a_folder_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = Path.stat

    def refuse(path: Path, **options: bool) -> os.stat_result:
        if path.name == "a.kif":
            raise PermissionError(EACCES, "Permission denied", str(path))
        return allowed(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)  # root may read everything
    with pytest.raises(UnknownGameError, match=r": Permission denied$"):
        ggp.load(tmp_path / "a.kif")


def test_a_pipe_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(path.write_text, SMALL, encoding="utf-8")
        assert ggp.load(path).roles == ("r",)
        writing.result(10)
    with pytest.raises(RulesheetError, match="no role is named"):
        ggp.load("/dev/null")
