"""What random matches show of percepts."""

import json

import pytest

import ggp
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.simulation.knowledge import gather_knowledge
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import make_pair
from tests.equilibrium.games import UNKNOWABLE
from tests.test_commands import run


def test_a_role_that_cannot_know_its_moves() -> None:
    machine = make_pair(parse_rulesheet(UNKNOWABLE)).circuit
    found = gather_knowledge(machine, 5, 100, 1)
    assert found.matches == 0
    assert found.ambiguity is not None
    assert found.ambiguity.role == "one"
    assert found.ambiguity.known == (("wait", ()),)
    assert {found.ambiguity.moves, found.ambiguity.others} == {("a", "b"), ("a", "b", "c")}


@pytest.mark.parametrize("name", ["montyhall", "leducpoker", "phantomtictactoe"])
def test_shipped_games_tell_what_is_legal(name: str) -> None:
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    found = gather_knowledge(machine, 6, 100, 1)
    assert found.ambiguity is None
    assert found.matches == 6
    unsure = sum(found.unsure_ends.values())
    assert unsure > 0 if name == "phantomtictactoe" else unsure == 0
    assert gather_knowledge(machine, 6, 100, 1, lambda: True).matches == 0


def test_validate_says_it() -> None:
    lines = run("validate", "-", "--matches", "3", stdin=UNKNOWABLE).stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("  percepts: "))
    assert line.startswith("  percepts: one cannot know its legal moves after wait, told nothing: (")
    lines = run("validate", "montyhall", "--matches", "3").stdout.splitlines()
    assert "  percepts: in 3 matches every role knew its legal moves" in lines
    (report,) = json.loads(run("validate", "tictactoe", "--matches", "3", "--json").stdout)
    assert report["knowledge"] is None
    (report,) = json.loads(run("validate", "kuhnpoker", "--matches", "3", "--json").stdout)
    assert report["knowledge"] == {"matches": 3, "ambiguity": None, "unsure_ends": {"first": 0, "second": 0}}
