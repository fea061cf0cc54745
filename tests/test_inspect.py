"""Inspection: numbers known by hand, cones and parts against their plain twins, drawings, reasons for a fallback."""

import json
import re

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from ggp.circuit.compile import CompiledGame, compile_game
from ggp.circuit.network import INPUT, LOOP, Circuit
from ggp.commands.inspect import add_commands
from ggp.errors import GroundingError, SettingsError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.library import find_rulesheet
from ggp.simulation.inspection import Cone, Inspection, draw, find_cones, find_parts, inspect_game
from tests.games.helpers import FIRST_GAMES

LAMPS = """
(role r) (init (wall grey)) (init (turn 0))
(<= (next (wall grey)) (true (wall grey)))
(then 0 1) (then 1 2) (then 2 3) (then 3 0)
(<= (next (turn ?y)) (true (turn ?x)) (then ?x ?y))
(lamp a) (lamp b) (lamp c)
(<= (legal r (press ?x)) (lamp ?x) (true (turn 0)))
(<= (legal r (press ?x)) (lamp ?x) (true (turn 2)))
(<= (legal r rest))
(<= (next (on ?x)) (lamp ?x) (does r (press ?x)) (not (true (on ?x))))
(<= (next (on ?x)) (true (on ?x)) (not (does r (press ?x))))
(<= terminal (true (on a)) (true (on b)) (true (on c)))
(<= (goal r 100) terminal) (<= (goal r 0) (not terminal))
"""
REACHED = """
(role r) (node a) (node b) (node c) (node d)
(<= (legal r (join ?x ?y)) (node ?x) (node ?y) (distinct ?x ?y) (not (true (edge ?x ?y))))
(<= (next (edge ?x ?y)) (does r (join ?x ?y)))
(<= (next (edge ?x ?y)) (true (edge ?x ?y)))
(reached a)
(<= (reached ?y) (reached ?x) (true (edge ?x ?y)))
(<= terminal (reached d))
(<= (goal r 100) (reached d)) (<= (goal r 0) (not (reached d)))
"""
NESTED = """
(role r) (init (f z)) (legal r more) (legal r stop)
(<= (next (f (s ?x))) (true (f ?x)) (does r more))
(<= (next stopped) (does r stop))
(<= terminal (true stopped))
(goal r 70)
"""


def compiled(text: str) -> CompiledGame:
    return compile_game(parse_rulesheet(text, "rulesheet"))


def shipped(game: str) -> CompiledGame:
    return compiled(find_rulesheet(game).read_text(encoding="utf-8"))


def run(*arguments: str, stdin: str = "") -> Result:
    app = Typer()
    add_commands(app)
    return CliRunner().invoke(app, arguments, input=stdin)


def below(circuit: Circuit, node: int) -> list[int]:
    """The nodes that a node reads."""
    left, right = int(circuit.left[node]), int(circuit.right[node])
    if left == LOOP:
        return [int(circuit.loops.results[right]) >> 1]
    return [] if left == INPUT else [left >> 1, right >> 1]


def reached(circuit: Circuit, literals: list[int]) -> set[int]:
    """All nodes behind the literals."""
    found: set[int] = set()
    left = [literal >> 1 for literal in literals]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += below(circuit, node)
    return found


def plain_cone(circuit: Circuit, literals: list[int]) -> Cone:
    gates = sorted(node for node in reached(circuit, literals) if circuit.left[node] >= 0)
    depth: dict[int, int] = {}
    for node in gates:
        depth[node] = 1 + max(depth.get(source, 0) for source in below(circuit, node))
    ands = sum(1 for node in gates if circuit.left[node] < circuit.right[node])
    return Cone(len(gates), ands, len(gates) - ands, max(depth.values(), default=0))


def plain_parts(circuit: Circuit, timed: list[bool]) -> list[int]:
    """Sets of inputs that are merged as long as an output reads from two."""
    silent = {1 + fact for fact in range(circuit.facts) if timed[fact]} | {0}
    groups = [{node} for node in range(1, 1 + circuit.inputs) if node not in silent]
    for node, literal in enumerate([*circuit.next.tolist(), *circuit.legal.tolist()], 1):
        if node in silent:
            continue
        read = {source for source in reached(circuit, [literal]) if 0 < source <= circuit.inputs} - silent
        read |= {node} if node <= circuit.inputs else set()
        linked = [group for group in groups if group & read]
        groups = [group for group in groups if group not in linked] + [set().union(*linked)]
    sizes = [sum(1 for node in group if node <= circuit.facts) for group in groups]
    return sorted((size for size in sizes if size), reverse=True)


