"""The command `ggp play`: lines that a person types → what is answered."""

import re
from pathlib import Path
from random import Random

import pytest
import typer
from typer.testing import CliRunner, Result

import ggp
from ggp.commands.bots import make_bot
from ggp.commands.play import add_commands
from ggp.commands.session import find_moves, meant_move
from ggp.errors import GgpError, HiddenStateError
from tests.gamemaster.games import GUESSING, SECRET, STUCK
from tests.players.doubles import NIM

MOVES = ("(drop 1)", "(drop 2)", "(drop 4)", "(drop 5)", "noop")
PAIRS = ("(mark 1 1)", "(mark 1 2)", "(mark 2 1)", "(move a 1 b 2)")


@pytest.mark.parametrize(
    ("text", "legal", "found"),
    [
        ("(drop 2)", MOVES, ["(drop 2)"]),
        ("  ( DROP   2 ) ", MOVES, ["(drop 2)"]),
        ("drop 2", MOVES, ["(drop 2)"]),
        ("noop", MOVES, ["noop"]),
        ("no", MOVES, ["noop"]),
        ("5", MOVES, ["noop", "(drop 5)"]),  # the fifth in the list, and an argument
        ("1", MOVES, ["(drop 1)"]),
        ("3", MOVES, ["(drop 4)"]),
        ("4", MOVES, ["(drop 5)", "(drop 4)"]),
        ("drop", MOVES, list(MOVES[:4])),
        ("7", MOVES, []),
        ("", MOVES, []),
        ("()", MOVES, []),
        ("1 2", PAIRS, ["(mark 1 2)"]),
        ("2", PAIRS, ["(mark 1 2)"]),
        ("a1", PAIRS, []),
        ("1 b", PAIRS, ["(move a 1 b 2)"]),
        ("mo b", PAIRS, ["(move a 1 b 2)"]),
        ("ark", PAIRS, list(PAIRS[:3])),
        ("m 1", PAIRS, list(PAIRS)),
        ("²", PAIRS, []),
        ("?x", PAIRS, []),
        ("((", PAIRS, []),
    ],
)
def test_texts_and_moves(text: str, legal: tuple[str, ...], found: list[str]) -> None:
    assert list(find_moves(text, legal)) == found


@pytest.mark.parametrize(
    ("text", "meant"),
    [("3 3", "(mark 3 3)"), ("mark 3 3", "(mark 3 3)"), ("(mark 3 3)", "(mark 3 3)"), ("so what now", "so what now")],
)
def test_the_move_that_was_meant(text: str, meant: str) -> None:
    assert meant_move(text, PAIRS) == meant


def play(*arguments: str, typed: str = "") -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["play", *arguments], input=typed)


def written(folder: Path, rules: str) -> str:
    path = folder / "rules.kif"
    path.write_text(rules, encoding="utf-8")
    return str(path)


def said(result: Result) -> list[str]:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_a_whole_match_of_two_people() -> None:
    lines = said(play("tictactoe", "me", "me", typed="1 1\n2 2\n1 2\n(mark 3 3)\nmark 1 3\n"))
    assert lines[-9:] == [
        "",
        "   1 2 3",
        "1  x x x",
        "2  . o .",
        "3  . . o",
        "To move: O",
        "the match is over",
        "  xplayer  100",
        "  oplayer  0",
    ]


def test_a_match_against_chance_follows_from_the_seed() -> None:
    typed = "1\n" * 9
    lines = said(play("tictactoe", "me", "random", "--seed", "4", typed=typed))
    assert lines == said(play("tictactoe", "me", "random", "--seed", "4", typed=typed))
    assert "the match is over" in lines
    assert sum(line.startswith("oplayer: (mark") for line in lines) >= 2


def test_the_first_legal_move() -> None:
    lines = said(play("tictactoe", "legal", "me", typed="3 3\n2 2\nquit\n"))
    assert [line for line in lines if line.startswith("xplayer: ")][:3] == [
        "xplayer: (mark 1 1)", "xplayer: (mark 1 2)", "xplayer: (mark 1 3)"
    ]  # fmt: skip


