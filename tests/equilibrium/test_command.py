"""`ggp solve`: what it prints, and how it ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from ggp.commands.solve import add_commands
from ggp.errors import EquilibriumError, GroundingError, NoGoalError
from ggp.signals import EXIT_INTERRUPTED

COORDINATION = """
(role one) (role two) (init start) (<= (legal ?r a) (role ?r)) (<= (legal ?r b) (role ?r))
(<= (next (did ?r ?m)) (does ?r ?m)) (<= terminal (not (true start)))
(<= same (true (did one ?m)) (true (did two ?m)))
(<= (goal ?r 100) (role ?r) same) (<= (goal ?r 0) (role ?r) (not same))
"""
LONG = 60.0


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["solve", *arguments])


def test_the_policy_in_words() -> None:
    done = invoke("montyhall", "--seconds", str(LONG))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "49 histories, 7 information sets" in lines[-9]
    assert "candidate 66.667; NashConv 0.000000" in lines[-9]
    assert lines[-8] == "candidate: 7 information sets"
    assert lines[-7].startswith("  noop, told nothing → (choose 1) 33.3%")
    assert "  noop, told nothing; (choose 1), told nothing; noop, told (opened 2) → switch 100.0%" in lines


def test_json_has_the_whole_policy() -> None:
    done = invoke("kuhnpoker", "--seconds", str(LONG), "--nash-conv", "0.1", "--json", "--algorithm", "cfr+")
    assert done.exit_code == 0, done.output
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["final"] for report in reports] == [False] * (len(reports) - 1) + [True]
    last = reports[-1]
    assert last["is_guaranteed"]
    assert last["nash_conv"] <= 0.1
    assert last["values"]["first"] == pytest.approx(50 - 25 / 18, abs=0.1)
    assert sum(last["gains"].values()) == pytest.approx(last["nash_conv"])
    assert len(last["policy"]) == last["information_sets"] == 12
    king = [
        each["moves"]
        for each in last["policy"]
        if each["role"] == "second" and ["(dealt king)"] in [step["told"] for step in each["known"]]
    ]
    assert len(king) == 2
    assert all(moves["bet"] > 0.98 for moves in king)


def test_goals_that_are_not_opposed(tmp_path: Path) -> None:
    path = tmp_path / "coordination.kif"
    path.write_text(COORDINATION, encoding="utf-8")
    done = invoke(str(path), "--seconds", "0")
    assert "what is found need not be an equilibrium" in done.stdout


def test_mistakes_are_told(tmp_path: Path) -> None:
    done = invoke("montyhall", "--histories", "10")
    assert isinstance(done.exception, EquilibriumError)
    assert "there are more than 10 histories" in str(done.exception)
    path = tmp_path / "chance.kif"
    path.write_text("(role random) (init a) (legal random x) (<= terminal (not (true a))) (goal random 0)")
    assert "the only role is random, so there is nothing to solve" in str(invoke(str(path)).exception)
    path.write_text("(role r) (init a) (<= (legal r go) (true b)) (<= terminal (true b)) (goal r 100)")
    assert "r has no legal move in this state" in str(invoke(str(path)).exception)
    path.write_text(
        "(role r) (init a) (<= (legal r ?m) (true a) (move ?m)) (move x) (move y) (<= (next ?m) (does r ?m))\n"
        "(<= terminal (true x)) (<= (goal r 40) (true x)) (<= (goal r 90) (true y))"
    )  # after y it is not over, but there is no legal move
    done = invoke(str(path))
    assert isinstance(done.exception, NoGoalError)
    assert "or there a role has no legal move" in str(done.exception)
    assert "solving states instead" not in done.stderr
    path = tmp_path / "endless.kif"
    path.write_text(
        "(role r) (init (n z)) (legal r go) (<= (next (n (s ?x))) (true (n ?x)))\n"
        "(goal r 0) (<= terminal (true (n never)))",
        encoding="utf-8",
    )
    done = invoke(str(path))
    assert isinstance(done.exception, GroundingError)
    assert "has no circuit, which solving needs: " in str(done.exception)


def test_interrupt_ends_it_with_the_best_so_far() -> None:
    program = (
        "import typer; from ggp.commands.solve import add_commands; app = typer.Typer(); app.callback()(lambda: None);"
        "add_commands(app); app()"
    )
    arguments = ["solve", "leducpoker", "--seconds", str(LONG), "--nash-conv", "0", "--json"]
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while json.loads(process.stdout.readline())["iterations"] == 0:
            pass
        process.send_signal(signal.SIGINT)
        last = [json.loads(line) for line in process.stdout][-1]
    assert process.returncode == EXIT_INTERRUPTED
    assert last["final"]
    assert len(last["policy"]) == 936


def test_states_are_solved_where_histories_are_too_many() -> None:
    done = invoke("goofspiel", "--histories", "100", "--sets", "2")
    assert done.exit_code == 0, done.output
    assert "there are more than 100 histories" in done.stderr
    *reports, found, first, second, third, fourth = done.stdout.splitlines()
    assert all(line.endswith(" so far") for line in reports)
    assert "4,137 states, 10,780 joint moves: left 50.000, right 50.000; NashConv 0.000000" in found
    assert all(line.startswith(("  left, after ", "  right, after ")) for line in (first, second, third, fourth))
    assert third == "  left, after noop noop (show 2) → (bid 3) 68.9%, (bid 1) 18.6%, (bid 2) 12.5%"
    done = invoke("rockpaperscissors", "--histories", "1", "--json")
    *earlier, last = map(json.loads, done.stdout.splitlines())
    assert not any(report["final"] for report in earlier)
    assert last["final"]
    assert last["is_guaranteed"]
    assert last["values"] == pytest.approx({"left": 50, "right": 50})
    assert last["nash_conv"] == pytest.approx(0, abs=1e-9)
    assert [each["moves"] for each in last["policy"]] == 2 * [
        pytest.approx({"paper": 1 / 3, "rock": 1 / 3, "scissors": 1 / 3})
    ]
    done = invoke("prisonersdilemma", "--histories", "10")
    assert isinstance(done.exception, EquilibriumError)
    assert "the goal values of the roles are not opposed" in str(done.exception)


def test_states_of_one_role_are_solved() -> None:
    done = invoke("pancakes", "--histories", "1", "--sets", "2", "--no-symmetries")
    assert done.exit_code == 0, done.output
    found, *lines = done.stdout.splitlines()
    assert "solver 100.000; NashConv 0.000000" in found
    assert lines[0].startswith("  solver, at the start → (flip ")
    done = invoke("pancakes", "--histories", "1", "--json", "--no-symmetries")
    assert {each["role"] for each in json.loads(done.stdout.splitlines()[-1])["policy"]} == {"solver"}


def test_histories_are_merged_where_they_are_too_many() -> None:
    arguments = ("hiddengoofspiel", "--histories", "100", "--seconds", "0.3")
    done = invoke(*arguments, "--recall", "99")
    assert done.exit_code == 0, done.output
    assert (
        "there are more than 100 histories (random matches show about 4.7e+04): roles forget the order of steps"
        in done.stderr
    )
    found, exact, left, right = done.stdout.splitlines()[-4:]
    assert "merged histories" in found
    assert exact.startswith("by best responses that forget nothing: left ")
    assert "; NashConv " in exact
    assert left == "  left, at the start → noop 100.0%"
    assert right == "  right, at the start → noop 100.0%"
    done = invoke(
        "hiddengoofspiel", "--histories", "100", "--seconds", str(LONG), "--nash-conv", "19", "--recall", "99", "--json"
    )
    *_, last = map(json.loads, done.stdout.splitlines())
    assert last["final"]
    assert last["seconds"] < LONG  # since NashConv is small enough before
    assert not last["is_guaranteed"]
    assert sum(last["gains"].values()) == pytest.approx(last["nash_conv"])
    assert 0 <= last["nash_conv"] <= 19
    assert last["first_moves"] == {"left": {"noop": 1}, "right": {"noop": 1}}
