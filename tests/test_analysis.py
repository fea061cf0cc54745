"""Stage 6: what a search finds out, as the Python API and the command `ggp analyse` give it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import ggp
from ggp.analysis import Analysis, analyse, analyses
from ggp.commands.analyse import add_commands, follow
from ggp.errors import (
    EvaluationError,
    GroundingError,
    HiddenStateError,
    IllegalMoveError,
    SettingsError,
    UnknownRoleError,
)
from ggp.search.mcts.search import SearchSettings
from ggp.signals import EXIT_INTERRUPTED
from tests.players.doubles import NIM

CLIMB = """
(role robot) (init (at 0)) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(legal robot up) (legal robot stay)
(<= (next (at ?y)) (does robot up) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does robot stay) (true (at ?x)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 4)))
(<= (goal robot 100) (true (at 3)))
(<= (goal robot 0) (not (true (at 3))))
"""
SMALL = SearchSettings(memory_bytes=2**24)
LONG = 60.0  # seconds in which what is solved at once has long been solved
AFTER_TWO = "(mark 2 2) (mark 1 2)"  # x wins: an edge was no answer to the centre


@pytest.fixture(scope="module")
def tictactoe() -> ggp.Game:
    return ggp.load("tictactoe", "circuit")


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["analyse", *arguments])


def test_what_hides_its_state_is_not_analysed(tmp_path: Path) -> None:
    rules = NIM.format(heap=6) + "(<= (sees left taken) (does right (take 1)))"
    with pytest.raises(HiddenStateError, match="cannot be analysed: its roles see only what `sees` tells them"):
        analyse(ggp.load_text(rules, engine="circuit").initial_state, seconds=LONG, settings=SMALL)
    path = tmp_path / "hidden.kif"
    path.write_text(rules, encoding="utf-8")
    done = invoke(str(path), "--seconds", "1")
    assert isinstance(done.exception, HiddenStateError)
    assert done.stdout == ""


def test_a_solved_state_has_its_value_and_a_line_that_shows_it() -> None:
    game = ggp.load_text(NIM.format(heap=6), engine="circuit")
    found = analyse(game.initial_state, seconds=LONG, settings=SMALL, lines=5)
    assert found.is_solved
    assert (found.role, found.best) == ("left", "(take 2)")
    best = found.lines[0]
    assert best.goals == {"left": 100.0, "right": 0.0}
    assert best.bounds == {"left": (100.0, 100.0), "right": (0.0, 0.0)}
    assert len(found.lines) == 3  # there are no more moves
    state = game.initial_state
    for step in best.steps:
        state = state.play(step)
    assert state.goals == {"left": 100, "right": 0}
    assert best.text.startswith("(take 2), (take ")
    assert found.depth == len(best.steps)


GUESS = """
(role r) (role random) (init start) (coin heads) (coin tails)
(<= (legal random (flip ?c)) (coin ?c) (true start)) (<= (legal random noop) (not (true start)))
(<= (legal r wait) (true start)) (<= (legal r (say ?c)) (coin ?c) (not (true start)))
(<= (next (is ?c)) (does random (flip ?c))) (<= (next right) (does r (say ?c)) (true (is ?c)))
(<= (next over) (does r (say ?c)))
(<= terminal (true over)) (<= (goal r 100) (true right)) (<= (goal r 20) (not (true right)))
"""
ROLL = """
(role r) (role random) (init start) (die 1) (die 2) (die 3) (die 4) (legal r wait)
(<= (legal random (roll ?n)) (die ?n)) (<= (next (is ?n)) (does random (roll ?n)))
(<= terminal (true (is ?n))) (<= (goal r 100) (true (is 1))) (<= (goal r 0) (not (true (is 1))))
"""


@pytest.mark.parametrize(
    ("rules", "role", "value"),
    [(NIM.format(heap=6), "right", 0.0), (GUESS, "r", 100.0), (ROLL, "r", 25.0)],
    ids=["other role chooses", "chance, then a choice", "chance"],
)
def test_a_solved_state_has_its_value_for_a_role_that_has_one_move(rules: str, role: str, value: float) -> None:
    game = ggp.load_text(rules, engine="circuit")
    found = analyse(game.initial_state, seconds=LONG, settings=SMALL, role=role)
    assert found.is_solved
    (line,) = found.lines
    assert (line.goals[role], line.bounds[role]) == (value, (value, value))


def test_numbers_of_an_unsolved_state() -> None:
    reports: list[Analysis] = []
    state = ggp.load("connectfour", "circuit").initial_state
    found = analyse(state, seconds=0.5, settings=SMALL, on_progress=reports.append)
    assert reports[-1] is found
    assert found.visits > 0
    assert found.playouts > 0
    assert found.playouts_per_second > 0
    assert found.nodes > 1
    assert 0 < found.memory_bytes <= found.most_bytes == SMALL.memory_bytes
    visits = [line.visits for line in found.lines]
    assert len(visits) == 3
    for line in found.lines:
        goals = line.goals["red"]
        assert goals is not None
        assert line.bounds["red"][0] <= goals <= line.bounds["red"][1]
        assert line.steps[0]["yellow"] == "noop"


def test_reports_come_while_it_thinks_and_it_may_be_left(tictactoe: ggp.Game) -> None:
    visits: list[int] = []
    for found in analyses(tictactoe.initial_state, seconds=LONG, settings=SMALL, every=0.001):
        visits.append(found.visits)
        if found.visits > visits[0]:
            break
    assert visits == sorted(visits)
    assert visits[-1] > visits[0]


def test_lines_of_every_role_where_several_choose() -> None:
    state = ggp.load("biddingtictactoe", "circuit").initial_state
    for role in state.game.roles:
        found = analyse(state, seconds=0.2, settings=SMALL, role=role.upper())
        assert found.role == role
        assert found.best in state.legal_moves(role)
        following = state
        for step in found.lines[0].steps:
            following = following.play(step)  # every move is legal
        assert " / " in found.lines[0].text


def test_puzzle_has_one_line_and_its_proof() -> None:
    game = ggp.load_text(CLIMB, engine="circuit")
    found = analyse(game.initial_state, seconds=LONG, settings=SMALL)
    state = game.initial_state
    for step in found.lines[0].steps:
        state = state.play(step)
    assert state.goals == {"robot": 100}
    assert found.is_solved
    assert found.lines[0].bounds == {"robot": (100.0, 100.0)}


def test_a_role_without_a_legal_move_is_told(tmp_path: Path) -> None:
    path = tmp_path / "stuck.kif"
    path.write_text("(role r) (init a) (<= (legal r go) (true b)) (<= terminal (true b)) (goal r 100)")
    done = invoke(str(path), "--seconds", "1")
    assert isinstance(done.exception, EvaluationError)
    assert str(done.exception) == "r has no legal move in this state, and the match is not over"


def test_terminal_state_has_no_lines() -> None:
    game = ggp.load_text(NIM.format(heap=1), engine="circuit")
    found = analyse(game.initial_state.play({}), seconds=LONG, settings=SMALL)
    assert found.is_solved
    assert (found.lines, found.best, found.depth) == ((), None, 0)


def test_mistakes(tictactoe: ggp.Game) -> None:
    with pytest.raises(GroundingError, match="tictactoe has no circuit, which the search needs: another engine"):
        analyse(ggp.load("tictactoe", "interpreter").initial_state, seconds=1)
    with pytest.raises(UnknownRoleError, match="no role is called 'z'"):
        analyse(tictactoe.initial_state, seconds=1, role="z")
    with pytest.raises(SettingsError, match="a State is expected, not a Game; `initial_state` is its first one"):
        analyse(tictactoe, seconds=1)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="a search has no setting time"):
        analyse(tictactoe.initial_state, seconds=1, settings={"time": 3})
    with pytest.raises(SettingsError, match="seconds cannot be negative"):
        analyse(tictactoe.initial_state, seconds=-1)
    assert "--batch: input should be 8, 16," in str(invoke("tictactoe", "--batch", "7").exception)
    assert re.fullmatch(
        r"--memory: this computer has [\d,]+ MiB, not 99,999,999",
        str(invoke("tictactoe", "--memory", "99999999").exception),
    )


@pytest.mark.parametrize(
    "moves",
    [
        "(mark 2 2) (mark 1 2)",
        "((mark 2 2) noop) (noop (mark 1 2))",
        "(mark 2 2) (noop (mark 1 2))",
        "(MARK 2 2)\n(MARK 1 2)",
    ],
)
def test_moves_lead_to_a_state(tictactoe: ggp.Game, moves: str) -> None:
    state = follow(tictactoe.initial_state, moves)
    assert "(cell 2 2 x)" in state.facts
    assert "(cell 1 2 o)" in state.facts


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        ("((mark 2 2))", "step 0 has 1 moves for 2 roles"),
        ("(mark 1 1) (mark 1 2) (mark 2 1) (mark 1 3) (mark 3 1) (mark 3 3)", "the match is over after 5 steps"),
    ],
)
def test_moves_that_lead_nowhere(tictactoe: ggp.Game, moves: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        follow(tictactoe.initial_state, moves)


def test_moves_that_are_not_legal_or_missing(tictactoe: ggp.Game) -> None:
    with pytest.raises(IllegalMoveError):
        follow(tictactoe.initial_state, "(mark 2 2) (mark 2 2)")
    bidding = ggp.load("biddingtictactoe", "circuit").initial_state
    with pytest.raises(SettingsError, match="step 0 lacks a move of o"):
        follow(bidding, bidding.legal_moves("x")[0])


def test_json_is_one_report_on_each_line() -> None:
    done = invoke("tictactoe", "--moves", AFTER_TWO, "--seconds", str(LONG), "--memory", "16", "--json")
    assert done.exit_code == 0, done.output
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["final"] for report in reports] == [False] * (len(reports) - 1) + [True]
    last = reports[-1]
    assert last["solved"]
    assert last["role"] == "xplayer"
    assert last["lines"][0]["goals"]["xplayer"] == 100
    assert last["lines"][0]["bounds"]["xplayer"] == [100, 100]
    assert last["lines"][0]["steps"][0]["xplayer"] == last["best"]
    assert {"visits", "playouts_per_second", "depth", "memory_bytes"} <= last.keys()


def test_plain_lines_where_there_is_no_terminal() -> None:
    done = invoke("tictactoe", "--moves", AFTER_TWO, "--seconds", str(LONG), "--memory", "16", "--lines", "1")
    heading, line = done.stdout.splitlines()[-2:]
    assert " visits, " in heading
    assert " of 16 MiB, solved" in heading
    assert "xplayer 100.0  oplayer 0.0" in line
    assert "= 100  (mark " in line


def test_no_circuit_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "endless.kif"
    path.write_text(
        "(role r) (init (n z)) (legal r go) (<= (next (n (s ?x))) (true (n ?x)))\n"
        "(goal r 0) (<= terminal (true (n never)))",
        encoding="utf-8",
    )
    done = invoke(str(path), "--seconds", "1")
    assert isinstance(done.exception, GroundingError)
    assert "has no circuit, which the search needs: " in str(done.exception)


def test_interrupt_ends_it_with_what_is_known() -> None:
    command = [
        sys.executable,
        "-c",
        "from ggp.commands import main; main()",
        "analyse",
        "connectfour",
        "--seconds",
        str(LONG),
        "--json",
        "--memory",
        "64",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line) for line in process.stdout]
    assert process.returncode == EXIT_INTERRUPTED
    assert not first["final"]
    assert rest[-1]["final"]
    assert not rest[-1]["solved"]
    assert time.monotonic() - began < LONG / 2