def test_roles_can_be_asked_for() -> None:
    lines = said(play("tictactoe", "--against", "random", typed="0\nplayer\no\nquit\n"))
    assert lines[0] == "1 xplayer, plays x and moves first"
    assert "type a number, one of xplayer, oplayer, or quit" in lines
    assert "oplayer> quit" in lines


def test_quit_is_understood_when_the_role_is_asked_for() -> None:
    lines = said(play("tictactoe", "--against", "random", typed="quit\n"))
    assert lines[-1] == "your role> quit"


def test_the_role_can_be_named() -> None:
    lines = said(play("tictactoe", "--against", "legal", "--role", "OPlayer", typed="quit\n"))
    assert lines[1] == "xplayer: (mark 1 1)"
    assert lines[-1] == "oplayer> quit"


def test_illegal_moves_are_refused_with_the_reason() -> None:
    lines = said(play("tictactoe", "me", "me", typed="1 1\n1 1\n(mark 7 7)\nso what\n(zark\nquit\n"))
    assert "(mark 1 1) is not legal: (true (cell 1 1 b)) does not hold" in lines
    assert "(mark 7 7) is not legal: (mark 7 7) is not a move of this game" in lines
    assert any(line.startswith("(mark so what) is not legal: ") for line in lines)
    assert any(line.startswith("(zark is not legal: ") for line in lines)


def test_several_moves_are_offered() -> None:
    lines = said(play("tictactoe", "me", "me", typed="mark 3\nquit\n"))
    at = lines.index("which one?")
    assert lines[at + 1].split() == ["7", "(mark", "3", "1)", "8", "(mark", "3", "2)", "9", "(mark", "3", "3)"]


def test_long_lists_are_shown_on_request() -> None:
    lines = said(play("fiveinarow", "me", "me", typed="list\nlist c\nlist zzz\nquit\n"))
    assert "x has 64 moves; type list to see them" in lines
    assert "  … and 4 more: list PART" in lines
    assert "no move contains that" in lines


def test_undo() -> None:
    lines = said(play("tictactoe", "me", "legal", typed="undo\n2 2\nundo\n3 3\nboard\nquit\n"))
    assert "there is nothing to undo" in lines
    board = lines[len(lines) - 1 - lines[::-1].index("   1 2 3") :]
    assert board[1:4] == ["1  o . .", "2  . . .", "3  . . x"]


def test_undo_goes_back_to_whoever_moved_last() -> None:
    lines = said(play("tictactoe", "me", "me", typed="2 2\nundo\nquit\n"))
    assert [line.split(">")[0] for line in lines if "> " in line] == ["xplayer", "oplayer", "xplayer"]


def simultaneous(tmp_path: Path, typed: str) -> list[str]:
    path = written(tmp_path, GUESSING)
    return said(play(path, "me", "me", typed=typed))


def test_simultaneous_moves(tmp_path: Path) -> None:
    lines = simultaneous(tmp_path, "show 1\nundo\nshow 2\nshow 2\nshow 1\nshow 3\n")
    assert [line for line in lines if line.startswith("left: ")] == [
        "left: (show 2), right: (show 2)", "left: (show 1), right: (show 3)"
    ]  # fmt: skip
    assert lines[-2:] == ["  left  100", "  right  100"]


def test_people_see_only_what_they_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, SECRET)
    lines = said(play(path, "me", "legal", typed="ask 2\nask 1\n"))
    assert "asker: (ask 2); you see: nothing" in lines
    assert "asker: (ask 1); you see: warm" in lines
    assert not any("hide" in line for line in lines)
    before_the_end = lines[: lines.index("the match is over")]
    assert sum("Turn" in line for line in before_the_end) == 1  # the last state


