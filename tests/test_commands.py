"""The command line of the library: what it prints, its exit codes, and one clear line for every mistake."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from io import BytesIO, StringIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

import ggp
from ggp.commands import main, make_command
from ggp.commands.analyse import follow
from ggp.commands.shared import can_redraw, print_line

BROKEN = "(role r)\n(<= (goal r ?x)\n  (not (p ?x)))\n(legal r a)\n(<= terminal (true x))\n"


PROGRAM = [sys.executable, "-c", "from ggp.commands import main; main()"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, stdin: str = "") -> Done:
    """Runs the command in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["ggp", *arguments])
        patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as ended:
            main()
    return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def test_games_lists_the_shipped_ones() -> None:
    done = run("games")
    assert done.returncode == 0
    for name in ggp.games():
        assert f"\n{name}  " in "\n" + done.stdout
    listed = json.loads(run("games", "--json").stdout)
    assert [game["name"] for game in listed] == list(ggp.games())
    assert all(game["title"] and game["roles"] for game in listed)


def test_perft_prints_a_line_for_each_depth() -> None:
    lines = run("perft", "tictactoe", "--depth", "4").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["1", "9"], ["2", "72"], ["3", "504"], ["4", "3,024"]]
    done = run("perft", "-", "--depth", "2", "--json", stdin="(role r) (legal r a) (goal r 0) (<= terminal (true x))")
    assert json.loads(done.stdout)["perft"] == [1, 1]


def test_validate_reports_findings_and_evidence(tmp_path: Path) -> None:
    path = tmp_path / "broken.kif"
    path.write_text(BROKEN, encoding="utf-8")
    done = run("validate", str(path))
    assert done.returncode == 1
    assert f"{path}:2:1: error: ?x in a rule for 'goal' is not in a positive condition [safety]" in done.stdout
    assert f"{path}: 1 error, 1 warning" in done.stdout
    done = run("validate", "tictactoe", "--matches", "10", "--seed", "3")
    assert done.returncode == 0
    assert "0 errors, 0 warnings" in done.stdout
    assert "10 random matches (seed 3)" in done.stdout
    assert "ends: 10 of 10" in done.stdout


def test_validate_claims_nothing_that_no_match_showed() -> None:
    rules = "(role r) (legal r a) (goal r 1) (<= terminal (true never)) (init x) (<= (next x) (true x))"
    lines = run("validate", "-", "--max-steps", "9", stdin=rules).stdout.splitlines()
    assert "  ends: 0 of 20 within 9 steps" in lines
    assert "  goals and wins: not seen, since no match came to an end" in lines
    assert not any("exactly one" in line for line in lines)
    some = rules.replace("(legal r a)", "(legal r a) (legal r b)") + "(<= (next never) (does r b) (true x))"
    shown = run("validate", "-", "--max-steps", "1", stdin=some).stdout
    assert re.search(r"goals: exactly one for every role in the \d+ match(es)? that ended", shown)
    late = run("validate", "-", "--seconds", "0", stdin=rules).stdout
    assert "ends: 0 of 20 within 500 steps; 20 were cut off when the time was up" in late
    assert "moves: not seen" in late