@pytest.mark.parametrize("game", [*FIRST_GAMES, "lamps", "reached"])
def test_cones_and_parts_are_those_of_their_plain_twins(game: str) -> None:
    found = {"lamps": LAMPS, "reached": REACHED}
    made = compiled(found[game]) if game in found else shipped(game)
    circuit = made.circuit
    cones = find_cones(circuit)
    assert cones.legal_and_terminal == plain_cone(circuit, [*circuit.legal.tolist(), circuit.terminal])
    assert cones.goals == plain_cone(circuit, circuit.goals.tolist())
    assert cones.next == plain_cone(circuit, circuit.next.tolist())
    assert cones.all == plain_cone(circuit, circuit.outputs.tolist())
    assert cones.all.gates == circuit.gates
    timed = np.all(made.phases >= 0, axis=0)
    assert list(find_parts(circuit, timed)) == plain_parts(circuit, timed.tolist())


def test_a_game_known_by_hand() -> None:
    found = json.loads(run("tictactoe", "--json").stdout)
    assert set(found) == {"game", "engine", "fallback", *Inspection.__dataclass_fields__}
    assert (found["engine"], found["fallback"]) == ("circuit", None)
    assert found["roles"] == ["xplayer", "oplayer"]
    assert found["facts"] == 9 * 3 + 2
    assert found["moves"] == {"xplayer": 10, "oplayer": 10}
    assert found["goals"] == {"xplayer": [0, 50, 100], "oplayer": [0, 50, 100]}
    assert not found["has_percepts"]
    assert found["constants"] == {}
    assert found["period"] == 2
    assert found["phases"] == {"(control xplayer)": [1, 0], "(control oplayer)": [0, 1]}
    assert found["recursion"] == {"loops": 0, "components": []}
    assert found["parts"] == [3] * 9  # a cell changes by itself
    assert found["compilation"]["gates"] == found["cones"]["all"]["gates"]
    assert found["compilation"]["rules"] > 0
    assert found["compilation"]["literals"] > found["compilation"]["rules"]
    assert len(found["programs"]["phases"]) == 2
    assert min(found["programs"]["phases"]) > found["cones"]["next"]["gates"]


def test_constants_phases_and_parts() -> None:
    found = inspect_game(compiled(LAMPS))
    assert found.constants == {"(wall grey)": 1}
    assert found.phases == {f"(turn {turn})": tuple(int(phase == turn) for phase in range(4)) for turn in range(4)}
    assert found.period == 4
    assert found.parts == (1, 1, 1)


def test_recursion_is_counted() -> None:
    found = inspect_game(compiled(REACHED))
    assert found.recursion.loops > 0
    assert sum(found.recursion.components) == found.recursion.loops


def test_the_text_names_what_matters() -> None:
    shown = run("breakthrough").stdout
    assert "moves: white 155, black 155" in shown
    assert "(control white) 1 0" in shown
    assert re.search(r"next: \d+ \(\d+ AND, \d+ XOR\), depth \d+", shown)
    assert run("-", stdin=LAMPS).stdout.startswith("-: circuit\n")


def test_a_drawing_has_all_inputs_outputs_and_edges() -> None:
    made = compiled(REACHED)
    shown = draw(made)
    assert shown.startswith("digraph circuit {")
    for label in ("true (edge a b)", "next (edge a b)", "legal r (join a b)", "terminal", "goal r 100"):
        assert f'label="{label}"' in shown
    nodes = set(re.findall(r"^  (\w+) \[", shown, re.MULTILINE))
    edges = re.findall(r"^  (\w+) -> (\w+)(?: \[.*\])?;$", shown, re.MULTILINE)
    assert {end for edge in edges for end in edge} <= nodes
    loops = len(made.circuit.loops.results)
    assert len(edges) == 2 * made.circuit.gates + loops + len(made.circuit.outputs)
    assert shown.count("shape=diamond") == loops > 0
    assert run("-", "--dot", stdin=REACHED).stdout == shown + "\n"


def test_a_large_circuit_is_not_drawn() -> None:
    error = run("breakthrough", "--dot").exception
    assert isinstance(error, SettingsError)
    assert re.match(r"a drawing shows at most 500 gates; this circuit has [\d,]+$", str(error))


def test_a_fallback_has_its_reason() -> None:
    found = json.loads(run("-", "--json", stdin=NESTED).stdout)
    assert (found["engine"], found["roles"]) == ("bytecode", ["r"])
    assert "nest" in found["fallback"]
    assert "not by a circuit: <stdin>" in run("-", stdin=NESTED).stdout
    assert isinstance(run("-", "--dot", stdin=NESTED).exception, GroundingError)