def test_nothing_else_tells_what_people_may_not_know(tmp_path: Path) -> None:
    path = written(tmp_path, SECRET)
    lines = said(play(path, "me", "legal", typed="hint\nundo\nask 1\nundo\n(ask 3)\n(hide 1)\n(ask\nquit\n"))
    assert "there are no hints in a game with hidden information" in lines
    assert lines.count("there is no undo in a game with hidden information") == 2
    refused = [line for line in lines if "is not legal" in line]
    assert refused[0] == "(ask 3) is not legal: (ask 3) is not a move of this game"
    assert not any("does not hold" in line for line in refused)


@pytest.mark.parametrize(
    ("players", "reason"),
    [
        (["me", "mcts"], "mcts would use all of it"),
        (["me", "montecarlo"], "montecarlo would use all of it"),
        (["--role", "asker"], "mcts would use all of it"),
        (["mcts", "legal"], "mcts would use all of it"),
        (["me", "me"], "only one of them can be played at a terminal"),
    ],
)
def test_nobody_plays_by_what_a_role_cannot_know(players: list[str], reason: str, tmp_path: Path) -> None:
    result = play(written(tmp_path, SECRET), *players, typed="ask 1\nask 2\n")
    assert isinstance(result.exception, HiddenStateError)
    assert reason in str(result.exception)
    assert "ask" not in result.stdout


def test_resign_and_quit_and_the_end_of_the_input() -> None:
    assert said(play("tictactoe", "me", "me", typed="2 2\nresign\n"))[-1] == "oplayer resigns"
    assert said(play("tictactoe", "me", "me", typed="quit\n"))[-1] == "xplayer> quit"
    assert said(play("tictactoe", "me", "me", typed=""))[-1].startswith("xplayer>")


def test_a_hint_and_help() -> None:
    lines = said(play("tictactoe", "me", "random", "--seconds", "0.05", typed="?\nhint\n:help\nquit\n"))
    assert "  undo     back to your last choice" in lines
    assert any(re.match(r"\(mark \d \d\)  expected goal value \d+, ", line) for line in lines)


def test_moves_that_look_like_commands(tmp_path: Path) -> None:
    path = written(tmp_path, "(role a) (init p) (legal a quit) (legal a undo) (<= terminal (not (true p))) (goal a 7)")
    assert said(play(path, "me", typed="quit\n"))[-2:] == ["the match is over", "  a  7"]
    assert said(play(path, "me", typed=":quit\n"))[-1] == "a> :quit"


def test_a_state_to_begin_with() -> None:
    lines = said(play("tictactoe", "me", "me", "--moves", "(mark 1 1) (mark 2 2)", typed="quit\n"))
    assert "1  x . ." in lines
    assert "2  . o ." in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tictactoe", "me"], "tictactoe needs 2 players (xplayer, oplayer), not 1"),
        (
            ["tictactoe", "me", "nobody"],
            "no player is called 'nobody'; the players are me, mcts, montecarlo, random, legal",
        ),
        (["tictactoe", "me", "random", "--role", "xplayer"], "--role and players exclude each other"),
        (["tictactoe", "--against", "me"], "no player is called 'me'"),
        (["tictactoe", "--against", "legal", "--role", "z"], "no role is called 'z'; the roles are xplayer, oplayer"),
        (["absent", "me"], "no game or file is called 'absent'"),
    ],
)
def test_mistakes_of_the_user(arguments: list[str], message: str) -> None:
    with pytest.raises(GgpError, match=re.escape(message)):
        raise play(*arguments).exception or AssertionError


def test_rules_that_give_no_move(tmp_path: Path) -> None:
    path = written(tmp_path, STUCK)
    with pytest.raises(GgpError, match="the rules give right no move"):
        raise play(path, "me", "me").exception or AssertionError


def test_a_search_wins_where_it_can() -> None:
    game = ggp.load_text(NIM.format(heap=2), engine="interpreter")
    advice = make_bot("mcts", 0.3, Random(1)).advise(game.initial_state, "left")
    assert advice.move == "(take 2)"
    assert advice.reason.startswith("expected goal value ")