@pytest.fixture(params=[True, False])
def either_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With kernels and without: the interpreter plays where none is compiled yet."""
    monkeypatch.setattr("ggp.engines.is_warm", lambda: request.param)


@pytest.mark.usefixtures("either_engine")
def test_a_negation_that_no_atom_of_the_game_meets_is_a_warning() -> None:
    steps = "(succ 1 2) (succ 2 3) (<= (even ?y) (true (n ?y)) (succ ?x ?y) (not (even ?x))) (<= (goal r 1) (even 3))"
    rules = f"(role r) (legal r a) (init (n 2)) (<= terminal (true (n 3))) (<= (next (n 3)) (true (n 2))) {steps}"
    done = run("validate", "-", stdin=rules)
    assert done.returncode == 0, done.stdout
    found = "warning: 'even' depends on its own negation, though no atom that the game needs does [stratification]"
    assert found in done.stdout
    met = run("validate", "-", stdin=rules.replace("(succ 2 3)", "(succ 2 2)").replace("(even 3)", "(even 2)"))
    assert met.returncode == 1
    assert "error: 'even' depends on its own negation [stratification]" in met.stdout


@pytest.mark.usefixtures("either_engine")
def test_a_variable_that_only_those_who_ask_bind_is_a_warning() -> None:
    rules = "(role r) (legal r a) (init (on 2)) (<= terminal (true (on 1))) (<= (next (on 1)) (true (on 2)))"
    asked = f"{rules} (<= (empty ?i) (not (true (on ?i)))) (<= (goal r 100) (empty 2)) (<= (goal r 0) (true (on 2)))"
    done = run("validate", "-", stdin=asked)
    assert done.returncode == 0, done.stdout
    assert "warning: ?i in a rule for 'empty' is not in a positive condition, though" in done.stdout
    unread = f"{rules} (goal r 100) (<= (differ ?x ?y) (distinct ?x ?y))"
    assert run("validate", "-", stdin=unread).returncode == 0


def test_validate_as_json(tmp_path: Path) -> None:
    path = tmp_path / "broken.kif"
    path.write_text(BROKEN, encoding="utf-8")
    done = run("validate", str(path), "tictactoe", "--json")
    broken, sound = json.loads(done.stdout)
    assert done.returncode == 1
    assert {(f["line"], f["column"], f["severity"], f["check"]) for f in broken["findings"]} == {
        (2, 1, "error", "safety"),
        (3, 8, "warning", "never-produced"),
    }
    assert broken["evidence"] is None
    assert "no condition binds ?x" in broken["unplayable"]
    assert sound["findings"] == []
    assert sound["evidence"]["ended"] == 20


def test_validate_says_why_no_match_can_be_played() -> None:
    done = run("validate", "-", stdin=BROKEN)
    assert "<stdin>: cannot be played: <stdin>:2:1: no condition binds ?x" in done.stdout
    for text in ("(role r) (<= (goal r 1) (true))", "(role r"):
        done = run("validate", "-", stdin=text)
        assert done.stdout.count("<stdin>:1:") == 1
        assert "cannot be played" not in done.stdout


def test_validate_fails_where_a_match_cannot_be_evaluated() -> None:
    rules = "(role r) (init (n z)) (legal r go) (<= (next (n (s ?x))) (true (n ?x))) (goal r 0) (<= terminal (true z))"
    done = run("validate", "-", stdin=rules)
    assert "0 errors" in done.stdout
    assert "evaluation failed: a term grows beyond" in done.stdout
    assert done.returncode == 1
    assert run("validate", "-", "--matches", "0", stdin=rules).returncode == 0


def test_validate_goes_on_after_a_file_that_is_not_there() -> None:
    done = run("validate", "missing.kif", "tictactoe", "--matches", "0")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no game or file is called 'missing.kif'" in done.stderr
    assert "tictactoe.kif: 0 errors" in done.stdout


def test_validate_reads_standard_input_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    assert "<stdin>:1:1: error: unexpected ')' [syntax]" in run("validate", "-", stdin=")").stdout
    path = tmp_path / "latin.kif"
    path.write_bytes("(role r)\n; ä".encode("latin-1"))
    done = run("validate", str(path))
    assert done.returncode == 1
    assert "latin.kif:2:3: error: byte 0xe4 is not UTF-8 [encoding]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("perft", "qwxyz"), "ggp: no game or file is called 'qwxyz'; `ggp games` lists the games"),
        (
            ("perft", "tictactow"),
            "no game or file is called 'tictactow' (did you mean tictactoe?); `ggp games` lists the games",
        ),
        (("perft", "/tmp/conectfour.kif"), "'/tmp/conectfour.kif' (did you mean connectfour?)"),
        (("play", "tictactoe", "me", "mtcs"), "no player is called 'mtcs' (did you mean mcts?)"),
        (("match", "tictactoe", "randm", "legal"), "no bot is called 'randm' (did you mean random?)"),
        (("player", "mctss"), "Did you mean 'mcts'?"),
        (("perft", "-"), "ggp: <stdin>:1:1: no role is named [role]"),
        (("perft",), "Missing argument 'GAME'"),
        (("perft", "tictactoe", "--depth", "0"), "Invalid value for '--depth'"),
        (("dance",), "No such command 'dance'"),
    ],
)
def test_a_mistake_gets_one_clear_line_and_exit_code_2(arguments: tuple[str, ...], line: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["perft", "validate"])
def test_a_closed_standard_input_gets_one_line(command: str) -> None:
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *PROGRAM, command, "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (2, "ggp: <stdin>: standard input is closed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("arguments", "buffering"),
    [
        (("games",), ""),
        (("games",), "1"),
        (("perft", "tictactoe", "--engine", "interpreter", "--json"), ""),
        (("--help",), "1"),
    ],
)
def test_a_standard_output_that_is_full_gets_one_line(arguments: tuple[str, ...], buffering: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": buffering}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
            env=environment,
        )
    assert (done.returncode, done.stderr) == (2, "ggp: No space left on device\n")


def test_a_reader_that_has_gone_is_no_mistake() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [*PROGRAM, "games", "--json"], stdout=gone, stderr=subprocess.PIPE, text=True, check=False, timeout=120
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_perft_stops_at_0() -> None:
    rules = "(role r) (init a) (legal r m) (goal r 0) (<= terminal (not (true a)))"
    done = run("perft", "-", "--depth", "1000000000", "--json", stdin=rules)
    assert json.loads(done.stdout)["perft"] == [1, 0]


def test_the_version() -> None:
    assert run("--version") == (0, f"ggp {version('ggp')}\n", "")


def test_help_is_in_groups_from_playing_to_developing() -> None:
    text = run("-h").stdout
    panels = re.findall(r"╭─ (.*?) ─", text)
    assert panels == ["Options", "Play and watch", "Look into games", "Tournaments", "Services", "For developers"]
    assert text == run("--help").stdout == run().stdout
    words = re.findall(r"^│ (\w+) ", text, re.MULTILINE)
    assert words.index("play") < words.index("validate") < words.index("tournament") < words.index("serve")
    assert words.index("serve") < words.index("perft")


def commands(group: object, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(group, "commands", {}).items():
        yield from commands(inner, *path, name)


ALL = list(commands(make_command()))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_wrapped_once(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of a paragraph could take the first word of the next."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*path, "-h")
    assert done.returncode == 0
    prose = done.stdout.partition("╭")[0].splitlines()[3:]
    for line, following in pairwise(prose):
        if line.strip() and following.strip():
            assert len(line.rstrip()) + len(following.split()[0]) >= 78, line


def test_choices_are_in_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert "circuit|bytecode|interpreter" in run("perft", "--help").stdout
    assert "circuit|bytecode|interpreter" in run("bench", "--help").stdout
    for command in ("run", "new"):
        text = " ".join(run("tournament", command, "--help").stdout.replace("│", " ").split())
        assert "round-robin, gauntlet, swiss or knock-out" in text
    assert "mcts, montecarlo, random, legal" in " ".join(run("play", "--help").stdout.replace("│", " ").split())


@pytest.mark.parametrize(
    ("line", "completed"),
    [("ggp per", "perft"), ("ggp play breakt", "breakthrough"), ("ggp perft tictactoe --engine c", "circuit")],
)
def test_the_shell_completes(line: str, completed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GGP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    assert run().stdout.split() == [completed]


def test_help_explains_every_command() -> None:
    text = run("--help").stdout
    for name in (
        "games",
        "validate",
        "perft",
        "draw",
        "play",
        "analyse",
        "train",
        "inspect",
        "bench",
        "cache",
        "player",
        "match",
    ):
        assert re.search(rf"│ {name} +\w", text), name
        assert run(name, "--help").returncode == 0
    help_text = " ".join(run("validate", "--help").stdout.split())
    assert "The exit code is 1 if there are errors (or a file is not UTF-8 text)" in help_text.replace("│ │ ", "")


@pytest.mark.parametrize("command", ["analyse", "bench", "draw", "play", "validate"])
def test_a_seed_has_the_same_range_in_all_commands(command: str) -> None:
    for seed in ("-1", str(2**63)):
        done = run(command, "tictactoe", "--seed", seed)
        assert done.returncode == 2
        assert "--seed': Input should be " in done.stderr


def test_the_examples_of_moves_in_help_texts_can_be_followed() -> None:
    found = [
        example
        for command in make_command().commands.values()
        for example in re.findall(r'ggp \w+ (\w+) [^\n"]*--moves "([^"]*)"', command.help or "")
    ]
    assert len(found) >= 3
    for game, moves in found:
        assert not follow(ggp.load(game, "interpreter").initial_state, moves).is_terminal


def test_long_lines_go_on_below_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    line = "  --start  rows with / between them, * for lit and - for dark, or all (usually all)"
    for is_terminal in (True, False):
        out = StringIO()
        monkeypatch.setattr(out, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        with redirect_stdout(out):
            print_line(line)
        shown = out.getvalue().splitlines()
        assert " ".join(map(str.strip, shown)) == " ".join(line.split(" ")).strip()
        assert [len(each) <= 60 for each in shown] == ([True, True] if is_terminal else [False])
        assert all(each.startswith("  ") for each in shown)


def test_colours_that_are_forced_make_no_terminal_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = Console(file=StringIO())
    assert console.is_terminal
    assert not can_redraw(console)
